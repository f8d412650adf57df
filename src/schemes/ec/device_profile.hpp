// SPDX-License-Identifier: MIT
// Profiles of the lines of both operands on a CUDA device (num/ec_profile.hpp), from the FP16 planes that a call's
// first split has made: of large calls whose flags refuse FP16, between device_ec_split() and device_ec_decide().
#pragma once

#include "num/ec_profile.hpp"
#include "schemes/ec/device_split.hpp"

namespace kizami::ec {

/// What to look at. Pointers are device memory.
struct EcProfileTask {
  const product::EcReport* reports = nullptr;  ///< of the first split
  int num_reports = 0;
  float limit = 0;                      ///< num::ec_profile_limit()
  num::EcProfiles* profiles = nullptr;  ///< cleared by the first split
};

/// Whether num::ec_profiles_hold() for num::ec_profile() of the rows of planes, in profiles->holds; zeros are left
/// there where the reports say that FP16 holds. Reads the first part of each element once.
/// @range  planes of FP16, of lines of at most num::kEcProfileMostK terms
/// @status kInternal with CUDA's words
/// @queue  as device_ec_split(); one kernel, which ends at once where FP16 holds already
template <class T>
Status device_ec_profile(const EcProfileTask& task, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                         Factor<T> alpha, int num_sms, product::Queue queue);

}  // namespace kizami::ec
