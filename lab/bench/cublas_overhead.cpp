// SPDX-License-Identifier: MIT
// What a call costs on the CPU that libkizami_cublas.so leaves to cuBLAS: products as the program sees them, beside the
// same functions of a cuBLAS that does nothing (null_cublas.cpp), called by their addresses. One JSON line, in
// nanoseconds a call.
//   LD_PRELOAD="libkizami_cublas.so libnull_cublas.so" bench_cublas_overhead libnull_cublas.so
#include <cublas_v2.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "harness/options.hpp"
#include "harness/records.hpp"
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

void measure(const std::string& path, const bench::Records& records) {
  const auto find = [](void* library) {
    return reinterpret_cast<decltype(&cublasDgemm_v2)>(dlsym(library, "cublasDgemm_v2"));
  };
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* native = library == nullptr ? nullptr : find(library);
  auto* seen = find(RTLD_DEFAULT);
  if (native == nullptr || seen == nullptr || seen == native)
    throw std::runtime_error("needs LD_PRELOAD=\"libkizami_cublas.so LIBRARY\", and LIBRARY = '" + path +
                             "' with cublasDgemm_v2");
  const bench::Overhead ns = bench::overhead_of(call_of(native), call_of(seen));
  records.append(bench::Json{{"size", kSize},
                             {"native_ns", ns.direct},
                             {"forwarded_ns", ns.forwarded},
                             {"overhead_ns", ns.forwarded - ns.direct}});
}

}  // namespace

int main(int argc, char** argv) {
  std::string library;
  std::string json;
  bench::Program program("bench_cublas_overhead", "What a call costs that libkizami_cublas.so leaves to cuBLAS");
  program.add_option("LIBRARY", library,
                     "a cuBLAS that does nothing, loaded before: LD_PRELOAD=\"libkizami_cublas.so LIBRARY\"");
  bench::add_json(program, json);
  return program.run(argc, argv, [&] {
    measure(library, bench::Records(json));
    return 0;
  });
}
