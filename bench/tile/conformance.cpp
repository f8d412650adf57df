// SPDX-License-Identifier: MIT
// Records what CUDA Tile kernels do on a device, one line of JSON a fact: whether cubins of the toolkit load on this driver,
// whether simple kernels are right, and what the language leaves to the hardware.
//
//   bench_tile_conformance > FILE
//
// Exit code 1 if a cubin does not load or a result that the language defines is wrong; what it leaves open is only recorded.
#include <cstdlib>

#include "basics.hpp"
#include "elementwise_facts.hpp"
#include "memory_facts.hpp"
#include "mma_facts.hpp"
#include "reduction_facts.hpp"

namespace {

void print_device() {
  using tile_bench::check;
  cudaDeviceProp device{};
  int runtime = 0;
  int driver = 0;
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
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

}  // namespace

int main() {
  try {
    print_device();
    int failures = tile_bench::run_basics();
    for (void (*record)() : {tile_bench::record_mma_facts, tile_bench::record_elementwise_facts,
                             tile_bench::record_reduction_facts, tile_bench::record_memory_facts}) {
      try {
        record();
      } catch (const std::exception& error) {  // the other parts are still worth having
        ++failures;
        tile_bench::print({{"kind", "error"}, {"what", error.what()}});
      }
    }
    tile_bench::print({{"kind", "summary"}, {"failures", failures}});
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_tile_conformance: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
