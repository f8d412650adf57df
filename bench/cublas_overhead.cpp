// SPDX-License-Identifier: MIT
// What a call costs on the CPU that libkizami_cublas.so leaves to cuBLAS: products as the program sees them, beside the same
// functions of a cuBLAS that does nothing (null_cublas.cpp), called by their addresses. One JSON line, in nanoseconds a call.
//   LD_PRELOAD="libkizami_cublas.so libnull_cublas.so" bench_cublas_overhead libnull_cublas.so
#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstdio>

#include "overhead.hpp"

namespace {

constexpr int kSize = 8;
int handle_of_null;  // which looks at no handle

auto call_of(decltype(&cublasDgemm_v2) gemm) {
  return [gemm] {
    const double alpha = 1;
    const double beta = 0;
    auto* handle = reinterpret_cast<cublasHandle_t>(&handle_of_null);
    static_cast<void>(gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &alpha, nullptr, kSize, nullptr,
                           kSize, &beta, nullptr, kSize));
  };
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
  const bench::Overhead ns = bench::overhead_of(call_of(native), call_of(seen));
  std::printf("{\"size\": %d, \"native_ns\": %.1f, \"forwarded_ns\": %.1f, \"overhead_ns\": %.1f}\n", kSize, ns.direct,
              ns.forwarded, ns.forwarded - ns.direct);
  return 0;
}
