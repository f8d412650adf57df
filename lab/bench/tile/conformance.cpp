// SPDX-License-Identifier: MIT
// Records what CUDA Tile kernels do on a device, one line of JSON a fact: whether cubins of the toolkit load on this
// driver, whether simple kernels are right, and what the language leaves to the hardware.
//
//   bench_tile_conformance > FILE      everything; needs 14 GB of device memory
//   bench_tile_conformance --basics    loads and simple kernels only: a test
//
// Exit code 1 if a cubin does not load or a result that the language defines is wrong; what it leaves open is only
// recorded.
#include <cstdlib>

#include "basics.hpp"
#include "elementwise_facts.hpp"
#include "harness/options.hpp"
#include "memory_facts.hpp"
#include "mma_facts.hpp"
#include "reduction_facts.hpp"

namespace {

void print_device() {
  using tile_bench::check;
  const cudaDeviceProp device = bench::device_properties();
  int runtime = 0;
  int driver = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  std::string kernel_driver = "unknown";
  if (std::FILE* const file = std::fopen("/proc/driver/nvidia/version", "r")) {
    char line[256] = {};
    if (std::fgets(line, sizeof line, file) != nullptr) kernel_driver = line;
    std::fclose(file);
    while (!kernel_driver.empty() && kernel_driver.back() == '\n') kernel_driver.pop_back();
  }
  tile_bench::print({{"kind", "device"},
                     {"name", device.name},
                     {"compute_capability", std::to_string(device.major) + "." + std::to_string(device.minor)},
                     {"driver_api", driver},
                     {"runtime", runtime},
                     {"kernel_driver", kernel_driver}});
}

/// 0, or how a run ends early: 77 (ctest counts a skip) without a device, 1 if KIZAMI_REQUIRE_GPU is set (./kz gpu-test
/// does).
int exit_code_without_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return 0;
  std::fprintf(stderr, "bench_tile_conformance: no CUDA device: %s\n", cudaGetErrorString(error));
  return std::getenv("KIZAMI_REQUIRE_GPU") != nullptr ? 1 : 77;
}

/// Each part is recorded even if another one fails. Returns the number of parts that failed.
int record_facts() {
  int failures = 0;
  for (void (*record)() : {tile_bench::record_mma_facts, tile_bench::record_elementwise_facts,
                           tile_bench::record_reduction_facts, tile_bench::record_memory_facts}) {
    try {
      record();
    } catch (const std::exception& error) {
      ++failures;
      tile_bench::print({{"kind", "error"}, {"what", error.what()}});
    }
  }
  return failures;
}

int run(bool is_basic) {
  if (const int code = exit_code_without_device(); code != 0) return code;
  print_device();
  int failures = tile_bench::run_basics();
  if (!is_basic) failures += record_facts();
  tile_bench::print({{"kind", "summary"}, {"failures", failures}});
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_basic = false;
  bench::Program program("bench_tile_conformance", "What CUDA Tile kernels do on a device");
  program.add_flag("--basics", is_basic, "loads and simple kernels only: a test");
  return program.run(argc, argv, [&] { return run(is_basic); });
}
