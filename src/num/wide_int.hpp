// SPDX-License-Identifier: MIT
// Unsigned integers of a fixed number of 64-bit limbs, least significant first: just what CRT constants and residue
// reconstruction need. Everything is constexpr; overflow wraps modulo 2^(64 * Limbs) as for built-in unsigned types.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace kizami::num {

__extension__ using uint128 = unsigned __int128;

template <int Limbs>
struct WideUint {
  std::array<std::uint64_t, Limbs> limb{};

  constexpr WideUint() = default;
  constexpr explicit WideUint(std::uint64_t low) { limb[0] = low; }
  friend constexpr bool operator==(const WideUint&, const WideUint&) = default;
};

template <int L>
[[nodiscard]] constexpr bool less(const WideUint<L>& a, const WideUint<L>& b) {
  for (int i = L - 1; i >= 0; --i) {
    if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i];
  }
  return false;
}

template <int L>
[[nodiscard]] constexpr bool is_zero(const WideUint<L>& a) {
  return a == WideUint<L>{};
}

template <int L>
[[nodiscard]] constexpr WideUint<L> add(const WideUint<L>& a, const WideUint<L>& b) {
  WideUint<L> r;
  uint128 carry = 0;
  for (int i = 0; i < L; ++i) {
    carry += static_cast<uint128>(a.limb[i]) + b.limb[i];
    r.limb[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  return r;
}

template <int L>
[[nodiscard]] constexpr WideUint<L> negate(const WideUint<L>& a) {
  WideUint<L> r;
  std::uint64_t carry = 1;
  for (int i = 0; i < L; ++i) {
    r.limb[i] = ~a.limb[i] + carry;
    carry = (carry != 0 && r.limb[i] == 0) ? 1 : 0;
  }
  return r;
}

template <int L>
[[nodiscard]] constexpr WideUint<L> sub(const WideUint<L>& a, const WideUint<L>& b) {
  return add(a, negate(b));
}

template <int L>
[[nodiscard]] constexpr WideUint<L> mul_small(const WideUint<L>& a, std::uint64_t factor) {
  WideUint<L> r;
  uint128 carry = 0;
  for (int i = 0; i < L; ++i) {
    carry += static_cast<uint128>(a.limb[i]) * factor;
    r.limb[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  return r;
}

template <int L>
struct Division {
  WideUint<L> quotient;
  std::uint64_t remainder = 0;
};

/// Divides by one limb. @range divisor > 0.
template <int L>
[[nodiscard]] constexpr Division<L> div_small(const WideUint<L>& a, std::uint64_t divisor) {
  Division<L> r;
  uint128 rest = 0;
  for (int i = L - 1; i >= 0; --i) {
    rest = (rest << 64) | a.limb[i];
    r.quotient.limb[i] = static_cast<std::uint64_t>(rest / divisor);
    rest %= divisor;
  }
  r.remainder = static_cast<std::uint64_t>(rest);
  return r;
}

template <int L>
[[nodiscard]] constexpr WideUint<L> shift_right(const WideUint<L>& a, int bits) {
  WideUint<L> r;
  const int words = bits / 64;
  const int rest = bits % 64;
  for (int i = 0; i + words < L; ++i) {
    r.limb[i] = a.limb[i + words] >> rest;
    if (rest != 0 && i + words + 1 < L) r.limb[i] |= a.limb[i + words + 1] << (64 - rest);
  }
  return r;
}

template <int L>
[[nodiscard]] constexpr WideUint<L> shift_left(const WideUint<L>& a, int bits) {
  WideUint<L> r;
  const int words = bits / 64;
  const int rest = bits % 64;
  for (int i = L - 1; i >= words; --i) {
    r.limb[i] = a.limb[i - words] << rest;
    if (rest != 0 && i > words) r.limb[i] |= a.limb[i - words - 1] >> (64 - rest);
  }
  return r;
}

/// Number of bits up to and including the highest one set; 0 for zero.
template <int L>
[[nodiscard]] constexpr int bit_width(const WideUint<L>& a) {
  for (int i = L - 1; i >= 0; --i) {
    if (a.limb[i] != 0) return 64 * i + std::bit_width(a.limb[i]);
  }
  return 0;
}

/// The largest double that is not above a, for a < 2^1023 (its leading 53 bits).
template <int L>
[[nodiscard]] constexpr double to_double_down(const WideUint<L>& a) {
  const int shift = bit_width(a) > 53 ? bit_width(a) - 53 : 0;
  double value = static_cast<double>(shift_right(a, shift).limb[0]);
  for (int i = 0; i < shift; ++i) value *= 2.0;
  return value;
}

/// Drops or adds high limbs. @range the value fits in To limbs.
template <int To, int From>
[[nodiscard]] constexpr WideUint<To> resize(const WideUint<From>& a) {
  WideUint<To> r;
  for (int i = 0; i < (To < From ? To : From); ++i) r.limb[i] = a.limb[i];
  return r;
}

}  // namespace kizami::num
