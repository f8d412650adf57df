// SPDX-License-Identifier: MIT
// The tags that choose how a function rounds, what it does with subnormal numbers and NaN, in which direction a scan
// runs, and how memory is ordered: an enumeration each, a constant of it as a type, and a name for each constant.
#pragma once

#include "kizami/tile/tile.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

enum class rounding_mode : unsigned char {
  round_ties_to_even,
  round_toward_zero,
  round_toward_negative,
  round_toward_positive,
  round_approximate,  ///< fast on a GPU; on the host as round_ties_to_even
  round_full,         ///< likewise, over the full range
};
enum class subnormals_rounding_mode : unsigned char { preserve_subnormals, round_subnormals_to_zero };
enum class nan_propagation_mode : unsigned char { suppress_nan, propagate_nan };
enum class scan_direction : unsigned char { forward, backward };
enum class memory_order : unsigned char { relaxed, acquire, release, acq_rel };
enum class thread_scope : unsigned char { system, device, block };
enum class view_padding : unsigned char { zero, negative_zero, positive_inf, negative_inf, nan };

#define KIZAMI_TILE_CONSTANT(Enum)                                \
  template <Enum kValue>                                          \
  struct Enum##_constant {                                        \
    using type = Enum##_constant;                                 \
    using value_type = Enum;                                      \
    static constexpr Enum value = kValue;                         \
    constexpr operator Enum() const noexcept { return kValue; }   \
    constexpr Enum operator()() const noexcept { return kValue; } \
  };
KIZAMI_TILE_CONSTANT(rounding_mode)
KIZAMI_TILE_CONSTANT(subnormals_rounding_mode)
KIZAMI_TILE_CONSTANT(nan_propagation_mode)
KIZAMI_TILE_CONSTANT(scan_direction)
KIZAMI_TILE_CONSTANT(memory_order)
KIZAMI_TILE_CONSTANT(thread_scope)
KIZAMI_TILE_CONSTANT(view_padding)
#undef KIZAMI_TILE_CONSTANT

constexpr rounding_mode default_rounding_mode() noexcept { return rounding_mode::round_ties_to_even; }
constexpr subnormals_rounding_mode default_subnormals_rounding_mode() noexcept {
  return subnormals_rounding_mode::preserve_subnormals;
}
constexpr nan_propagation_mode default_nan_propagation_mode() noexcept { return nan_propagation_mode::suppress_nan; }
constexpr thread_scope default_thread_scope() noexcept { return thread_scope::system; }
constexpr view_padding default_view_padding() noexcept { return view_padding::zero; }

using round_ties_to_even_t = rounding_mode_constant<rounding_mode::round_ties_to_even>;
using round_toward_zero_t = rounding_mode_constant<rounding_mode::round_toward_zero>;
using round_toward_negative_t = rounding_mode_constant<rounding_mode::round_toward_negative>;
using round_toward_positive_t = rounding_mode_constant<rounding_mode::round_toward_positive>;
using round_approximate_t = rounding_mode_constant<rounding_mode::round_approximate>;
using round_full_t = rounding_mode_constant<rounding_mode::round_full>;
using default_rounding_mode_t = rounding_mode_constant<default_rounding_mode()>;

using preserve_subnormals_t = subnormals_rounding_mode_constant<subnormals_rounding_mode::preserve_subnormals>;
using round_subnormals_to_zero_t =
    subnormals_rounding_mode_constant<subnormals_rounding_mode::round_subnormals_to_zero>;
using default_subnormals_rounding_mode_t = subnormals_rounding_mode_constant<default_subnormals_rounding_mode()>;

using suppress_nan_t = nan_propagation_mode_constant<nan_propagation_mode::suppress_nan>;
using propagate_nan_t = nan_propagation_mode_constant<nan_propagation_mode::propagate_nan>;
using default_nan_propagation_mode_t = nan_propagation_mode_constant<default_nan_propagation_mode()>;

using scan_forward_t = scan_direction_constant<scan_direction::forward>;
using scan_backward_t = scan_direction_constant<scan_direction::backward>;

using memory_order_relaxed_t = memory_order_constant<memory_order::relaxed>;
using memory_order_acquire_t = memory_order_constant<memory_order::acquire>;
using memory_order_release_t = memory_order_constant<memory_order::release>;
using memory_order_acq_rel_t = memory_order_constant<memory_order::acq_rel>;

using thread_scope_system_t = thread_scope_constant<thread_scope::system>;
using thread_scope_device_t = thread_scope_constant<thread_scope::device>;
using thread_scope_block_t = thread_scope_constant<thread_scope::block>;
using default_thread_scope_t = thread_scope_constant<default_thread_scope()>;

using view_padding_zero_t = view_padding_constant<view_padding::zero>;
using view_padding_negative_zero_t = view_padding_constant<view_padding::negative_zero>;
using view_padding_positive_inf_t = view_padding_constant<view_padding::positive_inf>;
using view_padding_negative_inf_t = view_padding_constant<view_padding::negative_inf>;
using view_padding_nan_t = view_padding_constant<view_padding::nan>;
using default_view_padding_t = view_padding_constant<default_view_padding()>;

template <memory_order kOrder>
concept read_memory_order = kOrder == memory_order::relaxed || kOrder == memory_order::acquire;
template <memory_order kOrder>
concept write_memory_order = kOrder == memory_order::relaxed || kOrder == memory_order::release;

namespace detail {

template <rounding_mode kMode>
inline constexpr bool kIsPrecise = kMode <= rounding_mode::round_toward_positive;

/// Refuses modes that a function or element type does not have.
template <rounding_mode kMode, subnormals_rounding_mode kSubnormals, class E>
consteval bool check_modes() {
  constexpr bool kIsFloating = kIsBasicFloat<E>;
  constexpr bool kRounds = kIsPrecise<kMode> || std::is_same_v<E, float>;
  constexpr bool kFlushes = kSubnormals == subnormals_rounding_mode::preserve_subnormals || std::is_same_v<E, float>;
  static_assert(kIsFloating, "rounding, subnormal and NaN tags are for floating-point results only");
  static_assert(kRounds, "round_approximate and round_full are for elements of type float only");
  static_assert(kFlushes, "round_subnormals_to_zero is for elements of type float only");
  return kIsFloating && kRounds && kFlushes;
}
template <rounding_mode kMode>
consteval bool check_precise() {
  static_assert(kIsPrecise<kMode>,
                "this function takes the precise rounding modes only: ties_to_even, toward_zero, "
                "toward_negative, toward_positive");
  return kIsPrecise<kMode>;
}

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
