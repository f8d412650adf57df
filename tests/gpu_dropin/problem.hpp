// SPDX-License-Identifier: MIT
// One product C <- alpha op(A) op(B) + beta C on host and device, and the judge of what comes back. Every part of a
// judged element of C is compared with its value in double-double arithmetic (2^-100 of the gauge: nothing beside the
// bounds):
//   |C - exact| <= e (|alpha| G) + r u (|alpha op(A) op(B)| + |beta C0|) + tiny,  e = max(c(k) u, 2^-bits),
//   c(k) = min(max(k, 8), 16 sqrt(k)),  G = |op(A)||op(B)|,  r = 2
// as include/kizami/policy.hpp and plan.hpp have it; complex types: 2k real terms for each part, and r = 4.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace preload_check {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": cuBLAS status " + std::to_string(static_cast<int>(status)));
}

template <class T>
inline constexpr bool kIsComplex = !std::is_floating_point_v<T>;
template <class T>
struct PartOf {
  using Type = T;
};
template <class R>
struct PartOf<std::complex<R>> {
  using Type = R;
};
template <class T>
T make(double re, double im) {
  using R = typename PartOf<T>::Type;
  if constexpr (kIsComplex<T>) {
    return {static_cast<R>(re), static_cast<R>(im)};
  } else {
    return static_cast<T>(re);
  }
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    check(cudaMalloc(&data_, bytes()), "cudaMalloc");
    upload(values);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { static_cast<void>(cudaFree(data_)); }

  [[nodiscard]] T* data() const { return static_cast<T*>(data_); }
  void upload(const std::vector<T>& values) {
    check(cudaDeviceSynchronize(), "before upload");
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "upload");
    check(cudaDeviceSynchronize(), "upload");
  }
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> values(size_);
    check(cudaDeviceSynchronize(), "before download");
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "download");
    return values;
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_;
  void* data_ = nullptr;
};

/// hi + lo, with products added exactly and sums to twice the precision.
struct Sum {
  double hi = 0, lo = 0;

  void add(double x, double y) {
    const double p = x * y;
    const double rest = std::fma(x, y, -p);
    const double s = hi + p;
    const double t = s - hi;
    lo += ((hi - (s - t)) + (p - t)) + rest;
    hi = s;
  }
  void add(double x, const Sum& y) {
    add(x, y.hi);
    add(x, y.lo);
  }
};

struct Shape {
  cublasOperation_t op_a, op_b;
  int m, n, k;
};

inline std::string name_of(const Shape& s) {
  const auto letter = [](cublasOperation_t op) { return op == CUBLAS_OP_N ? 'n' : op == CUBLAS_OP_T ? 't' : 'c'; };
  return std::string{letter(s.op_a), letter(s.op_b)} + " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
         std::to_string(s.k);
}

/// Accuracy that is asked for beside the native one; 0: none.
inline int& asked_bits() {
  static int bits = 0;
  return bits;
}

struct Judgement {
  std::string error;  ///< what is wrong, or nothing
  double ratio = 0;   ///< the largest error of an element by what is allowed
};

template <class T>
class Problem {
 public:
  using R = typename PartOf<T>::Type;

  Problem(const Shape& shape, std::uint64_t seed) : s_(shape) {
    lda_ = (s_.op_a == CUBLAS_OP_N ? s_.m : s_.k) + 3;
    ldb_ = (s_.op_b == CUBLAS_OP_N ? s_.k : s_.n) + 1;
    ldc_ = s_.m + 2;
    a_.resize(std::size_t(lda_) * std::size_t(s_.op_a == CUBLAS_OP_N ? s_.k : s_.m));
    b_.resize(std::size_t(ldb_) * std::size_t(s_.op_b == CUBLAS_OP_N ? s_.n : s_.k));
    c_.resize(std::size_t(ldc_) * std::size_t(s_.n));
    fill(seed);
  }

  [[nodiscard]] const Shape& shape() const { return s_; }
  [[nodiscard]] int lda() const { return lda_; }
  [[nodiscard]] int ldb() const { return ldb_; }
  [[nodiscard]] int ldc() const { return ldc_; }
  [[nodiscard]] std::vector<T>& a() { return a_; }
  [[nodiscard]] std::vector<T>& b() { return b_; }
  [[nodiscard]] std::vector<T>& c() { return c_; }

  /// Other elements: signs, and magnitudes over some powers of two.
  void fill(std::uint64_t seed) {
    std::mt19937_64 source(seed);
    for (auto* matrix : {&a_, &b_, &c_}) {
      for (T& x : *matrix) x = make<T>(random(source), random(source));
    }
  }

  /// C by the host, in double rounded once more to T.
  [[nodiscard]] std::vector<T> host_result(T alpha, T beta) const {
    using W = std::conditional_t<kIsComplex<T>, std::complex<double>, double>;
    const auto wide = [](T x) { return make<W>(re(x), im(x)); };
    std::vector<T> out = c_;
    for (int j = 0; j < s_.n; ++j) {
      for (int i = 0; i < s_.m; ++i) {
        W sum{};
        for (int l = 0; l < s_.k; ++l) {
          sum += wide(element(a_, lda_, s_.op_a, i, l)) * wide(element(b_, ldb_, s_.op_b, l, j));
        }
        out[at(i, j)] = static_cast<T>(wide(alpha) * sum + wide(beta) * wide(c_[at(i, j)]));
      }
    }
    return out;
  }

  /// Padding must be as in c(), and a sample of the elements within what is allowed.
  [[nodiscard]] Judgement judge(const std::vector<T>& got, T alpha, T beta) const {
    for (std::int64_t j = 0; j < s_.n; ++j) {
      if (std::memcmp(&got[at(s_.m, j)], &c_[at(s_.m, j)], sizeof(T) * std::size_t(ldc_ - s_.m)) != 0)
        return {"the padding of column " + std::to_string(j) + " is written", 0};
    }
    const std::int64_t size = std::int64_t{s_.m} * s_.n;
    std::mt19937_64 source(size);
    double worst = 0;
    for (std::int64_t t = 0; t < std::min<std::int64_t>(size, kSample); ++t) {
      const auto e = size <= kSample ? t : static_cast<std::int64_t>(source() % static_cast<std::uint64_t>(size));
      const double ratio = ratio_at(e % s_.m, e / s_.m, got, alpha, beta);
      if (!(ratio <= 1)) {
        return {"element (" + std::to_string(e % s_.m) + ", " + std::to_string(e / s_.m) + ")", ratio};
      }
      worst = std::max(worst, ratio);
    }
    return {"", worst};
  }

 private:
  static constexpr std::int64_t kSample = 3000;
  /// Real and imaginary part, or one part.
  struct Parts {
    Sum re, im;
    double gauge_re = 0, gauge_im = 0;
  };

  static double random(std::mt19937_64& source) {
    const double unit = static_cast<double>(source() >> 11) * 0x1p-52 - 1;
    return static_cast<R>(std::ldexp(unit, static_cast<int>(source() % 6) - 3));
  }
  static double re(T x) { return std::real(x); }
  static double im(T x) {
    if constexpr (kIsComplex<T>) return x.imag();
    return 0;
  }
  [[nodiscard]] std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i + j * std::int64_t{ldc_});
  }
  /// op(X)(i, j).
  static T element(const std::vector<T>& x, int ld, cublasOperation_t op, std::int64_t i, std::int64_t j) {
    const T value = x[static_cast<std::size_t>(op == CUBLAS_OP_N ? i + j * ld : j + i * ld)];
    return make<T>(re(value), op == CUBLAS_OP_C ? -im(value) : im(value));
  }

  [[nodiscard]] Parts product(std::int64_t i, std::int64_t j) const {
    Parts p;
    for (std::int64_t l = 0; l < s_.k; ++l) {
      const T x = element(a_, lda_, s_.op_a, i, l);
      const T y = element(b_, ldb_, s_.op_b, l, j);
      p.re.add(re(x), re(y));
      p.gauge_re += std::abs(re(x) * re(y)) + std::abs(im(x) * im(y));
      if constexpr (kIsComplex<T>) {
        p.re.add(-im(x), im(y));
        p.im.add(re(x), im(y));
        p.im.add(im(x), re(y));
        p.gauge_im += std::abs(re(x) * im(y)) + std::abs(im(x) * re(y));
      }
    }
    return p;
  }

  /// Error of element (i, j) by what is allowed; the larger one of the parts.
  [[nodiscard]] double ratio_at(std::int64_t i, std::int64_t j, const std::vector<T>& got, T alpha, T beta) const {
    const T c0 = beta == T{} ? T{} : c_[at(i, j)];  // which is never read then
    const Parts p = product(i, j);
    const double terms = (kIsComplex<T> ? 2.0 : 1.0) * s_.k;
    const double u = std::numeric_limits<R>::epsilon() / 2;
    const double bits = asked_bits() == 0 ? 0 : std::ldexp(1, -asked_bits());
    const double e = std::max(std::min(std::max(terms, 8.0), 16 * std::sqrt(terms)) * u, bits);
    const double r = kIsComplex<T> ? 4 : 2;
    // One part of alpha p + beta c: x P + y Q, and its gauge |x| gauge_P + |y| gauge_Q.
    const auto ratio = [&](double value, double x, const Sum& p1, double g1, double y, const Sum& p2, double g2,
                           double z, double c1, double w, double c2) {
      Sum exact;
      exact.add(x, p1);
      exact.add(y, p2);
      exact.add(z, c1);
      exact.add(w, c2);
      const double gauge = std::abs(x) * g1 + std::abs(y) * g2;
      const double terms_of_sum = std::abs(x * p1.hi) + std::abs(y * p2.hi) + std::abs(z * c1) + std::abs(w * c2);
      // The gauge itself is rounded: by less than k 2^-50 of it.
      const double allowed =
          (e * gauge + r * u * terms_of_sum) * (1 + s_.k * 0x1p-50) + std::numeric_limits<R>::denorm_min();
      return std::abs((value - exact.hi) - exact.lo) / allowed;
    };
    const T g = got[at(i, j)];
    const double of_re =
        ratio(re(g), re(alpha), p.re, p.gauge_re, -im(alpha), p.im, p.gauge_im, re(beta), re(c0), -im(beta), im(c0));
    if constexpr (!kIsComplex<T>) return of_re;
    const double of_im =
        ratio(im(g), re(alpha), p.im, p.gauge_im, im(alpha), p.re, p.gauge_re, re(beta), im(c0), im(beta), re(c0));
    return std::isnan(of_re) || std::isnan(of_im) ? std::nan("") : std::max(of_re, of_im);
  }

  Shape s_;
  int lda_, ldb_, ldc_;
  std::vector<T> a_, b_, c_;
};

}  // namespace preload_check
