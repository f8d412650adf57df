// SPDX-License-Identifier: MIT
// What of a plan fixes bits, as one number.
#pragma once

#include <cstdint>

namespace kizami::plan {

/// FNV-1a over words.
class NumericsHash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i, word >>= 8) value_ = (value_ ^ (word & 0xFF)) * 0x100000001B3;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace kizami::plan
