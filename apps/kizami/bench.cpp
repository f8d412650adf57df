// SPDX-License-Identifier: MIT
// kizami bench: how long products take here, native BLAS beside them in the same run.
//   Candidates of one size are timed in turn, round by round, so that drift of the machine hits all alike; medians and
//   extremes are over rounds. The floor of an emulated product is the time of its INT8 products alone, measured in the
//   same rounds. On elements other than randn, calls are timed too that name as many moduli as others came to need: they
//   have no certificate, so the difference is what it takes, with the repairs that it asks for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <complex>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "address_space.hpp"
#include "bench_baselines.hpp"
#include "bench_table.hpp"
#include "check/case.hpp"
#include "check/float_float.hpp"
#include "check/matrix_spec.hpp"
#include "check/operands.hpp"
#include "check/text.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"
#include "machine.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

/// Of the figures in the documents.
constexpr std::string_view kPlainElements = "randn";

struct BenchOptions {
  std::string sizes = "256,512,1024,2048";
  std::string dtype = "all";
  std::string rounds = "7";
  std::string threads = "0";
  std::string elements{kPlainElements};
  std::string json_path;
};

/// Memory for one plan, on a 64-byte boundary.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) : memory_(bytes + kAlignment), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> span() {
    void* start = memory_.data();
    std::size_t room = memory_.size();
    return {static_cast<std::byte*>(std::align(kAlignment, bytes_, start, room)), bytes_};
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::vector<std::byte> memory_;
  std::size_t bytes_;
};

/// Additions and multiplications of real numbers.
double operations_of(const check::Case& spec) {
  const double real_products = is_complex(spec.scalar) ? 4.0 : 1.0;
  return 2.0 * real_products * static_cast<double>(spec.m) * static_cast<double>(spec.n) * static_cast<double>(spec.k);
}

/// A product of two matrices through the library, with everything planned and allocated beforehand.
template <class T>
Candidate product_candidate(const std::string& name, const std::shared_ptr<check::Operands<T>>& operands,
                            const check::Case& spec, const Policy& policy) {
  const Result<Plan> plan = make_plan(spec.scalar, spec.m, spec.n, spec.k, policy);
  throw_if_error(plan.status());
  require_room_for_native_blas(plan.value());
  const auto workspace = std::make_shared<Workspace>(plan.value().workspace_bytes());
  const auto outcome = std::make_shared<Outcome>();
  Candidate candidate;
  candidate.name = name;
  candidate.operations = operations_of(spec);
  candidate.time_once = [operands, plan = plan.value(), workspace, outcome] {
    const auto start = std::chrono::steady_clock::now();
    const Status status = run<T>(plan, T{1}, std::as_const(operands->a).view(), std::as_const(operands->b).view(), T{0},
                                 operands->c.view(), workspace->span(), outcome.get());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    throw_if_error(status);
    return seconds;
  };
  candidate.describe = [outcome] {
    return Description{std::string(to_string(outcome->scheme)), std::string(outcome->engine), outcome->moduli,
                       outcome->bound, std::string(to_string(outcome->gauge))};
  };
  return candidate;
}

/// INT8 products for so many moduli: one each, for complex types two up to 17 moduli and three beyond.
int num_products(Scalar scalar, int moduli) {
  if (!is_complex(scalar)) return moduli;
  return moduli <= 17 ? 2 * moduli : 3 * moduli - 17;
}

/// The INT8 products alone.
Candidate int8_candidate(const check::Case& spec, int moduli, int threads) {
  const int products = num_products(spec.scalar, moduli);
  const std::int64_t n = spec.n;
  Result<ProductBenchmark> made = ProductBenchmark::make(EngineName::kAuto, n, n, n, products, threads);
  throw_if_error(made.status());
  const auto bench = std::make_shared<ProductBenchmark>(std::move(made).value());
  Candidate candidate;
  candidate.name = fmt::format("INT8 products alone, {}", products);
  candidate.operations = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) * products;
  candidate.is_floor_of = moduli;
  candidate.time_once = [bench] {
    Result<ProductTiming> timing = bench->run();
    throw_if_error(timing.status());
    return timing.value().seconds;
  };
  candidate.describe = [moduli] { return Description{"int8", "auto", moduli, 0.0, ""}; };
  return candidate;
}

/// Baselines take seconds from there on, and are left out beyond.
constexpr std::int64_t kMaxBaselineSize = 512;

/// Any other way to multiply.
Candidate other_candidate(const std::string& name, const check::Case& spec, Description what,
                          const std::function<void()>& multiply) {
  Candidate candidate;
  candidate.name = name;
  candidate.operations = operations_of(spec);
  candidate.time_once = [multiply] {
    const auto start = std::chrono::steady_clock::now();
    multiply();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  candidate.describe = [what = std::move(what)] { return what; };
  return candidate;
}

[[nodiscard]] bool is_plain(const check::Case& spec) {
  const check::MatrixSpec plain = check::default_spec(check::MatrixClass::kRandn);
  return spec.a == plain && spec.b == plain;
}

template <class T>
std::vector<Candidate> candidates_of(const check::Case& spec, int threads) {
  const auto operands = std::make_shared<check::Operands<T>>(spec, threads);
  const auto with = [threads](Scheme scheme, Accuracy accuracy, int forced_moduli) {
    Policy policy;
    policy.scheme = scheme;
    policy.accuracy = accuracy;
    policy.forced_moduli = forced_moduli;
    policy.threads = threads;
    return policy;
  };
  const bool is_f64 = real_of(spec.scalar) == Scalar::kF64;
  std::vector<Candidate> out;
  out.push_back(product_candidate<T>("native BLAS", operands, spec, with(Scheme::kNative, Accuracy::native(), 0)));
  if constexpr (std::is_same_v<T, double>) {
    if (spec.n <= kMaxBaselineSize && is_plain(spec)) {  // others may be out of its range
      const Description what{"none", "loops", 0, check::float_float_bound(spec.k), "entry"};
      out.push_back(other_candidate("ff32: pairs of FP32", spec, what, [operands, spec, threads] {
        multiply_float_float(spec.m, spec.n, spec.k, operands->a.data(), operands->b.data(), operands->c.data(),
                             threads);
      }));
    }
  }
  out.push_back(product_candidate<T>("accuracy native", operands, spec, with(Scheme::kOzaki2, Accuracy::native(), 0)));
  for (const int bits : is_f64 ? std::vector<int>{24, 40, 52} : std::vector<int>{12, 23}) {
    out.push_back(product_candidate<T>(fmt::format("bits={}", bits), operands, spec,
                                       with(Scheme::kOzaki2, Accuracy::at_bits(bits), 0)));
  }
  out.push_back(product_candidate<T>("correct", operands, spec, with(Scheme::kOzaki2, Accuracy::correct(), 0)));
  std::vector<int> counts = is_f64 ? std::vector<int>{14, 17, 20} : std::vector<int>{7, 10};
  if (!is_plain(spec)) {
    for (const Candidate& candidate : out) {
      static_cast<void>(candidate.time_once());
      const int moduli = candidate.describe().moduli;
      if (moduli > 0 && std::find(counts.begin(), counts.end(), moduli) == counts.end()) counts.push_back(moduli);
    }
  }
  for (const int moduli : counts) {
    out.push_back(product_candidate<T>(fmt::format("{} moduli (forced)", moduli), operands, spec,
                                       with(Scheme::kOzaki2, Accuracy::native(), moduli)));
  }
  return out;
}

/// Products of FP64 matrices into double-double.
std::vector<Candidate> double_double_candidates(const check::Case& spec, int threads) {
  const auto operands = std::make_shared<check::Operands<double>>(spec, threads);
  const auto result = std::make_shared<std::vector<DoubleDouble>>(static_cast<std::size_t>(spec.m * spec.n));
  std::vector<Candidate> out;
  const auto add = [&](const std::string& name, Description what, const std::function<void()>& multiply) {
    out.push_back(other_candidate(name, spec, std::move(what), multiply));
  };
  if (spec.n <= kMaxBaselineSize) {
    for (const auto& [name, function] :
         {std::pair("double-double sums", &multiply_double_double), std::pair("__float128 sums", &multiply_float128)}) {
      add(name, {"none", "loops", 0, 0.0, ""}, [=, function = function] {
        function(spec.m, spec.n, spec.k, operands->a.data(), operands->b.data(), result->data(), threads);
      });
    }
  }
  for (const int bits : {64, 80, 100}) {
    Policy policy;
    policy.accuracy = Accuracy::at_bits(bits);
    policy.threads = threads;
    const Result<Plan> plan = make_plan(Scalar::kDD, spec.m, spec.n, spec.k, policy);
    throw_if_error(plan.status());
    const auto workspace = std::make_shared<Workspace>(plan.value().workspace_bytes());
    const auto outcome = std::make_shared<Outcome>();
    add(fmt::format("bits={}", bits), {}, [=, plan = plan.value()] {
      throw_if_error(run_dd<double>(plan, 1.0, std::as_const(operands->a).view(), std::as_const(operands->b).view(),
                                    0.0, blas_view(result->data(), spec.m, spec.n, spec.m), workspace->span(),
                                    outcome.get()));
    });
    out.back().describe = [outcome] {
      return Description{"ozaki2", std::string(outcome->engine), outcome->moduli, outcome->bound, "entry"};
    };
  }
  return out;
}

std::vector<Candidate> candidates_of_type(const std::string& dtype, const check::Case& spec, int threads) {
  if (dtype == "f32") return candidates_of<float>(spec, threads);
  if (dtype == "f64") return candidates_of<double>(spec, threads);
  if (dtype == "c64") return candidates_of<std::complex<float>>(spec, threads);
  if (dtype == "c128") return candidates_of<std::complex<double>>(spec, threads);
  return double_double_candidates(spec, threads);
}

/// Adds the floors of the moduli counts that the candidates really used, after one warm-up of each.
void add_floors(std::vector<Candidate>& candidates, const check::Case& spec, int threads) {
  std::vector<int> counts;
  for (const Candidate& candidate : candidates) {
    static_cast<void>(candidate.time_once());
    const int moduli = candidate.describe().moduli;
    if (moduli > 0 && std::find(counts.begin(), counts.end(), moduli) == counts.end()) counts.push_back(moduli);
  }
  for (const int moduli : counts) {
    candidates.push_back(int8_candidate(spec, moduli, threads));
    static_cast<void>(candidates.back().time_once());
  }
}

std::vector<std::int64_t> sizes_of(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(integer_option("--sizes", std::string_view(text).substr(begin, end - begin), 1, 131072));
    begin = end + 1;
  }
  return sizes;
}

/// The product of one size and type.
check::Case case_of(Scalar scalar, std::int64_t n, const std::string& elements) {
  Result<check::Case> parsed =
      check::parse_case(fmt::format("{} nn {}x{}x{} A={} B={}", check::letter_of(scalar), n, n, n, elements, elements));
  if (!parsed.ok())
    throw Failure(ExitCode::kUsage, fmt::format("--elements = {}: {}", in_quotes(elements), parsed.status().reason()));
  return std::move(parsed).value();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

ExitCode run_bench(const BenchOptions& options) {
  const std::vector<std::int64_t> sizes = sizes_of(options.sizes);
  const auto rounds = static_cast<int>(integer_option("--rounds", options.rounds, 1, 1000));
  auto threads = static_cast<int>(integer_option("--threads", options.threads, 0, kMaxThreads));
  if (threads == 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::vector<std::pair<std::string, Scalar>> types = {{"f64", Scalar::kF64},
                                                             {"f32", Scalar::kF32},
                                                             {"c128", Scalar::kC128},
                                                             {"c64", Scalar::kC64},
                                                             {"dd", Scalar::kF64}};
  if (options.dtype != "all" &&
      std::none_of(types.begin(), types.end(), [&](const auto& type) { return type.first == options.dtype; })) {
    refuse_name("--dtype", options.dtype, "f64, f32, c128, c64, dd, all");
  }
  static_cast<void>(case_of(Scalar::kF64, 1, options.elements));
  std::ofstream json;
  if (!options.json_path.empty()) {
    json.open(options.json_path, std::ios::app);
    if (!json)
      throw Failure(ExitCode::kOutputFailed,
                    fmt::format("--json = {} cannot be opened for appending", in_quotes(options.json_path)));
  }
  const std::string processor = processor_name();
  write_stdout(fmt::format("kizami {}, {}, {} threads, {} rounds, inputs {}\n", version(), processor, threads, rounds,
                           options.elements));
  for (const auto& [dtype, scalar] : types) {
    if (options.dtype != "all" && options.dtype != dtype) continue;
    for (const std::int64_t n : sizes) {
      const check::Case spec = case_of(scalar, n, options.elements);
      std::vector<Candidate> candidates = candidates_of_type(dtype, spec, threads);
      add_floors(candidates, spec, threads);
      const std::vector<Timing> timings = time_interleaved(candidates, rounds);
      write_stdout(table_of(fmt::format("{}  n = {}", dtype, n), candidates, timings));
      if (!json.is_open()) continue;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        nlohmann::ordered_json line = json_of(candidates, timings, i);
        line["dtype"] = dtype;
        line["case"] = check::print(spec);
        line["date"] = utc_now();
        line["version"] = version();
        line["processor"] = processor;
        line["threads"] = threads;
        line["rounds"] = rounds;
        json << line.dump() << '\n';
      }
    }
  }
  if (json.is_open() && !json.flush())
    throw Failure(ExitCode::kOutputFailed,
                  fmt::format("--json = {} could not be written", in_quotes(options.json_path)));
  return ExitCode::kOk;
}

}  // namespace

Command add_bench(CLI::App& program) {
  CLI::App* const app =
      program.add_subcommand("bench", "time products of square random matrices, native BLAS beside them");
  const auto options = std::make_shared<BenchOptions>();
  app->add_option("--sizes", options->sizes, "sizes n, separated by commas [256,512,1024,2048]")->type_name("N,...");
  app->add_option("--dtype", options->dtype, "type of the elements of C [all]")->type_name("f64|f32|c128|c64|dd|all");
  app->add_option("--rounds", options->rounds, "rounds that medians are taken over [7]")->type_name("N");
  app->add_option("--threads", options->threads, "CPU threads; 0: all [0]")->type_name("N");
  app->add_option("--elements", options->elements, "class of both matrices, as in kizami check --grammar [randn]")
      ->type_name("CLASS");
  app->add_option("--json", options->json_path, "append one JSON object a row to this file")->type_name("FILE");
  return {app, [options] { return run_bench(*options); }};
}

}  // namespace kizami::cli
