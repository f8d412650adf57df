// SPDX-License-Identifier: MIT
// gpu_preload_check [--self-test] [--expect-kizami] [--bits N] [--monitored LOG] [--learned]: an ordinary program that
// multiplies with cuBLAS and judges the results. It knows nothing of what may be preloaded before cuBLAS, except for
// --expect-kizami: then the four products must come from another library, differ from those of cuBLAS, and have the
// same bits however they are called. --bits N: the accuracy that is asked for. --monitored LOG: calls are monitored
// (KIZAMI_MONITOR=1, KIZAMI_LOG=LOG), and may wait. --learned: only what is learned of elements is looked at: calls
// that cuBLAS answers faster are its own from the third on, unless --expect-kizami. --self-test: judges the judge,
// without a device. One line for each check; exit code 1 if one failed, 77 without a device.
#include <cstdlib>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

void check_device(const char* log) {
  const Handle handle;
  check_graphs(handle);  // first, for the first call of a shape plans it
  check_products(handle);
  check_entry_points(handle);
  check_lt(handle);
  if (log == nullptr) check_xt(handle);  // no samples of its calls are taken
  check_level3(handle);
  check_handles(handle);
  check_streams(log != nullptr);
  check_kept(handle, log != nullptr);
  if (log != nullptr) check_monitor(log);
}

int main(int argc, char** argv) {
  const char* log = nullptr;
  bool is_learned = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--expect-kizami") {
      expects_kizami = true;
    } else if (argument == "--self-test") {
      check_judge();
      return num_failed == 0 ? 0 : 1;
    } else if (argument == "--bits" && i + 1 < argc) {
      asked_bits() = std::atoi(argv[++i]);
    } else if (argument == "--monitored" && i + 1 < argc) {
      log = argv[++i];
    } else if (argument == "--learned") {
      is_learned = true;
    } else {
      std::fprintf(
          stderr,
          "usage: gpu_preload_check [--self-test] [--expect-kizami] [--bits N] [--monitored LOG] [--learned]\n");
      return 2;
    }
  }
  int num_devices = 0;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) {
    std::printf("no CUDA device\n");
    return std::getenv("KIZAMI_REQUIRE_GPU") == nullptr ? 77 : 1;
  }
  if (is_learned) {
    guarded("device", [] { check_learned(Handle()); });
  } else {
    guarded("device", [&] { check_device(log); });
    guarded("device", check_second_device);
  }
  std::printf("%s: %d checks failed\n", num_failed == 0 ? "OK" : "FAIL", num_failed);
  return num_failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace preload_check

int main(int argc, char** argv) { return preload_check::main(argc, argv); }