// SPDX-License-Identifier: MIT
// Where all that a call on a device reads or writes lies in one region of memory, which is copied in one piece:
//   [A, B, C of every product, each between canaries][alpha][beta][arrays of pointers]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "check/case.hpp"
#include "check/operands.hpp"

namespace kizami::cli {

/// @units bytes from the beginning of the region, which begins on a boundary of 256
template <class T>
class Region {
 public:
  explicit Region(const check::Case& spec, const check::Operands<T>& one) : num_products_(spec.num_products) {
    const std::array<std::size_t, 3> elems{one.a.guarded().size(), one.b.guarded().size(), one.c.guarded().size()};
    // The first element lies as far behind a boundary of 64 bytes as on the host.
    shift_ = static_cast<std::size_t>(spec.offset) * sizeof(T);
    for (std::size_t x = 0; x < 3; ++x) {
      firsts_[x] = bytes_;
      strides_[x] = aligned(elems[x] * sizeof(T) + shift_);
      bytes_ += strides_[x] * static_cast<std::size_t>(num_products_);
    }
    factors_ = bytes_;
    pointers_ = factors_ + kAlign;
    bytes_ = aligned(pointers_ + 3 * sizeof(void*) * static_cast<std::size_t>(num_products_));
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t factors() const { return factors_; }
  [[nodiscard]] std::size_t pointers(check::Which which) const {
    return pointers_ + static_cast<std::size_t>(which) * sizeof(void*) * static_cast<std::size_t>(num_products_);
  }
  /// Of the canaries before the matrix.
  [[nodiscard]] std::size_t guarded(check::Which which, std::int64_t product) const {
    const auto x = static_cast<std::size_t>(which);
    return firsts_[x] + strides_[x] * static_cast<std::size_t>(product) + shift_;
  }
  /// Of the first element.
  [[nodiscard]] std::size_t matrix(check::Which which, std::int64_t product) const {
    return guarded(which, product) + check::Operand<T>::kGuardElems * sizeof(T);
  }
  /// From a matrix to that of the next product. @units elements
  [[nodiscard]] std::int64_t stride(check::Which which) const {
    return static_cast<std::int64_t>(strides_[static_cast<std::size_t>(which)] / sizeof(T));
  }

 private:
  static constexpr std::size_t kAlign = 256;
  static std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

  std::int64_t num_products_;
  std::size_t shift_ = 0;
  std::array<std::size_t, 3> firsts_{}, strides_{};
  std::size_t bytes_ = 0;
  std::size_t factors_ = 0;
  std::size_t pointers_ = 0;
};

}  // namespace kizami::cli
