// SPDX-License-Identifier: MIT
// Timing of candidates in turn, and the table and JSON made of it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kizami::cli {

/// What a candidate turned out to do.
struct Description {
  std::string scheme;
  std::string engine;
  int moduli = 0;
  double bound = 0;
  std::string gauge;
};

/// One thing to time. The first candidate of a list is the native baseline.
struct Candidate {
  std::string name;
  double operations = 0;                  ///< additions and multiplications of one run
  int is_floor_of = 0;                    ///< not 0: INT8 products alone, the floor of candidates with so many moduli
  std::function<double()> time_once;      ///< runs once; seconds
  std::function<Description()> describe;  ///< after a run
};

/// Seconds over rounds.
struct Timing {
  double median = 0;
  double min = 0;
  double max = 0;
  double ratio_to_first = 0;  ///< median over rounds of (this / first candidate), paired within a round
};

/// Runs every candidate once a round, in turn. @range rounds >= 1
[[nodiscard]] std::vector<Timing> time_interleaved(const std::vector<Candidate>& candidates, int rounds);

[[nodiscard]] std::string table_of(const std::string& title, const std::vector<Candidate>& candidates,
                                   const std::vector<Timing>& timings);
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<Candidate>& candidates,
                                             const std::vector<Timing>& timings, std::size_t index);

}  // namespace kizami::cli
