// SPDX-License-Identifier: MIT
// What each launch of a call of scheme ec costs: chains of its launches beside each other, interleaved, on normal
// operands; kernels that do nothing, or read a word, in the place of those that find nothing to do. A table on stderr, JSON
// lines on stdout: microseconds of single calls, and of one of eight calls back to back.
//   bench_gpu_ec_call --n 512 --n 1024 --repeats 101
//   bench_gpu_ec_call --n 4096 --op tn --chain "split" --chain "split, product"
// A kernel that waits goes ahead of every timed chain, so that no launch by the host is timed; events cost what "empty"
// says.
#include <algorithm>
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
#include "fp64/device.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/device_decide.hpp"
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
/// What a kernel that finds nothing to do cannot leave out: it reads a word, and ends.
__global__ void read_word(const std::int32_t* word) {
  base::follow_previous_kernel();
  if (*word != 0) __trap();
}

struct Options {
  std::vector<std::int64_t> sizes = {512, 1024};
  int repeats = 101;
  std::vector<std::string> chains;  ///< by name; none: all
  std::string op = "nn";
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

  const bool is_transposed[2] = {options.op[0] == 't', options.op[1] == 't'};
  const ec::EcRung& stage = ec::ec_of(planned).numerics.rungs[0];
  const product::EcFormat format = ec::ec_format(stage);
  const std::int64_t row_stride = product::ec_line_bytes(format, n);
  const ec::DeviceEcSplit<float> rows{{a.data, n, n, is_transposed[0] ? n : 1, is_transposed[0] ? 1 : n},
                                      buffers.a.planes,
                                      row_stride,
                                      buffers.a.scales,
                                      buffers.a.stats};
  const ec::DeviceEcSplit<float> columns{{b.data, n, n, is_transposed[1] ? 1 : n, is_transposed[1] ? n : 1},
                                         buffers.b.planes,
                                         row_stride,
                                         buffers.b.scales,
                                         buffers.b.stats};
  engines::EcProduct product;
  product.format = format;
  product.a = {{buffers.a.planes, row_stride, buffers.a.scales}, {nullptr, n, n, 1, n}};
  product.b = {{buffers.b.planes, row_stride, buffers.b.scales}, {nullptr, n, n, n, 1}};
  product.c = c.data;
  product.c_col_stride = n;
  const engines::EcForm form = engines::ec_form_for(n, n, n, format, num_sms);

  const auto split = [&](const ec::DeviceEcSplit<float>& of_a, const ec::DeviceEcSplit<float>& of_b,
                         product::EcReport* reports) {
    int num_reports = 0;
    check(ec::device_ec_split<float>(of_a, of_b, format, {ec::ec_of(planned).numerics.limits, reports}, 1.0F, num_sms,
                                     num_reports, nullptr),
          "split");
    return num_reports;
  };
  const auto split_operands = [&](product::EcReport* reports) { return split(rows, columns, reports); };
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
  const auto decision_of = [&](int num_reports) {
    ec::EcDecision decision;
    decision.reports = buffers.reports;
    decision.num_reports = num_reports;
    decision.num_pairs = n * n;
    decision.state = state.data;
    return decision;
  };
  const auto decide = [&](int num_reports) {
    check(ec::device_ec_decide<float>(decision_of(num_reports), second_rows, second_columns, 1.0F, num_sms, nullptr),
          "decision");
  };
  const auto multiply = [&](const engines::EcProduct& p) {
    check(engines::run_ec_product(p, form, ec::ec_promotion(stage), nullptr), "product");
  };
  const auto nothing = [](unsigned blocks = 1, unsigned threads = 32) {
    check(base::launch_overlapped("empty", empty, dim3(blocks), dim3(threads), 0, nullptr), "empty");
  };
  DeviceBuffer<std::int32_t> zero(1);
  check(base::cuda_status(cudaMemset(zero.data, 0, sizeof *zero.data), "cudaMemset"), "zero");
  const auto read_zero = [&](unsigned blocks) {
    check(base::launch_overlapped("a word", read_word, dim3(blocks), dim3(256), 0, nullptr, zero.data), "a word");
  };
  fp64::DeviceCall<float> left;
  left.a = rows.lines;
  left.b = columns.lines;
  left.a_stats = rows.stats;
  left.b_stats = columns.stats;
  left.alpha = 1.0F;
  left.beta = 0.0F;
  left.c = blas_view(c.data, n, n, n);
  left.state = state.data;
  const auto decide_and_answer = [&](int num_reports) {
    check(ec::device_ec_decide_and_answer<float>(decision_of(num_reports), second_rows, second_columns, left, num_sms,
                                                 nullptr),
          "decision with the FP64 rung");
  };
  const auto answer_left = [&] { check(fp64::answer_exceptions(left, num_sms, nullptr), "FP64 rung"); };
  const device::DeviceProblem<float> problem{1.0F, blas_view(static_cast<const float*>(a.data), n, n, n),
                                             blas_view(static_cast<const float*>(b.data), n, n, n), 0.0F,
                                             blas_view(c.data, n, n, n)};
  const auto call = [&] {
    check(exec::run_device<float>(planned, {&problem, 1}, {workspace.data, planned.schedule.workspace_bytes}, nullptr),
          "call");
  };
  std::vector<Chain> chains = {
      {"empty", [&] { nothing(); }, {}},
      {"split", [&] { split_operands(buffers.reports); }, {}},
      {"split of A", [&] { split(rows, {}, buffers.reports); }, {}},
      {"split of B", [&] { split({}, columns, buffers.reports); }, {}},
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
      {"split, decision with the FP64 rung, product",
       [&] {
         decide_and_answer(split_operands(buffers.reports));
         multiply(decided);
       },
       {}},
      {"split, a word read by 132 blocks, product",
       [&] {
         split_operands(buffers.reports);
         read_zero(132);
         multiply(product);
       },
       {}},
      {"split, product, a word read by 132 blocks",
       [&] {
         split_operands(buffers.reports);
         multiply(product);
         read_zero(132);
       },
       {}},
      {"split, product, three empty of 132 blocks",
       [&] {
         split_operands(buffers.reports);
         multiply(product);
         for (int i = 0; i < 3; ++i) nothing(132, 256);
       },
       {}},
      {"split, product, FP64 rung",
       [&] {
         split_operands(buffers.reports);
         multiply(product);
         answer_left();
       },
       {}},
      {"call", call, {}},
  };
  if (!options.chains.empty())
    std::erase_if(chains, [&](const Chain& chain) { return std::ranges::count(options.chains, chain.name) == 0; });
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
    std::fprintf(stderr, "%5ld %-42s %7.2f us, back to back %7.2f, %6.1f TFLOPS\n", static_cast<long>(n),
                 chain.name.c_str(), found.median, burst, tflops);
    records.append(bench::Json{{"date", bench::today()},
                               {"commit", options.commit},
                               {"driver", driver},
                               {"case", "s " + options.op + " " + to_string(bench::Shape{n, n, n}) + " randn"},
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
  program.add_option("--op", options.op, "A and B as they are (n) or transposed in memory (t), but in whole calls")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  program.add_option("--chain", options.chains, "only chains of these names");
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
  return program.run(argc, argv, [&] {
    const bench::Records records(options.json);
    const bench::Gauges gauges;
    for (const std::int64_t n : options.sizes) measure(n, options, gauges.driver, records);
    return 0;
  });
}
