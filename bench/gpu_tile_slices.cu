// SPDX-License-Identifier: MIT
// FP64 products from seven BF16 slices by two tile kernels (src/tile_kernels): all slices of a matrix in one pass, and all
// products of pairs p + q < depth in one kernel; beside native cuBLAS, interleaved in one run. A table on stderr, JSON lines
// on stdout.
//   bench_gpu_tile_slices --n 4096 --n 8192 --depth 9 --depth 7
// Operands are normal numbers with one scale a matrix. Sums of k_block = 128 products are exact in FP32. Total: two splits and the
// product, not the search for the largest element. Errors are the largest |C - AB| / (|A||B|) of eight columns of C, against
// double-double sums.
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cuda_module.hpp"
#include "device_bench.cuh"
#include "num/float_slices.hpp"

extern "C" const unsigned long long kizami_tile_slices[];

namespace {

using bench::check;

constexpr int kSlices = 7;
constexpr int kBlock = 128;
constexpr int kSignificandBits = 8;  // of BF16

__global__ void fill_normal(double* data, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x1000000000ull + 2 * static_cast<std::uint64_t>(i);
    data[i] = sqrt(-2.0 * log(bench::unit(at))) * cospi(2.0 * bench::unit(at + 1));
  }
}

__global__ void find_largest(const double* data, std::int64_t count, double* largest) {
  double mine = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    mine = fmax(mine, fabs(data[i]));
  }
  // Not negative: their bits are in their order.
  atomicMax(reinterpret_cast<unsigned long long*>(largest),
            static_cast<unsigned long long>(__double_as_longlong(mine)));
}

template <class T>
void upload(const bench::DeviceBuffer<T>& to, const std::vector<T>& from) {
  check(cudaMemcpy(to.data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "upload");
}

/// An n x n operand, row-major, its slices and what they are scaled by.
class Operand {
 public:
  Operand(std::int64_t n, std::uint64_t seed)
      : n_(static_cast<int>(n)), x_(n * n), slices_(kSlices * n * n), sigmas_(kSlices), inverse_scales_(kSlices) {
    fill_normal<<<2048, 256>>>(x_.data, n * n, seed);
    const bench::DeviceBuffer<double> largest(1);
    check(cudaMemset(largest.data, 0, sizeof(double)), "largest element");
    find_largest<<<2048, 256>>>(x_.data, n * n, largest.data);
    double found = 0;
    check(cudaMemcpy(&found, largest.data, sizeof found, cudaMemcpyDeviceToHost), "largest element");
    const int exponent = kizami::num::slice_exponent(found);
    const int rho = kizami::num::slice_rho(kBlock, kSignificandBits);
    std::vector<double> sigmas;
    std::vector<double> inverse_scales;
    for (int p = 0; p < kSlices; ++p) {
      scales.push_back(kizami::num::slice_scale(exponent, rho, p));
      sigmas.push_back(kizami::num::slice_sigma(exponent, rho, p));
      inverse_scales.push_back(1 / scales.back());
    }
    upload(sigmas_, sigmas);
    upload(inverse_scales_, inverse_scales);
  }

  void split(const kizami::base::CudaModuleKernel& kernel) const {
    constexpr int kTileRows = 32;
    constexpr int kTileCols = 64;
    const auto blocks = static_cast<unsigned>(((n_ + kTileRows - 1) / kTileRows) * ((n_ + kTileCols - 1) / kTileCols));
    check(kernel.launch(dim3(blocks), nullptr, x_.data, n_, slices_.data, plane_stride(), n_, sigmas_.data,
                        inverse_scales_.data, 1, kSlices, n_, n_),
          "split");
  }

  [[nodiscard]] const double* x() const { return x_.data; }
  [[nodiscard]] const std::uint16_t* slices() const { return slices_.data; }
  [[nodiscard]] std::uint32_t plane_stride() const {
    return static_cast<std::uint32_t>(n_) * static_cast<std::uint32_t>(n_);
  }

  std::vector<double> scales;  ///< 2^(c_p)

 private:
  int n_;
  bench::DeviceBuffer<double> x_;
  bench::DeviceBuffer<std::uint16_t> slices_;  // BF16
  bench::DeviceBuffer<double> sigmas_, inverse_scales_;
};

struct Runner {
  std::string who;
  int num_pairs;
  std::function<void()> call;
  std::vector<float> times;
  double error = -1;
};

struct Options {
  std::vector<std::int64_t> sizes = {4096};
  std::vector<int> depths = {9, 8, 7, 6, 5};
  int repeats = 7;
  std::string commit = "unknown";
};

double median(std::vector<float> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int num_pairs(int depth) {
  int pairs = 0;
  for (int p = 0; p < kSlices; ++p) pairs += std::max(0, std::min(kSlices, depth - p));
  return pairs;
}

/// The largest error of eight columns of the row-major C, seen as rows of its transpose.
double largest_error(const Operand& A, const Operand& B, const double* c, std::int64_t n) {
  const bench::DeviceBuffer<double> worst(1);
  check(cudaMemset(worst.data, 0, sizeof(double)), "errors");
  for (int sample = 0; sample < 8; ++sample) {
    bench::row_error<double, 1>
        <<<static_cast<unsigned>(n), 256>>>(B.x(), {1, n}, A.x(), {1, n}, c, n, n, sample * (n - 1) / 7, worst.data);
  }
  double found = 0;
  check(cudaMemcpy(&found, worst.data, sizeof found, cudaMemcpyDeviceToHost), "errors");
  return found;
}

void run_size(std::int64_t n, const Options& options, const kizami::base::CudaModule& module,
              const bench::Cublas& cublas, const bench::Gauges& gauges, const std::string& device) {
  kizami::base::CudaModuleKernel split;
  kizami::base::CudaModuleKernel product;
  check(module.kernel("veltkamp_split_bf16_matrix", split), "kernel");
  check(module.kernel("slice_product_bf16", product), "kernel");
  const Operand A(n, 1);
  const Operand B(n, 2);
  std::vector<double> scales;
  for (const double a : A.scales) {
    for (const double b : B.scales) scales.push_back(a * b);
  }
  const bench::DeviceBuffer<double> device_scales(static_cast<std::int64_t>(scales.size()));
  upload(device_scales, scales);
  const bench::DeviceBuffer<double> c(n * n);

  std::vector<Runner> runners;
  runners.push_back({"cublas", 0, [&] { cublas.multiply<double>(n, n, n, B.x(), A.x(), c.data); }, {}});
  runners.push_back({"split", 0, [&] { A.split(split); }, {}});
  for (const int depth : options.depths) {
    runners.push_back({"depth " + std::to_string(depth),
                       num_pairs(depth),
                       [&, depth] {
                         constexpr int kTileM = 128;
                         constexpr int kTileN = 128;
                         constexpr int kTileK = 64;
                         constexpr int kGroup = 8;
                         const int size = static_cast<int>(n);
                         const auto blocks =
                             static_cast<unsigned>(((size + kTileM - 1) / kTileM) * ((size + kTileN - 1) / kTileN));
                         check(product.launch(dim3(blocks), nullptr, A.slices(), A.plane_stride(), size, B.slices(),
                                              B.plane_stride(), size, device_scales.data, c.data, size, kSlices,
                                              kSlices, depth, size, size, size, kBlock / kTileK, kGroup),
                               "product");
                       },
                       {}});
  }
  A.split(split);
  B.split(split);
  for (Runner& runner : runners) {
    if (runner.who == "split") continue;
    check(cudaMemset(c.data, 0xFF, static_cast<std::size_t>(n * n) * sizeof(double)), "poison");  // NaN
    runner.call();
    check(cudaDeviceSynchronize(), runner.who.c_str());
    runner.error = largest_error(A, B, c.data, n);
  }
  const bench::Timer timer;
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {  // one to warm up
    for (Runner& runner : runners) {
      const float ms = timer.time(runner.call, 1);
      if (repeat >= 1) runner.times.push_back(ms);
    }
  }
  const double split_ms = median(runners[1].times);
  for (const Runner& runner : runners) {
    const double ms = median(runner.times);
    const auto [fastest, slowest] = std::minmax_element(runner.times.begin(), runner.times.end());
    nlohmann::ordered_json line = {
        {"date", bench::today()}, {"commit", options.commit}, {"device", device},   {"driver", gauges.driver}, {"n", n},
        {"who", runner.who},      {"ms_median", ms},          {"ms_min", *fastest}, {"ms_max", *slowest}};
    const double elements = static_cast<double>(n) * static_cast<double>(n);
    if (runner.who == "split") {
      const double gigabytes = elements * (8 + 2 * kSlices) * 1e-6 / ms;
      line["gigabytes_per_second"] = gigabytes;
      std::fprintf(stderr, "n=%-6ld %-8s %9.4f ms %7.0f GB/s\n", static_cast<long>(n), runner.who.c_str(), ms,
                   gigabytes);
    } else {
      const double total_ms = runner.num_pairs == 0 ? ms : ms + 2 * split_ms;
      const double tflops = 2e-9 * elements * static_cast<double>(n) / total_ms;
      line["pairs"] = runner.num_pairs;
      line["total_ms"] = total_ms;
      line["tflops"] = tflops;
      line["error"] = runner.error;
      std::fprintf(stderr, "n=%-6ld %-8s %9.4f ms, total %9.4f ms, %6.1f TFLOPS, %2d pairs, error %.2e\n",
                   static_cast<long>(n), runner.who.c_str(), ms, total_ms, tflops, runner.num_pairs, runner.error);
    }
    std::puts(line.dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("FP64 products from BF16 slices by tile kernels, beside cuBLAS");
  app.add_option("--n", options.sizes, "square sizes, multiples of 16")->check(CLI::Range(16, 65520));
  app.add_option("--depth", options.depths, "pairs p + q < depth are multiplied")
      ->check(CLI::Range(1, 2 * kSlices - 1));
  app.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000));
  app.add_option("--commit", options.commit, "what the records say was measured");
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::int64_t n : options.sizes) {
      if (n % 16 != 0) throw std::runtime_error("n = " + std::to_string(n) + ", must be a multiple of 16");
    }
    const bench::Gauges gauges;
    const bench::Cublas cublas;
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "the properties of the device");
    kizami::base::CudaModule module;
    check(module.load(kizami_tile_slices, "slices"), "cubin");
    for (const std::int64_t n : options.sizes) run_size(n, options, module, cublas, gauges, properties.name);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu_tile_slices: %s\n", error.what());
    return 1;
  }
  return 0;
}
