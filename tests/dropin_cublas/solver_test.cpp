// SPDX-License-Identifier: MIT
// Factorizations that cuSOLVER was asked for, in Kizami's order of operations, on doubles that compute in host memory: the
// factors, pivots and info that LAPACK defines, which calls they are made of, and what is left to cuSOLVER.
#include "dropin/cusolver/solver_call.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "dropin/policy/operand_names.hpp"
#include "dropin_cublas/computing.hpp"
#include "dropin_cublas/fake_cusolver.hpp"
#include "dropin_cublas/process.hpp"
#include "kizami/dropin.h"

namespace kizami::dropin_test {
namespace {

constexpr int kOrder = 333;
constexpr int kLd = kOrder + 3;
constexpr double kUntouched = 12345.5;

class Solver : public Interposer {
 protected:
  void SetUp() override {
    Interposer::SetUp();
    dropin::cusolver::solver_sizes = {.least_potrf = 200, .potrf_block = 64, .least_getrf = 200, .getrf_block = 128};
    configuration().settings.min_size = 0;
    takes_triangles() = true;
    on_native_call() = [this](const NativeCall& call) {
      native.push_back(call);
      if (native_status == CUBLAS_STATUS_SUCCESS) compute(decoded<double>(call));
      return native_status;
    };
    on_kizami_call() = [this](const KizamiCall& call) {
      kizami.push_back(call);
      if (kizami_status.ok()) compute(decoded<double>(call));
      return kizami_status;
    };
  }
  void TearDown() override {
    takes_triangles() = false;
    dropin::cusolver::solver_sizes = {};
  }

  /// In a new thread, which remembers nothing.
  cusolverStatus_t solve(const std::function<cusolverStatus_t()>& function) {
    cusolverStatus_t status{};
    static_cast<void>(call([&] {
      status = function();
      return CUBLAS_STATUS_SUCCESS;
    }));
    return status;
  }
  cusolverStatus_t potrf(std::vector<double>& a, cublasFillMode_t uplo, int n = kOrder) {
    return solve([&] { return cusolverDnDpotrf(solver.get(), uplo, n, a.data(), kLd, work, 7, &info); });
  }
  cusolverStatus_t getrf(std::vector<double>& a, int n = kOrder) {
    pivots.assign(static_cast<std::size_t>(kOrder), -1);
    return solve([&] { return cusolverDnDgetrf(solver.get(), n, n, a.data(), kLd, work, pivots.data(), &info); });
  }
  /// Nothing of it is Kizami's: cuSOLVER is called once, by that name, and its status comes back.
  void expect_native(const char* name, const std::function<cusolverStatus_t()>& function) {
    for (const cusolverStatus_t status : {CUSOLVER_STATUS_SUCCESS, CUSOLVER_STATUS_ARCH_MISMATCH}) {
      solver.calls.clear();
      solver.status = status;
      solver.computes = false;
      EXPECT_EQ(solve(function), status);
      EXPECT_EQ(solver.calls, std::vector<std::string>{name});
      EXPECT_TRUE(native.empty() && kizami.empty());
    }
    solver.status = CUSOLVER_STATUS_SUCCESS;
    solver.computes = true;
  }

  FakeSolver solver;
  double work[8] = {};
  int info = -7;
  std::vector<int> pivots;
};

double& at(std::vector<double>& a, int i, int j) { return a[static_cast<std::size_t>(i + j * kLd)]; }

std::vector<double> random_matrix(unsigned seed) {
  std::vector<double> a(static_cast<std::size_t>(kLd * kOrder), kUntouched);
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> unit(-0.5, 0.5);
  for (int j = 0; j < kOrder; ++j) {
    for (int i = 0; i < kOrder; ++i) at(a, i, j) = unit(source);
  }
  return a;
}
/// One triangle of a positive definite one; NaN in the other.
std::vector<double> definite_triangle(cublasFillMode_t uplo) {
  std::vector<double> a = random_matrix(3);
  for (int j = 0; j < kOrder; ++j) {
    for (int i = 0; i < kOrder; ++i) {
      if (uplo == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) at(a, i, j) = std::numeric_limits<double>::quiet_NaN();
    }
    at(a, j, j) = 30;
  }
  return a;
}

/// Whole numbers, in the columns of the first panel many of one size.
std::vector<double> whole_numbers(unsigned seed) {
  std::vector<double> a = random_matrix(seed);
  for (int j = 0; j < kOrder; ++j) {
    for (int i = 0; i < kOrder; ++i) at(a, i, j) = std::round((j < 64 ? 2 : 1000) * at(a, i, j));
  }
  return a;
}

/// LAPACK's getf2. @return info
int factor_by_columns(std::vector<double>& a, std::vector<int>& pivots, int n = kOrder) {
  int info = 0;
  pivots.clear();
  for (int j = 0; j < n; ++j) {
    int best = j;
    for (int i = j + 1; i < n; ++i) {
      if (std::abs(at(a, i, j)) > std::abs(at(a, best, j))) best = i;
    }
    pivots.push_back(best + 1);
    if (at(a, best, j) == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (int k = 0; k < n; ++k) std::swap(at(a, j, k), at(a, best, k));
    for (int i = j + 1; i < n; ++i) {
      at(a, i, j) /= at(a, j, j);
      for (int k = j + 1; k < n; ++k) at(a, i, k) -= at(a, i, j) * at(a, j, k);
    }
  }
  return info;
}

TEST_F(Solver, PotrfIsMadeOfLargeProducts) {
  for (const cublasFillMode_t uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    const bool is_lower = uplo == CUBLAS_FILL_MODE_LOWER;
    std::vector<double> original = definite_triangle(uplo);
    std::vector<double> l = original;
    solver.calls.clear();
    solver.orders.clear();
    ASSERT_EQ(potrf(l, uplo), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(info, 0);
    EXPECT_EQ(solver.calls, std::vector<std::string>(6, "Dpotrf"));  // blocks of 64, and the last of 13
    EXPECT_EQ(solver.orders, (std::vector<std::int64_t>{64, 64, 64, 64, 64, 13}));
    std::vector<std::int64_t> inner;  // of updates of a triangle: halves of 333, 192 and 141
    for (const KizamiCall& call : kizami) {
      if (call.triangle) inner.push_back(call.k);
    }
    EXPECT_EQ(inner, (std::vector<std::int64_t>{64, 64, 192, 64, 64}));
    for (int j = 0; j < kOrder; ++j) {
      for (int i = 0; i < kLd; ++i) {
        const auto stored = [&](int row, int column) { return is_lower ? at(l, row, column) : at(l, column, row); };
        if (i >= kOrder) {
          ASSERT_EQ(at(l, i, j), kUntouched);
        } else if (is_lower ? i < j : i > j) {
          ASSERT_TRUE(std::isnan(at(l, i, j)));
        } else {
          const int row = std::max(i, j);
          const int column = std::min(i, j);
          double sum = 0;
          for (int k = 0; k <= column; ++k) sum += stored(row, k) * stored(column, k);
          ASSERT_NEAR(sum, at(original, i, j), 1e-12) << i << ", " << j;
        }
      }
    }
  }
}

TEST_F(Solver, PotrfTellsTheFirstMinorThatIsNotDefinite) {
  for (const int place : {0, 63, 64, 200, 332}) {
    std::vector<double> a = definite_triangle(CUBLAS_FILL_MODE_LOWER);
    at(a, place, place) = -1;
    ASSERT_EQ(potrf(a, CUBLAS_FILL_MODE_LOWER), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(info, place + 1);
  }
}

TEST_F(Solver, GetrfHasThePivotsOfLapack) {
  std::vector<double> expected = random_matrix(5);
  std::vector<int> expected_pivots;
  ASSERT_EQ(factor_by_columns(expected, expected_pivots), 0);
  std::vector<double> lu = random_matrix(5);
  ASSERT_EQ(getrf(lu), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(pivots, expected_pivots);
  for (std::size_t i = 0; i < lu.size(); ++i) ASSERT_NEAR(lu[i], expected[i], 1e-10) << i;
  EXPECT_TRUE(solver.calls.empty());
  EXPECT_GT(solved_blocks().count, 0);
  EXPECT_LE(solved_blocks().largest, 128);
  std::int64_t widest = 0;  // the update of all that is left by the first block
  for (const KizamiCall& call : kizami) {
    if (call.m == kOrder - 128 && call.k == 128) widest += call.n;
  }
  EXPECT_EQ(widest, kOrder - 128);

  std::vector<double> wide = random_matrix(5);
  std::vector<std::int64_t> wide_pivots(static_cast<std::size_t>(kOrder));
  ASSERT_EQ(solve([&] {
              return cusolverDnXgetrf(solver.get(), nullptr, kOrder, kOrder, CUDA_R_64F, wide.data(), kLd,
                                      wide_pivots.data(), CUDA_R_64F, nullptr, 0, nullptr, 0, &info);
            }),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(wide, lu);
  EXPECT_TRUE(std::equal(pivots.begin(), pivots.end(), wide_pivots.begin()));
}

// Orders that are whole panels and blocks, and a row more or less; equal elements, of which the first is chosen.
TEST_F(Solver, GetrfHasThemForAllOrders) {
  for (const int n : {200, 255, 256, 257, 319, 320, 321}) {
    std::vector<double> a = whole_numbers(static_cast<unsigned>(n));
    std::vector<double> expected = a;
    std::vector<double> lu = a;
    std::vector<int> expected_pivots;
    const int expected_info = factor_by_columns(expected, expected_pivots, n);
    ASSERT_EQ(getrf(lu, n), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(info, expected_info) << n;
    pivots.resize(static_cast<std::size_t>(n));
    EXPECT_EQ(pivots.front(), expected_pivots.front()) << n;  // behind it sums are rounded in another order
    double worst = 0;                                         // of P A - L U
    for (int i = 0; i < n; ++i) {
      ASSERT_GE(pivots[static_cast<std::size_t>(i)], i + 1);
      ASSERT_LE(pivots[static_cast<std::size_t>(i)], n);
      for (int j = 0; j < n; ++j) std::swap(at(a, i, j), at(a, pivots[static_cast<std::size_t>(i)] - 1, j));
    }
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        if (i > j) {
          EXPECT_LE(std::abs(at(lu, i, j)), 1) << n;
        }
        double sum = i <= j ? at(lu, i, j) : 0;
        for (int k = 0; k < std::min(i, j + 1); ++k) sum += at(lu, i, k) * at(lu, k, j);
        worst = std::max(worst, std::abs(sum - at(a, i, j)));
      }
    }
    EXPECT_LT(worst, 1e-8) << n;
  }
}

// The row that is chosen for column 10 has an Inf in column 12: rows that were chosen before keep what they have there, all
// others are Inf or NaN from then on.
TEST_F(Solver, GetrfLetsAnInfReachWhatIsLeftOfItsColumnAlone) {
  std::vector<double> finite = random_matrix(5);
  at(finite, 200, 10) = 1000;
  std::vector<double> lu = finite;
  at(lu, 200, 12) = std::numeric_limits<double>::infinity();
  ASSERT_EQ(getrf(finite), CUSOLVER_STATUS_SUCCESS);
  ASSERT_EQ(getrf(lu), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(pivots[10], 201);
  for (int i = 0; i < 12; ++i) {  // behind, the order of rows is another one
    for (int j = 0; j < 12; ++j) ASSERT_EQ(at(lu, i, j), at(finite, i, j)) << i << ", " << j;
  }
  for (int i = 0; i < 10; ++i) ASSERT_EQ(at(lu, i, 12), at(finite, i, 12)) << i;
  for (int i = 10; i < kOrder; ++i) ASSERT_FALSE(std::isfinite(at(lu, i, 12))) << i;
  for (int i = 0; i < kOrder; ++i) {  // L was made before
    for (int j = 0; j < 12; ++j) ASSERT_TRUE(std::isfinite(at(lu, i, j))) << i << ", " << j;
  }
}

TEST_F(Solver, GetrfTellsTheFirstZeroOfTheDiagonal) {
  for (const int place : {0, 70, 332}) {
    std::vector<double> a = random_matrix(6);
    for (int i = 0; i < kOrder; ++i) at(a, i, place) = 0;
    ASSERT_EQ(getrf(a), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(info, place + 1);
  }
}

/// A name is of the next call, not of a product that a factorization makes of its own.
TEST_F(Solver, NoProductOfItsOwnTakesAName) {
  std::vector<double> a = random_matrix(7);
  pivots.assign(kOrder, -1);
  ASSERT_EQ(solve([&] {
              EXPECT_EQ(kizami_dropin_name_operand(0, 7, 1), 0);
              return cusolverDnDgetrf(solver.get(), kOrder, kOrder, a.data(), kLd, work, pivots.data(), &info);
            }),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_FALSE(kizami.empty());
  std::uint64_t split = 0;
  std::uint64_t taken = 0;
  std::size_t bytes = 0;
  kizami_dropin_kept(&split, &taken, &bytes);
  EXPECT_EQ(split, 0U);
  solver.computes = false;
  solve([&] {  // one that is left to cuSOLVER, whose products come by here, too
    EXPECT_EQ(kizami_dropin_name_operand(0, 7, 1), 0);
    const cusolverStatus_t status = cusolverDnDgetrf(solver.get(), 10, 10, a.data(), kLd, work, pivots.data(), &info);
    EXPECT_FALSE(dropin::take_names().is_any());
    return status;
  });
}

TEST_F(Solver, MemoryIsFreedAndHandlesAreUsedAgain) {
  std::vector<double> a = random_matrix(7);
  ASSERT_EQ(getrf(a), CUSOLVER_STATUS_SUCCESS);
  const int handles = created_handles();
  for (int round = 0; round < 3; ++round) {
    a = random_matrix(7);
    ASSERT_EQ(getrf(a), CUSOLVER_STATUS_SUCCESS);
    a = definite_triangle(CUBLAS_FILL_MODE_LOWER);
    ASSERT_EQ(potrf(a, CUBLAS_FILL_MODE_LOWER), CUSOLVER_STATUS_SUCCESS);
  }
  EXPECT_EQ(created_handles(), handles);
  EXPECT_EQ(runtime().held, 0);
}

/// What waits on the second stream of a call may wait for what the next call is to do.
TEST_F(Solver, ALaneWhoseStreamIsBusyIsNotLentAgain) {
  std::vector<double> a = random_matrix(7);
  ASSERT_EQ(getrf(a), CUSOLVER_STATUS_SUCCESS);
  const int handles = created_handles();
  runtime().is_busy = true;
  a = random_matrix(7);
  ASSERT_EQ(getrf(a), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(created_handles(), handles + 2);
  for (int round = 0; round < 20; ++round) {
    a = random_matrix(7);
    ASSERT_EQ(getrf(a), CUSOLVER_STATUS_SUCCESS);
  }
  EXPECT_LE(created_handles(), 16);
}

TEST_F(Solver, ABlockThatCannotBeLaunchedIsSolvedByCublas) {
  std::vector<double> expected = random_matrix(5);
  ASSERT_EQ(getrf(expected), CUSOLVER_STATUS_SUCCESS);
  solved_blocks().status = {StatusCode::kOutOfMemory, "no memory for a kernel"};
  solved_blocks().count = 0;
  std::vector<double> lu = random_matrix(5);
  ASSERT_EQ(getrf(lu), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(solved_blocks().count, 0);
  EXPECT_TRUE(std::ranges::any_of(native, [](const NativeCall& x) { return x.name == "cublasDtrsm_v2_64"; }));
  for (std::size_t i = 0; i < lu.size(); ++i) ASSERT_NEAR(lu[i], expected[i], 1e-10) << i;
}

/// Memory is freed on the program's stream, behind all that the second stream was given, whatever became of the call.
TEST_F(Solver, TheProgramsStreamWaitsForTheOtherOne) {
  for (const bool fails : {false, true}) {
    native_status = fails ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
    kizami_status = fails ? Status(StatusCode::kUnsupported, "not this one") : Status();
    steps().forget();
    std::vector<double> a = random_matrix(8);
    EXPECT_EQ(getrf(a), fails ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS);
    const std::vector<Step> all = steps().all();
    ASSERT_GE(all.size(), 3U);
    const Step& freed = all[all.size() - 1];
    const Step& waited = all[all.size() - 2];
    const Step& recorded = all[all.size() - 3];
    EXPECT_EQ(freed.kind, Step::Kind::kFree);
    EXPECT_EQ(freed.stream, solver.stream);
    EXPECT_EQ(waited.kind, Step::Kind::kWait);
    EXPECT_EQ(waited.stream, solver.stream);
    EXPECT_EQ(recorded.kind, Step::Kind::kRecord);
    EXPECT_NE(recorded.stream, solver.stream);
    EXPECT_EQ(waited.what, recorded.what);
  }
}

TEST_F(Solver, AnErrorOfCublasIsOne) {
  native_status = CUBLAS_STATUS_EXECUTION_FAILED;
  kizami_status = Status(StatusCode::kUnsupported, "not this one");
  std::vector<double> a = random_matrix(8);
  EXPECT_EQ(getrf(a), CUSOLVER_STATUS_EXECUTION_FAILED);
  a = definite_triangle(CUBLAS_FILL_MODE_LOWER);
  EXPECT_EQ(potrf(a, CUBLAS_FILL_MODE_LOWER), CUSOLVER_STATUS_EXECUTION_FAILED);
  solver.status = CUSOLVER_STATUS_ALLOC_FAILED;
  a = definite_triangle(CUBLAS_FILL_MODE_LOWER);
  EXPECT_EQ(potrf(a, CUBLAS_FILL_MODE_LOWER), CUSOLVER_STATUS_ALLOC_FAILED);
  EXPECT_EQ(solver.calls.back(), "Dpotrf");
}

// ---- what is left to cuSOLVER, with nothing enqueued ----

class LeftToCusolver : public Solver {
 protected:
  void expect_both_native() {
    expect_native("Dpotrf", [&] {
      return cusolverDnDpotrf(solver.get(), CUBLAS_FILL_MODE_LOWER, kOrder, a.data(), kLd, work, 7, &info);
    });
    expect_native("Dgetrf", [&] {
      return cusolverDnDgetrf(solver.get(), kOrder, kOrder, a.data(), kLd, work, some_pivots, &info);
    });
    EXPECT_EQ(a, random_matrix(9));
    EXPECT_EQ(runtime().held, 0);
  }
  std::vector<double> a = random_matrix(9);
  int some_pivots[kOrder] = {};
};

TEST_F(LeftToCusolver, SmallOnes) {
  dropin::cusolver::solver_sizes.least_getrf = kOrder + 1;
  dropin::cusolver::solver_sizes.least_potrf = kOrder + 1;
  expect_both_native();
}
TEST_F(LeftToCusolver, WhereSettingsSaySo) {
  configuration().settings.policy.scheme = Scheme::kNative;
  expect_both_native();
  configuration().settings.policy.scheme = Scheme::kAuto;
  configuration().settings.min_size = 1000;
  expect_both_native();
  configuration().settings.min_size = 0;
  configuration().is_dry_run = true;
  expect_both_native();
}
TEST_F(LeftToCusolver, WhereThePlannerPrefersIt) {
  planner().scheme = Scheme::kNative;
  expect_both_native();
}
TEST_F(LeftToCusolver, WhileAStreamIsCaptured) {
  runtime().is_capturing = true;
  expect_both_native();
}
TEST_F(LeftToCusolver, WithoutMemory) {
  runtime().has_memory = false;
  expect_both_native();
}
TEST_F(LeftToCusolver, WhereAnEventIsRefused) {
  const int handles = created_handles();
  runtime().works = false;
  expect_both_native();
  EXPECT_LE(created_handles(), handles);
}
TEST_F(LeftToCusolver, AfterADeviceFailed) {
  const dropin::cublas::Call call;
  static_cast<void>(dropin::cublas::device_failed(call, Status(StatusCode::kInternal, "a test says so"), true));
  expect_both_native();
}
TEST_F(LeftToCusolver, ArgumentsThatAreNotItsOwn) {
  expect_native("Dpotrf", [&] {
    return cusolverDnDpotrf(solver.get(), CUBLAS_FILL_MODE_FULL, kOrder, a.data(), kLd, work, 7, &info);
  });
  expect_native("Dpotrf", [&] {
    return cusolverDnDpotrf(solver.get(), CUBLAS_FILL_MODE_LOWER, kOrder, a.data(), kOrder - 1, work, 7, &info);
  });
  expect_native("Dpotrf", [&] {
    return cusolverDnDpotrf(solver.get(), CUBLAS_FILL_MODE_LOWER, kOrder, nullptr, kLd, work, 7, &info);
  });
  expect_native("Dgetrf", [&] {
    return cusolverDnDgetrf(solver.get(), kOrder, kOrder, a.data(), kLd, work, nullptr, &info);  // without pivoting
  });
  expect_native("Dgetrf", [&] {
    return cusolverDnDgetrf(solver.get(), kOrder, kOrder - 1, a.data(), kLd, work, some_pivots, &info);
  });
  expect_native("Xpotrf", [&] {
    return cusolverDnXpotrf(solver.get(), nullptr, CUBLAS_FILL_MODE_LOWER, kOrder, CUDA_C_64F, a.data(), kLd,
                            CUDA_C_64F, nullptr, 0, nullptr, 0, &info);
  });
  std::int64_t wide_pivots[1] = {};
  expect_native("Xgetrf", [&] {
    return cusolverDnXgetrf(solver.get(), nullptr, kOrder, kOrder, CUDA_R_32F, a.data(), kLd, wide_pivots, CUDA_R_32F,
                            nullptr, 0, nullptr, 0, &info);
  });
  EXPECT_EQ(a, random_matrix(9));
}
TEST_F(LeftToCusolver, MoreRowsThanThePanelsOfTheDevice) {
  runtime().most_panel_rows = kOrder - 1;
  expect_native("Dgetrf", [&] {
    return cusolverDnDgetrf(solver.get(), kOrder, kOrder, a.data(), kLd, work, some_pivots, &info);
  });
}

}  // namespace
}  // namespace kizami::dropin_test
