// SPDX-License-Identifier: MIT
// Booking and carving of a workspace by the same code: run once without memory it counts bytes, run with memory it
// hands out aligned pieces. Size and layout cannot diverge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"

namespace kizami::base {

class Carver {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// Counts only: every piece is null.
  Carver() = default;
  /// Carves memory that begins on a kAlignment boundary and holds what counting said.
  explicit Carver(std::byte* memory) : memory_(memory) {}

  /// The next array of these extents. Sizes beyond what can be addressed are counted as the largest number.
  /// @range T is trivial: memory is not initialised; extents >= 0
  template <class T, class... Extents>
  [[nodiscard]] T* take(Extents... extents) {
    std::byte* const piece = memory_ == nullptr ? nullptr : memory_ + used_;
    std::size_t bytes = sizeof(T);
    ((bytes = saturating_mul(bytes, static_cast<std::size_t>(extents))), ...);
    used_ = saturating_add(used_, saturating_add(bytes, kAlignment - 1) / kAlignment * kAlignment);
    peak_ = std::max(peak_, used_);
    return reinterpret_cast<T*>(piece);
  }
  /// Gives back everything taken since `mark`, for pieces that are not alive at the same time.
  [[nodiscard]] std::size_t mark() const { return used_; }
  void rewind(std::size_t mark) { used_ = mark; }

  [[nodiscard]] std::size_t bytes() const { return peak_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace kizami::base
