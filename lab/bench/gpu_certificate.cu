// SPDX-License-Identifier: MIT
// What the certificate costs on the device, and what follows from it: whole calls of scheme ozaki2 by engine hopper on
// elements of growing width, interleaved, and their phases by events between the call's own launches (phase_timer.hpp).
// A table on stdout, a line of JSON for each case by --json.
//   bench_gpu_certificate --json certificate.jsonl
//   bench_gpu_certificate --type dz --n 4096 --phi 0.5 --phi 4 --accuracy native
//   bench_gpu_certificate --n 2048 --look blocks_first   what the split makes, not what a scout or its absence says
// Elements are (uniform(0,1) - 0.5) exp(phi normal), order NN, alpha = 1, beta = 0. Phases:
//   begin        the call's state; the scout, where there is one
//   split        statistics, and what the look wants: sampled digits or those of blocks, planes of the lowest rung
//   sample       products of sampled digits, which are compared
//   digits       those of blocks, where a sample refused pairs and the split did not make them
//   rungs        products of digits of blocks: the first sufficient rung of every pair
//   second_look  selection, gain of equilibration, list of repairs
//   planes       of the chosen rung, where the split did not make them
//   product, crt, repairs
// Beside them, what copies take of as many bytes as split and CRT move at the least, and the call with these in their
// place: what is left to gain outside the products. A call has repairs beside the CRT; between events each is alone, so that phases add up to more than the call.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/carver.hpp"
#include "device_bench.cuh"
#include "exec/device_batch.hpp"
#include "exec/device_environment.hpp"
#include "harness/options.hpp"
#include "harness/records.hpp"
#include "harness/spread.hpp"
#include "phase_timer.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace {

using bench::check;
using bench::DeviceBuffer;
using kizami::device::Look;

enum Phase { kBegin, kSplit, kSample, kDigits, kRungs, kSecondLook, kPlanes, kProduct, kCrt, kRepairs, kNumPhases };
constexpr std::array<const char*, kNumPhases> kPhaseNames = {"begin",       "split",  "sample",  "digits", "rungs",
                                                             "second_look", "planes", "product", "crt",    "repairs"};

/// In the order of Look.
const std::vector<std::string> kLookNames = {"sample", "blocks", "blocks_first"};

/// By what the mangled name of a kernel has, first things first; other kernels are products.
constexpr std::pair<const char*, Phase> kPhaseOfKernels[] = {
    {"10begin_call", kBegin},        {"15begin_and_scout", kBegin}, {"11weigh_lines", kBegin},
    {"6kizami4exec", kBegin},        {"6kizami6native", kBegin},    {"14count_failures", kSample},
    {"12block_digits", kDigits},     {"11block_rungs", kRungs},     {"18second_look_kernel", kSecondLook},
    {"6kizami7certify", kSplit},  // statistics
    {"14split_residues", kPlanes},   {"11single_pass", kSplit},     {"26single_pass_of_whole_lines", kSplit},
    {"17find_line_factors", kSplit}, {"13strassen_pass", kSplit},   {"17strassen_residues", kSplit},
    {"6kizami6ozaki2", kCrt},        {"10sum_slices", kCrt},        {"6kizami6ozaki1", kSplit},
    {"6kizami2ec", kSplit},          {"6kizami4fp64", kRepairs},
};

[[nodiscard]] Phase phase_of(const std::string& kernel) {
  for (const auto& [part, phase] : kPhaseOfKernels) {
    if (kernel.find(part) != std::string::npos) return phase;
  }
  return kProduct;
}

/// Products before the last kernel of the certificate are those of sampled digits.
[[nodiscard]] std::vector<int> phases_of(const std::vector<std::string>& kernels) {
  std::vector<int> phases;
  std::size_t certified = 0;
  for (const std::string& kernel : kernels) {
    const Phase phase = phase_of(kernel);
    phases.push_back(phase);
    if (phase == kSecondLook) certified = phases.size();
  }
  if (certified == 0) throw std::runtime_error("the call has no certificate");
  std::replace(phases.begin(), phases.begin() + static_cast<std::ptrdiff_t>(certified), int{kProduct}, int{kSample});
  return phases;
}

struct Options {
  std::vector<char> types = {'d', 'z', 's', 'c'};
  std::vector<bench::Shape> shapes = {{2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  std::vector<double> phis = {0.5, 1, 2, 4, 6};
  std::vector<std::string> accuracies;  ///< empty: native, and as many bits as the type has
  std::optional<Look> look;
  int repeats = 7;
  int warm_ups = 2;
  std::string commit = "unknown";
  std::string json;
};

/// @throws std::invalid_argument
[[nodiscard]] kizami::Accuracy accuracy_of(const std::string& text, int max_bits) {
  if (text == "native") return kizami::Accuracy::native();
  int bits = 0;
  char behind = 0;
  if (std::sscanf(text.c_str(), "bits=%d%c", &bits, &behind) != 1 || bits < 1 || bits > max_bits) {
    throw std::invalid_argument(text + ", must be native or bits=N with N of 1 to " + std::to_string(max_bits));
  }
  return kizami::Accuracy::at_bits(bits);
}

/// The products of one type, shape and accuracy, of growing phi.
template <class T>
class Series {
 public:
  using R = kizami::RealOf<T>;
  static constexpr int kTerms = kizami::kIsComplex<T> ? 2 : 1;
  static constexpr int kMaxBits = sizeof(R) == 4 ? 23 : 52;

  Series(const Options& options, char type, const bench::Shape& shape, const std::string& accuracy)
      : options_(options), type_(type), shape_(shape), accuracy_(accuracy), c_(shape.m * shape.n) {
    kizami::Policy policy;
    policy.scheme = kizami::Scheme::kOzaki2;
    policy.engine = kizami::EngineName::kHopper;
    policy.accuracy = accuracy_of(accuracy, kMaxBits);
    const auto environment = kizami::exec::device_environment();
    check(environment.status(), "the device");
    for (const double phi : options.phis) {  // a plan each: calls learn from those before them
      const auto plan =
          kizami::plan::make({kizami::kScalarOf<T>, shape.m, shape.n, shape.k}, policy, environment.value());
      check(plan.status(), "plan");
      Width& width = *widths_.emplace_back(std::make_unique<Width>(phi, shape, plan.value()));
      bench::fill<<<2048, 256>>>(reinterpret_cast<R*>(width.a.data), shape.m * shape.k * kTerms, phi, 1);
      bench::fill<<<2048, 256>>>(reinterpret_cast<R*>(width.b.data), shape.k * shape.n * kTerms, phi, 2);
    }
    check(cudaDeviceSynchronize(), "filling");
    const kizami::plan::Plan& any = widths_.front()->plan;  // but for what they learn all plans are equal
    workspace_ = std::make_unique<DeviceBuffer<std::byte>>(static_cast<std::int64_t>(any.schedule.workspace_bytes));
  }

  /// Outcomes, and what calls do that know of one before.
  void look() {
    for (const auto& width : widths_) {
      for (int call = 0; call < 2; ++call) {
        run(*width, nullptr);
        check(cudaMemcpy(&width->state, state_of_call(*width), sizeof width->state, cudaMemcpyDeviceToHost), "state");
      }
      check(kizami::exec::read_device_outcomes(width->plan, workspace(*width), nullptr, std::span(&width->outcome, 1)),
            "outcome");
      width->timer =
          std::make_unique<bench::PhaseTimer>([&](cudaStream_t stream) { run(*width, stream); }, kNumPhases, phases_of);
    }
  }

  void time(const bench::Gauges& gauges) {
    const bench::Timer timer;
    for (int repeat = 0; repeat < options_.repeats + options_.warm_ups; ++repeat) {
      for (const auto& width : widths_) {
        bench::wait_cycles<<<1, 1>>>(300000);  // the host enqueues the call meanwhile
        timer.start();
        run(*width, nullptr);
        timer.stop();
        width->mhz = gauges.sm_mhz();
        width->watts = gauges.watts();
        const double ms = timer.milliseconds();
        const std::vector<double> phases = width->timer->time();
        const Traffic bytes = traffic(*width);
        const Traffic copies{copy_us(bytes.split, timer), copy_us(bytes.crt, timer)};
        if (repeat < options_.warm_ups) continue;
        width->split_copy_us.push_back(copies.split);
        width->crt_copy_us.push_back(copies.crt);
        width->call_us.push_back(1e3 * ms);
        for (std::size_t p = 0; p < kNumPhases; ++p) width->phase_us[p].push_back(1e3 * phases[p]);
      }
    }
  }

  void print(const bench::Gauges& gauges, const std::string& device, const bench::Records& records) const {
    std::printf("%cgemm %s, %s%s, microseconds\n   phi     call ratio", type_, to_string(shape_).c_str(),
                accuracy_.c_str(), options_.look ? (", look " + name_of(*options_.look)).c_str() : "");
    for (const char* const name : kPhaseNames) std::printf(" %*s", width_of(name), name);
    std::printf("      sum at_copies moduli repaired  look\n");
    for (const auto& width : widths_) print(*width, gauges, device, records);
    std::fflush(stdout);
  }

 private:
  struct Width {
    Width(double phi_of_elements, const bench::Shape& shape, kizami::plan::Plan plan_of_calls)
        : phi(phi_of_elements), plan(std::move(plan_of_calls)), a(shape.m * shape.k), b(shape.k * shape.n) {}
    double phi;
    kizami::plan::Plan plan;
    DeviceBuffer<T> a, b;
    kizami::Outcome outcome;
    kizami::device::DeviceState state;
    std::unique_ptr<bench::PhaseTimer> timer;
    std::vector<double> call_us;
    std::array<std::vector<double>, kNumPhases> phase_us;
    std::vector<double> split_copy_us, crt_copy_us;
    unsigned mhz = 0, watts = 0;
  };

  /// Of each of the two, bytes or microseconds.
  struct Traffic {
    double split, crt;
  };

  /// Bytes that split and CRT read and write once: numbers, and planes of the call's rung, 7/4 as many by Strassen's
  /// products.
  [[nodiscard]] Traffic traffic(const Width& width) const {
    const int planes = kizami::num::num_planes(kizami::plan::ring_of(kizami::kScalarOf<T>), width.outcome.moduli);
    const double of_element = (width.state.num_strassen_products > 0 ? 7.0 / 4 : 1.0) * planes + double{sizeof(T)};
    const auto of = [&](std::int64_t elements) { return static_cast<double>(elements) * of_element; };
    return {of((shape_.m + shape_.n) * shape_.k), of(shape_.m * shape_.n)};
  }

  /// Microseconds of a copy within the device that reads half of so many bytes and writes the other half. Of more than
  /// the buffer has, at the rate of as many as it has.
  [[nodiscard]] double copy_us(double bytes, const bench::Timer& timer) const {
    const std::int64_t half = std::min(static_cast<std::int64_t>(bytes / 2), kCopiedBytes);
    bench::wait_cycles<<<1, 1>>>(30000);
    timer.start();
    check(cudaMemcpyAsync(copied_.data, copied_.data + kCopiedBytes, static_cast<std::size_t>(half),
                          cudaMemcpyDeviceToDevice, nullptr),
          "copying");
    timer.stop();
    return 1e3 * timer.milliseconds() * bytes / (2 * static_cast<double>(half));
  }

  [[nodiscard]] static std::string name_of(Look look) { return kLookNames[static_cast<std::size_t>(look)]; }
  [[nodiscard]] static int width_of(const std::string& name) { return std::max(8, static_cast<int>(name.size())); }
  [[nodiscard]] std::span<std::byte> workspace(const Width& width) const {
    return {workspace_->data, width.plan.schedule.workspace_bytes};
  }
  [[nodiscard]] const kizami::device::DeviceState* state_of_call(const Width& width) const {
    kizami::base::Carver carver(workspace_->data);
    return kizami::ozaki2::carve_device(carver, width.plan).state;
  }

  void run(const Width& width, cudaStream_t stream) const {
    const auto view = [](auto* x, std::int64_t rows, std::int64_t cols) {
      return kizami::blas_view(x, rows, cols, rows);
    };
    const T* const a = width.a.data;
    const T* const b = width.b.data;
    const kizami::device::DeviceProblem<T> problem{T{1}, view(a, shape_.m, shape_.k),       view(b, shape_.k, shape_.n),
                                                   T{0}, view(c_.data, shape_.m, shape_.n), options_.look};
    check(kizami::exec::run_device<T>(width.plan, std::span(&problem, 1), workspace(width), stream), "run");
  }

  void print(const Width& width, const bench::Gauges& gauges, const std::string& device,
             const bench::Records& records) const {
    const bench::Spread calls = bench::spread(width.call_us);
    const double call = calls.median;
    const double ratio = call / bench::median(widths_[0]->call_us);
    std::array<double, kNumPhases> phases{};
    for (std::size_t p = 0; p < kNumPhases; ++p) phases[p] = bench::median(width.phase_us[p]);
    const double sum = std::accumulate(phases.begin(), phases.end(), 0.0);
    const Traffic copies{bench::median(width.split_copy_us), bench::median(width.crt_copy_us)};
    const double at_copies = call - phases[kSplit] - phases[kCrt] + copies.split + copies.crt;
    const std::string look = name_of(width.state.look);
    std::printf("%6g %8.1f %5.2f", width.phi, call, ratio);
    for (std::size_t p = 0; p < kNumPhases; ++p) std::printf(" %*.1f", width_of(kPhaseNames[p]), phases[p]);
    std::printf(" %8.1f %9.1f %6d %8ld  %s%s\n", sum, at_copies, width.outcome.moduli,
                static_cast<long>(width.outcome.repaired), look.c_str(),
                width.outcome.equilibrated ? ", equilibrated" : "");
    const double operations = (kTerms == 2 ? 8.0 : 2.0) * static_cast<double>(shape_.m) *
                              static_cast<double>(shape_.n) * static_cast<double>(shape_.k);
    bench::Json phases_us;
    for (std::size_t p = 0; p < kNumPhases; ++p) phases_us[kPhaseNames[p]] = rounded(phases[p]);
    records.append(
        bench::Json{{"date", bench::today()},
                    {"commit", options_.commit},
                    {"device", device},
                    {"driver", gauges.driver},
                    {"case", std::string(1, type_) + " nn " + to_string(shape_) + " phi=" + bench::to_text(width.phi)},
                    {"accuracy", accuracy_},
                    {"look", look},
                    {"first_rung", width.state.first_rung},
                    {"look_by", options_.look                             ? "option"
                                : kizami::ozaki2::has_scout(width.plan)   ? "scout or call before"
                                : kizami::ozaki2::learns_look(width.plan) ? "call before"
                                                                          : "size"},
                    {"sampled_failures", width.state.sampled_failures},
                    {"unread_steps", width.state.num_unread_steps},
                    {"moduli", width.outcome.moduli},
                    {"rung", width.outcome.rung},
                    {"repaired", width.outcome.repaired},
                    {"equilibrated", width.outcome.equilibrated},
                    {"phases_us", phases_us},
                    {"phases_sum_us", rounded(sum)},
                    {"strassen_products", width.state.num_strassen_products},
                    {"split_copy_us", rounded(copies.split)},
                    {"crt_copy_us", rounded(copies.crt)},
                    {"call_us_at_copies", rounded(at_copies)},
                    {"call_us_median", rounded(call)},
                    {"call_us_min", rounded(calls.min)},
                    {"call_us_max", rounded(calls.max)},
                    {"ratio_to_first_phi", std::round(1e4 * ratio) / 1e4},
                    {"tflops", rounded(1e-6 * operations / call)},
                    {"tflops_at_copies", rounded(1e-6 * operations / at_copies)},
                    {"sm_mhz", width.mhz},
                    {"watts", width.watts}});
  }
  [[nodiscard]] static double rounded(double x) { return std::round(100 * x) / 100; }

  const Options& options_;
  char type_;
  bench::Shape shape_;
  std::string accuracy_;
  static constexpr std::int64_t kCopiedBytes = std::int64_t{1} << 31;
  DeviceBuffer<T> c_;
  DeviceBuffer<std::byte> copied_{2 * kCopiedBytes};
  std::unique_ptr<DeviceBuffer<std::byte>> workspace_;
  std::vector<std::unique_ptr<Width>> widths_;
};

template <class T>
void run_type(const Options& options, char type, const bench::Gauges& gauges, const std::string& device,
              const bench::Records& records) {
  std::vector<std::string> accuracies = options.accuracies;
  if (accuracies.empty()) accuracies = {"native", "bits=" + std::to_string(Series<T>::kMaxBits)};
  for (const bench::Shape& shape : options.shapes) {
    for (const std::string& accuracy : accuracies) {
      Series<T> series(options, type, shape, accuracy);
      series.look();
      series.time(gauges);
      series.print(gauges, device, records);
    }
  }
}

int run(const Options& options) {
  const bench::Records records(options.json, nullptr);
  const bench::Gauges gauges;
  const std::string device = bench::device_name();
  for (const char type : options.types) {
    switch (type) {
      case 's':
        run_type<float>(options, type, gauges, device, records);
        break;
      case 'd':
        run_type<double>(options, type, gauges, device, records);
        break;
      case 'c':
        run_type<std::complex<float>>(options, type, gauges, device, records);
        break;
      default:
        run_type<std::complex<double>>(options, type, gauges, device, records);
    }
  }
  return 0;
}

void add_options(bench::Program& program, Options& options) {
  bench::add_types(program, options.types);
  bench::add_shapes(program, options.shapes);
  program.add_option("--phi", options.phis, "widths of exponents; ratios are to the first")
      ->check(bench::between(0, 32));
  program
      .add_option("--accuracy", options.accuracies, "native or bits=N; both without it, N the most that the type has")
      ->check(bench::parses_as([](const std::string& text) { return accuracy_of(text, Series<double>::kMaxBits); }));
  program
      .add_option_function<std::string>(
          "--look",
          [&options](const std::string& name) {
            const auto at = std::find(kLookNames.begin(), kLookNames.end(), name);
            options.look = static_cast<Look>(at - kLookNames.begin());
          },
          "what the split makes first; without it what a scout or the call before says")
      ->check(CLI::IsMember(kLookNames));
  program.add_option("--repeats", options.repeats, "timed calls of each")->check(CLI::Range(1, 1000));
  program.add_option("--warm-ups", options.warm_ups, "calls before them, beside the first")->check(CLI::Range(0, 1000));
  bench::add_json(program, options.json)->description("appends one line for each case");
  bench::add_commit(program, options.commit);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Program program(
      "bench_gpu_certificate",
      "What the certificate of scheme ozaki2 costs on the device: phases of whole calls on elements of growing width");
  add_options(program, options);
  return program.run(argc, argv, [&] { return run(options); });
}
