// SPDX-License-Identifier: MIT
#include "gpu_slices/phases.hpp"

#include <string>
#include <vector>

namespace bench {
namespace {

enum Phase { kSplit, kProduct, kSums, kRest, kNumPhases };

[[nodiscard]] Phase phase_of(const std::string& kernel) {
  const auto is_of = [&kernel](const char* part) { return kernel.find(part) != std::string::npos; };
  if (is_of("6kizami5split") || is_of("6kizami4exec")) return kSplit;
  if (is_of("6kizami11reconstruct")) return kSums;
  if (is_of("6kizami4fp64")) return kRest;
  return kProduct;
}

}  // namespace

std::unique_ptr<PhaseTimer> slice_phase_timer(const std::function<void(cudaStream_t)>& call) {
  return std::make_unique<PhaseTimer>(call, kNumPhases, [](const std::vector<std::string>& kernels) {
    std::vector<int> phases;
    for (const std::string& kernel : kernels) phases.push_back(phase_of(kernel));
    return phases;
  });
}

Phases time_slice_phases(const PhaseTimer& timer) {
  const std::vector<double> ms = timer.time();
  return {ms[kSplit], ms[kProduct], ms[kSums], ms[kRest], timer.num_kernels()};
}

}  // namespace bench
