// SPDX-License-Identifier: MIT
#include "device_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "campaign.hpp"
#include "check/text.hpp"
#include "device.hpp"
#include "device_cases.hpp"
#include "device_record.hpp"
#include "hash_file.hpp"

namespace kizami::cli {
namespace {

using check::Case;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kReportEvery = 10000;
constexpr std::size_t kMaxShrunk = 3;
/// From so many cases on, most must be compared by their bits.
constexpr std::int64_t kFewCases = 100;

/// Calls body(solver, offset) for offsets 0, 1, ... count - 1 until one says false, on campaign.jobs threads.
/// The first exception of a thread stops all and is thrown.
void for_each_case(const DeviceCampaign& campaign, const std::function<bool(CaseSolver&, std::int64_t)>& body) {
  const auto start = Clock::now();
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> is_stopped{false};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      const std::unique_ptr<CaseSolver> solver = campaign.make_solver();
      while (!is_stopped) {
        const bool is_late = campaign.seconds > 0 && Clock::now() - start >= std::chrono::seconds(campaign.seconds);
        const std::int64_t offset = is_late ? campaign.count : next++;
        if (offset >= campaign.count) return;
        if (!body(*solver, offset)) is_stopped = true;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (error == nullptr) error = std::current_exception();
      is_stopped = true;
    }
  };
  const std::int64_t processors = std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> helpers;
    for (std::int64_t t = 1; t < (campaign.jobs > 0 ? campaign.jobs : processors); ++t) helpers.emplace_back(run);
    run();
  }
  if (error != nullptr) std::rethrow_exception(error);
}

/// The answers of a file, after looking whether it is of this campaign.
HashFile hashes_of(const DeviceCampaign& campaign) {
  if (campaign.hashes_path.empty()) return {};
  HashFile hashes = read_hashes(campaign.hashes_path);
  const std::string name = in_quotes(campaign.hashes_path);
  if (hashes.seed != campaign.seed)
    throw Failure(ExitCode::kUsage,
                  fmt::format("--hashes = {} is of seed {}, --seed = {}", name, hashes.seed, campaign.seed));
  const auto size = static_cast<std::int64_t>(hashes.records.size());
  if (campaign.first < hashes.first || campaign.first + campaign.count > hashes.first + size) {
    throw Failure(ExitCode::kUsage,
                  fmt::format("--hashes = {} has cases {} to {}, asked for are {} to {}", name, hashes.first,
                              hashes.first + size - 1, campaign.first, campaign.first + campaign.count - 1));
  }
  return hashes;
}

/// What the host makes of a case, from the file if there is one.
CaseAnswer wanted(const DeviceCampaign& campaign, const HashFile& hashes, std::int64_t index, const Case& spec) {
  if (campaign.hashes_path.empty()) return may_promise_bits(spec.policy) ? answer_on_host(spec) : CaseAnswer{};
  const HashRecord& record = hashes.records[static_cast<std::size_t>(index - hashes.first)];
  if (record.line != line_hash(spec)) {
    throw Failure(ExitCode::kBadInput,
                  fmt::format("--hashes = {}: case {} was another one, this program draws '{}'; write the file again",
                              in_quotes(campaign.hashes_path), index, print(spec)));
  }
  CaseAnswer answer;
  answer.bits = record.bits;
  answer.outcome = record.outcome;
  return answer;
}

/// Whether the case fails by itself, against the host as it is now.
bool fails(CaseSolver& solver, const Case& spec) {
  const CaseAnswer want = may_promise_bits(spec.policy) ? answer_on_host(spec) : CaseAnswer{};
  return judge(spec, solver.solve(spec), want).verdict == DeviceVerdict::kFailed;
}

void report_failures(const DeviceCampaign& campaign, Tally& tally) {
  std::sort(tally.failures.begin(), tally.failures.end(),
            [](const FailedCase& x, const FailedCase& y) { return x.index < y.index; });
  const std::unique_ptr<CaseSolver> solver = campaign.make_solver();
  std::size_t num_shrunk = 0;
  for (const FailedCase& failed : tally.failures) {
    write_stdout(fmt::format("FAILED     case {} of seed {}: {}\n           {}\n", failed.index, campaign.seed,
                             print(failed.spec), one_line(failed.detail)));
    if (num_shrunk == kMaxShrunk) continue;
    ++num_shrunk;
    write_stdout(fmt::format("           {}\n", one_line(solver->difference(failed.spec))));
    if (!fails(*solver, failed.spec)) {
      write_stdout(
          "           by itself it does not fail: the file, the machine or what runs beside it is different\n");
      continue;
    }
    const Case smallest = shrink(failed.spec, [&](const Case& c) { return fails(*solver, c); });
    write_stdout(fmt::format("           {}\n           repro: {} '{}'\n", one_line(solver->difference(smallest)),
                             campaign.case_command, print(smallest)));
  }
}

}  // namespace

void write_campaign_hashes(const DeviceCampaign& campaign, const std::string& path) {
  HashFile hashes{campaign.seed, campaign.first, std::vector<HashRecord>(static_cast<std::size_t>(campaign.count))};
  DeviceCampaign on_host = campaign;
  on_host.make_solver = host_solver;
  on_host.seconds = 0;
  std::atomic<std::int64_t> num_done{0};
  for_each_case(on_host, [&](CaseSolver&, std::int64_t offset) {
    const Case spec = campaign.draw(campaign.seed, campaign.first + offset);
    HashRecord& record = hashes.records[static_cast<std::size_t>(offset)];
    record.line = line_hash(spec);
    record.outcome = "unpromised";
    if (may_promise_bits(spec.policy)) {
      CaseAnswer answer = answer_on_host(spec);
      record.bits = answer.bits;
      record.outcome = std::move(answer.outcome);
    }
    const std::int64_t done = ++num_done;
    if (!campaign.is_quiet && done % kReportEvery == 0) write_stdout(fmt::format("{} cases\n", done));
    return true;
  });
  write_hashes(path, hashes);
  write_stdout(fmt::format("{}: hashes of cases {} to {} of seed {}\n", path, campaign.first,
                           campaign.first + campaign.count - 1, campaign.seed));
}

ExitCode run_device_campaign(const DeviceCampaign& campaign) {
  if (campaign.is_on_device) static_cast<void>(device_names());  // before anything is drawn
  const HashFile hashes = hashes_of(campaign);
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Tally tally;
  std::mutex mutex;
  const auto run_one = [&](CaseSolver& solver, std::int64_t offset) {
    const std::int64_t index = campaign.first + offset;
    const Case spec = campaign.draw(campaign.seed, index);
    const CaseAnswer want = wanted(campaign, hashes, index, spec);
    SolvedCase got;
    try {
      got = solver.solve(spec);
    } catch (const Failure& failure) {
      throw Failure(failure.code(), fmt::format("case {} of seed {}, '{}' or one beside it: {}", index, campaign.seed,
                                                print(spec), failure.what()));
    }
    const DeviceJudgement judgement = judge(spec, got, want);
    const std::lock_guard lock(mutex);
    tally.add(got, judgement);
    if (judgement.verdict == DeviceVerdict::kFailed) tally.failures.push_back({index, spec, judgement.detail});
    if (!campaign.is_quiet && tally.cases % kReportEvery == 0)
      write_stdout(fmt::format("{} cases, {:.0f} s\n", tally.cases, elapsed()));
    return static_cast<std::int64_t>(tally.failures.size()) < campaign.max_failures;
  };
  try {
    for_each_case(campaign, run_one);
  } catch (const Failure&) {  // the device fails, and computes no more; or the file is of other cases
    for (const FailedCase& failed : tally.failures)
      write_stdout(fmt::format("FAILED     {}\n           {}\n", print(failed.spec), one_line(failed.detail)));
    write_stdout(fmt::format("{}{} until then\n", listed(tally), counted(tally)));
    throw;
  }
  const double seconds = elapsed();
  report_failures(campaign, tally);
  write_stdout(fmt::format("campaign of seed {}, cases {} to {} {}, {:.0f} s\n", campaign.seed, campaign.first,
                           campaign.first + tally.cases - 1, campaign.is_on_device ? "on the device" : "on the host",
                           seconds));
  write_stdout(fmt::format("{}{}\n", listed(tally), counted(tally)));
  if (!campaign.json_path.empty()) append_record(campaign, tally, seconds);
  const std::int64_t num_equal = tally.count(DeviceVerdict::kEqual), num_failed = tally.count(DeviceVerdict::kFailed);
  if (num_failed > 0) {
    throw Failure(ExitCode::kCheckFailed,
                  fmt::format("{} of {} cases of seed {} failed, case {} among them", num_failed, tally.cases,
                              campaign.seed, tally.failures.front().index));
  }
  if (tally.cases >= kFewCases && 2 * num_equal < tally.cases) {
    throw Failure(ExitCode::kCheckFailed,
                  fmt::format("only {} of {} cases were compared by their bits, must be half", num_equal, tally.cases));
  }
  return ExitCode::kOk;
}

ExitCode check_cases(const std::vector<Case>& cases, CaseSolver& solver, bool is_quiet) {
  Tally tally;
  for (const Case& spec : cases) {
    const SolvedCase got = solver.solve(spec);
    const DeviceJudgement judgement =
        judge(spec, got, may_promise_bits(spec.policy) ? answer_on_host(spec) : CaseAnswer{});
    tally.add(got, judgement);
    const bool has_failed = judgement.verdict == DeviceVerdict::kFailed;
    if (is_quiet && !has_failed) continue;
    write_stdout(fmt::format("{:<10} {}\n           {}\n", to_string(judgement.verdict), print(spec),
                             one_line(has_failed                 ? judgement.detail + "; " + solver.difference(spec)
                                      : judgement.detail.empty() ? got.how + " " + got.answer.outcome
                                                                 : judgement.detail)));
  }
  const std::int64_t num_failed = tally.count(DeviceVerdict::kFailed);
  write_stdout(counted(tally) + "\n");
  if (num_failed > 0)
    throw Failure(ExitCode::kCheckFailed, fmt::format("{} of {} cases failed", num_failed, cases.size()));
  return ExitCode::kOk;
}

}  // namespace kizami::cli
