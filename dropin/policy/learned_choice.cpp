// SPDX-License-Identifier: MIT
#include "dropin/policy/learned_choice.hpp"

#include <algorithm>

namespace kizami::dropin {

bool LearnedChoice::takes_next() {
  if (!is_native_) return true;
  if (native_calls_ < until_trial_) {
    ++native_calls_;
    return false;
  }
  native_calls_ = 0;
  until_trial_ = std::min(2 * until_trial_, kMostNativeCalls);
  return true;
}

void LearnedChoice::tell(bool is_loss) {
  if (!is_loss) {
    *this = {};
  } else if (!is_native_ && ++losses_ == kLossesToNative) {
    is_native_ = true;
  }
}

}  // namespace kizami::dropin
