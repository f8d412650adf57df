// SPDX-License-Identifier: MIT
// The loop under every elementwise function: result[i] = f(x[i], y[i], ...), each operand broadcast to the result's
// shape. In debug mode an element is defined where all operands are, and f may refuse operands by a member fault().
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "kizami/tile/faults.hpp"
#include "kizami/tile/promotion.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <class T>
inline constexpr std::size_t kSize = shape_size_v<ShapeT<T>>;

/// Steps in T's elements for one step along each dimension of S, to which T broadcasts: 0 where it is stretched.
template <class S, class T>
consteval auto broadcast_strides() {
  std::array<std::size_t, S::rank() + 1> strides{};
  std::size_t step = 1;
  for (std::size_t d = T::rank(); d-- > 0;) {
    strides[S::rank() - T::rank() + d] = T::static_extent(d) == 1 ? 0 : step;
    step *= T::static_extent(d);
  }
  return strides;
}

/// Calls body(i, j, k, ...) for every element i of shape S in row-major order, with the elements j, k, ... of shapes Ts
/// that broadcasting pairs with it.
template <class S, class... Ts, class Body>
constexpr void for_each_broadcast(const Body& body) {
  constexpr std::size_t kCount = shape_size_v<S>;
  if constexpr (((shape_size_v<Ts> == kCount || shape_size_v<Ts> == 1) &&
                 ...)) {  // no stretching but of single elements
    for (std::size_t i = 0; i < kCount; ++i) body(i, (shape_size_v<Ts> == 1 ? 0 : i)...);
  } else {
    constexpr std::size_t kRank = S::rank();
    constexpr std::size_t kInner = S::static_extent(kRank - 1);
    constexpr std::array<std::array<std::size_t, kRank + 1>, sizeof...(Ts)> kStrides{broadcast_strides<S, Ts>()...};
    for (std::size_t outer = 0; outer < kCount; outer += kInner) {
      std::array<std::size_t, sizeof...(Ts)> start{};
      std::size_t rest = outer / kInner;
      for (std::size_t d = kRank - 1; d-- > 0;) {
        const std::size_t at = rest % S::static_extent(d);
        rest /= S::static_extent(d);
        for (std::size_t t = 0; t < sizeof...(Ts); ++t) start[t] += at * kStrides[t][d];
      }
      for (std::size_t inner = 0; inner < kInner; ++inner) {
        [&]<std::size_t... kTs>(std::index_sequence<kTs...>) {
          body(outer + inner, (start[kTs] + inner * kStrides[kTs][kRank - 1])...);
        }
        (std::index_sequence_for<Ts...>{});
      }
    }
  }
}

/// Applies f element by element. `name` is what debug messages call the operation.
/// @shape R: the broadcast shape of all xs, or a scalar if all are.
template <class R, class F, class... Xs>
[[nodiscard]] constexpr R map(std::string_view name, const F& f, const Xs&... xs) {
  static_cast<void>(name);
  R result;
  for_each_broadcast<ShapeT<R>, ShapeT<Xs>...>([&](std::size_t i, auto... is) {
    if constexpr (kDebug) {
      if (!(Access::is_defined(xs, is) && ...)) {
        Access::elements(result)[i] = ElementT<R>{};
        Access::set_defined(result, i, false);
        return;
      }
      bool is_fine = true;
      if constexpr (requires { f.fault(Access::elements(xs)[is]...); }) {
        const std::string_view fault = f.fault(Access::elements(xs)[is]...);
        if (!fault.empty()) report_element<R>(name, i, fault);
        is_fine = fault.empty();
      }
      Access::elements(result)[i] = f(Access::elements(xs)[is]...);
      Access::set_defined(result, i, is_fine);
    } else {
      Access::elements(result)[i] = f(Access::elements(xs)[is]...);
    }
  });
  return result;
}

/// f after the conversion of its operands to C.
template <class F, class C>
struct OnCommon {
  F f;
  template <class... Xs>
  constexpr auto operator()(Xs... xs) const {
    return f(scalar_cast<C>(xs)...);
  }
  template <class... Xs>
  constexpr std::string_view fault(Xs... xs) const requires requires(F g, C c) {
    g.fault((static_cast<void>(xs), c)...);
  }
  { return f.fault(scalar_cast<C>(xs)...); }
};

template <class To, class From>
constexpr To convert_tile(const From& from) noexcept {
  return map<To>(
      "conversion", [](auto x) { return scalar_cast<ElementT<To>>(x); }, from);
}
template <class To, class From>
constexpr To only_element(const From& from) noexcept {
  require_defined("conversion to a scalar", from, 0);
  return scalar_cast<To>(Access::elements(from)[0]);
}

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
