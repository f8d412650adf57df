// SPDX-License-Identifier: MIT
#include "bench_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "address_space.hpp"
#include "bench_baselines.hpp"
#include "case_answer.hpp"
#include "check/float_float.hpp"
#include "check/matrix_spec.hpp"
#include "check/operands.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "kizami/kizami.hpp"

namespace kizami::cli {
namespace {

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

Description description_of(const Outcome& outcome) {
  return {std::string(to_string(outcome.scheme)), std::string(outcome.engine), outcome.moduli, outcome.bound,
          std::string(to_string(outcome.gauge))};
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
  candidate.describe = [outcome] { return description_of(*outcome); };
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

/// Makes a candidate of a policy.
using Make = std::function<Candidate(const std::string& name, const Policy& policy)>;

Policy policy_for(Scheme scheme, Accuracy accuracy) {
  Policy policy;
  policy.scheme = scheme;
  policy.accuracy = accuracy;
  return policy;
}

bool is_f64(const check::Case& spec) { return real_of(spec.scalar) == Scalar::kF64; }

/// Scheme ozaki2 at accuracies that are stated.
void add_accuracies(const check::Case& spec, const Make& make, std::vector<Candidate>& out) {
  out.push_back(make("accuracy native", policy_for(Scheme::kOzaki2, Accuracy::native())));
  for (const int bits : is_f64(spec) ? std::vector<int>{24, 40, 52} : std::vector<int>{12, 23})
    out.push_back(make(fmt::format("bits={}", bits), policy_for(Scheme::kOzaki2, Accuracy::at_bits(bits))));
}

/// Numbers of moduli by name: some, and on elements that need more, those of the others.
void add_forced_moduli(const check::Case& spec, const Make& make, std::vector<Candidate>& out) {
  std::vector<int> counts = is_f64(spec) ? std::vector<int>{14, 17, 20} : std::vector<int>{7, 10};
  if (!is_plain(spec)) {
    for (const Candidate& candidate : out) {
      static_cast<void>(candidate.time_once());
      const int moduli = candidate.describe().moduli;
      if (moduli > 0 && std::find(counts.begin(), counts.end(), moduli) == counts.end()) counts.push_back(moduli);
    }
  }
  for (const int moduli : counts) {
    Policy policy = policy_for(Scheme::kOzaki2, Accuracy::native());
    policy.forced_moduli = moduli;
    out.push_back(make(fmt::format("{} moduli (forced)", moduli), policy));
  }
}

template <class T>
std::vector<Candidate> candidates_of(const check::Case& spec, int threads) {
  const auto operands = std::make_shared<check::Operands<T>>(spec, threads);
  const Make make = [&](const std::string& name, Policy policy) {
    policy.threads = threads;
    return product_candidate<T>(name, operands, spec, policy);
  };
  std::vector<Candidate> out;
  out.push_back(make("native BLAS", policy_for(Scheme::kNative, Accuracy::native())));
  if constexpr (std::is_same_v<T, double>) {
    if (spec.n <= kMaxBaselineSize && is_plain(spec)) {  // others may be out of its range
      const Description what{"none", "loops", 0, check::float_float_bound(spec.k), "entry"};
      out.push_back(other_candidate("ff32: pairs of FP32", spec, what, [operands, spec, threads] {
        multiply_float_float(spec.m, spec.n, spec.k, operands->a.data(), operands->b.data(), operands->c.data(),
                             threads);
      }));
    }
  }
  add_accuracies(spec, make, out);
  out.push_back(make("correct", policy_for(Scheme::kOzaki2, Accuracy::correct())));
  add_forced_moduli(spec, make, out);
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

/// A product through the library on a device, of operands that are there. Each measurement is of calls one behind the
/// other, as many as take kLeastSeconds: what the host does for a call is then hidden by the one before.
template <class T>
Candidate device_candidate(const std::string& name, const std::shared_ptr<DeviceProduct<T>>& there,
                           const check::Case& spec, const Policy& policy) {
  constexpr double kLeastSeconds = 5e-3;
  constexpr double kMostCalls = 100;
  const Result<Plan> plan = device_plan(spec.scalar, spec.m, spec.n, spec.k, policy);
  throw_if_error(plan.status());
  const auto outcome = std::make_shared<Outcome>();
  const auto run = [there, plan = plan.value(), outcome](int calls) {
    const Result<double> seconds = there->run(plan, T{1}, T{0}, calls, *outcome);
    throw_if_error(seconds.status());
    return seconds.value();
  };
  static_cast<void>(run(1));  // loads kernels
  const int calls = static_cast<int>(std::clamp(std::ceil(kLeastSeconds / run(1)), 1.0, kMostCalls));
  Candidate candidate;
  candidate.name = name;
  candidate.operations = operations_of(spec);
  candidate.time_once = [run, calls] { return run(calls); };
  candidate.describe = [outcome] { return description_of(*outcome); };
  return candidate;
}

template <class T>
std::vector<Candidate> device_candidates_of(const check::Case& spec, int threads) {
  const std::shared_ptr<DeviceProduct<T>> there = device_product<T>();
  {
    const check::Operands<T> operands(spec, threads);
    there->load(operands.a.view(), operands.b.view(), operands.c.view(), false);
  }
  const Make make = [&](const std::string& name, const Policy& policy) {
    return device_candidate<T>(name, there, spec, policy);
  };
  std::vector<Candidate> out;
  out.push_back(make("native cuBLAS", policy_for(Scheme::kNative, Accuracy::native())));
  Policy any;
  any.reproducibility = Reproducibility::kNotGuaranteed;
  out.push_back(make("no bits promised", any));
  add_accuracies(spec, make, out);
  add_forced_moduli(spec, make, out);
  return out;
}

}  // namespace

std::vector<Candidate> host_candidates(const std::string& dtype, const check::Case& spec, int threads) {
  std::vector<Candidate> out =
      dtype == "dd" ? double_double_candidates(spec, threads)
                    : with_scalar(spec.scalar, [&]<class T>() { return candidates_of<T>(spec, threads); });
  add_floors(out, spec, threads);
  return out;
}

std::vector<Candidate> device_candidates(const check::Case& spec, int threads) {
  return with_scalar(spec.scalar, [&]<class T>() { return device_candidates_of<T>(spec, threads); });
}

}  // namespace kizami::cli
