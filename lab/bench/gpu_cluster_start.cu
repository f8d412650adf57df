// SPDX-License-Identifier: MIT
// How far apart the CTAs of one cluster begin, alone on the card and beside other streams: why a kernel may not touch
// the shared memory of a peer before all of its cluster have begun (docs/adr/0020-peers-of-a-cluster.md). Streams of
// their own threads launch in turn a kernel that holds whole multiprocessors (as products do, with all of their shared
// memory) and one in clusters (as the split of FP32 operands), whose CTAs note when they begin. One JSON line for each
// number of streams.
//   bench_gpu_cluster_start --streams 1 --streams 8 --cluster 8
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "harness/device.hpp"
#include "harness/facts.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"

namespace {

using bench::check;

[[nodiscard]] __device__ std::uint64_t nanoseconds() {
  std::uint64_t time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}
__device__ void hold(std::uint64_t from, std::uint64_t ns) {
  while (nanoseconds() - from < ns) {
  }
}

constexpr unsigned kThreads = 256;
constexpr int kMostShared = 227 * 1024;
constexpr int kSplitShared = 37 * 1024;  ///< of a CTA of the split of FP32 operands
constexpr unsigned kCtas = 128;

/// A product's place on the card. Its CTAs end at different times.
__global__ void occupy() { hold(nanoseconds(), 5'000 + 1'000 * (blockIdx.x * 7 % 16)); }

__global__ void note_start(std::uint64_t* starts) {
  const std::uint64_t start = nanoseconds();
  if (threadIdx.x == 0) starts[blockIdx.x] = start;
  hold(start, 4'000);
}

/// What one stream does. starts: kCtas of each launch
void run_stream(int launches, unsigned cluster, std::uint64_t* starts) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kCtas);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSplitShared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (int l = 0; l < launches; ++l) {
    occupy<<<100, kThreads, kMostShared, stream>>>();
    check(cudaLaunchKernelEx(&config, note_start, starts + static_cast<std::size_t>(l) * kCtas), "note_start");
    if (l % 64 == 63) check(cudaStreamSynchronize(stream), "synchronise");
  }
  check(cudaStreamSynchronize(stream), "synchronise");
  check(cudaStreamDestroy(stream), "stream");
}

/// Nanoseconds between the first and the last CTA of each cluster, rising.
std::vector<std::uint64_t> measure(int streams, int launches, unsigned cluster) {
  const std::size_t count = static_cast<std::size_t>(streams) * static_cast<std::size_t>(launches) * kCtas;
  std::uint64_t* starts = nullptr;
  check(cudaMalloc(&starts, count * sizeof *starts), "cudaMalloc");
  std::vector<std::thread> threads;
  for (int s = 0; s < streams; ++s)
    threads.emplace_back(run_stream, launches, cluster, starts + static_cast<std::size_t>(s * launches) * kCtas);
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint64_t> times(count);
  check(cudaMemcpy(times.data(), starts, count * sizeof *starts, cudaMemcpyDeviceToHost), "cudaMemcpy");
  check(cudaFree(starts), "cudaFree");
  std::vector<std::uint64_t> apart;
  for (auto first = times.begin(); first != times.end(); first += cluster) {
    const auto [least, most] = std::minmax_element(first, first + cluster);
    apart.push_back(*most - *least);
  }
  std::sort(apart.begin(), apart.end());
  return apart;
}

struct Options {
  std::vector<int> streams{1, 8};
  std::vector<unsigned> clusters{2, 8};
  int launches = 2000;
  std::string commit = "unknown";
  std::string json;
};

int run(const Options& options) {
  const bench::Records records(options.json);
  check(cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostShared), "occupy");
  check(cudaFuncSetAttribute(note_start, cudaFuncAttributeMaxDynamicSharedMemorySize, kSplitShared), "note_start");
  for (const unsigned cluster : options.clusters) {
    for (const int count : options.streams) {
      const std::vector<std::uint64_t> apart = measure(count, options.launches, cluster);
      const auto at = [&](double share) {
        return apart[static_cast<std::size_t>(share * (static_cast<double>(apart.size()) - 1))];
      };
      records.append(bench::Json{{"date", bench::today()},
                                 {"commit", options.commit},
                                 {"driver", bench::Gauges().driver},
                                 {"case", "cluster start"},
                                 {"cluster", cluster},
                                 {"streams", count},
                                 {"clusters", apart.size()},
                                 {"ns_median", at(0.5)},
                                 {"ns_p99", at(0.99)},
                                 {"ns_p9999", at(0.9999)},
                                 {"ns_max", apart.back()}});
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_cluster_start", "How far apart the CTAs of a cluster begin");
  program.add_option("--streams", options.streams, "numbers of streams")->check(CLI::Range(1, 64));
  program.add_option("--cluster", options.clusters, "CTAs of a cluster")->check(CLI::IsMember({2, 4, 8}));
  program.add_option("--launches", options.launches, "of each stream")->check(CLI::Range(1, 100000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] { return run(options); });
}
