// SPDX-License-Identifier: MIT
// Level 3 but gemm: what Kizami's products and cuBLAS' diagonal blocks make of a call. Both sides compute here, on
// small integers, with which every sum is exact; so the parts must give the whole by ==.
#include <complex>
#include <random>

#include "dropin/cublas/level3.hpp"
#include "dropin_cublas/computing.hpp"
#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

/// Small integers; a triangle of A has 1 on its diagonal where it is solved with, so that nothing is divided.
template <class T>
class Problem {
 public:
  Problem(const char* routine, int side, int uplo, int op, int diag) : source_(7) {
    x_.routine = routine;
    x_.side = side;
    x_.uplo = uplo;
    x_.op_a = op;
    x_.diag = diag;
    const bool has_order = x_.routine.ends_with("mm") || x_.routine == "trsm";
    x_.m = has_order ? 13 : 11;
    x_.n = 11;
    x_.k = 6;
    const std::int64_t order = !has_order ? std::max(x_.n, x_.k) : side == CUBLAS_SIDE_LEFT ? x_.m : x_.n;
    fill(a_, 15 * order);
    fill(b_, 16 * std::max<std::int64_t>(x_.n, 11));
    fill(c_, 17 * x_.n);
    if (x_.routine == "trsm") {
      for (std::int64_t i = 0; i < order; ++i) a_[static_cast<std::size_t>(i * 16)] = T{1};
    }
    x_.alpha = number();
    x_.beta = number();
    if (x_.routine == "herk") x_.alpha = real_part(x_.alpha);
    if (x_.routine.starts_with("her")) x_.beta = real_part(x_.beta);
    if (x_.alpha == T{}) x_.alpha = T{2};
    x_.a = {a_.data(), 15};
    x_.b = {b_.data(), 16};
    x_.c = {c_.data(), 17};
    if (x_.routine.ends_with("rk") || x_.routine == "trsm") x_.b = {};
  }
  Arguments<T>& arguments() { return x_; }
  [[nodiscard]] const std::vector<T>& c() const { return c_; }
  [[nodiscard]] std::vector<T> expected() const {
    std::vector<T> c = c_;
    Arguments<T> x = x_;
    x.c.data = c.data();
    if (x.b.data == x_.c.data) x.b.data = c.data();
    compute(x);
    return c;
  }

 private:
  T number() {
    const auto draw = [&] { return static_cast<double>(static_cast<int>(source_() % 7) - 3); };
    if constexpr (kIsComplex<T>) {
      const double re = draw();
      return {re, draw()};
    } else {
      return draw();
    }
  }
  void fill(std::vector<T>& values, std::int64_t size) {
    values.resize(static_cast<std::size_t>(size));
    for (T& x : values) x = number();
  }
  std::mt19937 source_;
  std::vector<T> a_, b_, c_;
  Arguments<T> x_;
};

class Level3 : public Interposer {
 protected:
  template <class T>
  void compute_on_both_sides() {
    configuration().settings.min_size = 0;
    configuration().monitor_period = 1;
    on_native_call() = [this](const NativeCall& call) {
      native.push_back(call);
      compute(decoded<T>(call));
      return native_status;
    };
    on_kizami_call() = [this](const KizamiCall& call) {
      kizami.push_back(call);
      if (!kizami_status.ok()) return kizami_status;
      compute(decoded<T>(call));
      return Status();
    };
  }

  /// The call by the entry point of cuBLAS.
  template <class T>
  cublasStatus_t call_cublas(const Arguments<T>& x) {
    using E = std::conditional_t<kIsComplex<T>, cuDoubleComplex, double>;
    const auto e = [](const T* p) { return reinterpret_cast<const E*>(p); };
    E* c = reinterpret_cast<E*>(x.c.data);
    const auto h = handle.get();
    const auto uplo = static_cast<cublasFillMode_t>(x.uplo);
    const auto side = static_cast<cublasSideMode_t>(x.side);
    const auto op = static_cast<cublasOperation_t>(x.op_a);
    const auto diag = static_cast<cublasDiagType_t>(x.diag);
    const int m = static_cast<int>(x.m), n = static_cast<int>(x.n), k = static_cast<int>(x.k);
    const int lda = static_cast<int>(x.a.ld), ldb = static_cast<int>(x.b.ld), ldc = static_cast<int>(x.c.ld);
    const E *alpha = e(&x.alpha), *beta = e(&x.beta), *a = e(x.a.data), *b = e(x.b.data);
    if constexpr (kIsComplex<T>) {
      const double real_alpha = x.alpha.real(), real_beta = x.beta.real();
      if (x.routine == "syrk") return cublasZsyrk_v2(h, uplo, op, n, k, alpha, a, lda, beta, c, ldc);
      if (x.routine == "herk") return cublasZherk_v2_64(h, uplo, op, n, k, &real_alpha, a, lda, &real_beta, c, ldc);
      if (x.routine == "syrkx") return cublasZsyrkx(h, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      if (x.routine == "herkx") return cublasZherkx(h, uplo, op, n, k, alpha, a, lda, b, ldb, &real_beta, c, ldc);
      if (x.routine == "syr2k") return cublasZsyr2k_v2(h, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      if (x.routine == "her2k") return cublasZher2k_v2(h, uplo, op, n, k, alpha, a, lda, b, ldb, &real_beta, c, ldc);
      if (x.routine == "symm") return cublasZsymm_v2(h, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
      if (x.routine == "hemm") return cublasZhemm_v2_64(h, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
      if (x.routine == "trmm") return cublasZtrmm_v2(h, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb, c, ldc);
      return cublasZtrsm_v2_64(h, side, uplo, op, diag, m, n, alpha, a, lda, c, ldc);
    } else {
      if (x.routine == "syrk") return cublasDsyrk_v2_64(h, uplo, op, n, k, alpha, a, lda, beta, c, ldc);
      if (x.routine == "syrkx") return cublasDsyrkx_64(h, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      if (x.routine == "syr2k") return cublasDsyr2k_v2_64(h, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      if (x.routine == "symm") return cublasDsymm_v2_64(h, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
      if (x.routine == "trmm") return cublasDtrmm_v2_64(h, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb, c, ldc);
      return cublasDtrsm_v2(h, side, uplo, op, diag, m, n, alpha, a, lda, c, ldc);
    }
  }

  template <class T>
  void check(Problem<T>& problem) {
    const Arguments<T>& x = problem.arguments();
    SCOPED_TRACE(x.routine + " side " + std::to_string(x.side) + " uplo " + std::to_string(x.uplo) + " op " +
                 std::to_string(x.op_a) + " diag " + std::to_string(x.diag));
    const std::vector<T> expected = problem.expected();
    solved_blocks().count = 0;
    EXPECT_EQ(call([&] { return call_cublas(x); }), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(problem.c(), expected);
    if (takes_triangles() && !x.routine.ends_with("2k")) {
      EXPECT_EQ(kizami.size(), 1U);
      EXPECT_TRUE(kizami.empty() || kizami[0].triangle);
      EXPECT_TRUE(native.empty());
    } else if (x.routine == "symm" || x.routine == "hemm") {
      EXPECT_EQ(kizami.size(), 1U);
      EXPECT_TRUE(kizami.empty() || kizami[0].symmetric);
      EXPECT_EQ(native.size(), kizami_status.ok() ? 0U : 1U);  // the call as it came
    } else {
      EXPECT_GE(kizami.size(), 3U) << "nothing beside the diagonal is Kizami's";
      const bool is_solved = x.routine == "trsm" && !kIsComplex<T>;
      EXPECT_GE(is_solved ? static_cast<std::size_t>(solved_blocks().count) : native.size(), 4U)
          << "there are no diagonal blocks";
      if (is_solved && kizami_status.ok()) {
        EXPECT_TRUE(native.empty());
      }
    }
    EXPECT_EQ(logged.find(", sample error / bound 0,") != std::string::npos, kizami_status.ok()) << logged;
  }

  void expect_emulated_beside_blocks(const std::function<cublasStatus_t()>& function, std::size_t products,
                                     std::size_t blocks) {
    EXPECT_EQ(call(function), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(kizami.size(), products);
    EXPECT_EQ(native.size(), blocks);
  }

  /// All options of a routine.
  template <class T>
  void check_all(const char* routine, const std::vector<int>& ops, bool has_side, bool has_diag) {
    compute_on_both_sides<T>();
    for (const int side : has_side ? std::vector{0, 1} : std::vector{0}) {
      for (const int uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
        for (const int op : ops) {
          for (const int diag : has_diag ? std::vector{0, 1} : std::vector{0}) {
            Problem<T> problem(routine, side, uplo, op, diag);
            check(problem);
            if (std::string(routine) != "trmm") continue;
            Problem<T> in_place(routine, side, uplo, op, diag);
            in_place.arguments().b = in_place.arguments().c;
            check(in_place);
          }
        }
      }
    }
  }
};

using Complex = std::complex<double>;
constexpr int kOpN = CUBLAS_OP_N, kOpT = CUBLAS_OP_T, kOpC = CUBLAS_OP_C;

TEST_F(Level3, RankUpdates) {
  for (const char* routine : {"syrk", "syrkx", "syr2k"}) {
    check_all<double>(routine, {kOpN, kOpT, kOpC}, false, false);
    check_all<Complex>(routine, {kOpN, kOpT}, false, false);
  }
  for (const char* routine : {"herk", "herkx", "her2k"}) check_all<Complex>(routine, {kOpN, kOpC}, false, false);
}

TEST_F(Level3, RankUpdatesByOneProductOfTheTriangle) {
  takes_triangles() = true;
  for (const char* routine : {"syrk", "syrkx", "syr2k"}) {
    check_all<double>(routine, {kOpN, kOpT, kOpC}, false, false);
    check_all<Complex>(routine, {kOpN, kOpT}, false, false);
  }
  for (const char* routine : {"herk", "herkx", "her2k"}) check_all<Complex>(routine, {kOpN, kOpC}, false, false);
  takes_triangles() = false;
}

TEST_F(Level3, TheTriangleIsAskedOfAnySchemeWhereThePlannerMultipliesAtAll) {
  takes_triangles() = true;
  const auto rank_k = [&] {
    const float one = 1;
    return cublasSsyrk_v2_64(handle.get(), CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, 8192, 30, &one,
                             address<const float>(0xA000), 30, &one, address<float>(0xC000), 8192);
  };
  planner().scheme = Scheme::kEc;
  expect_emulated_beside_blocks(rank_k, 1, 0);
  EXPECT_EQ(kizami.back().policy.scheme, Scheme::kAuto);  // as cuda::gemmt() takes it
  EXPECT_EQ(kizami.back().a, kizami.back().b);
  EXPECT_FALSE(kizami.back().triangle->is_lower);
  configuration().settings.policy.scheme = Scheme::kEc;
  expect_emulated_beside_blocks(rank_k, 1, 0);
  EXPECT_EQ(kizami.back().policy.scheme, Scheme::kEc);
  configuration().settings.policy.scheme = Scheme::kAuto;
  planner().scheme = Scheme::kNative;
  expect_forwarded(rank_k);
  planner().scheme = Scheme::kOzaki2;
  takes_triangles() = false;
}

TEST_F(Level3, SymmetricAndHermitian) {
  check_all<double>("symm", {kOpN}, true, false);
  check_all<Complex>("symm", {kOpN}, true, false);
  check_all<Complex>("hemm", {kOpN}, true, false);
}

TEST_F(Level3, SymmetricProductsAreTakenWhereToWriteAOutPays) {
  const double one = 1;
  int width = 4096;  // other shapes, for what the planner says of one is remembered
  const auto multiply = [&] {
    ++width;
    return cublasDsymm_v2(handle.get(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, 4096, width, &one,
                          address<const double>(0xA000), 4096, address<const double>(0xB000), 4096, &one,
                          address<double>(0xC000), 4096);
  };
  const double seconds = cuda::symm_seconds(Scalar::kF64, 4096).value();
  expect_forwarded(multiply);  // a draw of the products
  planner().native_seconds = 0.25 + 0.9 * seconds;
  expect_forwarded(multiply);
  planner().native_seconds = 0.25 + 1.1 * seconds;
  expect_emulated_beside_blocks(multiply, 1, 0);
  EXPECT_TRUE(kizami.back().symmetric && kizami.back().symmetric->is_lower);
  EXPECT_EQ(kizami.back().k, 4096);
  configuration().settings.is_learned = false;
  expect_emulated_beside_blocks(multiply, 1, 0);
  planner().native_seconds = 0.25;
  expect_forwarded(multiply);
  planner().can_be_native = false;  // at the accuracy asked for
  expect_emulated_beside_blocks(multiply, 1, 0);
  planner().can_be_native = true;
  configuration().settings.policy.scheme = Scheme::kOzaki2;
  expect_emulated_beside_blocks(multiply, 1, 0);
  configuration().settings.policy.accuracy = Accuracy::at_bits(52);  // there are no native blocks
  expect_emulated_beside_blocks(multiply, 1, 0);
  handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  expect_emulated_beside_blocks(multiply, 1, 0);
  EXPECT_EQ(kizami.back().device_alpha, &one);
  configuration().settings.policy.scheme = Scheme::kAuto;
  planner().native_seconds = 1;
  planner().scheme = Scheme::kNative;
  expect_forwarded(multiply);
  planner() = {};
}

TEST_F(Level3, TriangularProductsAlsoInPlace) {
  check_all<double>("trmm", {kOpN, kOpT, kOpC}, true, true);
  check_all<Complex>("trmm", {kOpN, kOpT, kOpC}, true, true);
}

TEST_F(Level3, Solutions) {
  check_all<double>("trsm", {kOpN, kOpT, kOpC}, true, true);
  check_all<Complex>("trsm", {kOpN, kOpT, kOpC}, true, true);
}

/// Seconds of a card that does so many operations a second by cuBLAS, and 160e12 by Kizami, which takes 20 us beside them.
auto card_of(double native_rate) {
  return [=](double operations, bool is_native) {
    return is_native ? 6e-6 + operations / native_rate : 20e-6 + operations / 160e12;
  };
}

// A triangle of 8192 in 64 blocks of 128: one product less, and as many operations in them as halves leave.
TEST_F(Level3, LargeSolutionsAreProductsAndBlocksOf128) {
  solved_blocks().computes = false;
  planner().seconds_of = card_of(54e12);
  const auto solve = [&]<class T>(int side, int m, int n, T one) {
    const auto a = address<const T>(0xA000);
    const auto of = static_cast<cublasSideMode_t>(side);
    const auto uplo = CUBLAS_FILL_MODE_LOWER;
    const auto diag = CUBLAS_DIAG_NON_UNIT;
    auto* c = address<T>(0xC000);
    if constexpr (std::is_same_v<T, double>) {
      return cublasDtrsm_v2(handle.get(), of, uplo, CUBLAS_OP_N, diag, m, n, &one, a, 8192, c, 8192);
    } else {
      return cublasStrsm_v2(handle.get(), of, uplo, CUBLAS_OP_N, diag, m, n, &one, a, 8192, c, 8192);
    }
  };
  const auto check_solution = [&]<class T>(int side, T one) {
    constexpr std::int64_t block = 128;
    constexpr std::int64_t blocks = 8192 / block;
    solved_blocks().count = 0;
    solved_blocks().largest = 0;
    const bool is_left = side == CUBLAS_SIDE_LEFT;
    expect_emulated_beside_blocks([&] { return solve(side, is_left ? 8192 : 2048, is_left ? 2048 : 8192, one); },
                                  static_cast<std::size_t>(blocks - 1), 0);
    EXPECT_EQ(solved_blocks().count, blocks);
    EXPECT_EQ(solved_blocks().largest, block);
    std::int64_t terms = 0;
    std::int64_t most = 0;
    for (const KizamiCall& x : kizami) {
      terms += x.m * x.n * x.k;
      most = std::max(most, x.k);
      EXPECT_EQ(x.alpha, -1.0);
      EXPECT_EQ(x.beta, 1.0);
    }
    EXPECT_EQ(most, 4096);
    EXPECT_EQ(terms, 2048 * (std::int64_t{8192} * 8192 - blocks * block * block) / 2);
  };
  for (const int side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
    check_solution(side, 1.0);
    check_solution(side, 1.0F);
  }
  planner() = {};
}

// Native blocks and native products are slower than the routine that they are parts of.
TEST_F(Level3, AllOfACallIsNativeWhereItsLargestProductIsByPlan) {
  planner().scheme = Scheme::kNative;
  const double one = 1;
  const cuDoubleComplex complex_one{1, 0};
  const auto h = handle.get();
  const auto* a = address<const double>(0xA000);
  const auto* b = address<const double>(0xB000);
  auto* c = address<double>(0xC000);
  constexpr int kSize = 8192;
  const auto uplo = CUBLAS_FILL_MODE_LOWER;
  const auto diag = CUBLAS_DIAG_NON_UNIT;
  expect_forwarded(
      [&] { return cublasDsyr2k_v2(h, uplo, CUBLAS_OP_N, kSize, kSize, &one, a, kSize, b, kSize, &one, c, kSize); });
  expect_forwarded([&] {
    return cublasDtrmm_v2(h, CUBLAS_SIDE_LEFT, uplo, CUBLAS_OP_N, diag, kSize, kSize, &one, a, kSize, b, kSize, c,
                          kSize);
  });
  expect_forwarded([&] {
    return cublasZtrsm_v2(h, CUBLAS_SIDE_LEFT, uplo, CUBLAS_OP_N, diag, kSize, kSize, &complex_one,
                          address<const cuDoubleComplex>(0xA000), kSize, address<cuDoubleComplex>(0xC000), kSize);
  });
  planner() = {};
}

// Where the planner would leave every product to cuBLAS the blocks alone are worth it.
TEST_F(Level3, SolutionsAreTakenForTheirBlocksAlone) {
  solved_blocks().computes = false;
  const auto solve = [&](int order, int width) {
    return [=, this] {
      const float one = 1;
      return cublasStrsm_v2(handle.get(), CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT,
                            width, order, &one, address<const float>(0xA000), order, address<float>(0xC000), width);
    };
  };
  planner().scheme = Scheme::kNative;
  planner().seconds_of = [](double operations, bool) { return 6e-6 + operations / 51e12; };
  EXPECT_EQ(call(solve(1024, 2048)), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(solved_blocks().count, 8);
  EXPECT_EQ(native.size(), 7U);
  EXPECT_TRUE(kizami.empty());
  expect_forwarded(solve(1024, 1023));
  expect_forwarded(solve(511, 2048));
  configuration().settings.policy.scheme = Scheme::kNative;
  expect_forwarded(solve(1024, 2048));
  EXPECT_EQ(solved_blocks().count, 8);
  planner() = {};
}

TEST_F(Level3, ABlockThatCudaRefusesIsNative) {
  compute_on_both_sides<double>();
  solved_blocks().status = {StatusCode::kOutOfMemory, "no memory for a kernel"};
  Problem<double> problem("trsm", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kOpN, CUBLAS_DIAG_NON_UNIT);
  const std::vector<double> expected = problem.expected();
  EXPECT_EQ(call([&] { return call_cublas(problem.arguments()); }), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(problem.c(), expected);
  EXPECT_GE(native.size(), 4U);
}

/// A launch that is refused has written nothing, whether it is that of the first block or of a later one: cuBLAS has what
/// is left of the call, and all later ones.
TEST_F(Level3, ABlockThatCannotBeLaunchedTurnsKizamiOffAndIsNative) {
  for (const int good : {0, 1, 3}) {
    dropin::cublas::forget_device_failure();
    compute_on_both_sides<double>();
    solved_blocks().count = 0;
    solved_blocks().good = good;
    solved_blocks().status = {StatusCode::kInternal, "the test says so"};
    Problem<double> problem("trsm", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kOpN, CUBLAS_DIAG_NON_UNIT);
    const std::vector<double> expected = problem.expected();
    EXPECT_EQ(call([&] { return call_cublas(problem.arguments()); }), CUBLAS_STATUS_SUCCESS) << good;
    EXPECT_EQ(problem.c(), expected) << good;
    EXPECT_EQ(solved_blocks().count, good);
    EXPECT_EQ(kizami.size(), static_cast<std::size_t>(good));  // a product behind each block
    EXPECT_GE(native.size(), 4U - static_cast<std::size_t>(good)) << good;
    EXPECT_NE(logged.find("the test says so"), std::string::npos) << logged;
    expect_forwarded([&] { return call_cublas(problem.arguments()); });
  }
  dropin::cublas::forget_device_failure();
  runtime().works = false;
  solved_blocks().count = solved_blocks().good = 0;
  Problem<double> problem("trsm", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kOpN, CUBLAS_DIAG_NON_UNIT);
  EXPECT_EQ(call([&] { return call_cublas(problem.arguments()); }), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_TRUE(native.empty());
}

TEST_F(Level3, ProductsThatKizamiRefusesAreNative) {
  compute_on_both_sides<double>();
  kizami_status = {StatusCode::kUnsupported, "no memory"};
  for (const char* routine : {"syr2k", "symm", "trmm", "trsm"}) {
    Problem<double> problem(routine, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kOpN, CUBLAS_DIAG_NON_UNIT);
    check(problem);
  }
}

TEST_F(Level3, TheFirstErrorOfCublasIsReturned) {
  compute_on_both_sides<double>();
  native_status = CUBLAS_STATUS_EXECUTION_FAILED;
  Problem<double> problem("syrk", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kOpN, CUBLAS_DIAG_NON_UNIT);
  EXPECT_EQ(call([&] { return call_cublas(problem.arguments()); }), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(native.size(), 1U);
  EXPECT_TRUE(kizami.empty());
}

// Of default settings the model decides, for the card at hand, whether a call comes apart and in which blocks.
TEST_F(Level3, OfThePlannerOnlyWhatIsPredictedToGain) {
  const auto rank_k = [&](std::int64_t n, std::int64_t k) {  // the doubles look at no element
    return [=, this] {
      const double one = 1;
      return cublasDsyrk_v2_64(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &one,
                               address<const double>(0xA000), n, &one, address<double>(0xC000), n);
    };
  };
  planner().seconds_of = card_of(54e12);
  expect_forwarded(rank_k(600, 600));
  expect_forwarded(rank_k(8192, 3));
  expect_emulated_beside_blocks(rank_k(8192, 8192), 7, 8);
  configuration().settings.policy.accuracy = Accuracy::at_bits(20);
  expect_forwarded(rank_k(600, 600));
  planner().can_be_native = false;  // not at that accuracy
  expect_emulated_beside_blocks(rank_k(600, 600), 1, 2);
  planner().can_be_native = true;
  configuration().settings.policy.accuracy = {};
  // Blocks of 1024 would be most of the time of a card whose FP64 is weak, and less is too small for it.
  planner().seconds_of = card_of(1.3e12);
  expect_emulated_beside_blocks(rank_k(8192, 8192), 63, 64);
  expect_emulated_beside_blocks(rank_k(2000, 2000), 7, 8);
  expect_forwarded(rank_k(511, 20000));
  configuration().settings.policy.scheme = Scheme::kOzaki2;  // bits are then of the call alone
  expect_emulated_beside_blocks(rank_k(8192, 8192), 3, 4);
  expect_emulated_beside_blocks(rank_k(4095, 30), 1, 2);
  expect_emulated_beside_blocks(rank_k(40, 30), 3, 4);
  planner() = {};
}

/// One product of the triangle has twice the tiles of the largest product beside the diagonal.
TEST_F(Level3, ATriangleIsAskedForWhereItsLargestProductIsNative) {
  const auto rank_k = [&](std::int64_t n) {
    return [=, this] {
      const double one = 1;
      return cublasDsyrk_v2_64(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, &one,
                               address<const double>(0xA000), n, &one, address<double>(0xC000), n);
    };
  };
  const auto operations = [](double m, double n, double k) { return 2 * m * n * k; };
  planner().seconds_of = card_of(54e12);
  planner().native_operations = operations(1500, 1500, 3000) + 1;
  takes_triangles() = true;
  expect_emulated_beside_blocks(rank_k(3000), 1, 0);
  EXPECT_TRUE(kizami.empty() || kizami[0].triangle);
  expect_forwarded(rank_k(700));  // not predicted to gain
  planner().native_operations = operations(3100, 3100, 3100) + 1;
  expect_forwarded(rank_k(3100));  // nor is all of C Kizami's
  takes_triangles() = false;
  planner() = {};
}

/// What a thread is told while the device has no memory for what Kizami keeps there is not what it remembers.
TEST_F(Level3, NoAnswerWithoutMemoryIsRemembered) {
  const double one = 1;
  const auto* a = address<const double>(0xA000);
  const auto* b = address<const double>(0xB000);
  auto* c = address<double>(0xC000);
  const auto rank_k = [&] {
    return cublasDsyrk_v2_64(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2000, 2000, &one, a, 2000, &one, c,
                             2000);
  };
  planner().seconds_of = card_of(1.3e12);
  std::size_t without_memory = 0;
  const cublasStatus_t status = call([&] {
    // The plan of the largest product is remembered, those of the others are not there.
    static_cast<void>(cublasDgemm_v2_64(handle.get(), CUBLAS_OP_N, CUBLAS_OP_T, 1000, 1000, 2000, &one, a, 2000, b,
                                        2000, &one, c, 2000));
    kizami.clear();
    planner().status = {StatusCode::kOutOfMemory, "the test says so"};
    static_cast<void>(rank_k());
    without_memory = native.size();
    planner().status = {};
    return rank_k();
  });
  EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(without_memory, 1U);  // the call as it came
  EXPECT_EQ(kizami.size(), 7U);
  EXPECT_EQ(native.size() - without_memory, 8U);
  planner() = {};
}

TEST_F(Level3, LeftAsAWhole) {
  Problem<Complex> problem("herk", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kOpN, CUBLAS_DIAG_NON_UNIT);
  Arguments<Complex>& x = problem.arguments();
  const auto function = [&] { return call_cublas(x); };
  expect_forwarded(function);  // blocks of so small a call are slower than all of it
  configuration().settings.min_size = 0;
  handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  expect_forwarded(function);
  handle.pointer_mode = CUBLAS_POINTER_MODE_HOST;
  handle.math_mode = CUBLAS_PEDANTIC_MATH;
  expect_forwarded(function);
  handle.math_mode = CUBLAS_DEFAULT_MATH;
  configuration().settings.policy.accuracy = Accuracy::at_bits(52);  // diagonal blocks: 2 k 2^-53
  expect_forwarded(function);
  configuration().settings.policy.accuracy = Accuracy::at_bits(40);
  call(function);
  EXPECT_FALSE(kizami.empty());
  configuration().settings.policy.accuracy = Accuracy::native();
  x.op_a = kOpT;  // is not one of herk
  expect_forwarded(function);
  x.op_a = kOpN;
  x.alpha = 0;
  expect_forwarded(function);
  x.alpha = 1;
  x.n = 1;
  expect_forwarded(function);
  x.n = 11;
  x.c.ld = 10;
  expect_forwarded(function);
}

}  // namespace
}  // namespace kizami::dropin_test
