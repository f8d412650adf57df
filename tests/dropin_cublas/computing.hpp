// SPDX-License-Identifier: MIT
// What the doubles of cuBLAS and Kizami compute with: the routines by their definitions, element by element, in host
// memory.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "dropin/policy/call.hpp"
#include "dropin_cublas/fake_cublas.hpp"
#include "dropin_cublas/fake_kizami.hpp"

namespace kizami::dropin_test {

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
    return op == CUBLAS_OP_C ? dropin::conjugate(x) : x;
  }
};

/// The arguments of a routine, whatever its order of them.
template <class T>
struct Arguments {
  std::string routine;  ///< "syrk"
  int side = CUBLAS_SIDE_LEFT, uplo = CUBLAS_FILL_MODE_LOWER, op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  int diag = CUBLAS_DIAG_NON_UNIT;
  bool has_real_diagonal = false;  ///< of gemmt
  std::int64_t m = 0, n = 0, k = 0;
  alignas(sizeof(T)) T alpha{};  // as numbers of cuBLAS lie
  alignas(sizeof(T)) T beta{};
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
  if (x.routine == "gemm" || x.routine == "gemmt") {
    for (std::int64_t j = 0; j < x.n; ++j) {
      for (std::int64_t i = 0; i < x.m; ++i) {
        if (x.routine == "gemmt" && !in_triangle(i, j)) continue;
        T sum{};
        for (std::int64_t l = 0; l < x.k; ++l) sum += x.a.element(x.op_a, i, l) * x.b.element(x.op_b, l, j);
        T& c = x.c.at(i, j);
        const bool is_real = x.has_real_diagonal && i == j;
        if (is_real) c = real_part(c);
        c = x.alpha * sum + scaled(c);
        if (is_real) c = real_part(c);
      }
    }
  } else if ((x.routine.starts_with("sy") && x.routine != "symm") || x.routine.starts_with("her")) {
    const bool is_2k = x.routine.ends_with("2k");
    const Matrix<T>& b = x.b.data == nullptr ? x.a : x.b;
    const auto transposed = [&](T y) { return is_hermitian ? dropin::conjugate(y) : y; };
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
      return is_hermitian ? dropin::conjugate(x.a.at(j, i)) : x.a.at(j, i);
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
[[nodiscard]] Arguments<T> decoded(const NativeCall& call) {
  Arguments<T> x;
  x.routine = call.name.substr(7, call.name.find('_') - 7);
  std::size_t next = 1;
  const auto number = [&] { return call.arguments.at(next++).value; };
  const auto at = [&] { return reinterpret_cast<T*>(static_cast<std::intptr_t>(number())); };
  const auto factor = [&] {
    const T* const value = at();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value) % sizeof(T), 0U)
        << call.name << " reads factors on such boundaries";
    return *value;
  };
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
    x.alpha = factor();
    x.a = matrix();
    x.b = matrix();
    x.beta = factor();
    x.c = matrix();
  } else if (x.routine == "symm" || x.routine == "hemm" || x.routine.starts_with("tr")) {
    x.side = static_cast<int>(number());
    x.uplo = static_cast<int>(number());
    const bool is_triangular = x.routine.starts_with("tr");
    if (is_triangular) x.op_a = static_cast<int>(number());
    if (is_triangular) x.diag = static_cast<int>(number());
    x.m = number();
    x.n = number();
    x.alpha = factor();
    x.a = matrix();
    if (x.routine != "trsm") x.b = matrix();
    if (!is_triangular) x.beta = factor();
    x.c = matrix();
  } else {
    x.uplo = static_cast<int>(number());
    x.op_a = static_cast<int>(number());
    x.n = number();
    x.m = x.n;
    x.k = number();
    x.alpha = x.routine == "herk" ? real() : factor();
    x.a = matrix();
    if (!x.routine.ends_with("rk")) x.b = matrix();
    x.beta = x.routine.starts_with("her") ? real() : factor();
    x.c = matrix();
  }
  return x;
}

template <class T>
[[nodiscard]] Arguments<T> decoded(const KizamiCall& call) {
  Arguments<T> x;
  x.routine = call.triangle ? "gemmt" : "gemm";
  if (call.triangle) {
    x.uplo = call.triangle->is_lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    x.has_real_diagonal = call.triangle->has_real_diagonal;
  }
  if (call.symmetric) {
    x.routine = call.symmetric->is_hermitian ? "hemm" : "symm";
    x.side = call.symmetric->side == Side::kA ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    x.uplo = call.symmetric->is_lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  }
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

}  // namespace kizami::dropin_test
