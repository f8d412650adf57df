// SPDX-License-Identifier: MIT
// Routines of a triangle as libkizami_cublas.so makes them ("default": natively where it leaves all of the call to cuBLAS,
// else of one product where there is one, else by halves), by halves with several orders of the native diagonal blocks,
// and by native cuBLAS, interleaved in one run. A table on stderr, JSON lines on stdout.
//   bench_gpu_level3 --type d --n 4096 --routine syrk --block 512 --block 1024
// n x n matrices of elements (uniform - 0.5) exp(phi normal); of products the planner leaves to cuBLAS what it predicts to be faster there, as for programs, or
// with --scheme ozaki2 or ec nothing. n^3 operations (4 n^3 of complex types). Medians of the device's times.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "device_bench.cuh"
#include "dropin/cublas/attempt.hpp"
#include "dropin/cublas/level3.hpp"
#include "dropin/cublas/native.hpp"
#include "dropin/cublas/native_level3.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"

namespace {

namespace cublas = kizami::dropin::cublas;
using bench::check;
using bench::DeviceBuffer;
using kizami::dropin::Routine;

/// (uniform - 0.5) exp(phi normal), and `diagonal` added to real parts of the diagonal. @shape n x n, of `parts` reals
/// each
template <class R>
__global__ void fill(R* x, std::int64_t n, int parts, double diagonal, double phi, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n * n * parts;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t number = seed * 0x100000000ull + static_cast<std::uint64_t>(i);
    double value = bench::unit(number) - 0.5;
    if (phi != 0) {
      const double radius = sqrt(-2.0 * log(bench::unit(number + (std::uint64_t{1} << 60)) + 0x1p-60));
      value *= exp(phi * radius * cospi(2.0 * bench::unit(number + (std::uint64_t{2} << 60))));
    }
    const bool is_diagonal = i % parts == 0 && i / parts % n == i / parts / n;
    x[i] = static_cast<R>(is_diagonal ? value + diagonal : value);
  }
}

/// All of order n and as wide, A on the left.
template <class T>
cublasStatus_t native_symm(cublasHandle_t handle, std::int64_t n, const T* alpha, const T* a, const T* b, const T* beta,
                           T* c) {
  using Function = cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, std::int64_t, std::int64_t,
                                  const T*, const T*, std::int64_t, const T*, std::int64_t, const T*, T*, std::int64_t);
  constexpr const char* kNames[] = {"cublasSsymm_v2_64", "cublasDsymm_v2_64", "cublasCsymm_v2_64", "cublasZsymm_v2_64"};
  static auto* const function = reinterpret_cast<Function*>(
      cublas::find_native(cublas::Library::kCublas, kNames[static_cast<int>(kizami::kScalarOf<T>)]));
  return function(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, n, n, alpha, a, n, b, n, beta, c, n);
}

struct Options {
  std::vector<char> types{'s', 'd', 'c', 'z'};
  std::vector<std::int64_t> sizes{2048, 4096, 8192};
  std::vector<std::int64_t> blocks{256, 512, 1024, 2048};
  std::vector<std::string> routines{"trsm", "trmm", "syrk", "symm"};
  double phi = 0;
  std::string scheme = "auto";
  int rounds = 7;
  std::string commit = "unknown";
  std::string json;
};

struct Way {
  std::string who;
  std::function<cublas::Blocks()> call;
  std::vector<float> milliseconds;
  cublas::Blocks blocks;
};

template <class T>
void run_case(const Options& options, Routine routine, std::int64_t n, char type, const bench::Cublas& native,
              const bench::Gauges& gauges, const bench::Records& records) {
  using R = kizami::RealOf<T>;
  constexpr int kParts = kizami::kIsComplex<T> ? 2 : 1;
  DeviceBuffer<T> a(n * n), b(n * n), c(n * n);
  // A diagonal that is solved with is large enough for X of the size of C.
  const auto fill_with = [&](T* x, double diagonal, std::uint64_t seed) {
    fill<<<1024, 256>>>(reinterpret_cast<R*>(x), n, kParts, diagonal, options.phi, seed);
  };
  fill_with(a.data, routine == Routine::kTrsm ? std::sqrt(static_cast<double>(n)) : 0, 1);
  fill_with(b.data, 0, 2);
  const T one{1};  // its first part is the real one that herk wants
  const T zero{};
  const bool is_2k = kizami::dropin::is_rank_2k(routine);
  kizami::dropin::Settings settings;
  settings.is_learned = false;  // every round is the same choice
  if (options.scheme == "ozaki2") settings.min_size = 0;
  if (options.scheme == "ec") settings.policy.scheme = kizami::Scheme::kEc;
  cublas::Call call;
  call.routine = routine;
  call.handle = native.handle;
  call.scalar = kizami::kScalarOf<T>;
  call.uplo = 'L';
  call.m = call.n = call.k = n;
  call.lda = call.ldb = call.ldc = n;
  call.alpha = &one;
  call.beta = &zero;
  call.a = a.data;
  call.b = routine == Routine::kTrmm || routine == Routine::kSymm || is_2k ? b.data : nullptr;
  call.c = c.data;

  const bool is_symmetric = kizami::dropin::is_symmetric(routine);
  const auto natively = [&] {
    using Native = cublas::NativeLevel3<T>;
    cublas::Blocks blocks;
    blocks.status = kizami::dropin::has_triangle(routine)
                        ? Native::triangle(call, n, one, a.data, is_2k ? b.data : a.data, zero, c.data)
                    : is_symmetric ? native_symm(native.handle, n, &one, a.data, b.data, &zero, c.data)
                                   : Native::triangular(call, n, n, one, a.data, b.data, c.data);
    return blocks;
  };
  const auto by_default = [&] {
    if (cublas::why_whole_is_native(call, {}, settings) != nullptr) return natively();
    if (!is_symmetric) return cublas::emulate_blocks(call, {}, settings);
    const cublas::Attempt done = cublas::attempt(call, {}, settings);
    if (done.why_native != nullptr) return natively();
    cublas::Blocks blocks;
    blocks.status = done.status;
    blocks.is_whole = true;
    blocks.num_emulated = 1;
    return blocks;
  };
  std::vector<Way> ways;
  ways.push_back({"native", natively, {}, {}});
  ways.push_back({"default", by_default, {}, {}});
  for (const std::int64_t block : options.blocks) {
    if (block >= n || is_symmetric) continue;
    ways.push_back({"block " + std::to_string(block),
                    [&call, &settings, block] { return cublas::emulate_blocks(call, {}, settings, block); },
                    {},
                    {}});
  }
  const bench::Timer timer;
  for (int round = -1; round < options.rounds; ++round) {  // the first one plans, and is not counted
    for (Way& way : ways) {
      fill_with(c.data, 0, 3);  // trsm overwrites it
      const float ms = timer.time([&] { way.blocks = way.call(); }, 1);
      if (way.blocks.status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(way.who + " failed");
      if (round >= 0) way.milliseconds.push_back(ms);
    }
  }
  for (const Way& way : ways) {
    const bench::Spread found = bench::spread(way.milliseconds);
    const double operations = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) *
                              (kParts == 2 ? 4 : 1) * (routine == Routine::kSymm || is_2k ? 2 : 1);
    const double tflops = operations / found.median * 1e-9;
    std::fprintf(stderr,
                 "%c %-5s n %5lld  %-10s  %9.3f ms  %6.1f TFLOPS  %d products Kizami's, %d native, %d blocks solved\n",
                 type, to_string(routine), static_cast<long long>(n), way.who.c_str(), found.median, tflops,
                 way.blocks.num_emulated, way.blocks.num_native, way.blocks.num_solved);
    records.append(bench::Json{{"date", bench::today()},
                               {"commit", options.commit},
                               {"driver", gauges.driver},
                               {"case", std::string(1, type) + " " + to_string(routine) + " " + std::to_string(n)},
                               {"scheme", options.scheme},
                               {"phi", options.phi},
                               {"who", way.who},
                               {"ms_median", found.median},
                               {"ms_min", found.min},
                               {"ms_max", found.max},
                               {"tflops", tflops},
                               {"whole", way.blocks.is_whole ? 1 : 0},
                               {"emulated", way.blocks.num_emulated},
                               {"native", way.blocks.num_native},
                               {"solved", way.blocks.num_solved},
                               {"sm_mhz", gauges.sm_mhz()},
                               {"watts", gauges.watts()}});
  }
}

[[nodiscard]] bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Cublas native;
  const bench::Gauges gauges;
  for (const char type : options.types) {
    for (const Routine routine : {Routine::kTrsm, Routine::kTrmm, Routine::kSyrk, Routine::kHerk, Routine::kSyr2k,
                                  Routine::kHer2k, Routine::kSymm}) {
      const bool is_real = type == 's' || type == 'd';
      if (!has(options.routines, kizami::dropin::to_string(routine)) ||
          (is_real && kizami::dropin::is_hermitian(routine)))
        continue;
      for (const std::int64_t n : options.sizes) {
        if (type == 's') run_case<float>(options, routine, n, type, native, gauges, records);
        if (type == 'd') run_case<double>(options, routine, n, type, native, gauges, records);
        if (type == 'c') run_case<std::complex<float>>(options, routine, n, type, native, gauges, records);
        if (type == 'z') run_case<std::complex<double>>(options, routine, n, type, native, gauges, records);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_level3", "Routines of a triangle by products of Kizami, beside native cuBLAS");
  bench::add_types(program, options.types);
  program.add_option("--n", options.sizes, "orders of the matrices")->check(CLI::Range(2, 32768));
  program.add_option("--block", options.blocks, "orders of the native diagonal blocks")->check(CLI::Range(1, 32768));
  program.add_option("--routine", options.routines, "which")
      ->check(CLI::IsMember({"trsm", "trmm", "syrk", "herk", "syr2k", "her2k", "symm"}));
  program.add_option("--phi", options.phi, "of the elements")->check(CLI::Range(0.0, 8.0));
  program.add_option("--scheme", options.scheme, "of products: what the planner takes, or one for all")
      ->check(CLI::IsMember({"auto", "ozaki2", "ec"}));
  program.add_option("--rounds", options.rounds, "timed calls of each")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] { return run(options); });
}
