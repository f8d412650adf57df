// SPDX-License-Identifier: MIT
// Runs cases of the check kit's grammar through the front door and judges what comes back:
//   |C - (alpha AB + beta C0)|_ij <= |alpha| plan.bound() gauge_ij + epilogue + half the smallest subnormal number
// The epilogue term is num::epilogue_bound(), absent for alpha = +-1 and beta = 0; in scheme native |beta C0| is part
// of the gauge. The last term is the rounding of a result that is no normal number, which no relative bound can cover.
// Everything else is exact (check/reference.hpp). A complex product keeps to it in both parts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "check/case.hpp"
#include "check/compare.hpp"
#include "check/operands.hpp"
#include "check/reference.hpp"
#include "kizami/gemm.hpp"
#include "num/bounds.hpp"
#include "tests/sanitized.hpp"

namespace kizami::api_test {

using tests::is_left_out;
using tests::kIsSanitized;

/// Threads of references and fillings; the machines that run these tests have few.
inline constexpr int kThreads = 2;

/// The case of a line. Throws, and so fails the test, if it is none.
[[nodiscard]] inline check::Case case_of(const std::string& line) {
  Result<check::Case> parsed = check::parse_case(line);
  if (!parsed.ok()) throw std::invalid_argument(line + ": " + parsed.status().reason());
  return std::move(parsed).value();
}

template <class T>
[[nodiscard]] Status call(const check::Case& c, check::Operands<T>& x, Outcome& outcome) {
  return gemm<T>(c.layout, c.op_a, c.op_b, c.m, c.n, c.k, check::alpha_of<T>(c), x.a.data(), x.a.ld(), x.b.data(),
                 x.b.ld(), check::beta_of<T>(c), x.c.data(), x.c.ld(), c.policy, &outcome);
}

/// C of a case as a dense column-major array. Fails the test if the call does not succeed or does not leave A, B and
/// the canaries alone.
template <class T>
[[nodiscard]] std::vector<T> product_of(const check::Case& c, Outcome* outcome = nullptr) {
  check::Operands<T> x(c, kThreads);
  Outcome local;
  const Status status = call(c, x, outcome == nullptr ? local : *outcome);
  EXPECT_TRUE(status.ok()) << check::print(c) << ": " << status.reason();
  const check::Verdict intact = x.inputs_intact();
  EXPECT_TRUE(intact) << check::print(c) << ": " << intact.message;
  std::vector<T> out(static_cast<std::size_t>(c.m * c.n));
  const MatrixView<T> view = x.c.view();
  for (std::int64_t j = 0; j < c.n; ++j) {
    for (std::int64_t i = 0; i < c.m; ++i) out[static_cast<std::size_t>(j * c.m + i)] = view(i, j);
  }
  return out;
}

/// f of each part of a number.
template <class T, class F>
[[nodiscard]] T map_parts(const T& x, const F& f) {
  return check::from_parts<T>(f(check::part_of(x, check::Part::kReal)),
                              kIsComplex<T> ? f(check::part_of(x, check::Part::kImaginary)) : RealOf<T>{0});
}

/// Whether a part is NaN.
template <class T>
[[nodiscard]] bool is_nan(const T& x) {
  return std::isnan(check::part_of(x, check::Part::kReal)) || std::isnan(check::part_of(x, check::Part::kImaginary));
}

/// `got` with the sign and payload of the NaNs of `want` where both parts are NaN.
template <class T>
[[nodiscard]] T with_nans_of(const T& want, const T& got) {
  const auto part = [&](check::Part which) {
    const RealOf<T> x = check::part_of(want, which), y = check::part_of(got, which);
    return std::isnan(x) && std::isnan(y) ? x : y;
  };
  return check::from_parts<T>(part(check::Part::kReal), part(check::Part::kImaginary));
}

/// A dense column-major array as a matrix.
template <class T>
[[nodiscard]] MatrixView<const T> dense(const std::vector<T>& x, std::int64_t rows, std::int64_t cols) {
  return blas_view(x.data(), rows, cols, rows > 0 ? rows : 1);
}
template <class T>
[[nodiscard]] MatrixView<T> dense(std::vector<T>& x, std::int64_t rows, std::int64_t cols) {
  return blas_view(x.data(), rows, cols, rows > 0 ? rows : 1);
}

/// Fails the test unless two dense results of one shape are equal bit for bit.
template <class T>
void expect_same_bits(const std::vector<T>& got, const std::vector<T>& want, std::int64_t rows, std::int64_t cols,
                      const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  const check::Verdict verdict = check::bits_equal<T>(dense(got, rows, cols), dense(want, rows, cols));
  EXPECT_TRUE(verdict) << what << ": " << verdict.message;
}

/// Upper bound of x as a double; at the end of the range the largest finite number, which only makes a test harder.
[[nodiscard]] inline double finite_up(const check::Exact& x) {
  const double up = check::to_double(x.magnitude(check::Rounding::kUp), check::Rounding::kUp);
  return std::min(up, std::numeric_limits<double>::max());
}

/// Ratios of all elements of C to what the plan guarantees.
/// @shape c0: C before the call; not read if beta = 0
template <class T>
[[nodiscard]] check::RatioStats guaranteed_ratios(const check::Case& c, const Plan& plan, MatrixView<const T> a,
                                                  MatrixView<const T> b, MatrixView<const T> c0,
                                                  MatrixView<const T> got) {
  const double bound = plan.bound();
  const Gauge gauge = plan.gauge();
  const bool is_native = plan.scheme() == Scheme::kNative;
  const T alpha = check::alpha_of<T>(c), beta = check::beta_of<T>(c);
  const check::Reference<T> reference(alpha, a, b, beta, c0);
  // Half the smallest subnormal number; for FP64 that is no double, so a whole one.
  const double absolute = std::is_same_v<RealOf<T>, float> ? 0x1p-150 : 0x1p-1074;
  if ((alpha == T{1} || alpha == T{-1}) && beta == T{0}) {
    return check::error_ratios<T>(reference, got, {check::against(gauge), bound, absolute}, {}, kThreads);
  }
  // epilogue_bound() is linear in |alpha p| + |beta c|; |p| <= |AB| + bound gauge.
  const double tiny = num::epilogue_bound(c.scalar, 0, 0);
  const double per_unit = num::epilogue_bound(c.scalar, 1, 0);
  const check::Reference<T> product(alpha, a, b, T{0}, c0);
  const check::Reference<T> scaled(T{0}, a, b, beta, c0);
  return check::bound_ratios<T>(reference, got,
                                check::BoundOfPart([&](std::int64_t i, std::int64_t j, check::Part part) {
                                  const auto element = product.element(i, j, part);
                                  if (element.cls != check::ValueClass::kFinite) return tiny;
                                  const auto beta_c = scaled.element(i, j, part);
                                  const bool is_beta_c_finite = beta_c.cls == check::ValueClass::kFinite;
                                  check::Exact truncation = product.gauge(element, check::against(gauge), i, j);
                                  if (is_native && is_beta_c_finite) truncation += beta_c.entry;
                                  truncation = truncation.times(bound);
                                  check::Exact epilogue = element.terms;
                                  epilogue += truncation;
                                  if (is_beta_c_finite) epilogue += beta_c.entry;
                                  check::Exact allowed = epilogue.times(per_unit);
                                  allowed += truncation;
                                  allowed.add(tiny);
                                  allowed.add(absolute);
                                  return finite_up(allowed);
                                }),
                                {}, kThreads);
}

/// What was seen over many cases.
struct Tally {
  double max_ratio = 0;
  std::string worst;                   ///< case line of max_ratio
  std::map<std::string, int> answers;  ///< "r0", "r2e" (equilibrated), "fp64", "native", "none"
  int cases = 0;
  std::int64_t repaired = 0;

  void add(const std::string& line, double ratio, const Outcome& outcome, const std::string& how) {
    ++cases;
    if (!(ratio <= max_ratio)) {
      max_ratio = ratio;
      worst = line;
    }
    repaired += outcome.repaired;
    ++answers[how];
  }
  [[nodiscard]] static std::string answer(const Outcome& outcome) {
    if (outcome.engine == "none") return "none";
    if (outcome.scheme == Scheme::kNative) return "native";
    if (outcome.rung < 0) return "fp64";
    return fmt::format("r{}{}", outcome.rung, outcome.equilibrated ? "e" : "");
  }
  [[nodiscard]] std::string text() const {
    std::string out = fmt::format("max ratio {:.3g} of {} cases;", max_ratio, cases);
    for (const auto& [name, count] : answers) out += fmt::format(" {}:{}", name, count);
    if (repaired > 0) out += fmt::format(" repaired:{}", repaired);
    return out + "; worst: " + worst;
  }
};

/// A call that was held to its plan.
struct HeldCall {
  Plan plan;
  Outcome outcome;
};

/// Runs a case and fails the test unless its operands stay as they were and every element meets the plan's bound.
/// Nothing comes back where there is no plan or the call fails.
/// @param answer what it says of an outcome, for the tally
template <class T, class Answer>
std::optional<HeldCall> expect_within_bound(const check::Case& c, Tally* tally, const Answer& answer) {
  const std::string line = check::print(c);
  const Result<Plan> plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy);
  EXPECT_TRUE(plan.ok()) << line << ": " << plan.status().reason();
  if (!plan.ok()) return std::nullopt;
  check::Operands<T> x(c, kThreads);
  const check::Operands<T> before(x);
  HeldCall held{plan.value(), {}};
  const Outcome& outcome = held.outcome;
  const Status status = call(c, x, held.outcome);
  EXPECT_TRUE(status.ok()) << line << ": " << status.reason();
  if (!status.ok()) return std::nullopt;
  const check::Verdict intact = x.inputs_intact();
  EXPECT_TRUE(intact) << line << ": " << intact.message;
  const check::RatioStats stats = guaranteed_ratios<T>(c, plan.value(), before.a.view(), before.b.view(),
                                                       before.c.view(), std::as_const(x).c.view());
  const check::Verdict verdict = check::ratio_at_most_one(stats);
  EXPECT_TRUE(verdict) << line << ": " << verdict.message << " [" << answer(outcome) << ", " << outcome.moduli
                       << " moduli, " << outcome.slices << " slices, repaired " << outcome.repaired << "]";
  if (tally != nullptr) tally->add(line, stats.max, outcome, answer(outcome));
  return held;
}

/// As above; the outcome must agree with the plan, too.
template <class T>
Outcome expect_guaranteed(const check::Case& c, Tally* tally = nullptr) {
  const std::optional<HeldCall> held = expect_within_bound<T>(c, tally, &Tally::answer);
  if (!held.has_value()) return {};
  const auto& [plan, outcome] = *held;
  if (outcome.engine == "none") return outcome;
  const std::string line = check::print(c);
  EXPECT_EQ(outcome.bound, plan.bound()) << line;
  EXPECT_EQ(outcome.gauge, plan.gauge()) << line;
  EXPECT_EQ(outcome.scheme, plan.scheme()) << line;
  EXPECT_EQ(outcome.engine, plan.engine()) << line;
  if (outcome.rung >= 0) {
    EXPECT_GE(outcome.moduli, plan.base_moduli()) << line;
    EXPECT_LE(outcome.moduli, plan.max_moduli()) << line;
  }
  return outcome;
}

inline Outcome expect_guaranteed(const check::Case& c, Tally* tally = nullptr) {
  return with_scalar(c.scalar, [&]<class T>() { return expect_guaranteed<T>(c, tally); });
}

/// Prints what a test has seen, for the log and the test report.
inline void report(const std::string& what, const Tally& tally) {
  fmt::print("[ accuracy ] {:<24} {}\n", what, tally.text());
  ::testing::Test::RecordProperty("max_ratio", std::to_string(tally.max_ratio));
  ::testing::Test::RecordProperty("worst", tally.worst);
}

}  // namespace kizami::api_test
