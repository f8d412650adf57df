// SPDX-License-Identifier: MIT
// Products on a CUDA device with every look that their split can make: all must have one answer.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "case_solver.hpp"

namespace kizami::gpu_test {

/// What the calls of a campaign went through, over all threads.
struct Coverage {
  enum Event {
    kOfSample,       ///< began with a look at sampled digits
    kOfBlocks,       ///< with one at blocks, and the planes of the lowest rung
    kOfBlocksFirst,  ///< with blocks alone
    kFailedSample,
    kRungAbove,
    kEquilibrated,
    kRepaired,
    kOnlyFp64,
    kNonFinite,
    kChunked,  ///< no choice of a look
    kNumEvents,
  };
  std::array<std::atomic<std::int64_t>, kNumEvents> counts{};

  /// "12 of_sample, 3 repaired", in the order of Event.
  [[nodiscard]] std::string text() const;
  /// The names of what never came about; empty: nothing.
  [[nodiscard]] std::string missing() const;
};

/// With a stream and buffers of its own on the current device. Answers are those of the first look; a call whose answer
/// to another differs, or that does not look as it was told, is at fault.
/// @range  cases without batches  @param coverage outlives the solver
[[nodiscard]] std::unique_ptr<cli::CaseSolver> look_solver(Coverage& coverage);

}  // namespace kizami::gpu_test
