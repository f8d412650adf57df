// SPDX-License-Identifier: MIT
// Products of one triangle of C: the bits of all of C, the other triangle as it was, and half of the work, which is
// counted in tiles of residues and in planes. Of schemes ozaki2 and ec.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/carver.hpp"
#include "base/int_math.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "engines/hopper/triangle_params.hpp"
#include "exec/device_batch.hpp"
#include "exec/device_environment.hpp"
#include "gpu/device_case.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/ec_case.hpp"
#include "gpu/product_on_device.hpp"
#include "kizami/cuda_triangle.hpp"
#include "kizami/gemm.hpp"
#include "num/bounds.hpp"
#include "num/crt_table.hpp"
#include "plan/plan.hpp"
#include "product/triangle.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_part.hpp"

namespace kizami::gpu_test {
namespace {

using problem::Part;
using problem::PartKind;

// ---- the product of planes ----

using TriangleProduct = Sm90Test;

TEST_F(TriangleProduct, WritesTheTilesOfOneTriangleAndNoOthers) {
  constexpr std::int64_t kTile = engines::hopper::kTriangleTile;
  for (const std::int64_t n : {1, 16, 255, 256, 257, 600, 1024, 2304}) {
    for (const bool is_lower : {true, false}) {
      const std::int64_t m = base::round_up(n, std::int64_t{16});
      const engines::HostProduct p({.m = m,
                                    .n = n,
                                    .k = n == 600 ? 1000 : 130,
                                    .moduli = engines::first_moduli(5),
                                    .has_unsigned_bytes = n == 257 || n == 600});
      const std::vector<std::uint8_t> all = engines::expected_c(p);
      std::vector<std::uint8_t> expected = p.initial_c;
      std::int64_t num_written = 0;
      for (std::int64_t plane = 0; plane < p.desc.num_products; ++plane) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = 0; i < m; ++i) {
            if (is_lower ? i / kTile < j / kTile : i / kTile > j / kTile) continue;
            const auto at =
                p.c_offset + static_cast<std::size_t>(plane * p.desc.c_plane_stride + j * p.desc.c_col_stride + i);
            expected[at] = all[at];
            ++num_written;
          }
        }
      }
      engines::DeviceProduct device(p);
      const product::TriangleEngine* const engine = product::triangles_of(&engines::hopper_engine());
      ASSERT_NE(engine, nullptr);
      const Status status = engine->run({p.desc, is_lower}, device.pointers(), nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      device.expect_c(expected, is_lower ? "lower" : "upper");
      EXPECT_TRUE(n != 2304 || num_written == 5 * 45 * kTile * kTile) << num_written;
      if (HasFailure()) return;
    }
  }
}

// Planes of conjugates: those of A, pairs exchanged, up to so many planes; B's own beyond.
TEST_F(TriangleProduct, TakesPlanesOfAWherePairsAreSwapped) {
  const product::TriangleEngine* const engine = product::triangles_of(&engines::hopper_engine());
  ASSERT_NE(engine, nullptr);
  for (const int count : {2, 4, 6}) {
    engines::HostProduct p(
        {.m = 528, .n = 528, .k = 200, .moduli = engines::first_moduli(6), .has_unsigned_bytes = count == 4});
    engines::DeviceProduct device(p);
    const DeviceArray<std::int32_t> on_device(std::vector<std::int32_t>{count});
    const Status status =
        engine->run({p.desc, /*is_lower=*/true, /*num_swapped=*/4}, device.pointers(on_device.data()), nullptr);
    ASSERT_TRUE(status.ok()) << status.reason();
    engines::HostProduct same = p;
    same.desc.num_products = count;
    const std::int64_t plane = p.desc.a_plane_stride;
    ASSERT_EQ(plane, p.desc.b_plane_stride);
    for (int l = 0; l < count && count <= 4; ++l)
      std::copy_n(p.a.begin() + (l ^ 1) * plane, plane, same.b.begin() + l * plane);
    const std::vector<std::uint8_t> all = engines::expected_c(same);
    const std::vector<std::uint8_t> got = device.c.download();
    std::int64_t wrong = 0;
    for (std::int64_t l = 0; l < count; ++l) {
      for (std::int64_t j = 0; j < p.desc.n; ++j) {
        for (std::int64_t i = j; i < p.desc.m; ++i) {
          const auto at =
              p.c_offset + static_cast<std::size_t>(l * p.desc.c_plane_stride + j * p.desc.c_col_stride + i);
          wrong += got[at] == all[at] ? 0 : 1;
        }
      }
    }
    EXPECT_EQ(wrong, 0) << count << " planes";
  }
}

// ---- calls ----

/// How the elements of A are drawn.
struct Elements {
  double phi = 0.5;  ///< (uniform - 0.5) exp(phi normal)
  bool has_nonfinite = false;
  bool has_zero_line = false;
};

template <class T>
[[nodiscard]] std::vector<T> drawn(std::size_t count, const Elements& elements, unsigned seed) {
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return static_cast<RealOf<T>>(uniform(source) * std::exp(elements.phi * normal(source))); };
  std::vector<T> values(count);
  for (T& x : values) {
    if constexpr (kIsComplex<T>) {
      const auto re = draw();
      x = {re, draw()};
    } else {
      x = draw();
    }
  }
  return values;
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

[[nodiscard]] std::string print(const Spec& s) {
  return "n " + std::to_string(s.n) + " k " + std::to_string(s.k) + (s.kind == PartKind::kLower ? " lower" : " upper") +
         (s.is_hermitian ? " hermitian" : "") + (s.is_transposed ? " transposed" : "") +
         (s.has_other_b ? " other B" : "") + (s.is_row_major ? " row-major" : "") + " alpha " +
         std::to_string(s.alpha) + " beta " + std::to_string(s.beta) + " phi " + std::to_string(s.elements.phi) +
         " moduli " + std::to_string(s.forced_moduli);
}

[[nodiscard]] plan::Plan plan_of(const Spec& s, Scalar scalar, const Policy& policy) {
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) throw std::runtime_error(environment.status().reason());
  const Result<plan::Plan> plan = plan::make({scalar, s.n, s.n, s.k}, policy, environment.value());
  if (!plan.ok()) throw std::runtime_error(print(s) + ": " + plan.status().reason());
  return plan.value();
}

[[nodiscard]] plan::Plan plan_of(const Spec& s, Scalar scalar, EngineName engine = EngineName::kHopper,
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
[[nodiscard]] plan::Plan ec_plan_of(const Spec& s, Scalar scalar = Scalar::kF32, int promotion_k = 128) {
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

template <class T>
class TriangleCall : public Sm90Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TriangleCall, Types);

TYPED_TEST(TriangleCall, BitsOfAllOfC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const bool is_hermitian : {false, true}) {
      if (is_hermitian && !kIsComplex<TypeParam>) continue;
      for (const std::int64_t n : {1, 5, 130, 513}) {
        Spec s{.n = n, .k = n == 130 ? 1000 : 77, .kind = kind, .is_hermitian = is_hermitian};
        s.is_transposed = n == 5 || (n == 513 && kind == PartKind::kUpper);
        s.is_row_major = n == 130;
        expect_bits_of_all<TypeParam>(s, true);
        s.alpha = -1.5;
        s.beta = 0.75;
        s.has_other_b = n == 513 && !is_hermitian;
        expect_bits_of_all<TypeParam>(s, true);
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(TriangleCall, ExceptionalLinesAndFactors) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    Spec s{.n = 270, .k = 150, .kind = kind, .beta = 0.5};
    s.elements = {.phi = 1, .has_nonfinite = true, .has_zero_line = true};
    const Outcome outcome = expect_bits_of_all<TypeParam>(s, true);
    EXPECT_EQ(outcome.nonfinite_rows, 2);
    EXPECT_EQ(outcome.nonfinite_cols, 2);
    s.elements.has_nonfinite = false;
    s.has_device_factors = true;
    expect_bits_of_all<TypeParam>(s, true);
    for (const double alpha : {0.0, std::numeric_limits<double>::infinity()}) {
      for (const bool is_on_device : {false, true}) {
        s.alpha = alpha;
        s.has_device_factors = is_on_device;
        expect_bits_of_all<TypeParam>(s, false);
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(TriangleCall, EveryRungAndEveryLook) {
  for (const double phi : {2.0, 4.0, 8.0}) {
    for (const auto look : {std::optional<device::Look>{}, std::optional(device::Look::kSample),
                            std::optional(device::Look::kBlocks), std::optional(device::Look::kBlocksFirst)}) {
      Spec s{.n = 300, .k = 520, .kind = phi == 4 ? PartKind::kUpper : PartKind::kLower};
      s.elements.phi = phi;
      s.look = look;
      for (const bool is_hermitian : {false, true}) {
        s.is_hermitian = is_hermitian && kIsComplex<TypeParam>;
        expect_bits_of_all<TypeParam>(s, !look);
      }
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(TriangleCall, EveryCountOfModuli) {
  const int most = num::max_moduli(plan::ring_of(kScalarOf<TypeParam>));
  for (int moduli = num::kMinModuli; moduli <= most; moduli += moduli < 26 ? 1 : 5) {
    Spec s{.n = 150, .k = 64, .kind = moduli % 2 == 0 ? PartKind::kUpper : PartKind::kLower};
    s.forced_moduli = moduli;
    s.is_hermitian = kIsComplex<TypeParam> && moduli % 3 != 0;
    expect_bits_of_all<TypeParam>(s, false);
    if (this->HasFailure()) return;
  }
}

// So many elements that tensor cores make the sums of rungs of many pieces, and repairs have a kernel of their own.
TYPED_TEST(TriangleCall, LargeC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const double phi : {0.5, 4.0}) {
      for (const int bits : {0, num::significand_bits_guaranteed(kScalarOf<TypeParam>)}) {
        Spec s{.n = 2190, .k = 256, .kind = kind};
        s.elements.phi = phi;
        if (bits != 0) s.accuracy = Accuracy::at_bits(bits);
        s.is_hermitian = kIsComplex<TypeParam> && kind == PartKind::kUpper;
        expect_bits_of_all<TypeParam>(s, false);
        if (this->HasFailure()) return;
      }
    }
  }
}

// One split for both sides, of conjugates too, and residues of the triangle's tiles alone.
TYPED_TEST(TriangleCall, SplitsOnceAndMultipliesHalf) {
  constexpr std::int64_t kTile = engines::hopper::kTriangleTile;
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const bool is_hermitian : {false, true}) {
      if (is_hermitian && !kIsComplex<TypeParam>) continue;
      const Spec s{.n = 1024, .k = 640, .kind = kind, .is_hermitian = is_hermitian};
      TriangleCase<TypeParam> call(s);
      const ozaki2::DeviceBuffers buffers = call.buffers();
      const ozaki2::Ozaki2Stage& stage = ozaki2::ozaki2_of(call.plan());
      ASSERT_TRUE(ozaki2::splits_in_one_pass(call.plan()));
      const product::ProductDesc desc =
          ozaki2::device_main_product(call.plan(), stage.chunk, stage.ladder.rungs[0].num_moduli);
      const std::int64_t plane = desc.b_row_stride * s.n;
      ASSERT_TRUE(call.run({}).ok());
      const auto of_b = [&] { return call.untouched(buffers.main.b_planes, plane); };
      EXPECT_LT(of_b(), plane / 8);  // residues may have any value
      ASSERT_TRUE(call.run(call.part()).ok());
      EXPECT_EQ(call.outcome().rung, 0);
      EXPECT_EQ(of_b(), plane);
      // Of the last plane: what the certificate has lies where the first ones do.
      const std::int8_t* const residues = buffers.main.residues + (desc.num_products - 1) * desc.c_plane_stride;
      std::int64_t num_tiles = 0;
      for (std::int64_t tile_j = 0; tile_j < s.n / kTile; ++tile_j) {
        for (std::int64_t tile_i = 0; tile_i < s.n / kTile; ++tile_i) {
          std::int64_t left = 0;
          for (std::int64_t j = tile_j * kTile; j < (tile_j + 1) * kTile; j += 16)
            left += call.untouched(residues + j * desc.c_col_stride + tile_i * kTile, kTile);
          const bool is_left = left == kTile * kTile / 16;
          num_tiles += is_left ? 0 : 1;
          EXPECT_EQ(is_left, kind == PartKind::kLower ? tile_i < tile_j : tile_i > tile_j) << tile_i << ", " << tile_j;
        }
      }
      EXPECT_EQ(num_tiles, 10);
    }
  }
}

TYPED_TEST(TriangleCall, IsRefusedWhereTheEngineOrTheWorkspaceIsNotOne) {
  const Spec s{.n = 1200, .k = 300};
  TriangleCase<TypeParam> other(s, plan_of(s, kScalarOf<TypeParam>, EngineName::kCublasLt));
  const Status of_engine = other.run(other.part());
  EXPECT_EQ(of_engine.code(), StatusCode::kUnsupported);
  EXPECT_NE(of_engine.reason().find("engine cublaslt makes all of C"), std::string::npos) << of_engine.reason();
  const std::size_t whole = plan_of(s, kScalarOf<TypeParam>).schedule.workspace_bytes;
  TriangleCase<TypeParam> small(s, plan_of(s, kScalarOf<TypeParam>, EngineName::kHopper, whole / 3));
  const Status of_workspace = small.run(small.part());
  EXPECT_EQ(of_workspace.code(), StatusCode::kUnsupported);
  EXPECT_NE(of_workspace.reason().find("the workspace holds a part of C"), std::string::npos) << of_workspace.reason();
  for (const auto* const call : {&other, &small}) {
    const std::vector<TypeParam> c = call->c();
    EXPECT_EQ(0, std::memcmp(c.data(), call->before().data(), c.size() * sizeof(TypeParam)));
  }
}

// The public function, in BLAS terms.
TYPED_TEST(TriangleCall, OfThePublicFunctionIsThatOfGemm) {
  using T = TypeParam;
  const std::int64_t n = 333;
  const std::int64_t k = 100;
  const DeviceArray<T> a(drawn<T>(static_cast<std::size_t>(n * k), {}, 4));
  const std::vector<T> before = drawn<T>(static_cast<std::size_t>(n * n), {}, 5);
  Policy policy;
  policy.engine = EngineName::kHopper;
  Policy of_all = policy;
  of_all.scheme = Scheme::kOzaki2;
  for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
    for (const bool is_lower : {true, false}) {
      DeviceArray<T> c(before);
      DeviceArray<T> all(before);
      const std::int64_t lda = layout == Layout::kColMajor ? n : k;
      Outcome outcome;
      const Status status = cuda::gemmt<T>(nullptr, layout, {.is_lower = is_lower}, Op::kNone, Op::kTranspose, n, k,
                                           T{2}, a.data(), lda, a.data(), lda, T{1}, c.data(), n, policy, &outcome);
      ASSERT_TRUE(status.ok()) << status.reason();
      EXPECT_EQ(outcome.scheme, Scheme::kOzaki2);
      ASSERT_TRUE(cuda::gemm<T>(nullptr, layout, Op::kNone, Op::kTranspose, n, n, k, T{2}, a.data(), lda, a.data(), lda,
                                T{1}, all.data(), n, of_all)
                      .ok());
      const std::vector<T> got = c.download();
      const std::vector<T> want = all.download();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const auto at = static_cast<std::size_t>(layout == Layout::kColMajor ? i + j * n : i * n + j);
          const bool is_there = is_lower ? i >= j : i <= j;
          wrong += is_same(got[at], is_there ? want[at] : before[at]) ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0) << "lower " << is_lower;
    }
  }
}

// ---- scheme ec ----

using EcTriangleProduct = Sm90Test;

// The kernel of a triangle beside that of all of C in the same form and in the other one that sums as it does.
TEST_F(EcTriangleProduct, HasTheBitsOfAllOfC) {
  using product::EcFormat;
  constexpr auto kLong = product::EcPromotion::kLong;
  const product::EcTriangleEngine* const engine = product::triangles_of(&engines::hopper_ec_engine());
  ASSERT_NE(engine, nullptr);
  std::mt19937_64 rng(17);
  for (const std::int64_t n : {1, 2, 64, 128, 191, 192, 193, 256, 257, 384, 700, 768, 1033, 2304, 2500}) {
    EcLines lines(n, n == 700 ? 1000 : 130, n % 2 == 0);
    lines.fill(rng, 4);
    for (const EcFormat format : {EcFormat::kF16, EcFormat::kTf32}) {
      const DeviceEcOperand a(lines, format);
      int num_reports = 0;
      ASSERT_TRUE(ec::device_ec_split<float>(a.task(), {}, format, {}, Factor<float>(1.0F), num_multiprocessors(),
                                             num_reports, nullptr)
                      .ok());
      for (const bool is_lower : {true, false}) {
        for (const bool is_aligned : {true, false}) {
          product::EcProduct p;
          p.format = format;
          p.a.planes = {a.planes.data(), a.row_stride, a.scales.data()};
          p.a.lines.num_lines = n;
          p.a.lines.length = lines.length;
          p.b = p.a;
          p.c_col_stride = base::round_up(n, std::int64_t{4}) + (is_aligned ? 4 : 1);
          p.alpha = is_aligned ? 1.0F : -1.5F;
          p.beta = n % 3 == 0 ? 0.5F : 0.0F;
          const Part part{is_lower ? PartKind::kLower : PartKind::kUpper};
          std::vector<float> before = drawn<float>(static_cast<std::size_t>(p.c_col_stride * n), {}, 3);
          for (std::int64_t j = 0; j < n; ++j) {
            for (std::int64_t i = 0; i < p.c_col_stride; ++i) {  // what is beyond the diagonal, and between columns
              if (i >= n || !part.has(i, j))
                before[static_cast<std::size_t>(j * p.c_col_stride + i)] = std::numeric_limits<float>::quiet_NaN();
            }
          }
          const DeviceArray<float> c(before);
          p.c = c.data();
          const Status status = engine->run_triangle(p, is_lower, kLong, nullptr);
          ASSERT_TRUE(status.ok()) << status.reason();
          const std::vector<float> got = c.download();
          EXPECT_TRUE(c.guards_are_intact());
          for (const engines::EcForm form : {engines::kEcTriangleForm, engines::EcForm::kCooperative128x128}) {
            const DeviceArray<float> all(before);
            p.c = all.data();
            ASSERT_TRUE(engines::run_ec_product(p, form, kLong, nullptr).ok());
            const std::vector<float> want = all.download();
            std::int64_t wrong = 0;
            std::int64_t touched = 0;
            for (std::int64_t j = 0; j < n; ++j) {
              for (std::int64_t i = 0; i < p.c_col_stride; ++i) {
                const auto at = static_cast<std::size_t>(j * p.c_col_stride + i);
                if (i < n && part.has(i, j)) {
                  wrong += is_same(got[at], want[at]) && !std::isnan(got[at]) ? 0 : 1;
                } else {
                  touched += std::isnan(got[at]) ? 0 : 1;
                }
              }
            }
            EXPECT_EQ(wrong, 0) << "n " << n << " lower " << is_lower << " aligned " << is_aligned;
            EXPECT_EQ(touched, 0) << "n " << n << " lower " << is_lower << " aligned " << is_aligned;
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

using EcTriangleCall = Sm90Test;

/// A call of a size for which all of C is made in a form that sums as that of a triangle.
Outcome expect_ec_bits_of_all(const Spec& s) {
  EXPECT_NE(engines::ec_form_for(s.n, s.n, s.k, product::EcFormat::kF16, num_multiprocessors()),
            engines::EcForm::kSplitInner128x64)
      << print(s);
  return expect_bits_of_all<float>(s, false, ec_plan_of(s));
}

TEST_F(EcTriangleCall, BitsOfAllOfC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const bool is_row_major : {false, true}) {
      Spec s{.n = 2190, .k = 640, .kind = kind, .is_transposed = is_row_major, .is_row_major = is_row_major};
      EXPECT_EQ(expect_ec_bits_of_all(s).variant, EcVariant::kScaled);
      s.alpha = -1.5;
      s.beta = 0.75;
      s.is_transposed = !s.is_transposed;
      s.has_device_factors = is_row_major;
      expect_ec_bits_of_all(s);
      s.has_other_b = true;
      expect_ec_bits_of_all(s);
      if (HasFailure()) return;
    }
  }
}

TEST_F(EcTriangleCall, EveryStageAndFactor) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    Spec s{.n = 2190, .k = 300, .kind = kind, .beta = 0.5};
    s.elements.phi = 4;
    EXPECT_EQ(expect_ec_bits_of_all(s).variant, EcVariant::kScaledTf32);
    s.elements = {.phi = 0.5, .has_nonfinite = true, .has_zero_line = true};
    const Outcome outcome = expect_ec_bits_of_all(s);
    EXPECT_EQ(outcome.nonfinite_rows, 2);
    EXPECT_EQ(outcome.nonfinite_cols, 2);
    s.elements = {.phi = 16};  // beyond the range of all stages
    EXPECT_EQ(expect_ec_bits_of_all(s).scheme, Scheme::kOzaki2);
    s.elements = {};
    for (const double alpha : {0.0, std::numeric_limits<double>::infinity()}) {
      s.k = alpha == 0 ? 300 : 31;  // each element of signs is a warp's; shorter sums have no plan
      for (const bool is_on_device : {false, true}) {
        s.alpha = alpha;
        s.has_device_factors = is_on_device;
        expect_ec_bits_of_all(s);
        if (HasFailure()) return;
      }
    }
  }
}

// By the promotion that large C has of itself, with profiles of lines.
TEST_F(EcTriangleCall, LargeC) {
  for (const PartKind kind : {PartKind::kLower, PartKind::kUpper}) {
    for (const double phi : {0.5, 2.0}) {
      Spec s{.n = 4100, .k = 1100, .kind = kind};
      s.elements.phi = phi;
      const plan::Plan plan = ec_plan_of(s, Scalar::kF32, 0);
      ASSERT_TRUE(ec::ec_of(plan).numerics.takes_profiles);
      expect_bits_of_all<float>(s, false, plan);
      if (HasFailure()) return;
    }
  }
}

TEST_F(EcTriangleCall, SplitsOnceInAsManyLaunches) {
  for (const bool is_row_major : {false, true}) {
    const Spec s{.n = 2190, .k = 640, .is_row_major = is_row_major};
    TriangleCase<float> call(s, ec_plan_of(s));
    const ec::DeviceEcBuffers buffers = call.ec_buffers();
    const std::int64_t bytes = s.n * product::ec_line_bytes(product::EcFormat::kF16, s.k);
    ASSERT_TRUE(call.run({}).ok());
    EXPECT_LT(call.untouched(buffers.b.planes, bytes), bytes / 8);
    ASSERT_TRUE(call.run(call.part()).ok());
    EXPECT_EQ(call.outcome().variant, EcVariant::kScaled);
    EXPECT_EQ(call.untouched(buffers.b.planes, bytes), bytes);
    for (const Part& part : {call.part(), Part{}})  // split, decision, product, FP64 rung
      EXPECT_EQ(captured_kernels([&](product::Queue queue) { return call.run(part, queue); }), 4U);
  }
}

TEST_F(EcTriangleCall, IsRefusedWhereThereIsNoKernel) {
  const Spec s{.n = 600, .k = 300};
  TriangleCase<float> call(s, ec_plan_of(s, Scalar::kF32, 64));
  const Status status = call.run(call.part());
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.reason().find("promotes every 128"), std::string::npos) << status.reason();
  TriangleCase<std::complex<float>> of_complex(s, ec_plan_of(s, Scalar::kC64));
  const Status refused = of_complex.run(of_complex.part());
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_NE(refused.reason().find("makes all of a complex C"), std::string::npos) << refused.reason();
  const std::vector<float> c = call.c();
  EXPECT_EQ(0, std::memcmp(c.data(), call.before().data(), c.size() * sizeof(float)));
}

}  // namespace
}  // namespace kizami::gpu_test
