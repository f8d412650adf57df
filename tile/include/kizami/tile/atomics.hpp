// SPDX-License-Identifier: MIT
// The atomic functions on pointers and tiles of pointers. Each element is one atomic access of its own; the order
// within a call is open. Read-modify-write functions return the old elements. The scope does not matter on the host.
#pragma once

#include "kizami/tile/pointers.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

template <memory_order kOrder>
consteval bool check_read_order() {
  static_assert(read_memory_order<kOrder>, "an atomic load is relaxed or acquire");
  return read_memory_order<kOrder>;
}
template <memory_order kOrder>
consteval bool check_write_order() {
  static_assert(write_memory_order<kOrder>, "an atomic store is relaxed or release");
  return write_memory_order<kOrder>;
}

template <memory_order kOrder>
struct AtomicRead {
  template <class E>
  E operator()(const E* p) const {
    return atomic_load_element(p, kOrder);
  }
};
template <memory_order kOrder>
struct AtomicWrite {
  template <class E>
  void operator()(E* p, E value) const {
    atomic_store_element(p, value, kOrder);
  }
};
template <class Op, memory_order kOrder>
struct AtomicUpdate {
  template <class E>
  E operator()(E* p, E value) const {
    return atomic_update(p, value, Op{}, kOrder);
  }
};

}  // namespace detail

template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T>
[[nodiscard]] auto atomic_load(T pointers, memory_order_constant<kOrder> = {},
                               thread_scope_constant<kScope> = {}) noexcept {
  if constexpr (detail::check_loadable<T>() && detail::check_read_order<kOrder>()) {
    return detail::load_pointers("atomic_load", pointers, detail::NoMask{}, detail::NoMask{},
                                 detail::AtomicRead<kOrder>{});
  }
}
template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Mask>
[[nodiscard]] auto atomic_load_masked(T pointers, const Mask& mask, memory_order_constant<kOrder> = {},
                                      thread_scope_constant<kScope> = {}) noexcept {
  if constexpr (detail::check_loadable<T>() && detail::check_read_order<kOrder>()) {
    if constexpr (detail::check_mask<Mask, T>()) {
      return detail::load_pointers("atomic_load_masked", pointers, mask, detail::NoMask{},
                                   detail::AtomicRead<kOrder>{});
    }
  }
}
template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Mask,
          tile_like Padding>
[[nodiscard]] auto atomic_load_masked(T pointers, const Mask& mask, const Padding& padding,
                                      memory_order_constant<kOrder> = {}, thread_scope_constant<kScope> = {}) noexcept {
  if constexpr (detail::check_loadable<T>() && detail::check_read_order<kOrder>()) {
    if constexpr (detail::check_mask<Mask, T>() && detail::check_padding<Padding, T>()) {
      return detail::load_pointers("atomic_load_masked", pointers, mask, padding, detail::AtomicRead<kOrder>{});
    }
  }
}
template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Value>
void atomic_store(T pointers, const Value& value, memory_order_constant<kOrder> = {},
                  thread_scope_constant<kScope> = {}) noexcept {
  if constexpr (detail::check_storeable<T>() && detail::check_write_order<kOrder>()) {
    if constexpr (detail::check_stored_value<Value, T>()) {
      detail::store_pointers<true>("atomic_store", pointers, value, detail::NoMask{}, detail::AtomicWrite<kOrder>{});
    }
  }
}
template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Value,
          tile_like Mask>
void atomic_store_masked(T pointers, const Value& value, const Mask& mask, memory_order_constant<kOrder> = {},
                         thread_scope_constant<kScope> = {}) noexcept {
  if constexpr (detail::check_storeable<T>() && detail::check_write_order<kOrder>()) {
    if constexpr (detail::check_stored_value<Value, T>() && detail::check_mask<Mask, T>()) {
      detail::store_pointers<true>("atomic_store_masked", pointers, value, mask, detail::AtomicWrite<kOrder>{});
    }
  }
}

#define KIZAMI_TILE_ATOMIC(name, Op, check)                                                                           \
  template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Value>          \
  auto name(T pointers, const Value& value, memory_order_constant<kOrder> = {},                                       \
            thread_scope_constant<kScope> = {}) noexcept {                                                            \
    if constexpr (detail::check_storeable<T>()) {                                                                     \
      if constexpr (detail::check<detail::ElementT<tile_load_t<T>>>() && detail::check_stored_value<Value, T>()) {    \
        return detail::update_pointers(#name, pointers, detail::NoMask{}, detail::AtomicUpdate<detail::Op, kOrder>{}, \
                                       value);                                                                        \
      }                                                                                                               \
    }                                                                                                                 \
  }                                                                                                                   \
  template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Value,          \
            tile_like Mask>                                                                                           \
  auto name##_masked(T pointers, const Value& value, const Mask& mask, memory_order_constant<kOrder> = {},            \
                     thread_scope_constant<kScope> = {}) noexcept {                                                   \
    if constexpr (detail::check_storeable<T>()) {                                                                     \
      if constexpr (detail::check<detail::ElementT<tile_load_t<T>>>() && detail::check_stored_value<Value, T>() &&    \
                    detail::check_mask<Mask, T>()) {                                                                  \
        return detail::update_pointers(#name "_masked", pointers, mask, detail::AtomicUpdate<detail::Op, kOrder>{},   \
                                       value);                                                                        \
      }                                                                                                               \
    }                                                                                                                 \
  }
KIZAMI_TILE_ATOMIC(atomic_add, Add, check_atomic_add)
KIZAMI_TILE_ATOMIC(atomic_sub, Subtract, check_atomic_add)
KIZAMI_TILE_ATOMIC(atomic_and, BitAnd, check_atomic_integer)
KIZAMI_TILE_ATOMIC(atomic_or, BitOr, check_atomic_integer)
KIZAMI_TILE_ATOMIC(atomic_xor, BitXor, check_atomic_integer)
KIZAMI_TILE_ATOMIC(atomic_max, IntegerExtremum<true>, check_atomic_integer)
KIZAMI_TILE_ATOMIC(atomic_min, IntegerExtremum<false>, check_atomic_integer)
KIZAMI_TILE_ATOMIC(atomic_xchg, TakeSecond, check_atomic_exchange)
#undef KIZAMI_TILE_ATOMIC

/// Where the element has the bits of `expected`, stores value.
template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Expected,
          tile_like Value>
auto atomic_compare_exchange(T pointers, const Expected& expected, const Value& value,
                             memory_order_constant<kOrder> = {}, thread_scope_constant<kScope> = {}) noexcept {
  if constexpr (detail::check_storeable<T>()) {
    using E = detail::ElementT<tile_load_t<T>>;
    if constexpr (detail::check_atomic_exchange<E>() && detail::check_stored_value<Expected, T>() &&
                  detail::check_stored_value<Value, T>()) {
      return detail::update_pointers(
          "atomic_compare_exchange", pointers, detail::NoMask{},
          [](E* p, E e, E v) { return detail::atomic_compare_exchange_element(p, e, v, kOrder); }, expected, value);
    }
  }
}
template <memory_order kOrder, thread_scope kScope = default_thread_scope(), tile_like T, tile_like Expected,
          tile_like Value, tile_like Mask>
auto atomic_compare_exchange_masked(T pointers, const Expected& expected, const Value& value, const Mask& mask,
                                    memory_order_constant<kOrder> = {}, thread_scope_constant<kScope> = {}) noexcept {
  if constexpr (detail::check_storeable<T>()) {
    using E = detail::ElementT<tile_load_t<T>>;
    if constexpr (detail::check_atomic_exchange<E>() && detail::check_stored_value<Expected, T>() &&
                  detail::check_stored_value<Value, T>() && detail::check_mask<Mask, T>()) {
      return detail::update_pointers(
          "atomic_compare_exchange_masked", pointers, mask,
          [](E* p, E e, E v) { return detail::atomic_compare_exchange_element(p, e, v, kOrder); }, expected, value);
    }
  }
}

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
