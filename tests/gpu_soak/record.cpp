// SPDX-License-Identifier: MIT
#include "gpu_soak/record.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "lab/bench/harness/device.hpp"
#include "lab/bench/harness/facts.hpp"
#include "lab/bench/harness/records.hpp"

namespace gpu_soak {
namespace {

nlohmann::json of(const Level& level, double settled_after) {
  const Growth growth = level.after(settled_after);
  return {{"settled_peak", growth.settled_peak},
          {"peak", growth.peak},
          {"last", growth.last},
          {"growth_percent", growth.peak_percent},
          {"early_median", growth.early_median},
          {"late_median", growth.late_median},
          {"median_growth_percent", growth.median_percent}};
}

}  // namespace

void append_record(const Options& options, const Report& report) {
  if (options.json.empty()) return;
  nlohmann::json calls = nlohmann::json::object(), types = nlohmann::json::object();
  for (int i = 0; i < kNumRoutines; ++i)
    calls[name_of(static_cast<Routine>(i))] = report.calls[static_cast<std::size_t>(i)];
  for (std::size_t i = 0; i < 4; ++i) {
    types[std::string(1, "sdcz"[i])] = {{"calls", report.calls_of_type[i]},
                                        {"worst_error_by_allowed", report.worst[i]}};
  }
  const Limits& limits = options.wishes.limits;
  const DeviceMemory::Peaks peaks = DeviceMemory::peaks();
  const auto of_level = [&](const Level& level) { return of(level, settled_after(options, report)); };
  const nlohmann::json record{
      {"bench", "gpu_soak"},
      {"date", bench::today()},
      {"commit", options.commit},
      {"device", bench::device_name()},
      {"driver", bench::Gauges().driver},
      {"mode", options.mode},
      {"library", bench::answering_library()},
      {"settings", bench::settings()},
      {"threads", options.threads},
      {"streams", options.threads * options.streams},
      {"seed", options.seed},
      {"max_size", limits.max_size},
      {"large", limits.large_every},
      {"phi_max", limits.phi_max},
      {"features", limits.features.text()},
      {"accuracy_bits", options.wishes.standard.bits},
      {"seconds", report.seconds},
      {"num_calls", report.num_calls()},
      {"calls", calls},
      {"types", types},
      {"large_calls", report.large_calls},
      {"failures", report.failures},
      {"unsupported", report.unsupported},
      {"refused_for_memory", report.refused},
      {"replays", report.replays},
      {"handles", report.handles},
      {"asked_again", report.asked_again},
      {"compared_results", report.compared_results},
      {"times_of_pressure", report.times_of_pressure},
      {"own_bytes", report.own_bytes},
      {"device_measure", report.device_measure},
      {"device_bytes", of_level(report.device.of(Part::kWhole))},
      {"workspace_bytes", of_level(report.device.of(Part::kWorkspaces))},
      {"workspace_peak", report.workspaces_left.most_held},
      {"workspaces_used_at_end", report.workspaces_left.used},
      {"graphs_used_at_end", report.used_by_graphs_left},
      {"cases", options.cases},
      {"all_met", report.all_met},
      {"settled_after", settled_after(options, report)},
      {"graph_bytes", of_level(report.device.of(Part::kGraphs))},
      {"graphs_held_peak", peaks.graphs_held},
      {"graphs_used_peak", peaks.graphs_used},
      {"host_bytes", of_level(report.resident)},
      {"host_anonymous_bytes", of_level(report.anonymous)},
      {"heap_bytes", of_level(report.heap)},
      {"default_pool_bytes", of_level(report.device.of(Part::kDefaultPool))},
      {"default_pool_held_peak", peaks.default_pool_held},
      {"default_pool_used_peak", peaks.default_pool_used},
      {"rest_bytes", of_level(report.device.of(Part::kRest))},
      {"device_parts_grown", report.device.grown_after(settled_after(options, report))},
      {"module_loading", DeviceMemory::module_loading()},
      {"crowds",
       {{"crowds", report.crowds.crowds},
        {"rounds", report.crowds.rounds},
        {"later_rounds", report.crowds.later_rounds},
        {"rounds_not_at_once", report.crowds.not_at_once},
        {"first_seconds", report.first_crowd},
        {"used_workspaces_peak", report.crowds.used_workspaces}}},
  };
  bench::Records(options.json).append(record);
}

}  // namespace gpu_soak
