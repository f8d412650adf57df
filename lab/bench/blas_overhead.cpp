// SPDX-License-Identifier: MIT
// What a call costs that libkizami_blas.so leaves to the native BLAS: dgemm_ of small matrices as the program sees it,
// or cblas_dgemm, beside the same function of the native library called by its address. One JSON line, in nanoseconds a call.
//   LD_PRELOAD="libkizami_blas.so libblas.so.3" bench_blas_overhead libblas.so.3
//   KIZAMI_AUDIT=1 KIZAMI_REPORT=FOLDER LD_PRELOAD="libkizami_blas.so libblas.so.3" bench_blas_overhead libblas.so.3 --n 8 --cblas
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/options.hpp"
#include "harness/records.hpp"
#include "overhead.hpp"

namespace {

using Dgemm = void(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);

using CblasDgemm = void(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                        int);

/// Of a cache line: where matrices begin must not tell the ways apart.
struct alignas(64) Line {
  double element[8];
};
std::vector<Line> matrix(int n, double element) {
  std::vector<Line> lines((static_cast<std::size_t>(n) * static_cast<std::size_t>(n) + 7) / 8);
  for (Line& line : lines) std::fill(std::begin(line.element), std::end(line.element), element);
  return lines;
}

auto call_of(Dgemm* dgemm, int n) {
  return [dgemm, n, a = matrix(n, 1.5), b = matrix(n, 2.5), c = matrix(n, 0)]() mutable {
    const double alpha = 1, beta = 0;
    dgemm("N", "N", &n, &n, &n, &alpha, a.data()->element, &n, b.data()->element, &n, &beta, c.data()->element, &n, 1,
          1);
  };
}

auto call_of(CblasDgemm* dgemm, int n) {
  return [dgemm, n, a = matrix(n, 1.5), b = matrix(n, 2.5), c = matrix(n, 0)]() mutable {
    constexpr int kColMajor = 102, kNoTrans = 111;
    dgemm(kColMajor, kNoTrans, kNoTrans, n, n, n, 1, a.data()->element, n, b.data()->element, n, 0, c.data()->element,
          n);
  };
}

template <class Function>
void measure(const char* name, const std::string& path, int n, const std::string& commit,
             const bench::Records& records) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* native = library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
  auto* seen = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  if (native == nullptr || seen == nullptr || seen == native)
    throw std::runtime_error("needs LD_PRELOAD=\"libkizami_blas.so LIBRARY\", and LIBRARY = '" + path + "' with " +
                             name);
  const bench::Overhead ns = bench::overhead_of(call_of(native, n), call_of(seen, n));
  records.append(bench::Json{{"native", path},
                             {"function", name},
                             {"n", n},
                             {"audit", std::getenv("KIZAMI_AUDIT") != nullptr},
                             {"native_ns", ns.direct},
                             {"forwarded_ns", ns.forwarded},
                             {"overhead_ns", ns.forwarded - ns.direct},
                             {"commit", commit},
                             {"date", bench::today()}});
}

}  // namespace

int main(int argc, char** argv) {
  std::string library;
  std::string json;
  std::string commit;
  bool is_cblas = false;
  int n = 1;
  bench::Program program("bench_blas_overhead", "What a call costs that libkizami_blas.so leaves to the native BLAS");
  program.add_option("LIBRARY", library, "the native BLAS, loaded before: LD_PRELOAD=\"libkizami_blas.so LIBRARY\"");
  program.add_option("--n", n, "rows and columns of all matrices")->check(bench::between(1, 4096));
  program.add_flag("--cblas", is_cblas, "cblas_dgemm instead of dgemm_");
  bench::add_json(program, json);
  bench::add_commit(program, commit);
  return program.run(argc, argv, [&] {
    const bench::Records records(json);
    if (is_cblas) {
      measure<CblasDgemm>("cblas_dgemm", library, n, commit, records);
    } else {
      measure<Dgemm>("dgemm_", library, n, commit, records);
    }
    return 0;
  });
}
