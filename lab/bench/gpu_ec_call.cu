// SPDX-License-Identifier: MIT
// What each launch of a small call of scheme ec costs: chains of its launches beside each other, interleaved, on normal
// operands in order NN. A table on stderr, JSON lines on stdout: microseconds of single calls, and of one of eight
// calls back to back.
//   bench_gpu_ec_call --n 512 --n 1024 --repeats 101
// A kernel that waits goes ahead of every timed chain, so that no launch by the host is timed; events cost what "empty"
// says.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/overlapped_launch.hpp"
#include "device/state.hpp"
#include "device_bench.cuh"
#include "engines/hopper/ec_forms.hpp"
#include "exec/device_batch.hpp"
#include "exec/device_environment.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ec/device_split.hpp"

namespace {

using namespace kizami;
using bench::check;
using bench::DeviceBuffer;

__global__ void fill_normal(float* x, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x100000000ull + 2 * static_cast<std::uint64_t>(i);
    x[i] = static_cast<float>(sqrt(-2.0 * log(bench::unit(at))) * cospi(2.0 * bench::unit(at + 1)));
  }
}

__global__ void empty() { base::follow_previous_kernel(); }

struct Options {
  std::vector<std::int64_t> sizes = {512, 1024};
  int repeats = 101;
  std::string commit = "unknown";
  std::string json;
};

struct Chain {
  std::string name;
  std::function<void()> launch;
  std::vector<float> microseconds;
};

void measure(std::int64_t n, const Options& options, const std::string& driver, const bench::Records& records) {
  DeviceBuffer<float> a(n * n), b(n * n), c(n * n);
  fill_normal<<<2048, 256>>>(a.data, n * n, 1);
  fill_normal<<<2048, 256>>>(b.data, n * n, 2);
  Policy policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const plan::Plan planned = plan::make({Scalar::kF32, n, n, n}, policy, exec::device_environment().value()).value();
  const int num_sms = planned.schedule.facts.num_sms;
  DeviceBuffer<std::byte> workspace(static_cast<std::int64_t>(planned.schedule.workspace_bytes));
  base::Carver carver(workspace.data);
  const ec::DeviceEcBuffers buffers = ec::carve_device_ec(carver, planned, false);

  const ec::EcRung& stage = ec::ec_of(planned).numerics.rungs[0];
  const product::EcFormat format = ec::ec_format(stage);
  const std::int64_t row_stride = product::ec_line_bytes(format, n);
  const ec::DeviceEcSplit<float> rows{
      {a.data, n, n, 1, n}, buffers.a.planes, row_stride, buffers.a.scales, buffers.a.stats};
  const ec::DeviceEcSplit<float> columns{
      {b.data, n, n, n, 1}, buffers.b.planes, row_stride, buffers.b.scales, buffers.b.stats};
  engines::EcProduct product;
  product.format = format;
  product.a = {{buffers.a.planes, row_stride, buffers.a.scales}, {nullptr, n, n, 1, n}};
  product.b = {{buffers.b.planes, row_stride, buffers.b.scales}, {nullptr, n, n, n, 1}};
  product.c = c.data;
  product.c_col_stride = n;
  const engines::EcForm form = engines::ec_form_for(n, n, n, format, num_sms);

  const auto split_operands = [&](product::EcReport* reports) {
    int num_reports = 0;
    check(ec::device_ec_split<float>(rows, columns, format, {ec::ec_of(planned).numerics.limits, reports}, 1.0F,
                                     num_sms, num_reports, nullptr),
          "split");
    return num_reports;
  };
  // What the second stage would have, which these operands do not ask for.
  DeviceBuffer<device::DeviceState> state(1);
  const std::int64_t second_stride = product::ec_line_bytes(product::EcFormat::kTf32, n);
  ec::DeviceEcSplit<float> second_rows = rows;
  ec::DeviceEcSplit<float> second_columns = columns;
  second_rows.row_stride = second_columns.row_stride = second_stride;
  engines::EcProduct decided = product;
  decided.decision = &state.data->ec_product;
  decided.second = {product::EcFormat::kTf32,
                    {buffers.a.planes, second_stride, buffers.a.scales},
                    {buffers.b.planes, second_stride, buffers.b.scales}};
  const auto decide = [&](int num_reports) {
    ec::EcDecision decision;
    decision.reports = buffers.reports;
    decision.num_reports = num_reports;
    decision.num_pairs = n * n;
    decision.state = state.data;
    check(ec::device_ec_decide<float>(decision, second_rows, second_columns, 1.0F, num_sms, nullptr), "decision");
  };
  const auto multiply = [&](const engines::EcProduct& p) {
    check(engines::run_ec_product(p, form, ec::ec_promotion(stage), nullptr), "product");
  };
  const auto nothing = [] { check(base::launch_overlapped("empty", empty, dim3(1), dim3(32), 0, nullptr), "empty"); };
  const device::DeviceProblem<float> problem{1.0F, blas_view(static_cast<const float*>(a.data), n, n, n),
                                             blas_view(static_cast<const float*>(b.data), n, n, n), 0.0F,
                                             blas_view(c.data, n, n, n)};
  const auto call = [&] {
    check(exec::run_device<float>(planned, {&problem, 1}, {workspace.data, planned.schedule.workspace_bytes}, nullptr),
          "call");
  };
  std::vector<Chain> chains = {
      {"empty", nothing, {}},
      {"split", [&] { split_operands(buffers.reports); }, {}},
      {"product", [&] { multiply(product); }, {}},
      {"split without reports, product",
       [&] {
         split_operands(nullptr);
         multiply(product);
       },
       {}},
      {"split, product",
       [&] {
         split_operands(buffers.reports);
         multiply(product);
       },
       {}},
      {"split, product, empty",
       [&] {
         split_operands(buffers.reports);
         multiply(product);
         nothing();
       },
       {}},
      {"split, decision, product",
       [&] {
         decide(split_operands(buffers.reports));
         multiply(decided);
       },
       {}},
      {"call", call, {}},
  };
  const bench::Timer timer;
  for (int repeat = 0; repeat < options.repeats + 5; ++repeat) {  // five to warm up
    for (Chain& chain : chains) {
      const float ms = timer.time(chain.launch, 1);
      if (repeat >= 5) chain.microseconds.push_back(ms * 1e3F);
    }
  }
  for (const Chain& chain : chains) {
    const bench::Spread found = bench::spread(chain.microseconds);
    const double burst = timer.time(chain.launch, 8) * 1e3;
    const double tflops =
        2e-6 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / found.median;
    std::fprintf(stderr, "%5ld %-32s %7.2f us, back to back %7.2f, %6.1f TFLOPS\n", static_cast<long>(n),
                 chain.name.c_str(), found.median, burst, tflops);
    records.append(bench::Json{{"date", bench::today()},
                               {"commit", options.commit},
                               {"driver", driver},
                               {"case", "s nn " + to_string(bench::Shape{n, n, n}) + " randn"},
                               {"chain", chain.name},
                               {"us_median", found.median},
                               {"us_min", found.min},
                               {"us_max", found.max},
                               {"us_back_to_back", burst}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_ec_call", "What each launch of a small call of scheme ec costs");
  program.add_option("--n", options.sizes, "square sizes")->check(CLI::Range(std::int64_t{1}, std::int64_t{8192}));
  program.add_option("--repeats", options.repeats, "timed calls of each chain")->check(CLI::Range(1, 10000));
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] {
    const bench::Records records(options.json);
    const bench::Gauges gauges;
    for (const std::int64_t n : options.sizes) measure(n, options, gauges.driver, records);
    return 0;
  });
}
