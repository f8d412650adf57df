// SPDX-License-Identifier: MIT
// What a call costs that libkizami_blas.so leaves to the native BLAS: dgemm_ of 1 x 1 matrices as the program sees it, beside
// the same function of the native library called by its address. One JSON line, in nanoseconds a call.
//   LD_PRELOAD="libkizami_blas.so libblas.so.3" bench_blas_overhead libblas.so.3
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

using Dgemm = void(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);

double nanoseconds_per_call(Dgemm* dgemm) {
  constexpr int kCalls = 20000;
  const int n = 1;
  const double a = 1.5, b = 2.5, alpha = 1, beta = 0;
  double c = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) dgemm("N", "N", &n, &n, &n, &alpha, &a, &n, &b, &n, &beta, &c, &n, 1, 1);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kCalls;
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "";
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  auto* native = library == nullptr ? nullptr : reinterpret_cast<Dgemm*>(dlsym(library, "dgemm_"));
  auto* seen = reinterpret_cast<Dgemm*>(dlsym(RTLD_DEFAULT, "dgemm_"));
  if (native == nullptr || seen == nullptr || seen == native) {
    std::fprintf(stderr, "needs LD_PRELOAD=\"libkizami_blas.so LIBRARY\", and LIBRARY = '%s' with dgemm_\n", path);
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
  std::printf("{\"native\": \"%s\", \"native_ns\": %.1f, \"forwarded_ns\": %.1f, \"overhead_ns\": %.1f}\n", path,
              median(direct), median(forwarded), median(forwarded) - median(direct));
  return 0;
}
