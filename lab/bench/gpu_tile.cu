// SPDX-License-Identifier: MIT
// GEMM by tile kernels (src/tile_kernels) beside cuBLASLt, interleaved in one run: TFLOPS, spread, clock and power. A
// table on stderr, JSON lines on stdout, which `kizami_study tile --gpu-results FILE` makes tables and pictures of.
//   bench_gpu_tile --type f16 --n 4096 --n 8192 --group 8                every variant of gpu_tile/variants.hpp
//   bench_gpu_tile --type f16 --n 4096 --plan 128x256x64_c1_o1_w8_l0_true --group 8 --repeats 15
// 2 n^3 operations, alpha = 1, beta = 0. Timed operands are normal numbers (INT8: all values), since power, and with it
// the clock, depends on them. Every variant is judged first, on small integers whose sums are exact in every
// accumulator, so that C must be that of cuBLASLt in every element: on a shape that fills no tile, and on the timed
// one. cuBLASLt multiplies no E5M2 by E5M2; beside E5M2 stands its E4M3 product.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cuda_module.hpp"
#include "device_bench.cuh"
#include "engines/cublaslt/library.hpp"
#include "gpu_tile/variants.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"

#define CUBIN(type) extern "C" const unsigned long long kizami_tile_gemm_##type[];
CUBIN(f16)
CUBIN(bf16)
CUBIN(e4m3)
CUBIN(e5m2)
CUBIN(i8)
CUBIN(tf32)
CUBIN(f32_tf32)
CUBIN(f32)
CUBIN(f32_fma)
CUBIN(f64)
CUBIN(f64_fma)
#undef CUBIN

namespace {

using bench::check;
using bench::Shape;

// ---- types and variants ---------------------------------------------------------------------------------------------

struct Variant {
  std::string kernel;
  std::string plan;
  int tile_m, tile_n;
};

/// A type of product: how cuBLASLt names it, and the kernels.
struct Type {
  const char* name;
  const unsigned long long* cubin;
  cudaDataType_t in;
  cudaDataType_t vendor_in;  ///< differs where cuBLASLt does not have the product
  cudaDataType_t out;
  cublasComputeType_t compute;
  bool b_is_col_major;
  std::vector<Variant> variants;
};

#define VARIANT(type, tm, tn, tk, cga, occ, warps, lat, tma)                                 \
  {"gemm_" #type "_" #tm "x" #tn "x" #tk "_c" #cga "_o" #occ "_w" #warps "_l" #lat "_" #tma, \
   #tm "x" #tn "x" #tk "_c" #cga "_o" #occ "_w" #warps "_l" #lat "_" #tma, tm, tn},

const std::vector<Type>& types() {
  static const std::vector<Type> all = {
      {"f16",
       kizami_tile_gemm_f16,
       CUDA_R_16F,
       CUDA_R_16F,
       CUDA_R_16F,
       CUBLAS_COMPUTE_32F,
       false,
       {KIZAMI_TILE_GEMM_F16(VARIANT)}},
      {"bf16",
       kizami_tile_gemm_bf16,
       CUDA_R_16BF,
       CUDA_R_16BF,
       CUDA_R_16BF,
       CUBLAS_COMPUTE_32F,
       false,
       {KIZAMI_TILE_GEMM_BF16(VARIANT)}},
      {"e4m3",
       kizami_tile_gemm_e4m3,
       CUDA_R_8F_E4M3,
       CUDA_R_8F_E4M3,
       CUDA_R_16F,
       CUBLAS_COMPUTE_32F,
       true,
       {KIZAMI_TILE_GEMM_E4M3(VARIANT)}},
      {"e5m2",
       kizami_tile_gemm_e5m2,
       CUDA_R_8F_E5M2,
       CUDA_R_8F_E4M3,
       CUDA_R_16F,
       CUBLAS_COMPUTE_32F,
       true,
       {KIZAMI_TILE_GEMM_E5M2(VARIANT)}},
      {"i8",
       kizami_tile_gemm_i8,
       CUDA_R_8I,
       CUDA_R_8I,
       CUDA_R_32I,
       CUBLAS_COMPUTE_32I,
       true,
       {KIZAMI_TILE_GEMM_I8(VARIANT)}},
      {"tf32",
       kizami_tile_gemm_tf32,
       CUDA_R_32F,
       CUDA_R_32F,
       CUDA_R_32F,
       CUBLAS_COMPUTE_32F_FAST_TF32,
       true,
       {KIZAMI_TILE_GEMM_TF32(VARIANT)}},
      {"f32_tf32",
       kizami_tile_gemm_f32_tf32,
       CUDA_R_32F,
       CUDA_R_32F,
       CUDA_R_32F,
       CUBLAS_COMPUTE_32F_FAST_TF32,
       true,
       {KIZAMI_TILE_GEMM_F32_TF32(VARIANT)}},
      {"f32",
       kizami_tile_gemm_f32,
       CUDA_R_32F,
       CUDA_R_32F,
       CUDA_R_32F,
       CUBLAS_COMPUTE_32F,
       false,
       {KIZAMI_TILE_GEMM_F32(VARIANT)}},
      {"f32_fma",
       kizami_tile_gemm_f32_fma,
       CUDA_R_32F,
       CUDA_R_32F,
       CUDA_R_32F,
       CUBLAS_COMPUTE_32F,
       false,
       {KIZAMI_TILE_GEMM_F32_FMA(VARIANT)}},
      {"f64",
       kizami_tile_gemm_f64,
       CUDA_R_64F,
       CUDA_R_64F,
       CUDA_R_64F,
       CUBLAS_COMPUTE_64F,
       false,
       {KIZAMI_TILE_GEMM_F64(VARIANT)}},
      {"f64_fma",
       kizami_tile_gemm_f64_fma,
       CUDA_R_64F,
       CUDA_R_64F,
       CUDA_R_64F,
       CUBLAS_COMPUTE_64F,
       false,
       {KIZAMI_TILE_GEMM_F64_FMA(VARIANT)}},
  };
  return all;
}
#undef VARIANT

int bytes_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return 8;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    default:
      return 1;
  }
}

// ---- operands -------------------------------------------------------------------------------------------------------

enum class Fill : std::uint8_t {
  kSmallIntegers,  ///< -1, 0, 1: |sum| <= k, and 128 products of FP8 stay below the 2^13 that its accumulator holds
  kNormal,         ///< normal numbers rounded to the type (32-bit ones to TF32); INT8: all values alike
};

template <class T>
__device__ T rounded(double x) {
  return T(static_cast<float>(x));
}
template <>
__device__ double rounded<double>(double x) {
  return x;
}
template <>
__device__ float rounded<float>(double x) {  // to TF32's ten fraction bits
  return __uint_as_float((__float_as_uint(static_cast<float>(x)) + 0x1000u) & ~0x1FFFu);
}
template <>
__device__ std::int8_t rounded<std::int8_t>(double x) {
  return static_cast<std::int8_t>(x);
}

template <class T>
__global__ void fill_kernel(T* data, std::int64_t count, Fill fill, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x1000000000ull + 2 * static_cast<std::uint64_t>(i);
    double x;
    if (fill == Fill::kSmallIntegers) {
      x = static_cast<double>(bench::mix(at) % 3) - 1;
    } else if constexpr (std::is_same_v<T, std::int8_t>) {
      x = static_cast<double>(bench::mix(at) % 256) - 128;
    } else {
      x = sqrt(-2.0 * log(bench::unit(at))) * cospi(2.0 * bench::unit(at + 1));
    }
    data[i] = rounded<T>(x);
  }
}

void fill(void* data, cudaDataType_t type, std::int64_t count, Fill kind, std::uint64_t seed) {
  const auto go = [&](auto* typed) { fill_kernel<<<2048, 256>>>(typed, count, kind, seed); };
  switch (type) {
    case CUDA_R_64F:
      return go(static_cast<double*>(data));
    case CUDA_R_32F:
      return go(static_cast<float*>(data));
    case CUDA_R_16F:
      return go(static_cast<__half*>(data));
    case CUDA_R_16BF:
      return go(static_cast<__nv_bfloat16*>(data));
    case CUDA_R_8F_E4M3:
      return go(static_cast<__nv_fp8_e4m3*>(data));
    case CUDA_R_8F_E5M2:
      return go(static_cast<__nv_fp8_e5m2*>(data));
    default:
      return go(static_cast<std::int8_t*>(data));
  }
}

/// Adds to *count the elements of `bytes` bytes that differ.
__global__ void count_differences(const std::uint8_t* x, const std::uint8_t* y, std::int64_t elements, int bytes,
                                  unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < elements;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    bool differs = false;
    for (int b = 0; b < bytes; ++b) differs = differs || x[i * bytes + b] != y[i * bytes + b];
    mine += differs ? 1 : 0;
  }
  if (mine != 0) atomicAdd(count, mine);
}

/// Operands and results of one shape: A row-major, B in the order of the type, C row-major.
class Operands {
 public:
  Operands(const Type& type, const Shape& shape)
      : type_(type),
        shape_(shape),
        a_(shape.m * shape.k * bytes_of(type.in)),
        b_(shape.k * shape.n * bytes_of(type.in)),
        vendor_a_(type.in == type.vendor_in ? 1 : shape.m * shape.k),
        vendor_b_(type.in == type.vendor_in ? 1 : shape.k * shape.n),
        c_(c_bytes()),
        vendor_c_(c_bytes()),
        differences_(1) {}

  void fill_with(Fill kind) const {
    fill(a_.data, type_.in, shape_.m * shape_.k, kind, 1);
    fill(b_.data, type_.in, shape_.k * shape_.n, kind, 2);
    if (type_.in != type_.vendor_in) {
      fill(vendor_a_.data, type_.vendor_in, shape_.m * shape_.k, kind, 1);
      fill(vendor_b_.data, type_.vendor_in, shape_.k * shape_.n, kind, 2);
    }
    check(cudaDeviceSynchronize(), "inputs");
  }
  void poison_c() const { check(cudaMemset(c_.data, 0xA5, static_cast<std::size_t>(c_bytes())), "poison"); }
  /// Elements of C that are not the vendor's.
  [[nodiscard]] unsigned long long differences() const {
    check(cudaMemset(differences_.data, 0, sizeof(unsigned long long)), "differences");
    count_differences<<<2048, 256>>>(c_.data, vendor_c_.data, shape_.m * shape_.n, bytes_of(type_.out),
                                     differences_.data);
    unsigned long long count = 0;
    check(cudaMemcpy(&count, differences_.data, sizeof count, cudaMemcpyDeviceToHost), "differences");
    return count;
  }

  [[nodiscard]] const Type& type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] void* a() const { return a_.data; }
  [[nodiscard]] void* b() const { return b_.data; }
  [[nodiscard]] void* c() const { return c_.data; }
  [[nodiscard]] void* vendor_a() const { return type_.in == type_.vendor_in ? a_.data : vendor_a_.data; }
  [[nodiscard]] void* vendor_b() const { return type_.in == type_.vendor_in ? b_.data : vendor_b_.data; }
  [[nodiscard]] void* vendor_c() const { return vendor_c_.data; }

 private:
  [[nodiscard]] std::int64_t c_bytes() const { return shape_.m * shape_.n * bytes_of(type_.out); }

  const Type& type_;
  Shape shape_;
  bench::DeviceBuffer<std::uint8_t> a_, b_, vendor_a_, vendor_b_, c_, vendor_c_;
  bench::DeviceBuffer<unsigned long long> differences_;
};

// ---- what is timed --------------------------------------------------------------------------------------------------

/// cuBLASLt with the first algorithm of its heuristic. C row-major is the column-major C^T = B^T A^T.
class Vendor {
 public:
  explicit Vendor(const Operands& operands) : operands_(operands), workspace_(kWorkspaceBytes) {
    std::string why;
    lt_ = kizami::engines::cublaslt_library(&why);
    if (lt_ == nullptr) throw std::runtime_error("no cuBLASLt: " + why + "; set LD_LIBRARY_PATH");
    const auto handle = kizami::engines::cublaslt_handle(0);
    check(handle.status(), "cuBLASLt");
    handle_ = handle.value();
    const Type& type = operands.type();
    const auto [m, n, k] = operands.shape();
    const cudaDataType_t scale = type.out == CUDA_R_32I ? CUDA_R_32I : type.out == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
    require(lt_->init_desc(&product_, sizeof product_, type.compute, scale));
    const cublasOperation_t op_b = type.b_is_col_major ? CUBLAS_OP_T : CUBLAS_OP_N;
    require(lt_->set_desc(&product_, CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof op_b));
    layout(b_, type.vendor_in, type.b_is_col_major ? k : n, type.b_is_col_major ? n : k);
    layout(a_, type.vendor_in, k, m);
    layout(c_, type.out, n, m);
    cublasLtMatmulPreferenceOpaque_t preference;
    require(lt_->init_preference(&preference, sizeof preference));
    const std::size_t most = kWorkspaceBytes;
    require(lt_->set_preference(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    require(lt_->find_algorithms(handle_, &product_, &b_, &a_, &c_, &c_, &preference, 1, &found, &count));
    if (count == 0) throw std::runtime_error(std::string("cuBLASLt has no algorithm for ") + type.name);
    algorithm_ = found.algo;
  }

  void run() const {
    const bool is_f64 = operands_.type().out == CUDA_R_64F;
    const bool is_i32 = operands_.type().out == CUDA_R_32I;
    const float one32 = 1, zero32 = 0;
    const double one64 = 1, zero64 = 0;
    const std::int32_t one = 1, zero = 0;
    const void* const alpha = is_f64   ? static_cast<const void*>(&one64)
                              : is_i32 ? static_cast<const void*>(&one)
                                       : &one32;
    const void* const beta = is_f64   ? static_cast<const void*>(&zero64)
                             : is_i32 ? static_cast<const void*>(&zero)
                                      : &zero32;
    auto& self = const_cast<Vendor&>(*this);  // its descriptors are not const in the vendor's interface
    require(lt_->matmul(handle_, &self.product_, alpha, operands_.vendor_b(), &self.b_, operands_.vendor_a(), &self.a_,
                        beta, operands_.vendor_c(), &self.c_, operands_.vendor_c(), &self.c_, &algorithm_,
                        workspace_.data, kWorkspaceBytes, nullptr));
  }

 private:
  static constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

  static void require(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
      throw std::runtime_error("cuBLASLt failed with status " + std::to_string(static_cast<int>(status)));
    }
  }
  void layout(cublasLtMatrixLayoutOpaque_t& out, cudaDataType_t type, std::int64_t rows, std::int64_t cols) const {
    require(lt_->init_layout(&out, sizeof out, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                             rows));
  }

  const Operands& operands_;
  bench::DeviceBuffer<std::uint8_t> workspace_;
  const kizami::engines::CublasLt* lt_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDescOpaque_t product_{};
  cublasLtMatrixLayoutOpaque_t a_{}, b_{}, c_{};
  cublasLtMatmulAlgo_t algorithm_{};
};

/// Enqueues one tile kernel on the operands.
void run_tiles(const kizami::base::CudaModuleKernel& kernel, const Variant& variant, int group,
               const Operands& operands) {
  const auto [m, n, k] = operands.shape();
  const auto blocks = ((m + variant.tile_m - 1) / variant.tile_m) * ((n + variant.tile_n - 1) / variant.tile_n);
  const int b_stride = static_cast<int>(operands.type().b_is_col_major ? k : n);
  check(kernel.launch(dim3(static_cast<unsigned>(blocks)), nullptr, operands.a(), static_cast<int>(k), operands.b(),
                      b_stride, operands.c(), static_cast<int>(n), static_cast<int>(m), static_cast<int>(n),
                      static_cast<int>(k), group),
        variant.kernel.c_str());
}

struct Runner {
  std::string who;
  std::string plan;
  std::function<void(const Operands&)> call;
  std::string verdict = "reference";
  std::vector<float> times;
  float burst_ms = 0;
  unsigned mhz = 0, watts = 0;
};

struct Options {
  std::vector<std::string> types;
  std::vector<std::int64_t> sizes = {4096};
  std::vector<std::string> plans;
  std::vector<int> groups = {8};
  int repeats = 7;
  std::string commit = "unknown";
  std::string json;
};

/// Runs each into a poisoned C and compares with cuBLASLt.
void judge(std::vector<Runner>& runners, const Operands& operands) {
  operands.fill_with(Fill::kSmallIntegers);
  const Vendor vendor(operands);
  vendor.run();
  for (Runner& runner : runners) {
    if (runner.who != "tile" || runner.verdict.rfind("failed", 0) == 0) continue;
    operands.poison_c();
    runner.call(operands);
    check(cudaDeviceSynchronize(), runner.plan.c_str());
    const unsigned long long wrong = operands.differences();
    const auto [m, n, k] = operands.shape();
    runner.verdict = wrong == 0 ? "equal"
                                : "failed: " + std::to_string(wrong) + " of " + std::to_string(m) + " x " +
                                      std::to_string(n) + " elements differ, k = " + std::to_string(k);
  }
}

void print(const Runner& runner, const Type& type, std::int64_t n, const Options& options, const bench::Gauges& gauges,
           const std::string& device, const bench::Records& records) {
  const bench::Spread found = bench::spread(runner.times);
  const double median = found.median;
  const double flops = 2e-9 * std::pow(static_cast<double>(n), 3);
  std::fprintf(stderr, "%-8s n=%-6ld %-9s %-34s %9.4f ms %7.1f TFLOPS (burst %7.1f) %4u MHz %3u W %s\n", type.name,
               static_cast<long>(n), runner.who.c_str(), runner.plan.c_str(), median, flops / median,
               flops / runner.burst_ms, runner.mhz, runner.watts, runner.verdict.c_str());
  records.append(bench::Json{{"date", bench::today()},
                             {"commit", options.commit},
                             {"device", device},
                             {"driver", gauges.driver},
                             {"type", type.name},
                             {"n", n},
                             {"who", runner.who},
                             {"plan", runner.plan},
                             {"ms_median", median},
                             {"ms_min", found.min},
                             {"ms_max", found.max},
                             {"tflops", flops / median},
                             {"burst_tflops", flops / runner.burst_ms},
                             {"check", runner.verdict},
                             {"sm_mhz", runner.mhz},
                             {"watts", runner.watts}});
}

void run_type(const Type& type, const Options& options, const bench::Gauges& gauges, const std::string& device,
              const bench::Records& records) {
  kizami::base::CudaModule module;
  check(module.load(type.cubin, type.name), "cubin");
  std::vector<Runner> runners;
  for (const Variant& variant : type.variants) {
    if (!options.plans.empty() &&
        std::find(options.plans.begin(), options.plans.end(), variant.plan) == options.plans.end()) {
      continue;
    }
    kizami::base::CudaModuleKernel kernel;
    check(module.kernel(variant.kernel.c_str(), kernel), "kernel");
    for (const int group : options.groups) {
      Runner runner;
      runner.who = "tile";
      runner.plan = variant.plan + " group=" + std::to_string(group);
      runner.verdict = "unjudged";
      runner.call = [kernel, &variant, group](const Operands& on) { run_tiles(kernel, variant, group, on); };
      runners.push_back(std::move(runner));
    }
  }
  judge(runners, Operands(type, {1040, 1104, 1072}));
  for (const std::int64_t n : options.sizes) {
    const Operands operands(type, {n, n, n});
    judge(runners, operands);
    operands.fill_with(Fill::kNormal);
    const Vendor vendor(operands);
    std::vector<Runner> all = runners;
    Runner reference;
    reference.who = type.in == type.vendor_in ? "cublaslt" : "cublaslt_e4m3";
    reference.plan = "heuristic";
    reference.call = [&vendor](const Operands&) { vendor.run(); };
    all.insert(all.begin(), std::move(reference));
    const bench::Timer timer;
    for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {  // one to warm up
      for (Runner& runner : all) {
        const float ms = timer.time([&] { runner.call(operands); }, 1);
        if (repeat >= 1) runner.times.push_back(ms);
      }
    }
    for (Runner& runner : all) {
      const int calls = std::max(1, std::min(50, static_cast<int>(20 / runner.times.front())));
      for (int i = 0; i < calls; ++i) runner.call(operands);  // queued ahead: the gauges are read while they run
      runner.burst_ms = timer.time([&] { runner.call(operands); }, calls);
      runner.mhz = gauges.sm_mhz();
      runner.watts = gauges.watts();
      print(runner, type, n, options, gauges, device, records);
    }
  }
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Gauges gauges;
  const std::string device = bench::device_name();
  for (const Type& type : types()) {
    if (!options.types.empty() &&
        std::find(options.types.begin(), options.types.end(), type.name) == options.types.end()) {
      continue;
    }
    try {
      run_type(type, options, gauges, device, records);
    } catch (const std::runtime_error& error) {  // the other types are measured nevertheless
      std::fprintf(stderr, "%s: %s\n", type.name, error.what());
    }
  }
  return 0;
}

/// Whether a type has the variant. (All names would fill pages of --help.)
std::string is_plan(const std::string& plan) {
  for (const Type& type : types()) {
    for (const Variant& variant : type.variants) {
      if (variant.plan == plan) return {};
    }
  }
  return plan + " is no variant of lab/bench/gpu_tile/variants.hpp";
}

void add_options(bench::Program& program, Options& options) {
  std::vector<std::string> names;
  for (const Type& type : types()) names.emplace_back(type.name);
  program.add_option("--type", options.types, "of products; without it all")->check(CLI::IsMember(names));
  program.add_option("--n", options.sizes, "square sizes, multiples of 16")->check(CLI::Range(16, 46336));
  program.add_option("--plan", options.plans, "variants; without it all, which a table on stderr names")
      ->check(is_plan);
  program.add_option("--group", options.groups, "rows of tiles in a group of swizzle_2d")->check(CLI::Range(1, 4096));
  program.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_tile", "GEMM by tile kernels beside cuBLASLt");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
