// SPDX-License-Identifier: MIT
// One element of memory, as views and pointer tiles access it: plain stores that debug mode watches, and atomics.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kizami/tile/arithmetic.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {
namespace detail {

/// What is no atomic.
struct PlainRead {
  template <class E>
  E operator()(const E* p) const {
    return *p;
  }
};
struct PlainWrite {
  template <class E>
  void operator()(E* p, E value) const {
    *p = value;
  }
};

/// The addresses of one store call. No template, as StoreWatch is one a type.
class StoredAddresses {
 public:
  void add(const void* address, std::size_t element) { stored_.push_back({address, element}); }
  /// Elements that went to the address of another, in pairs: it, and the other.
  [[nodiscard]] std::vector<std::array<std::size_t, 2>> repeated() {
    std::sort(stored_.begin(), stored_.end());
    std::vector<std::array<std::size_t, 2>> found;
    for (std::size_t s = 1; s < stored_.size(); ++s) {
      if (stored_[s].address == stored_[s - 1].address) found.push_back({stored_[s].element, stored_[s - 1].element});
    }
    return found;
  }

 private:
  struct Stored {
    const void* address;
    std::size_t element;
    bool operator<(const Stored& other) const {
      return address != other.address ? address < other.address : element < other.element;
    }
  };
  std::vector<Stored> stored_;
};

/// In debug mode the addresses of one store call: two elements to one address, or an address that another block of the
/// launch stored to, are faults.
template <class T>
class StoreWatch {
 public:
  explicit StoreWatch(std::string_view function) : function_(function) {}

  /// Whether element i of the stored tile may go to p.
  [[nodiscard]] bool allows(const T& x, std::size_t i, const void* p) {
    if (!Access::is_defined(x, i)) {
      report_element<T>(function_, i, "the stored element is undefined");
      return false;
    }
    const std::int64_t other = note_store(p, sizeof(ElementT<T>));
    if (other >= 0) {
      std::string text("block ");
      text += block_name(other);
      text += " of this launch stores to the same address";
      report_element<T>(function_, i, text);
    }
    stored_.add(p, i);
    return true;
  }
  /// Looks for addresses that this call stored to twice.
  void finish() {
    for (const auto& [element, other] : stored_.repeated()) {
      std::string text("stored to the same address as element ");
      text += element_index<ShapeT<T>>(other);
      report_element<T>(function_, element, text);
    }
  }

 private:
  std::string_view function_;
  StoredAddresses stored_;
};

/// The compiler's word for an order.
[[nodiscard]] constexpr int builtin_order(memory_order order) noexcept {
  switch (order) {
    case memory_order::relaxed:
      return __ATOMIC_RELAXED;
    case memory_order::acquire:
      return __ATOMIC_ACQUIRE;
    case memory_order::release:
      return __ATOMIC_RELEASE;
    case memory_order::acq_rel:
      return __ATOMIC_ACQ_REL;
  }
  return __ATOMIC_SEQ_CST;
}
/// The order of the load that a read-modify-write starts with.
[[nodiscard]] constexpr int load_order(memory_order order) noexcept {
  return order == memory_order::acquire || order == memory_order::acq_rel ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
}

/// The unsigned integer as which an element is accessed atomically; std::atomic_ref would be of a type that may not
/// alias the element's.
template <std::size_t kBytes>
struct AtomicBits;
template <>
struct AtomicBits<1> {
  using Plain = std::uint8_t;
  typedef std::uint8_t __attribute__((__may_alias__)) Aliased;
};
template <>
struct AtomicBits<2> {
  using Plain = std::uint16_t;
  typedef std::uint16_t __attribute__((__may_alias__)) Aliased;
};
template <>
struct AtomicBits<4> {
  using Plain = std::uint32_t;
  typedef std::uint32_t __attribute__((__may_alias__)) Aliased;
};
template <>
struct AtomicBits<8> {
  using Plain = std::uint64_t;
  typedef std::uint64_t __attribute__((__may_alias__)) Aliased;
};
template <class E>
using PlainBits = typename AtomicBits<sizeof(E)>::Plain;

template <class E>
[[nodiscard]] E atomic_load_element(const E* p, memory_order order) noexcept {
  const PlainBits<E> bits =
      __atomic_load_n(reinterpret_cast<const typename AtomicBits<sizeof(E)>::Aliased*>(p), builtin_order(order));
  return __builtin_bit_cast(E, bits);
}
template <class E>
void atomic_store_element(E* p, E value, memory_order order) noexcept {
  __atomic_store_n(reinterpret_cast<typename AtomicBits<sizeof(E)>::Aliased*>(p),
                   __builtin_bit_cast(PlainBits<E>, value), builtin_order(order));
}
/// *p = op(*p, value); returns the old value.
template <class E, class Op>
E atomic_update(E* p, E value, const Op& op, memory_order order) noexcept {
  auto* const bits = reinterpret_cast<typename AtomicBits<sizeof(E)>::Aliased*>(p);
  PlainBits<E> old = __atomic_load_n(bits, load_order(order));
  for (;;) {
    const auto next = __builtin_bit_cast(PlainBits<E>, op(__builtin_bit_cast(E, old), value));
    if (__atomic_compare_exchange_n(bits, &old, next, true, builtin_order(order), load_order(order))) break;
  }
  return __builtin_bit_cast(E, old);
}
/// Stores value if *p has the bits of `expected`; returns the old value.
template <class E>
E atomic_compare_exchange_element(E* p, E expected, E value, memory_order order) noexcept {
  auto old = __builtin_bit_cast(PlainBits<E>, expected);
  __atomic_compare_exchange_n(reinterpret_cast<typename AtomicBits<sizeof(E)>::Aliased*>(p), &old,
                              __builtin_bit_cast(PlainBits<E>, value), false, builtin_order(order), load_order(order));
  return __builtin_bit_cast(E, old);
}

struct TakeSecond {
  template <class T>
  constexpr T operator()(T, T b) const {
    return b;
  }
};
template <bool kMax>
using IntegerExtremum = Extremum<kMax, default_nan_propagation_mode(), default_subnormals_rounding_mode()>;

template <class E>
inline constexpr bool kIsWideInteger = kIsIntegral<E> && sizeof(E) >= 4;
template <class E>
consteval bool check_atomic_integer() {
  static_assert(kIsWideInteger<E>, "this atomic operation needs integers of 32 or 64 bits");
  return kIsWideInteger<E>;
}
template <class E>
consteval bool check_atomic_add() {
  constexpr bool kAdds = kIsWideInteger<E> || kIsBasicFloat<E>;
  static_assert(kAdds,
                "atomic_add and atomic_sub need integers of 32 or 64 bits, double, float, __half or __nv_bfloat16");
  return kAdds;
}
template <class E>
consteval bool check_atomic_exchange() {
  constexpr bool kExchanges = kIsWideInteger<E> || kIsOneOf<E, float, double>;
  static_assert(kExchanges, "this atomic operation needs integers of 32 or 64 bits, float or double");
  return kExchanges;
}

}  // namespace detail
}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
