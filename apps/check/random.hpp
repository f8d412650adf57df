// SPDX-License-Identifier: MIT
// Random bits by address, and elementary functions whose bits do not depend on the machine.
//   bits = Philox4x32-10(counter = (i, j, stream, draw), key = seed)   (Salmon, Moraes, Dror and Shaw, SC 2011)
// No state, no order: element (i, j) of a matrix is the same whoever computes it, in whatever order. The functions use
// only
// +, -, *, / and sqrt on double, which IEEE 754 rounds in one way; they must be compiled without contraction, and
// their golden values are tested. libm is used only where it is exact (ldexp, floor).
#pragma once

#include <array>
#include <cstdint>

namespace kizami::check {

/// Philox4x32 with 10 rounds: a bijection of the counter for each key.
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key) noexcept;

/// The sequence of random bits that belongs to one address.
/// @range i, j < 2^32; at most 2^33 draws.
class AddressedRandom {
 public:
  AddressedRandom(std::uint64_t seed, std::uint32_t stream, std::int64_t i, std::int64_t j) noexcept;

  /// 64 fresh uniform bits.
  [[nodiscard]] std::uint64_t bits() noexcept;
  /// An integer uniform in [0, n) up to a bias below n 2^-64. @range n >= 1
  [[nodiscard]] std::uint64_t below(std::uint64_t n) noexcept;
  /// A multiple of 2^-num_bits, uniform in [0, 1). @range 1 <= num_bits <= 53
  [[nodiscard]] double uniform(int num_bits) noexcept;
  /// +1 or -1.
  [[nodiscard]] double sign() noexcept;
  /// Standard normal by Marsaglia's polar method [Knuth1997, section 3.4.1, algorithm P].
  [[nodiscard]] double normal() noexcept;

 private:
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> block_{};
  int next_ = 4;
};

/// Natural logarithm, relative error below 2^-50, the same bits everywhere. @range x > 0, finite, normal
[[nodiscard]] double portable_log(double x) noexcept;
/// Exponential, relative error below 2^-50, the same bits everywhere. @range |x| <= 700
[[nodiscard]] double portable_exp(double x) noexcept;

}  // namespace kizami::check
