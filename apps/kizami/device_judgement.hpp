// SPDX-License-Identifier: MIT
// What is said of a case that a device computed, and the sums over a campaign.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "case_solver.hpp"
#include "check/case.hpp"

namespace kizami::cli {

enum class DeviceVerdict : std::uint8_t {
  kEqual,        ///< the bits of C and the outcome are the host's
  kWithinBound,  ///< no bits are promised; every element (or a sample) keeps to the reported bound
  kRefused,
  kFailed,
};

struct DeviceJudgement {
  DeviceVerdict verdict = DeviceVerdict::kEqual;
  std::string detail;  ///< why it failed or was refused
};

/// Compares what a solver made with the host's answer.
[[nodiscard]] DeviceJudgement judge(const check::Case& spec, const SolvedCase& got, const CaseAnswer& want);

/// A case that failed.
struct FailedCase {
  std::int64_t index = 0;
  check::Case spec;
  std::string detail;
};

struct Tally {
  std::array<std::int64_t, 4> verdicts{};
  std::map<std::string, std::int64_t> answers;     ///< by scheme and engine
  std::map<std::string, std::int64_t> unpromised;  ///< of those within a bound likewise
  std::map<std::string, std::int64_t> refusals;    ///< by reason, without its numbers
  std::vector<FailedCase> failures;
  std::int64_t cases = 0;

  void add(const SolvedCase& solved, const DeviceJudgement& judgement);
  [[nodiscard]] std::int64_t count(DeviceVerdict verdict) const { return verdicts[static_cast<std::size_t>(verdict)]; }
};

/// "EQUAL", "WITHIN", "REFUSED" or "FAILED".
[[nodiscard]] std::string_view to_string(DeviceVerdict verdict) noexcept;
/// A line for each scheme and engine and for each reason of refusal.
[[nodiscard]] std::string listed(const Tally& tally);
/// "3 equal, 2 within bound, 1 refused, 0 failed"
[[nodiscard]] std::string counted(const Tally& tally);

}  // namespace kizami::cli
