// SPDX-License-Identifier: MIT
// Products by scheme ozaki1 in device memory, in all formats of slices, and native cuBLAS, interleaved in one run on
// normal operands: whole calls, their phases (gpu_slices/phases.hpp), slices taken, and errors from the exact and from
// the native product by three measures. A table on stderr, JSON lines on stdout, which `kizami_study ozaki
// --gpu-results FILE` makes tables of.
//   bench_gpu_slices --n 4096 --way ozaki1/bf16/7/d9 --way ozaki1/fp16/until-zero/matrix
//   bench_gpu_slices --n 8192 --way ozaki1/7/truncated/grouped --way ozaki1/7/truncated/blocked/block2048/streams4
//   bench_gpu_slices --type z --n 1024 --way ozaki1/7/truncated/enlarged --way ozaki1/7/truncated/full
// Ways are those of sliced_way.hpp. Errors are those of --rows rows, against sums in double-double (ExactElement). A
// call that finds its number of slices itself waits for it, and cannot be captured: its phases are those of the call
// that names this number.
#include <cuda_runtime.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_bench.cuh"
#include "gpu_slices/forms.hpp"
#include "gpu_slices/phases.hpp"
#include "gpu_slices/reference.cuh"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "kizami/cuda.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki1/stage.hpp"
#include "sliced_way.hpp"

namespace {

using bench::check;
using bench::DeviceBuffer;

struct Options {
  char type = 'd';
  std::vector<std::int64_t> sizes = {4096};
  std::vector<std::string> ways;
  int repeats = 7;
  int warm_ups = 2;
  int rows = 64;
  bool has_phases = true;
  std::string commit = "unknown";
  std::string json;
};

template <class R>
__global__ void fill_normal(R* x, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x1000000000ull + 2 * static_cast<std::uint64_t>(i);
    x[i] = static_cast<R>(sqrt(-2.0 * log(bench::unit(at))) * cospi(2.0 * bench::unit(at + 1)));
  }
}

struct Runner {
  std::string who;
  std::optional<bench::SlicedWay> way;  ///< nothing: native
  std::optional<bench::Form> form;
  std::function<void()> call;
  std::vector<float> milliseconds;
  bench::Errors from_exact, from_native;
  kizami::Outcome outcome;
  std::unique_ptr<bench::PhaseTimer> phase_timer;  ///< null: not timed
  std::vector<bench::Phases> phases;
  unsigned mhz = 0, watts = 0;
};

[[nodiscard]] kizami::Policy policy_of(const bench::SlicedWay& way) {
  kizami::Policy policy;
  policy.scheme = kizami::Scheme::kOzaki1;
  policy.engine = way.engine;
  policy.slices = way.slices;
  policy.reproducibility = kizami::Reproducibility::kNotGuaranteed;
  policy.may_sync = way.slices.num_slices == kizami::kUntilZero;
  if (way.slices.complex_form == kizami::ComplexForm::kKaratsuba) policy.gauge = kizami::Gauge::kNorm;
  return policy;
}

/// The products of one n and type, beside each other.
template <class T>
class Case {
 public:
  using R = kizami::RealOf<T>;
  static constexpr int kTerms = kizami::kIsComplex<T> ? 2 : 1;

  Case(std::int64_t n, const Options& options, const bench::Cublas& cublas)
      : n_(n), options_(options), a_(n * n), b_(n * n), c_(n * n), native_(n * n) {
    fill_normal<<<2048, 256>>>(reals(a_), n * n * kTerms, 1);
    fill_normal<<<2048, 256>>>(reals(b_), n * n * kTerms, 2);
    Runner native;
    native.who = "native";
    native.call = [this, &cublas] { cublas.multiply<T>(n_, n_, n_, a_.data, b_.data, native_.data); };
    native.call();
    reference_.emplace(reals(a_), reals(b_), reals(native_), n, n, n, options.rows);
    native.from_exact = reference_->errors(reals(native_)).from_exact;
    runners_.push_back(std::move(native));
    std::size_t bytes = 256;
    for (const std::string& who : options.ways) {
      Runner runner;
      runner.who = who;
      runner.way = bench::sliced_way(who);
      const kizami::Result<bench::Form> form = form_of(*runner.way, policy_of(*runner.way));
      if (!form.ok()) {
        std::fprintf(stderr, "%cgemm %6ld %-44s %s\n", options.type, static_cast<long>(n), who.c_str(),
                     form.status().reason().c_str());
        continue;
      }
      runner.form = form.value();
      bytes = std::max(bytes, runner.form->workspace_bytes);
      runners_.push_back(std::move(runner));
    }
    workspace_ = std::make_unique<DeviceBuffer<std::byte>>(static_cast<std::int64_t>(bytes));
    workspace_bytes_ = bytes;
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  /// Outcomes and errors; also the first calls. @return whether all ways came so far; the others are not timed
  bool look() {
    const std::size_t planned = runners_.size();
    std::erase_if(runners_, [this](Runner& runner) {
      try {
        if (runner.way) look(runner);
        return false;
      } catch (const std::runtime_error& error) {
        std::fprintf(stderr, "%cgemm %6ld %-44s %s\n", options_.type, static_cast<long>(n_), runner.who.c_str(),
                     error.what());
        return true;
      }
    });
    for (Runner& runner : runners_) {
      if (runner.form) runner.call = [this, &runner] { runner.form->call(workspace()); };
    }
    return runners_.size() == planned;
  }

  void time(const bench::Gauges& gauges) {
    const bench::Timer timer;
    for (int repeat = 0; repeat < options_.repeats + options_.warm_ups; ++repeat) {
      for (Runner& runner : runners_) {
        bench::wait_cycles<<<1, 1>>>(300000);  // the host enqueues the call meanwhile
        timer.start();
        runner.call();
        timer.stop();
        runner.mhz = gauges.sm_mhz();
        runner.watts = gauges.watts();
        const float ms = timer.milliseconds();
        if (repeat >= options_.warm_ups) runner.milliseconds.push_back(ms);
        if (runner.phase_timer == nullptr) continue;
        const bench::Phases phases = bench::time_slice_phases(*runner.phase_timer);
        if (repeat >= options_.warm_ups) runner.phases.push_back(phases);
      }
    }
  }

  void print(const bench::Gauges& gauges, const std::string& device, const bench::Records& records) const {
    for (const Runner& runner : runners_) print(runner, gauges, device, records);
  }

 private:
  [[nodiscard]] static R* reals(const DeviceBuffer<T>& x) { return reinterpret_cast<R*>(x.data); }
  [[nodiscard]] std::span<std::byte> workspace() const { return {workspace_->data, workspace_bytes_}; }

  [[nodiscard]] kizami::Result<bench::Form> form_of(const bench::SlicedWay& way, const kizami::Policy& policy) const {
    if (way.is_full) {
      if constexpr (std::is_same_v<T, std::complex<double>>)
        return bench::full_enlarged(n_, n_, n_, a_.data, b_.data, c_.data, policy);
      throw std::invalid_argument("a way with full, --type d, must be z");
    }
    const auto plan = kizami::cuda::make_plan(kizami::kScalarOf<T>, n_, n_, n_, policy);
    if (!plan.ok()) return plan.status();
    const auto call = [this, plan = plan.value()](std::span<std::byte> memory) { enqueue(plan, memory, nullptr); };
    return bench::Form{call, plan.value().workspace_bytes(), plan.value()};
  }

  void enqueue(const kizami::Plan& plan, std::span<std::byte> memory, cudaStream_t stream) const {
    const auto view = [this](const T* x) { return kizami::blas_view(x, n_, n_, n_); };
    check(kizami::cuda::run<T>(plan, T{1}, view(a_.data), view(b_.data), T{0}, kizami::blas_view(c_.data, n_, n_, n_),
                               memory, stream),
          "run");
  }

  void look(Runner& runner) {
    check(cudaMemset(c_.data, 0xFF, static_cast<std::size_t>(n_ * n_) * sizeof(T)), "poison");  // NaN
    runner.form->call(workspace());
    check(cudaDeviceSynchronize(), runner.who.c_str());
    const auto outcome = kizami::cuda::read_outcome(runner.form->plan, workspace(), nullptr);
    check(outcome.status(), runner.who.c_str());
    runner.outcome = outcome.value();
    const auto found = reference_->errors(reals(c_));
    runner.from_exact = found.from_exact;
    runner.from_native = found.from_native;
    if (options_.has_phases && has_one_stream(*runner.form) && !runner.way->is_full) capture(runner);
  }

  /// Makes the timer of the phases. C must come out as before.
  void capture(Runner& runner) {
    kizami::Policy policy = policy_of(*runner.way);
    if (policy.may_sync) {
      policy.may_sync = false;
      policy.slices.num_slices = runner.outcome.slices;
      if (policy.slices.num_diagonals == 0) policy.slices.num_diagonals = kizami::kAllPairs;
      policy.workspace_limit_bytes = workspace_bytes_;
    }
    const auto plan = kizami::cuda::make_plan(kizami::kScalarOf<T>, n_, n_, n_, policy);
    check(plan.status(), runner.who.c_str());
    runner.phase_timer =
        bench::slice_phase_timer([&](cudaStream_t stream) { enqueue(plan.value(), workspace(), stream); });
    static_cast<void>(runner.phase_timer->time());
    const bench::Errors errors = reference_->errors(reals(c_)).from_exact;
    if (errors.element != runner.from_exact.element || errors.entry != runner.from_exact.entry)
      throw std::runtime_error(runner.who + ": the timed phases give another C");
  }

  /// Medians of each phase.
  [[nodiscard]] static bench::Phases median(const std::vector<bench::Phases>& phases) {
    const auto of = [&](double bench::Phases::*phase) {
      std::vector<double> ms;
      for (const bench::Phases& x : phases) ms.push_back(x.*phase);
      return bench::median(ms);
    };
    return {of(&bench::Phases::split), of(&bench::Phases::product), of(&bench::Phases::sums), of(&bench::Phases::rest),
            phases.front().kernels};
  }

  /// Of calls in several streams a captured one has another order.
  [[nodiscard]] static bool has_one_stream(const bench::Form& form) {
    return kizami::ozaki1::ozaki1_of(form.plan.impl()).blocks.num_streams == 1;
  }

  /// Products of pairs of slices that were taken; of a complex product those of one real one.
  [[nodiscard]] static int count_products(const Runner& runner) {
    const int l = runner.outcome.slices;
    const kizami::ozaki1::SliceNumerics& slices = kizami::ozaki1::ozaki1_of(runner.form->plan.impl()).numerics;
    const int d = slices.takes_all_pairs ? 2 * l - 1 : slices.last().num_diagonals;
    int count = 0;
    for (int i = 0; i < l; ++i) count += std::clamp(d - i, 0, l);
    return count;
  }

  void print(const Runner& runner, const bench::Gauges& gauges, const std::string& device,
             const bench::Records& records) const {
    const bench::Spread found = bench::spread(runner.milliseconds);
    const double ms = found.median;
    const double cube = static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_);
    const double tflops = (kTerms == 2 ? 8e-9 : 2e-9) * cube / ms;
    const std::string shape = to_string(bench::Shape{n_, n_, n_});
    bench::Json line = {{"date", bench::today()},
                        {"commit", options_.commit},
                        {"device", device},
                        {"driver", gauges.driver},
                        {"case", std::string(1, options_.type) + " nn " + shape + " randn"},
                        {"who", runner.who},
                        {"ms_median", ms},
                        {"ms_min", found.min},
                        {"ms_max", found.max},
                        {"tflops", tflops},
                        {"error", runner.from_exact.entry},
                        {"frobenius", runner.from_exact.frobenius},
                        {"element", runner.from_exact.element}};
    std::fprintf(stderr, "%cgemm %6ld %-44s %10.4f ms %7.1f TFLOPS  error %8.2g %8.2g", options_.type,
                 static_cast<long>(n_), runner.who.c_str(), ms, tflops, runner.from_exact.entry,
                 runner.from_exact.frobenius);
    if (runner.way) {
      const kizami::ozaki1::SliceNumerics& slices = kizami::ozaki1::ozaki1_of(runner.form->plan.impl()).numerics;
      line["from_native"] = {runner.from_native.frobenius, runner.from_native.element, runner.from_native.entry};
      line["bound"] = runner.outcome.bound;
      line["engine"] = runner.outcome.engine;
      line["format"] = to_string(slices.format);
      line["scale"] = slices.one_scale ? "matrix" : "line";
      line["digit_bits"] = slices.rule.head;
      line["slices"] = runner.outcome.slices;
      line["products"] = count_products(runner);
      const kizami::ozaki1::Ozaki1Stage& stage = kizami::ozaki1::ozaki1_of(runner.form->plan.impl());
      line["sums"] = to_string(stage.sums);
      line["block_lines"] = stage.blocks.lines;
      line["streams"] = stage.blocks.num_streams;
      line["complex_form"] = to_string(slices.complex_form);
      line["predicted_ms"] = stage.engine == nullptr ? 0.0 : runner.form->plan.impl().schedule.seconds * 1e3;
      std::fprintf(stderr, "  %d slices, %d products", runner.outcome.slices, count_products(runner));
    }
    if (!runner.phases.empty()) {
      const bench::Phases phases = median(runner.phases);
      line["split_ms"] = phases.split;
      line["product_ms"] = phases.product;
      line["sums_ms"] = phases.sums;
      line["rest_ms"] = phases.rest;
      line["kernels"] = phases.kernels;
      std::fprintf(stderr, "  split %.4f product %.4f sums %.4f rest %.4f ms, %d kernels", phases.split, phases.product,
                   phases.sums, phases.rest, phases.kernels);
    }
    line["sm_mhz"] = runner.mhz;
    line["watts"] = runner.watts;
    std::fprintf(stderr, "\n");
    records.append(line);
  }

  std::int64_t n_;
  const Options& options_;
  DeviceBuffer<T> a_, b_, c_, native_;
  std::optional<bench::Reference<R, kTerms>> reference_;
  std::vector<Runner> runners_;
  std::unique_ptr<DeviceBuffer<std::byte>> workspace_;
  std::size_t workspace_bytes_ = 0;
};

template <class T>
bool run_size(std::int64_t n, const Options& options, const bench::Cublas& cublas, const bench::Gauges& gauges,
              const std::string& device, const bench::Records& records) {
  Case<T> products(n, options, cublas);
  const bool is_whole = products.look();
  products.time(gauges);
  products.print(gauges, device, records);
  return is_whole;
}

int run(const Options& options) {
  const bench::Records records(options.json);
  const bench::Gauges gauges;
  const bench::Cublas cublas;
  const std::string device = bench::device_name();
  bool is_whole = true;
  for (const std::int64_t n : options.sizes) {
    is_whole = (options.type == 'd' ? run_size<double>(n, options, cublas, gauges, device, records)
                                    : run_size<std::complex<double>>(n, options, cublas, gauges, device, records)) &&
               is_whole;
  }
  return is_whole ? 0 : 1;
}

/// A way that this program times. @throws std::invalid_argument
[[nodiscard]] std::string timed_way(const std::string& text) {
  if (bench::sliced_way(text).slices.num_slices == 0) throw std::invalid_argument(text + " is for bench_gpu_gemm");
  return text;
}

void add_options(bench::Program& program, Options& options) {
  program.add_option("--type", options.type, "d or z")->check(CLI::IsMember({'d', 'z'}));
  program.add_option("--n", options.sizes, "square sizes")->check(CLI::Range(std::int64_t{4}, std::int64_t{32768}));
  bench::add_parsed(program, "--way", options.ways, timed_way, "ozaki1/... of sliced_way.hpp, beside native cuBLAS");
  program.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000));
  program.add_option("--warm-ups", options.warm_ups, "calls before them, beside the first")->check(CLI::Range(0, 1000));
  program.add_option("--rows", options.rows, "rows of C whose errors are measured")->check(CLI::Range(1, 1024));
  program.add_flag("--no-phases{false}", options.has_phases, "whole calls only");
  bench::add_json(program, options.json);
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program("bench_gpu_slices",
                         "Products of slices in all formats, their phases and errors, beside native cuBLAS");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
