// SPDX-License-Identifier: MIT
// Whole products in device memory, Kizami's engines and native cuBLAS interleaved in one run: TFLOPS, spread, error
// against a double-double reference of sampled rows, rung taken, clock and power. A table on stderr, JSON lines on
// stdout.
//   bench_gpu_gemm --type d --n 1024 --n 4096 --engine hopper --phi 0.5 --phi 4
//     every type, shape and phi is a case
//   bench_gpu_gemm --type d --n 4096 --engine tile               tile kernels
//   bench_gpu_gemm --type dz --n 4096 --engine mma --portable    by the kernels of compute capability 8.0
//   bench_gpu_gemm --type s --engine ec --engine hopper          scheme ec beside scheme ozaki2
//   bench_gpu_gemm --type d --n 256 --batch 100 --engine auto    what the planner takes where no bits are promised
//   bench_gpu_gemm --type d --n 8192 --engine ozaki1/7 --engine ozaki1/7/truncated/grouped/cublaslt
//     scheme ozaki1, as in sliced_way.hpp; bench_gpu_slices times its phases
//   bench_gpu_gemm --type d --n 4096 --engine ff32               FP64 by pairs of FP32, a baseline
//   bench_gpu_gemm --type dz --n 4096 --phi 4 --engine hopper --engine cublas/dynamic --engine cublas/52
//     beside FP64 emulated by cuBLAS itself, of CUDA 13.0.2 or newer (since cuBLAS 13.7 by Ozaki scheme II): as many
//     bits as the elements need, or so many
//   bench_gpu_gemm --type d --shape 8192x256x8192 --engine hopper --prepared A
//     A split once before anything is timed, beside the call that splits it; the bits are compared
//   bench_gpu_gemm --type z --n 8192 --engine hopper --bursts 3 --sustained 2
//     what a card at rest gives in 8 calls, and a card at work in 2 s, beside calls and native's by turns without a rest
// --batch N: N products, each behind the one before it in memory, beside cublas<t>gemmStridedBatched; times are of them
// all. --op nt: A as it is, B transposed in memory. Times are of the device: a kernel that waits goes ahead of every
// timed call. Inputs are (uniform(0,1) - 0.5) exp(phi normal), alpha = 1, beta = 0; --update: what is timed has
// alpha = -1, beta = 1, as factorizations ask for. 2 m n k operations (8 m n k for complex types).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/device_limits.hpp"
#include "device_bench.cuh"
#include "gpu_float_float.cuh"
#include "gpu_gemm/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "kizami/cuda.hpp"

namespace {

using bench::check;
using bench::Cublas;
using bench::DeviceBuffer;
using bench::fill;
using bench::Gauges;
using bench::GemmOptions;
using bench::GemmWay;
using bench::row_error;
using bench::Shape;
using bench::Strides;
using kizami::Outcome;
using kizami::Policy;
using kizami::Scheme;

/// A burst is of a card that is cool and quiet: so long without work goes ahead of it.
constexpr std::chrono::seconds kRest{1};
constexpr int kCallsOfBurst = 8;

struct Case {
  char type;
  Shape shape;
  double phi;
};

struct Runner {
  std::string name;
  std::function<void()> call;
  const kizami::Plan* planned = nullptr;  ///< null of baselines
  bool has_bits_of_last = false;          ///< of the runner before it
  std::vector<float> milliseconds = {};
  double error = -1;
  std::string plan = {};
  unsigned mhz = 0, watts = 0;
  std::vector<float> burst_ms = {};  ///< of a call
  double sustained_ms = 0;
};

/// Refuses elements out of its range before anything is timed.
[[nodiscard]] Runner float_float_runner(const Shape& s, const std::vector<kizami::MatrixView<const double>>& a,
                                        const std::vector<kizami::MatrixView<const double>>& b,
                                        const std::vector<kizami::MatrixView<double>>& c) {
  if (s.k > kizami::check::kMostFloatFloatTerms)
    throw std::invalid_argument("--engine ff32: k = " + std::to_string(s.k) + ", must be <= 2^24");
  DeviceBuffer<unsigned long long> unfit(1);
  check(cudaMemset(unfit.data, 0, 8), "unfit");
  bench::count_unfit<<<2048, 256>>>(a[0].data, s.m * s.k, unfit.data);
  bench::count_unfit<<<2048, 256>>>(b[0].data, s.k * s.n, unfit.data);
  unsigned long long count = 0;
  check(cudaMemcpy(&count, unfit.data, 8, cudaMemcpyDeviceToHost), "unfit");
  if (count > 0)
    throw std::invalid_argument("--engine ff32: " + std::to_string(count) +
                                " elements are not 0 or within 2^-50..2^50");
  return {"ff32", [=] {
            const dim3 grid(static_cast<unsigned>((s.m + bench::kPairTile - 1) / bench::kPairTile),
                            static_cast<unsigned>((s.n + bench::kPairTile - 1) / bench::kPairTile));
            bench::multiply_float_float<<<grid, 256>>>(a[0].data, Strides{a[0].row_stride, a[0].col_stride}, b[0].data,
                                                       Strides{b[0].row_stride, b[0].col_stride}, c[0].data, s.m, s.n,
                                                       s.k);
            check(cudaGetLastError(), "multiply_float_float");
          }};
}

/// The vendor's own emulation, in a workspace that does not hold it back: half of what the device has left, at most 24
/// GiB.
class Vendor {
 public:
  explicit Vendor(int bits) : bytes_(half_of_free()), workspace_(static_cast<std::int64_t>(bytes_)) {
    cublas_.emulate(bits, workspace_.data, bytes_);
  }
  [[nodiscard]] const Cublas& cublas() const { return cublas_; }

 private:
  [[nodiscard]] static std::size_t half_of_free() {
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
    return std::min(free_bytes / 2 / 256 * 256, std::size_t{24} << 30);
  }

  Cublas cublas_;
  std::size_t bytes_;
  DeviceBuffer<std::byte> workspace_;
};

/// Elements that differ in any bit.
template <class T>
__global__ void count_different(const T* x, const T* y, std::int64_t count, unsigned long long* different) {
  const auto first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < count; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const auto* const a = reinterpret_cast<const unsigned*>(x + i);
    const auto* const b = reinterpret_cast<const unsigned*>(y + i);
    bool is_equal = true;
    for (std::size_t w = 0; w < sizeof(T) / sizeof(unsigned); ++w) is_equal = is_equal && a[w] == b[w];
    if (!is_equal) atomicAdd(different, 1ULL);
  }
}

/// The call of a plan with operands that are prepared now; nothing where its scheme keeps nothing.
template <class T>
[[nodiscard]] std::function<void()> prepared_call(const std::string& sides, const kizami::Plan& plan,
                                                  kizami::MatrixView<const T> a, kizami::MatrixView<const T> b,
                                                  kizami::MatrixView<T> c, std::span<std::byte> workspace) {
  namespace cuda = kizami::cuda;
  std::optional<cuda::PreparedOperand> kept[2];
  for (const kizami::Side side : {kizami::Side::kA, kizami::Side::kB}) {
    const bool is_a = side == kizami::Side::kA;
    if (sides.find(is_a ? 'A' : 'B') == std::string::npos) continue;
    auto made = cuda::prepare<T>(plan, side, is_a ? a : b, nullptr);
    if (!made.ok()) {
      std::fprintf(stderr, "prepared %s: %s\n", sides.c_str(), made.status().reason().c_str());
      return {};
    }
    kept[is_a ? 0 : 1].emplace(made.value());
  }
  return [=] {
    const cuda::Operand<T> op_a = kept[0] ? cuda::Operand<T>(*kept[0]) : cuda::Operand<T>(a);
    const cuda::Operand<T> op_b = kept[1] ? cuda::Operand<T>(*kept[1]) : cuda::Operand<T>(b);
    check(cuda::run_prepared<T>(plan, T{1}, op_a, op_b, T{0}, c, workspace, nullptr), "run_prepared");
  };
}

/// A line of the table, and the record.
void print(const GemmOptions& options, const Case& one, const Runner& runner, double flops, const Gauges& gauges,
           const bench::Records& records) {
  const Shape& s = one.shape;
  const bench::Spread ms = bench::spread(runner.milliseconds);
  const double tflops = flops / ms.median * 1e-9;
  const double burst = runner.burst_ms.empty() ? 0 : flops / bench::spread(runner.burst_ms).median * 1e-9;
  const double sustained = runner.sustained_ms > 0 ? flops / runner.sustained_ms * 1e-9 : 0;
  const double predicted =
      runner.planned == nullptr || runner.has_bits_of_last ? 0 : runner.planned->predicted_seconds() * 1e3;
  const std::size_t workspace = options.policy.workspace_limit_bytes >> 20;
  const std::string batch = (options.batch == 1 ? "" : " batch=" + std::to_string(options.batch)) +
                            (workspace == 0 ? "" : " workspace=" + std::to_string(workspace));
  std::fprintf(stderr, "%cgemm %6ld %6ld %6ld%s  %-24s %8.3f ms %7.1f TFLOPS  error %8.2g  %s", one.type,
               static_cast<long>(s.m), static_cast<long>(s.n), static_cast<long>(s.k), batch.c_str(),
               runner.name.c_str(), ms.median, tflops, runner.error, runner.plan.c_str());
  if (predicted > 0) std::fprintf(stderr, "  predicted %.3f ms", predicted);
  if (burst > 0) std::fprintf(stderr, "  bursts %.1f", burst);
  if (sustained > 0) std::fprintf(stderr, "  sustained %.1f at %u MHz %u W", sustained, runner.mhz, runner.watts);
  std::fprintf(stderr, "\n");
  records.append(bench::Json{{"date", bench::today()},
                             {"commit", options.commit},
                             {"device", bench::device_name()},
                             {"driver", gauges.driver},
                             {"case", std::string(1, one.type) + " " + options.op + " " + to_string(s) + " phi=" +
                                          bench::to_text(one.phi) + batch + (options.is_update ? " update" : "")},
                             {"who", runner.name + (options.is_portable ? "/portable" : "")},
                             {"plan", runner.plan},
                             {"ms_median", ms.median},
                             {"ms_min", ms.min},
                             {"ms_max", ms.max},
                             {"tflops", tflops},
                             {"error", runner.error},
                             {"predicted_ms", predicted},
                             {"burst_tflops", burst},
                             {"sustained_tflops", sustained},
                             {"sm_mhz", runner.mhz},
                             {"watts", runner.watts}});
}

template <class T>
void run_case(const GemmOptions& options, const Case& one, const Cublas& cublas, const Gauges& gauges,
              const bench::Records& records) {
  using R = kizami::RealOf<T>;
  constexpr int kTerms = kizami::kIsComplex<T> ? 2 : 1;
  const Shape& s = one.shape;
  const std::int64_t batch = options.batch;
  DeviceBuffer<T> a(batch * s.m * s.k), b(batch * s.k * s.n), c(batch * s.m * s.n);
  fill<<<2048, 256>>>(reinterpret_cast<R*>(a.data), batch * s.m * s.k * kTerms, one.phi, 1);
  fill<<<2048, 256>>>(reinterpret_cast<R*>(b.data), batch * s.k * s.n * kTerms, one.phi, 2);
  const auto view = [](const T* x, std::int64_t rows, std::int64_t cols, bool is_transposed) {
    return is_transposed ? kizami::blas_view(x, cols, rows, cols).transposed() : kizami::blas_view(x, rows, cols, rows);
  };
  std::vector<kizami::MatrixView<const T>> op_a, op_b;
  std::vector<kizami::MatrixView<T>> op_c;
  for (std::int64_t p = 0; p < batch; ++p) {
    op_a.push_back(view(a.data + p * s.m * s.k, s.m, s.k, options.is_a_transposed()));
    op_b.push_back(view(b.data + p * s.k * s.n, s.k, s.n, options.is_b_transposed()));
    op_c.push_back(kizami::blas_view(c.data + p * s.m * s.n, s.m, s.n, s.m));
  }
  DeviceBuffer<double> worst(1);
  bool is_update = false;  // not while errors are looked at
  std::vector<Runner> runners;
  if (options.has_native) {
    const auto call = [&] {
      cublas.multiply<T>(s.m, s.n, s.k, a.data, b.data, c.data, options.is_a_transposed(), options.is_b_transposed(),
                         batch, is_update);
    };
    runners.push_back({"native", call});
  }
  std::vector<std::unique_ptr<Vendor>> vendors;
  std::vector<kizami::Plan> plans;
  plans.reserve(options.ways.size());
  std::vector<std::string> names;
  std::size_t bytes = 256;
  for (const GemmWay& way : options.ways) {
    if (way.is_float_float) {
      if constexpr (std::is_same_v<T, double>) {
        runners.push_back(float_float_runner(s, op_a, op_b, op_c));
      }
      continue;
    }
    if (way.vendor_bits) {
      if constexpr (std::is_same_v<R, double>) {
        const Cublas& vendor = vendors.emplace_back(std::make_unique<Vendor>(*way.vendor_bits))->cublas();
        runners.push_back({way.name, [&] {
                             vendor.multiply<T>(s.m, s.n, s.k, a.data, b.data, c.data, options.is_a_transposed(),
                                                options.is_b_transposed(), 1, is_update);
                           }});
        runners.back().plan = "cuBLAS " + std::to_string(vendor.version());
      }
      continue;
    }
    Policy policy = options.policy;
    policy.scheme = way.scheme;
    policy.engine = way.engine;
    policy.slices = way.slices;
    if (way.slices.complex_form == kizami::ComplexForm::kKaratsuba) policy.gauge = kizami::Gauge::kNorm;
    if (way.scheme == Scheme::kOzaki1 && way.slices.num_slices <= 0) policy.may_sync = true;
    if (way.scheme != Scheme::kOzaki2) policy.reproducibility = kizami::Reproducibility::kNotGuaranteed;
    auto plan = kizami::cuda::make_plan(kizami::kScalarOf<T>, s.m, s.n, s.k, policy, {batch, false});
    if (!plan.ok()) {
      std::fprintf(stderr, "%c %ldx%ldx%ld %s: %s\n", one.type, static_cast<long>(s.m), static_cast<long>(s.n),
                   static_cast<long>(s.k), way.name.c_str(), plan.status().reason().c_str());
      continue;
    }
    plans.push_back(plan.value());
    names.push_back(way.name);
    bytes = std::max(bytes, plan.value().workspace_bytes());
  }
  DeviceBuffer<std::byte> memory(static_cast<std::int64_t>(bytes));
  const std::span<std::byte> workspace(memory.data, bytes);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const kizami::Plan& plan = plans[p];
    const auto call = [&] {
      check(kizami::cuda::run_batched<T>(plan, is_update ? T{-1} : T{1}, op_a, op_b, is_update ? T{1} : T{0}, op_c,
                                         workspace, nullptr),
            "run");
    };
    runners.push_back({names[p], call, &plan});
    if (options.prepared.empty()) continue;
    auto with_prepared = prepared_call<T>(options.prepared, plan, op_a[0], op_b[0], op_c[0], workspace);
    if (with_prepared) runners.push_back({names[p] + ", prepared " + options.prepared, with_prepared, &plan, true});
  }
  DeviceBuffer<T> last(options.prepared.empty() ? 1 : s.m * s.n);
  DeviceBuffer<unsigned long long> different(1);
  const bench::Timer timer;
  for (Runner& runner : runners) {
    check(cudaMemset(c.data, 0xFF, static_cast<std::size_t>(batch * s.m * s.n) * sizeof(T)), "poison");
    runner.call();
    check(cudaDeviceSynchronize(), runner.name.c_str());
    if (runner.planned != nullptr) {
      const auto outcome = kizami::cuda::read_outcome(*runner.planned, workspace, nullptr);
      check(outcome.status(), "outcome");
      const Outcome& o = outcome.value();
      runner.plan = o.scheme == Scheme::kNative   ? "native"
                    : o.scheme == Scheme::kEc     ? std::string(to_string(o.variant))
                    : o.scheme == Scheme::kOzaki1 ? std::to_string(o.slices) + " slices"
                                                  : std::to_string(o.moduli) + " moduli";
      runner.plan += std::string(o.equilibrated ? ", equilibrated" : "") +
                     (o.repaired > 0 ? ", repaired " + std::to_string(o.repaired) : "");
    }
    if (runner.has_bits_of_last) {
      unsigned long long count = 0;
      check(cudaMemset(different.data, 0, sizeof count), "different");
      count_different<<<2048, 256>>>(c.data, last.data, s.m * s.n, different.data);
      check(cudaMemcpy(&count, different.data, sizeof count, cudaMemcpyDeviceToHost), "different");
      if (count > 0)
        throw std::runtime_error(runner.name + ": " + std::to_string(count) + " elements differ from the fresh call's");
    } else if (!options.prepared.empty()) {
      const auto bytes_of_c = static_cast<std::size_t>(s.m * s.n) * sizeof(T);
      check(cudaMemcpy(last.data, c.data, bytes_of_c, cudaMemcpyDeviceToDevice), "last");
    }
    if (!options.checks) continue;
    check(cudaMemset(worst.data, 0, 8), "worst");
    for (int row = 0; row < 16; ++row) {  // of products from the first to the last
      const std::int64_t i = s.m * row / 16;
      const auto p = static_cast<std::size_t>((batch - 1) * row / 15);
      row_error<R, kTerms><<<static_cast<unsigned>(s.n), 256>>>(
          reinterpret_cast<const R*>(op_a[p].data), Strides{op_a[p].row_stride, op_a[p].col_stride},
          reinterpret_cast<const R*>(op_b[p].data), Strides{op_b[p].row_stride, op_b[p].col_stride},
          reinterpret_cast<const R*>(op_c[p].data), s.m, s.k, i, worst.data);
    }
    check(cudaMemcpy(&runner.error, worst.data, 8, cudaMemcpyDeviceToHost), "worst");
  }
  is_update = options.is_update;
  for (int repeat = 0; repeat < options.repeats + 2; ++repeat) {  // two to warm up
    for (Runner& runner : runners) {
      // The host enqueues the call meanwhile, or as much of a batch as a queue holds.
      bench::wait_cycles<<<1, 1>>>(300000LL * std::min<std::int64_t>(batch, 50));
      timer.start();
      runner.call();
      timer.stop();
      runner.mhz = gauges.sm_mhz();
      runner.watts = gauges.watts();
      const float ms = timer.milliseconds();
      if (repeat >= 2) runner.milliseconds.push_back(ms);
    }
  }
  for (int burst = 0; burst < options.bursts; ++burst) {
    for (Runner& runner : runners) {
      std::this_thread::sleep_for(kRest);
      runner.burst_ms.push_back(timer.time(runner.call, kCallsOfBurst));
    }
  }
  if (options.sustained > 0) {
    for (Runner& runner : runners) {
      int calls = 0;
      timer.start();
      float ms = 0;
      while (ms < options.sustained * 1e3F) {
        for (int i = 0; i < 8; ++i, ++calls) runner.call();
        timer.stop();
        runner.mhz = gauges.sm_mhz();
        runner.watts = gauges.watts();
        ms = timer.milliseconds();
      }
      runner.sustained_ms = ms / calls;
    }
  }
  const double flops = (kTerms == 2 ? 8.0 : 2.0) * static_cast<double>(s.m) * static_cast<double>(s.n) *
                       static_cast<double>(s.k) * static_cast<double>(batch);
  for (const Runner& runner : runners) print(options, one, runner, flops, gauges, records);
}

/// No clusters, no launches that start early, 163 KB of shared memory for a block, and no wgmma.
void assume_portable() {
  kizami::base::DeviceLimits limits;
  check(kizami::base::find_device_limits(limits), "the device");
  limits.code_capability = 80;
  limits.shared_bytes = 163 << 10;
  kizami::base::assume_device_limits(&limits);
}

int run(const GemmOptions& options) {
  if (options.is_portable) assume_portable();
  const bench::Records records(options.json);
  const Cublas cublas;
  const Gauges gauges;
  for (const char type : options.types) {
    for (const Shape& shape : options.shapes) {
      for (const double phi : options.phis) {
        const Case one{type, shape, phi};
        if (type == 's') run_case<float>(options, one, cublas, gauges, records);
        if (type == 'd') run_case<double>(options, one, cublas, gauges, records);
        if (type == 'c') run_case<std::complex<float>>(options, one, cublas, gauges, records);
        if (type == 'z') run_case<std::complex<double>>(options, one, cublas, gauges, records);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  GemmOptions options;
  bench::Program program("bench_gpu_gemm",
                         "Whole products in device memory, Kizami's engines and native cuBLAS interleaved in one run");
  bench::add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
