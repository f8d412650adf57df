// SPDX-License-Identifier: MIT
// Convolutions of FP32 images on tensor cores: the 3 x 3 layers of ResNet-50, whole calls, and their phases. A table on
// stderr, JSON lines on stdout.
//   bench_gpu_convolution --images 64 --layer 64x56 --layer 128x56/2 --layout nhwc
// A layer is CHANNELSxSIZE, with /2 for stride 2; as many filters as channels, pad 1. `who`: call (all of cuda::convolve()),
// prepared (with filters split before), split (of images and filters), product (what is left). Errors are those of 4096
// outputs against sums in FP64, relative to conv(|x|, |w|). lab/bench/convolution_torch.py times cuDNN on the same layers.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/carver.hpp"
#include "convolution/device_run.hpp"
#include "convolution/device_split.hpp"
#include "convolution/direct.hpp"
#include "convolution/plan.hpp"
#include "device_bench.cuh"
#include "engines/hopper/ec_convolution.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"

namespace {

namespace convolution = kizami::convolution;
namespace product = kizami::product;
using bench::check;

struct Layer {
  std::int64_t channels, size, stride;
};
Layer parse_layer(const std::string& text) {
  Layer layer{0, 0, 1};
  char x = 0;
  char slash = 0;
  int read = 0;
  const int fields = std::sscanf(text.c_str(), "%ld%c%ld%n", &layer.channels, &x, &layer.size, &read);
  const std::string rest = fields == 3 ? text.substr(static_cast<std::size_t>(read)) : "?";
  if (fields != 3 || x != 'x' || layer.channels < 1 || layer.size < 1 || layer.channels > 65536 || layer.size > 65536)
    throw std::invalid_argument(text + " is no layer, as 64x56 or 128x56/2");
  if (!rest.empty() && (std::sscanf(rest.c_str(), "%c%ld", &slash, &layer.stride) != 2 || slash != '/' ||
                        layer.stride < 1 || layer.stride > 64))
    throw std::invalid_argument(text + " is no layer, as 64x56 or 128x56/2");
  return layer;
}

struct Options {
  std::vector<Layer> layers = {{64, 56, 1},  {128, 28, 1}, {256, 14, 1}, {512, 7, 1},
                               {128, 56, 2}, {256, 28, 2}, {512, 14, 2}};
  std::vector<std::string> layouts = {"nhwc", "nchw"};
  std::vector<std::string> formats = {"f16", "tf32"};
  std::int64_t images = 64;
  bool all_forms = false;
  int repeats = 9;
  std::string commit = "unknown";
  std::string json;
};

/// Of output blockIdx.x * stride; raises *worst to |y - exact| / conv(|x|, |w|).
__global__ void sampled_error(product::DirectConvolution task, std::int64_t stride, double* worst) {
  __shared__ double sums[2][128];
  const std::int64_t pixels = std::int64_t{task.h.outputs} * task.w.outputs;
  const std::int64_t at = (blockIdx.x * stride) % (task.images * pixels);
  const auto filter = static_cast<int>((blockIdx.x * 7919) % (static_cast<unsigned>(task.filters) * task.groups));
  const std::int64_t image = at / pixels;
  const auto p = static_cast<int>(at % pixels / task.w.outputs);
  const auto q = static_cast<int>(at % pixels % task.w.outputs);
  double sum = 0;
  double magnitude = 0;
  int turn = 0;
  task.for_window(image, p, q, filter, [&](float w, float x) {
    if (turn++ % 128 == static_cast<int>(threadIdx.x)) {
      sum += static_cast<double>(w) * x;
      magnitude += fabs(static_cast<double>(w) * x);
    }
    return true;
  });
  sums[0][threadIdx.x] = sum;
  sums[1][threadIdx.x] = magnitude;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < 128; ++t) {
    sum += sums[0][t];
    magnitude += sums[1][t];
  }
  bench::raise_to(worst, fabs(*task.output(image, p, q, filter) - sum) / magnitude);
}

struct Runner {
  std::string who;
  std::function<void()> call;
  std::vector<float> times;
  unsigned mhz = 0, watts = 0;
};

/// The arrays of a layer.
class Arrays {
 public:
  explicit Arrays(const convolution::Plan& plan)
      : plan_(plan),
        x_(plan.shape.images * plan.shape.channels * plan.shape.height * plan.shape.width),
        w_(plan.shape.filters * plan.group_channels() * plan.shape.filter_height * plan.shape.filter_width),
        y_(plan.num_outputs()),
        workspace_(static_cast<std::int64_t>(plan.workspace_bytes)),
        prepared_(static_cast<std::int64_t>(plan.filter_bytes)),
        worst_(1) {
    bench::fill<<<2048, 256>>>(x_.data, plan.shape.images * plan.shape.channels * plan.shape.height * plan.shape.width,
                               0.5, 1);
    bench::fill<<<2048, 256>>>(
        w_.data, plan.shape.filters * plan.group_channels() * plan.shape.filter_height * plan.shape.filter_width, 0.5,
        2);
    kizami::base::Carver carver(workspace_.data);
    filters_ = convolution::carve_filters(plan, carver);
    images_ = convolution::carve_images(plan, carver);
    check(convolution::prepare_on_device(plan, w_.data, prepared(), nullptr), "filters");
    check(cudaDeviceSynchronize(), "operands");
  }
  void call() const {
    check(convolution::run_on_device(plan_, 1, x_.data, w_.data, {}, 0, y_.data, workspace(), nullptr), "convolve");
  }
  void call_prepared() const {
    check(convolution::run_on_device(plan_, 1, x_.data, w_.data, prepared(), 0, y_.data, workspace(), nullptr),
          "convolve");
  }
  void split() const { check(convolution::device_split(plan_, x_.data, images_, w_.data, filters_, nullptr), "split"); }
  void multiply() const {
    product::EcConvolution p = plan_.product;
    p.pixel_planes = images_.planes;
    p.image_scales = images_.scales;
    p.has_nonfinite = images_.has_nonfinite;
    p.filter_planes = filters_.planes;
    p.filter_scales = filters_.scales;
    p.direct = convolution::direct_convolution(plan_, 1, x_.data, w_.data, 0, y_.data);
    check(kizami::engines::run_ec_convolution(p, plan_.form, nullptr), "product");
  }
  [[nodiscard]] double error() const {
    check(cudaMemset(y_.data, 0xFF, static_cast<std::size_t>(plan_.num_outputs()) * sizeof(float)), "y");
    call();
    check(cudaMemset(worst_.data, 0, sizeof(double)), "error");
    const std::int64_t pixels = plan_.shape.images * plan_.out_height * plan_.out_width;
    sampled_error<<<4096, 128>>>(convolution::direct_convolution(plan_, 1, x_.data, w_.data, 0, y_.data),
                                 pixels / 4096 + 1, worst_.data);
    double worst = 0;
    check(cudaMemcpy(&worst, worst_.data, sizeof worst, cudaMemcpyDeviceToHost), "error");
    return worst;
  }

 private:
  [[nodiscard]] std::span<std::byte> workspace() const { return {workspace_.data, plan_.workspace_bytes}; }
  [[nodiscard]] std::span<std::byte> prepared() const { return {prepared_.data, plan_.filter_bytes}; }

  const convolution::Plan& plan_;
  bench::DeviceBuffer<float> x_, w_, y_;
  bench::DeviceBuffer<std::byte> workspace_, prepared_;
  bench::DeviceBuffer<double> worst_;
  convolution::FilterBuffers filters_;
  convolution::ImageBuffers images_;
};

std::vector<convolution::Plan> plans_of(const kizami::ConvolutionShape& shape, kizami::ConvolutionFormat format,
                                        bool all_forms) {
  std::vector<convolution::Plan> plans;
  if (!all_forms) {
    auto plan = convolution::make_plan(shape, format);
    check(plan.status(), "plan");
    plans.push_back(std::move(plan).value());
    return plans;
  }
  for (const product::EcConvolutionFormTraits& traits : product::kEcConvolutionForms) {
    auto plan = convolution::make_plan(shape, format, traits.form);
    if (plan.ok()) plans.push_back(std::move(plan).value());
  }
  return plans;
}

void run_plan(const convolution::Plan& plan, const Layer& layer, const Options& options, const bench::Gauges& gauges,
              const bench::Records& records) {
  const Arrays arrays(plan);
  const double error = arrays.error();
  std::vector<Runner> runners;
  runners.push_back({"call", [&] { arrays.call(); }, {}, 0, 0});
  runners.push_back({"prepared", [&] { arrays.call_prepared(); }, {}, 0, 0});
  runners.push_back({"split", [&] { arrays.split(); }, {}, 0, 0});
  runners.push_back({"product", [&] { arrays.multiply(); }, {}, 0, 0});
  const bench::Timer timer;
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {  // one to warm up
    for (Runner& runner : runners) {
      const float ms = timer.time(runner.call, 5);
      if (repeat > 0) runner.times.push_back(ms);
      runner.mhz = gauges.sm_mhz();
      runner.watts = gauges.watts();
    }
  }
  const kizami::ConvolutionShape& s = plan.shape;
  const double flops = 2.0 * static_cast<double>(plan.num_outputs()) * static_cast<double>(plan.group_channels()) *
                       static_cast<double>(s.filter_height * s.filter_width);
  for (const Runner& runner : runners) {
    const bench::Spread found = bench::spread(runner.times);
    const double tflops = flops * 1e-9 / found.median;
    std::fprintf(
        stderr, "%4ld @ %-3ld /%ld %-4s %-4s %-17s %-8s %8.4f ms %7.1f TFLOPS, error %.2g of bound %.2g, %u MHz %u W\n",
        static_cast<long>(layer.channels), static_cast<long>(layer.size), static_cast<long>(layer.stride),
        std::string(to_string(s.layout)).c_str(), std::string(to_string(plan.format)).c_str(),
        std::string(product::traits_of(plan.form).name).c_str(), runner.who.c_str(), found.median, tflops, error,
        plan.bound, runner.mhz, runner.watts);
    records.append(bench::Json{{"date", bench::today()},
                               {"commit", options.commit},
                               {"device", bench::device_name()},
                               {"driver", gauges.driver},
                               {"images", s.images},
                               {"channels", s.channels},
                               {"size", s.height},
                               {"filters", s.filters},
                               {"stride", s.stride_h},
                               {"layout", std::string(to_string(s.layout))},
                               {"format", std::string(to_string(plan.format))},
                               {"form", std::string(product::traits_of(plan.form).name)},
                               {"who", runner.who},
                               {"ms_median", found.median},
                               {"ms_min", found.min},
                               {"ms_max", found.max},
                               {"tflops", tflops},
                               {"largest_error", error},
                               {"bound", plan.bound},
                               {"sm_mhz", runner.mhz},
                               {"watts", runner.watts}});
  }
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Gauges gauges;
  for (const Layer& layer : options.layers) {
    for (const std::string& layout : options.layouts) {
      for (const std::string& format : options.formats) {
        kizami::ConvolutionShape shape;
        shape.images = options.images;
        shape.channels = shape.filters = layer.channels;
        shape.height = shape.width = layer.size;
        shape.filter_height = shape.filter_width = 3;
        shape.stride_h = shape.stride_w = layer.stride;
        shape.pad_h = shape.pad_w = 1;
        shape.layout = layout == "nhwc" ? kizami::ImageLayout::kNhwc : kizami::ImageLayout::kNchw;
        const auto wanted = format == "f16" ? kizami::ConvolutionFormat::kF16 : kizami::ConvolutionFormat::kTf32;
        for (const convolution::Plan& plan : plans_of(shape, wanted, options.all_forms))
          run_plan(plan, layer, options, gauges, records);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_convolution", "Convolutions of FP32 images on FP16 and TF32 tensor cores");
  bench::add_parsed(program, "--layer", options.layers, parse_layer, "CHANNELSxSIZE, or CHANNELSxSIZE/STRIDE");
  program.add_option("--layout", options.layouts, "of images and filters")->check(CLI::IsMember({"nhwc", "nchw"}));
  program.add_option("--format", options.formats, "of the parts")->check(CLI::IsMember({"f16", "tf32"}));
  program.add_option("--images", options.images, "of a batch")->check(CLI::Range(1, 65536));
  program.add_flag("--all-forms", options.all_forms, "every kernel that takes the layer");
  program.add_option("--repeats", options.repeats, "timed rounds")->check(CLI::Range(1, 1000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] { return run(options); });
}
