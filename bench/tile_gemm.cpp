// SPDX-License-Identifier: MIT
// GEMM in tile code on the CPU beside the platform's sgemm, in pairs within one run: medians of each, and the median of the
// ratios of the pairs; then the INT8 products of engine tile beside those of engine cpu_simd, likewise.
//   bench_tile_gemm [THREADS [N [REPETITIONS]]]
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kizami/measure.hpp"
#include "kizami/tile.hpp"

extern "C" void openblas_set_num_threads(int threads)
    __attribute__((weak));  // of one BLAS; others use as many as they like

namespace {
namespace ct = cuda::tiles;

inline namespace KIZAMI_TILE_BACKEND {

template <int kRows, int kCols, int kDepth>
__tile_global__ void gemm(const float* a, const float* b, float* c, int n) {
  const auto [row, col, unused] = ct::bid();
  static_cast<void>(unused);
  const ct::partition_view view_a{ct::tensor_span{a, ct::extents{n, n}}, ct::shape<kRows, kDepth>{}};
  const ct::partition_view view_b{ct::tensor_span{b, ct::extents{n, n}}, ct::shape<kDepth, kCols>{}};
  const ct::partition_view view_c{ct::tensor_span{c, ct::extents{n, n}}, ct::shape<kRows, kCols>{}};
  auto acc = ct::zeros<ct::tile<float, ct::shape<kRows, kCols>>>();
  for (const int step : ct::irange(0, ct::ceildiv(n, kDepth))) {
    acc = ct::mma(view_a.load_masked(row, step), view_b.load_masked(step, col), acc);
  }
  view_c.store_masked(acc, row, col);
}

}  // namespace KIZAMI_TILE_BACKEND

double seconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Contender {
  std::string name;
  std::function<void()> call;
  std::vector<double> times;
};

/// Four planes of n x n x n.
int time_products(int threads, int n, int repetitions) {
  constexpr kizami::EngineName kEngines[] = {kizami::EngineName::kCpuSimd, kizami::EngineName::kTile};
  std::vector<kizami::ProductBenchmark> benchmarks;
  for (const kizami::EngineName engine : kEngines) {
    auto benchmark = kizami::ProductBenchmark::make(engine, n, n, n, 4, threads);
    if (!benchmark.ok()) {
      std::fprintf(stderr, "%s\n", benchmark.status().reason().c_str());
      return 1;
    }
    benchmarks.push_back(std::move(benchmark).value());
  }
  std::vector<double> times[2];
  double multiply_adds = 0;
  for (int r = 0; r < repetitions; ++r) {
    for (std::size_t e = 0; e < benchmarks.size(); ++e) {
      const auto timing = benchmarks[e].run();
      if (!timing.ok()) return 1;
      times[e].push_back(timing.value().seconds);
      multiply_adds = timing.value().multiply_adds;
    }
  }
  for (std::size_t e = 0; e < benchmarks.size(); ++e) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < times[e].size(); ++r) ratios.push_back(times[0][r] / times[e][r]);
    std::printf("%-16s %7.1f GMAC/s    %.2f of cpu_simd\n", std::string(to_string(kEngines[e])).c_str(),
                1e-9 * multiply_adds / median(times[e]), median(ratios));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const int n = argc > 2 ? std::atoi(argv[2]) : 1024;
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 31;
  if (threads < 1 || n < 1 || repetitions < 1) {
    std::fprintf(stderr, "bench_tile_gemm: THREADS, N and REPETITIONS must be at least 1\n");
    return 2;
  }
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<float> a(size, 0.5F);
  std::vector<float> b(size, 0.25F);
  std::vector<float> c(size);
  kizami::tile::LaunchOptions options;
  options.max_threads = threads;
  const auto tiled = [&](auto kernel, int rows, int cols) {
    return [&, kernel, rows, cols] {
      const dim3 grid(static_cast<unsigned>((n + rows - 1) / rows), static_cast<unsigned>((n + cols - 1) / cols));
      const kizami::Status status = KIZAMI_TILE_LAUNCH(kernel, grid, &options, a.data(), b.data(), c.data(), n);
      if (!status.ok()) {
        std::fprintf(stderr, "%s\n", status.reason().c_str());
        std::exit(1);
      }
    };
  };
  std::vector<Contender> contenders;
  contenders.push_back({"sgemm",
                        [&] {
                          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n,
                                      0, c.data(), n);
                        },
                        {}});
  contenders.push_back({"tile 64x64x64", tiled(gemm<64, 64, 64>, 64, 64), {}});
  contenders.push_back({"tile 128x64x64", tiled(gemm<128, 64, 64>, 128, 64), {}});
  contenders.push_back({"tile 128x128x64", tiled(gemm<128, 128, 64>, 128, 128), {}});
  contenders.push_back({"tile 256x128x64", tiled(gemm<256, 128, 64>, 256, 128), {}});
  contenders.push_back({"tile 256x256x64", tiled(gemm<256, 256, 64>, 256, 256), {}});
  for (int r = 0; r < repetitions; ++r) {
    for (Contender& contender : contenders) contender.times.push_back(seconds(contender.call));
  }
  std::printf("n = %d, threads = %d, %d repetitions\n", n, threads, repetitions);
  for (const Contender& contender : contenders) {
    std::vector<double> ratios;
    for (int r = 0; r < repetitions; ++r) {
      ratios.push_back(contenders[0].times[static_cast<std::size_t>(r)] / contender.times[static_cast<std::size_t>(r)]);
    }
    const double gflops = 2e-9 * static_cast<double>(n) * n * n / median(contender.times);
    std::printf("%-16s %7.1f GFLOP/s  %.2f of sgemm\n", contender.name.c_str(), gflops, median(ratios));
  }
  std::printf("INT8, reduced to residues\n");
  return time_products(threads, n, repetitions);
}
