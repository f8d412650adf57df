// SPDX-License-Identifier: MIT
// FP64 products from seven BF16 slices by tile kernels (src/tile_kernels): all slices of a matrix in one pass, and the
// products of pairs p + q < depth by the kernels of gpu_tile_slices/variants.hpp; beside native cuBLAS, interleaved in
// one run. A table on stderr, JSON lines on stdout, which `kizami_study tile --slices-results FILE` makes tables of.
//   bench_gpu_tile_slices --n 4096 --n 8192 --depth 9 --depth 7 --plan diagonal_128x128x256x1_c1_o1_w8
// Operands are normal numbers with one scale a matrix. Sums of k_block = 256 products are exact in FP32. Total: two
// splits and the product, not the search for the largest element. Errors: the largest |C - AB| / (|A||B|) and the
// Frobenius norm of C - AB over that of AB, of eight columns of C, against double-double sums; and the Frobenius
// distance of all of C from that of cuBLAS. What is launched by diagonals is exact but for FP64 additions of one order:
// their kernels must agree in every bit. Plans of "spread" share the pairs of a tile of C between 2 or 4 blocks.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cuda_module.hpp"
#include "device_bench.cuh"
#include "gpu_tile_slices/variants.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "num/float_slices.hpp"
#include "slice_operands.cuh"

extern "C" const unsigned long long kizami_tile_slices[];
extern "C" const unsigned long long kizami_tile_slice_products[];

namespace {

using bench::check;

constexpr int kSlices = 7;
constexpr int kBlock = 256;
constexpr int kSignificandBits = 8;  // of BF16
/// Blocks that share the pairs of a tile of C.
constexpr int kParts[] = {2, 4};

struct Variant {
  std::string kernel;
  std::string plan;
  bool by_diagonals;
  int num_parts;  ///< blocks a tile of C
  int tile_m, tile_n;
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = [] {
    std::vector<Variant> made;
    const auto add = [&made](const std::string& kind, const std::string& hints, int tile_m, int tile_n) {
      const Variant variant{"slice_" + kind + hints, kind + hints, kind == "diagonal", 1, tile_m, tile_n};
      if (kind != "spread") return made.push_back(variant);
      for (const int num_parts : kParts) {
        made.push_back(variant);
        made.back().plan += "_p" + std::to_string(num_parts);
        made.back().num_parts = num_parts;
      }
    };
#define VARIANT(kind, tm, tn, tk, parts, cga, occ, warps) \
  add(#kind, "_" #tm "x" #tn "x" #tk "x" #parts "_c" #cga "_o" #occ "_w" #warps, tm, tn);
    KIZAMI_TILE_SLICE_PRODUCTS(VARIANT)
#undef VARIANT
    return made;
  }();
  return all;
}

/// An n x n operand, row-major, its slices and what they are scaled by.
class Operand {
 public:
  Operand(std::int64_t n, std::uint64_t seed)
      : n_(static_cast<int>(n)), x_(n * n), slices_(kSlices * n * n), sigmas_(kSlices), inverse_scales_(kSlices) {
    bench::fill_normal<<<2048, 256>>>(x_.data, n * n, seed);
    const int exponent = kizami::num::slice_exponent(bench::largest_of(x_.data, n * n));
    const int rho = kizami::num::slice_rho(kBlock, kSignificandBits);
    std::vector<double> sigmas;
    std::vector<double> inverse_scales;
    for (int p = 0; p < kSlices; ++p) {
      scales.push_back(kizami::num::slice_scale(exponent, rho, p));
      sigmas.push_back(kizami::num::slice_sigma(exponent, rho, p));
      inverse_scales.push_back(1 / scales.back());
    }
    bench::upload(sigmas_, sigmas);
    bench::upload(inverse_scales_, inverse_scales);
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
  std::string plan;
  int num_pairs;
  std::function<void()> call;
  std::vector<float> times;
  double error = -1;
  double frobenius = -1;
  double from_native = 0;
};

struct Options {
  std::vector<std::int64_t> sizes = {4096};
  std::vector<int> depths = {9, 8, 7, 6, 5};
  std::vector<std::string> plans;
  int repeats = 7;
  std::string commit = "unknown";
  std::string json;
};

/// What the products of one n share.
struct Products {
  const Operand& A;
  const Operand& B;
  const double* scales;  ///< of all pairs
  double* c;
  double* sum;  ///< of a diagonal, or of each part, before it is added to C
  int n;
  kizami::base::CudaModuleKernel add;
};

/// Enqueues the products of the pairs p + q < depth.
void multiply(const kizami::base::CudaModuleKernel& kernel, const Variant& variant, const Products& x, int depth) {
  constexpr int kGroup = 8;
  constexpr int kAddM = 16;
  constexpr int kAddN = 64;
  const auto blocks = [&x](int tile_m, int tile_n) {
    return dim3(static_cast<unsigned>(((x.n + tile_m - 1) / tile_m) * ((x.n + tile_n - 1) / tile_n)));
  };
  const dim3 grid = blocks(variant.tile_m, variant.tile_n);
  const auto add = [&](const double* sum) {
    check(x.add.launch(blocks(kAddM, kAddN), nullptr, sum, x.n, x.c, x.n, x.n, x.n), "add");
  };
  if (variant.num_parts > 1) {
    const std::int64_t elements = std::int64_t{x.n} * x.n;
    check(kernel.launch(dim3(grid.x, static_cast<unsigned>(variant.num_parts)), nullptr, x.A.slices(),
                        x.A.plane_stride(), x.n, x.B.slices(), x.B.plane_stride(), x.n, x.scales, x.sum,
                        x.A.plane_stride(), x.n, variant.num_parts, kSlices, kSlices, depth, x.n, x.n, x.n, kGroup),
          variant.plan.c_str());
    check(cudaMemcpyAsync(x.c, x.sum, static_cast<std::size_t>(elements) * sizeof(double), cudaMemcpyDeviceToDevice,
                          nullptr),
          "copy");
    for (int part = 1; part < variant.num_parts; ++part) add(x.sum + part * elements);
    return;
  }
  if (!variant.by_diagonals) {
    check(kernel.launch(grid, nullptr, x.A.slices(), x.A.plane_stride(), x.n, x.B.slices(), x.B.plane_stride(), x.n,
                        x.scales, x.c, x.n, kSlices, kSlices, depth, x.n, x.n, x.n, kGroup),
          variant.plan.c_str());
    return;
  }
  const int last = std::min(depth, 2 * kSlices - 1) - 1;
  for (int d = last; d >= 0; --d) {  // the smallest first
    const auto [first, num_pairs] = kizami::num::slice_diagonal(d, kSlices, kSlices);
    const double scale = x.A.scales[static_cast<std::size_t>(first)] * x.B.scales[static_cast<std::size_t>(d - first)];
    check(kernel.launch(grid, nullptr, x.A.slices(), x.A.plane_stride(), x.n, x.B.slices(), x.B.plane_stride(), x.n,
                        scale, d == last ? x.c : x.sum, x.n, d, first, num_pairs, x.n, x.n, x.n, kGroup),
          variant.plan.c_str());
    if (d < last) add(x.sum);
  }
}

void print(const Runner& runner, std::int64_t n, double split_ms, const Options& options, const bench::Gauges& gauges,
           const std::string& device, const bench::Records& records) {
  const bench::Spread found = bench::spread(runner.times);
  const double ms = found.median;
  bench::Json line = {
      {"date", bench::today()}, {"commit", options.commit}, {"device", device},    {"driver", gauges.driver}, {"n", n},
      {"who", runner.who},      {"ms_median", ms},          {"ms_min", found.min}, {"ms_max", found.max}};
  const double elements = static_cast<double>(n) * static_cast<double>(n);
  if (runner.who == "split") {
    const double gigabytes = elements * (8 + 2 * kSlices) * 1e-6 / ms;
    line["gigabytes_per_second"] = gigabytes;
    std::fprintf(stderr, "n=%-6ld %-8s %9.4f ms %7.0f GB/s\n", static_cast<long>(n), runner.who.c_str(), ms, gigabytes);
  } else {
    const double total_ms = runner.num_pairs == 0 ? ms : ms + 2 * split_ms;
    const double flops = 2e-9 * elements * static_cast<double>(n);
    if (runner.num_pairs != 0) {
      line["plan"] = runner.plan;
      line["product_tflops"] = runner.num_pairs * flops / ms;
    }
    line["pairs"] = runner.num_pairs;
    line["total_ms"] = total_ms;
    line["tflops"] = flops / total_ms;
    line["error"] = runner.error;
    line["frobenius"] = runner.frobenius;
    line["from_native"] = runner.from_native;
    std::fprintf(stderr,
                 "n=%-6ld %-8s %-34s %9.4f ms (%5.1f TFLOPS of BF16), total %9.4f ms, %5.1f TFLOPS, errors %.2e %.2e\n",
                 static_cast<long>(n), runner.who.c_str(), runner.plan.c_str(), ms, runner.num_pairs * flops / ms,
                 total_ms, flops / total_ms, runner.error, runner.frobenius);
  }
  records.append(line);
}

void run_size(std::int64_t n, const Options& options, const bench::Cublas& cublas, const bench::Gauges& gauges,
              const std::string& device, const bench::Records& records) {
  kizami::base::CudaModule split_module;
  kizami::base::CudaModule product_module;
  check(split_module.load(kizami_tile_slices, "slices"), "cubin");
  check(product_module.load(kizami_tile_slice_products, "slice_products"), "cubin");
  kizami::base::CudaModuleKernel split;
  check(split_module.kernel("veltkamp_split_bf16_matrix", split), "kernel");
  const Operand A(n, 1);
  const Operand B(n, 2);
  std::vector<double> scales;
  for (const double a : A.scales) {
    for (const double b : B.scales) scales.push_back(a * b);
  }
  const bench::DeviceBuffer<double> device_scales(static_cast<std::int64_t>(scales.size()));
  bench::upload(device_scales, scales);
  const bench::DeviceBuffer<double> c(n * n);
  const bench::DeviceBuffer<double> sum(*std::max_element(std::begin(kParts), std::end(kParts)) * n * n);
  const bench::DeviceBuffer<double> native(n * n);
  Products products{A, B, device_scales.data, c.data, sum.data, static_cast<int>(n), {}};
  check(split_module.kernel("add_f64", products.add), "kernel");

  std::vector<Runner> runners;
  runners.push_back({"cublas", "", 0, [&] { cublas.multiply<double>(n, n, n, B.x(), A.x(), native.data); }, {}});
  runners.push_back({"split", "", 0, [&] { A.split(split); }, {}});
  A.split(split);
  B.split(split);
  cublas.multiply<double>(n, n, n, B.x(), A.x(), native.data);
  const auto judge = [&](Runner& runner, const double* product) {
    const bench::ProductError error = bench::error_of_columns(A.x(), B.x(), product, n);
    runner.error = error.entry;
    runner.frobenius = error.frobenius;
  };
  judge(runners[0], native.data);
  for (const int depth : options.depths) {
    const bench::DeviceBuffer<double> by_diagonals(n * n);  // of the first kernel that goes by them
    bool has_any = false;
    for (const Variant& variant : variants()) {
      if (!options.plans.empty() &&
          std::find(options.plans.begin(), options.plans.end(), variant.plan) == options.plans.end()) {
        continue;
      }
      kizami::base::CudaModuleKernel kernel;
      check(product_module.kernel(variant.kernel.c_str(), kernel), "kernel");
      Runner runner{"depth " + std::to_string(depth),
                    variant.plan,
                    kizami::num::num_slice_pairs(kSlices, kSlices, depth),
                    [&, kernel, depth] { multiply(kernel, variant, products, depth); },
                    {}};
      check(cudaMemset(c.data, 0xFF, static_cast<std::size_t>(n * n) * sizeof(double)), "poison");  // NaN
      runner.call();
      check(cudaDeviceSynchronize(), runner.plan.c_str());
      judge(runner, c.data);
      runner.from_native = bench::difference(c.data, native.data, n * n).frobenius;
      if (variant.by_diagonals && has_any) {
        const unsigned long long wrong = bench::difference(c.data, by_diagonals.data, n * n).elements;
        if (wrong != 0) throw std::runtime_error(variant.plan + ": " + std::to_string(wrong) + " elements differ");
      } else if (variant.by_diagonals) {
        check(cudaMemcpy(by_diagonals.data, c.data, static_cast<std::size_t>(n * n) * sizeof(double),
                         cudaMemcpyDeviceToDevice),
              "copy");
        has_any = true;
      }
      runners.push_back(std::move(runner));
    }
  }
  const bench::Timer timer;
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {  // one to warm up
    for (Runner& runner : runners) {
      const float ms = timer.time(runner.call, 1);
      if (repeat >= 1) runner.times.push_back(ms);
    }
  }
  const double split_ms = bench::median(runners[1].times);
  for (const Runner& runner : runners) print(runner, n, split_ms, options, gauges, device, records);
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Gauges gauges;
  const bench::Cublas cublas;
  const std::string device = bench::device_name();
  for (const std::int64_t n : options.sizes) run_size(n, options, cublas, gauges, device, records);
  return 0;
}

void add_options(bench::Program& program, Options& options) {
  std::vector<std::string> plans;
  for (const Variant& variant : variants()) plans.push_back(variant.plan);
  program.add_option("--n", options.sizes, "square sizes, multiples of 16")
      ->check(CLI::Range(16, 65520))
      ->check(bench::multiple_of(16));
  program.add_option("--depth", options.depths, "pairs p + q < depth are multiplied")
      ->check(CLI::Range(1, 2 * kSlices - 1));
  program.add_option("--plan", options.plans, "kernels; without it all")->check(CLI::IsMember(plans));
  program.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_tile_slices", "FP64 products from BF16 slices by tile kernels, beside cuBLAS");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
