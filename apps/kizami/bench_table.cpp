// SPDX-License-Identifier: MIT
#include "bench_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace kizami::cli {
namespace {

[[nodiscard]] double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// Time of the INT8 products that a candidate cannot do without.
[[nodiscard]] std::optional<double> floor_of(const std::vector<Candidate>& candidates,
                                             const std::vector<Timing>& timings, std::size_t index) {
  const int moduli = candidates[index].describe().moduli;
  if (moduli == 0 || candidates[index].is_floor_of != 0) return std::nullopt;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].is_floor_of == moduli) return timings[i].median;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Timing> time_interleaved(const std::vector<Candidate>& candidates, int rounds) {
  std::vector<std::vector<double>> seconds(candidates.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) seconds[i].push_back(candidates[i].time_once());
  }
  std::vector<Timing> timings;
  for (const std::vector<double>& own : seconds) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < own.size(); ++round) ratios.push_back(own[round] / seconds.front()[round]);
    timings.push_back({median_of(own), *std::min_element(own.begin(), own.end()),
                       *std::max_element(own.begin(), own.end()), median_of(ratios)});
  }
  return timings;
}

std::string table_of(const std::string& title, const std::vector<Candidate>& candidates,
                     const std::vector<Timing>& timings) {
  std::string out = fmt::format("\n{}\n{:<26}{:>11}{:>21}{:>10}{:>11}{:>11}{:>9}{:>8}{:>11}\n", title, "", "median ms",
                                "min .. max ms", "Gop/s", "x first", "floor ms", "x floor", "moduli", "bound");
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Description what = candidates[i].describe();
    const Timing& t = timings[i];
    const std::optional<double> floor = floor_of(candidates, timings, i);
    out += fmt::format(
        "{:<26}{:>11.3f}{:>21}{:>10.1f}{:>11.2f}{:>11}{:>9}{:>8}{:>11}\n", candidates[i].name, 1e3 * t.median,
        fmt::format("{:.3f} .. {:.3f}", 1e3 * t.min, 1e3 * t.max), 1e-9 * candidates[i].operations / t.median,
        t.ratio_to_first, floor ? fmt::format("{:.3f}", 1e3 * *floor) : "",
        floor ? fmt::format("{:.2f}", t.median / *floor) : "", what.moduli > 0 ? fmt::format("{}", what.moduli) : "",
        what.bound > 0 ? fmt::format("{:.2e}", what.bound) : "");
  }
  return out;
}

nlohmann::ordered_json json_of(const std::vector<Candidate>& candidates, const std::vector<Timing>& timings,
                               std::size_t index) {
  const Description what = candidates[index].describe();
  const Timing& t = timings[index];
  nlohmann::ordered_json line;
  line["candidate"] = candidates[index].name;
  line["scheme"] = what.scheme;
  line["engine"] = what.engine;
  line["moduli"] = what.moduli;
  line["bound"] = what.bound;
  line["gauge"] = what.gauge;
  line["seconds_median"] = t.median;
  line["seconds_min"] = t.min;
  line["seconds_max"] = t.max;
  line["giga_operations_per_second"] = 1e-9 * candidates[index].operations / t.median;
  line["native_seconds_median"] = timings.front().median;
  line["ratio_to_native"] = t.ratio_to_first;
  if (const std::optional<double> floor = floor_of(candidates, timings, index)) line["floor_seconds"] = *floor;
  return line;
}

}  // namespace kizami::cli
