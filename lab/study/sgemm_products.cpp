// SPDX-License-Identifier: MIT
// The parts of the study that multiply: figures 1, 2, 3 and 8. Products are 16 x k by k x 16; the error is that of the
// document's equation (6), ||C64 - C32||_F / ||C64||_F with an FP64 product of the FP32 operands as C64, averaged over
// seeds, and beside it the largest |error| / (|A||B|) of any element and seed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "check/parallel.hpp"
#include "check/random.hpp"
#include "failure.hpp"
#include "kizami/gemm.hpp"
#include "sgemm.hpp"

namespace kizami::study {
namespace {

constexpr std::int64_t kSide = 16;

/// A (16 x k) and B (k x 16), both with the k elements of a line side by side.
struct Lines {
  std::int64_t k = 0;
  std::vector<float> a;
  std::vector<float> b;
};
using Draw = std::function<float(check::AddressedRandom&)>;

Lines draw_lines(std::int64_t k, std::int64_t seed, const Draw& draw_a, const Draw& draw_b) {
  Lines lines{k, std::vector<float>(static_cast<std::size_t>(kSide * k)),
              std::vector<float>(static_cast<std::size_t>(kSide * k))};
  const auto fill = [&](std::vector<float>& x, std::uint32_t stream, const Draw& draw) {
    for (std::int64_t i = 0; i < kSide; ++i) {
      for (std::int64_t h = 0; h < k; ++h) {
        check::AddressedRandom random(static_cast<std::uint64_t>(seed), stream, i, h);
        x[static_cast<std::size_t>(i * k + h)] = draw(random);
      }
    }
  };
  fill(lines.a, 1, draw_a);
  fill(lines.b, 2, draw_b);
  return lines;
}

/// All 24 bits of FP32 are random, so that a masked last bit shows.
Draw uniform(double limit) {
  return [limit](check::AddressedRandom& r) { return static_cast<float>((2 * r.uniform(53) - 1) * limit); };
}
Draw positive() {
  return [](check::AddressedRandom& r) { return static_cast<float>(r.uniform(53)); };
}
/// exp_rand(a, b): exponent uniform in a..b-1, 23 random bits, random sign or none.
Draw exp_rand(int a, int b, bool is_signed) {
  return [=](check::AddressedRandom& r) {
    const double x = std::ldexp(1 + r.uniform(23), a + static_cast<int>(r.below(static_cast<std::uint64_t>(b - a))));
    return static_cast<float>(is_signed ? r.sign() * x : x);
  };
}

using Result = std::vector<float>;  ///< [j][i]
using Method = std::function<Result(const Lines&, Status&)>;

/// The SIMT product: one FP32 chain of fused multiply-adds an element.
Result fp32_chain(const Lines& lines, Status& /*status*/) {
  Result c(kSide * kSide);
  for (std::int64_t j = 0; j < kSide; ++j) {
    for (std::int64_t i = 0; i < kSide; ++i) {
      float sum = 0;
      for (std::int64_t h = 0; h < lines.k; ++h)
        sum = std::fma(lines.a[static_cast<std::size_t>(i * lines.k + h)],
                       lines.b[static_cast<std::size_t>(j * lines.k + h)], sum);
      c[static_cast<std::size_t>(j * kSide + i)] = sum;
    }
  }
  return c;
}

Result masked_chain(const Lines& lines, Status& status) {
  Lines masked = lines;
  for (std::vector<float>* x : {&masked.a, &masked.b}) {
    for (float& value : *x) value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~std::uint32_t{1});
  }
  return fp32_chain(masked, status);
}

Method ec_method(const ErrorCorrection& ec) {
  return [ec](const Lines& lines, Status& status) {
    Policy policy;
    policy.scheme = Scheme::kEc;
    policy.reproducibility = Reproducibility::kNotGuaranteed;
    policy.ec = ec;
    policy.threads = 1;
    Result c(kSide * kSide);
    status = gemm<float>(Layout::kColMajor, Op::kTranspose, Op::kNone, kSide, kSide, lines.k, 1.0F, lines.a.data(),
                         lines.k, lines.b.data(), lines.k, 0.0F, c.data(), kSide, policy);
    return c;
  };
}

/// A variant's arithmetic, whatever the range of the operands.
ErrorCorrection plain(EcVariant variant, int promotion_k = 0) {
  ErrorCorrection ec;
  ec.variant = variant;
  ec.promotion_k = promotion_k;
  ec.check_range = false;
  return ec;
}
ErrorCorrection on(TensorCoreModel model, ErrorCorrection ec) {
  ec.tensor_core = model;
  return ec;
}

/// The FP64 product, and |A||B|.
struct Exact {
  std::vector<double> c;
  std::vector<double> gauge;
};
Exact exact_product(const Lines& lines) {
  Exact out{std::vector<double>(kSide * kSide), std::vector<double>(kSide * kSide)};
  for (std::int64_t j = 0; j < kSide; ++j) {
    for (std::int64_t i = 0; i < kSide; ++i) {
      double sum = 0;
      double gauge = 0;
      for (std::int64_t h = 0; h < lines.k; ++h) {
        const double term = static_cast<double>(lines.a[static_cast<std::size_t>(i * lines.k + h)]) *
                            static_cast<double>(lines.b[static_cast<std::size_t>(j * lines.k + h)]);
        sum += term;
        gauge += std::abs(term);
      }
      out.c[static_cast<std::size_t>(j * kSide + i)] = sum;
      out.gauge[static_cast<std::size_t>(j * kSide + i)] = gauge;
    }
  }
  return out;
}

struct Error {
  double frobenius = 0;
  double entry = 0;
};
Error error_of(const Result& c, const std::vector<double>& reference, const std::vector<double>& gauge) {
  double difference = 0;
  double norm = 0;
  double entry = 0;
  for (std::size_t x = 0; x < c.size(); ++x) {
    const double error = static_cast<double>(c[x]) - reference[x];
    difference += error * error;
    norm += reference[x] * reference[x];
    const double relative = std::abs(error) / (gauge[x] * 0x1p-24);
    if (!(relative <= entry)) entry = relative;
  }
  return {std::sqrt(difference / norm), entry};
}

int processors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

struct NamedMethod {
  std::string name;
  Method multiply;
  bool has_fp32_reference = false;  ///< judged against fp32_chain() instead of FP64
};

/// Adds a point a method and k, a power of two, to a figure.
void measure(StudyFigure& figure, const std::string& data, const Draw& draw_a, const Draw& draw_b,
             const std::vector<NamedMethod>& methods, const SgemmStudySize& size, std::int64_t min_k = kSide) {
  for (std::int64_t k = min_k; k <= size.max_k; k *= 2) {
    // Seeds side by side; their errors are added in order.
    std::vector<std::vector<Error>> errors(static_cast<std::size_t>(size.num_seeds),
                                           std::vector<Error>(methods.size()));
    std::vector<Status> statuses(errors.size());  // a loop over threads lets nothing be thrown
    check::parallel_for(size.num_seeds, size.num_seeds * kSide * kSide * k, processors(), [&](std::int64_t seed) {
      Status& status = statuses[static_cast<std::size_t>(seed)];
      const Lines lines = draw_lines(k, seed + 1, draw_a, draw_b);
      const Exact exact = exact_product(lines);
      for (std::size_t i = 0; i < methods.size() && status.ok(); ++i) {
        std::vector<double> reference = exact.c;
        if (methods[i].has_fp32_reference) {
          const Result chain = fp32_chain(lines, status);
          std::copy(chain.begin(), chain.end(), reference.begin());
        }
        errors[static_cast<std::size_t>(seed)][i] =
            error_of(methods[i].multiply(lines, status), reference, exact.gauge);
      }
    });
    for (const Status& status : statuses) cli::throw_if_error(status);
    std::vector<Error> totals(methods.size());
    for (const std::vector<Error>& of_seed : errors) {
      for (std::size_t i = 0; i < methods.size(); ++i) {
        totals[i].frobenius += of_seed[i].frobenius / size.num_seeds;
        totals[i].entry = std::max(totals[i].entry, of_seed[i].entry);
      }
    }
    for (std::size_t i = 0; i < methods.size(); ++i) {
      figure.points.push_back({data, methods[i].name, static_cast<double>(k), totals[i].frobenius, totals[i].entry});
    }
  }
}

StudyFigure product_figure(const char* name, const char* caption) { return {name, caption, "k", "error", true, {}}; }

}  // namespace

StudyFigure error_over_k(const SgemmStudySize& size) {
  StudyFigure figure = product_figure(
      "figure_1",
      "Error over k of error-corrected products on the Hopper model, 16 x k by k x 16, uniform(-1, 1) and (0, 1)");
  ErrorCorrection all_outside = plain(EcVariant::kHalfhalf, 16);
  all_outside.promote_corrections = true;
  ErrorCorrection with_small_term = plain(EcVariant::kHalfhalf, 16);
  with_small_term.keep_small_term = true;
  ErrorCorrection cut = plain(EcVariant::kMarkidis);
  cut.truncate_parts = true;
  ErrorCorrection tf32_without_shift = plain(EcVariant::kTf32tf32, 16);
  tf32_without_shift.remainder_shift = 0;
  const std::vector<NamedMethod> methods = {
      {"FP32 chain (SIMT)", fp32_chain},
      {"FP16, not corrected", ec_method(plain(EcVariant::kFp16))},
      {"Markidis", ec_method(plain(EcVariant::kMarkidis))},
      {"Markidis, parts cut", ec_method(cut)},
      {"Feng", ec_method(plain(EcVariant::kFeng))},
      {"Feng, FP32 reference", ec_method(plain(EcVariant::kFeng)), true},
      {"halfhalf", ec_method(plain(EcVariant::kHalfhalf, 16))},
      {"halfhalf, all terms outside", ec_method(all_outside)},
      {"halfhalf, small term kept", ec_method(with_small_term)},
      {"tf32tf32", ec_method(plain(EcVariant::kTf32tf32, 16))},
      {"tf32tf32 without 2^11", ec_method(tf32_without_shift)},
      {"bf16x6", ec_method(plain(EcVariant::kBf16x6))},
      {"bf16x9", ec_method(plain(EcVariant::kBf16x9))},
      {"scaled, promoted every 64", ec_method(plain(EcVariant::kScaled))},
      {"scaled, promoted every 128", ec_method(plain(EcVariant::kScaled, 128))},
  };
  measure(figure, "uniform(-1, 1)", uniform(1), uniform(1), methods, size);
  measure(figure, "uniform(0, 1)", positive(), positive(), methods, size);
  return figure;
}

StudyFigure masked_last_bit(const SgemmStudySize& size) {
  StudyFigure figure =
      product_figure("figure_2", "FP32 operands with the last bit masked against Markidis; uniform(-8, 8)");
  measure(figure, "uniform(-8, 8)", uniform(8), uniform(8),
          {{"FP32 chain (SIMT)", fp32_chain},
           {"FP32 chain, last bit masked", masked_chain},
           {"Markidis", ec_method(plain(EcVariant::kMarkidis))}},
          size);
  return figure;
}

StudyFigure accumulator_rounding(const SgemmStudySize& size) {
  StudyFigure figure =
      product_figure("figure_3", "Markidis' products by mma_rn and mma_rz, and by the models of tensor cores");
  measure(figure, "uniform(-1, 1)", uniform(1), uniform(1),
          {{"FP32 chain (SIMT)", fp32_chain},
           {"mma_rn", ec_method(on(TensorCoreModel::kMmaRn, plain(EcVariant::kMarkidis)))},
           {"mma_rz", ec_method(on(TensorCoreModel::kMmaRz, plain(EcVariant::kMarkidis)))},
           {"Markidis, Ampere", ec_method(on(TensorCoreModel::kAmpere, plain(EcVariant::kMarkidis)))},
           {"Markidis, Hopper", ec_method(plain(EcVariant::kMarkidis))}},
          size);
  return figure;
}

StudyFigure exponent_ranges(const SgemmStudySize& size) {
  StudyFigure figure = product_figure("figure_8", "Error over k by the exponents of the operands");
  const std::vector<NamedMethod> methods = {{"FP32 chain (SIMT)", fp32_chain},
                                            {"halfhalf", ec_method(plain(EcVariant::kHalfhalf, 16))},
                                            {"tf32tf32", ec_method(plain(EcVariant::kTf32tf32, 16))},
                                            {"TF32, not corrected", ec_method(plain(EcVariant::kTf32))},
                                            {"FP16, not corrected", ec_method(plain(EcVariant::kFp16))}};
  struct Range {
    int a_first, a_last, b_first, b_last;
  };
  constexpr Range kRanges[] = {
      {-15, 15, -15, 15}, {-15, 15, -35, -15}, {-35, -15, -15, 15}, {-15, 15, -45, -35}, {-45, -35, -45, -35}};
  for (const bool is_signed : {true, false}) {
    for (const Range& r : kRanges) {
      const std::string data = "exp_rand(" + std::to_string(r.a_first) + ", " + std::to_string(r.a_last) + ") x (" +
                               std::to_string(r.b_first) + ", " + std::to_string(r.b_last) + ")" +
                               (is_signed ? "" : ", positive");
      const Draw a = exp_rand(r.a_first, r.a_last, is_signed);
      const Draw b = exp_rand(r.b_first, r.b_last, is_signed);
      measure(figure, data, a, b, methods, size);
      // The planner refuses scheme ec where its bound does not reach the accuracy: k below 60.
      measure(figure, data, a, b, {{"scheme ec by default", ec_method({})}}, size, 64);
    }
  }
  return figure;
}

}  // namespace kizami::study
