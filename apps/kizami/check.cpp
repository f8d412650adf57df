// SPDX-License-Identifier: MIT
// kizami check: runs cases of the grammar against the exact product.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "campaign.hpp"
#include "case_runner.hpp"
#include "check/case.hpp"
#include "check/text.hpp"
#include "commands.hpp"
#include "device.hpp"
#include "device_campaign.hpp"
#include "device_option.hpp"
#include "failure.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

/// Cases between two lines of a campaign.
constexpr std::int64_t kReportEvery = 1000;

struct CheckOptions {
  std::vector<std::string> lines;
  std::string file;
  bool is_campaign = false;
  std::string count = "1000";
  std::string seconds = "0";
  std::string first = "0";
  std::string seed = "1";
  DeviceOption device;
  std::string hashes_path;
  std::string written_hashes_path;
  std::string jobs = "0";
  std::string max_failures = "20";
  std::string json_path;
  std::string commit = "unknown";
  bool is_grammar_wanted = false;
  bool is_quiet = false;

  /// Whether the cases are those of devices.
  [[nodiscard]] bool is_for_devices() const {
    return device.is_given() || !hashes_path.empty() || !written_hashes_path.empty();
  }
};

constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
constexpr std::int64_t kMaxSeconds = 1 << 30;
constexpr std::int64_t kMaxJobs = 1024;

check::Case parsed(const std::string& line, const std::string& where) {
  Result<check::Case> out = check::parse_case(line);
  if (!out.ok()) throw Failure(ExitCode::kUsage, fmt::format("{}: {}", where, out.status().reason()));
  return out.value();
}

/// Cases of a file, one a line; blank lines and what follows '#' are comments.
void read_cases(std::istream& in, const std::string& name, std::vector<check::Case>& out) {
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    out.push_back(parsed(line, fmt::format("{}:{}", name, number)));
  }
  if (in.bad() || !in.eof()) throw Failure(ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
}

std::vector<check::Case> cases_of(const CheckOptions& options) {
  std::vector<check::Case> out;
  for (const std::string& line : options.lines) out.push_back(parsed(line, "case " + in_quotes(line)));
  if (options.file == "-") {
    read_cases(std::cin, "standard input", out);
  } else if (!options.file.empty()) {
    std::ifstream in(options.file);
    if (!in) throw Failure(ExitCode::kBadInput, fmt::format("{}: cannot be opened", options.file));
    read_cases(in, options.file, out);
  }
  if (out.empty())
    throw Failure(ExitCode::kUsage, "no case: give one as an argument or many by --file (see kizami check --grammar)");
  return out;
}

std::uint64_t seed_of(const CheckOptions& options) {
  return static_cast<std::uint64_t>(integer_option("--seed", options.seed, 0, std::int64_t{1} << 62));
}

/// Random cases of devices, on the device, or on the host to write or to verify a file of hashes.
ExitCode run_campaign_for_devices(const CheckOptions& options) {
  if (!options.written_hashes_path.empty() && (options.device.is_given() || !options.hashes_path.empty()))
    throw Failure(ExitCode::kUsage, "--write-hashes is of the host: it goes without --device and --hashes");
  DeviceCampaign campaign;
  campaign.seed = seed_of(options);
  campaign.first = integer_option("--first", options.first, 0, kMaxCount);
  campaign.count = integer_option("--count", options.count, 1, kMaxCount);
  campaign.seconds = integer_option("--seconds", options.seconds, 0, kMaxSeconds);
  campaign.jobs = integer_option("--jobs", options.jobs, 0, kMaxJobs);
  campaign.max_failures = integer_option("--max-failures", options.max_failures, 1, kMaxCount);
  campaign.is_on_device = options.device.is_given();
  if (options.device.is_given()) {
    campaign.make_solver = [device = options.device] {  // on a thread of its own
      use_device(device);
      return device_solver();
    };
    use_device(options.device);
    const std::string option = " --device" + (options.device.number().empty() ? "" : "=" + options.device.number());
    campaign.campaign_command += option;
    campaign.case_command += option;
  }
  campaign.is_quiet = options.is_quiet;
  campaign.hashes_path = options.hashes_path;
  campaign.json_path = options.json_path;
  campaign.commit = options.commit;
  if (options.written_hashes_path.empty()) return run_device_campaign(campaign);
  write_campaign_hashes(campaign, options.written_hashes_path);
  return ExitCode::kOk;
}

/// Random cases until the count or the time is reached. Stops at the first failure, shrunk.
ExitCode run_campaign(const CheckOptions& options) {
  const std::int64_t count = integer_option("--count", options.count, 1, kMaxCount);
  const std::int64_t seconds = integer_option("--seconds", options.seconds, 0, kMaxSeconds);
  const std::int64_t first = integer_option("--first", options.first, 0, kMaxCount);
  const std::uint64_t seed = seed_of(options);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::array<std::int64_t, 4> verdicts{};
  std::int64_t index = first;
  for (; index < first + count && (seconds == 0 || elapsed() < static_cast<double>(seconds)); ++index) {
    const check::Case spec = random_case(seed, index);
    const CaseResult result = run_case(spec);
    ++verdicts[static_cast<std::size_t>(result.verdict)];
    if (result.verdict == CaseVerdict::kFailed) {
      write_stdout(fmt::format("{:<10} case {} of seed {}: {}\n           {}\n", to_string(result.verdict), index, seed,
                               print(spec), one_line(result.detail)));
      const check::Case smallest =
          shrink(spec, [](const check::Case& c) { return run_case(c).verdict == CaseVerdict::kFailed; });
      write_stdout(fmt::format("           {}\n           repro: kizami check '{}'\n",
                               one_line(run_case(smallest).detail), print(smallest)));
      break;
    }
    if (!options.is_quiet && (index - first + 1) % kReportEvery == 0) {
      write_stdout(fmt::format("{} cases, {:.0f} s\n", index - first + 1, elapsed()));
    }
  }
  const auto [passed, failed, refused, mistrusted] = verdicts;
  write_stdout(fmt::format("campaign of seed {}, cases {} to {}, {:.0f} s: {} refused, {} mistrusted\n", seed, first,
                           std::min(index, first + count - 1), elapsed(), refused, mistrusted));
  write_stdout(fmt::format("{} passed, {} failed, {} skipped\n", passed, failed, refused + mistrusted));
  if (failed > 0) throw Failure(ExitCode::kCheckFailed, fmt::format("case {} of seed {} failed", index, seed));
  return ExitCode::kOk;
}

ExitCode run_check(const CheckOptions& options) {
  if (options.is_campaign) return options.is_for_devices() ? run_campaign_for_devices(options) : run_campaign(options);
  if (!options.hashes_path.empty() || !options.written_hashes_path.empty())
    throw Failure(ExitCode::kUsage, "--hashes and --write-hashes need --campaign");
  if (options.is_grammar_wanted) return write_stdout(check::case_help()), ExitCode::kOk;
  const std::vector<check::Case> cases = cases_of(options);
  if (options.device.is_given()) {
    use_device(options.device);
    const std::unique_ptr<CaseSolver> solver = device_solver();
    for (const check::Case& spec : cases)
      require_room(product_bytes(spec.scalar, spec.m, spec.n, spec.k, spec.num_products, 0), device_room());
    return check_cases(cases, *solver, options.is_quiet);
  }
  std::array<std::int64_t, 4> count{};
  for (const check::Case& spec : cases) {
    const CaseResult result = run_case(spec);
    ++count[static_cast<std::size_t>(result.verdict)];
    if (options.is_quiet && result.verdict == CaseVerdict::kPassed) continue;
    std::string text =
        fmt::format("{:<10} {}\n           {}\n", to_string(result.verdict), print(spec), one_line(result.detail));
    if (result.verdict == CaseVerdict::kFailed)
      text += fmt::format("           repro: kizami check '{}'\n", print(spec));
    write_stdout(text);
  }
  const auto [passed, failed, refused, mistrusted] = count;
  std::string skipped = fmt::format("{} skipped", refused + mistrusted);
  if (refused + mistrusted > 0) skipped += fmt::format(" ({} refused, {} mistrusted)", refused, mistrusted);
  write_stdout(fmt::format("{} passed, {} failed, {}\n", passed, failed, skipped));
  if (failed > 0) throw Failure(ExitCode::kCheckFailed, fmt::format("{} of {} cases failed", failed, cases.size()));
  return ExitCode::kOk;
}

}  // namespace

Command add_check(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("check", "run cases and compare them with the exact product");
  const auto options = std::make_shared<CheckOptions>();
  app->add_option("CASE", options->lines, "a case, in quotes")->type_name("");
  app->add_option("--file", options->file, "cases, one a line, # for comments; - for standard input")
      ->type_name("FILE");
  app->add_flag("--campaign", options->is_campaign, "run random adversarial cases; a failure is shrunk");
  app->add_option("--count", options->count, "campaign: number of cases [1000]")->type_name("N");
  app->add_option("--seconds", options->seconds, "campaign: stop after so long; 0: no limit [0]")->type_name("S");
  app->add_option("--seed", options->seed, "campaign: seed of all cases [1]")->type_name("N");
  app->add_option("--first", options->first, "campaign: number of the first case [0]")->type_name("N");
  add_device_option(*app, options->device, "compare with the host's bits, run on the current CUDA device");
  app->add_option("--write-hashes", options->written_hashes_path,
                  "campaign: write the host's answers to the cases of devices, to be carried to one")
      ->type_name("FILE");
  app->add_option("--hashes", options->hashes_path,
                  "campaign: compare with such a file, on the device or, without --device, on this host")
      ->type_name("FILE");
  app->add_option("--jobs", options->jobs, "campaign of devices: threads, each with a stream; 0: processors [0]")
      ->type_name("N");
  app->add_option("--max-failures", options->max_failures, "campaign of devices: stop after so many [20]")
      ->type_name("N");
  app->add_option("--json", options->json_path, "campaign of devices: append the summary as one line")
      ->type_name("FILE");
  app->add_option("--commit", options->commit, "campaign of devices: what the summary calls the program")
      ->type_name("TEXT");
  app->add_flag("--grammar", options->is_grammar_wanted, "print the grammar of cases and the classes of matrices");
  app->add_flag("-q,--quiet", options->is_quiet, "print only cases that did not pass");
  app->footer(
      "\nPASSED: the error of every element compared is within the bound, NaN and Inf stand where they belong, nothing "
      "but C was\n"
      "written, and other engines, thread counts and workspaces give the same bits (scheme ozaki2). REFUSED: the "
      "library says why\n"
      "it cannot. MISTRUSTED: nothing wrong, but most of C is 0. Products of more than 2^27 terms are compared in a "
      "sample.\n"
      "\nWith --device: EQUAL: the host's bits and outcome. WITHIN: the scheme promises no bits, and every element "
      "compared "
      "keeps to the\nreported bound. A campaign draws the cases of devices then, and fails too where most cases were "
      "refused.\n"
      "\nExamples:\n  kizami check 'd nt 33x65x129 a=1 b=-0.5 A=exprand:phi=4 B=grade:cols accuracy=bits=40 seed=7'\n"
      "  kizami check 'z nc 33x20x65 a=1-2i b=0.5 A=randn,im2^-40 B=gram,nani@middle'\n");
  return {app, [options] { return run_check(*options); }};
}

}  // namespace kizami::cli
