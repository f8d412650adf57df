// SPDX-License-Identifier: MIT
// Constants in types: integral_constant, the literal 4_ic, and dimension_map for permute.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

#include "kizami/tile/scalars.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

/// An integer as a type, for dimensions, extents and assumptions.
template <auto kValue>
requires integral<decltype(kValue)>
struct integral_constant {
  using type = integral_constant;
  using value_type = decltype(kValue);
  static constexpr value_type value = kValue;
  constexpr operator value_type() const noexcept { return kValue; }  // NOLINT(google-explicit-constructor)
  constexpr value_type operator()() const noexcept { return kValue; }
};

namespace detail {

template <class T>
inline constexpr bool kIsConstant = false;
template <auto kValue>
inline constexpr bool kIsConstant<integral_constant<kValue>> = true;

template <char... kDigits>
consteval unsigned long long parse_decimal() {
  constexpr std::array<char, sizeof...(kDigits)> kText{kDigits...};
  static_assert(
      ((kDigits == '\'' || (kDigits >= '0' && kDigits <= '9')) && ...) && (kText.size() == 1 || kText[0] != '0'),
      "an _ic literal is a decimal integer, such as 16_ic");
  unsigned long long value = 0;
  for (const char digit : kText) {
    if (digit != '\'') value = value * 10 + static_cast<unsigned long long>(digit - '0');
  }
  return value;
}

/// The constant in the first of int, long and long long that holds it.
template <unsigned long long kValue>
consteval auto narrowest() {
  static_assert(kValue <= std::numeric_limits<long long>::max(), "an _ic literal is at most 2^63 - 1");
  if constexpr (kValue <= std::numeric_limits<int>::max()) {
    return static_cast<int>(kValue);
  } else if constexpr (kValue <= std::numeric_limits<long>::max()) {
    return static_cast<long>(kValue);
  } else {
    return static_cast<long long>(kValue);
  }
}

template <std::size_t... kIndices>
consteval bool is_permutation() {
  std::array<bool, sizeof...(kIndices) + 1> seen{};
  for (const std::size_t i : {kIndices..., sizeof...(kIndices)}) {
    if (i > sizeof...(kIndices) || seen[i]) return false;
    seen[i] = true;
  }
  return true;
}

}  // namespace detail

namespace literals {
template <char... kDigits>
constexpr auto operator""_ic() noexcept {
  return integral_constant<detail::narrowest<detail::parse_decimal<kDigits...>()>()>{};
}
}  // namespace literals

// Arithmetic between constants gives constants.
#define KIZAMI_TILE_CONSTANT_OPERATOR(op)                                                                      \
  template <auto kX, auto kY>                                                                                  \
  constexpr integral_constant<(kX op kY)> operator op(integral_constant<kX>, integral_constant<kY>) noexcept { \
    return {};                                                                                                 \
  }
KIZAMI_TILE_CONSTANT_OPERATOR(+)
KIZAMI_TILE_CONSTANT_OPERATOR(-)
KIZAMI_TILE_CONSTANT_OPERATOR(*)
KIZAMI_TILE_CONSTANT_OPERATOR(/)
KIZAMI_TILE_CONSTANT_OPERATOR(%)
KIZAMI_TILE_CONSTANT_OPERATOR(&)
KIZAMI_TILE_CONSTANT_OPERATOR(|)
KIZAMI_TILE_CONSTANT_OPERATOR(^)
KIZAMI_TILE_CONSTANT_OPERATOR(<<)
KIZAMI_TILE_CONSTANT_OPERATOR(>>)
#undef KIZAMI_TILE_CONSTANT_OPERATOR
template <auto kX>
constexpr integral_constant<+kX> operator+(integral_constant<kX>) noexcept {
  return {};
}
template <auto kX>
constexpr integral_constant<-kX> operator-(integral_constant<kX>) noexcept {
  return {};
}
template <auto kX>
constexpr integral_constant<~kX> operator~(integral_constant<kX>) noexcept {
  return {};
}

/// The order of dimensions that permute() makes: dimension i of the result is dimension mapping(i) of the source.
template <std::size_t... kIndices>
struct dimension_map {
  static_assert(detail::is_permutation<kIndices...>(),
                "dimension_map: the indices must be a permutation of 0, 1, ..., rank - 1");
  constexpr dimension_map() noexcept = default;
  template <class... Ts>
  requires(sizeof...(Ts) > 0) constexpr explicit dimension_map(Ts...) noexcept {}

  static constexpr std::size_t rank() noexcept { return sizeof...(kIndices); }
  static constexpr std::size_t mapping(std::size_t i) noexcept {
    return std::array<std::size_t, sizeof...(kIndices) + 1>{kIndices...}[i];
  }
};
template <auto... kValues>
dimension_map(integral_constant<kValues>...) -> dimension_map<static_cast<std::size_t>(kValues)...>;

namespace detail {
template <class T>
inline constexpr bool kIsDimensionMap = false;
template <std::size_t... kIndices>
inline constexpr bool kIsDimensionMap<dimension_map<kIndices...>> = true;
}  // namespace detail

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
