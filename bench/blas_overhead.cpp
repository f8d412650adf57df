// SPDX-License-Identifier: MIT
// What a call costs that libkizami_blas.so leaves to the native BLAS: dgemm_ of 1 x 1 matrices as the program sees it, beside
// the same function of the native library called by its address. One JSON line, in nanoseconds a call.
//   LD_PRELOAD="libkizami_blas.so libblas.so.3" bench_blas_overhead libblas.so.3
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>

#include "overhead.hpp"

namespace {

using Dgemm = void(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);

auto call_of(Dgemm* dgemm) {
  return [dgemm] {
    const int n = 1;
    double c = 0;
    const double a = 1.5, b = 2.5, alpha = 1, beta = 0;
    dgemm("N", "N", &n, &n, &n, &alpha, &a, &n, &b, &n, &beta, &c, &n, 1, 1);
  };
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
  const bench::Overhead ns = bench::overhead_of(call_of(native), call_of(seen));
  std::printf("{\"native\": \"%s\", \"native_ns\": %.1f, \"forwarded_ns\": %.1f, \"overhead_ns\": %.1f}\n", path,
              ns.direct, ns.forwarded, ns.forwarded - ns.direct);
  return 0;
}
