// SPDX-License-Identifier: MIT
// The memory of device/learned_look.hpp: words that the last kernels of calls write, in page-locked memory of the
// process.
#pragma once

#include <optional>

#include "device/learned_look.hpp"
#include "device/state.hpp"
#include "plan/plan.hpp"

namespace kizami::ozaki2 {

struct NextLook {
  std::optional<device::Look> look;  ///< nothing: what the plan does by itself
  int first_rung = 0;                ///< as in device::LearnedLook
  bool has_samples = true;           ///< as in device::LearnedLook
  bool is_lowest = false;            ///< likewise
  device::LookReport report = {};    ///< for the call to tell; without a word where nothing is learned
};

/// Of a call that is about to be enqueued. Waits for nothing: what calls under way will tell, later ones know.
[[nodiscard]] NextLook next_look(const plan::Plan& plan);

/// Whether the split of the plan can make what any look wants, and a sampled product that is not wanted costs nothing.
[[nodiscard]] bool takes_any_look(const plan::Plan& plan);

}  // namespace kizami::ozaki2
