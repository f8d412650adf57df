// SPDX-License-Identifier: MIT
// Calls that make one triangle of C, beside calls that make all of it, for their tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/carver.hpp"
#include "exec/device_batch.hpp"
#include "exec/device_environment.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/drawn_elements.hpp"
#include "kizami/gemm.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::gpu_test::triangle_case {

using problem::Part;
using problem::PartKind;

/// How the elements of A are drawn.
struct Elements {
  double phi = 0.5;  ///< of drawn_elements()
  bool has_nonfinite = false;
  bool has_zero_line = false;
};

template <class T>
[[nodiscard]] std::vector<T> drawn(std::size_t count, const Elements& elements, unsigned seed) {
  return drawn_elements<T>(count, elements.phi, seed);
}

struct Spec {
  std::int64_t n = 300;
  std::int64_t k = 200;
  PartKind kind = PartKind::kLower;
  bool is_hermitian = false;
  bool is_transposed = false;  ///< A is stored with its lines across
  bool has_other_b = false;    ///< C <- A B with a B of its own
  bool is_row_major = false;   ///< C
  double alpha = 1;
  double beta = 0;
  bool has_device_factors = false;
  Elements elements = {};
  std::optional<device::Look> look = {};
  int forced_moduli = 0;
  Accuracy accuracy = Accuracy::native();
};

[[nodiscard]] inline std::string print(const Spec& s) {
  return "n " + std::to_string(s.n) + " k " + std::to_string(s.k) + (s.kind == PartKind::kLower ? " lower" : " upper") +
         (s.is_hermitian ? " hermitian" : "") + (s.is_transposed ? " transposed" : "") +
         (s.has_other_b ? " other B" : "") + (s.is_row_major ? " row-major" : "") + " alpha " +
         std::to_string(s.alpha) + " beta " + std::to_string(s.beta) + " phi " + std::to_string(s.elements.phi) +
         " moduli " + std::to_string(s.forced_moduli);
}

[[nodiscard]] inline plan::Plan plan_of(const Spec& s, Scalar scalar, const Policy& policy) {
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) throw std::runtime_error(environment.status().reason());
  const Result<plan::Plan> plan = plan::make({scalar, s.n, s.n, s.k}, policy, environment.value());
  if (!plan.ok()) throw std::runtime_error(print(s) + ": " + plan.status().reason());
  return plan.value();
}

[[nodiscard]] inline plan::Plan plan_of(const Spec& s, Scalar scalar, EngineName engine = EngineName::kHopper,
                                        std::size_t limit = 0) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = engine;
  policy.forced_moduli = s.forced_moduli;
  policy.accuracy = s.accuracy;
  policy.workspace_limit_bytes = limit;
  return plan_of(s, scalar, policy);
}
/// Of scheme ec, with the promotion of large C whatever n is.
[[nodiscard]] inline plan::Plan ec_plan_of(const Spec& s, Scalar scalar = Scalar::kF32, int promotion_k = 128) {
  Policy policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.ec.promotion_k = promotion_k;
  return plan_of(s, scalar, policy);
}

/// The matrices of a call in device memory, and what it leaves there.
template <class T>
class TriangleCase {
 public:
  explicit TriangleCase(const Spec& s) : TriangleCase(s, plan_of(s, kScalarOf<T>)) {}
  TriangleCase(const Spec& s, const plan::Plan& plan)
      : s_(s),
        plan_(plan),
        host_a_(lines(1)),
        host_b_(lines(2)),
        before_(drawn<T>(static_cast<std::size_t>(ld() * s.n), {}, 3)),
        a_(host_a_),
        b_(host_b_),
        c_(before_),
        factors_(std::vector<T>{T(static_cast<RealOf<T>>(s.alpha)), T(static_cast<RealOf<T>>(s.beta))}),
        workspace_(plan_.schedule.workspace_bytes) {}

  [[nodiscard]] std::int64_t ld() const { return s_.n + 5; }
  [[nodiscard]] std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(s_.is_row_major ? i * ld() + j : i + j * ld());
  }
  [[nodiscard]] Part part() const { return {s_.kind, s_.is_hermitian}; }
  [[nodiscard]] const std::vector<T>& before() const { return before_; }
  /// Other values of C before the call.
  void begin_with(const std::vector<T>& c) { before_ = c; }

  [[nodiscard]] Status run(const Part& part, product::Queue queue = nullptr) {
    if (queue == nullptr) c_.upload(before_);
    if (queue == nullptr) check(cudaMemset(workspace_.data(), 0xA5, workspace_.size()), "poison");
    device::DeviceProblem<T> problem;
    const Op op = s_.is_hermitian ? Op::kConjTranspose : Op::kTranspose;
    problem.alpha =
        s_.has_device_factors ? Factor<T>::at(factors_.data()) : Factor<T>(T(static_cast<RealOf<T>>(s_.alpha)));
    problem.beta =
        s_.has_device_factors ? Factor<T>::at(factors_.data() + 1) : Factor<T>(T(static_cast<RealOf<T>>(s_.beta)));
    problem.a = op_a(a_.data());
    problem.b = (s_.has_other_b ? op_a(b_.data()) : problem.a).transposed();
    if (kIsComplex<T> && op == Op::kConjTranspose) problem.b = problem.b.conjugated();
    problem.c = blas_view(c_.data(), s_.n, s_.n, ld(), s_.is_row_major ? Layout::kRowMajor : Layout::kColMajor);
    problem.look = s_.look;
    problem.part = part;
    const Status status = exec::run_device<T>(plan_, std::span<const device::DeviceProblem<T>>(&problem, 1),
                                              {workspace_.data(), workspace_.size()}, queue);
    if (queue != nullptr) return status;  // captured
    EXPECT_TRUE(c_.guards_are_intact() && workspace_.guards_are_intact()) << print(s_);
    return status;
  }
  [[nodiscard]] std::vector<T> c() const { return c_.download(); }
  [[nodiscard]] Outcome outcome() const {
    Outcome outcome;
    const Status status =
        exec::read_device_outcomes(plan_, {workspace_.data(), workspace_.size()}, nullptr, std::span(&outcome, 1));
    EXPECT_TRUE(status.ok()) << status.reason();
    return outcome;
  }
  [[nodiscard]] ec::DeviceEcBuffers ec_buffers() const {
    base::Carver carver(workspace_.data());
    return ec::carve_device_ec(carver, plan_, s_.is_row_major);
  }
  [[nodiscard]] ozaki2::DeviceBuffers buffers() const {
    base::Carver carver(workspace_.data());
    return ozaki2::carve_device(carver, plan_);
  }
  /// Bytes that are as they were before the call.
  [[nodiscard]] std::int64_t untouched(const std::int8_t* from, std::int64_t count) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    check(cudaMemcpy(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost), "reading the workspace");
    return std::count(bytes.begin(), bytes.end(), std::uint8_t{0xA5});
  }
  [[nodiscard]] const plan::Plan& plan() const { return plan_; }
  /// All of C as the processor makes it.
  [[nodiscard]] std::vector<T> of_host() const {
    std::vector<T> c = before_;
    Policy policy;
    policy.scheme = Scheme::kOzaki2;
    policy.forced_moduli = s_.forced_moduli;
    policy.accuracy = s_.accuracy;
    MatrixView<const T> a = op_a(host_a_.data());
    MatrixView<const T> b = (s_.has_other_b ? op_a(host_b_.data()) : a).transposed();
    if (kIsComplex<T> && s_.is_hermitian) b = b.conjugated();
    const Status status =
        gemm<T>(T(static_cast<RealOf<T>>(s_.alpha)), a, b, T(static_cast<RealOf<T>>(s_.beta)),
                blas_view(c.data(), s_.n, s_.n, ld(), s_.is_row_major ? Layout::kRowMajor : Layout::kColMajor), policy);
    EXPECT_TRUE(status.ok()) << status.reason();
    return c;
  }

 private:
  [[nodiscard]] std::int64_t lda() const { return (s_.is_transposed ? s_.k : s_.n) + 3; }
  [[nodiscard]] MatrixView<const T> op_a(const T* data) const {
    return s_.is_transposed ? blas_view(data, s_.k, s_.n, lda()).transposed() : blas_view(data, s_.n, s_.k, lda());
  }
  [[nodiscard]] std::vector<T> lines(unsigned seed) const {
    std::vector<T> values =
        drawn<T>(static_cast<std::size_t>(lda() * (s_.is_transposed ? s_.n : s_.k)), s_.elements, seed);
    const auto element = [&](std::int64_t i, std::int64_t h) -> T& {
      return values[static_cast<std::size_t>(s_.is_transposed ? h + i * lda() : i + h * lda())];
    };
    const std::int64_t line = s_.n / 3;
    for (std::int64_t h = 0; s_.elements.has_zero_line && h < s_.k; ++h) element(line, h) = T{};
    if (s_.elements.has_nonfinite) {
      element(s_.n / 2, s_.k / 2) = T(std::numeric_limits<RealOf<T>>::infinity());
      element(s_.n - 1, 0) = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
    }
    return values;
  }

  Spec s_;
  plan::Plan plan_;
  std::vector<T> host_a_, host_b_, before_;
  DeviceArray<T> a_, b_, c_, factors_;
  DeviceArray<std::byte> workspace_;
};

/// Equal bits, or two NaNs.
template <class T>
[[nodiscard]] bool is_same(const T& x, const T& y) {
  const auto same = [](auto u, auto v) {
    return (std::isnan(u) && std::isnan(v)) || std::memcmp(&u, &v, sizeof u) == 0;
  };
  if constexpr (kIsComplex<T>) {
    return same(x.real(), y.real()) && same(x.imag(), y.imag());
  } else {
    return same(x, y);
  }
}

/// The triangle of `got` is that of `want`, all else is as before.
template <class T>
void expect_triangle(const TriangleCase<T>& call, const Spec& s, const std::vector<T>& got, const std::vector<T>& want,
                     const std::string& whose) {
  std::int64_t wrong = 0;
  std::int64_t touched = 0;
  for (std::int64_t j = 0; j < s.n; ++j) {
    for (std::int64_t i = 0; i < s.n; ++i) {
      const std::size_t at = call.at(i, j);
      if (call.part().has(i, j)) {
        T wanted = want[at];
        if constexpr (kIsComplex<T>) {
          if (s.is_hermitian && i == j) wanted = T(wanted.real(), 0);
        }
        wrong += is_same(got[at], wanted) ? 0 : 1;
      } else {
        touched += is_same(got[at], call.before()[at]) ? 0 : 1;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << print(s) << ": not " << whose;
  EXPECT_EQ(touched, 0) << print(s) << ": beyond the diagonal";
}

template <class T>
Outcome expect_bits_of_all(const Spec& s, bool asks_host, const plan::Plan& plan) {
  TriangleCase<T> call(s, plan);
  if (!s.is_hermitian && !s.elements.has_nonfinite) {
    // What is beyond the diagonal is not read: NaN there changes nothing.
    std::vector<T> c = call.before();
    for (std::int64_t j = 0; j < s.n; ++j) {
      for (std::int64_t i = 0; i < s.n; ++i) {
        if (!call.part().has(i, j)) c[call.at(i, j)] = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
      }
    }
    call.begin_with(c);
  }
  const Status status = call.run(call.part());
  EXPECT_TRUE(status.ok()) << print(s) << ": " << status.reason();
  const std::vector<T> got = call.c();
  const Outcome outcome = call.outcome();
  EXPECT_TRUE(call.run({}).ok());
  const Outcome of_all = call.outcome();
  EXPECT_EQ(outcome.scheme, of_all.scheme) << print(s);
  EXPECT_EQ(outcome.variant, of_all.variant) << print(s);
  EXPECT_EQ(outcome.rung, of_all.rung) << print(s);
  EXPECT_EQ(outcome.moduli, of_all.moduli) << print(s);
  EXPECT_EQ(outcome.repaired, of_all.repaired) << print(s);
  EXPECT_EQ(outcome.nonfinite_rows, of_all.nonfinite_rows) << print(s);
  EXPECT_EQ(outcome.nonfinite_cols, of_all.nonfinite_cols) << print(s);
  expect_triangle(call, s, got, call.c(), "that of all of C");
  if (asks_host) expect_triangle(call, s, got, call.of_host(), "the processor's");
  return outcome;
}

template <class T>
Outcome expect_bits_of_all(const Spec& s, bool asks_host) {
  return expect_bits_of_all<T>(s, asks_host, plan_of(s, kScalarOf<T>));
}

}  // namespace kizami::gpu_test::triangle_case
