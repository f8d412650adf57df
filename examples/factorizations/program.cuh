// SPDX-License-Identifier: MIT
// What the programs of factorizations have in common: options, times, the record.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device.cuh"

namespace factorizations {

struct ProgramOptions {
  std::int64_t n = 4096;
  std::int64_t block = 0;  ///< 0: the program's own
  int rounds = 3;
  std::string panels = "own";
  bool looks_ahead = true;
  bool has_cusolver = true;
  std::string commit = "unknown";
  std::string json;
};

[[nodiscard]] inline ProgramOptions parsed(int argc, char** argv) {
  ProgramOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--no-look-ahead") {
      options.looks_ahead = false;
    } else if (name == "--no-cusolver") {
      options.has_cusolver = false;
    } else if (i + 1 < argc && name == "--n") {
      options.n = std::atoll(argv[++i]);
    } else if (i + 1 < argc && name == "--block") {
      options.block = std::atoll(argv[++i]);
    } else if (i + 1 < argc && name == "--rounds") {
      options.rounds = std::atoi(argv[++i]);
    } else if (i + 1 < argc && name == "--panels") {
      options.panels = argv[++i];
    } else if (i + 1 < argc && name == "--commit") {
      options.commit = argv[++i];
    } else if (i + 1 < argc && name == "--json") {
      options.json = argv[++i];
    } else {
      std::fprintf(stderr,
                   "usage: %s [--n N] [--block COLUMNS] [--rounds R] [--panels own|cusolver] [--no-look-ahead] "
                   "[--no-cusolver] [--json FILE] [--commit COMMIT]\n",
                   argv[0]);
      std::exit(2);
    }
  }
  const bool has_panels = options.panels == "own" || options.panels == "cusolver";
  if (options.n < 1 || options.block < 0 || options.rounds < 1 || !has_panels) {
    std::fprintf(stderr, "n = %lld, block = %lld, rounds = %d, panels = %s: out of range\n",
                 static_cast<long long>(options.n), static_cast<long long>(options.block), options.rounds,
                 options.panels.c_str());
    std::exit(2);
  }
  return options;
}

/// Seconds of each round, the shortest first: from an idle device to an idle device.
[[nodiscard]] inline std::vector<double> seconds_of(int rounds, const std::function<void()>& prepare,
                                                    const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int round = -1; round < rounds; ++round) {  // the first one plans, loads kernels and is not counted
    prepare();
    require(cudaDeviceSynchronize(), "before a round");
    const auto begin = std::chrono::steady_clock::now();
    work();
    require(cudaDeviceSynchronize(), "a round");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (round >= 0) seconds.push_back(took.count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

struct Found {
  std::string program;
  double operations = 0;
  double residual = 0;  ///< scaled as HPL does: below 16 it is passed
  std::vector<double> seconds;
  std::map<std::string, double> phases;
  double cusolver_residual = 0;
  std::vector<double> cusolver_seconds;  ///< empty: not asked
};

/// Says and records what was found. @return the exit status of the program
[[nodiscard]] inline int told(const ProgramOptions& options, std::int64_t block, const Found& found) {
  constexpr double kThreshold = 16;
  const auto tflops = [&](const std::vector<double>& seconds) {
    return seconds.empty() ? 0.0 : found.operations / seconds[seconds.size() / 2] * 1e-12;
  };
  const double median = found.seconds[found.seconds.size() / 2];
  const double cusolver =
      found.cusolver_seconds.empty() ? 0 : found.cusolver_seconds[found.cusolver_seconds.size() / 2];
  std::printf("%s n = %lld, block %lld: %.4f s, %.1f TFLOPS, residual %.3g", found.program.c_str(),
              static_cast<long long>(options.n), static_cast<long long>(block), median, tflops(found.seconds),
              found.residual);
  if (cusolver > 0)
    std::printf("; cuSOLVER %.4f s, %.1f TFLOPS, residual %.3g", cusolver, tflops(found.cusolver_seconds),
                found.cusolver_residual);
  std::printf("\n");
  std::string phases;
  for (const auto& [name, seconds] : found.phases) {
    std::printf("  %-10s %.4f s\n", name.c_str(), seconds);
    phases += (phases.empty() ? "\"" : ", \"") + name + "\": " + std::to_string(seconds);
  }
  if (!options.json.empty()) {
    int device = 0;
    cudaDeviceProp properties{};
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    const std::time_t now = std::time(nullptr);
    char today[16] = "";
    std::strftime(today, sizeof today, "%Y-%m-%d", std::gmtime(&now));
    std::FILE* const file = std::fopen(options.json.c_str(), "a");
    if (file == nullptr) {
      std::perror(options.json.c_str());
      return 1;
    }
    std::fprintf(file,
                 "{\"date\": \"%s\", \"commit\": \"%s\", \"device\": \"%s\", \"program\": \"%s\", \"n\": %lld, "
                 "\"block\": %lld, \"panels\": \"%s\", \"look_ahead\": %s, \"seconds_median\": %.6f, \"seconds_min\": "
                 "%.6f, \"tflops\": %.3f, \"residual\": %.4g, \"phases\": {%s}, \"cusolver_seconds_median\": %.6f, "
                 "\"cusolver_tflops\": %.3f, \"cusolver_residual\": %.4g}\n",
                 today, options.commit.c_str(), properties.name, found.program.c_str(),
                 static_cast<long long>(options.n), static_cast<long long>(block), options.panels.c_str(),
                 options.looks_ahead ? "true" : "false", median, found.seconds.front(), tflops(found.seconds),
                 found.residual, phases.c_str(), cusolver, tflops(found.cusolver_seconds), found.cusolver_residual);
    if (std::fclose(file) != 0) return 1;
  }
  if (found.residual < kThreshold) return 0;  // not a NaN either
  std::printf("the residual is not below %g\n", kThreshold);
  return 1;
}

[[nodiscard]] inline bool has_device() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  std::printf("no device\n");
  return false;
}

/// When all streams are idle.
[[nodiscard]] inline std::vector<double> downloaded(const double* values, std::int64_t count) {
  std::vector<double> host(static_cast<std::size_t>(count));
  require(cudaDeviceSynchronize(), "what is looked at");
  require(cudaMemcpy(host.data(), values, host.size() * sizeof(double), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}
/// A NaN is the largest.
[[nodiscard]] inline double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) {
    const double size = x < 0 ? -x : x;
    if (!(size <= most) && !std::isnan(most)) most = size;
  }
  return most;
}

/// The largest sum of absolute values of a row.
[[nodiscard]] inline double row_norm(const Matrix& a) {
  const Buffer<double> sums(a.rows);
  sums_of_rows<<<static_cast<unsigned>((a.rows + 255) / 256), 256>>>(a.data, a.rows, sums.get());
  return largest(downloaded(sums.get(), a.rows));
}

}  // namespace factorizations
