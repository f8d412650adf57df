// SPDX-License-Identifier: MIT
// Campaigns of the cases of devices. The host's answers are written to a file beforehand and carried to the machine
// with the device; without a file the host computes beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "case_solver.hpp"
#include "check/case.hpp"
#include "device_cases.hpp"
#include "device_judgement.hpp"
#include "failure.hpp"

namespace kizami::cli {

struct DeviceCampaign {
  std::uint64_t seed = 1;
  std::int64_t first = 0;
  std::int64_t count = 1000;
  std::int64_t seconds = 0;  ///< 0: no limit
  std::int64_t jobs = 0;     ///< threads, each with a solver of its own; 0: as many as the machine has processors
  std::int64_t max_failures = 20;
  bool is_on_device = false;  ///< whether the record names the device
  /// The cases: by seed and number. print() of one parses to the same.
  std::function<check::Case(std::uint64_t, std::int64_t)> draw = random_device_case;
  std::string campaign_command = "kizami check --campaign";  ///< in the record, before --seed
  std::string case_command = "kizami check";                 ///< of one case
  /// Of each thread. The host as a solver tells whether this machine has the bits of the file.
  std::function<std::unique_ptr<CaseSolver>()> make_solver = host_solver;
  bool is_quiet = false;
  std::string hashes_path;  ///< empty: the host computes beside
  std::string json_path;    ///< one line is appended; empty: none
  std::string commit = "unknown";
};

/// Writes the host's answers to the cases of a campaign. Throws Failure kOutputFailed.
void write_campaign_hashes(const DeviceCampaign& campaign, const std::string& path);

/// Runs a campaign, prints failures, the first three shrunk, and a summary.
/// Throws Failure kCheckFailed: a case failed, or most of at least 100 cases were not compared by bits; kUsage: the
/// file is of another seed, or lacks cases; kBadInput: it was written by a program that draws other cases.
ExitCode run_device_campaign(const DeviceCampaign& campaign);

/// Computes cases by a solver and compares them with the host. Throws Failure kCheckFailed.
ExitCode check_cases(const std::vector<check::Case>& cases, CaseSolver& solver, bool is_quiet);

}  // namespace kizami::cli
