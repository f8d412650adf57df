// SPDX-License-Identifier: MIT
#include "device_judgement.hpp"

#include <fmt/format.h>

#include <utility>

#include "failure.hpp"

namespace kizami::cli {
namespace {

using check::Case;

/// Without the numbers, which are different in every case.
std::string kind_of(const std::string& reason) {
  std::string out;
  for (const char c : reason) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

}  // namespace

DeviceJudgement judge(const Case& spec, const SolvedCase& got, const CaseAnswer& want) {
  const auto failed = [](std::string detail) { return DeviceJudgement{DeviceVerdict::kFailed, std::move(detail)}; };
  if (!got.fault.empty()) return failed(got.fault);
  const Status& status = got.answer.status;
  const std::vector<std::string> fields = differing_fields(got.answer.outcome, want.outcome);
  const std::string outcomes = fmt::format("got {}, the host has {}", got.answer.outcome, want.outcome);
  if (!status.ok()) {
    const std::string reason = fmt::format("{}: {}", to_string(status.code()), status.reason());
    if (status.code() == StatusCode::kInternal || status.code() == StatusCode::kInvalidArgument) return failed(reason);
    if (status.code() == StatusCode::kNonFinite && !spec.policy.reject_nonfinite)
      return failed("not to be rejected: " + reason);
    // Elements that both look at.
    if (got.promises_bits && !fields.empty()) return failed(fmt::format("refused ({}); {}", reason, outcomes));
    return {DeviceVerdict::kRefused, reason};
  }
  if (!got.promises_bits) return {DeviceVerdict::kWithinBound, ""};
  if (got.answer.bits != want.bits) {
    return failed(fmt::format("C has hash {:016x}, that of the host {:016x}; outcomes: {}", got.answer.bits, want.bits,
                              outcomes));
  }
  if (!fields.empty()) return failed(fmt::format("equal bits, but {}; {}", fmt::join(fields, ", "), outcomes));
  return {DeviceVerdict::kEqual, ""};
}

std::string_view to_string(DeviceVerdict verdict) noexcept {
  constexpr std::array<std::string_view, 4> kWords{"EQUAL", "WITHIN", "REFUSED", "FAILED"};
  return kWords[static_cast<std::size_t>(verdict)];
}

void Tally::add(const SolvedCase& solved, const DeviceJudgement& judgement) {
  ++cases;
  ++verdicts[static_cast<std::size_t>(judgement.verdict)];
  if (judgement.verdict == DeviceVerdict::kEqual) ++answers[solved.how];
  if (judgement.verdict == DeviceVerdict::kWithinBound) ++unpromised[solved.how];
  if (judgement.verdict == DeviceVerdict::kRefused) ++refusals[kind_of(judgement.detail)];
}

std::string listed(const Tally& tally) {
  std::string out;
  for (const auto& [how, count] : tally.answers) out += fmt::format("{:>10} equal bits, {}\n", count, how);
  for (const auto& [how, count] : tally.unpromised) out += fmt::format("{:>10} within bound, {}\n", count, how);
  for (const auto& [reason, count] : tally.refusals)
    out += fmt::format("{:>10} refused, {}\n", count, one_line(reason));
  return out;
}

std::string counted(const Tally& tally) {
  return fmt::format("{} equal, {} within bound, {} refused, {} failed", tally.count(DeviceVerdict::kEqual),
                     tally.count(DeviceVerdict::kWithinBound), tally.count(DeviceVerdict::kRefused),
                     tally.count(DeviceVerdict::kFailed));
}

}  // namespace kizami::cli
