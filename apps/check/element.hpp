// SPDX-License-Identifier: MIT
// Elements of views and the parts of complex ones: what lets one loop serve real and complex types.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "kizami/types.hpp"

namespace kizami::check {

/// The part of a complex number; a real number is its own real part.
enum class Part : std::uint8_t { kReal, kImaginary };
[[nodiscard]] constexpr std::string_view to_string(Part part) noexcept {
  return part == Part::kReal ? "real part" : "imaginary part";
}

inline constexpr Part kBothParts[] = {Part::kReal, Part::kImaginary};
/// The parts that numbers of a type have.
template <class T>
inline constexpr std::span<const Part> kPartsOf{kBothParts, kIsComplex<T> ? 2U : 1U};

template <class T>
[[nodiscard]] constexpr RealOf<T> part_of(const T& x, Part part) noexcept {
  if constexpr (kIsComplex<T>) {
    return part == Part::kReal ? x.real() : x.imag();
  } else {
    return x;
  }
}

/// The number of these parts; a real type ignores the imaginary one.
template <class T>
[[nodiscard]] constexpr T from_parts(RealOf<T> re, RealOf<T> im) noexcept {
  if constexpr (kIsComplex<T>) {
    return {re, im};
  } else {
    return re;
  }
}

/// Sign of the imaginary part exchanged, other bits kept; std::conj() would make a real number complex.
template <class T>
[[nodiscard]] constexpr T conjugated_if(bool is_conjugated, const T& x) noexcept {
  if constexpr (kIsComplex<T>) {
    return is_conjugated ? T{x.real(), -x.imag()} : x;
  } else {
    return x;
  }
}

/// Element (i, j) as the view means it: conjugated if the view says so.
template <class T>
[[nodiscard]] constexpr std::remove_const_t<T> element(const MatrixView<T>& x, std::int64_t i,
                                                       std::int64_t j) noexcept {
  return conjugated_if<std::remove_const_t<T>>(x.is_conjugated, x(i, j));
}

}  // namespace kizami::check
