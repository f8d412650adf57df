// SPDX-License-Identifier: MIT
// What a call costs that libkizami_blas.so leaves to the native BLAS: dgemm_ of 1 x 1 matrices as the program sees it,
// beside the same function of the native library called by its address. One JSON line, in nanoseconds a call.
//   LD_PRELOAD="libkizami_blas.so libblas.so.3" bench_blas_overhead libblas.so.3
#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "harness/options.hpp"
#include "harness/records.hpp"
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

void measure(const std::string& path, const bench::Records& records) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* native = library == nullptr ? nullptr : reinterpret_cast<Dgemm*>(dlsym(library, "dgemm_"));
  auto* seen = reinterpret_cast<Dgemm*>(dlsym(RTLD_DEFAULT, "dgemm_"));
  if (native == nullptr || seen == nullptr || seen == native)
    throw std::runtime_error("needs LD_PRELOAD=\"libkizami_blas.so LIBRARY\", and LIBRARY = '" + path +
                             "' with dgemm_");
  const bench::Overhead ns = bench::overhead_of(call_of(native), call_of(seen));
  records.append(bench::Json{{"native", path},
                             {"native_ns", ns.direct},
                             {"forwarded_ns", ns.forwarded},
                             {"overhead_ns", ns.forwarded - ns.direct}});
}

}  // namespace

int main(int argc, char** argv) {
  std::string library;
  std::string json;
  bench::Program program("bench_blas_overhead", "What a call costs that libkizami_blas.so leaves to the native BLAS");
  program.add_option("LIBRARY", library, "the native BLAS, loaded before: LD_PRELOAD=\"libkizami_blas.so LIBRARY\"");
  bench::add_json(program, json);
  return program.run(argc, argv, [&] {
    measure(library, bench::Records(json));
    return 0;
  });
}
