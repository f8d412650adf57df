// SPDX-License-Identifier: MIT
#include "gpu_soak/record.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace gpu_soak {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::string driver() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  char text[96] = "unknown";
  if (library == nullptr) return text;
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto version = reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
  if (init == nullptr || version == nullptr || init() != 0 || version(text, sizeof text) != 0) return "unknown";
  return text;
}

/// KIZAMI_* of the environment.
nlohmann::json settings() {
  nlohmann::json result = nlohmann::json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t end = text.find('=');
    if (text.rfind("KIZAMI_REQUIRE_", 0) == 0) continue;  // of tests
    if (text.rfind("KIZAMI_", 0) == 0 && end != std::string::npos) result[text.substr(0, end)] = text.substr(end + 1);
  }
  return result;
}

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

/// Of the device's default pool, which programs share.
nlohmann::json default_pool() {
  cudaMemPool_t pool = nullptr;
  std::uint64_t reserved = 0, used = 0;
  check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &reserved), "cudaMemPoolGetAttribute");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used), "cudaMemPoolGetAttribute");
  return {{"reserved_peak", reserved}, {"used_peak", used}};
}

}  // namespace

std::string answering_library() {
  Dl_info info{};
  void* const function = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
  if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

void append_record(const Options& options, const Report& report) {
  if (options.json.empty()) return;
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  nlohmann::json calls = nlohmann::json::object(), types = nlohmann::json::object();
  for (int i = 0; i < kNumRoutines; ++i)
    calls[name_of(static_cast<Routine>(i))] = report.calls[static_cast<std::size_t>(i)];
  for (std::size_t i = 0; i < 4; ++i) {
    types[std::string(1, "sdcz"[i])] = {{"calls", report.calls_of_type[i]},
                                        {"worst_error_by_allowed", report.worst[i]}};
  }
  const Limits& limits = options.wishes.limits;
  const auto of_level = [&](const Level& level) { return of(level, settled_after(options, report)); };
  const nlohmann::json record{
      {"bench", "gpu_soak"},
      {"date", today()},
      {"commit", options.commit},
      {"device", device.name},
      {"driver", driver()},
      {"mode", options.mode},
      {"library", answering_library()},
      {"settings", settings()},
      {"threads", options.threads},
      {"streams", options.threads * options.streams},
      {"seed", options.seed},
      {"max_size", limits.max_size},
      {"phi_max", limits.phi_max},
      {"features", limits.features.text()},
      {"accuracy_bits", options.wishes.standard.bits},
      {"seconds", report.seconds},
      {"num_calls", report.num_calls()},
      {"calls", calls},
      {"types", types},
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
      {"device_bytes", of_level(report.device)},
      {"workspace_bytes", of_level(report.workspaces)},
      {"workspace_peak", report.workspaces_left.most_held},
      {"workspaces_used_at_end", report.workspaces_left.used},
      {"graphs_used_at_end", report.used_by_graphs_left},
      {"cases", options.cases},
      {"all_met", report.all_met},
      {"graph_bytes", of_level(report.graphs)},
      {"host_bytes", of_level(report.resident)},
      {"host_anonymous_bytes", of_level(report.anonymous)},
      {"heap_bytes", of_level(report.heap)},
      {"default_pool_bytes", default_pool()},
  };
  std::ofstream file(options.json, std::ios::app);
  file << record.dump() << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot append to '" + options.json + "'");
}

}  // namespace gpu_soak
