// SPDX-License-Identifier: MIT
// Does a CUDA device select as the host does? Random products of scheme ozaki2 with wide exponents, each with every
// look that its split can make (device::Look): rung, equilibration, repairs and the bits of C must be the host's.
// Failures are shrunk.
//   gpu_selection --cases 10000 --json selection.jsonl
//   gpu_selection 'd nn 33x65x129 a=1 b=0 A=exprand:phi=4 B=exprand:phi=4 scheme=ozaki2 engine=hopper seed=7'
// Exit codes are those of kizami; 5: there is no device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "check/case.hpp"
#include "device.hpp"
#include "device_campaign.hpp"
#include "failure.hpp"
#include "gpu_selection/look_solver.hpp"
#include "gpu_selection/selection_case.hpp"

namespace {

using namespace kizami;

/// From so many cases on, everything that Coverage counts must have come about.
constexpr std::int64_t kManyCases = 300;

struct Options {
  cli::DeviceCampaign campaign;
  std::vector<std::string> lines;
};

void run(const Options& options) {
  static_cast<void>(cli::device_names());  // before anything is drawn
  gpu_test::Coverage coverage;
  if (!options.lines.empty()) {
    std::vector<check::Case> cases;
    for (const std::string& line : options.lines) {
      const Result<check::Case> parsed = check::parse_case(line);
      if (!parsed.ok()) throw cli::Failure(cli::ExitCode::kUsage, parsed.status().reason());
      if (parsed.value().num_products != 1)
        throw cli::Failure(cli::ExitCode::kUsage, fmt::format("'{}' is a batch, must be one product", line));
      cases.push_back(parsed.value());
    }
    static_cast<void>(cli::check_cases(cases, *gpu_test::look_solver(coverage), options.campaign.is_quiet));
    return;
  }
  cli::DeviceCampaign campaign = options.campaign;
  campaign.is_on_device = true;
  campaign.draw = gpu_test::random_selection_case;
  campaign.make_solver = [&coverage] { return gpu_test::look_solver(coverage); };
  campaign.campaign_command = "gpu_selection";
  campaign.case_command = "gpu_selection";
  static_cast<void>(cli::run_device_campaign(campaign));
  cli::write_stdout(coverage.text() + "\n");
  if (campaign.count >= kManyCases && !coverage.missing().empty())
    throw cli::Failure(cli::ExitCode::kCheckFailed, "no case met: " + coverage.missing());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Random products with wide exponents: does a CUDA device select as the host does, whatever it looks at first?");
  cli::DeviceCampaign& campaign = options.campaign;
  app.add_option("CASE", options.lines, "cases of kizami check --grammar, instead of random ones");
  app.add_option("--count,--cases", campaign.count, "number of cases [1000]")->check(CLI::Range(1, 1 << 30));
  app.add_option("--seed", campaign.seed, "of all cases [1]");
  app.add_option("--first", campaign.first, "number of the first case [0]")->check(CLI::Range(0, 1 << 30));
  app.add_option("--jobs", campaign.jobs, "threads, each with a stream; 0: processors [0]")->check(CLI::Range(0, 1024));
  app.add_option("--max-failures", campaign.max_failures, "stop after so many [20]")->check(CLI::Range(1, 1 << 30));
  app.add_option("--json", campaign.json_path, "append the summary as one line");
  app.add_option("--commit", campaign.commit, "what the summary calls the program");
  app.add_flag("-q,--quiet", campaign.is_quiet, "print only failures and the summary");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const cli::Failure& failure) {
    fmt::print(stderr, "gpu_selection: error: {}\n", cli::one_line(failure.what()));
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_selection: error: {}\n", cli::one_line(error.what()));
    return static_cast<int>(cli::ExitCode::kInternal);
  }
}
