// SPDX-License-Identifier: MIT
// What a call costs on the CPU that libkizami_cublas.so leaves to cuBLAS: products as the program sees them, beside the same
// functions of a cuBLAS that does nothing (null_cublas.cpp), called by their addresses. One JSON line, in nanoseconds a call.
//   LD_PRELOAD="libkizami_cublas.so libnull_cublas.so" bench_cublas_overhead libnull_cublas.so
#include <cublas_v2.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

constexpr int kSize = 8;
int handle_of_null;  // which looks at no handle

double nanoseconds_per_call(decltype(&cublasDgemm_v2) gemm) {
  constexpr int kCalls = 20000;
  const double alpha = 1;
  const double beta = 0;
  auto* handle = reinterpret_cast<cublasHandle_t>(&handle_of_null);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    static_cast<void>(gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &alpha, nullptr, kSize, nullptr,
                           kSize, &beta, nullptr, kSize));
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kCalls;
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "";
  const auto find = [](void* library) {
    return reinterpret_cast<decltype(&cublasDgemm_v2)>(dlsym(library, "cublasDgemm_v2"));
  };
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  auto* native = library == nullptr ? nullptr : find(library);
  auto* seen = find(RTLD_DEFAULT);
  if (native == nullptr || seen == nullptr || seen == native) {
    std::fprintf(stderr, "needs LD_PRELOAD=\"libkizami_cublas.so LIBRARY\", and LIBRARY = '%s' with cublasDgemm_v2\n",
                 path);
    return 1;
  }
  constexpr int kRounds = 31;
  std::vector<double> direct;
  std::vector<double> forwarded;
  nanoseconds_per_call(seen);                      // finds the native library, plans
  for (int round = 0; round < kRounds; ++round) {  // in turns, so that both see the same clock
    direct.push_back(nanoseconds_per_call(native));
    forwarded.push_back(nanoseconds_per_call(seen));
  }
  std::printf("{\"size\": %d, \"native_ns\": %.1f, \"forwarded_ns\": %.1f, \"overhead_ns\": %.1f}\n", kSize,
              median(direct), median(forwarded), median(forwarded) - median(direct));
  return 0;
}
