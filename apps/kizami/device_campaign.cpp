// SPDX-License-Identifier: MIT
#include "device_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "campaign.hpp"
#include "check/text.hpp"
#include "device_cases.hpp"
#include "hash_file.hpp"
#include "machine.hpp"

namespace kizami::cli {
namespace {

using check::Case;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kReportEvery = 10000;
constexpr std::size_t kMaxShrunk = 3;
/// From so many cases on, most must be compared by their bits.
constexpr std::int64_t kFewCases = 100;

struct FailedCase {
  std::int64_t index = 0;
  Case spec;
  std::string detail;
};

struct Tally {
  std::array<std::int64_t, 4> verdicts{};
  std::map<std::string, std::int64_t> answers;     ///< by scheme and engine
  std::map<std::string, std::int64_t> unpromised;  ///< of those within a bound likewise
  std::map<std::string, std::int64_t> refusals;    ///< by reason, without its numbers
  std::vector<FailedCase> failures;
  std::int64_t cases = 0;

  [[nodiscard]] std::int64_t count(DeviceVerdict verdict) const { return verdicts[static_cast<std::size_t>(verdict)]; }
};

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
  const std::string name = check::quoted(campaign.hashes_path);
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
                              check::quoted(campaign.hashes_path), index, print(spec)));
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
    write_stdout(fmt::format("           {}\n           repro: kizami check{} '{}'\n",
                             one_line(solver->difference(smallest)), campaign.is_on_device ? " --device" : "",
                             print(smallest)));
  }
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%F", &parts);
  return text.data();
}

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
  record["command"] = fmt::format("kizami check --campaign{} --seed {} --first {} --count {}{}",
                                  campaign.is_on_device ? " --device" : "", campaign.seed, campaign.first,
                                  campaign.count, campaign.hashes_path.empty() ? "" : " --hashes FILE");
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
    throw Failure(ExitCode::kOutputFailed,
                  fmt::format("--json = {} cannot be written", check::quoted(campaign.json_path)));
}

void add(Tally& tally, const SolvedCase& solved, const DeviceJudgement& judgement) {
  ++tally.cases;
  ++tally.verdicts[static_cast<std::size_t>(judgement.verdict)];
  if (judgement.verdict == DeviceVerdict::kEqual) ++tally.answers[solved.how];
  if (judgement.verdict == DeviceVerdict::kWithinBound) ++tally.unpromised[solved.how];
  if (judgement.verdict == DeviceVerdict::kRefused) ++tally.refusals[kind_of(judgement.detail)];
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

void write_campaign_hashes(const DeviceCampaign& campaign, const std::string& path) {
  HashFile hashes{campaign.seed, campaign.first, std::vector<HashRecord>(static_cast<std::size_t>(campaign.count))};
  DeviceCampaign on_host = campaign;
  on_host.make_solver = host_solver;
  on_host.seconds = 0;
  std::atomic<std::int64_t> num_done{0};
  for_each_case(on_host, [&](CaseSolver&, std::int64_t offset) {
    const Case spec = random_device_case(campaign.seed, campaign.first + offset);
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
  for_each_case(campaign, [&](CaseSolver& solver, std::int64_t offset) {
    const std::int64_t index = campaign.first + offset;
    const Case spec = random_device_case(campaign.seed, index);
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
    add(tally, got, judgement);
    if (judgement.verdict == DeviceVerdict::kFailed) tally.failures.push_back({index, spec, judgement.detail});
    if (!campaign.is_quiet && tally.cases % kReportEvery == 0)
      write_stdout(fmt::format("{} cases, {:.0f} s\n", tally.cases, elapsed()));
    return static_cast<std::int64_t>(tally.failures.size()) < campaign.max_failures;
  });
  const double seconds = elapsed();
  report_failures(campaign, tally);
  write_stdout(fmt::format("campaign of seed {}, cases {} to {} {}, {:.0f} s\n", campaign.seed, campaign.first,
                           campaign.first + tally.cases - 1, campaign.is_on_device ? "on the device" : "on the host",
                           seconds));
  for (const auto& [how, count] : tally.answers) write_stdout(fmt::format("{:>10} equal bits, {}\n", count, how));
  for (const auto& [how, count] : tally.unpromised) write_stdout(fmt::format("{:>10} within bound, {}\n", count, how));
  for (const auto& [reason, count] : tally.refusals)
    write_stdout(fmt::format("{:>10} refused, {}\n", count, one_line(reason)));
  const std::int64_t num_equal = tally.count(DeviceVerdict::kEqual), num_failed = tally.count(DeviceVerdict::kFailed);
  write_stdout(fmt::format("{} equal, {} within bound, {} refused, {} failed\n", num_equal,
                           tally.count(DeviceVerdict::kWithinBound), tally.count(DeviceVerdict::kRefused), num_failed));
  if (!campaign.json_path.empty()) append_record(campaign, tally, seconds);
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

ExitCode check_on_device(const std::vector<Case>& cases, bool is_quiet) {
  const std::unique_ptr<CaseSolver> solver = device_solver();
  Tally tally;
  for (const Case& spec : cases) {
    const SolvedCase got = solver->solve(spec);
    const DeviceJudgement judgement =
        judge(spec, got, may_promise_bits(spec.policy) ? answer_on_host(spec) : CaseAnswer{});
    add(tally, got, judgement);
    const bool has_failed = judgement.verdict == DeviceVerdict::kFailed;
    if (is_quiet && !has_failed) continue;
    constexpr std::array<const char*, 4> kWords{"EQUAL", "WITHIN", "REFUSED", "FAILED"};
    write_stdout(fmt::format("{:<10} {}\n           {}\n", kWords[static_cast<std::size_t>(judgement.verdict)],
                             print(spec),
                             one_line(has_failed                 ? judgement.detail + "; " + solver->difference(spec)
                                      : judgement.detail.empty() ? got.how + " " + got.answer.outcome
                                                                 : judgement.detail)));
  }
  const std::int64_t num_failed = tally.count(DeviceVerdict::kFailed);
  write_stdout(fmt::format("{} equal, {} within bound, {} refused, {} failed\n", tally.count(DeviceVerdict::kEqual),
                           tally.count(DeviceVerdict::kWithinBound), tally.count(DeviceVerdict::kRefused), num_failed));
  if (num_failed > 0)
    throw Failure(ExitCode::kCheckFailed, fmt::format("{} of {} cases failed", num_failed, cases.size()));
  return ExitCode::kOk;
}

}  // namespace kizami::cli
