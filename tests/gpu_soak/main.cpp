// SPDX-License-Identifier: MIT
// gpu_soak: an ordinary program of many threads and streams that calls cuBLAS with random cases for a time, and judges
// every element of every result on the device. It knows nothing of what may be preloaded before cuBLAS.
//   LD_PRELOAD=libkizami_cublas.so gpu_soak --seconds 300 --calls 100000 --threads 8 --mode defaults --json soak.jsonl
//   gpu_soak --case SEED                                   # one case again, as a failure says it
// Exit code 0: no failure; 1: results that are wrong, or memory that grows; 2: arguments; 3: CUDA failed; 77: no
// device.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "gpu_soak/record.hpp"
#include "lab/bench/harness/facts.hpp"

namespace gpu_soak {
namespace {

/// @returns what is wrong, or nothing
std::string print(const Options& options, const Report& report) {
  std::printf("%s (%s): %lld calls in %.1f s, %lld failures, %lld refused for lack of memory, %lld not supported\n",
              options.mode.c_str(), bench::answering_library().c_str(), static_cast<long long>(report.num_calls()),
              report.seconds, static_cast<long long>(report.failures), static_cast<long long>(report.refused),
              static_cast<long long>(report.unsupported));
  if (options.wishes.limits.large_every > 0)
    std::printf("  %lld calls of large products\n", static_cast<long long>(report.large_calls));
  std::printf("  worst error / allowed: s %.3g, d %.3g, c %.3g, z %.3g; calls:", report.worst[0], report.worst[1],
              report.worst[2], report.worst[3]);
  for (int i = 0; i < kNumRoutines; ++i) {
    std::printf(" %s %lld", name_of(static_cast<Routine>(i)),
                static_cast<long long>(report.calls[static_cast<std::size_t>(i)]));
  }
  constexpr double kMega = 1024.0 * 1024.0;
  std::printf(
      "\n  %lld replays, %lld new handles, memory taken %lld times; bits compared of %lld products and %lld repeated "
      "calls\n",
      static_cast<long long>(report.replays), static_cast<long long>(report.handles),
      static_cast<long long>(report.times_of_pressure), static_cast<long long>(report.asked_again),
      static_cast<long long>(report.compared_results));
  const double settled = settled_after(options, report);
  if (report.crowds.crowds > 0) {
    std::printf("  %d crowds, the first of %d rounds in %.1f s, the others of %d; %d rounds not at once\n",
                report.crowds.crowds, report.crowds.rounds, report.first_crowd, report.crowds.later_rounds,
                report.crowds.not_at_once);
  }
  std::printf("  memory in MiB (peak, growth of peak and of median after %.0f s); device: %s\n ", settled,
              report.device_measure.c_str());
  bool has_grown = false;
  const auto show = [&](const char* name, const Level& level) {
    const Growth growth = level.after(settled);
    std::printf(" %s %.1f, %.2f %%, %.2f %%;", name, static_cast<double>(growth.peak) / kMega, growth.peak_percent,
                growth.median_percent);
    has_grown = has_grown || !(growth.peak_percent <= options.max_growth_percent);
  };
  for (std::size_t i = 0; i < kNumParts; ++i) {
    const auto part = static_cast<Part>(i);
    show(name_of(part), report.device.of(part));
  }
  show("resident", report.resident);
  show("anonymous", report.anonymous);
  show("heap", report.heap);
  std::printf("\n  of the device grew: %s", report.device.grown_after(settled).c_str());
  std::printf("\n");
  if (report.workspaces_left.used != 0) {
    std::printf("  %lld bytes of workspaces are still in use\n", static_cast<long long>(report.workspaces_left.used));
    return "a workspace is not given back";
  }
  if (options.max_growth_percent > 0 && has_grown) return "memory grows";
  return report.failures != 0 ? "failures" : "";
}

void check_options(const Options& options) {
  const Limits& limits = options.wishes.limits;
  if (limits.types.empty() || limits.types.find_first_not_of("sdcz") != std::string::npos)
    throw std::invalid_argument("--types is '" + limits.types + "', and must be letters of s, d, c and z");
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    static_cast<void>(draw_case(seed, limits));  // whether every type has a routine
}

int run(int argc, char** argv) {
  Options options;
  Limits& limits = options.wishes.limits;
  std::string features = "all", without;
  std::uint64_t only_case = 0;
  CLI::App app{"random calls of cuBLAS from many threads and streams, every element judged on the device"};
  app.add_option("--seconds", options.seconds, "at least so long")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--calls", options.calls, "at least so many calls")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--at-most", options.at_most, "seconds after which it ends with fewer calls; 0: it does not")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "each with a handle")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--streams", options.streams, "of each thread")->check(CLI::Range(1, 16))->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--cases", options.cases, "so many come again and again; 0: always others")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--types", limits.types, "letters of s, d, c, z")->capture_default_str();
  app.add_option("--max-size", limits.max_size, "of m, n, k")->check(CLI::Range(8, 16384))->capture_default_str();
  app.add_option("--large", limits.large_every,
                 "one case in so many is a product of up to 4200 (complex FP64: 3232), whatever --max-size; 0: none")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--phi-max", limits.phi_max, "largest spread of exponents")
      ->check(CLI::Range(0.0, 6.0))
      ->capture_default_str();
  app.add_option("--features", features, "all, or some of " + Features::all().text());
  app.add_option("--without", without, "features that are left out");
  app.add_option("--accuracy-bits", options.wishes.standard.bits, "what KIZAMI_ACCURACY asks for; 0: native")
      ->check(CLI::Range(0, 52))
      ->capture_default_str();
  app.add_flag("--emulated", options.wishes.standard.is_emulated,
               "the library answers every product, and leaves none to cuBLAS");
  app.add_flag("--same-bits", options.wishes.wants_same_bits, "products have the same bits however they are asked for");
  app.add_option("--mode", options.mode, "a name for the record");
  app.add_option("--commit", options.commit, "for the record");
  app.add_option("--json", options.json, "a file, to which a line is appended");
  app.add_option("--settled-after", options.settled_after, "seconds from which on memory must not grow")
      ->capture_default_str();
  app.add_option("--max-growth", options.max_growth_percent, "percent that memory may grow; 0: any");
  app.add_option("--expect-library", options.expected_library,
                 "part of the name of the file that must answer cublasSgemm");
  const auto* case_option = app.add_option("--case", only_case, "the seed of a case, which alone is run");
  app.add_option("--repeats", options.repeats, "of --case")->check(CLI::PositiveNumber)->capture_default_str();
  try {
    app.parse(argc, argv);
    limits.features = Features::parse(features);
    for (int i = 0; i < kNumFeatures && !without.empty(); ++i) {
      const auto feature = static_cast<Feature>(i);
      if (Features::parse(without).has(feature)) limits.features.set(feature, false);
    }
    check_options(options);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "gpu_soak: %s\n", e.what());
    return 2;
  }
  if (case_option->count() > 0) {
    options.only_case = only_case;
    options.threads = options.streams = 1;
    std::printf("case %llu: %s\n", static_cast<unsigned long long>(only_case),
                text_of(draw_case(only_case, limits)).c_str());
    static_cast<void>(std::fflush(stdout));
  }
  if (bench::answering_library().find(options.expected_library) == std::string::npos) {
    std::fprintf(stderr, "gpu_soak: cublasSgemm is answered by %s, and must be by %s: set LD_PRELOAD\n",
                 bench::answering_library().c_str(), options.expected_library.c_str());
    return 2;
  }
  int num_devices = 0;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) {
    std::printf("no CUDA device\n");
    return std::getenv("KIZAMI_REQUIRE_GPU") == nullptr ? 77 : 1;
  }
  // Threads that wait leave the processor to those that issue, of other processes as well.
  check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), "cudaSetDeviceFlags");
  const Report report = run_soak(options);
  const std::string wrong = print(options, report);
  append_record(options, report);
  std::printf("%s%s%s\n", wrong.empty() ? "OK" : "FAIL", wrong.empty() ? "" : ": ", wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace gpu_soak

int main(int argc, char** argv) {
  try {
    return gpu_soak::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_soak: %s\n", e.what());
    return 3;
  }
}
