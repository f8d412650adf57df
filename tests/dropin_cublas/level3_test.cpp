// SPDX-License-Identifier: MIT
// Level 3 but gemm: what Kizami's products and cuBLAS' diagonal blocks make of a call. Both sides compute here, on small integers,
// with which every sum is exact; so the parts must give the whole by ==.
#include <complex>
#include <numeric>
#include <random>

#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

template <class T>
T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}
template <class T>
T real_part(T x) {
  return T(std::real(x));
}

/// A matrix in memory; element() is one of op(X).
template <class T>
struct Matrix {
  T* data;
  std::int64_t ld;

  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) const { return data[i + j * ld]; }
  [[nodiscard]] T element(int op, std::int64_t i, std::int64_t j) const {
    const T x = op == CUBLAS_OP_N ? at(i, j) : at(j, i);
    return op == CUBLAS_OP_C ? conjugate(x) : x;
  }
};

/// The arguments of a routine, whatever its order of them.
template <class T>
struct Arguments {
  std::string routine;  ///< "syrk"
  int side = CUBLAS_SIDE_LEFT, uplo = CUBLAS_FILL_MODE_LOWER, op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  int diag = CUBLAS_DIAG_NON_UNIT;
  std::int64_t m = 0, n = 0, k = 0;
  T alpha{}, beta{};
  Matrix<T> a{}, b{}, c{};
};

/// By the definitions of the routines, element by element.
template <class T>
void compute(const Arguments<T>& x) {
  const auto in_triangle = [&](std::int64_t i, std::int64_t j) {
    return x.uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
  };
  const bool is_hermitian = x.routine == "herk" || x.routine == "herkx" || x.routine == "her2k" || x.routine == "hemm";
  const auto scaled = [&](T& c) { return x.beta == T{} ? T{} : x.beta * c; };
  if (x.routine == "gemm") {
    for (std::int64_t j = 0; j < x.n; ++j) {
      for (std::int64_t i = 0; i < x.m; ++i) {
        T sum{};
        for (std::int64_t l = 0; l < x.k; ++l) sum += x.a.element(x.op_a, i, l) * x.b.element(x.op_b, l, j);
        x.c.at(i, j) = x.alpha * sum + scaled(x.c.at(i, j));
      }
    }
  } else if ((x.routine.starts_with("sy") && x.routine != "symm") || x.routine.starts_with("her")) {
    const bool is_2k = x.routine.ends_with("2k");
    const Matrix<T>& b = x.b.data == nullptr ? x.a : x.b;
    const auto transposed = [&](T y) { return is_hermitian ? conjugate(y) : y; };
    const auto row = [&](const Matrix<T>& y, std::int64_t i, std::int64_t l) {  // of op(Y)
      return x.op_a == CUBLAS_OP_N ? y.at(i, l) : transposed(y.at(l, i));
    };
    for (std::int64_t j = 0; j < x.n; ++j) {
      for (std::int64_t i = 0; i < x.n; ++i) {
        if (!in_triangle(i, j)) continue;
        T sum{};
        T second{};
        for (std::int64_t l = 0; l < x.k; ++l) {
          sum += row(x.a, i, l) * transposed(row(b, j, l));
          second += row(b, i, l) * transposed(row(x.a, j, l));
        }
        T& c = x.c.at(i, j);
        c = x.alpha * sum + (is_2k ? transposed(x.alpha) * second : T{}) +
            (is_hermitian && i == j && x.beta != T{} ? x.beta * real_part(c) : scaled(c));
        if (is_hermitian && i == j) c = real_part(c);
      }
    }
  } else if (x.routine == "symm" || x.routine == "hemm") {
    const auto full = [&](std::int64_t i, std::int64_t j) {
      if (i == j && is_hermitian) return real_part(x.a.at(i, i));
      if (in_triangle(i, j)) return x.a.at(i, j);
      return is_hermitian ? conjugate(x.a.at(j, i)) : x.a.at(j, i);
    };
    for (std::int64_t j = 0; j < x.n; ++j) {
      for (std::int64_t i = 0; i < x.m; ++i) {
        T sum{};
        const bool is_left = x.side == CUBLAS_SIDE_LEFT;
        for (std::int64_t l = 0; l < (is_left ? x.m : x.n); ++l)
          sum += is_left ? full(i, l) * x.b.at(l, j) : x.b.at(i, l) * full(l, j);
        x.c.at(i, j) = x.alpha * sum + scaled(x.c.at(i, j));
      }
    }
  } else {  // trmm, trsm
    const bool is_left = x.side == CUBLAS_SIDE_LEFT;
    const std::int64_t order = is_left ? x.m : x.n;
    const auto triangle = [&](std::int64_t i, std::int64_t j) {  // of op(A)
      const bool is_stored = x.op_a == CUBLAS_OP_N ? in_triangle(i, j) : in_triangle(j, i);
      if (i == j && x.diag == CUBLAS_DIAG_UNIT) return T{1};
      return is_stored ? x.a.element(x.op_a, i, j) : T{};
    };
    for (std::int64_t line = 0; line < (is_left ? x.n : x.m); ++line) {
      const auto at = [&](const Matrix<T>& y, std::int64_t i) -> T& { return is_left ? y.at(i, line) : y.at(line, i); };
      const auto element = [&](std::int64_t i, std::int64_t l) { return is_left ? triangle(i, l) : triangle(l, i); };
      std::vector<T> old;
      for (std::int64_t i = 0; i < order; ++i) old.push_back(at(x.routine == "trmm" ? x.b : x.c, i));
      if (x.routine == "trmm") {
        for (std::int64_t i = 0; i < order; ++i) {
          T sum{};
          for (std::int64_t l = 0; l < order; ++l) sum += element(i, l) * old[static_cast<std::size_t>(l)];
          at(x.c, i) = x.alpha * sum;
        }
        continue;
      }
      const bool is_forward = ((x.uplo == CUBLAS_FILL_MODE_LOWER) == (x.op_a == CUBLAS_OP_N)) == is_left;
      for (std::int64_t step = 0; step < order; ++step) {
        const std::int64_t i = is_forward ? step : order - 1 - step;
        T sum = x.alpha * old[static_cast<std::size_t>(i)];
        for (std::int64_t l = 0; l < order; ++l) {
          if (l != i && element(i, l) != T{}) sum -= element(i, l) * at(x.c, l);
        }
        at(x.c, i) = sum / element(i, i);
      }
    }
  }
}

/// The arguments of a native function, as the fake cuBLAS got them.
template <class T>
Arguments<T> decoded(const NativeCall& call) {
  Arguments<T> x;
  x.routine = call.name.substr(7, call.name.find('_') - 7);
  std::size_t next = 1;
  const auto number = [&] { return call.arguments.at(next++).value; };
  const auto at = [&] { return reinterpret_cast<T*>(static_cast<std::intptr_t>(number())); };
  const auto matrix = [&] {
    T* data = at();
    return Matrix<T>{data, number()};
  };
  const auto real = [&] { return T(*reinterpret_cast<const RealOf<T>*>(static_cast<std::intptr_t>(number()))); };
  if (x.routine == "gemm") {
    x.op_a = static_cast<int>(number());
    x.op_b = static_cast<int>(number());
    x.m = number();
    x.n = number();
    x.k = number();
    x.alpha = *at();
    x.a = matrix();
    x.b = matrix();
    x.beta = *at();
    x.c = matrix();
  } else if (x.routine == "symm" || x.routine == "hemm" || x.routine.starts_with("tr")) {
    x.side = static_cast<int>(number());
    x.uplo = static_cast<int>(number());
    const bool is_triangular = x.routine.starts_with("tr");
    if (is_triangular) x.op_a = static_cast<int>(number());
    if (is_triangular) x.diag = static_cast<int>(number());
    x.m = number();
    x.n = number();
    x.alpha = *at();
    x.a = matrix();
    if (x.routine != "trsm") x.b = matrix();
    if (!is_triangular) x.beta = *at();
    x.c = matrix();
  } else {
    x.uplo = static_cast<int>(number());
    x.op_a = static_cast<int>(number());
    x.n = number();
    x.m = x.n;
    x.k = number();
    x.alpha = x.routine == "herk" ? real() : *at();
    x.a = matrix();
    if (!x.routine.ends_with("rk")) x.b = matrix();
    x.beta = x.routine.starts_with("her") ? real() : *at();
    x.c = matrix();
  }
  return x;
}

template <class T>
Arguments<T> decoded(const KizamiCall& call) {
  Arguments<T> x;
  x.routine = "gemm";
  x.op_a = static_cast<int>(call.op_a);
  x.op_b = static_cast<int>(call.op_b);
  x.m = call.m;
  x.n = call.n;
  x.k = call.k;
  if constexpr (kIsComplex<T>) {
    x.alpha = call.alpha;
    x.beta = call.beta;
  } else {
    x.alpha = call.alpha.real();
    x.beta = call.beta.real();
  }
  x.a = {const_cast<T*>(static_cast<const T*>(call.a)), call.lda};
  x.b = {const_cast<T*>(static_cast<const T*>(call.b)), call.ldb};
  x.c = {const_cast<T*>(static_cast<const T*>(call.c)), call.ldc};
  return x;
}

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
    EXPECT_EQ(call([&] { return call_cublas(x); }), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(problem.c(), expected);
    EXPECT_GE(kizami.size(), 3U) << "nothing beside the diagonal is Kizami's";
    EXPECT_GE(native.size(), 4U) << "there are no diagonal blocks";
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
constexpr int kN = CUBLAS_OP_N, kT = CUBLAS_OP_T, kC = CUBLAS_OP_C;

TEST_F(Level3, RankUpdates) {
  for (const char* routine : {"syrk", "syrkx", "syr2k"}) {
    check_all<double>(routine, {kN, kT, kC}, false, false);
    check_all<Complex>(routine, {kN, kT}, false, false);
  }
  for (const char* routine : {"herk", "herkx", "her2k"}) check_all<Complex>(routine, {kN, kC}, false, false);
}

TEST_F(Level3, SymmetricAndHermitian) {
  check_all<double>("symm", {kN}, true, false);
  check_all<Complex>("symm", {kN}, true, false);
  check_all<Complex>("hemm", {kN}, true, false);
}

TEST_F(Level3, TriangularProductsAlsoInPlace) {
  check_all<double>("trmm", {kN, kT, kC}, true, true);
  check_all<Complex>("trmm", {kN, kT, kC}, true, true);
}

TEST_F(Level3, Solutions) {
  check_all<double>("trsm", {kN, kT, kC}, true, true);
  check_all<Complex>("trsm", {kN, kT, kC}, true, true);
}

TEST_F(Level3, ProductsThatKizamiRefusesAreNative) {
  compute_on_both_sides<double>();
  kizami_status = {StatusCode::kOutOfMemory, "no memory"};
  for (const char* routine : {"syr2k", "symm", "trmm", "trsm"}) {
    Problem<double> problem(routine, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kN, CUBLAS_DIAG_NON_UNIT);
    check(problem);
  }
}

TEST_F(Level3, TheFirstErrorOfCublasIsReturned) {
  compute_on_both_sides<double>();
  native_status = CUBLAS_STATUS_EXECUTION_FAILED;
  Problem<double> problem("syrk", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kN, CUBLAS_DIAG_NON_UNIT);
  EXPECT_EQ(call([&] { return call_cublas(problem.arguments()); }), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(native.size(), 1U);
  EXPECT_TRUE(kizami.empty());
}

TEST_F(Level3, LeftAsAWhole) {
  Problem<Complex> problem("herk", CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, kN, CUBLAS_DIAG_NON_UNIT);
  Arguments<Complex>& x = problem.arguments();
  const auto function = [&] { return call_cublas(x); };
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
  x.op_a = kT;  // is not one of herk
  expect_forwarded(function);
  x.op_a = kN;
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
