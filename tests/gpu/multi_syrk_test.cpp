// SPDX-License-Identifier: MIT
// One triangle of a matrix times itself, shared by devices: the bits and the outcome of cuda::gemmt() on one, wherever
// the matrices lie, and the other triangle as it was. A device that is named several times stands for several.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/device_case.hpp"
#include "gpu/drawn_elements.hpp"
#include "gpu/multi_case.hpp"
#include "gpu/sm90_test.hpp"
#include "kizami/cuda_triangle.hpp"
#include "kizami/multi.hpp"
#include "multi/plan.hpp"

namespace kizami::gpu_test {
namespace {

using MultiSyrk = Sm90Test;

template <class T>
struct SyrkCase {
  std::int64_t n = 300;
  std::int64_t k = 129;
  multi::Syrk triangle = {};
  Op op = Op::kNone;
  Layout layout = Layout::kColMajor;
  double alpha = 1;
  double beta = 0;
  double phi = 0.5;  ///< of drawn_elements()
  Accuracy accuracy = Accuracy::native();
  std::function<void(const MatrixView<T>&)> change = {};  ///< of op(A), n x k
  /// Of pieces: the device begins when the host has asked for all of the first pass, so that what comes waits for events
  /// alone.
  bool begins_late = false;
};

template <class T>
[[nodiscard]] std::string print(const SyrkCase<T>& c) {
  return std::string(to_string(kScalarOf<T>)) + " n " + std::to_string(c.n) + " k " + std::to_string(c.k) +
         (c.triangle.is_lower ? " lower" : " upper") + (c.triangle.is_hermitian ? " hermitian" : "") +
         (is_transposed(c.op) ? " transposed" : "") + (c.layout == Layout::kRowMajor ? " row-major" : "") + " alpha " +
         std::to_string(c.alpha) + " beta " + std::to_string(c.beta) + " phi " + std::to_string(c.phi);
}

template <class T>
[[nodiscard]] T scalar_of(double x) {
  return T(static_cast<RealOf<T>>(x));
}

/// The same for the same arguments. What was drawn last is kept, for a test asks for it once a placement and drawing takes
/// longer than multiplying.
template <class T>
[[nodiscard]] std::vector<T> drawn(std::size_t count, double phi, unsigned seed) {
  struct Kept {
    double phi = -1;
    std::vector<T> values;
  };
  static std::map<unsigned, Kept> all;
  Kept& kept = all[seed];
  if (kept.phi == phi && kept.values.size() == count) return kept.values;
  kept = {phi, drawn_elements<T>(count, phi, seed)};
  return kept.values;
}

/// The matrices of a case in host memory, with gaps between lines.
template <class T>
struct Matrices {
  explicit Matrices(const SyrkCase<T>& of)
      : c(of),
        is_across(is_transposed(c.op) == (c.layout == Layout::kColMajor)),
        lda((is_across ? c.k : c.n) + 3),
        ldc(c.n + 2),
        a(drawn<T>(static_cast<std::size_t>(lda * std::max<std::int64_t>(is_across ? c.n : c.k, 1)), c.phi, 1)),
        before(drawn<T>(static_cast<std::size_t>(ldc * std::max<std::int64_t>(c.n, 1)), 0.5, 2)) {
    if (c.change) c.change(stored(a.data()));
    // What is beyond the diagonal is not read: NaN there changes nothing.
    const MatrixView<T> view = c_view(before.data());
    for (std::int64_t j = 0; j < c.n; ++j) {
      for (std::int64_t i = 0; i < c.n; ++i) {
        if (!has(i, j)) view(i, j) = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
      }
    }
  }

  [[nodiscard]] bool has(std::int64_t i, std::int64_t j) const { return c.triangle.is_lower ? i >= j : i <= j; }
  /// op(A), n x k, but for conjugation.
  template <class E>
  [[nodiscard]] MatrixView<E> stored(E* data) const {
    return is_across ? MatrixView<E>{data, c.n, c.k, lda, 1} : MatrixView<E>{data, c.n, c.k, 1, lda};
  }
  [[nodiscard]] MatrixView<const T> op_a(const T* data) const {
    const MatrixView<const T> view = stored(data);
    return kIsComplex<T> && is_conjugated(c.op) ? view.conjugated() : view;
  }
  [[nodiscard]] MatrixView<T> c_view(T* data) const { return blas_view(data, c.n, c.n, ldc, c.layout); }

  const SyrkCase<T>& c;
  bool is_across;  ///< rows of op(A) follow one another in memory, each without gaps
  std::int64_t lda;
  std::int64_t ldc;
  std::vector<T> a;
  std::vector<T> before;
};

template <class T>
struct Made {
  std::vector<T> c;  ///< dense
  Outcome outcome;
  Status status;
};

[[nodiscard]] Policy hopper_policy(const Accuracy& accuracy) {
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kHopper;
  policy.accuracy = accuracy;
  return policy;
}

template <class T>
Made<T> alone(const SyrkCase<T>& c, const Policy& policy) {
  const Matrices<T> host(c);
  const DeviceArray<T> a(host.a);
  const DeviceArray<T> to(host.before);
  const Op other = is_transposed(c.op) ? Op::kNone : c.triangle.is_hermitian ? Op::kConjTranspose : Op::kTranspose;
  Made<T> made;
  made.status =
      cuda::gemmt<T>(nullptr, c.layout, {.is_lower = c.triangle.is_lower, .has_real_diagonal = c.triangle.is_hermitian},
                     c.op, other, c.n, c.k, scalar_of<T>(c.alpha), a.data(), host.lda, a.data(), host.lda,
                     scalar_of<T>(c.beta), to.data(), host.ldc, policy, &made.outcome);
  EXPECT_TRUE(made.status.ok()) << print(c) << ": " << made.status.reason();
  std::vector<T> got = to.download();
  made.c = dense(host.c_view(got.data()));
  return made;
}

template <class T>
Made<T> share(const SyrkCase<T>& c, const Policy& policy, const Placement& placement, Where where) {
  Matrices<T> host(c);
  const T alpha = scalar_of<T>(c.alpha);
  const T beta = scalar_of<T>(c.beta);
  Made<T> made;
  if (where == Where::kOnHost) {
    std::vector<T> to = host.before;
    made.status = multi::syrk<T>(placement, c.layout, c.triangle, c.op, c.n, c.k, alpha, host.a.data(), host.lda, beta,
                                 to.data(), host.ldc, policy, &made.outcome);
    made.c = dense(host.c_view(to.data()));
    return made;
  }
  const Result<multi::Plan> plan = multi::make_syrk_plan(kScalarOf<T>, c.triangle, c.n, c.k, policy, placement);
  if (!plan.ok()) {
    made.status = plan.status();
    return made;
  }
  if (where == Where::kOnDevice) {
    const DeviceArray<T> a(host.a);
    const DeviceArray<T> to(host.before);
    const Piece<const T> a_piece{0, 0, host.op_a(a.data())};
    const Piece<T> c_piece{0, 0, host.c_view(to.data())};
    {
      const Workspaces workspaces(plan.value());
      made.status = multi::run_syrk<T>(plan.value(), alpha, {&a_piece, 1}, beta, {&c_piece, 1}, workspaces.spans(),
                                       &made.outcome);
    }
    EXPECT_TRUE(a.guards_are_intact() && to.guards_are_intact());
    std::vector<T> got = to.download();
    made.c = dense(host.c_view(got.data()));
    return made;
  }
  const auto a = cut<T>(host.op_a(host.a.data()), 3, 2, placement.devices);
  const auto to = cut<T>(MatrixView<const T>(host.c_view(host.before.data())), 2, 3, placement.devices);
  std::vector<Piece<const T>> a_pieces;
  std::vector<Piece<T>> c_pieces;
  for (const auto& piece : a) a_pieces.push_back(piece->const_piece());
  for (const auto& piece : to) c_pieces.push_back(piece->piece());
  if (c.begins_late) {
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
    check(cudaLaunchHostFunc(nullptr, sleep, nullptr), "a wait of the default stream");
  }
  made.status = multi::run_syrk<T>(plan.value(), alpha, std::span<const Piece<const T>>(a_pieces), beta,
                                   std::span<const Piece<T>>(c_pieces), {}, &made.outcome);
  made.c.assign(static_cast<std::size_t>(c.n * c.n), T{});
  for (const auto& piece : to) piece->download_to(made.c, c.n);
  return made;
}

/// The other triangle of a result has the bytes of before.
template <class T>
void expect_other_triangle_untouched(const SyrkCase<T>& c, const std::vector<T>& got, const std::string& what) {
  Matrices<T> host(c);
  const std::vector<T> before = dense(host.c_view(host.before.data()));
  std::int64_t touched = 0;
  for (std::int64_t j = 0; j < c.n; ++j) {
    for (std::int64_t i = 0; i < c.n; ++i) {
      const auto at = static_cast<std::size_t>(i + j * c.n);
      touched += !host.has(i, j) && std::memcmp(&got[at], &before[at], sizeof(T)) != 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(touched, 0) << what << ": beyond the diagonal";
}

template <class T>
void expect_bits_by(const SyrkCase<T>& c, const Policy& policy, const Placement& placement, Where where,
                    const Made<T>& want) {
  const std::string what = print(c) + ", " + text_of(placement.devices) +
                           (where == Where::kOnDevice   ? ", on one"
                            : where == Where::kInPieces ? ", in pieces"
                                                        : ", on the host");
  const Made<T> got = share<T>(c, policy, placement, where);
  ASSERT_TRUE(got.status.ok()) << what << ": " << got.status.reason();
  expect_same(got.c, want.c, what);
  expect_other_triangle_untouched(c, got.c, what);
  expect_outcome(got.outcome, want.outcome, what);
}

[[nodiscard]] std::vector<std::vector<int>> syrk_placements() {
  std::vector<std::vector<int>> all = placements();
  all.push_back({0, 0, 0, 0});
  return all;
}

/// By every placement and from everywhere. @return the outcome
template <class T>
Outcome expect_bits_of_one(const SyrkCase<T>& c) {
  const Policy policy = hopper_policy(c.accuracy);
  const Made<T> want = alone<T>(c, policy);
  expect_other_triangle_untouched(c, want.c, print(c) + ", alone");
  for (const std::vector<int>& devices : syrk_placements()) {
    for (const Where where : kEverywhere) expect_bits_by<T>(c, policy, {.devices = devices}, where, want);
  }
  return want.outcome;
}

/// Of every type; of complex ones Hermitian triangles too.
template <class Visit>
void for_each_triangle(const Visit& visit) {
  for (const Scalar scalar : {Scalar::kF64, Scalar::kF32, Scalar::kC128, Scalar::kC64}) {
    with_scalar(scalar, [&]<class T>() {
      for (const bool is_lower : {true, false}) {
        for (const bool is_hermitian : {false, true}) {
          if (is_hermitian && !kIsComplex<T>) continue;
          visit(SyrkCase<T>{.triangle = {is_lower, is_hermitian}});
        }
      }
    });
  }
}

TEST_F(MultiSyrk, HasTheBitsOfOneDeviceInEveryLayout) {
  for_each_triangle([]<class T>(SyrkCase<T> c) {
    for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
      for (const bool is_across : {false, true}) {
        c.layout = layout;
        c.op = !is_across ? Op::kNone : c.triangle.is_hermitian ? Op::kConjTranspose : Op::kTranspose;
        c.alpha = 0.5;
        c.beta = layout == Layout::kColMajor || is_across ? -2 : 0;
        expect_bits_of_one<T>(c);
      }
    }
  });
}

TEST_F(MultiSyrk, HasTheBitsOfOneDeviceForOddShapes) {
  for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 65}, {5, 4097}, {130, 2000}, {513, 77}}) {
    for (const bool is_lower : {true, false}) {
      expect_bits_of_one<double>({.n = n, .k = k, .triangle = {is_lower}, .beta = 1});
      expect_bits_of_one<std::complex<double>>({.n = n, .k = k, .triangle = {is_lower, true}, .beta = 1});
    }
  }
  for (const Where where : kEverywhere)
    EXPECT_TRUE(share<double>({.n = 0, .k = 5}, hopper_policy({}), {.devices = {0, 0}}, where).status.ok());
  // Blocks of whole tiles.
  expect_bits_of_one<double>({.n = 2700, .k = 300});
  expect_bits_of_one<float>({.n = 2700, .k = 300, .triangle = {false}, .beta = 0.5});
}

TEST_F(MultiSyrk, ScalesWhereThereAreNoTerms) {
  for_each_triangle([]<class T>(SyrkCase<T> c) {
    for (const double beta : {0.5, 0.0}) {
      c.beta = beta;
      c.k = 0;
      expect_bits_of_one<T>(c);
      c.k = 20;
      c.alpha = 0;
      expect_bits_of_one<T>(c);
    }
  });
}

TEST_F(MultiSyrk, TakesFactorsThatAreNotFinite) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [alpha, beta] : {std::pair{kInf, 0.0}, {kNan, 1.0}, {1.0, kNan}, {1e200, 1e-200}})
    expect_bits_of_one<double>({.n = 140, .k = 100, .alpha = alpha, .beta = beta});
}

TEST_F(MultiSyrk, ClimbsTheLadderTogether) {
  int in_fp64 = 0;
  int climbed = 0;
  for_each_triangle([&]<class T>(SyrkCase<T> c) {
    for (const double phi : {1.0, 2.0, 4.0, 8.0}) {
      c.n = 210;
      c.k = 520;
      c.beta = 0.5;
      c.phi = phi;
      const Outcome outcome = expect_bits_of_one<T>(c);
      in_fp64 += outcome.rung < 0 ? 1 : 0;
      climbed += outcome.rung > 0 ? 1 : 0;
    }
  });
  EXPECT_GT(in_fp64 + climbed, 0);
  EXPECT_GT(climbed, 0);
}

/// Rows [first, first + count) with large elements at even or odd places: two that differ meet in small products alone.
template <class T>
void make_odd(const MatrixView<T>& a, std::int64_t first, std::int64_t count, std::int64_t remainder, int shift) {
  const T large = scalar_of<T>(std::ldexp(1.0, shift));
  for (std::int64_t i = first; i < first + count; ++i) {
    for (std::int64_t h = remainder; h < a.cols; h += 2) a(i, h) *= large;
  }
}

TEST_F(MultiSyrk, OneBlockMakesAllClimb) {
  const Outcome ordinary = alone<double>({.n = 300, .k = 400}, hopper_policy({})).outcome;
  // On the first triangle; and far from the diagonal, where pairs count for those across it as well.
  for (const std::int64_t second : {40, 260}) {
    for (const bool is_lower : {true, false}) {
      const Outcome outcome = expect_bits_of_one<double>(
          {.n = 300, .k = 400, .triangle = {is_lower}, .beta = 1, .change = [&](const MatrixView<double>& a) {
             make_odd(a, 0, 30, 0, 12);
             make_odd(a, second, 30, 1, 12);
           }});
      EXPECT_TRUE(outcome.rung > ordinary.rung || outcome.rung < 0) << outcome.rung;
    }
  }
}

TEST_F(MultiSyrk, RepairsCountOnBothSidesOfTheDiagonal) {
  // Of 360000 pairs 1 in 16384 may be repaired, 21: three rows that meet three, and across the diagonal, are 18.
  std::int64_t most = 0;
  for (const std::int64_t second : {3, 590}) {  // in one triangle; far from the diagonal
    for (const int shift : {28, 32, 36, 40}) {
      for (const bool is_lower : {true, false}) {
        const Outcome outcome = expect_bits_of_one<double>(
            {.n = 600, .k = 256, .triangle = {is_lower}, .beta = -1, .change = [&](const MatrixView<double>& a) {
               make_odd(a, 0, 3, 0, shift);
               make_odd(a, second, 3, 1, shift);
             }});
        if (outcome.rung >= 0) most = std::max(most, outcome.repaired);
      }
    }
  }
  EXPECT_GT(most, 0);
}

TEST_F(MultiSyrk, CountsLinesThatAreNotFiniteOnce) {
  for_each_triangle([]<class T>(SyrkCase<T> c) {
    c.n = 120;
    c.beta = 1;
    c.change = [](const MatrixView<T>& a) {
      a(3, 5) = T(std::numeric_limits<RealOf<T>>::infinity());
      a(3, 6) = T(-std::numeric_limits<RealOf<T>>::infinity());
      a(60, 0) = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
      a(119, 100) = T(std::numeric_limits<RealOf<T>>::infinity());
    };
    const Outcome outcome = expect_bits_of_one<T>(c);
    EXPECT_EQ(outcome.nonfinite_rows, 3);
    EXPECT_EQ(outcome.nonfinite_cols, 3);
  });
}

TEST_F(MultiSyrk, HasTheBitsOfOneDeviceAtAllAccuracies) {
  for (const int bits : {20, 40, 52}) {
    for (const double phi : {0.5, 2.0}) {
      expect_bits_of_one<double>({.n = 200, .k = 300, .phi = phi, .accuracy = Accuracy::at_bits(bits)});
      expect_bits_of_one<std::complex<float>>({.n = 150,
                                               .k = 300,
                                               .triangle = {false, true},
                                               .phi = phi,
                                               .accuracy = Accuracy::at_bits(std::min(bits, 22))});
    }
  }
}

/// Blocks one after another in little memory, every panel brought again.
TEST_F(MultiSyrk, StreamsWhatDoesNotFit) {
  for_each_triangle([]<class T>(SyrkCase<T> c) {
    c.n = 2000;
    c.k = 700;
    c.beta = 0.5;
    for (const double phi : {0.5, 3.0}) {
      if (phi != 0.5 && c.triangle.is_lower) continue;
      c.phi = phi;
      Policy policy = hopper_policy({});
      const Made<T> want = alone<T>(c, policy);
      const std::size_t of_real = std::is_same_v<RealOf<T>, float> ? 32 : 48;
      policy.workspace_limit_bytes = (kIsComplex<T> ? 2 : 1) * of_real << 20;
      std::size_t turn = 0;
      for (const std::vector<int>& devices : syrk_placements()) {
        const Placement placement{.devices = devices, .parts = 8};
        const Result<multi::Plan> plan = multi::make_syrk_plan(kScalarOf<T>, c.triangle, c.n, c.k, policy, placement);
        ASSERT_TRUE(plan.ok()) << plan.status().reason();
        if (devices.size() == 1) {
          EXPECT_TRUE(std::any_of(plan.value().impl().shares.begin(), plan.value().impl().shares.end(),
                                  [](const multi::Share& x) { return !x.is_resident && x.blocks.size() > 2; }))
              << plan.value().explain();
        }
        for (int i = 0; i < plan.value().num_devices(); ++i)
          EXPECT_LE(plan.value().workspace_bytes(i), policy.workspace_limit_bytes) << plan.value().explain();
        expect_bits_by<T>(c, policy, placement, kEverywhere[turn++ % std::size(kEverywhere)], want);
      }
    }
  });
}

/// Of blocks in little memory some have C in one piece on the device, where it stays, and others in several: a place of C
/// is free when the last of those has left, which need not be the block that would have had it before. Without terms the
/// host waits for nothing between blocks.
TEST_F(MultiSyrk, PlacesOfCAreTakenWhenTheyAreFree) {
  for_each_triangle([]<class T>(SyrkCase<T> c) {
    c.n = 2000;
    c.k = 700;
    c.alpha = 0;
    c.beta = 0.5;
    Policy policy = hopper_policy({});
    const Made<T> want = alone<T>(c, policy);
    const std::size_t of_real = std::is_same_v<RealOf<T>, float> ? 32 : 48;
    policy.workspace_limit_bytes = (kIsComplex<T> ? 2 : 1) * of_real << 20;
    for (const std::vector<int>& devices : {std::vector{0}, {0, 0}, {0, 0, 0}}) {
      for (const bool begins_late : {false, true}) {  // first all kernels are loaded
        c.begins_late = begins_late;
        expect_bits_by<T>(c, policy, {.devices = devices, .parts = 8}, Where::kInPieces, want);
      }
    }
  });
}

/// From page-locked memory, whose copies take longer than the host needs to ask for all kernels: what reads a part before
/// it is there finds what is not finite. Squares beside the diagonal by Strassen's products have lines of A on both sides,
/// in parts.
TEST_F(MultiSyrk, WaitsForWhatComes) {
  for (const bool is_lower : {true, false}) {
    for (const std::int64_t k : {4096, 16500}) {
      for (const bool is_across : {true, false}) {
        const SyrkCase<double> c{.n = k == 4096 ? 2000 : 1200,
                                 .k = k,
                                 .triangle = {is_lower},
                                 .op = is_across ? Op::kTranspose : Op::kNone,
                                 .beta = is_across ? 1.0 : 0.0};
        const Policy policy = hopper_policy({});
        const Made<double> want = alone<double>(c, policy);
        Matrices<double> host(c);
        std::vector<double> to = host.before;
        const PageLocked a_locked(std::span<double>(host.a));
        const PageLocked c_locked(std::span<double>{to});
        const Piece<const double> a{0, 0, host.op_a(host.a.data())};
        const Piece<double> c_piece{0, 0, host.c_view(to.data())};
        for (const std::vector<int>& devices : {std::vector{0, 0}, {0, 0, 0, 0}}) {
          const std::string what = print(c) + ", " + text_of(devices);
          const multi::Plan plan =
              plan_of(multi::make_triangle({Scalar::kF64, c.n, c.n, c.k},
                                           {is_lower ? problem::PartKind::kLower : problem::PartKind::kUpper}, policy,
                                           {.devices = devices}, plans_by_strassen()),
                      std::int64_t{1} << 20, what);
          std::copy(host.before.begin(), host.before.end(), to.begin());
          Made<double> got;
          {
            const Workspaces workspaces(plan);
            got.status = multi::run_syrk<double>(plan, c.alpha, {&a, 1}, c.beta, {&c_piece, 1}, workspaces.spans(),
                                                 &got.outcome);
          }
          ASSERT_TRUE(got.status.ok()) << what << ": " << got.status.reason();
          got.c = dense(host.c_view(to.data()));
          expect_same(got.c, want.c, what);
          expect_other_triangle_untouched(c, got.c, what);
          expect_outcome(got.outcome, want.outcome, what);
        }
      }
    }
  }
}

TEST_F(MultiSyrk, PartsAndSpeedsChangeNoBit) {
  for (const bool is_lower : {true, false}) {
    for (const double phi : {0.5, 2.0}) {
      const SyrkCase<double> c{.n = 1300, .k = 400, .triangle = {is_lower}, .beta = phi == 2.0 ? 1.0 : 0.0, .phi = phi};
      const Policy policy = hopper_policy({});
      const Made<double> want = alone<double>(c, policy);
      for (const Placement& placement :
           {Placement{.devices = {0, 0}, .speeds = {1.0, 3.0}}, Placement{.devices = {0}, .parts = 5},
            Placement{.devices = {0, 0, 0}, .speeds = {1.0, 1e-9, 1.0}, .parts = 4},
            Placement{.devices = {0, 0, 0, 0, 0, 0, 0, 0}}}) {
        for (const Where where : kEverywhere) expect_bits_by<double>(c, policy, placement, where, want);
      }
    }
  }
}

TEST_F(MultiSyrk, RejectsNonFiniteBeforeAnythingIsWritten) {
  const SyrkCase<double> c{.n = 150, .k = 100, .beta = 1, .change = [](const MatrixView<double>& a) {
                             a(149, 99) = std::numeric_limits<double>::quiet_NaN();
                           }};
  Policy policy = hopper_policy({});
  policy.may_sync = true;
  policy.reject_nonfinite = true;
  Matrices<double> host(c);
  const Made<double> made = share<double>(c, policy, {.devices = {0, 0, 0}}, Where::kOnDevice);
  EXPECT_EQ(made.status.code(), StatusCode::kNonFinite) << made.status.reason();
  EXPECT_NE(made.status.reason().find("1 rows"), std::string::npos) << made.status.reason();
  expect_same(made.c, dense(host.c_view(host.before.data())), "C of a refused call");
}

TEST_F(MultiSyrk, RefusesWhatIsWrongWithoutADevice) {
  const auto code = [](const Policy& policy, const Placement& placement) {
    return multi::make_syrk_plan(Scalar::kF64, {}, 100, 10, policy, placement).status().code();
  };
  EXPECT_EQ(code({}, {.devices = {}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({}, {.devices = {0, 1000}}), StatusCode::kUnsupported);
  Policy other;
  other.scheme = Scheme::kNative;
  EXPECT_EQ(code(other, {.devices = {0, 0}}), StatusCode::kUnsupported);
  other = {};
  other.engine = EngineName::kCublasLt;
  const Status of_engine = multi::make_syrk_plan(Scalar::kF64, {}, 100, 10, other, {.devices = {0, 0}}).status();
  EXPECT_EQ(of_engine.code(), StatusCode::kUnsupported);
  EXPECT_NE(of_engine.reason().find("makes all of C, must be hopper"), std::string::npos) << of_engine.reason();
  EXPECT_EQ(code(hopper_policy({}), {.devices = {0, 0}}), StatusCode::kOk);

  using Z = std::complex<double>;
  const DeviceArray<Z> x(std::vector<Z>(64, Z{1.0}));
  const Piece<const Z> a{0, 0, {x.data(), 4, 4, 1, 4}};
  const auto run = [&](const multi::Plan& plan, Z alpha, const Piece<Z>& c) {
    return multi::run_syrk<Z>(plan, alpha, {&a, 1}, Z{}, {&c, 1}).code();
  };
  const auto plan_of = [](bool is_hermitian) {
    return multi::make_syrk_plan(Scalar::kC128, {true, is_hermitian}, 4, 4, hopper_policy({}), {.devices = {0, 0}});
  };
  const Piece<Z> c{0, 0, {x.data() + 16, 4, 4, 1, 4}};
  ASSERT_TRUE(plan_of(true).ok()) << plan_of(true).status().reason();
  EXPECT_EQ(run(plan_of(false).value(), {1.0, 1.0}, c), StatusCode::kOk);
  EXPECT_EQ(run(plan_of(true).value(), {1.0, 1.0}, c), StatusCode::kInvalidArgument);  // not real
  EXPECT_EQ(run(plan_of(true).value(), 1.0, {0, 0, {x.data() + 8, 4, 4, 1, 4}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(run(plan_of(true).value(), 1.0, {0, 0, {x.data() + 16, 3, 4, 1, 4}}), StatusCode::kInvalidArgument);
  // Plans of one kind for calls of the other.
  const auto product = multi::make_plan(Scalar::kC128, 4, 4, 4, hopper_policy({}), {.devices = {0, 0}});
  ASSERT_TRUE(product.ok());
  EXPECT_EQ(run(product.value(), 1.0, c), StatusCode::kInvalidArgument);
  EXPECT_EQ(multi::run<Z>(plan_of(true).value(), 1.0, {&a, 1}, {&a, 1}, 0.0, {&c, 1}).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kizami::gpu_test
