// SPDX-License-Identifier: MIT
// FP32 products on FP16 and TF32 tensor cores (split and product of engine hopper) beside native cuBLAS SGEMM, and with
// --uncorrected beside cuBLAS on FP16 and TF32 tensor cores without correction, interleaved in one run: TFLOPS of whole
// calls, spread, time of the two phases, error of sampled rows against a double-double reference, clock and power. A
// table on stderr, JSON lines on stdout.
// --document NAME adds an algorithm of [OY2021] as it is printed (gpu_ec/documents.hpp), as whole calls of engine mma.
//   bench_gpu_ec --n 1024 --n 4096 --ops nn --data normal --data exp_rand:-15:15 --format f16 --form auto
// alpha = 1, beta = 0, 2 m n k operations. Times are of the device: a kernel that waits goes ahead of every timed call,
// so that no launch by the host is timed. Operands stay in the L2 cache where they fit. Calls of engine hopper are of
// the kernels alone: nobody decides between split and product (bench_gpu_gemm times whole calls of scheme ec). `kizami_study sgemm
// --gpu-results FILE` draws figure 9 and tables of errors from the JSON lines.
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_bench.cuh"
#include "engines/hopper/ec_forms.hpp"
#include "gpu_ec/data.cuh"
#include "gpu_ec/documents.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "kizami/cuda.hpp"
#include "schemes/ec/device_split.hpp"

namespace {

using bench::check;
using bench::DeviceBuffer;
using bench::Shape;
using bench::Strides;
using bench::Timer;
using kizami::engines::EcForm;
using kizami::engines::EcProduct;
using kizami::product::EcFormat;
using kizami::product::EcPromotion;
using DeviceEcSplit = kizami::ec::DeviceEcSplit<float>;

using bench::DataClass;
using bench::parse_data;

__global__ void round_to_f16(const float* x, std::int64_t count, __half* y) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    y[i] = __float2half_rn(x[i]);
  }
}

// ---- one case -------------------------------------------------------------------------------------------------------

constexpr const char* kPromotionNames[kizami::product::kNumEcPromotions] = {"shortest", "short", "long"};

struct Options {
  std::vector<Shape> shapes = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}};
  std::vector<std::string> ops = {"nn"};
  std::vector<DataClass> data = {parse_data("normal")};
  std::vector<std::string> formats = {"f16"};
  std::vector<std::string> forms = {"auto"};
  std::vector<std::string> promotions = {"auto"};
  std::vector<std::string> documents;
  int repeats = 9;
  double sustained = 0;
  bool checks = true;
  bool uncorrected = false;
  std::string commit = "unknown";
  std::string json;
};

/// What is timed: cuBLAS, or a format, form and promotion.
struct Runner {
  std::string name;
  std::string plan;
  std::function<void()> call;
  std::function<void()> split;    ///< empty for cuBLAS
  std::function<void()> product;  ///< empty for cuBLAS
  std::vector<float> times;
  float burst_ms = 0;
  float split_ms = 0;
  float product_ms = 0;
  double error = -1;            ///< largest |C - AB| / (|A||B|)
  double frobenius_error = -1;  ///< ||C - AB|| / ||AB||
  double sustained_ms = 0;
  unsigned mhz = 0, watts = 0;
};

int num_multiprocessors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
  return count;
}

/// Operands and planes of one case.
class Case {
 public:
  Case(const Shape& shape, const std::string& ops, const DataClass& data)
      : shape_(shape),
        is_a_transposed_(ops[0] == 't'),
        is_b_transposed_(ops[1] == 't'),
        a_(shape.m * shape.k),
        b_(shape.k * shape.n),
        c_(shape.m * shape.n),
        a_planes_(shape.m * plane_bytes()),
        b_planes_(shape.n * plane_bytes()),
        scales_(shape.m + shape.n + 4),
        worst_(3),
        a_halves_(shape.m * shape.k),
        b_halves_(shape.k * shape.n) {
    bench::fill(a_.data, shape.m * shape.k, data, 1);
    bench::fill(b_.data, shape.k * shape.n, data, 2);
    round_to_f16<<<2048, 256>>>(a_.data, shape.m * shape.k, a_halves_.data);
    round_to_f16<<<2048, 256>>>(b_.data, shape.k * shape.n, b_halves_.data);
    check(cudaDeviceSynchronize(), "inputs");
  }

  [[nodiscard]] Runner native(const bench::Cublas& cublas) const {
    Runner runner;
    runner.name = "native";
    runner.call = [this, &cublas] {
      cublas.multiply<float>(shape_.m, shape_.n, shape_.k, a_.data, b_.data, c_.data, is_a_transposed_,
                             is_b_transposed_);
    };
    return runner;
  }

  /// cuBLAS on tensor cores without correction, FP32 operands or FP16 ones that were rounded before.
  [[nodiscard]] Runner uncorrected(const bench::Cublas& cublas, const std::string& name, cublasComputeType_t compute,
                                   bool takes_halves) const {
    Runner runner;
    runner.name = name;
    runner.call = [this, &cublas, compute, takes_halves] {
      const void* const a = takes_halves ? static_cast<const void*>(a_halves_.data) : a_.data;
      const void* const b = takes_halves ? static_cast<const void*>(b_halves_.data) : b_.data;
      cublas.multiply_as(takes_halves ? CUDA_R_16F : CUDA_R_32F, compute, shape_.m, shape_.n, shape_.k, a, b, c_.data,
                         is_a_transposed_, is_b_transposed_);
    };
    return runner;
  }

  [[nodiscard]] Runner split_product(EcFormat format, const std::string& form_name,
                                     const std::string& promotion_name) const {
    EcPromotion promotion = kizami::product::ec_promotion_for(shape_.m, shape_.n, shape_.k);
    for (int p = 0; p < kizami::product::kNumEcPromotions; ++p) {
      if (promotion_name == kPromotionNames[p]) promotion = static_cast<EcPromotion>(p);
    }
    const std::int64_t row_stride = kizami::product::ec_line_bytes(format, shape_.k);
    const Strides a = a_strides();
    const Strides b = b_strides();
    DeviceEcSplit a_split{{a_.data, shape_.m, shape_.k, a.row, a.col}, a_planes_.data, row_stride, scales_.data};
    DeviceEcSplit b_split{{b_.data, shape_.n, shape_.k, b.col, b.row}, b_planes_.data, row_stride, b_scales()};
    EcProduct product;
    product.format = format;
    product.a = {{a_planes_.data, row_stride, a_split.scales}, a_split.lines};
    product.b = {{b_planes_.data, row_stride, b_split.scales}, b_split.lines};
    product.c = c_.data;
    product.c_col_stride = shape_.m;
    EcForm form = kizami::engines::ec_form_for(shape_.m, shape_.n, shape_.k, format, 0);
    for (const auto& traits : kizami::engines::ec_forms()) {
      if (form_name == traits.name) form = traits.form;
    }
    Runner runner;
    runner.name = format == EcFormat::kF16 ? "ec_f16" : "ec_tf32";
    for (const auto& traits : kizami::engines::ec_forms()) {
      if (traits.form == form) runner.plan = std::string(traits.name);
    }
    runner.plan += std::string(" promote=") + kPromotionNames[static_cast<int>(promotion)];
    runner.split = [a_split, b_split, format, num_sms = num_multiprocessors()] {
      int num_reports = 0;
      check(kizami::ec::device_ec_split<float>(a_split, b_split, format, {}, 1.0F, num_sms, num_reports, nullptr),
            "split");
    };
    runner.product = [product, form, promotion] {
      check(kizami::engines::run_ec_product(product, form, promotion, nullptr), "product");
    };
    runner.call = [split = runner.split, multiply = runner.product] {
      split();
      multiply();
    };
    return runner;
  }

  /// A whole call of an algorithm as it is printed.
  [[nodiscard]] Runner document(const bench::Document& document) const {
    using kizami::MatrixView;
    auto plan = kizami::cuda::make_plan(kizami::Scalar::kF32, shape_.m, shape_.n, shape_.k, policy_of(document));
    check(plan.status(), document.name.c_str());
    const std::size_t bytes = plan.value().workspace_bytes();
    const auto workspace = std::make_shared<DeviceBuffer<std::byte>>(static_cast<std::int64_t>(bytes));
    const Strides a = a_strides();
    const Strides b = b_strides();
    Runner runner;
    runner.name = document.name;
    runner.plan = plan.value().engine();
    runner.call = [this, plan = plan.value(), workspace, bytes, a, b] {
      check(kizami::cuda::run<float>(plan, 1.0F, MatrixView<const float>{a_.data, shape_.m, shape_.k, a.row, a.col},
                                     MatrixView<const float>{b_.data, shape_.k, shape_.n, b.row, b.col}, 0.0F,
                                     MatrixView<float>{c_.data, shape_.m, shape_.n, 1, shape_.m},
                                     {workspace->data, bytes}, nullptr),
            "run");
    };
    return runner;
  }

  /// Runs once into a poisoned C, and finds the error of sampled rows.
  void judge(Runner& runner, bool checks) const {
    check(cudaMemset(c_.data, 0xFF, static_cast<std::size_t>(shape_.m * shape_.n) * sizeof(float)), "poison");
    runner.call();
    check(cudaDeviceSynchronize(), runner.name.c_str());
    if (!checks) return;
    check(cudaMemset(worst_.data, 0, 3 * sizeof(double)), "worst");
    const int rows = static_cast<int>(std::min<std::int64_t>(16, shape_.m));
    for (int row = 0; row < rows; ++row) {
      bench::row_error<float, 1>
          <<<static_cast<unsigned>(shape_.n), 256>>>(a_.data, a_strides(), b_.data, b_strides(), c_.data, shape_.m,
                                                     shape_.k, shape_.m * row / rows, worst_.data, worst_.data + 1);
    }
    std::array<double, 3> found{};
    check(cudaMemcpy(found.data(), worst_.data, sizeof found, cudaMemcpyDeviceToHost), "worst");
    runner.error = found[0];
    runner.frobenius_error = std::sqrt(found[1] / found[2]);
  }

 private:
  [[nodiscard]] std::int64_t plane_bytes() const {
    return std::max(kizami::product::ec_line_bytes(EcFormat::kF16, shape_.k),
                    kizami::product::ec_line_bytes(EcFormat::kTf32, shape_.k));
  }
  [[nodiscard]] Strides a_strides() const { return is_a_transposed_ ? Strides{shape_.k, 1} : Strides{1, shape_.m}; }
  [[nodiscard]] Strides b_strides() const { return is_b_transposed_ ? Strides{shape_.n, 1} : Strides{1, shape_.k}; }
  [[nodiscard]] std::int32_t* b_scales() const { return scales_.data + (shape_.m + 3) / 2 * 2; }

  Shape shape_;
  bool is_a_transposed_;
  bool is_b_transposed_;
  DeviceBuffer<float> a_, b_, c_;
  DeviceBuffer<std::int8_t> a_planes_, b_planes_;
  DeviceBuffer<std::int32_t> scales_;
  DeviceBuffer<double> worst_;  ///< the largest error, and sums of squares
  DeviceBuffer<__half> a_halves_, b_halves_;
};

/// The device that is measured, for the records.
struct Device {
  std::string name;
  double
      fp32_peak_tflops;  ///< of its FP32 cores at its highest clock: 128 fused multiply-adds a cycle and multiprocessor
};
Device this_device() {
  const cudaDeviceProp properties = bench::device_properties();
  int kilohertz = 0;
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "the clock of the device");
  return {properties.name, 2e-9 * 128 * properties.multiProcessorCount * kilohertz};
}

[[nodiscard]] double tflops_of(const Shape& s, double ms) {
  const double flops = 2e-9 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  return ms > 0 ? flops / ms : 0.0;
}

void print_row(const Runner& runner, const Shape& s, const std::string& ops, const DataClass& data, double median) {
  const auto tflops = [&](double ms) { return tflops_of(s, ms); };
  std::fprintf(
      stderr,
      "%s %6ld %6ld %6ld %-16s %-8s %-34s %9.4f ms %6.1f (burst %6.1f) split %.4f product %.4f = %6.1f  error %8.2g",
      ops.c_str(), static_cast<long>(s.m), static_cast<long>(s.n), static_cast<long>(s.k), data.name.c_str(),
      runner.name.c_str(), runner.plan.c_str(), median, tflops(median), tflops(runner.burst_ms), runner.split_ms,
      runner.product_ms, tflops(runner.product_ms), runner.error);
  if (runner.sustained_ms > 0) {
    std::fprintf(stderr, "  sustained %.1f at %u MHz %u W", tflops(runner.sustained_ms), runner.mhz, runner.watts);
  }
  std::fprintf(stderr, "\n");
}

void print(const Runner& runner, const Shape& s, const std::string& ops, const DataClass& data, const Options& options,
           const Device& device, const std::string& driver, const bench::Records& records) {
  const bench::Spread found = bench::spread(runner.times);
  print_row(runner, s, ops, data, found.median);
  records.append(bench::Json{{"date", bench::today()},
                             {"commit", options.commit},
                             {"device", device.name},
                             {"fp32_peak_tflops", device.fp32_peak_tflops},
                             {"driver", driver},
                             {"case", "s " + ops + " " + to_string(s) + " " + data.name},
                             {"who", runner.name},
                             {"plan", runner.plan},
                             {"ms_median", found.median},
                             {"ms_min", found.min},
                             {"ms_max", found.max},
                             {"tflops", tflops_of(s, found.median)},
                             {"burst_ms", runner.burst_ms},
                             {"split_ms", runner.split_ms},
                             {"product_ms", runner.product_ms},
                             {"error", runner.error},
                             {"frobenius_error", runner.frobenius_error},
                             {"sustained_tflops", tflops_of(s, runner.sustained_ms)},
                             {"sm_mhz", runner.mhz},
                             {"watts", runner.watts}});
}

void run_case(const Options& options, const Shape& shape, const std::string& ops, const DataClass& data,
              const bench::Cublas& cublas, const bench::Gauges& gauges, const Device& device,
              const bench::Records& records) {
  const Case operands(shape, ops, data);
  std::vector<Runner> runners = {operands.native(cublas)};
  if (options.uncorrected) {
    runners.push_back(operands.uncorrected(cublas, "cublas_tf32", CUBLAS_COMPUTE_32F_FAST_TF32, false));
    runners.push_back(operands.uncorrected(cublas, "cublas_f16", CUBLAS_COMPUTE_32F_FAST_16F, false));
    runners.push_back(operands.uncorrected(cublas, "cublas_f16_operands", CUBLAS_COMPUTE_32F, true));
  }
  for (const std::string& format : options.formats) {
    for (const std::string& form : options.forms) {
      for (const std::string& promotion : options.promotions) {
        runners.push_back(operands.split_product(format == "f16" ? EcFormat::kF16 : EcFormat::kTf32, form, promotion));
      }
    }
  }
  for (const bench::Document& document : bench::documents()) {
    const auto& wanted = options.documents;
    if (std::find(wanted.begin(), wanted.end(), document.name) != wanted.end())
      runners.push_back(operands.document(document));
  }
  for (Runner& runner : runners) operands.judge(runner, options.checks);
  const Timer timer;
  for (int repeat = 0; repeat < options.repeats + 2; ++repeat) {  // two to warm up
    for (Runner& runner : runners) {
      const float ms = timer.time(runner.call, 1);
      if (repeat >= 2) runner.times.push_back(ms);
    }
  }
  constexpr int kBurst = 8;
  for (Runner& runner : runners) {
    runner.burst_ms = timer.time(runner.call, kBurst);
    if (!runner.split) continue;
    runner.split_ms = timer.time(runner.split, kBurst);
    runner.product_ms = timer.time(runner.product, kBurst);
  }
  if (options.sustained > 0) {
    for (Runner& runner : runners) {
      float total = 0;
      float last = 0;
      const int calls = std::max(1, static_cast<int>(50 / runner.burst_ms));
      while (total < options.sustained * 1e3) {
        timer.start();
        for (int i = 0; i < calls; ++i) runner.call();
        timer.stop();
        runner.mhz = gauges.sm_mhz();
        runner.watts = gauges.watts();
        last = timer.milliseconds();
        total += last;
      }
      runner.sustained_ms = last / static_cast<float>(calls);
    }
  }
  for (const Runner& runner : runners) print(runner, shape, ops, data, options, device, gauges.driver, records);
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Cublas cublas;
  const bench::Gauges gauges;
  const Device device = this_device();
  for (const Shape& shape : options.shapes) {
    for (const std::string& ops : options.ops) {
      for (const DataClass& data : options.data) {
        run_case(options, shape, ops, data, cublas, gauges, device, records);
      }
    }
  }
  return 0;
}

/// "all" stands for the names of all forms.
void add_forms(bench::Program& program, std::vector<std::string>& forms) {
  std::vector<std::string> names;
  for (const auto& traits : kizami::engines::ec_forms()) names.emplace_back(traits.name);
  std::vector<std::string> words = names;
  words.insert(words.end(), {"auto", "all"});
  const auto assign = [&forms, names](const std::vector<std::string>& given) {
    forms = std::find(given.begin(), given.end(), "all") != given.end() ? names : given;
  };
  program.add_option_function<std::vector<std::string>>("--form", assign, "auto, all, or names of forms")
      ->check(CLI::IsMember(words))
      ->default_str("[auto]");
}

void add_options(bench::Program& program, Options& options) {
  bench::add_shapes(program, options.shapes);
  program.add_option("--ops", options.ops, "A and B as they are (n) or transposed in memory (t)")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  bench::add_parsed(program, "--data", options.data, parse_data,
                    "normal, uniform, uniform:a:b, phi:x, exp_rand:a:b, exp_rand_positive:a:b")
      ->default_str("[normal]");
  program.add_option("--format", options.formats, "of the split")->check(CLI::IsMember({"f16", "tf32"}));
  add_forms(program, options.forms);
  program.add_option("--promotion", options.promotions, "how long sums stay inside the tensor core")
      ->check(CLI::IsMember({"auto", "shortest", "short", "long"}));
  std::vector<std::string> names;
  for (const bench::Document& document : bench::documents()) names.push_back(document.name);
  program.add_option("--document", options.documents, "also algorithms as they are printed, by engine mma")
      ->check(CLI::IsMember(names));
  program.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000));
  program.add_option("--sustained", options.sustained, "seconds of calls back to back, with clock and power")
      ->check(bench::between(0, 3600));
  program.add_flag("--no-check{false}", options.checks, "leaves errors out");
  program.add_flag("--uncorrected", options.uncorrected,
                   "also cuBLAS on FP16 and TF32 tensor cores, from FP32 operands and from FP16 ones");
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_ec", "FP32 products on FP16 and TF32 tensor cores beside native cuBLAS SGEMM");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
