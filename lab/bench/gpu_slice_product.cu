// SPDX-License-Identifier: MIT
// Times the products of slices of every format by the engines for devices: windows of one call of run(), of k elements
// each, random digits over their full range.
//
//   bench_gpu_slice_product --engine hopper --engine cublaslt --n 4096 --format bf16 --windows 4
//
// --added: all windows in one plane of sums, as EF of ozaki1 adds those of an anti-diagonal; INT8 alone.
// TOPS = 2 n^2 k windows / time: "call", the median of single launches between two events, each after a pause in which
// the device cools; "burst", launches back to back between two events, over their number. Elements at random places are
// compared with sums of integers. One JSON line a case on stdout.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/device_limits.hpp"
#include "device_bench.cuh"
#include "engines/cublaslt/cublaslt.hpp"
#include "engines/hopper/hopper.hpp"
#include "engines/tile/device.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "product/product.hpp"

namespace {

using bench::check;
using kizami::SliceFormat;
namespace product = kizami::product;

/// The formats, with the bits of their digits and what an accumulator sums exactly (ozaki1::slice_sum_limit()).
struct Format {
  SliceFormat format;
  int bits;
  std::int64_t exact_k;
};
constexpr Format kFormats[] = {{SliceFormat::kInt8, 7, 0},
                               {SliceFormat::kFp16, 9, 64},
                               {SliceFormat::kBf16, 8, 256},
                               {SliceFormat::kE4m3, 4, 64},
                               {SliceFormat::kE5m2, 3, 256}};

__device__ std::int64_t random_digit(std::uint64_t seed, int bits) {
  const auto span = static_cast<std::uint64_t>((2 << bits) + 1);
  const auto digit = static_cast<std::int64_t>(bench::mix(seed) % span) - (1 << bits);
  return bits == 7 ? min(digit, std::int64_t{127}) : digit;
}
__device__ void store_digit(void* to, std::int64_t e, SliceFormat format, int digit) {
  const auto x = static_cast<float>(digit);
  switch (format) {
    case SliceFormat::kInt8:
      static_cast<std::int8_t*>(to)[e] = static_cast<std::int8_t>(digit);
      return;
    case SliceFormat::kFp16:
      static_cast<__half*>(to)[e] = __float2half(x);
      return;
    case SliceFormat::kBf16:
      static_cast<__nv_bfloat16*>(to)[e] = __float2bfloat16(x);
      return;
    case SliceFormat::kE4m3:
      static_cast<__nv_fp8_e4m3*>(to)[e] = __nv_fp8_e4m3(x);
      return;
    case SliceFormat::kE5m2:
      static_cast<__nv_fp8_e5m2*>(to)[e] = __nv_fp8_e5m2(x);
      return;
  }
}
__global__ void fill_digits(void* to, std::int64_t size, SliceFormat format, int bits, std::uint64_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < size; e += step)
    store_digit(to, e, format, static_cast<int>(random_digit(seed + static_cast<std::uint64_t>(e), bits)));
}

/// Elements at random places, by integers.
__global__ void check_elements(const std::int32_t* c, std::int64_t n, std::int64_t k, int windows, bool is_added,
                               int bits, std::uint64_t a_seed, std::uint64_t b_seed, int* num_wrong) {
  const std::uint64_t h = bench::mix(blockIdx.x * blockDim.x + threadIdx.x);
  const auto size = static_cast<std::uint64_t>(n);
  const std::uint64_t i = (h >> 40) % size;
  const std::uint64_t j = (h >> 16) % size;
  const std::uint64_t w = is_added ? 0 : h % static_cast<std::uint64_t>(windows);
  const auto terms = static_cast<std::uint64_t>(k);
  std::int64_t sum = 0;
  for (std::uint64_t x = 0; x < (is_added ? static_cast<std::uint64_t>(windows) : 1) * terms; ++x) {
    const std::uint64_t at = w * terms + x;
    sum += random_digit(a_seed + i * terms * static_cast<std::uint64_t>(windows) + at, bits) *
           random_digit(b_seed + j * terms * static_cast<std::uint64_t>(windows) + at, bits);
  }
  if (sum != c[(w * size + j) * size + i]) atomicAdd(num_wrong, 1);
}

struct Options {
  std::vector<std::int64_t> ns{2048, 4096, 8192, 16384};
  std::int64_t k = 0;  ///< 0: n
  std::vector<std::string> formats;
  std::vector<std::string> engines{"hopper"};
  std::string commit = "unknown";
  std::string json;
  int windows = 4;
  bool is_added = false;
  int rounds = 7;
};

struct Times {
  std::string refusal;
  double call_ms = 0;
  double burst_ms = 0;
  bool is_right = false;
};

const product::Engine& engine_of(const std::string& name) {
  using namespace kizami::engines;
  return name == "cublaslt" ? cublaslt_engine() : name == "tile" ? tile_device_engine() : hopper_engine();
}

product::DeviceFacts facts_of() {
  product::DeviceFacts facts;
  check(kizami::base::find_device_limits(facts), "the device");
  facts.space = product::MemorySpace::kDevice;
  return facts;
}

Times measure(const product::Engine& engine, const product::DeviceFacts& facts, const Format& format, std::int64_t n,
              const Options& options) {
  constexpr std::uint64_t kASeed = 1;
  constexpr std::uint64_t kBSeed = std::uint64_t{1} << 60;
  const std::int64_t k = options.k != 0 ? options.k : n;
  product::ProductDesc desc;
  desc.m = desc.n = n;
  desc.k = k;
  desc.num_windows = options.windows;
  desc.num_products = options.is_added ? 1 : options.windows;
  desc.epilogue = product::Epilogue::kStoreAcc;
  desc.a_row_stride = desc.b_row_stride = k * options.windows;
  desc.a_plane_stride = desc.b_plane_stride = n * desc.a_row_stride;
  desc.c_col_stride = n;
  desc.c_plane_stride = n * n;
  desc.format = format.format;
  desc.exact_k = format.exact_k;
  for (int w = 0; w < options.windows; ++w)
    desc.windows[static_cast<std::size_t>(w)] = {0, 0, w * k, w * k, k, options.is_added && w > 0};
  const auto answer = engine.query(desc, facts);
  Times times;
  if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
    times.refusal = refusal->reason;
    return times;
  }
  const auto& offer = std::get<product::Offer>(answer);
  const auto size = desc.a_plane_stride;
  void* a = nullptr;
  void* b = nullptr;
  std::int32_t* c = nullptr;
  void* workspace = nullptr;
  int* num_wrong = nullptr;
  const auto bytes = static_cast<std::size_t>(size * product::element_bytes(format.format));
  check(cudaMalloc(&a, bytes), "cudaMalloc");
  check(cudaMalloc(&b, bytes), "cudaMalloc");
  check(cudaMalloc(&c, static_cast<std::size_t>(desc.c_plane_stride * options.windows) * 4), "cudaMalloc");
  check(cudaMalloc(&workspace, offer.workspace_bytes + 1), "cudaMalloc");
  check(cudaMallocManaged(&num_wrong, 4), "cudaMalloc");
  *num_wrong = 0;
  fill_digits<<<1024, 256>>>(a, size, format.format, format.bits, kASeed);
  fill_digits<<<1024, 256>>>(b, size, format.format, format.bits, kBSeed);
  const auto launch = [&] {
    const product::Pointers pointers{static_cast<const std::int8_t*>(a), static_cast<const std::int8_t*>(b), c};
    check(engine.run(desc, offer, pointers, static_cast<std::byte*>(workspace), nullptr), "the product");
  };
  launch();
  check_elements<<<4, 64>>>(c, n, k, options.windows, options.is_added, format.bits, kASeed, kBSeed, num_wrong);
  check(cudaDeviceSynchronize(), "the product");
  times.is_right = *num_wrong == 0;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  const auto elapsed = [&](int count) {
    check(cudaEventRecord(begin), "event");
    for (int x = 0; x < count; ++x) launch();
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), "the product");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "elapsed time");
    return static_cast<double>(ms) / count;
  };
  std::vector<double> calls;
  for (int round = 0; round < options.rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    calls.push_back(elapsed(1));
  }
  times.call_ms = bench::median(calls);
  times.burst_ms = elapsed(options.rounds);
  for (void* memory : {a, b, workspace, static_cast<void*>(c), static_cast<void*>(num_wrong)})
    check(cudaFree(memory), "cudaFree");
  check(cudaEventDestroy(begin), "event");
  check(cudaEventDestroy(end), "event");
  return times;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// @return whether the product was refused or right
bool print_case(const std::string& engine, const product::DeviceFacts& facts, const bench::Gauges& gauges,
                const char* device, const Format& format, std::int64_t n, const Options& options,
                const bench::Records& records) {
  const std::string name(kizami::to_string(format.format));
  const Times times = measure(engine_of(engine), facts, format, n, options);
  if (!times.refusal.empty()) {
    std::fprintf(stderr, "%6lld %-5s %-8s %s\n", static_cast<long long>(n), name.c_str(), engine.c_str(),
                 times.refusal.c_str());
    return true;
  }
  const auto size = static_cast<double>(n);
  const std::int64_t k = options.k != 0 ? options.k : n;
  const double tera_ops = 2e-12 * size * size * static_cast<double>(k) * options.windows;
  records.append(bench::Json{{"date", bench::today()},
                             {"commit", options.commit},
                             {"device", device},
                             {"driver", gauges.driver},
                             {"case", "slice_product"},
                             {"engine", engine},
                             {"n", n},
                             {"k", k},
                             {"format", name},
                             {"bits", format.bits},
                             {"windows", options.windows},
                             {"planes", options.is_added ? 1 : options.windows},
                             {"call_ms", times.call_ms},
                             {"tops", tera_ops / (1e-3 * times.call_ms)},
                             {"burst_tops", tera_ops / (1e-3 * times.burst_ms)},
                             {"correct", times.is_right}});
  std::fprintf(stderr, "%6lld %-5s %-8s call %8.3f ms %6.0f TOPS, burst %6.0f TOPS%s\n", static_cast<long long>(n),
               name.c_str(), engine.c_str(), times.call_ms, tera_ops / (1e-3 * times.call_ms),
               tera_ops / (1e-3 * times.burst_ms), times.is_right ? "" : "  WRONG");
  return times.is_right;
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const cudaDeviceProp device = bench::device_properties();
  if (contains(options.engines, "tile")) check(kizami::engines::prepare_tile_device(0), "engine tile");
  const bench::Gauges gauges;
  bool is_right = true;
  for (const std::int64_t n : options.ns) {
    for (const Format& format : kFormats) {
      const std::string name(kizami::to_string(format.format));
      if (!options.formats.empty() && !contains(options.formats, name)) continue;
      for (const std::string& engine : options.engines)
        is_right = print_case(engine, facts_of(), gauges, device.name, format, n, options, records) && is_right;
    }
  }
  return is_right ? 0 : 1;
}

void add_options(bench::Program& program, Options& options) {
  std::vector<std::string> formats;
  for (const Format& format : kFormats) formats.emplace_back(to_string(format.format));
  program.add_option("--engine", options.engines, "of the products")
      ->check(CLI::IsMember({"hopper", "cublaslt", "tile"}));
  program.add_option("--n", options.ns, "sizes, multiples of 128")->check(CLI::Range(128, 32768));
  program.add_option("--k", options.k, "elements of a window, a multiple of 128; without it n")
      ->check(CLI::Range(128, 131072));
  program.add_option("--format", options.formats, "of slices; without it all")->check(CLI::IsMember(formats));
  program.add_option("--windows", options.windows, "products of a launch")->check(CLI::Range(1, product::kMaxWindows));
  program.add_flag("--added", options.is_added, "the sums of all windows in one plane");
  program.add_option("--rounds", options.rounds, "launches timed")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_slice_product", "The products of slices of every format on a CUDA device");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
