// SPDX-License-Identifier: MIT
// The narrow floating-point scalars of tile code under CUDA's names: __half, __nv_bfloat16, __nv_fp8_e4m3,
// __nv_fp8_e5m2 and __nv_tf32. Where CUDA's headers are found they are CUDA's own types; otherwise they are defined
// here, with the conversions and, for the two that have it, the arithmetic of CUDA's. In either case every conversion
// that tiles make is that of kizami/formats.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kizami/formats.hpp"
#include "kizami/tile/abi.hpp"

#if defined(KIZAMI_TILE_HAS_CUDA_FORMATS)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif
#if defined(KIZAMI_TILE_HAS_CUDA_TF32)
#include <cuda_tf32.h>
#endif

namespace kizami::tile {

/// A scalar with arithmetic in format F: each operation is made in float and rounded once, which is correct rounding,
/// as float has more than twice the significand of F plus two bits. @cite Figueroa1995
template <class F>
class ArithmeticNarrow {
  static_assert(2 * F::kSignificandBits + 2 <= 24);

 public:
  ArithmeticNarrow() = default;
  constexpr ArithmeticNarrow(float x) : value_(F::from(x)) {}   // NOLINT(google-explicit-constructor): as CUDA's
  constexpr ArithmeticNarrow(double x) : value_(F::from(x)) {}  // NOLINT(google-explicit-constructor)
  template <class I>
  requires std::is_integral_v<I>
  constexpr ArithmeticNarrow(I x) : value_(F::from(static_cast<double>(x))) {}  // NOLINT(google-explicit-constructor)
  constexpr operator float() const { return value_.to_float(); }                // NOLINT(google-explicit-constructor)

  friend constexpr ArithmeticNarrow operator+(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) + float(b); }
  friend constexpr ArithmeticNarrow operator-(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) - float(b); }
  friend constexpr ArithmeticNarrow operator*(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) * float(b); }
  friend constexpr ArithmeticNarrow operator/(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) / float(b); }
  friend constexpr ArithmeticNarrow& operator+=(ArithmeticNarrow& a, ArithmeticNarrow b) { return a = a + b; }
  friend constexpr ArithmeticNarrow& operator-=(ArithmeticNarrow& a, ArithmeticNarrow b) { return a = a - b; }
  friend constexpr ArithmeticNarrow& operator*=(ArithmeticNarrow& a, ArithmeticNarrow b) { return a = a * b; }
  friend constexpr ArithmeticNarrow& operator/=(ArithmeticNarrow& a, ArithmeticNarrow b) { return a = a / b; }
  friend constexpr ArithmeticNarrow operator+(ArithmeticNarrow a) { return a; }
  friend constexpr ArithmeticNarrow operator-(ArithmeticNarrow a) {
    a.value_ = -a.value_;
    return a;
  }
  friend constexpr bool operator==(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) == float(b); }
  friend constexpr bool operator!=(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) != float(b); }
  friend constexpr bool operator<(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) < float(b); }
  friend constexpr bool operator<=(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) <= float(b); }
  friend constexpr bool operator>(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) > float(b); }
  friend constexpr bool operator>=(ArithmeticNarrow a, ArithmeticNarrow b) { return float(a) >= float(b); }

 private:
  F value_;
};

/// A scalar of an 8-bit format: conversions only, and explicit. Beyond max_finite it saturates, as CUDA's does.
template <class F>
class StorageNarrow {
 public:
  StorageNarrow() = default;
  constexpr explicit StorageNarrow(float x) : value_(F::from(x, RoundingMode::kNearestEven, Saturation::kFinite)) {}
  constexpr explicit StorageNarrow(double x) : value_(F::from(x, RoundingMode::kNearestEven, Saturation::kFinite)) {}
  template <class I>
  requires std::is_integral_v<I>
  constexpr explicit StorageNarrow(I x) : StorageNarrow(static_cast<double>(x)) {}
  constexpr explicit operator float() const { return value_.to_float(); }
  constexpr explicit operator double() const { return value_.to_double(); }

 private:
  F value_;
};

/// TF32 as an element of tiles: it can be moved and cast by tile functions, nothing else.
class OpaqueTf32 {
 public:
  OpaqueTf32() = default;

 private:
  [[maybe_unused]] std::uint32_t bits_;
};

}  // namespace kizami::tile

#if !defined(KIZAMI_TILE_HAS_CUDA_FORMATS)
using __half = kizami::tile::ArithmeticNarrow<kizami::Fp16>;
using __nv_bfloat16 = kizami::tile::ArithmeticNarrow<kizami::Bf16>;
using __nv_fp8_e4m3 = kizami::tile::StorageNarrow<kizami::Fp8E4m3>;
using __nv_fp8_e5m2 = kizami::tile::StorageNarrow<kizami::Fp8E5m2>;
#endif
#if !defined(KIZAMI_TILE_HAS_CUDA_TF32)
using __nv_tf32 = kizami::tile::OpaqueTf32;
#endif

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

/// The format whose bits a narrow scalar holds; void for every other type.
template <class T>
struct FormatOf {
  using type = void;
};
template <>
struct FormatOf<__half> {
  using type = Fp16;
};
template <>
struct FormatOf<__nv_bfloat16> {
  using type = Bf16;
};
template <>
struct FormatOf<__nv_fp8_e4m3> {
  using type = Fp8E4m3;
};
template <>
struct FormatOf<__nv_fp8_e5m2> {
  using type = Fp8E5m2;
};
template <>
struct FormatOf<__nv_tf32> {
  using type = Tf32;
};
template <class T>
using FormatOfT = typename FormatOf<std::remove_cv_t<T>>::type;

template <class T>
inline constexpr bool kIsNarrow = !std::is_void_v<FormatOfT<T>>;

static_assert(sizeof(__half) == sizeof(Fp16) && sizeof(__nv_bfloat16) == sizeof(Bf16) &&
              sizeof(__nv_fp8_e4m3) == sizeof(Fp8E4m3) && sizeof(__nv_fp8_e5m2) == sizeof(Fp8E5m2) &&
              sizeof(__nv_tf32) == sizeof(Tf32));

template <class T>
[[nodiscard]] constexpr FormatOfT<T> format_of(T x) noexcept {
  return __builtin_bit_cast(FormatOfT<T>, x);
}
template <class T>
[[nodiscard]] constexpr T from_format(FormatOfT<T> x) noexcept {
  return __builtin_bit_cast(T, x);
}

/// 8-bit formats saturate at max_finite, the others overflow to Inf.
template <class T>
inline constexpr Saturation kSaturationOf = sizeof(T) == 1 ? Saturation::kFinite : Saturation::kNone;

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
