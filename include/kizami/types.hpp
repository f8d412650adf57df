// SPDX-License-Identifier: MIT
// The vocabulary of a matrix product: scalar types, transposition, storage order, strided views.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "kizami/export.h"
#include "kizami/host_device.hpp"
#include "kizami/names.hpp"

namespace kizami {

/// The number hi + lo, exactly. Normalised: hi is hi + lo rounded to nearest, so |lo| <= ulp(hi) / 2 and at least 106
/// significand bits are held, over the exponents of double (lo underflows where hi is below 2^-969). Where hi is Inf or
/// NaN, lo does not matter.
struct KIZAMI_API DoubleDouble {
  double hi = 0;
  double lo = 0;

  constexpr DoubleDouble() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): every double is a double-double
  constexpr DoubleDouble(double x) noexcept : hi(x) {}
  constexpr DoubleDouble(double high, double low) noexcept : hi(high), lo(low) {}
  friend constexpr bool operator==(const DoubleDouble&, const DoubleDouble&) = default;
};

/// Types of elements. Complex types hold real and imaginary part side by side, as std::complex and NumPy do.
enum class Scalar : std::uint8_t {
  kF32,
  kF64,
  kC64,   ///< two FP32 numbers: std::complex<float>, float _Complex
  kC128,  ///< two FP64 numbers: std::complex<double>, double _Complex
  kDD,    ///< DoubleDouble
};
template <>
struct Names<Scalar> {
  static constexpr std::string_view kAll[] = {"f32", "f64", "c64", "c128", "dd"};
};
/// For real types kConjTranspose is kTranspose, and kConjugate is kNone.
enum class Op : std::uint8_t { kNone, kTranspose, kConjTranspose, kConjugate };
/// The letters of BLAS; "r" (conjugated, not transposed) is the one of OpenBLAS.
template <>
struct Names<Op> {
  static constexpr std::string_view kAll[] = {"n", "t", "c", "r"};
};
enum class Layout : std::uint8_t { kColMajor, kRowMajor };
template <>
struct Names<Layout> {
  static constexpr std::string_view kAll[] = {"col", "row"};
};
/// Which operand of C = A B a view, a statistic or a prepared operand belongs to.
enum class Side : std::uint8_t { kA, kB };
template <>
struct Names<Side> {
  static constexpr std::string_view kAll[] = {"a", "b"};
};

[[nodiscard]] constexpr bool is_transposed(Op op) noexcept { return op == Op::kTranspose || op == Op::kConjTranspose; }
[[nodiscard]] constexpr bool is_conjugated(Op op) noexcept { return op == Op::kConjTranspose || op == Op::kConjugate; }

template <class T>
inline constexpr bool kIsReal = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool kIsDoubleDouble = std::is_same_v<T, DoubleDouble>;
template <class T>
inline constexpr bool kIsScalar = kIsReal<T> || kIsComplex<T> || kIsDoubleDouble<T>;
template <class T>
requires kIsScalar<T>
inline constexpr Scalar kScalarOf = std::is_same_v<T, float>                  ? Scalar::kF32
                                    : std::is_same_v<T, double>               ? Scalar::kF64
                                    : std::is_same_v<T, std::complex<float>>  ? Scalar::kC64
                                    : std::is_same_v<T, std::complex<double>> ? Scalar::kC128
                                                                              : Scalar::kDD;

namespace detail {
template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
}  // namespace detail
/// The type of the real and imaginary part; a real type itself.
template <class T>
using RealOf = typename detail::RealOf<T>::Type;

[[nodiscard]] constexpr bool is_complex(Scalar s) noexcept { return s == Scalar::kC64 || s == Scalar::kC128; }
/// The type of the parts.
[[nodiscard]] constexpr Scalar real_of(Scalar s) noexcept {
  return s == Scalar::kC64 ? Scalar::kF32 : s == Scalar::kC128 ? Scalar::kF64 : s;
}
/// Calls f.operator()<T>() with the type of elements that `scalar` names. @range not kDD, which products take in
/// another form
template <class F>
decltype(auto) with_scalar(Scalar scalar, F&& f) {
  switch (scalar) {
    case Scalar::kF32:
      return f.template operator()<float>();
    case Scalar::kF64:
      return f.template operator()<double>();
    case Scalar::kC64:
      return f.template operator()<std::complex<float>>();
    case Scalar::kC128:
    case Scalar::kDD:
      break;
  }
  return f.template operator()<std::complex<double>>();
}

/// Significand bits of the parts, the hidden one included: 24, 53, or 106 for double-double.
[[nodiscard]] constexpr int significand_bits(Scalar s) noexcept {
  return s == Scalar::kDD ? 106 : real_of(s) == Scalar::kF32 ? 24 : 53;
}
[[nodiscard]] constexpr int size_bytes(Scalar s) noexcept {
  return (real_of(s) == Scalar::kF32 ? 4 : 8) * (is_complex(s) || s == Scalar::kDD ? 2 : 1);
}

/// alpha or beta of a call: a value, or for device calls a place in device memory that is read when the call runs
/// (cuBLAS calls that pointer mode device).
template <class T>
struct Factor {
  T value{};
  const T* device = nullptr;  ///< device memory, or null: `value` is meant

  constexpr Factor() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a number is a factor
  constexpr Factor(T x) : value(x) {}
  [[nodiscard]] static constexpr Factor at(const T* pointer) {
    Factor factor;
    factor.device = pointer;
    return factor;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr T load() const { return device == nullptr ? value : *device; }
};

/// A matrix in memory: element (i, j) lies at data[i * row_stride + j * col_stride], and is conjugated on reading if
/// is_conjugated says so.
/// @shape rows x cols. @units strides in elements, never negative. @alias the view owns nothing.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 1;
  std::int64_t col_stride = 0;
  bool is_conjugated = false;  ///< of an operand of complex type; a matrix that is written never is

  /// The element as it lies in memory.
  [[nodiscard]] constexpr T& operator()(std::int64_t i, std::int64_t j) const noexcept {
    return data[i * row_stride + j * col_stride];
  }
  /// The transpose of this view: the same memory with rows and columns exchanged.
  [[nodiscard]] constexpr MatrixView transposed() const noexcept {
    return {data, cols, rows, col_stride, row_stride, is_conjugated};
  }
  /// The same memory, conjugated once more.
  [[nodiscard]] constexpr MatrixView conjugated() const noexcept {
    return {data, rows, cols, row_stride, col_stride, !is_conjugated};
  }
  /// The rows [i, i + num_rows) and columns [j, j + num_cols) of this view.
  [[nodiscard]] constexpr MatrixView block(std::int64_t i, std::int64_t j, std::int64_t num_rows,
                                           std::int64_t num_cols) const noexcept {
    return {data + i * row_stride + j * col_stride, num_rows, num_cols, row_stride, col_stride, is_conjugated};
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a view of T is a view of const T, as T* is a const T*
  template <class U>
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) constexpr operator MatrixView<U>() const noexcept {
    return {data, rows, cols, row_stride, col_stride, is_conjugated};
  }
};

/// Views memory in BLAS terms: leading dimension ld between columns (col-major) or rows (row-major).
template <class T>
[[nodiscard]] constexpr MatrixView<T> blas_view(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                                Layout layout = Layout::kColMajor) noexcept {
  return layout == Layout::kColMajor ? MatrixView<T>{data, rows, cols, 1, ld} : MatrixView<T>{data, rows, cols, ld, 1};
}

}  // namespace kizami
