// SPDX-License-Identifier: MIT
#include "gpu_multi/ways.cuh"

#include "device_timeline.hpp"

namespace bench::shared {
namespace {

/// Adds to *differences the 8-byte words of x and y that differ.
__global__ void count_differences(const unsigned long long* x, const unsigned long long* y, std::int64_t words,
                                  unsigned long long* differences) {
  unsigned long long here = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < words;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    here += x[i] != y[i] ? 1 : 0;
  if (here != 0) atomicAdd(differences, here);
}

}  // namespace

std::string text_of(const std::vector<int>& devices) {
  std::string text;
  for (const int device : devices) {
    if (!text.empty()) text += ',';
    text += std::to_string(device);
  }
  return text;
}

void wait_for(const std::vector<int>& devices) {
  for (const int device : devices) {
    const OnDevice current(device);
    check(cudaDeviceSynchronize(), "waiting");
  }
}

unsigned long long count_differing_words(const void* x, const void* y, std::int64_t words) {
  const DeviceBuffer<unsigned long long> count(1);
  check(cudaMemset(count.data, 0, 8), "differences");
  count_differences<<<1024, 256>>>(static_cast<const unsigned long long*>(x), static_cast<const unsigned long long*>(y),
                                   words, count.data);
  unsigned long long result = 0;
  check(cudaMemcpy(&result, count.data, 8, cudaMemcpyDeviceToHost), "differences");
  return result;
}

void time_all(std::vector<Way>& ways, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) {
      wait_for(way.devices);
      const auto begin = std::chrono::steady_clock::now();
      way.call();
      const std::chrono::duration<float, std::milli> took = std::chrono::steady_clock::now() - begin;
      way.milliseconds.push_back(took.count());
    }
  }
}

void record_timelines(const std::vector<Way>& ways, const std::string& what, const std::string& path) {
  if (path.empty()) return;
  for (const Way& way : ways) {
    if (way.who.starts_with("cublas")) continue;
    wait_for(way.devices);
    write_timeline(record_timeline(way.call),
                   what + ", " + way.who + ", devices " + text_of(way.devices) + ", parts " + std::to_string(way.parts),
                   path);
  }
}

}  // namespace bench::shared
