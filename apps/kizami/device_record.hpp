// SPDX-License-Identifier: MIT
// The summary of a campaign of devices as a line of JSON, as they are kept in lab/results.
#pragma once

#include "device_campaign.hpp"

namespace kizami::cli {

/// Appends date, commit, device and driver (or the processor), command, seconds, and counts by verdict, by scheme and
/// engine, and by reason of refusal to campaign.json_path. Throws Failure kOutputFailed.
void append_record(const DeviceCampaign& campaign, const Tally& tally, double seconds);

}  // namespace kizami::cli
