// SPDX-License-Identifier: MIT
// One product on several GPUs of a host: the time, and the bits of one GPU. Matrices lie in host memory; pointers to the memory of a device
// do as well. No CUDA header is needed.
//   g++ -std=c++20 12_several_gpus.cpp -o several_gpus $(pkg-config --cflags --libs kizami)
//   ./several_gpus 0 1 2 3        # CUDA's numbers of the devices; who has one card sees the same with 0 0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kizami/multi.hpp"

namespace {

constexpr std::int64_t n = 4096;  // 0.4 GB in all

/// Seconds of the quicker of two calls (the first loads kernels), or below zero.
double seconds_on(const std::vector<int>& devices, const std::vector<double>& a, const std::vector<double>& b,
                  std::vector<double>& c, kizami::Status& status) {
  const kizami::multi::Placement placement{.devices = devices};
  constexpr kizami::Op kAsGiven = kizami::Op::kNone;
  double best = -1;
  for (int call = 0; call < 2; ++call) {
    const auto begin = std::chrono::steady_clock::now();
    status = kizami::multi::gemm<double>(placement, kizami::Layout::kColMajor, kAsGiven, kAsGiven, n, n, n, 1.0,
                                         a.data(), n, b.data(), n, 0.0, c.data(), n);
    if (!status.ok()) return -1;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (best < 0 || seconds < best) best = seconds;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> devices;
  for (int i = 1; i < argc; ++i) devices.push_back(std::atoi(argv[i]));
  if (devices.empty()) devices = {0, 0};
  std::vector<double> a(static_cast<std::size_t>(n * n));
  std::vector<double> b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(i * 7919 % 10007) / 10007 - 0.5;
    b[i] = static_cast<double>(i * 104729 % 10009) / 10009 - 0.5;
  }
  std::vector<double> on_one(a.size());
  std::vector<double> on_all(a.size());
  kizami::Status status;
  const double one = seconds_on({devices[0]}, a, b, on_one, status);
  const double all = status.ok() ? seconds_on(devices, a, b, on_all, status) : -1;
  if (status.code() == kizami::StatusCode::kUnsupported && std::getenv("KIZAMI_REQUIRE_GPU") == nullptr) {
    std::printf("skipped: %s\n", status.reason().c_str());
    return 77;
  }
  if (!status.ok()) {
    std::printf("%s\n", status.reason().c_str());
    return 1;
  }
  const bool is_equal = std::memcmp(on_one.data(), on_all.data(), on_one.size() * sizeof(double)) == 0;
  std::printf("one device %.3f s, %zu devices %.3f s: %s\n", one, devices.size(), all,
              is_equal ? "the bits of one" : "OTHER BITS");
  return is_equal ? 0 : 1;
}
