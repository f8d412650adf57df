// SPDX-License-Identifier: MIT
// What the elements of a call on a device made it do beyond what its plan counts on, and where the call tells it: a
// word of host memory that a kernel of it writes, so that nobody waits to know.
#pragma once

#include "kizami/cxx20.hpp"  // before all else

#include <cstdint>

namespace kizami {

/// Of a batch: the largest rung, the sum of the exceptions, and whether any product did the rest.
struct Effort {
  int rung = 0;                     ///< scheme ozaki2: index into the plan's ladder; -1: all in FP64 arithmetic
  int stage = -1;                   ///< scheme ec: index of the variant that answered; -1: none, all in FP64 arithmetic
  bool has_second_look = false;     ///< ozaki2: sampled digits did not certify the lowest rung, and all were looked at
  bool is_equilibrated = false;     ///< ozaki2: the inner index was rescaled
  std::int64_t num_exceptions = 0;  ///< elements answered one by one, or all by the FP64 rung; 2^31 - 1 stands for more

  friend constexpr bool operator==(const Effort&, const Effort&) = default;
};

/// Where a call tells its effort, and the number that it tells with it.
struct EffortNote {
  std::uint64_t* word = nullptr;  ///< of cuda::make_effort_words(); null: the call tells nothing
  std::uint32_t number = 0;       ///< its lower 24 bits are told
};

/// What was told.
struct ToldEffort {
  std::uint32_t number = 0;
  Effort effort;
};

}  // namespace kizami
