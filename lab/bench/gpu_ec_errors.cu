// SPDX-License-Identifier: MIT
// Errors over k of the algorithms of [OY2021] on a device, of those of scheme ec, of FP32 and of cuBLAS, averaged over
// seeds, of matrices of two classes: the document's equation (6), ||C64 - C32||_F / ||C64||_F with an FP64 product of the
// FP32 operands as C64, and the largest |error| / (|A||B|). Products are 16 x k by k x 16, in order nn.
// JSON lines on stdout, one for each pair of classes and method, with an error for each k.
//   bench_gpu_ec_errors --data uniform:-1:1 --data exp_rand:-15:15/exp_rand:-35:-15 --max-k 65536 --seeds 8
// `kizami_study sgemm --gpu-errors FILE` draws figures 1, 2, 3 and 8 and table 2 from it.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_bench.cuh"
#include "gpu_ec/data.cuh"
#include "gpu_ec/documents.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "kizami/cuda.hpp"

namespace {

using bench::check;
using bench::DataClass;
using bench::DeviceBuffer;

constexpr std::int64_t kSide = 16;
constexpr std::int64_t kElements = kSide * kSide;

/// The classes of A and of B.
struct DataPair {
  DataClass a;
  DataClass b;
};
DataPair parse_pair(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {bench::parse_data(text), bench::parse_data(text)};
  return {bench::parse_data(text.substr(0, slash)), bench::parse_data(text.substr(slash + 1))};
}

struct Options {
  std::vector<DataPair> data = {parse_pair("uniform:-1:1")};
  std::vector<std::string> methods;
  std::int64_t max_k = 65536;
  int seeds = 8;
  std::string commit = "unknown";
  std::string json;
};

// ---- products -------------------------------------------------------------------------------------------------------

/// A and B of one k and seed, and C.
struct Operands {
  std::int64_t k = 0;
  const float* a = nullptr;  ///< kSide x k, by columns
  const float* b = nullptr;  ///< k x kSide
  const __half* a_halves = nullptr;
  const __half* b_halves = nullptr;
  float* c = nullptr;
};

/// A chain of fused multiply-adds an element, as FP32 cores do it. mask: of the bits of operands.
__global__ void multiply_by_chains(Operands x, std::uint32_t mask) {
  const std::int64_t i = threadIdx.x % kSide;
  const std::int64_t j = threadIdx.x / kSide;
  const auto masked = [mask](float value) { return __uint_as_float(__float_as_uint(value) & mask); };
  float sum = 0;
  for (std::int64_t h = 0; h < x.k; ++h) sum = fmaf(masked(x.a[h * kSide + i]), masked(x.b[j * x.k + h]), sum);
  x.c[j * kSide + i] = sum;
}

/// C64 and |A||B|, a block an element.
__global__ void multiply_exactly(Operands x, double* c, double* gauge) {
  const std::int64_t i = blockIdx.x % kSide;
  const std::int64_t j = blockIdx.x / kSide;
  const bench::ExactElement exact = bench::exact_element<float, 1>(x.a + i, kSide, x.b + j * x.k, 1, x.k, 0);
  if (threadIdx.x != 0) return;
  c[blockIdx.x] = exact.high + exact.low;
  gauge[blockIdx.x] = exact.gauge;
}

__global__ void round_to_halves(const float* x, std::int64_t count, __half* y) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    y[i] = __float2half_rn(x[i]);
  }
}

struct Method {
  std::string name;
  bool has_fp32_reference = false;  ///< judged against chains of FP32 instead of FP64
  /// @return false: the library refuses this k
  std::function<bool(const Operands&)> multiply;
};

/// A policy as a method. Plans are made for each k.
Method method_of(const std::string& name, const kizami::Policy& policy) {
  struct State {
    std::optional<kizami::Plan> plan;
    std::int64_t k = -1;
    std::unique_ptr<DeviceBuffer<std::byte>> workspace;
  };
  const auto state = std::make_shared<State>();
  return {name, false, [policy, state](const Operands& x) {
            if (state->k != x.k) {
              state->k = x.k;
              state->plan.reset();
              auto plan = kizami::cuda::make_plan(kizami::Scalar::kF32, kSide, kSide, x.k, policy);
              if (!plan.ok() && plan.status().code() != kizami::StatusCode::kAccuracyUnreachable)
                check(plan.status(), "plan");
              if (plan.ok()) {
                state->plan = plan.value();
                state->workspace = std::make_unique<DeviceBuffer<std::byte>>(
                    static_cast<std::int64_t>(plan.value().workspace_bytes()));
              }
            }
            if (!state->plan) return false;
            using kizami::MatrixView;
            check(kizami::cuda::run<float>(*state->plan, 1.0F, MatrixView<const float>{x.a, kSide, x.k, 1, kSide},
                                           MatrixView<const float>{x.b, x.k, kSide, 1, x.k}, 0.0F,
                                           MatrixView<float>{x.c, kSide, kSide, 1, kSide},
                                           {state->workspace->data, state->plan->workspace_bytes()}, nullptr),
                  "run");
            return true;
          }};
}

/// What the library chooses by itself, and its two variants by name.
kizami::Policy own_policy(kizami::EcVariant variant, bool checks_range) {
  kizami::Policy policy;
  policy.scheme = kizami::Scheme::kEc;
  policy.reproducibility = kizami::Reproducibility::kNotGuaranteed;
  policy.ec.variant = variant;
  policy.ec.check_range = checks_range;
  return policy;
}

std::vector<Method> all_methods(const bench::Cublas* cublas) {
  std::vector<Method> methods;
  const auto add_chain = [&](const char* name, std::uint32_t mask) {
    methods.push_back({name, false, [mask](const Operands& x) {
                         multiply_by_chains<<<1, kElements>>>(x, mask);
                         check(cudaGetLastError(), "chains");
                         return true;
                       }});
  };
  add_chain("fp32_chain", ~0U);
  add_chain("fp32_chain_masked", ~1U);
  for (const bench::Document& document : bench::documents())
    methods.push_back(method_of(document.name, bench::policy_of(document)));
  for (const bench::Document& document : bench::documents()) {
    if (document.name != "feng") continue;
    methods.push_back(method_of("feng_fp32_reference", bench::policy_of(document)));
    methods.back().has_fp32_reference = true;
  }
  methods.push_back(method_of("scaled", own_policy(kizami::EcVariant::kScaled, false)));
  methods.push_back(method_of("scaled_tf32", own_policy(kizami::EcVariant::kScaledTf32, false)));
  methods.push_back(method_of("ec", own_policy(kizami::EcVariant::kAuto, true)));
  if (cublas == nullptr) return methods;
  methods.push_back({"native", false, [cublas](const Operands& x) {
                       cublas->multiply<float>(kSide, kSide, x.k, x.a, x.b, x.c);
                       return true;
                     }});
  methods.push_back({"cublas_tf32", false, [cublas](const Operands& x) {
                       cublas->multiply_as(CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, kSide, kSide, x.k, x.a, x.b, x.c,
                                           false, false);
                       return true;
                     }});
  methods.push_back({"cublas_f16_operands", false, [cublas](const Operands& x) {
                       cublas->multiply_as(CUDA_R_16F, CUBLAS_COMPUTE_32F, kSide, kSide, x.k, x.a_halves, x.b_halves,
                                           x.c, false, false);
                       return true;
                     }});
  return methods;
}

// ---- errors ---------------------------------------------------------------------------------------------------------

struct Error {
  double frobenius = 0;
  double entry = 0;
};
Error error_of(const std::vector<float>& c, const std::vector<double>& exact, const std::vector<double>& gauge) {
  double difference = 0;
  double norm = 0;
  double entry = 0;
  for (std::size_t e = 0; e < c.size(); ++e) {
    const double error = static_cast<double>(c[e]) - exact[e];
    difference += error * error;
    norm += exact[e] * exact[e];
    const double relative = std::fabs(error) / gauge[e];
    if (!(relative <= entry) && !std::isnan(entry)) entry = relative;  // NaN stays
  }
  return {std::sqrt(difference / norm), entry};
}

template <class T>
std::vector<T> download(const T* from) {
  std::vector<T> values(kElements);
  check(cudaMemcpy(values.data(), from, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "download");
  return values;
}

/// What one method's record has.
struct Series {
  std::vector<std::int64_t> k;
  std::vector<double> frobenius;  ///< means over the seeds
  std::vector<double> entry;      ///< the largest of any seed
};

std::vector<Series> measure(const DataPair& data, const std::vector<Method>& methods, const Options& options) {
  std::vector<Series> all(methods.size());
  const DeviceBuffer<float> a(kSide * options.max_k);
  const DeviceBuffer<float> b(kSide * options.max_k);
  const DeviceBuffer<__half> a_halves(kSide * options.max_k);
  const DeviceBuffer<__half> b_halves(kSide * options.max_k);
  const DeviceBuffer<float> c(kElements);
  const DeviceBuffer<double> exact(2 * kElements);
  for (std::int64_t k = kSide; k <= options.max_k; k *= 2) {
    const Operands x{k, a.data, b.data, a_halves.data, b_halves.data, c.data};
    std::vector<Error> sums(methods.size());
    std::vector<bool> is_taken(methods.size(), true);
    for (int seed = 1; seed <= options.seeds; ++seed) {
      bench::fill(a.data, kSide * k, data.a, static_cast<std::uint64_t>(2 * seed));
      bench::fill(b.data, kSide * k, data.b, static_cast<std::uint64_t>(2 * seed + 1));
      round_to_halves<<<1024, 256>>>(a.data, kSide * k, a_halves.data);
      round_to_halves<<<1024, 256>>>(b.data, kSide * k, b_halves.data);
      multiply_exactly<<<kElements, 256>>>(x, exact.data, exact.data + kElements);
      const std::vector<double> reference = download(exact.data);
      const std::vector<double> gauge = download(exact.data + kElements);
      multiply_by_chains<<<1, kElements>>>(x, ~0U);
      const std::vector<float> chains = download(c.data);
      const std::vector<double> fp32_reference(chains.begin(), chains.end());
      for (std::size_t s = 0; s < methods.size(); ++s) {
        check(cudaMemset(c.data, 0xFF, kElements * sizeof(float)), "poison");
        is_taken[s] = is_taken[s] && methods[s].multiply(x);
        if (!is_taken[s]) continue;
        const Error error =
            error_of(download(c.data), methods[s].has_fp32_reference ? fp32_reference : reference, gauge);
        sums[s].frobenius += error.frobenius / options.seeds;
        if (!(error.entry <= sums[s].entry) && !std::isnan(sums[s].entry)) sums[s].entry = error.entry;
      }
    }
    for (std::size_t s = 0; s < methods.size(); ++s) {
      if (!is_taken[s]) continue;
      all[s].k.push_back(k);
      all[s].frobenius.push_back(sums[s].frobenius);
      all[s].entry.push_back(sums[s].entry);
    }
  }
  return all;
}

int run(const Options& options) {
  const bench::Records records(options.json);
  std::optional<bench::Cublas> cublas;
  try {
    cublas.emplace();
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "bench_gpu_ec_errors: without cuBLAS: %s\n", error.what());
  }
  const bench::Gauges gauges;
  const std::string device = bench::device_properties().name;
  std::vector<Method> methods;
  for (Method& method : all_methods(cublas ? &*cublas : nullptr)) {
    const bool is_wanted = options.methods.empty() || std::find(options.methods.begin(), options.methods.end(),
                                                                method.name) != options.methods.end();
    if (is_wanted) methods.push_back(std::move(method));
  }
  for (const DataPair& data : options.data) {
    const std::vector<Series> all = measure(data, methods, options);
    for (std::size_t s = 0; s < methods.size(); ++s) {
      if (all[s].k.empty()) continue;
      std::fprintf(stderr, "%s / %s %-20s k = %ld: %.3g, k = %ld: %.3g\n", data.a.name.c_str(), data.b.name.c_str(),
                   methods[s].name.c_str(), static_cast<long>(all[s].k.front()), all[s].frobenius.front(),
                   static_cast<long>(all[s].k.back()), all[s].frobenius.back());
      records.append(bench::Json{{"date", bench::today()},
                                 {"commit", options.commit},
                                 {"device", device},
                                 {"driver", gauges.driver},
                                 {"a", data.a.name},
                                 {"b", data.b.name},
                                 {"who", methods[s].name},
                                 {"seeds", options.seeds},
                                 {"k", all[s].k},
                                 {"frobenius_error", all[s].frobenius},
                                 {"error", all[s].entry}});
    }
  }
  return 0;
}

void add_options(bench::Program& program, Options& options) {
  bench::add_parsed(program, "--data", options.data, parse_pair,
                    "a class as bench_gpu_ec has it, or two, of A and B: A/B")
      ->default_str("[uniform:-1:1]");
  program.add_option("--method", options.methods, "these alone")->default_str("[all]");
  program.add_option("--max-k", options.max_k, "k is 16, 32, ... up to this")->check(CLI::Range(16, 1 << 22));
  program.add_option("--seeds", options.seeds, "that errors are averaged over")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_ec_errors", "Errors of error-corrected FP32 products on a device over k and seeds");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
