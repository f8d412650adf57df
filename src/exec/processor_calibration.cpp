// SPDX-License-Identifier: MIT
// Every probe runs nine rounds and a twentieth of a second, or a third of a second, and the shortest round counts: what
// other programs take only lengthens them. Rates are those of one of the threads that work together, for that is what
// they are divided by in predictions.
#include "exec/processor_calibration.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "certify/statistics.hpp"
#include "exec/product_benchmark.hpp"
#include "num/float_split.hpp"
#include "num/moduli.hpp"
#include "num/tensor_core.hpp"
#include "product/float_product.hpp"
#include "schemes/native/exponent_range.hpp"
#include "schemes/ozaki2/crt.hpp"
#include "schemes/ozaki2/residues.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::exec {
namespace {

using product::NativeRates;
using product::ProcessorRates;
using Clock = std::chrono::steady_clock;

constexpr double kProbeSeconds = 0.3;    ///< after which a probe stops, or
constexpr double kEnoughSeconds = 0.05;  ///< if it has had kRounds
constexpr double kLongestRound = 0.8;    ///< of a product by the BLAS; beyond, no larger one is begun
constexpr double kAllSeconds = 15;       ///< after which no further probe is begun
constexpr std::size_t kRounds = 9;

[[nodiscard]] double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[nodiscard]] double middle(std::vector<double>& rounds) {
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

/// Numbers in (-1, 1), with full mantissas.
template <class T>
[[nodiscard]] std::vector<T> numbers(std::size_t count) {
  std::vector<T> out(count);
  std::uint64_t state = 1;
  for (T& x : out) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    x = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-63);
  }
  return out;
}

class Calibration {
 public:
  Calibration(const plan::Environment& environment, const std::function<void(std::string_view)>& progress)
      : environment_(environment), threads_(environment.facts.num_threads), progress_(progress) {
    environment_.facts.processor = {};  // shares are of what these say
  }

  Result<ProcessorRates> run() {
    using Probe = Status (Calibration::*)();
    constexpr Probe kProbes[] = {&Calibration::measure_copy,         &Calibration::measure_start,
                                 &Calibration::measure_look,         &Calibration::measure_split,
                                 &Calibration::measure_crt,          &Calibration::measure_engines,
                                 &Calibration::measure_float_engine, &Calibration::measure_native<double>,
                                 &Calibration::measure_native<float>};
    for (const Probe probe : kProbes) {
      if (since(start_) >= kAllSeconds) {
        tell("the rest is left out: %.0f s are over, other programs have the processors", kAllSeconds);
        break;
      }
      KIZAMI_RETURN_IF_ERROR((this->*probe)());
    }
    return rates_;
  }

 private:
  void tell(const char* format, double value) const {
    char text[96];
    std::snprintf(text, sizeof text, format, value);
    if (progress_) progress_(text);
  }
  void tell_share(std::string_view engine, double seconds, double share) const {
    const std::string name(engine);
    char text[96];
    std::snprintf(text, sizeof text, "%s %.3g ms, %.3g of its model", name.c_str(), 1e3 * seconds, share);
    if (progress_) progress_(text);
  }

  /// Of the shortest of some rounds after one that warms up. @param once returns a Status
  template <class Once>
  Result<double> shortest(const Once& once) const {
    KIZAMI_RETURN_IF_ERROR(once());
    std::vector<double> rounds;
    for (double all = 0; all < (rounds.size() < kRounds ? kProbeSeconds : kEnoughSeconds); all += rounds.back()) {
      const Clock::time_point start = Clock::now();
      KIZAMI_RETURN_IF_ERROR(once());
      rounds.push_back(since(start));
    }
    return *std::min_element(rounds.begin(), rounds.end());
  }

  Status measure_copy() {
    constexpr std::int64_t kChunk = std::int64_t{1} << 20;
    constexpr std::int64_t kChunks = 64;
    const base::AlignedBuffer from(kChunk * kChunks);
    const base::AlignedBuffer to(kChunk * kChunks);
    if (!from.ok() || !to.ok()) return {StatusCode::kOutOfMemory, "128 MiB for copies refused by the system"};
    std::memset(from.data(), 1, from.size());
    const Result<double> seconds = shortest([&] {
      base::parallel_for(kChunks, threads_, [&](std::int64_t i, int) {
        std::memcpy(to.data() + i * kChunk, from.data() + i * kChunk, kChunk);
      });
      return Status();
    });
    if (!seconds.ok()) return seconds.status();
    rates_.copy_bytes_per_second = 2.0 * kChunk * kChunks / seconds.value();
    tell("copy %.3g GB/s", 1e-9 * rates_.copy_bytes_per_second);
    return {};
  }

  /// From a call until all threads are there. Each waits for the others, for else the first one would take all the work.
  Status measure_start() {
    if (threads_ == 1) return {};
    constexpr int kStarts = 101;
    constexpr double kMostSeconds = 2e-3;
    std::vector<double> rounds;
    for (int round = 0; round < kStarts; ++round) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));  // until they sleep
      std::atomic<int> present{0};
      std::atomic<double> seconds{kMostSeconds};
      const Clock::time_point start = Clock::now();
      base::parallel_for(threads_, threads_, [&](std::int64_t, int) {
        if (present.fetch_add(1) + 1 == threads_) seconds = since(start);
        while (present.load() < threads_ && since(start) < kMostSeconds) {
        }
      });
      rounds.push_back(seconds);
    }
    if (middle(rounds) >= kMostSeconds) return {};  // processors are taken by others
    rates_.thread_start_seconds = middle(rounds);
    tell("start of the threads %.3g us", 1e6 * rates_.thread_start_seconds);
    return {};
  }

  Status measure_look() {
    constexpr std::int64_t kSize = 2048;
    const std::vector<double> x = numbers<double>(kSize * kSize);
    const MatrixView<const double> view{x.data(), kSize, kSize, 1, kSize};
    const Result<double> seconds = shortest([&] {
      const num::ExponentRange range = native::exponent_range(view, threads_);
      static_cast<void>(range);
      return Status();
    });
    if (!seconds.ok()) return seconds.status();
    rates_.look_bytes_per_second = static_cast<double>(x.size() * sizeof(double)) / (seconds.value() * threads_);
    tell("look at exponents %.3g GB/s a thread", 1e-9 * rates_.look_bytes_per_second);
    return {};
  }

  Status measure_split() {
    constexpr std::int64_t kLines = 1024;
    constexpr std::int64_t kLength = 1024;
    Policy policy;
    policy.scheme = Scheme::kOzaki2;
    const Result<plan::Plan> plan = plan::make({Scalar::kF64, kLines, kLines, kLength}, policy, environment_);
    if (!plan.ok()) return plan.status();
    const num::Rung& rung = ozaki2::ozaki2_of(plan.value()).ladder.rungs[0];
    const int planes = rung.num_moduli;
    const std::vector<double> x = numbers<double>(kLines * kLength);
    const base::AlignedBuffer out(static_cast<std::size_t>(kLines * kLength * planes));
    if (!out.ok()) return {StatusCode::kOutOfMemory, "memory for planes refused by the system"};
    const problem::Lines<double> lines{x.data(), kLines, kLength, kLength, 1, false};
    std::vector<num::LineStats> stats(kLines);
    const Result<double> seconds = shortest([&] {
      certify::gather_statistics(lines, nullptr, threads_, stats.data());
      ozaki2::make_residue_planes(lines, stats.data(), nullptr, 0, kLength, rung, threads_,
                                  reinterpret_cast<std::int8_t*>(out.data()), kLength, kLines * kLength);
      return Status();
    });
    if (!seconds.ok()) return seconds.status();
    rates_.split_seconds = seconds.value() * threads_ / static_cast<double>(kLines * kLength * planes);
    tell("split %.3g ns an element and plane", 1e9 * rates_.split_seconds);
    return {};
  }

  /// Up to 16 moduli, and beyond.
  Status measure_crt() {
    KIZAMI_RETURN_IF_ERROR(measure_crt(14, rates_.narrow_crt_seconds));
    KIZAMI_RETURN_IF_ERROR(measure_crt(18, rates_.wide_crt_seconds));
    tell("CRT %.3g ns an element", 1e9 * rates_.narrow_crt_seconds);
    tell("CRT beyond 16 moduli %.3g ns an element", 1e9 * rates_.wide_crt_seconds);
    return {};
  }
  Status measure_crt(int moduli, double& element_seconds) const {
    constexpr std::int64_t kSize = 512;
    constexpr int kMostResidue = 90;  // of the least modulus and all others
    static_assert(num::kRealModuli[17] > 2 * kMostResidue);
    const base::AlignedBuffer planes(static_cast<std::size_t>(kSize * kSize * moduli));
    if (!planes.ok()) return {StatusCode::kOutOfMemory, "memory for planes refused by the system"};
    auto* const bytes = reinterpret_cast<std::int8_t*>(planes.data());
    for (std::size_t i = 0; i < planes.size(); ++i)
      bytes[i] =
          static_cast<std::int8_t>(static_cast<int>((i * 2654435761U >> 7) % (2 * kMostResidue + 1)) - kMostResidue);
    const std::vector<std::int32_t> scales(kSize, 30);
    std::vector<double> c(kSize * kSize);
    const Result<double> seconds = shortest([&] {
      ozaki2::reconstruct_crt<double>({bytes, moduli, kSize, kSize * kSize}, scales.data(), scales.data(), 1.0, 0.0,
                                      threads_, {c.data(), kSize, kSize, 1, kSize});
      return Status();
    });
    if (!seconds.ok()) return seconds.status();
    element_seconds = seconds.value() * threads_ / static_cast<double>(kSize * kSize);
    return {};
  }

  Status measure_engines() {
    KIZAMI_RETURN_IF_ERROR(measure_engine(EngineName::kCpuSimd, 1024, rates_.cpu_simd));
    KIZAMI_RETURN_IF_ERROR(measure_engine(EngineName::kTile, 512, rates_.tile));
    return measure_engine(EngineName::kCpuRef, 128, rates_.cpu_ref);
  }
  Status measure_engine(EngineName name, std::int64_t n, double& share) const {
    constexpr int kPlanes = 4;
    ProductBench bench;
    const Status made = make_product_bench(name, n, n, n, kPlanes, threads_, bench);
    if (made.code() == StatusCode::kUnsupported) return {};
    KIZAMI_RETURN_IF_ERROR(made);
    const auto answer = bench.engine->query(bench.desc, environment_.facts);
    if (std::holds_alternative<product::Refusal>(answer)) return {};
    bench.offer = std::get<product::Offer>(answer);
    const Result<double> seconds = shortest([&] {
      double unused = 0;
      return run_product_bench(bench, unused);
    });
    if (!seconds.ok()) return seconds.status();
    share = bench.offer.seconds / seconds.value();
    tell_share(bench.engine->name(), seconds.value(), share);
    return {};
  }

  /// The software tensor core of scheme ec.
  Status measure_float_engine() {
    if (environment_.float_engines.empty()) return {};
    const product::FloatEngine& engine = *environment_.float_engines.front();
    constexpr std::int64_t kSize = 64;
    product::FloatProductDesc desc;
    desc.m = desc.n = desc.k = kSize;
    desc.core = num::hopper_tensor_core(desc.type);
    desc.sums[0].num_pairs = 1;
    desc.a_row_stride = desc.b_row_stride = kSize;
    desc.a_plane_stride = desc.b_plane_stride = kSize * kSize;
    desc.c_col_stride = kSize;
    const auto answer = engine.query(desc, environment_.facts);
    if (std::holds_alternative<product::Refusal>(answer)) return {};
    const product::Offer& offer = std::get<product::Offer>(answer);
    const base::AlignedBuffer halves(sizeof(std::uint16_t) * kSize * kSize);
    const base::AlignedBuffer c(sizeof(float) * kSize * kSize);
    const base::AlignedBuffer workspace(offer.workspace_bytes);
    if (!halves.ok() || !c.ok() || !workspace.ok()) return {StatusCode::kOutOfMemory, "memory refused by the system"};
    for (std::size_t i = 0; i < kSize * kSize; ++i) {
      const auto half = static_cast<std::uint16_t>(0x3800U | (i * 2654435761U >> 5 & 0x3ffU));  // FP16 in [0.5, 1)
      std::memcpy(halves.data() + i * sizeof half, &half, sizeof half);
    }
    const product::FloatPointers pointers{halves.data(), halves.data(), reinterpret_cast<float*>(c.data())};
    const Result<double> seconds = shortest([&] { return engine.run(desc, offer, pointers, workspace.data()); });
    if (!seconds.ok()) return seconds.status();
    rates_.tc_model = offer.seconds / seconds.value();
    tell_share(engine.name(), seconds.value(), rates_.tc_model);
    return {};
  }

  template <class T>
  Status measure_native() {
    if (environment_.native_engine == nullptr) return {};
    constexpr std::int64_t kSizes[] = {64, 128, 256, 512, 1024, 2048};
    static_assert(std::size(kSizes) <= NativeRates::kMostPoints);
    NativeRates rates;
    for (const std::int64_t n : kSizes) {
      const auto elements = static_cast<std::size_t>(n * n);
      const std::vector<T> operands = numbers<T>(2 * elements);
      std::vector<T> c(elements);
      const Result<double> seconds = shortest([&] {
        return environment_.native_engine->run(MatrixView<const T>{operands.data(), n, n, 1, n},
                                               MatrixView<const T>{operands.data() + elements, n, n, 1, n}, T{1}, T{0},
                                               MatrixView<T>{c.data(), n, n, 1, n}, threads_);
      });
      if (!seconds.ok()) return seconds.status();
      const auto size = static_cast<double>(n);
      rates.points[static_cast<std::size_t>(rates.num_points++)] = {size,
                                                                    size * size * size / (seconds.value() * threads_)};
      if (8 * seconds.value() > kLongestRound) break;
    }
    const double last = rates.points[static_cast<std::size_t>(rates.num_points - 1)].rate;
    constexpr bool kIsF64 = sizeof(T) == sizeof(double);
    (kIsF64 ? rates_.native_f64 : rates_.native_f32) = rates;
    tell(kIsF64 ? "BLAS, FP64 %.3g GFLOPS a thread" : "BLAS, FP32 %.3g GFLOPS a thread", 2e-9 * last);
    return {};
  }

  plan::Environment environment_;
  int threads_;
  const std::function<void(std::string_view)>& progress_;
  ProcessorRates rates_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Result<ProcessorRates> calibrate_processor(const plan::Environment& environment,
                                           const std::function<void(std::string_view)>& progress) {
  return Calibration(environment, progress).run();
}

}  // namespace kizami::exec
