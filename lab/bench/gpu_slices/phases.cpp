// SPDX-License-Identifier: MIT
#include "gpu_slices/phases.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

enum Phase { kSplit, kProduct, kSums, kRest, kNumPhases };

/// By what the mangled name of a kernel has, first things first; other kernels are products.
constexpr std::pair<const char*, Phase> kPhaseOfKernels[] = {
    {"10sum_slices", kSums},
    {"12scale_kernel", kSums},
    {"18reconstruct_kernel", kSums},
    {"22reconstruct_from_bytes", kSums},
    {"16find_crt_factors", kSums},
    {"14count_failures", kProduct},
    {"6kizami7certify11second_look", kProduct},
    {"6kizami7certify", kSplit},  // the call's state, statistics
    {"6kizami4exec", kSplit},
    {"6kizami6native", kSplit},
    {"6kizami2ec", kSplit},
    {"6kizami6ozaki1", kSplit},
    {"6kizami6ozaki2", kSplit},
    {"6kizami4fp64", kRest},
};

[[nodiscard]] Phase phase_of(const std::string& kernel) {
  for (const auto& [part, phase] : kPhaseOfKernels) {
    if (kernel.find(part) != std::string::npos) return phase;
  }
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
