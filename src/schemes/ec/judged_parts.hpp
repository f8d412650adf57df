// SPDX-License-Identifier: MIT
// Which terms of a line are judged together: parts of lines are, each by itself, so that nobody waits for the others. What a line is said to be
// hangs on them, and they on its length alone: so it is the same for a call, a batch, and an operand that is kept. Plain arithmetic, for host
// and device.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::ec {

inline constexpr int kJudgedParts = 8;  ///< of a line, some of them empty where it is short
inline constexpr int kJudgedRun = 256;
inline constexpr int kJudgedStep = kJudgedParts * kJudgedRun;

/// The part of a term.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int judged_part(std::int64_t term) {
  return static_cast<int>(term / kJudgedRun % kJudgedParts);
}
/// Parts of a line that have terms. @range length > 0
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int num_judged_parts(std::int64_t length) {
  return length > kJudgedStep - kJudgedRun ? kJudgedParts : static_cast<int>((length + kJudgedRun - 1) / kJudgedRun);
}
/// Terms of a part.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t terms_of_part(std::int64_t length, int part) {
  const std::int64_t begin = std::int64_t{part} * kJudgedRun;
  if (length <= begin) return 0;
  const std::int64_t runs = (length - begin - 1) / kJudgedStep + 1;
  const std::int64_t end = begin + (runs - 1) * kJudgedStep + kJudgedRun;
  return runs * kJudgedRun - (end > length ? end - length : 0);
}

/// The terms of a line of at most 8192 that CTA `rank` has where a cluster of 1, 2, 4 or 8 holds it: whole parts, 1024 terms at most, which are
/// `local` to the CTA in the order of the line.
class HeldTerms {
 public:
  static constexpr int kMostOfCta = 1024;
  static constexpr int kMost = 8 * kMostOfCta;  ///< of a line

  /// @range 1 <= length <= kMost, 0 <= rank < ranks_of(length)
  KIZAMI_HOST_DEVICE constexpr HeldTerms(int length, int rank)
      : count_(length <= kMostOfCta ? kMostOfCta / 2 : kMostOfCta),
        run_shift_(length <= kMostOfCta       ? 9
                   : length <= 2 * kMostOfCta ? 10
                   : length <= 4 * kMostOfCta ? 9
                                              : 8),
        first_(rank << run_shift_) {}
  /// CTAs of a cluster that holds lines of so many terms.
  [[nodiscard]] static constexpr int ranks_of(std::int64_t length) {
    return length <= kMostOfCta / 2 ? 1 : length <= 2 * kMostOfCta ? 2 : length <= 4 * kMostOfCta ? 4 : 8;
  }

  /// Local terms, some of them behind the end of the line.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int count() const { return count_; }
  /// Which term of the line. @range local of 0 to count() - 1; a run of 256, from a multiple on, stays together
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int term(int local) const {
    return (local >> run_shift_) * kJudgedStep + first_ + (local & ((1 << run_shift_) - 1));
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int num_parts() const { return (1 << run_shift_) / kJudgedRun; }
  /// Its run x is of part x % num_parts() of its parts, of which the first is part first_part() of the line.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int first_part() const { return first_ / kJudgedRun; }

 private:
  int count_;
  int run_shift_;  ///< a CTA has 2^run_shift neighbours every kJudgedStep terms
  int first_;
};

}  // namespace kizami::ec
