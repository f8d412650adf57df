// SPDX-License-Identifier: MIT
// Reductions along one dimension, which stays with extent 1, and inclusive scans. The language leaves the order of a
// reduction open; here it is pairwise (x[i] with x[i + n/2], then halves again), and in debug mode the one that
// LaunchOptions chooses. Elements are combined in their own type.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "kizami/tile/arithmetic.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <std::size_t kDim, class S, std::size_t... kDims>
auto reduced_shape(std::index_sequence<kDims...>) -> shape<(kDims == kDim ? 1 : S::static_extent(kDims))...>;
template <class T, std::size_t kDim, class E>
using Reduced = tile<E, decltype(reduced_shape<kDim, ShapeT<T>>(std::make_index_sequence<ShapeT<T>::rank()>{}))>;

template <class T, auto kDim>
consteval bool check_dimension() {
  constexpr bool kHasDim = kDim >= 0 && static_cast<std::size_t>(kDim) < ShapeT<T>::rank();
  static_assert(kHasDim, "the dimension must be below the rank of the tile");
  return kHasDim;
}

/// A tile as [outer][n][inner] around dimension kDim.
template <class T, auto kDim>
struct Slabs {
  static constexpr std::size_t kCount = ShapeT<T>::static_extent(kDim);
  static constexpr std::size_t kInner = [] {
    std::size_t inner = 1;
    for (std::size_t d = kDim + 1; d < ShapeT<T>::rank(); ++d) inner *= ShapeT<T>::static_extent(d);
    return inner;
  }();
  static constexpr std::size_t kOuter = kSize<T> / (kCount * kInner);
};

/// The order in which debug mode combines n values.
[[nodiscard]] inline std::vector<std::size_t> debug_order(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (block_context().reduction_order == ReductionOrder::kShuffled) {
    std::mt19937_64 generator(block_context().seed);
    std::shuffle(order.begin(), order.end(), generator);
  }
  return order;
}
/// Combines get(order[0]), get(order[1]), ... sequentially or pairwise, as debug mode is told.
template <class Get, class Combine>
[[nodiscard]] auto debug_combine(const std::vector<std::size_t>& order, const Get& get, const Combine& combine) {
  if (block_context().reduction_order != ReductionOrder::kPairwise) {
    auto acc = get(order[0]);
    for (std::size_t i = 1; i < order.size(); ++i) acc = combine(acc, get(order[i]));
    return acc;
  }
  using Value = decltype(get(std::size_t{0}));
  std::vector<std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value>> values;
  for (const std::size_t i : order) values.push_back(get(i));
  while (values.size() > 1) {
    const std::size_t half = values.size() / 2;
    for (std::size_t i = 0; i < half; ++i)
      values[i] = combine(static_cast<Value>(values[i]), static_cast<Value>(values[i + half]));
    if (values.size() % 2 != 0) values[0] = combine(static_cast<Value>(values[0]), static_cast<Value>(values.back()));
    values.resize(half);
  }
  return static_cast<Value>(values[0]);
}

template <class Op, auto kDim, class T>
[[nodiscard]] auto checked_reduce(std::string_view name, const Op& op, const T& x) {
  using E = ElementT<T>;
  using Result = Reduced<T, kDim, E>;
  using Slab = Slabs<T, kDim>;
  Result result;
  const std::vector<std::size_t> order = debug_order(Slab::kCount);
  for (std::size_t to = 0; to < kSize<Result>; ++to) {
    const std::size_t first = to / Slab::kInner * Slab::kCount * Slab::kInner + to % Slab::kInner;
    bool is_defined = true;
    for (std::size_t i = 0; i < Slab::kCount; ++i) {
      is_defined = is_defined && Access::is_defined(x, first + i * Slab::kInner);
    }
    if (is_defined) {
      const auto get = [&](std::size_t i) { return Access::elements(x)[first + i * Slab::kInner]; };
      Access::elements(result)[to] = debug_combine(order, get, [&](E a, E b) {
        if constexpr (requires { op.fault(a, b); }) {
          const std::string_view fault = op.fault(a, b);
          if (is_defined && !fault.empty()) report_element<Result>(name, to, fault);  // what follows is of its making
          is_defined = is_defined && fault.empty();
        }
        return op(a, b);
      });
    } else {
      Access::elements(result)[to] = E{};
    }
    Access::set_defined(result, to, is_defined);
  }
  return result;
}

/// Combines the elements along kDim by op. @shape extent 1 at kDim
template <class Op, auto kDim, class T>
[[nodiscard]] auto reduce(std::string_view name, const T& x) noexcept {
  using E = ElementT<T>;
  using Slab = Slabs<T, kDim>;
  constexpr Op kOp{};
  if constexpr (kDebug) {
    return checked_reduce<Op, kDim>(name, kOp, x);
  } else {
    Reduced<T, kDim, E> result;
    constexpr std::size_t kHalf = Slab::kCount / 2 * Slab::kInner;
    TileStorage<E, (kHalf > 0 ? kHalf : 1)> partial;
    for (std::size_t outer = 0; outer < Slab::kOuter; ++outer) {
      const E* const slab = Access::elements(x) + outer * Slab::kCount * Slab::kInner;
      E* const to = Access::elements(result) + outer * Slab::kInner;
      if constexpr (Slab::kCount == 1) {
        std::copy_n(slab, Slab::kInner, to);
      } else {
        for (std::size_t i = 0; i < kHalf; ++i) partial.elements[i] = kOp(slab[i], slab[i + kHalf]);
        for (std::size_t half = kHalf / 2; half >= Slab::kInner; half /= 2) {
          for (std::size_t i = 0; i < half; ++i)
            partial.elements[i] = kOp(partial.elements[i], partial.elements[i + half]);
        }
        std::copy_n(partial.elements, Slab::kInner, to);
      }
    }
    return result;
  }
}

/// Running combination along kDim.
template <class Op, auto kDim, scan_direction kDirection, class T>
[[nodiscard]] T scan(std::string_view name, const T& x) noexcept {
  using Slab = Slabs<T, kDim>;
  constexpr Op kOp{};
  T result;
  for (std::size_t first = 0; first < kSize<T>; ++first) {
    if (first / Slab::kInner % Slab::kCount != 0) continue;
    for (std::size_t step = 0; step < Slab::kCount; ++step) {
      const bool is_forward = kDirection == scan_direction::forward;
      const std::size_t i = first + (is_forward ? step : Slab::kCount - 1 - step) * Slab::kInner;
      const std::size_t before = is_forward ? i - Slab::kInner : i + Slab::kInner;
      auto* const to = Access::elements(result);
      const auto value = Access::elements(x)[i];
      if constexpr (kDebug) {
        bool is_defined = Access::is_defined(x, i) && (step == 0 || Access::is_defined(result, before));
        to[i] = value;
        if (is_defined && step != 0) {
          if constexpr (requires { kOp.fault(value, value); }) {
            const std::string_view fault = kOp.fault(to[before], value);
            if (!fault.empty()) report_element<T>(name, i, fault);
            is_defined = fault.empty();
          }
          to[i] = kOp(to[before], value);
        }
        Access::set_defined(result, i, is_defined);
      } else {
        to[i] = step == 0 ? value : kOp(to[before], value);
      }
    }
  }
  return result;
}

template <class T>
consteval bool check_reducible() {
  static_assert(arithmetic_tile<T>, "this reduction needs integers, double, float, __half or __nv_bfloat16");
  return arithmetic_tile<T>;
}

struct LogicalAnd {
  constexpr bool operator()(bool a, bool b) const { return a && b; }
};
struct LogicalOr {
  constexpr bool operator()(bool a, bool b) const { return a || b; }
};

}  // namespace detail

/// T with extent 1 at dimension kDim.
template <tile_like T, std::size_t kDim>
requires(kDim < tile_rank_v<T>) using reduction_result_t = detail::Reduced<T, kDim, detail::ElementT<T>>;

// ---- sum, prod, partial_sum, partial_prod ---------------------------------------------------------------------------

#define KIZAMI_TILE_REDUCTION(name, partial_name, Op)                                                                 \
  template <auto kDim, tile_like T>                                                                                   \
  [[nodiscard]] auto name(const T& x, integral_constant<kDim> = {}) noexcept {                                        \
    if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>()) {                               \
      return detail::reduce<detail::Op, kDim>(#name, x);                                                              \
    }                                                                                                                 \
  }                                                                                                                   \
  template <auto kDim, rounding_mode kMode = default_rounding_mode(),                                                 \
            subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T>                   \
  [[nodiscard]] auto name(const T& x, integral_constant<kDim>, rounding_mode_constant<kMode>,                         \
                          subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {                             \
    if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>() &&                               \
                  detail::check_precise<kMode>() && detail::check_modes<kMode, kSubnormals, detail::ElementT<T>>()) { \
      using Rounded = detail::Rounded<detail::Op, RoundedOperation::k##Op, kMode, kSubnormals>;                       \
      return detail::reduce<Rounded, kDim>(#name, x);                                                                 \
    }                                                                                                                 \
  }                                                                                                                   \
  template <auto kDim, scan_direction kDirection = scan_direction::forward, tile_like T>                              \
  [[nodiscard]] T partial_name(const T& x, integral_constant<kDim> = {},                                              \
                               scan_direction_constant<kDirection> = {}) noexcept {                                   \
    if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>()) {                               \
      return detail::scan<detail::Op, kDim, kDirection>(#partial_name, x);                                            \
    }                                                                                                                 \
  }                                                                                                                   \
  template <auto kDim, rounding_mode kMode = default_rounding_mode(),                                                 \
            subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(),                                \
            scan_direction kDirection = scan_direction::forward, tile_like T>                                         \
  [[nodiscard]] T partial_name(const T& x, integral_constant<kDim>, rounding_mode_constant<kMode>,                    \
                               subnormals_rounding_mode_constant<kSubnormals> = {},                                   \
                               scan_direction_constant<kDirection> = {}) noexcept {                                   \
    if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>() &&                               \
                  detail::check_precise<kMode>() && detail::check_modes<kMode, kSubnormals, detail::ElementT<T>>()) { \
      using Rounded = detail::Rounded<detail::Op, RoundedOperation::k##Op, kMode, kSubnormals>;                       \
      return detail::scan<Rounded, kDim, kDirection>(#partial_name, x);                                               \
    }                                                                                                                 \
  }
KIZAMI_TILE_REDUCTION(sum, partial_sum, Add)
KIZAMI_TILE_REDUCTION(prod, partial_prod, Multiply)
#undef KIZAMI_TILE_REDUCTION

// ---- extrema --------------------------------------------------------------------------------------------------------

#define KIZAMI_TILE_REDUCTION(name, kMax)                                                                    \
  template <auto kDim, tile_like T>                                                                          \
  [[nodiscard]] auto name(const T& x, integral_constant<kDim> = {}) noexcept {                               \
    if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>()) {                      \
      using Op = detail::Extremum<kMax, default_nan_propagation_mode(), default_subnormals_rounding_mode()>; \
      return detail::reduce<Op, kDim>(#name, x);                                                             \
    }                                                                                                        \
  }                                                                                                          \
  template <auto kDim, nan_propagation_mode kNan = default_nan_propagation_mode(),                           \
            subnormals_rounding_mode kSubnormals = default_subnormals_rounding_mode(), tile_like T>          \
  [[nodiscard]] auto name(const T& x, integral_constant<kDim>, nan_propagation_mode_constant<kNan>,          \
                          subnormals_rounding_mode_constant<kSubnormals> = {}) noexcept {                    \
    if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>() &&                      \
                  detail::check_modes<default_rounding_mode(), kSubnormals, detail::ElementT<T>>()) {        \
      return detail::reduce<detail::Extremum<kMax, kNan, kSubnormals>, kDim>(#name, x);                      \
    }                                                                                                        \
  }
KIZAMI_TILE_REDUCTION(reduce_max, true)
KIZAMI_TILE_REDUCTION(reduce_min, false)
#undef KIZAMI_TILE_REDUCTION

namespace detail {

/// Index along kDim of the first largest (kMax) or smallest element; NaN loses to every number.
template <bool kMax, auto kDim, class T>
[[nodiscard]] auto extremum_index(const T& x) noexcept {
  using Slab = Slabs<T, kDim>;
  Reduced<T, kDim, typename T::index_type> result;
  for (std::size_t to = 0; to < kSize<decltype(result)>; ++to) {
    const std::size_t first = to / Slab::kInner * Slab::kCount * Slab::kInner + to % Slab::kInner;
    std::size_t best = 0;
    bool is_defined = true;
    for (std::size_t i = 0; i < Slab::kCount; ++i) {
      const std::size_t from = first + i * Slab::kInner;
      is_defined = is_defined && Access::is_defined(x, from);
      const auto value = scalar_cast<WorkingT<ElementT<T>>>(Access::elements(x)[from]);
      const auto champion = scalar_cast<WorkingT<ElementT<T>>>(Access::elements(x)[first + best * Slab::kInner]);
      const bool is_better = kMax ? value > champion : value < champion;
      if (is_better || (champion != champion && value == value)) best = i;
    }
    Access::elements(result)[to] = static_cast<typename T::index_type>(best);
    Access::set_defined(result, to, is_defined);
  }
  return result;
}

}  // namespace detail

/// The index of the largest element along kDim, the first of equals.
template <auto kDim, tile_like T>
[[nodiscard]] auto max_element(const T& x, integral_constant<kDim> = {}) noexcept {
  if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>()) {
    return detail::extremum_index<true, kDim>(x);
  }
}
/// The index of the smallest element along kDim, the first of equals.
template <auto kDim, tile_like T>
[[nodiscard]] auto min_element(const T& x, integral_constant<kDim> = {}) noexcept {
  if constexpr (detail::check_reducible<T>() && detail::check_dimension<T, kDim>()) {
    return detail::extremum_index<false, kDim>(x);
  }
}

// ---- bits and logic -------------------------------------------------------------------------------------------------

#define KIZAMI_TILE_REDUCTION(name, Op)                                        \
  template <auto kDim, tile_like T>                                            \
  [[nodiscard]] auto name(const T& x, integral_constant<kDim> = {}) noexcept { \
    static_assert(integral_tile<T>, "this operation needs integer elements");  \
    if constexpr (integral_tile<T> && detail::check_dimension<T, kDim>()) {    \
      return detail::reduce<detail::Op, kDim>(#name, x);                       \
    }                                                                          \
  }
KIZAMI_TILE_REDUCTION(reduce_bitand, BitAnd)
KIZAMI_TILE_REDUCTION(reduce_bitor, BitOr)
KIZAMI_TILE_REDUCTION(reduce_bitxor, BitXor)
#undef KIZAMI_TILE_REDUCTION

#define KIZAMI_TILE_REDUCTION(name, Op)                                                                            \
  template <auto kDim, tile_like T>                                                                                \
  [[nodiscard]] auto name(const T& x, integral_constant<kDim> = {}) noexcept {                                     \
    if constexpr (detail::check_dimension<T, kDim>()) {                                                            \
      using Bools = tile_with_element_t<T, bool>;                                                                  \
      return detail::reduce<detail::Op, kDim>(#name,                                                               \
                                              detail::map<Bools>(                                                  \
                                                  #name, [](auto e) { return detail::scalar_cast<bool>(e); }, x)); \
    }                                                                                                              \
  }
KIZAMI_TILE_REDUCTION(all_of, LogicalAnd)
KIZAMI_TILE_REDUCTION(any_of, LogicalOr)
#undef KIZAMI_TILE_REDUCTION

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
