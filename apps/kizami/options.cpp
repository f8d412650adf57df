// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "check/text.hpp"
#include "failure.hpp"
#include "kizami/nearest.hpp"
#include "kizami/variables.hpp"
#include "kizami/wishes.hpp"

namespace kizami::cli {
namespace {

/// The value of `result`, or a Failure that names the option.
template <class T>
T checked(std::string_view option, const Result<T>& result) {
  if (!result.ok()) throw Failure(ExitCode::kUsage, fmt::format("{} = {}", option, result.status().reason()));
  return result.value();
}

/// What may be given to an option, for the help: "entry|norm", "N", "BYTES[K|M|G]".
std::string type_name_of(const Wish& wish) {
  if (wish.kind == Wish::Kind::kNumber) return "N";
  if (wish.kind == Wish::Kind::kBytes) return "BYTES[K|M|G]";
  if (wish.key == "accuracy") return "native|bits=N|correct";
  std::string out = wish.values();
  for (std::size_t at = out.find(", "); at != std::string::npos; at = out.find(", ", at)) out.replace(at, 2, "|");
  return out;
}

void add_wish(CLI::App& app, const Wish& wish, PolicyOptions& options) {
  const std::string option = option_of(wish.key);
  const std::string help = fmt::format("{} [{}]", wish.meaning, wish.get(Policy{}));
  if (wish.kind == Wish::Kind::kFlag) {
    app.add_flag(option + "{1}", options.values[wish.key], help)->group("Policy");  // --karatsuba, or --check-range=0
    return;
  }
  const auto take = [&options, key = wish.key](const std::string& value) { options.values[key] = value; };
  app.add_option_function<std::string>(option, take, help)->type_name(type_name_of(wish))->group("Policy");
}

/// Flags that wishes had before they had one word everywhere.
struct OldFlag {
  const char* flag;
  std::string_view key;
  const char* value;
};
constexpr OldFlag kOldFlags[] = {
    {"--refuse-fp64", "fp64", "refuse"},
    {"--reject-nonfinite", "nonfinite", "reject"},
    {"--one-scale", "slice_scale", "matrix"},
    {"--any-range", "check_range", "0"},
};

void add_old_flag(CLI::App& app, const OldFlag& old, PolicyOptions& options) {
  app.add_flag_callback(old.flag,
                        [&old, &options] {
                          options.values[old.key] = old.value;
                          const bool is_flag = find_wish(old.key)->kind == Wish::Kind::kFlag;
                          options.notes.push_back(fmt::format("{} is now {}{}{}", old.flag, option_of(old.key),
                                                              is_flag ? "=" : " ", old.value));
                        })
      ->group("");  // not in the help
}

bool has_unit(std::string_view text) { return text.ends_with('i') || text.ends_with('j'); }

/// "1-" of "1-i", but not "1e-" of "1e-i".
bool ends_in_sign_of_unit(std::string_view text) {
  const bool ends_in_sign = text.ends_with('+') || text.ends_with('-');
  return ends_in_sign && text.size() > 1 && text[text.size() - 2] != 'e' && text[text.size() - 2] != 'E';
}

/// The text in the stricter grammar of check::parse_complex(): the unit is i, "i" and "-i" have their 1, and an
/// imaginary number has no plus sign.
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

std::string option_of(std::string_view key) {
  std::string out = "--" + std::string(key);
  std::ranges::replace(out, '_', '-');
  return out;
}

std::string option_of_variable(std::string_view variable) {
  std::string key(variable.substr(std::string_view("KIZAMI_").size()));
  for (char& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return option_of(key);
}

void add_policy_options(CLI::App& app, PolicyOptions& options) {
  for (const Wish& wish : wishes()) add_wish(app, wish, options);
  for (const OldFlag& old : kOldFlags) add_old_flag(app, old, options);
}

Policy policy_of(const PolicyOptions& options) {
  for (const std::string& note : options.notes) print_note(note);
  Policy policy;
  for (const auto& [key, value] : options.values) {
    if (value.empty() && find_wish(key)->kind == Wish::Kind::kFlag) continue;  // not given
    const Status status = set_wish(policy, key, value, option_of(key));
    if (!status.ok()) throw Failure(ExitCode::kUsage, status.reason());
  }
  const bool is_native_named = policy.scheme == Scheme::kNative || policy.engine == EngineName::kNativeBlas;
  const bool is_ec = policy.scheme == Scheme::kEc;
  if (!options.values.contains("reproducibility") && (is_native_named || is_ec))
    policy.reproducibility = Reproducibility::kNotGuaranteed;  // who names it does not ask for more than it has
  if (is_native_named && policy.reproducibility == Reproducibility::kEngineToEngine) {
    throw Failure(ExitCode::kRefused,
                  fmt::format("--reproducibility = engine excludes the platform BLAS, which {} names",
                              policy.scheme == Scheme::kNative ? "--scheme" : "--engine"));
  }
  return policy;
}

void throw_if_unplanned(const Status& status, const Policy& policy, Scalar scalar) {
  const bool is_beyond = policy.accuracy.kind == Accuracy::Kind::kBits && scalar != Scalar::kDD &&
                         status.code() == StatusCode::kInvalidArgument && status.reason().starts_with("bits = ");
  if (!is_beyond) return throw_if_error(status);
  const std::string_view wider = scalar == Scalar::kF64   ? ", or gemm --dd, double-double up to bits=100"
                                 : scalar == Scalar::kF32 ? ", or matrices of float64"
                                 : scalar == Scalar::kC64 ? ", or matrices of complex128"
                                                          : "";
  throw Failure(
      exit_code_of(status.code()),
      fmt::format("{}; beyond: --accuracy correct, the exact product rounded once{}", status.reason(), wider));
}

void refuse_options_of_processor(const PolicyOptions& options) {
  if (options.values.contains("threads"))
    throw Failure(ExitCode::kUsage, "--threads is of the processor: it goes without --device");
}

std::string policy_help() {
  std::string out =
      "Wishes have one word everywhere. In brackets the default. slice_format, for instance, is\n"
      "  --slice-format here, slice_format= in cases and rules, Policy(slice_format=...) in Python,\n"
      "  KIZAMI_SLICE_FORMAT for programs under the drop-in libraries, set_wish() in C++, and\n"
      "  kizami_policy_set(policy, \"slice_format\", ...) in C and Fortran.\n\n";
  for (const Wish& wish : wishes()) {
    out += fmt::format("  {} = {} [{}]\n      {}\n", wish.key, wish.values(), wish.get(Policy{}), wish.meaning);
  }
  return out;
}

std::string variables_help() {
  std::string out =
      "Variables that programs under the drop-in libraries read (kizami run sets them), and KIZAMI_THREADS every "
      "product.\n"
      "In brackets the default. Besides, each wish of `kizami help policy` but sync, in upper case behind KIZAMI_:\n"
      "KIZAMI_ACCURACY, KIZAMI_SLICE_FORMAT. Where KIZAMI_THREADS is not set, OMP_NUM_THREADS counts.\n\n";
  for (const Variable& variable : variables())
    out +=
        fmt::format("  {} = {} [{}]\n      {}\n", variable.name, variable.values, variable.initial, variable.meaning);
  return out;
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
    const std::string whole = has_unit(text) ? in_quotes(text) + ": " : "";
    throw Failure(ExitCode::kUsage, fmt::format("{} = {}{}{}", option, whole, value.status().reason(),
                                                is_complex(scalar) ? ", or x+yi of such parts" : ""));
  }
  return {rounded_part(option, text, value.value().re, scalar), rounded_part(option, text, value.value().im, scalar)};
}

void refuse_name(std::string_view option, std::string_view value, std::string_view allowed) {
  throw Failure(ExitCode::kUsage, fmt::format("{} = {} is unknown; allowed: {}{}", option, in_quotes(value), allowed,
                                              did_you_mean(value, allowed)));
}

}  // namespace kizami::cli
