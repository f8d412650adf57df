// SPDX-License-Identifier: MIT
// Which terms of a line are judged together: parts of lines are, each by itself, so that nobody waits for the others. What a line is said to be
// hangs on them, so they are the same for a call and for an operand that is kept for it; but lines along memory have fewer in
// large batches, whose warps have a line each. Plain arithmetic, for host and device.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"

namespace kizami::ec {

/// Terms of [0, length) that are among `run` from `begin` on, and among `run` every `step` terms behind those.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr std::int64_t terms_of_part(std::int64_t length, std::int64_t begin,
                                                                      std::int64_t run, std::int64_t step) {
  if (length <= begin) return 0;
  const std::int64_t runs = (length - begin - 1) / step + 1;
  const std::int64_t end = begin + (runs - 1) * step + run;
  return runs * run - (end > length ? end - length : 0);
}

/// A line across memory of more than 1024 terms has eight parts, of 256 terms every 2048.
inline constexpr int kLongLineParts = 8;
inline constexpr int kLongLineRun = 256;
inline constexpr int kLongLineStep = kLongLineParts * kLongLineRun;

/// The terms of such a line that CTA `rank` has where a cluster of 2, 4 or 8 holds it: whole parts, 1024 terms at most, which are `local` to
/// the CTA in the order of the line.
class HeldTerms {
 public:
  static constexpr int kOfCta = 1024;

  KIZAMI_HOST_DEVICE constexpr HeldTerms(int ranks, int rank)
      : run_shift_(ranks == 2   ? 10
                   : ranks == 4 ? 9
                                : 8),
        first_(rank << run_shift_) {}
  /// CTAs of a cluster that holds lines of so many terms. @range 1025 to 8192
  [[nodiscard]] static constexpr int ranks_of(std::int64_t length) {
    return length <= 2 * kOfCta ? 2 : length <= 4 * kOfCta ? 4 : 8;
  }

  /// Which term of the line. @range local of 0 to kOfCta - 1; a run of 256, from a multiple on, stays together
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int term(int local) const {
    return (local >> run_shift_) * kLongLineStep + first_ + (local & ((1 << run_shift_) - 1));
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int num_parts() const { return (1 << run_shift_) / kLongLineRun; }
  /// Which of its parts; the first is part first_part() of the line.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int part(int local) const {
    return (local & ((1 << run_shift_) - 1)) / kLongLineRun;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr int first_part() const { return first_ / kLongLineRun; }

 private:
  int run_shift_;  ///< a CTA has 2^run_shift neighbours every kLongLineStep terms
  int first_;
};

}  // namespace kizami::ec
