// SPDX-License-Identifier: MIT
// The ladder of scheme ozaki2 and the choice of a rung, as pure functions of integers and a few IEEE operations without
// contraction: CPU and GPU climb to the same rung, and the rung fixes the bits.
//
// A rung is a number of moduli N. A pair of lines (i, j) is *certified* at a rung if its truncation error provably
// stays within the budget relative to (|A||B|)_ij. Certification is monotone in N. For each pair the certificate finds
// the first rung that certifies it; a histogram over all pairs is all that select() sees.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kizami/host_device.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"

namespace kizami::num {

inline constexpr int kMaxRungs = 12;

/// One rung: a number of moduli and what follows from it for a given k and accuracy.
struct Rung {
  int num_moduli = 0;
  std::uint64_t limit_mantissa = 0;  ///< T = U^2 = limit_mantissa 2^limit_exponent, rounded down; see scale_bits()
  int limit_exponent = 0;
  double norm_limit = 0;  ///< U, a lower bound
  float allowance = 0;    ///< see is_certified() and certified_allowance()

  friend constexpr bool operator==(const Rung&, const Rung&) = default;
};

/// A pair above the chosen rung is recomputed in FP64 arithmetic; a rung leaves at most 1/4096 of the pairs to that, of
/// accuracy native 1/16384, or 1/512 where no rung does better.
inline constexpr int kRepairShift = 12;
inline constexpr int kNativeRepairShift = 14;
inline constexpr int kMostRepairShift = 9;

/// The rungs that a call may take, of rising numbers of moduli.
struct Ladder {
  std::array<Rung, kMaxRungs> rungs{};
  int num_rungs = 0;
  bool may_equilibrate = false;
  int repair_shift = kRepairShift;  ///< a rung leaves at most 2^-repair_shift of the pairs to repairs

  friend constexpr bool operator==(const Ladder&, const Ladder&) = default;
};

/// The largest t with (2^t ||x||_2 2^-exponent)^2 <= T, from the fixed-point sum of squares: 4^t sum 2^-28 <= T.
/// Line scaling is then s = t - exponent, a' = rint(x 2^s), |a'| < 2^(t + 1).
/// @range sum_squares > 0; limit_mantissa in [2^52, 2^53)
/// @cite KT2026; integer threshold instead of a floating logarithm
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int scale_bits(const Rung& rung, std::uint64_t sum_squares) {
  // Compare sum 4^t with M 2^e, e = limit_exponent + 28, on sum normalised to 53 significant bits, rounded up.
  int sum_exponent = 11 - count_leading_zeros(sum_squares);
  std::uint64_t sum = sum_squares;
  if (sum_exponent > 0) {
    sum = ((sum - 1) >> sum_exponent) + 1;
    if (sum == std::uint64_t{1} << 53) {
      sum >>= 1;
      ++sum_exponent;
    }
  } else {
    sum <<= -sum_exponent;
  }
  // sum 2^(sum_exponent + 2t) <= M 2^e  <=>  2t <= e - sum_exponent, minus one if sum > M.
  const int e = rung.limit_exponent + 2 * kSquareBits - sum_exponent - (sum > rung.limit_mantissa ? 1 : 0);
  return e >= 0 ? e / 2 : -((1 - e) / 2);
}

/// First rung at which a line consists of multiples of its quantum, so that splitting it is exact; num_rungs if at
/// none.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int first_exact_rung(const Ladder& ladder, const LineStats& line) {
  if (line.is_zero()) return 0;
  for (int r = 0; r < ladder.num_rungs; ++r) {
    if (scale_bits(ladder.rungs[r], line.sum_squares) >= span_bits(line)) return r;
  }
  return ladder.num_rungs;
}

/// What splitting a line at a rung costs, in units of its quantum 2^-s: a' = rint(a 2^s).
struct LineError {
  double norm1 = 0;       ///< >= ||a 2^s||_1
  bool is_exact = false;  ///< the line consists of multiples of its quantum
};

[[nodiscard]] KIZAMI_HOST_DEVICE inline LineError line_error(const Rung& rung, const LineStats& line) {
  if (line.is_zero()) return {0.0, true};
  const int bits = scale_bits(rung, line.sum_squares);
  return {std::ldexp(static_cast<double>(line.sum_abs) * (1.0 + 0x1p-50), bits - kAbsBits), bits >= span_bits(line)};
}

/// The smallest float not below x. @range 0 <= x < 2^127
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr float round_up_to_float(double x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) >= x) return nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) + 1);
}

// ---- ordered sums of blocks -----------------------------------------------------------------------------------------

/// Elements of a line that share one scale in the block digits: their products are one term of a sum.
inline constexpr std::int64_t kDigitBlock = 64;
/// Sums of so many blocks are added to those before them, so that no sum is longer.
inline constexpr std::int64_t kSegmentBlocks = std::int64_t{1} << 14;

/// gamma: the relative error of the FP32 sum of the non-negative terms of all blocks, one after another, each addition
/// rounded to nearest. A term goes through at most B' additions, B' = blocks of a segment and further segments, and
/// (1 + 2^-24)^B' - 1 <= 2 B' 2^-24.
/// @range num_terms <= kMaxLineLength; the result is at most 2^-8
[[nodiscard]] constexpr double block_sum_error(std::int64_t num_terms) {
  const std::int64_t blocks = (num_terms + kDigitBlock - 1) / kDigitBlock;
  const std::int64_t roundings = blocks < kSegmentBlocks ? blocks : kSegmentBlocks + blocks / kSegmentBlocks;
  return static_cast<double>(roundings) * 0x1p-23;
}

/// What of an allowance D / (|a|.|b|) is left where is_certified() compares D with an ordered sum of blocks: lowered by
/// gamma, by 2^-20 for the FP32 operations there, and rounded down.
/// @range 0 <= allowance
[[nodiscard]] constexpr float certified_allowance(double allowance, std::int64_t num_terms) {
  const double lowered = allowance * (1.0 - 0x1p-20) * (1.0 - block_sum_error(num_terms)) * (1.0 - 0x1p-22);
  return lowered < 0x1p100 ? static_cast<float>(lowered) : 0x1p100F;
}

/// The allowance of a sampled sum, given that of the block sums: so much lower that block sums certify every pair that
/// a sampled sum does, whatever their roundings (docs/accuracy/certificate.md, theorem 2).
[[nodiscard]] constexpr float sampled_allowance(float allowance, std::int64_t num_terms) {
  return static_cast<float>(static_cast<double>(allowance) * (1.0 - 2.0 * block_sum_error(num_terms) - 0x1p-20) *
                            (1.0 - 0x1p-22));
}

// ---- pairs of lines -------------------------------------------------------------------------------------------------

/// A line as the certificate sees it: norms relative to 2^exponent, rounded up.
struct LineWeight {
  float norm2 = 0;     ///< >= ||x||_2 2^-exponent
  float norm1 = 0;     ///< >= ||x||_1 2^-exponent, and >= norm2: is_certified() rests on it
  int exact_rung = 0;  ///< first_exact_rung()
};

/// All but the exact rung.
[[nodiscard]] KIZAMI_HOST_DEVICE inline LineWeight line_norms(const LineStats& line) {
  LineWeight w;
  // Conversion to double and sqrt round to nearest: 2^-50 covers both.
  constexpr double kUp = 1.0 + 0x1p-50;
  w.norm2 = round_up_to_float(std::sqrt(static_cast<double>(line.sum_squares) * kUp) * 0x1p-14 * kUp);
  // Squares are rounded up to 14 bits, magnitudes to 20: for a line of few elements norm2 may come out the larger one.
  const float norm1 = round_up_to_float(static_cast<double>(line.sum_abs) * 0x1p-20 * kUp);
  w.norm1 = norm1 < w.norm2 ? w.norm2 : norm1;
  return w;
}
static_assert(kSquareBits == 14 && kAbsBits == 20);

[[nodiscard]] KIZAMI_HOST_DEVICE inline LineWeight line_weight(const Ladder& ladder, const LineStats& line) {
  LineWeight w = line_norms(line);
  w.exact_rung = first_exact_rung(ladder, line);
  return w;
}

/// The same at one rung.
struct RungWeight {
  float error = 0;  ///< LineWeight::norm2 of a line that the rung does not split exactly, else 0
  float norm1 = 0;

  friend constexpr bool operator==(const RungWeight&, const RungWeight&) = default;
};
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr RungWeight weight_at(const LineWeight& line, int r) {
  return {r < line.exact_rung ? line.norm2 : 0.0F, line.norm1};
}
/// weight_at() of a rung that stands alone.
[[nodiscard]] KIZAMI_HOST_DEVICE inline RungWeight rung_weight(const Rung& rung, const LineStats& line) {
  const LineWeight w = line_norms(line);
  const bool is_exact = line.is_zero() || scale_bits(rung, line.sum_squares) >= span_bits(line);
  return {is_exact ? 0.0F : w.norm2, w.norm1};
}

/// True if a rung of this allowance certifies the pair: ||a||_2 ||b||_1 [a inexact] + ||b||_2 ||a||_1 [b inexact] <=
/// allowance l, where l = product_floor is (|a|.|b|) 2^-(exponent_a + exponent_b) from below, but for what the
/// allowance is lowered by. The second-order term of num::pair_allowance(), k ||a||_2 ||b||_2 / U^2, is covered because
/// norm2 <= norm1 on both sides.
/// @exact the FP32 operations err by at most 2^-22 relative in all; Rung::allowance is lowered by 2^-20.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_certified(float allowance, const RungWeight& a, const RungWeight& b,
                                                             float product_floor) {
  return a.error * b.norm1 + b.error * a.norm1 <= allowance * product_floor;
}
/// The same for rung r of a ladder.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_certified(const Ladder& ladder, int r, const LineWeight& a,
                                                             const LineWeight& b, float product_floor) {
  return is_certified(ladder.rungs[r].allowance, weight_at(a, r), weight_at(b, r), product_floor);
}

/// is_certified() by a few operations of which none converts, for integer sums: a margin that is not negative says that it holds; one that is
/// negative says nothing. The sum lacks its last 9 bits.
/// @exact never more than is_certified(): here and there the operations err by less than 2^-20 relative in all, and the allowance lacks 2^-18 of itself.
class QuickLook {
 public:
  /// @range allowance 0 or at least 2^-100
  KIZAMI_HOST_DEVICE explicit constexpr QuickLook(float allowance)
      : of_unit_((allowance < 0x1p60F ? allowance : 0x1p60F) * (1.0F - 0x1p-18F) * (1 << kDropped)),
        of_bias_(of_unit_ * -0x1p23F) {}

  /// @range 0 <= sum; weights are finite
  [[nodiscard]] KIZAMI_HOST_DEVICE float margin(const RungWeight& a, const RungWeight& b, std::int32_t sum) const {
    // 2^23 + (sum >> kDropped): the exponent of 2^23 comes in front of the sum, in one shift of two words.
    constexpr std::uint64_t kExponent = std::uint64_t{127 + 23} << 32;
    static_assert(32 - kDropped == 23);
    const auto shifted =
        std::bit_cast<float>(static_cast<std::uint32_t>((kExponent | static_cast<std::uint32_t>(sum)) >> kDropped));
    const float allowed = std::fma(shifted, of_unit_, of_bias_);
    return std::fma(-a.norm1, b.error, std::fma(-a.error, b.norm1, allowed));
  }

 private:
  static constexpr int kDropped = 9;
  float of_unit_;  ///< of 2^kDropped of a sum
  float of_bias_;
};

/// First rung that certifies the pair; num_rungs if none does.
[[nodiscard]] KIZAMI_HOST_DEVICE inline int first_certified_rung(const Ladder& ladder, const LineWeight& a,
                                                                 const LineWeight& b, float product_floor) {
  int r = 0;
  while (r < ladder.num_rungs && !is_certified(ladder, r, a, b, product_floor)) ++r;
  return r;
}

/// What must be left of the spread ||a|| ||b|| / (|A||B|) that the lowest rung allows where it is divided by the stride of a long sample, whose sum is
/// so much smaller than that of all terms.
inline constexpr double kSampledSpread = 4.0;
/// Stride of the elements that the sampled certificate looks at: every one up to 127 real terms, every second up to
/// 1023, else every fourth; every 8th or 16th where 512 terms and kSampledSpread are left.
/// @param allowance of the lowest rung   @return a power of two
/// @exact any stride proves the same: docs/accuracy/certificate.md, theorem 2
[[nodiscard]] constexpr std::int64_t sample_stride(float allowance, std::int64_t num_terms) {
  if (num_terms < 1024) return num_terms < 128 ? 1 : 2;
  constexpr std::int64_t kLongest = 16;
  constexpr std::int64_t kFewest = 512;
  const double spread_squared =  // an allowance of 2 sqrt(K) is a spread of 1
      static_cast<double>(allowance) * static_cast<double>(allowance) / (4.0 * static_cast<double>(num_terms));
  std::int64_t stride = 4;
  while (stride < kLongest && num_terms / (2 * stride) >= kFewest) {
    const double wanted = kSampledSpread * static_cast<double>(2 * stride);
    if (spread_squared < wanted * wanted) break;
    stride *= 2;
  }
  return stride;
}
/// Terms that are sampled.
[[nodiscard]] constexpr std::int64_t num_sampled_terms(std::int64_t length, std::int64_t terms_per_element,
                                                       std::int64_t stride) {
  return (length + stride - 1) / stride * terms_per_element;
}

/// Number of pairs by their first certified rung; [num_rungs] counts those that no rung certifies.
struct RungHistogram {
  std::array<std::int64_t, kMaxRungs + 1> pairs{};

  friend constexpr bool operator==(const RungHistogram&, const RungHistogram&) = default;
};

/// What the splits and the certificate have seen of one call.
struct Statistics {
  std::int64_t num_pairs = 0;     ///< m n
  RungHistogram plain;            ///< operands as given
  bool has_equilibrated = false;  ///< whether `equilibrated` was gathered
  RungHistogram equilibrated;     ///< after the power-of-two rescaling of the inner index
};

/// Moduli that equilibration must save to be worth its second pass over the operands.
inline constexpr int kEquilibrationCost = 1;

struct Selection {
  int rung = 0;  ///< index into the ladder; -1: all in FP64 arithmetic
  bool equilibrated = false;
  std::int64_t num_repaired = 0;  ///< pairs left to FP64 arithmetic

  friend constexpr bool operator==(const Selection&, const Selection&) = default;
};

/// The lowest rung that leaves at most num_pairs >> ladder.repair_shift pairs above it; if none does,
/// >> kMostRepairShift; else -1.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Selection lowest_sufficient(const Ladder& ladder,
                                                                       const RungHistogram& histogram,
                                                                       std::int64_t num_pairs) {
  for (const int shift : {ladder.repair_shift, kMostRepairShift}) {
    std::int64_t above = num_pairs;
    for (int r = 0; r < ladder.num_rungs; ++r) {
      above -= histogram.pairs[r];
      if (above <= (num_pairs >> shift)) return {r, false, above};
    }
  }
  return {-1, false, num_pairs};
}

/// Half bits that equilibration must take from the norms of a pair of sampled lines (certify/equilibration_gain.hpp)
/// before it is tried where the operands as given have a rung.
inline constexpr int kLeastEquilibrationGain = 14;

/// True if the operands as given need so high a rung that equilibration could save some.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool may_equilibrate(const Ladder& ladder, const Selection& plain) {
  return ladder.may_equilibrate && (plain.rung < 0 || plain.rung > kEquilibrationCost);
}
/// True if equilibrated operands must be looked at too. @param gain in half bits, looked at only where there is a rung
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool wants_equilibration(const Ladder& ladder, const Selection& plain,
                                                                    int gain) {
  return may_equilibrate(ladder, plain) && (plain.rung < 0 || gain >= kLeastEquilibrationGain);
}

/// Chooses the rung: the operands as given, unless equilibration saves more than kEquilibrationCost rungs or avoids
/// FP64 arithmetic; all in FP64 arithmetic if neither certifies enough pairs.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr Selection select(const Ladder& ladder, const Statistics& statistics) {
  const Selection plain = lowest_sufficient(ladder, statistics.plain, statistics.num_pairs);
  if (!may_equilibrate(ladder, plain) || !statistics.has_equilibrated) return plain;
  Selection equilibrated = lowest_sufficient(ladder, statistics.equilibrated, statistics.num_pairs);
  equilibrated.equilibrated = true;
  if (equilibrated.rung < 0) return plain;
  if (plain.rung < 0 || equilibrated.rung + kEquilibrationCost < plain.rung) return equilibrated;
  return plain;
}

}  // namespace kizami::num
