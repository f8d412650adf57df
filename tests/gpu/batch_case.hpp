// SPDX-License-Identifier: MIT
// Batches in device memory, found in every way, against the same products one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu/device_case.hpp"
#include "kizami/batch.hpp"

namespace kizami::gpu_test {

/// What multiplies.
struct Way {
  std::string name;
  Policy policy;
};

/// A batch in BLAS terms. Strides in elements.
struct Layouts {
  Layout layout = Layout::kColMajor;
  Op op_a = Op::kNone, op_b = Op::kNone;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  std::int64_t num_products = 0;

  /// Elements of a stored matrix with its leading dimension, all lines whole.
  [[nodiscard]] std::int64_t stored_a() const { return lda * (is_transposed(op_a) == is_col() ? m : k); }
  [[nodiscard]] std::int64_t stored_b() const { return ldb * (is_transposed(op_b) == is_col() ? k : n); }
  [[nodiscard]] std::int64_t stored_c() const { return ldc * (is_col() ? n : m); }
  [[nodiscard]] std::string text() const {
    return std::string(to_string(op_a)) + std::string(to_string(op_b)) + " " + std::to_string(m) + "x" +
           std::to_string(n) + "x" + std::to_string(k) + " " + std::string(to_string(layout)) + " strides " +
           std::to_string(stride_a) + "," + std::to_string(stride_b) + "," + std::to_string(stride_c) + " of " +
           std::to_string(num_products);
  }

 private:
  [[nodiscard]] bool is_col() const { return layout == Layout::kColMajor; }
};

/// Matrices `gap` elements apart, leading dimensions 3 above the least. @param gap -1: all products have the same
/// matrix
inline Layouts layouts_of(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t num_products, std::int64_t gap_a, std::int64_t gap_b, std::int64_t gap_c) {
  Layouts l{layout, op_a, op_b, m, n, k};
  const bool is_col = layout == Layout::kColMajor;
  l.lda = (is_transposed(op_a) == is_col ? k : m) + 3;
  l.ldb = (is_transposed(op_b) == is_col ? n : k) + 3;
  l.ldc = (is_col ? m : n) + 3;
  l.num_products = num_products;
  l.stride_a = gap_a < 0 ? 0 : l.stored_a() + gap_a;
  l.stride_b = gap_b < 0 ? 0 : l.stored_b() + gap_b;
  l.stride_c = l.stored_c() + gap_c;
  return l;
}

/// Elements of both signs over `spread` binades below 1.
template <class T>
[[nodiscard]] T random_element(std::mt19937_64& rng, int spread) {
  const auto part = [&] {
    const double x = 1.0 + static_cast<double>(rng() >> 12) * 0x1p-52;
    const double scaled = std::ldexp(x, -1 - static_cast<int>(rng() % static_cast<unsigned>(spread)));
    return static_cast<RealOf<T>>(rng() % 2 == 0 ? scaled : -scaled);
  };
  if constexpr (kIsComplex<T>) {
    const RealOf<T> re = part();
    return {re, part()};
  } else {
    return part();
  }
}

/// A batch whose products differ: the second has wide exponents (a higher rung, or FP64 arithmetic), the third a NaN.
template <class T>
struct BatchOperands {
  Layouts l;
  std::vector<T> a, b, c;

  /// Integers, whose sums are exact in any order, so that cuBLAS gives the bits that ozaki2 gives.
  [[nodiscard]] static BatchOperands of_integers(const Layouts& layouts, unsigned seed) {
    BatchOperands operands(layouts, seed);
    std::mt19937_64 rng(seed);
    const auto integer = [&] { return static_cast<RealOf<T>>(static_cast<int>(rng() % 17) - 8); };
    for (std::vector<T>* x : {&operands.a, &operands.b, &operands.c}) {
      for (T& element : *x) {
        const RealOf<T> re = integer();
        element = check::from_parts<T>(re, kIsComplex<T> ? integer() : RealOf<T>{0});
      }
    }
    return operands;
  }

  BatchOperands(const Layouts& layouts, unsigned seed) : l(layouts) {
    std::mt19937_64 rng(seed);
    const std::int64_t count = std::max<std::int64_t>(l.num_products, 1);
    a.resize(static_cast<std::size_t>(l.stored_a() + (count - 1) * l.stride_a));
    b.resize(static_cast<std::size_t>(l.stored_b() + (count - 1) * l.stride_b));
    c.resize(static_cast<std::size_t>(l.stored_c() + (count - 1) * l.stride_c));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool is_wide = l.stride_a > 0 && static_cast<std::int64_t>(i) / l.stride_a == 1;
      a[i] = random_element<T>(rng, is_wide ? (std::is_same_v<RealOf<T>, float> ? 60 : 300) : 3);
    }
    for (T& x : b) x = random_element<T>(rng, 3);
    for (T& x : c) x = random_element<T>(rng, 3);
    if (l.num_products > 2) {  // of the third product alone, unless all have this B
      b[static_cast<std::size_t>(2 * l.stride_b) + 1] = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
    }
  }
};

/// The batch in device memory.
template <class T>
struct DeviceBatch {
  explicit DeviceBatch(const BatchOperands<T>& host) : l(host.l), a(host.a), b(host.b), c(host.c) {}

  Layouts l;
  DeviceArray<T> a, b, c;

  [[nodiscard]] const T* a_at(std::int64_t i) const { return a.data() + i * l.stride_a; }
  [[nodiscard]] const T* b_at(std::int64_t i) const { return b.data() + i * l.stride_b; }
  [[nodiscard]] T* c_at(std::int64_t i) const { return c.data() + i * l.stride_c; }
};

template <class T>
struct BatchResult {
  std::vector<T> c;
  std::vector<Outcome> outcomes;
};

/// Fails the test unless only C was written.
template <class T>
[[nodiscard]] std::vector<T> written(const DeviceBatch<T>& x, const BatchOperands<T>& host, const std::string& what) {
  EXPECT_TRUE(x.a.guards_are_intact() && x.b.guards_are_intact() && x.c.guards_are_intact()) << what;
  EXPECT_EQ(0, std::memcmp(x.a.download().data(), host.a.data(), host.a.size() * sizeof(T))) << what;
  EXPECT_EQ(0, std::memcmp(x.b.download().data(), host.b.data(), host.b.size() * sizeof(T))) << what;
  return x.c.download();
}

/// The products one by one.
template <class T>
[[nodiscard]] BatchResult<T> one_by_one(const BatchOperands<T>& host, Factor<T> alpha, Factor<T> beta,
                                        const Policy& policy) {
  const DeviceBatch<T> x(host);
  const Layouts& l = x.l;
  BatchResult<T> result;
  for (std::int64_t i = 0; i < l.num_products; ++i) {
    Outcome outcome;
    const Status status = cuda::gemm<T>(nullptr, l.layout, l.op_a, l.op_b, l.m, l.n, l.k, alpha, x.a_at(i), l.lda,
                                        x.b_at(i), l.ldb, beta, x.c_at(i), l.ldc, policy, &outcome);
    EXPECT_TRUE(status.ok()) << l.text() << ": " << status.reason();
    result.outcomes.push_back(outcome);
  }
  result.c = written(x, host, l.text());
  return result;
}

inline void expect_same_outcomes(const std::vector<Outcome>& got, const std::vector<Outcome>& want,
                                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string which = what + ", product " + std::to_string(i);
    EXPECT_EQ(got[i].scheme, want[i].scheme) << which;
    EXPECT_EQ(got[i].engine, want[i].engine) << which;
    EXPECT_EQ(got[i].variant, want[i].variant) << which;
    EXPECT_EQ(got[i].bound, want[i].bound) << which;
    EXPECT_EQ(got[i].gauge, want[i].gauge) << which;
    EXPECT_EQ(got[i].moduli, want[i].moduli) << which;
    EXPECT_EQ(got[i].slices, want[i].slices) << which;
    EXPECT_EQ(got[i].rung, want[i].rung) << which;
    EXPECT_EQ(got[i].equilibrated, want[i].equilibrated) << which;
    EXPECT_EQ(got[i].repaired, want[i].repaired) << which;
    EXPECT_EQ(got[i].nonfinite_rows, want[i].nonfinite_rows) << which;
    EXPECT_EQ(got[i].nonfinite_cols, want[i].nonfinite_cols) << which;
  }
}

template <class T>
Status strided(const DeviceBatch<T>& x, Factor<T> alpha, Factor<T> beta, const Policy& policy, Outcome* outcomes,
               cuda::Stream stream = nullptr) {
  const Layouts& l = x.l;
  return cuda::gemm_strided_batched<T>(stream, l.layout, l.op_a, l.op_b, l.m, l.n, l.k, alpha, x.a.data(), l.lda,
                                       l.stride_a, x.b.data(), l.ldb, l.stride_b, beta, x.c.data(), l.ldc, l.stride_c,
                                       l.num_products, policy, outcomes);
}

/// Pointers to the matrices, last product first.
template <class T>
struct Pointers {
  std::vector<const T*> a, b;
  std::vector<T*> c;

  explicit Pointers(const DeviceBatch<T>& x) {
    for (std::int64_t i = x.l.num_products - 1; i >= 0; --i) {
      a.push_back(x.a_at(i));
      b.push_back(x.b_at(i));
      c.push_back(x.c_at(i));
    }
  }
};

template <class T>
Status by_pointers(const Layouts& l, PointerArray<const T> a, PointerArray<const T> b, PointerArray<T> c,
                   Factor<T> alpha, Factor<T> beta, const Policy& policy, Outcome* outcomes,
                   cuda::Stream stream = nullptr) {
  return cuda::gemm_batched<T>(stream, l.layout, l.op_a, l.op_b, l.m, l.n, l.k, alpha, a, l.lda, b, l.ldb, beta, c,
                               l.ldc, l.num_products, policy, outcomes);
}

/// Every way of finding the matrices against what single calls gave.
template <class T>
void expect_products(const BatchOperands<T>& host, Factor<T> alpha, Factor<T> beta, const Way& way,
                     const BatchResult<T>& want) {
  const Layouts& l = host.l;
  const std::string what = way.name + " " + l.text();
  const auto expect = [&](const std::string& how, const Status& status, const DeviceBatch<T>& x,
                          const std::vector<Outcome>& outcomes, bool is_reversed) {
    ASSERT_TRUE(status.ok()) << how << ", " << what << ": " << status.reason();
    std::vector<Outcome> in_order = outcomes;
    if (is_reversed) std::reverse(in_order.begin(), in_order.end());
    expect_same(written(x, host, how + ", " + what), want.c, how + ", " + what);
    expect_same_outcomes(in_order, want.outcomes, how + ", " + what);
  };
  std::vector<Outcome> outcomes(static_cast<std::size_t>(l.num_products));
  {
    const DeviceBatch<T> x(host);
    const Status status = strided(x, alpha, beta, way.policy, outcomes.data());
    expect("strided", status, x, outcomes, false);
  }
  {
    const DeviceBatch<T> x(host);
    const Pointers<T> p(x);
    const Status status =
        by_pointers<T>(l, p.a.data(), p.b.data(), p.c.data(), alpha, beta, way.policy, outcomes.data());
    expect("pointers on the host", status, x, outcomes, true);
  }
  {
    const DeviceBatch<T> x(host);
    const Pointers<T> p(x);
    const DeviceArray<const T*> a(p.a), b(p.b);
    const DeviceArray<T*> c(p.c);
    const Status status = by_pointers<T>(l, PointerArray<const T>::at(a.data()), PointerArray<const T>::at(b.data()),
                                         PointerArray<T>::at(c.data()), alpha, beta, way.policy, outcomes.data());
    expect("pointers on the device", status, x, outcomes, true);
  }
}

template <class T>
void expect_single_calls(const Layouts& l, Factor<T> alpha, Factor<T> beta, const Way& way) {
  const BatchOperands<T> host(l, 7);
  expect_products<T>(host, alpha, beta, way, one_by_one<T>(host, alpha, beta, way.policy));
}

}  // namespace kizami::gpu_test
