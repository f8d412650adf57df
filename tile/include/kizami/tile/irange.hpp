// SPDX-License-Identifier: MIT
// irange(low, high[, step]): the integers low, low + step, ... below high, for range-based loops.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kizami/tile/promotion.hpp"

namespace kizami::tile::host::inline KIZAMI_TILE_ABI {

template <integral I>
struct irange_iterator {
  using difference_type = std::int64_t;
  using value_type = I;

  constexpr irange_iterator() noexcept = default;
  constexpr irange_iterator(I current, I step) noexcept : current_(current), step_(step) {}

  constexpr I operator*() const noexcept { return current_; }
  constexpr irange_iterator& operator++() noexcept {
    current_ = static_cast<I>(current_ + step_);
    return *this;
  }
  constexpr irange_iterator operator++(int) noexcept {
    const irange_iterator before = *this;
    ++*this;
    return before;
  }
  constexpr bool operator==(const irange_iterator& other) const noexcept { return current_ == other.current_; }
  constexpr bool operator==(I end) const noexcept { return current_ >= end; }

 private:
  I current_;
  I step_;
};

/// @range step > 0; high + step - 1 must be an I
template <integral I>
struct irange {
  static_assert(!std::is_const_v<I> && !std::is_volatile_v<I>, "irange<I>: I must not be cv-qualified");
  using iterator = irange_iterator<I>;
  using const_iterator = irange_iterator<I>;

  constexpr irange(I low, I high, I step = 1) noexcept : low_(low), high_(high), step_(step) {}

  [[nodiscard]] constexpr iterator begin() const noexcept { return {low_, step_}; }
  [[nodiscard]] constexpr I end() const noexcept { return high_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return low_ >= high_; }
  [[nodiscard]] constexpr I size() const noexcept {
    using Wide = std::conditional_t<std::is_signed_v<I>, std::int64_t, std::uint64_t>;
    return empty() ? I{0} : static_cast<I>((Wide{high_} - Wide{low_} - 1) / Wide{step_} + 1);
  }
  [[nodiscard]] constexpr I lower_bound() const noexcept { return low_; }
  [[nodiscard]] constexpr I upper_bound() const noexcept { return high_; }
  [[nodiscard]] constexpr I step() const noexcept { return step_; }

 private:
  I low_;
  I high_;
  I step_;
};
template <class T, class U>
irange(T, U) -> irange<arithmetic_tile_conversion_t<T, U>>;
template <class T, class U, class V>
irange(T, U, V) -> irange<arithmetic_tile_conversion_t<arithmetic_tile_conversion_t<T, U>, V>>;

}  // namespace kizami::tile::host::inline KIZAMI_TILE_ABI
