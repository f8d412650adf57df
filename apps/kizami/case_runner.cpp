// SPDX-License-Identifier: MIT
#include "case_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <thread>

#include "case_answer.hpp"
#include "check/compare.hpp"
#include "check/element.hpp"
#include "check/operands.hpp"
#include "check/reference.hpp"
#include "exact_sample.hpp"
#include "kizami/gemm.hpp"
#include "kizami/plan.hpp"

namespace kizami::cli {
namespace {

using check::Case;
using check::Verdict;

/// Terms of exact dot products that are worth computing for one case: about a second.
constexpr double kMaxTerms = 1 << 27;
constexpr double kMinSampleLines = 16;
/// Products that the engine cpu_ref repeats in about a second.
constexpr double kMaxReferenceTerms = 1 << 26;
/// The kit rounds the promise down, the library to nearest.
constexpr double kPromiseSlack = 1 + 0x1p-50;

/// Real products of the definition: four for a product of complex elements.
double terms_of(const Case& spec) {
  const double terms = is_complex(spec.scalar) ? 4 : 1;
  return terms * static_cast<double>(spec.m) * static_cast<double>(spec.n) * static_cast<double>(spec.k);
}

int processors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

check::Sampling sampling_of(const Case& spec) {
  if (terms_of(spec) <= kMaxTerms) return {};
  const double elements = kMaxTerms / terms_of(spec) * static_cast<double>(spec.m) * static_cast<double>(spec.n);
  const auto lines = static_cast<std::int64_t>(std::max(kMinSampleLines, std::sqrt(elements)));
  return {lines, lines};
}

CaseResult failed(std::string reason) { return {CaseVerdict::kFailed, std::move(reason)}; }

template <class T>
class Runner {
 public:
  explicit Runner(const Case& spec)
      : spec_(spec),
        x_(spec, processors()),
        alpha_(check::alpha_of<T>(spec)),
        beta_(check::beta_of<T>(spec)),
        reference_(alpha_, x_.a.view(), x_.b.view(), beta_, x_.c.view()) {}

  CaseResult run() {
    const Status status = call(spec_.policy, x_.c, &outcome_);
    if (const Verdict intact = x_.inputs_intact(); !intact) return failed(intact.message);
    if (!status.ok()) return judge_refusal(status);
    if (const Verdict promise = judge_promise(); !promise) return failed(promise.message);
    return judge_elements();
  }

 private:
  Status call(const Policy& policy, check::Operand<T>& c, Outcome* outcome) const {
    return gemm<T>(spec_.layout, spec_.op_a, spec_.op_b, spec_.m, spec_.n, spec_.k, alpha_, x_.a.data(), x_.a.ld(),
                   x_.b.data(), x_.b.ld(), beta_, c.data(), c.ld(), policy, outcome);
  }

  [[nodiscard]] bool is_multiplied() const { return alpha_ != T{0} && spec_.m > 0 && spec_.n > 0 && spec_.k > 0; }
  [[nodiscard]] bool has_nonfinite() const { return any_nonfinite(x_.a.view()) || any_nonfinite(x_.b.view()); }
  static bool any_nonfinite(MatrixView<const T> x) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t j = 0; j < x.cols; ++j) {
        for (const check::Part part : check::kPartsOf<T>) {
          if (!std::isfinite(check::part_of(x(i, j), part))) return true;
        }
      }
    }
    return false;
  }

  CaseResult judge_refusal(const Status& status) {
    const std::string reason = fmt::format("{}: {}", to_string(status.code()), status.reason());
    if (const Verdict unchanged = x_.c.unchanged(); !unchanged) {
      return failed(fmt::format("refused ({}), but {}", reason, unchanged.message));
    }
    switch (status.code()) {
      case StatusCode::kUnsupported:
      case StatusCode::kAccuracyUnreachable:
      case StatusCode::kWorkspaceTooSmall:
      case StatusCode::kOutOfMemory:
        return {CaseVerdict::kRefused, reason};
      case StatusCode::kNonFinite:
        if (spec_.policy.reject_nonfinite && has_nonfinite())
          return {CaseVerdict::kPassed, "rejected as asked: " + reason};
        return failed("not to be rejected: " + reason);
      default:
        return failed(reason);
    }
  }

  [[nodiscard]] Verdict judge_promise() const {
    const Policy& policy = spec_.policy;
    if (policy.reject_nonfinite && is_multiplied() && has_nonfinite()) return check::red("NaN or Inf was not rejected");
    const bool is_engine_free = policy.engine == EngineName::kAuto || outcome_.engine == "none";
    if (!is_engine_free && outcome_.engine != to_string(policy.engine)) {
      return check::red(fmt::format("engine {} ran instead of {}", outcome_.engine, to_string(policy.engine)));
    }
    const bool is_variant_named = policy.scheme == Scheme::kEc && policy.ec.variant != EcVariant::kAuto;
    if (policy.forced_moduli > 0 || policy.slices.num_slices != 0 ||
        (is_variant_named && policy.accuracy == Accuracy::native()))
      return {};
    const check::Allowance promise = check::promised_allowance(policy.accuracy, policy.gauge, spec_.scalar, spec_.k);
    // Correct rounding knows no gauge.
    const bool is_gauge_free = policy.accuracy.kind == Accuracy::Kind::kCorrect || outcome_.bound == 0;
    // A bound against |A||B| holds against norms, too.
    const bool is_gauge_kept = outcome_.gauge == policy.gauge || outcome_.gauge == Gauge::kEntry || is_gauge_free;
    if (outcome_.bound <= promise.units * kPromiseSlack && is_gauge_kept) return {};
    return check::red(fmt::format("reports the bound {} in gauge {}, but {} in gauge {} was promised", outcome_.bound,
                                  to_string(outcome_.gauge), promise.units, to_string(policy.gauge)));
  }

  CaseResult judge_elements() {
    if (spec_.m == 0 || spec_.n == 0) return {CaseVerdict::kPassed, "C has no element"};
    const check::Allowance allowed = allowance_of(alpha_, beta_, outcome_.bound, outcome_.gauge);
    const check::RatioStats stats =
        check::error_ratios<T>(reference_, x_.c.view(), allowed, sampling_of(spec_), processors());
    if (const Verdict verdict = check::ratio_at_most_one(stats); !verdict) {
      if (outcome_.is_conditional)
        return {CaseVerdict::kMistrusted, fmt::format("{}; the bound is conditional; {}", verdict.message, method())};
      return failed(fmt::format("{}; {}", verdict.message, method()));
    }
    if (spec_.policy.accuracy.kind == Accuracy::Kind::kCorrect) {
      const Verdict correct = check::correctly_rounded<T>(reference_, x_.c.view(), sampling_of(spec_), processors());
      if (!correct) return failed(fmt::format("{}; {}", correct.message, method()));
    }
    const Verdict repeated = repeat();
    if (!repeated) return failed(repeated.message);
    const std::string detail = fmt::format(
        "ratio {:.3g} (median {:.3g}) of {} elements; {}; {}", stats.max, stats.median, stats.count, method(),
        num_repeats_ == 0 ? "not repeated" : fmt::format("same bits {} more times", num_repeats_));
    if (2 * stats.num_zero > stats.count) {
      return {CaseVerdict::kMistrusted,
              fmt::format("{} of {} elements are 0; {}", stats.num_zero, stats.count, detail)};
    }
    return {CaseVerdict::kPassed, detail};
  }

  [[nodiscard]] std::string method() const {
    const std::string means = outcome_.scheme == Scheme::kEc ? fmt::format("variant {}", to_string(outcome_.variant))
                              : outcome_.scheme == Scheme::kOzaki1 ? fmt::format("{} slices", outcome_.slices)
                                                                   : fmt::format("{} moduli", outcome_.moduli);
    return fmt::format("bound {:.3g} {}, {} {}, {}", outcome_.bound, to_string(outcome_.gauge),
                       to_string(outcome_.scheme), outcome_.engine, means);
  }

  /// The same slices, their products grouped otherwise and, in INT8, made by another engine.
  [[nodiscard]] std::vector<Policy> other_slice_schedules() const {
    std::vector<Policy> out;
    for (const SliceSums sums : {SliceSums::kPairs, SliceSums::kGrouped, SliceSums::kConcatenated}) {
      Policy policy = spec_.policy;
      policy.slices.sums = sums;
      policy.threads = out.empty() ? 1 : 3;
      const bool may_be_reference =
          policy.slices.format == SliceFormat::kInt8 && 16 * terms_of(spec_) <= kMaxReferenceTerms;
      if (sums == SliceSums::kGrouped && may_be_reference) policy.engine = EngineName::kCpuRef;
      out.push_back(policy);
    }
    return out;
  }

  /// The same numerics on other schedules.
  [[nodiscard]] std::vector<Policy> other_schedules() const {
    std::vector<Policy> out;
    Policy policy = spec_.policy;
    if (outcome_.scheme == Scheme::kOzaki1) return other_slice_schedules();
    policy.slices = {};
    if (policy.scheme == Scheme::kEc || policy.scheme == Scheme::kOzaki1) policy.engine = EngineName::kAuto;
    if (policy.scheme == Scheme::kEc) policy.gauge = Gauge::kEntry;  // of the ozaki2 that stands behind it
    policy.scheme = Scheme::kOzaki2;
    for (const EngineName engine : {EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kTile}) {
      const bool is_slow = engine == EngineName::kCpuRef && terms_of(spec_) > kMaxReferenceTerms;
      if (is_slow || to_string(engine) == outcome_.engine) continue;
      policy.engine = engine;
      policy.threads = 1;
      out.push_back(policy);
    }
    policy.engine = spec_.policy.engine;
    policy.threads = 3;
    if (const Result<Plan> plan = make_plan(spec_.scalar, spec_.m, spec_.n, spec_.k, policy); plan.ok()) {
      policy.workspace_limit_bytes = std::max<std::size_t>(plan.value().workspace_bytes() / 2, 1);
    }
    out.push_back(policy);
    return out;
  }

  Verdict repeat() {
    const bool is_exact = outcome_.scheme == Scheme::kOzaki2 || outcome_.scheme == Scheme::kOzaki1;
    if (!is_exact || !is_multiplied()) return {};
    for (const Policy& policy : other_schedules()) {
      check::Operand<T> c(spec_, check::Which::kC, processors());
      const Status status = call(policy, c, nullptr);
      // A schedule that is refused, or has no memory, is not repeated.
      if (status.code() == StatusCode::kUnsupported || status.code() == StatusCode::kWorkspaceTooSmall ||
          status.code() == StatusCode::kOutOfMemory)
        continue;
      const std::string schedule = fmt::format("engine {}, {} threads, workspace {}", to_string(policy.engine),
                                               policy.threads, policy.workspace_limit_bytes);
      if (!status.ok()) return check::red(fmt::format("repeated with {}: {}", schedule, status.reason()));
      const Verdict same = check::promised_bits_equal<T>(c.view(), x_.c.view());
      if (!same) return check::red(fmt::format("repeated with {}: {}", schedule, same.message));
      const Verdict intact = c.canaries_intact();
      if (!intact) return check::red(fmt::format("repeated with {}: {}", schedule, intact.message));
      ++num_repeats_;
    }
    return x_.inputs_intact();
  }

  Case spec_;
  check::Operands<T> x_;
  T alpha_, beta_;
  check::Reference<T> reference_;
  Outcome outcome_;
  int num_repeats_ = 0;
};

CaseResult run_product(const Case& spec) {
  try {
    return with_scalar(spec.scalar, [&]<class T>() { return Runner<T>(spec).run(); });
  } catch (const std::bad_alloc&) {
    return {CaseVerdict::kRefused, "no memory for the operands and their exact reference"};
  }
}

}  // namespace

std::string_view to_string(CaseVerdict verdict) noexcept {
  switch (verdict) {
    case CaseVerdict::kPassed:
      return "PASSED";
    case CaseVerdict::kFailed:
      return "FAILED";
    case CaseVerdict::kRefused:
      return "REFUSED";
    case CaseVerdict::kMistrusted:
      return "MISTRUSTED";
  }
  return "unknown";
}

CaseResult run_case(const Case& spec) {
  CaseResult result = run_product(check::product_of_batch(spec, 0));
  for (std::int64_t i = 1; i < spec.num_products && result.verdict == CaseVerdict::kPassed; ++i) {
    result = run_product(check::product_of_batch(spec, i));
    result.detail = fmt::format("product {}: {}", i, result.detail);
  }
  return result;
}

}  // namespace kizami::cli
