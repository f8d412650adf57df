// SPDX-License-Identifier: MIT
// FP64 products from floating slices as a report on cuTile prints its code, to see whether its errors follow: its
// split, whose rho is that of k = n, and its product, which sums all of k in FP32 (slice_product_whole_k.hpp).
// A table on stderr, JSON lines on stdout, which `kizami_study ozaki --report-results FILE` judges.
//   bench_gpu_report_slices --n 16384 --way bf16/7/a7/d9 --way bf16/7/a8/d9
//   bench_gpu_report_slices --n 1024 --way fp16/until-zero --way e4m3/until-zero
// A way is a format and words behind slashes:
//   7           slices of each operand, all cut with one largest element
//   until-zero  until nothing is left, 20 at most, the largest element found again for each slice; each operand by
//               itself
//   a7          bits by which the exponent of one slice lies below that of the one before; the report does not print it
//   b11         bits of a digit; without it those of the printed rho
//   d9          products of slices i + j < 9; without it all
//   block128    FP32 sums of 128 elements of k and not of all, FP16 only
// Operands are normal numbers. Errors are those of bench_gpu_tile_slices, and the largest |C - N| over the largest |N|,
// N by cuBLAS: the report does not define its error.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cuda_module.hpp"
#include "device_bench.cuh"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "kizami/policy.hpp"
#include "num/float_slices.hpp"
#include "slice_operands.cuh"

extern "C" const unsigned long long kizami_tile_slices[];
extern "C" const unsigned long long kizami_tile_report_products[];

namespace {

using bench::check;
using bench::DeviceBuffer;
using kizami::base::CudaModule;
using kizami::base::CudaModuleKernel;

struct Format {
  std::string name;
  int significand_bits;
  int bytes;
};
const std::vector<Format> kFormats = {{"bf16", 8, 2}, {"fp16", 11, 2}, {"e4m3", 4, 1}};

struct Way {
  std::string name;
  Format format;
  int num_slices = 0;  ///< 0: until nothing is left
  int advance = 0;
  int digit_bits = 0;  ///< 0: by the printed rho
  int depth = 0;       ///< 0: all pairs
  int block = 0;       ///< 0: all of k
};

/// The number behind `prefix`, 0 where it is none.
int number_behind(const std::string& word, const std::string& prefix) {
  if (!word.starts_with(prefix) || word.size() == prefix.size() || word.size() > prefix.size() + 3) return 0;
  if (word.find_first_not_of("0123456789", prefix.size()) != std::string::npos) return 0;
  return std::stoi(word.substr(prefix.size()));
}

/// @throws std::invalid_argument names the word that is none
Way parse_way(const std::string& text) {
  Way way;
  way.name = text;
  const std::string format = text.substr(0, text.find('/'));
  const auto known = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& x) { return x.name == format; });
  if (known == kFormats.end()) throw std::invalid_argument(text + ", must begin with bf16, fp16 or e4m3");
  way.format = *known;
  bool is_until_zero = false;
  for (std::size_t at = text.find('/'); at != std::string::npos;) {
    const std::size_t end = text.find('/', at + 1);
    const std::string word = text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    at = end;
    if (word == "until-zero") {
      is_until_zero = true;
    } else if (const int slices = number_behind(word, ""); slices > 0) {
      way.num_slices = slices;
    } else if (const int advance = number_behind(word, "a"); advance > 0) {
      way.advance = advance;
    } else if (const int bits = number_behind(word, "b"); bits > 0) {
      way.digit_bits = bits;
    } else if (const int depth = number_behind(word, "d"); depth > 0) {
      way.depth = depth;
    } else if (const int block = number_behind(word, "block"); block > 0) {
      way.block = block;
    } else {
      throw std::invalid_argument(text + ": no word \"" + word + "\"");
    }
  }
  if (is_until_zero == (way.num_slices > 0) || is_until_zero == (way.advance > 0))
    throw std::invalid_argument(text + ", must have until-zero, or slices and an advance: bf16/7/a7");
  if (way.num_slices > kizami::kMaxSlices)
    throw std::invalid_argument(text + ", must have at most " + std::to_string(kizami::kMaxSlices) + " slices");
  if (way.digit_bits > way.format.significand_bits)
    throw std::invalid_argument(text + ", digits must be of at most " + std::to_string(way.format.significand_bits) +
                                " bits");
  if (way.block != 0 && (way.block != 128 || format != "fp16"))
    throw std::invalid_argument(text + ", a block must be of 128 elements of fp16");
  return way;
}

[[nodiscard]] int rho_of(const Way& way, std::int64_t n) {
  return way.digit_bits > 0 ? 53 - way.digit_bits : kizami::num::slice_rho(n, way.format.significand_bits);
}
/// As kernels name the format.
[[nodiscard]] std::string in_names(const Way& way) { return way.format.name == "fp16" ? "f16" : way.format.name; }

/// Takes slice after slice away from `rest`: rest - ((rest + sigma) - sigma).
__global__ void drop_slice(double* rest, std::int64_t count, double sigma) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const double x = rest[i];
    rest[i] = x - ((x + sigma) - sigma);
  }
}

/// An n x n operand, row-major, and its slices.
class Operand {
 public:
  Operand(std::int64_t n, std::uint64_t seed)
      : n_(n), x_(n * n), sigmas_(kizami::kMaxSlices), inverse_scales_(kizami::kMaxSlices) {
    bench::fill_normal<<<2048, 256>>>(x_.data, n * n, seed);
    largest_ = bench::largest_of(x_.data, n * n);
  }

  /// Cuts the operand as the way says. @return 2^(c_p) of all slices
  std::vector<double> cut(const Way& way, const CudaModuleKernel& split, void* slices) {
    return way.num_slices > 0 ? cut_at_once(way, split, slices) : cut_until_zero(way, split, slices);
  }

  [[nodiscard]] const double* x() const { return x_.data; }

 private:
  /// Slices with the exponents `exponents`, of `from`.
  void split_from(const double* from, const std::vector<int>& exponents, int rho, const CudaModuleKernel& split,
                  void* slices) {
    constexpr int kTileRows = 32;
    constexpr int kTileCols = 64;
    std::vector<double> sigmas;
    std::vector<double> inverse_scales;
    for (const int c : exponents) {
      sigmas.push_back(kizami::num::slice_sigma(c, rho, 0));
      inverse_scales.push_back(1 / kizami::num::slice_scale(c, rho, 0));
    }
    bench::upload(sigmas_, sigmas);
    bench::upload(inverse_scales_, inverse_scales);
    const auto n = static_cast<int>(n_);
    const auto blocks = static_cast<unsigned>(((n + kTileRows - 1) / kTileRows) * ((n + kTileCols - 1) / kTileCols));
    check(split.launch(dim3(blocks), nullptr, from, n, slices, static_cast<std::uint32_t>(n_ * n_), n, sigmas_.data,
                       inverse_scales_.data, 1, static_cast<int>(exponents.size()), n, n),
          "split");
  }

  std::vector<double> cut_at_once(const Way& way, const CudaModuleKernel& split, void* slices) {
    std::vector<int> exponents;
    std::vector<double> scales;
    for (int p = 0; p < way.num_slices; ++p) {
      exponents.push_back(kizami::num::slice_exponent(largest_) - p * way.advance);
      scales.push_back(kizami::num::slice_scale(exponents.back(), 0, 0));
    }
    split_from(x_.data, exponents, rho_of(way, n_), split, slices);
    return scales;
  }

  std::vector<double> cut_until_zero(const Way& way, const CudaModuleKernel& split, void* slices) {
    const int rho = rho_of(way, n_);
    const DeviceBuffer<double> rest(n_ * n_);
    check(cudaMemcpy(rest.data, x_.data, static_cast<std::size_t>(n_ * n_) * sizeof(double), cudaMemcpyDeviceToDevice),
          "copy");
    std::vector<double> scales;
    auto* plane = static_cast<std::byte*>(slices);
    double largest = largest_;
    while (largest > 0 && scales.size() < kizami::kMaxSlices) {
      const int exponent = kizami::num::slice_exponent(largest);
      split_from(rest.data, {exponent}, rho, split, plane);
      drop_slice<<<2048, 256>>>(rest.data, n_ * n_, kizami::num::slice_sigma(exponent, rho, 0));
      scales.push_back(kizami::num::slice_scale(exponent, 0, 0));
      plane += n_ * n_ * way.format.bytes;
      largest = bench::largest_of(rest.data, n_ * n_);
    }
    return scales;
  }

  std::int64_t n_;
  DeviceBuffer<double> x_, sigmas_, inverse_scales_;
  double largest_ = 0;
};

struct Options {
  std::vector<std::int64_t> sizes = {4096};
  std::vector<std::string> ways = {"bf16/7/a7/d9"};
  int repeats = 3;
  std::string commit = "unknown";
  std::string json;
};

/// The products of one n beside that of cuBLAS.
class Case {
 public:
  Case(std::int64_t n, const Options& options, const bench::Cublas& cublas)
      : n_(n), options_(options), a_(n, 1), b_(n, 2), c_(n * n), native_(n * n) {
    check(splits_.load(kizami_tile_slices, "slices"), "cubin");
    check(products_.load(kizami_tile_report_products, "report_products"), "cubin");
    cublas.multiply<double>(n, n, n, b_.x(), a_.x(), native_.data);
    const bench::ProductError error = bench::error_of_columns(a_.x(), b_.x(), native_.data, n);
    std::fprintf(stderr, "n=%-6ld %-28s errors %.2e %.2e\n", static_cast<long>(n), "cublas", error.entry,
                 error.frobenius);
  }

  [[nodiscard]] bench::Json measure(const Way& way) {
    CudaModuleKernel split;
    check(splits_.kernel(("veltkamp_split_" + in_names(way) + "_matrix").c_str(), split), "kernel");
    CudaModuleKernel product;
    const std::string name = (way.block == 0 ? "whole_k_" : "blocks_of_128_") + in_names(way);
    check(products_.kernel(name.c_str(), product), "kernel");
    const std::int64_t most = way.num_slices > 0 ? way.num_slices : kizami::kMaxSlices;
    const DeviceBuffer<std::byte> a_slices(most * n_ * n_ * way.format.bytes);
    const DeviceBuffer<std::byte> b_slices(most * n_ * n_ * way.format.bytes);
    const std::vector<double> a_scales = a_.cut(way, split, a_slices.data);
    const std::vector<double> b_scales = b_.cut(way, split, b_slices.data);
    const auto num_a = static_cast<int>(a_scales.size());
    const auto num_b = static_cast<int>(b_scales.size());
    std::vector<double> scales;
    for (const double a : a_scales) {
      for (const double b : b_scales) scales.push_back(a * b);
    }
    const DeviceBuffer<double> device_scales(static_cast<std::int64_t>(scales.size()));
    bench::upload(device_scales, scales);
    const int depth = way.depth > 0 ? way.depth : num_a + num_b - 1;
    const auto n = static_cast<int>(n_);
    const std::function<void()> call = [&] {
      constexpr int kTile = 128;
      constexpr int kGroup = 8;
      const int tiles = (n + kTile - 1) / kTile;
      const auto plane_stride = static_cast<std::uint32_t>(n_ * n_);
      check(product.launch(dim3(static_cast<unsigned>(tiles * tiles)), nullptr, a_slices.data, plane_stride, n,
                           b_slices.data, plane_stride, n, device_scales.data, c_.data, n, num_a, num_b, depth, n, n, n,
                           kGroup),
            name.c_str());
    };
    check(cudaMemset(c_.data, 0xFF, static_cast<std::size_t>(n_ * n_) * sizeof(double)), "poison");  // NaN
    call();
    check(cudaDeviceSynchronize(), way.name.c_str());
    const bench::ProductError error = bench::error_of_columns(a_.x(), b_.x(), c_.data, n_);
    const bench::Difference from_native = bench::difference(c_.data, native_.data, n_ * n_);
    const bench::Timer timer;
    std::vector<float> times;
    for (int repeat = 0; repeat < options_.repeats; ++repeat) times.push_back(timer.time(call, 1));
    const int pairs = kizami::num::num_slice_pairs(num_a, num_b, depth);
    const double ms = bench::median(times);
    const double flops = 2e-9 * static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_);
    std::fprintf(stderr,
                 "n=%-6ld %-28s %2d x %2d slices of %2d bits, %3d products %9.3f ms (%6.1f TFLOPS), errors %.2e %.2e, "
                 "from cuBLAS %.3e %.3e\n",
                 static_cast<long>(n_), way.name.c_str(), num_a, num_b, 53 - rho_of(way, n_), pairs, ms,
                 pairs * flops / ms, error.entry, error.frobenius, from_native.frobenius, from_native.largest);
    return {{"report", way.name},
            {"format", way.format.name},
            {"digit_bits", 53 - rho_of(way, n_)},
            {"advance", way.advance},
            {"slices_a", num_a},
            {"slices_b", num_b},
            {"depth", way.depth},
            {"products", pairs},
            {"sum_block", way.block},
            {"ms_median", ms},
            {"product_tflops", pairs * flops / ms},
            {"error", error.entry},
            {"frobenius", error.frobenius},
            {"from_native", {from_native.frobenius, from_native.largest}}};
  }

 private:
  std::int64_t n_;
  const Options& options_;
  Operand a_, b_;
  DeviceBuffer<double> c_, native_;
  CudaModule splits_, products_;
};

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Gauges gauges;
  const bench::Cublas cublas;
  const std::string device = bench::device_name();
  for (const std::int64_t n : options.sizes) {
    Case products(n, options, cublas);
    for (const std::string& text : options.ways) {
      bench::Json line = {{"date", bench::today()},
                          {"commit", options.commit},
                          {"device", device},
                          {"driver", gauges.driver},
                          {"n", n}};
      line.update(products.measure(parse_way(text)));
      records.append(line);
    }
  }
  return 0;
}

void add_options(bench::Program& program, Options& options) {
  program.add_option("--n", options.sizes, "square sizes, multiples of 256")
      ->check(CLI::Range(256, 32768))
      ->check(bench::multiple_of(256));
  program.add_option("--way", options.ways, "format/slices/words, as the source lists them")
      ->check(bench::parses_as(parse_way));
  program.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_report_slices", "FP64 products from slices as a report prints them, beside cuBLAS");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
