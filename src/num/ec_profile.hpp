// SPDX-License-Identifier: MIT
// A closer look at the range of scheme ec's FP16 form, where flags of lines (num/ec_range.hpp) refuse it: not how small
// elements are, but how large most of them are beside their mean. A line is looked at by itself, and only counted, so
// that neither an order of summation nor a processor changes the answer.
//
// With y as there, the largest of a line in [2^14, 2^15), hi = fp16(y), G = sum |y_a||y_b| over k, `budget` what range
// errors may take of G:
//   errors  A part misses 2^-25 beyond what num::ec_bound() counts, so a pair of lines misses 2^-25 (S_a + S_b), S = sum |y| of a
//           line. Subnormal parts are aligned as if they were 2^-14: 17 addends cut at 2^(-14 - 25) of the other
//           factor's part, in each step the largest of 16, thus less than their sum: 3 2^-39 17 (S_a + S_b), a factor 1
//           + 2^-8.3. Parts that were rounded up to a subnormal number are 2^-25 larger than num::ec_bound() takes them
//           for: with its 2^-8 at most, which k <= 2^20 keeps, 3 2^-8 of 2^-25 (S_a + S_b). Products of two such errors
//           are below 2^-19 of one. Together
//             E <= 2^-25 (1 + 2^-6) (S_a + S_b).
//   gauge   Let L_i be the i-th level of a line: at least i k / m of its elements have |hi| >= L_i, and so |y| >= (1 - 2^-9) L_i.
//           G is least where the largest of a meet the smallest of b [Hardy1952, theorem 368]. Then those of a from
//           place (i - 1) k / m to place i k / m, both rounded up, at least floor(k / m) of them, are L_i(a) or more,
//           and what they meet, at place k (m + 1 - i) / m of b or before, is L_{m + 1 - i}(b) or more:
//             G >= floor(k / m) (1 - 2^-9)^2 sum_i L_i(a) L_{m + 1 - i}(b),  i = 1..m.
//   So with the mean M = S / k of a line and u_i = M / L_i,
//             E / G <= 2^-25 (1 + 2^-6) (1 - 2^-9)^-2 k / floor(k / m) (1 / M_a + 1 / M_b) / sum_i 1 / (u_i(a) u_{m + 1
//             - i}(b)),
//           which grows with every 1 / M and u_i: their maxima over the lines of an operand stand for all of them.
// Elements are counted in bins of hi by its exponent and the two bits behind it; levels are lower edges of bins, and
// sums are made of upper edges, so M is an upper bound, which is all that the above asks of it. The factors and the
// FP32 roundings, fewer than 64 of 2^-24, are below 1 + 2^-5 together.
// A line of zeros has no error, one with NaN or Inf is answered elsewhere: neither has a profile.
// May not: include CUDA headers.
// @cite [Hardy1952, theorem 368]
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kizami/host_device.hpp"

namespace kizami::num {

inline constexpr int kEcLevels = 32;  ///< m
inline constexpr int kEcBins = 128;
inline constexpr std::int64_t kEcProfileMostK = std::int64_t{1} << 20;

/// The bin of an FP16 number, given its bits: the larger its magnitude, the higher.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int ec_bin(std::uint32_t bits) { return static_cast<int>(bits >> 8 & 0x7F); }

/// The least magnitude of a bin, in units of 2^-16. @range 0 <= bin <= 121: hi is at most 2^15
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t ec_bin_edge(int bin) {
  const auto fraction = static_cast<std::uint32_t>(bin % 4);
  return bin < 4 ? fraction : (4 + fraction) << (bin / 4 - 1);
}

/// What is known of a line, or of all lines of an operand: the larger, the less holds. Zeros: of no line.
struct EcProfile {
  float inverse_mean = 0;       ///< 1 / M, in units of 2^16
  float ratio[kEcLevels] = {};  ///< u_i at i - 1; infinity where L_i = 0
};

/// What the kernels of a call know of both operands.
struct EcProfiles {
  EcProfile a;
  EcProfile b;
  std::uint32_t num_done = 0;  ///< blocks that have brought their lines
  std::uint32_t holds = 0;     ///< whether FP16 holds both, once all have
};

/// How many levels have been reached by so many elements of a line, counted from the largest: those with i k <= m
/// count.
/// @range 0 <= count <= k <= kEcProfileMostK
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::uint32_t ec_levels_reached(std::uint32_t count, std::uint32_t k) {
  return count * kEcLevels / k;
}

/// The profile of a line. Both divisions are rounded to nearest.
/// @param counts of nonzero elements in each bin; what they leave of k is taken for zeros, counts[0] is not read
[[nodiscard]] inline EcProfile ec_profile(std::span<const std::uint32_t, kEcBins> counts, std::uint32_t k) {
  EcProfile profile;
  std::uint32_t above = 0;
  std::uint64_t sum = 0;
  for (int bin = kEcBins - 1; bin > 0; --bin) {
    above += counts[static_cast<std::size_t>(bin)];
    sum += std::uint64_t{counts[static_cast<std::size_t>(bin)]} * ec_bin_edge(bin + 1);
  }
  if (above == 0) return profile;
  sum += k - above;
  const float mean = static_cast<float>(sum) / static_cast<float>(k);
  profile.inverse_mean = static_cast<float>(k) / static_cast<float>(sum);
  above = 0;
  for (int bin = kEcBins - 1; bin >= 0; --bin) {
    const std::uint32_t before = ec_levels_reached(above, k);
    above = bin > 0 ? above + counts[static_cast<std::size_t>(bin)] : k;
    for (std::uint32_t i = before; i < ec_levels_reached(above, k); ++i) {
      profile.ratio[i] = mean / static_cast<float>(ec_bin_edge(bin));
    }
  }
  return profile;
}

/// Takes a line, or lines, into a profile.
inline void ec_merge(const EcProfile& other, EcProfile& profile) {
  profile.inverse_mean = std::max(profile.inverse_mean, other.inverse_mean);
  for (int i = 0; i < kEcLevels; ++i) profile.ratio[i] = std::max(profile.ratio[i], other.ratio[i]);
}

/// The limit of ec_profiles_hold() for lines of k elements; 0, with which nothing holds, if that is too few or too
/// many.
/// @range budget > 0
[[nodiscard]] inline float ec_profile_limit(double budget, std::int64_t k) {
  if (k < kEcLevels || k > kEcProfileMostK) return 0;
  const auto per_level = static_cast<double>(k / kEcLevels);
  return static_cast<float>(0x1p9 / (1.0 + 0x1p-5) * budget * per_level / static_cast<double>(k));
}

/// Whether FP16 holds operands with these profiles. What is no number does not hold: infinity times a profile of no
/// line.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool ec_profiles_hold(const EcProfile& a, const EcProfile& b, float limit) {
  float sum = 0;
  for (int i = 0; i < kEcLevels; ++i) sum += 1.0F / (a.ratio[i] * b.ratio[kEcLevels - 1 - i]);
  return a.inverse_mean + b.inverse_mean <= limit * sum;
}

}  // namespace kizami::num
