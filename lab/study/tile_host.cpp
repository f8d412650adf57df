// SPDX-License-Identifier: MIT
#include "tile_host.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>

#include "bench_table.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "kizami/measure.hpp"
#include "kizami/tile.hpp"
#include "machine.hpp"

namespace kizami::study {
namespace {
namespace ct = cuda::tiles;

constexpr std::int64_t kLeastN = 64;
constexpr int kRounds = 7;
/// Calls of a timing: as many as the first one says take so long.
constexpr double kTimingSeconds = 3e-3;

inline namespace KIZAMI_TILE_BACKEND {

/// C = A B, row-major, n x n; grid: ceil(n / kTileN) x ceil(n / kTileM)
template <class Factor, int kTileM, int kTileN, int kTileK, class In, class Acc>
__tile_global__ void gemm_kernel(const In* a, const In* b, Acc* c, int n) {
  const auto [row, col, unused] = ct::bid();
  static_cast<void>(unused);
  const ct::partition_view view_a{ct::tensor_span{a, ct::extents{n, n}}, ct::shape<kTileM, kTileK>{}};
  const ct::partition_view view_b{ct::tensor_span{b, ct::extents{n, n}}, ct::shape<kTileK, kTileN>{}};
  const ct::partition_view view_c{ct::tensor_span{c, ct::extents{n, n}}, ct::shape<kTileM, kTileN>{}};
  auto acc = ct::zeros<ct::tile<Acc, ct::shape<kTileM, kTileN>>>();
  for (const int step : ct::irange(0, ct::ceildiv(n, kTileK))) {
    acc = ct::mma(ct::element_cast<Factor>(view_a.load_masked(row, step)),
                  ct::element_cast<Factor>(view_b.load_masked(step, col)), acc);
  }
  view_c.store_masked(acc, row, col);
}

}  // namespace KIZAMI_TILE_BACKEND

[[noreturn]] void fail(const std::string& what, const std::string& why) {
  throw cli::Failure(cli::ExitCode::kInternal, fmt::format("{}: {}", what, why));
}
void require(const Status& status, const std::string& what) {
  if (!status.ok()) fail(what, status.reason());
}

double seconds_of(const std::function<void()>& call, std::int64_t calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < calls; ++i) call();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count() / static_cast<double>(calls);
}

/// Row-major n x n operands of -1, 0 and 1: every sum is exact in every accumulator, and in FP16 up to n = 2048.
struct Values {
  explicit Values(std::int64_t size) : n(size), a(at(n * n)), b(at(n * n)), exact(at(n * n)) {
    std::mt19937 random(static_cast<unsigned>(n));
    for (double& x : a) x = static_cast<double>(random() % 3) - 1;
    for (double& x : b) x = static_cast<double>(random() % 3) - 1;
    Policy policy;
    policy.engine = EngineName::kCpuSimd;
    require(gemm<double>(Layout::kRowMajor, Op::kNone, Op::kNone, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0,
                         exact.data(), n, policy),
            "exact product");
  }
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::int64_t n;
  std::vector<double> a, b, exact;
};

template <class T>
std::vector<T> converted(const std::vector<double>& values) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const double x : values) out.push_back(static_cast<T>(static_cast<float>(x)));
  return out;
}

/// GFLOPS as text, three digits at least: a large tile around a small product may be a thousandth of the rate of another.
std::string rate(double gflops) { return gflops < 10 ? fmt::format("{:#.3g}", gflops) : fmt::format("{:.1f}", gflops); }

struct Measurement {
  std::string type;
  std::int64_t n;
  std::string tiles;
  double gflops;
  std::string beside;  ///< empty: nothing
  double beside_gflops;
  double ratio;  ///< median over the rounds
};

/// Operands of one type and size, and the candidates: the platform's BLAS first, where there is one.
template <class In, class Factor, class Acc>
class TypeBench {
 public:
  TypeBench(std::string type, const Values& values, int threads)
      : type_(std::move(type)),
        values_(values),
        a_(converted<In>(values.a)),
        b_(converted<In>(values.b)),
        c_(values.exact.size()) {
    options_.max_threads = threads;
    if constexpr (kHasBlas) {
      add("", [this, threads] {
        Policy policy;
        policy.scheme = Scheme::kNative;
        policy.reproducibility = Reproducibility::kNotGuaranteed;
        policy.threads = threads;
        const std::int64_t n = values_.n;
        require(gemm<In>(Layout::kRowMajor, Op::kNone, Op::kNone, n, n, n, In{1}, a_.data(), n, b_.data(), n, In{0},
                         c_.data(), n, policy),
                "native product");
      });
    }
  }

  template <int kTileM, int kTileN, int kTileK>
  void add_tiles() {
    add(fmt::format("{}x{}x{}", kTileM, kTileN, kTileK), [this] {
      const auto n = static_cast<int>(values_.n);
      const dim3 grid(static_cast<unsigned>((n + kTileM - 1) / kTileM),
                      static_cast<unsigned>((n + kTileN - 1) / kTileN));
      require(KIZAMI_TILE_LAUNCH((gemm_kernel<Factor, kTileM, kTileN, kTileK, In, Acc>), grid, &options_, a_.data(),
                                 b_.data(), c_.data(), n),
              type_);
    });
  }

  [[nodiscard]] std::vector<Measurement> measure() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      std::fill(c_.begin(), c_.end(), Acc{-7});
      calls_[i]();
      for (std::size_t e = 0; e < c_.size(); ++e) {
        if (static_cast<double>(c_[e]) != values_.exact[e])
          fail(fmt::format("{}, n = {}, tiles {}", type_, values_.n, tiles_[i]), "C is not the exact product");
      }
    }
    const std::int64_t multiply_adds = values_.n * values_.n * values_.n;
    std::vector<cli::Candidate> candidates;
    for (const std::function<void()>& call : calls_) {
      const auto count = std::max<std::int64_t>(1, std::llround(kTimingSeconds / seconds_of(call, 1)));
      cli::Candidate candidate;
      candidate.time_once = [&call, count] { return seconds_of(call, count); };
      candidates.push_back(std::move(candidate));
    }
    const std::vector<cli::Timing> timings = cli::time_interleaved(candidates, kRounds);
    std::vector<Measurement> out;
    for (std::size_t i = kHasBlas ? 1 : 0; i < timings.size(); ++i) {
      const auto gflops = [&](std::size_t j) { return 2e-9 * static_cast<double>(multiply_adds) / timings[j].median; };
      out.push_back({type_, values_.n, tiles_[i], gflops(i), kHasBlas ? "BLAS" : "", kHasBlas ? gflops(0) : 0,
                     kHasBlas ? 1 / timings[i].ratio_to_first : 0});
    }
    return out;
  }

 private:
  static constexpr bool kHasBlas =
      std::is_same_v<In, Factor> && (std::is_same_v<In, float> || std::is_same_v<In, double>);

  void add(std::string tiles, std::function<void()> call) {
    tiles_.push_back(std::move(tiles));
    calls_.push_back(std::move(call));
  }

  std::string type_;
  const Values& values_;
  std::vector<In> a_, b_;
  std::vector<Acc> c_;
  tile::LaunchOptions options_;
  std::vector<std::string> tiles_;
  std::vector<std::function<void()>> calls_;
};

template <class In, class Factor, class Acc>
void measure_type(const std::string& type, const Values& values, int threads, std::vector<Measurement>& out) {
  TypeBench<In, Factor, Acc> bench(type, values, threads);
  bench.template add_tiles<64, 64, 64>();
  bench.template add_tiles<128, 128, 64>();
  if constexpr (std::is_same_v<In, Factor> && std::is_same_v<In, float>) {
    bench.template add_tiles<128, 64, 64>();
    bench.template add_tiles<256, 128, 64>();
    bench.template add_tiles<256, 256, 64>();
  }
  for (Measurement& m : bench.measure()) out.push_back(std::move(m));
}

/// Four planes of n x n x n, reduced to residues.
void measure_residues(std::int64_t n, int threads, std::vector<Measurement>& out) {
  constexpr int kPlanes = 4;
  std::vector<cli::Candidate> candidates;
  std::vector<std::shared_ptr<ProductBenchmark>> benchmarks;
  for (const EngineName engine : {EngineName::kCpuSimd, EngineName::kTile}) {
    Result<ProductBenchmark> made = ProductBenchmark::make(engine, n, n, n, kPlanes, threads);
    require(made.status(), "INT8 products");
    benchmarks.push_back(std::make_shared<ProductBenchmark>(std::move(made).value()));
    cli::Candidate candidate;
    candidate.time_once = [benchmark = benchmarks.back().get()] {
      const Result<ProductTiming> timing = benchmark->run();
      require(timing.status(), "INT8 products");
      return timing.value().seconds;
    };
    candidates.push_back(std::move(candidate));
  }
  const std::vector<cli::Timing> timings = cli::time_interleaved(candidates, kRounds);
  const double giga = 2e-9 * kPlanes * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  out.push_back({"INT8 to residues (engine tile)", n, "64x64x64", giga / timings[1].median, "engine cpu_simd",
                 giga / timings[0].median, 1 / timings[1].ratio_to_first});
}

/// The fastest tiling of a type at an n.
const Measurement& fastest(const std::vector<Measurement>& all, const std::string& type, std::int64_t n) {
  const Measurement* best = nullptr;
  for (const Measurement& m : all) {
    if (m.type == type && m.n == n && (best == nullptr || m.gflops > best->gflops)) best = &m;
  }
  return *best;
}

}  // namespace

TileHostStudy study_tile_host(std::int64_t max_n, int threads) {
  std::vector<Measurement> all;
  for (std::int64_t n = kLeastN; n <= max_n; n *= 2) {
    if (isatty(STDERR_FILENO) != 0)
      fmt::print(stderr, "kizami: tile kernels on the processor, n = {} of {}\n", n, max_n);
    const Values values(n);
    measure_type<float, float, float>("FP32", values, threads, all);
    measure_type<double, double, double>("FP64", values, threads, all);
    measure_type<float, __nv_tf32, float>("FP32 cast to TF32", values, threads, all);
    measure_type<__half, __half, float>("FP16", values, threads, all);
    measure_type<__nv_bfloat16, __nv_bfloat16, float>("BF16", values, threads, all);
    measure_type<__nv_fp8_e4m3, __nv_fp8_e4m3, float>("FP8 E4M3", values, threads, all);
    measure_type<__nv_fp8_e5m2, __nv_fp8_e5m2, float>("FP8 E5M2", values, threads, all);
    measure_type<std::int8_t, std::int8_t, std::int32_t>("INT8", values, threads, all);
    measure_residues(n, threads, all);
  }
  TileHostStudy study;
  study.machine = fmt::format("{}, {} thread{}", cli::processor_name(), threads, threads == 1 ? "" : "s");
  study.host = {
      "host",
      fmt::format(
          "Square products on {}: GFLOP/s (INT8: 10^9 operations a second), medians of {} rounds, and the median of "
          "the ratios within a round. Every C is the exact one",
          study.machine, kRounds),
      {"type", "n", "tiles", "gflops", "beside", "beside_gflops", "ratio"},
      {}};
  study.speed = {"host_speed", "Square products on a processor, the fastest tiles", "n", "gflops", false, {}};
  for (const Measurement& m : all) {
    const bool is_alone = m.beside.empty();
    study.host.rows.push_back({m.type, std::to_string(m.n), m.tiles, rate(m.gflops), m.beside,
                               is_alone ? "" : rate(m.beside_gflops), is_alone ? "" : fmt::format("{:.2f}", m.ratio)});
    if (&fastest(all, m.type, m.n) != &m) continue;
    study.speed.points.push_back({m.type, "tile kernel", static_cast<double>(m.n), m.gflops, 0});
    if (!is_alone) study.speed.points.push_back({m.type, m.beside, static_cast<double>(m.n), m.beside_gflops, 0});
  }
  constexpr double kAim = 0.5;
  const Measurement& f32 = fastest(all, "FP32", all.back().n);
  study.claims.push_back({"aim", "on a processor, FP32: at least half of the platform's sgemm with the same threads",
                          f32.ratio > 1.05 * kAim ? ClaimVerdict::kSurpassed : reproduced_if(f32.ratio >= kAim),
                          fmt::format("{:.0f} % at n = {}, tiles of {}", 100 * f32.ratio, f32.n, f32.tiles)});
  return study;
}

}  // namespace kizami::study
