// SPDX-License-Identifier: MIT
// Attention by tile kernels (src/tile_kernels/attention.hpp) beside the same in three steps, interleaved in one run: S = Q
// K^T by cuBLAS, a softmax of its rows in place, O = S V by cuBLAS; and beside the two products alone, which is what the
// tensor cores need if nothing else is done. A table on stderr, JSON lines on stdout.
//   bench_gpu_tile_attention --n 1024 --n 4096 --n 16384 --head 128 --causal 0 --causal 1
// 16384 rows and 2048 columns in all: n = 1024 has 16 batches, heads of 128 are 16. 4 n^2 D operations a head, half of
// them if causal; what is masked and computed nevertheless does not count. lab/bench/attention_torch.py times SDPA of PyTorch
// on the same shapes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cuda_module.hpp"
#include "device_bench.cuh"
#include "gpu_tile_attention/variants.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"

extern "C" const unsigned long long kizami_tile_attention_variants[];

namespace {

using bench::check;

struct Variant {
  std::string kernel, type;
  int head, tile_q;
};
#define VARIANT(type, T, head, tile_q, tile_k, occ, warps) \
  {"attention_" #type "_h" #head "_" #tile_q "x" #tile_k "_o" #occ "_w" #warps, #type, head, tile_q},
const std::vector<Variant> kVariants = {KIZAMI_TILE_ATTENTION(VARIANT)};
#undef VARIANT

struct Options {
  std::vector<std::string> types = {"f16", "bf16"};
  std::vector<int> lengths = {1024, 2048, 4096, 8192, 16384};
  std::vector<int> heads = {64, 128};
  std::vector<int> causal = {0, 1};
  int repeats = 7;
  std::string commit = "unknown";
  std::string json;
};

template <class T>
__global__ void fill_normal(T* x, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x1000000000ull + 2 * static_cast<std::uint64_t>(i);
    x[i] = static_cast<T>(static_cast<float>(sqrt(-2.0 * log(bench::unit(at))) * cospi(2.0 * bench::unit(at + 1))));
  }
}

/// Row blockIdx.x of S becomes its softmax, columns beyond its own position 0 if causal. @shape S: rows x n, 256 threads
template <class T>
__global__ void softmax_row(T* S, int n, float c, bool is_causal) {
  __shared__ float parts[8];
  T* const row = S + static_cast<std::int64_t>(blockIdx.x) * n;
  const int num_seen = is_causal ? static_cast<int>(blockIdx.x % static_cast<unsigned>(n)) + 1 : n;
  const auto over_block = [&](float x, auto combine) {
    for (int lane = 16; lane > 0; lane /= 2) x = combine(x, __shfl_xor_sync(0xffffffffu, x, lane));
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[0];
    for (int i = 1; i < 8; ++i) x = combine(x, parts[i]);
    return x;
  };
  float highest = -INFINITY;
  for (int j = static_cast<int>(threadIdx.x); j < num_seen; j += 256)
    highest = fmaxf(highest, static_cast<float>(row[j]));
  highest = over_block(highest, [](float a, float b) { return fmaxf(a, b); });
  float total = 0;
  for (int j = static_cast<int>(threadIdx.x); j < num_seen; j += 256)
    total += exp2f(c * (static_cast<float>(row[j]) - highest));
  total = over_block(total, [](float a, float b) { return a + b; });
  for (int j = static_cast<int>(threadIdx.x); j < n; j += 256)
    row[j] = static_cast<T>(j < num_seen ? exp2f(c * (static_cast<float>(row[j]) - highest)) / total : 0.0F);
}

template <class T>
__global__ void largest_difference(const T* x, const T* y, std::int64_t count, unsigned* largest) {
  float mine = 0;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const float d = fabsf(static_cast<float>(x[i]) - static_cast<float>(y[i]));
    mine = d <= mine ? mine : d;  // NaN stays
  }
  atomicMax(largest, __float_as_uint(mine));  // of numbers that are not negative, bits are in order
}

struct Runner {
  std::string who;
  std::function<void()> call;
  double difference = 0;
  std::vector<float> times;
  unsigned mhz = 0, watts = 0;
};

/// Q, K, V, S and both O of one shape.
template <class T>
class Attention {
 public:
  Attention(int n, int head, bool is_causal)
      : n_(n),
        head_(head),
        is_causal_(is_causal),
        heads_(kRows / n * (kColumns / head)),
        c_(static_cast<float>(1.4426950408889634 / std::sqrt(head))),
        q_(size()),
        k_(size()),
        v_(size()),
        o_(size()),
        unfused_o_(size()),
        s_(static_cast<std::int64_t>(heads_) * n * n),
        largest_(1) {
    fill_normal<<<2048, 256>>>(q_.data, size(), 1);
    fill_normal<<<2048, 256>>>(k_.data, size(), 2);
    fill_normal<<<2048, 256>>>(v_.data, size(), 3);
    check(cudaDeviceSynchronize(), "operands");
    products_ = reinterpret_cast<decltype(products_)>(dlsym(cublas_.library, "cublasGemmStridedBatchedEx"));
    if (products_ == nullptr) throw std::runtime_error("libcublas has no cublasGemmStridedBatchedEx");
  }

  void products() const {
    // Column-major: S^T = K Q^T, O^T = V^T S^T.
    multiply(CUBLAS_OP_T, n_, n_, head_, k_.data, head_, q_.data, head_, s_.data, n_);
    multiply(CUBLAS_OP_N, head_, n_, n_, v_.data, head_, s_.data, n_, unfused_o_.data, head_);
  }
  void unfused() const {
    multiply(CUBLAS_OP_T, n_, n_, head_, k_.data, head_, q_.data, head_, s_.data, n_);
    softmax_row<<<static_cast<unsigned>(heads_) * static_cast<unsigned>(n_), 256>>>(s_.data, n_, c_, is_causal_);
    multiply(CUBLAS_OP_N, head_, n_, n_, v_.data, head_, s_.data, n_, unfused_o_.data, head_);
  }
  void tiles(const kizami::base::CudaModuleKernel& kernel, int tile_q) const {
    const dim3 grid(static_cast<unsigned>((n_ + tile_q - 1) / tile_q), static_cast<unsigned>(heads_));
    check(kernel.launch(grid, nullptr, q_.data, k_.data, v_.data, o_.data, heads_, n_, n_, c_), "attention");
  }
  /// Of the tile kernel's last O to that in three steps, whose scores are rounded to T.
  [[nodiscard]] double difference() const {
    check(cudaMemset(largest_.data, 0, sizeof(unsigned)), "difference");
    largest_difference<<<2048, 256>>>(o_.data, unfused_o_.data, size(), largest_.data);
    unsigned bits = 0;
    check(cudaMemcpy(&bits, largest_.data, sizeof bits, cudaMemcpyDeviceToHost), "difference");
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  void poison() const { check(cudaMemset(o_.data, 0xFF, static_cast<std::size_t>(size()) * sizeof(T)), "poison"); }
  [[nodiscard]] double flops() const {
    return 4.0 * heads_ * static_cast<double>(n_) * n_ * head_ / (is_causal_ ? 2 : 1);
  }
  [[nodiscard]] int num_heads() const { return heads_; }

 private:
  static constexpr int kRows = 16384;
  static constexpr int kColumns = 2048;

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(heads_) * n_ * head_; }
  void multiply(cublasOperation_t op_a, int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c,
                int ldc) const {
    constexpr cudaDataType_t kType = std::is_same_v<T, __half> ? CUDA_R_16F : CUDA_R_16BF;
    const float one = 1, zero = 0;
    const auto stride = [](int rows, int cols) { return static_cast<long long>(rows) * cols; };
    if (products_(cublas_.handle, op_a, CUBLAS_OP_N, m, n, k, &one, a, kType, lda, stride(m, k), b, kType, ldb,
                  stride(k, n), &zero, c, kType, ldc, stride(m, n), heads_, CUBLAS_COMPUTE_32F,
                  CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS failed");
  }

  int n_, head_;
  bool is_causal_;
  int heads_;
  float c_;
  bench::Cublas cublas_;
  cublasStatus_t (*products_)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                              const void*, cudaDataType, int, long long, const void*, cudaDataType, int, long long,
                              const void*, void*, cudaDataType, int, long long, int, cublasComputeType_t,
                              cublasGemmAlgo_t) = nullptr;
  bench::DeviceBuffer<T> q_, k_, v_, o_, unfused_o_, s_;
  bench::DeviceBuffer<unsigned> largest_;
};

template <class T>
void run_shape(const std::string& type, int n, int head, bool is_causal, const Options& options,
               const bench::Gauges& gauges, const bench::Records& records) {
  const Attention<T> attention(n, head, is_causal);
  kizami::base::CudaModule module;
  check(module.load(kizami_tile_attention_variants, "attention_variants"), "cubin");
  std::vector<Runner> runners;
  runners.push_back({"unfused", [&] { attention.unfused(); }, 0, {}, 0, 0});
  runners.push_back({"products", [&] { attention.products(); }, 0, {}, 0, 0});
  attention.unfused();
  for (const Variant& variant : kVariants) {
    if (variant.type != type || variant.head != head) continue;
    kizami::base::CudaModuleKernel kernel;
    check(module.kernel((variant.kernel + (is_causal ? "_causal" : "")).c_str(), kernel), "kernel");
    attention.poison();
    attention.tiles(kernel, variant.tile_q);
    check(cudaDeviceSynchronize(), variant.kernel.c_str());
    runners.push_back({variant.kernel,
                       [&attention, kernel, &variant] { attention.tiles(kernel, variant.tile_q); },
                       attention.difference(),
                       {},
                       0,
                       0});
  }
  const bench::Timer timer;
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {  // one to warm up
    for (Runner& runner : runners) {
      const float ms = timer.time(runner.call, 3);
      if (repeat > 0) runner.times.push_back(ms);
      runner.mhz = gauges.sm_mhz();
      runner.watts = gauges.watts();
    }
  }
  for (const Runner& runner : runners) {
    const bench::Spread found = bench::spread(runner.times);
    const double tflops = attention.flops() * 1e-9 / found.median;
    std::fprintf(stderr, "%-5s n=%-6d head %-4d %-7s %-36s %8.3f ms %7.1f TFLOPS, difference %.2g\n", type.c_str(), n,
                 head, is_causal ? "causal" : "all", runner.who.c_str(), found.median, tflops, runner.difference);
    records.append(bench::Json{{"date", bench::today()},
                               {"commit", options.commit},
                               {"device", bench::device_name()},
                               {"driver", gauges.driver},
                               {"type", type},
                               {"n", n},
                               {"head", head},
                               {"heads", attention.num_heads()},
                               {"causal", is_causal},
                               {"who", runner.who},
                               {"ms_median", found.median},
                               {"ms_min", found.min},
                               {"ms_max", found.max},
                               {"tflops", tflops},
                               {"largest_difference", runner.difference},
                               {"sm_mhz", runner.mhz},
                               {"watts", runner.watts}});
  }
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Gauges gauges;
  for (const std::string& type : options.types) {
    for (const int head : options.heads) {
      for (const int n : options.lengths) {
        for (const int causal : options.causal) {
          if (type == "f16")
            run_shape<__half>(type, n, head, causal == 1, options, gauges, records);
          else
            run_shape<__nv_bfloat16>(type, n, head, causal == 1, options, gauges, records);
        }
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_tile_attention", "Attention by tile kernels beside cuBLAS and a softmax");
  program.add_option("--type", options.types, "of elements")->check(CLI::IsMember({"f16", "bf16"}));
  program.add_option("--n", options.lengths, "queries and keys of a head")
      ->check(CLI::IsMember({512, 1024, 2048, 4096, 8192, 16384}));
  program.add_option("--head", options.heads, "elements of a head")->check(CLI::IsMember({64, 128}));
  program.add_option("--causal", options.causal, "1: queries see keys up to their own position")
      ->check(CLI::IsMember({0, 1}));
  program.add_option("--repeats", options.repeats, "timed rounds")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] { return run(options); });
}
