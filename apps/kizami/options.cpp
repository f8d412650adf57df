// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "check/case.hpp"
#include "check/text.hpp"
#include "failure.hpp"

namespace kizami::cli {
namespace {

constexpr std::int64_t kMaxThreads = 4096;
constexpr std::int64_t kMaxModuli = 64;
constexpr std::int64_t kMaxPromotionK = 65536;
constexpr std::int64_t kMaxSliceBits = 11;

constexpr std::array kGauges{Gauge::kEntry, Gauge::kNorm};
constexpr std::array kSchemes{Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2, Scheme::kOzaki1, Scheme::kEc};
constexpr std::array kSliceFormats{SliceFormat::kInt8, SliceFormat::kFp16, SliceFormat::kBf16, SliceFormat::kE4m3,
                                   SliceFormat::kE5m2};
constexpr std::array kSliceSplits{SliceSplit::kAuto, SliceSplit::kTruncated, SliceSplit::kNearest, SliceSplit::kBytes};
constexpr std::array kSliceSums{SliceSums::kAuto, SliceSums::kPairs, SliceSums::kGrouped, SliceSums::kConcatenated,
                                SliceSums::kBlocked};
constexpr std::array kComplexForms{ComplexForm::kAuto, ComplexForm::kFourProducts, ComplexForm::kKaratsuba,
                                   ComplexForm::kEnlarged};
constexpr std::array kEngines{EngineName::kAuto,       EngineName::kCpuRef,  EngineName::kCpuSimd,
                              EngineName::kNativeBlas, EngineName::kTcModel, EngineName::kTile};
constexpr std::array kVariants{EcVariant::kAuto,     EcVariant::kScaled,   EcVariant::kScaledTf32, EcVariant::kHalfhalf,
                               EcVariant::kTf32tf32, EcVariant::kMarkidis, EcVariant::kFeng,       EcVariant::kBf16x3,
                               EcVariant::kBf16x6,   EcVariant::kBf16x9,   EcVariant::kFp16,       EcVariant::kTf32};
constexpr std::array kTensorCores{TensorCoreModel::kHopper, TensorCoreModel::kAmpere, TensorCoreModel::kMmaRn,
                                  TensorCoreModel::kMmaRz};
constexpr std::array kReproducibilities{Reproducibility::kEngineToEngine, Reproducibility::kNotGuaranteed};

template <class E>
std::string names_of(std::span<const E> values, std::string_view separator) {
  std::string out;
  for (const E value : values) out += fmt::format("{}{}", out.empty() ? "" : separator, to_string(value));
  return out;
}

template <class E, std::size_t N>
E named(std::string_view option, std::string_view text, const std::array<E, N>& values) {
  for (const E value : values) {
    if (to_string(value) == text) return value;
  }
  refuse_name(option, text, names_of<E>(values, ", "));
}

/// The value of `result`, or a Failure that names the option.
template <class T>
T checked(std::string_view option, const Result<T>& result) {
  if (!result.ok()) throw Failure(ExitCode::kUsage, fmt::format("{} = {}", option, result.status().reason()));
  return result.value();
}

/// Adds one option whose value is a name from a list.
template <class E, std::size_t N>
void add_name(CLI::App& app, const char* option, std::string& value, const std::array<E, N>& names,
              const std::string& help) {
  app.add_option(option, value, help)->type_name(names_of<E>(names, "|"))->group("Policy");
}

bool has_unit(std::string_view text) { return text.ends_with('i') || text.ends_with('j'); }

/// "1-" of "1-i", but not "1e-" of "1e-i".
bool ends_in_sign_of_unit(std::string_view text) {
  const bool ends_in_sign = text.ends_with('+') || text.ends_with('-');
  return ends_in_sign && text.size() > 1 && text[text.size() - 2] != 'e' && text[text.size() - 2] != 'E';
}

/// The text in the stricter grammar of check::parse_complex(): the unit is i, "i" and "-i" have their 1, and an imaginary
/// number has no plus sign.
std::string with_plain_unit(std::string_view text) {
  if (!has_unit(text)) return std::string(text);
  std::string out(text.substr(0, text.size() - 1));
  if (out.empty() || out == "+" || out == "-" || ends_in_sign_of_unit(out)) out += '1';
  if (out.starts_with('+') && !out.starts_with("+-")) out.erase(0, 1);
  return out + 'i';
}

/// Rounded to the parts of the scalar type. `text` is what the user wrote.
double rounded_part(std::string_view option, std::string_view text, double value, Scalar scalar) {
  if (real_of(scalar) == Scalar::kF64) return value;
  const auto rounded = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(rounded)) {
    throw Failure(ExitCode::kUsage, fmt::format("{} = {} is beyond float32, whose largest number is {}", option, text,
                                                std::numeric_limits<float>::max()));
  }
  return rounded;
}

}  // namespace

std::string_view to_string(Reproducibility reproducibility) noexcept {
  return reproducibility == Reproducibility::kEngineToEngine ? "engine" : "none";
}

void add_policy_options(CLI::App& app, PolicyOptions& options) {
  app.add_option("--accuracy", options.accuracy,
                 "what the result must keep to: native is what a native product guarantees or better, bits=N is 2^-N, "
                 "correct is "
                 "the exact product rounded once [native]")
      ->type_name("native|bits=N|correct")
      ->group("Policy");
  add_name(app, "--gauge", options.gauge, kGauges,
           "what errors are relative to: entry is |A||B|, norm is ||row of A|| ||column of B|| (cheaper) [entry]");
  add_name(app, "--scheme", options.scheme, kSchemes, "how the product is computed [auto]");
  add_name(app, "--engine", options.engine, kEngines, "what multiplies [auto]");
  add_name(app, "--reproducibility", options.reproducibility, kReproducibilities,
           "engine: the same bits on every engine, thread count and machine; none: the platform BLAS may be chosen "
           "[engine; none if --scheme or --engine names the platform BLAS or scheme ec]");
  add_name(app, "--variant", options.variant, kVariants,
           "scheme ec: how operands are split into FP16, BF16 or TF32 and which products are taken [auto]");
  app.add_option("--promotion-k", options.promotion_k,
                 "scheme ec: elements of k after which a tensor core's sum goes to FP32, a multiple of 16 [0: the "
                 "variant's own]")
      ->type_name("K")
      ->group("Policy");
  add_name(app, "--tensor-core", options.tensor_core, kTensorCores,
           "scheme ec: the tensor core that engine tc_model computes as [hopper]");
  app.add_flag("--keep-small-term", options.keep_small_term, "scheme ec: take the product of the two small parts, too")
      ->group("Policy");
  app.add_flag("--karatsuba", options.karatsuba,
               "scheme ec: complex products by three real ones; the imaginary part cancels, so with --gauge norm only")
      ->group("Policy");
  app.add_flag("--any-range", options.any_range,
               "scheme ec, for studies: the variant's arithmetic even for operands beyond its range")
      ->group("Policy");
  const auto add_count = [&](const char* option, std::string& value, const char* help) {
    app.add_option(option, value, help)->type_name("N")->group("Policy");
  };
  add_count(
      "--slices", options.slices,
      "scheme ozaki1: exactly this many slices, whatever the accuracy; -1 until nothing is left [0: the accuracy's]");
  add_count("--diagonals", options.diagonals,
            "scheme ozaki1: products of slices i and j with i + j below this; -1 all [0: as many as slices]");
  add_count("--slice-bits", options.slice_bits, "scheme ozaki1: bits of a digit beside its sign [0: the most]");
  add_name(app, "--slice-format", options.slice_format, kSliceFormats, "scheme ozaki1: what holds a slice [int8]");
  add_name(app, "--slice-split", options.slice_split, kSliceSplits,
           "scheme ozaki1: how a number becomes digits [auto]");
  add_name(app, "--slice-sums", options.slice_sums, kSliceSums,
           "scheme ozaki1: how products share accumulators; never changes a bit [auto]");
  add_name(app, "--complex-form", options.complex_form, kComplexForms,
           "scheme ozaki1: how a complex product becomes real ones [auto]");
  app.add_flag("--one-scale", options.one_scale, "scheme ozaki1: one power of two for a whole matrix; needs --slices")
      ->group("Policy");
  app.add_option("--moduli", options.moduli,
                 "exactly this many moduli, whatever the accuracy; for studies [0: the planner's choice]")
      ->type_name("N")
      ->group("Policy");
  app.add_option("--threads", options.threads, "CPU threads; never changes a bit [0: all]")
      ->type_name("N")
      ->group("Policy");
  app.add_option("--workspace", options.workspace,
                 "limit of the scratch memory, for instance 256M; never changes a bit [0: 1G]")
      ->type_name("BYTES[K|M|G]")
      ->group("Policy");
  app.add_flag("--refuse-fp64", options.refuse_fp64,
               "refuse rather than answer by FP64 arithmetic what moduli cannot certify")
      ->group("Policy");
  app.add_flag("--reject-nonfinite", options.reject_nonfinite, "refuse operands that hold NaN or Inf")->group("Policy");
}

Policy policy_of(const PolicyOptions& options) {
  Policy policy;
  policy.accuracy = checked("--accuracy", check::parse_accuracy(options.accuracy, 100));
  policy.gauge = named("--gauge", options.gauge, kGauges);
  policy.scheme = named("--scheme", options.scheme, kSchemes);
  policy.engine = named("--engine", options.engine, kEngines);
  const bool is_native_named = policy.scheme == Scheme::kNative || policy.engine == EngineName::kNativeBlas;
  const bool is_ec = policy.scheme == Scheme::kEc;
  const std::string_view reproducibility = !options.reproducibility.empty() ? std::string_view(options.reproducibility)
                                           : is_native_named || is_ec       ? "none"
                                                                            : "engine";
  policy.reproducibility = named("--reproducibility", reproducibility, kReproducibilities);
  if (is_native_named && policy.reproducibility == Reproducibility::kEngineToEngine) {
    throw Failure(ExitCode::kRefused,
                  fmt::format("--reproducibility = engine excludes the platform BLAS, which {} names",
                              policy.scheme == Scheme::kNative ? "--scheme" : "--engine"));
  }
  policy.ec.variant = named("--variant", options.variant, kVariants);
  policy.ec.promotion_k = static_cast<int>(integer_option("--promotion-k", options.promotion_k, 0, kMaxPromotionK));
  policy.ec.tensor_core = named("--tensor-core", options.tensor_core, kTensorCores);
  policy.ec.keep_small_term = options.keep_small_term;
  policy.ec.karatsuba = options.karatsuba;
  policy.ec.check_range = !options.any_range;
  const auto count = [](std::string_view option, const std::string& text, std::int64_t lo, std::int64_t hi) {
    return static_cast<int>(integer_option(option, text, lo, hi));
  };
  policy.slices.num_slices = count("--slices", options.slices, kUntilZero, kMaxSlices);
  policy.slices.num_diagonals = count("--diagonals", options.diagonals, kAllPairs, 2 * kMaxSlices - 1);
  policy.slices.slice_bits = count("--slice-bits", options.slice_bits, 0, kMaxSliceBits);
  policy.slices.format = named("--slice-format", options.slice_format, kSliceFormats);
  policy.slices.split = named("--slice-split", options.slice_split, kSliceSplits);
  policy.slices.sums = named("--slice-sums", options.slice_sums, kSliceSums);
  policy.slices.complex_form = named("--complex-form", options.complex_form, kComplexForms);
  policy.slices.one_scale = options.one_scale;
  policy.allow_fp64_arithmetic = !options.refuse_fp64;
  policy.reject_nonfinite = options.reject_nonfinite;
  policy.forced_moduli = static_cast<int>(integer_option("--moduli", options.moduli, 0, kMaxModuli));
  policy.threads = static_cast<int>(integer_option("--threads", options.threads, 0, kMaxThreads));
  policy.workspace_limit_bytes = checked("--workspace", check::parse_bytes(options.workspace));
  return policy;
}

std::int64_t integer_option(std::string_view option, std::string_view text, std::int64_t lo, std::int64_t hi) {
  return checked(option, check::parse_integer(text, lo, hi));
}

std::complex<double> scalar_option(std::string_view option, std::string_view text, Scalar scalar) {
  if (has_unit(text) && !is_complex(scalar)) {
    throw Failure(ExitCode::kUsage, fmt::format("{} = {} is complex, but the matrices are real", option, text));
  }
  const Result<check::ComplexText> value = check::parse_complex(with_plain_unit(text));
  if (!value.ok()) {
    const std::string whole = has_unit(text) ? check::quoted(text) + ": " : "";
    throw Failure(ExitCode::kUsage, fmt::format("{} = {}{}{}", option, whole, value.status().reason(),
                                                is_complex(scalar) ? ", or x+yi of such parts" : ""));
  }
  return {rounded_part(option, text, value.value().re, scalar), rounded_part(option, text, value.value().im, scalar)};
}

void refuse_name(std::string_view option, std::string_view value, std::string_view allowed) {
  throw Failure(ExitCode::kUsage,
                fmt::format("{} = {} is unknown; allowed: {}", option, check::quoted(value), allowed));
}

}  // namespace kizami::cli
