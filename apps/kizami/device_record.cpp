// SPDX-License-Identifier: MIT
#include "device_record.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "check/text.hpp"
#include "device.hpp"
#include "machine.hpp"

namespace kizami::cli {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%F", &parts);
  return text.data();
}

}  // namespace

void append_record(const DeviceCampaign& campaign, const Tally& tally, double seconds) {
  nlohmann::ordered_json record;
  record["date"] = today();
  record["commit"] = campaign.commit;
  if (campaign.is_on_device) {
    const DeviceNames names = device_names();
    record["device"] = names.device;
    record["driver"] = names.driver;
  } else {
    record["cpu"] = processor_name();
  }
  record["command"] = fmt::format("{} --seed {} --first {} --count {}{}", campaign.campaign_command, campaign.seed,
                                  campaign.first, campaign.count, campaign.hashes_path.empty() ? "" : " --hashes FILE");
  record["seconds"] = std::round(seconds);
  record["cases"] = tally.cases;
  record["equal_bits"] = tally.count(DeviceVerdict::kEqual);
  record["within_bound"] = tally.count(DeviceVerdict::kWithinBound);
  record["refused"] = tally.count(DeviceVerdict::kRefused);
  record["failed"] = tally.count(DeviceVerdict::kFailed);
  record["equal_bits_by"] = tally.answers;
  record["within_bound_by"] = tally.unpromised;
  record["refused_by"] = tally.refusals;
  std::ofstream out(campaign.json_path, std::ios::app);
  out << record.dump() << '\n';
  out.close();
  if (!out)
    throw Failure(ExitCode::kOutputFailed, fmt::format("--json = {} cannot be written", in_quotes(campaign.json_path)));
}

}  // namespace kizami::cli
