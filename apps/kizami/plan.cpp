// SPDX-License-Identifier: MIT
// kizami plan: what a product would be done with and what it guarantees, without doing it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration_note.hpp"
#include "commands.hpp"
#include "device.hpp"
#include "device_option.hpp"
#include "failure.hpp"
#include "kizami/plan.hpp"
#include "npy.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

struct PlanOptions {
  std::string m, n, k;
  std::string dtype = "f64";
  PolicyOptions policy;
  DeviceOption device;
  bool is_json = false;
};

Scalar scalar_named(const std::string& text) {
  constexpr std::array kScalars{Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128};
  for (const Scalar scalar : kScalars) {
    if (text == to_string(scalar) || text == dtype_name(scalar)) return scalar;
  }
  if (text == to_string(Scalar::kDD)) return Scalar::kDD;
  refuse_name("--dtype", text, "f32, f64, c64, c128, dd, float32, float64, complex64, complex128");
}

/// @param device  that the plan is for; empty: this host
std::string as_json(const Plan& plan, const std::string& device) {
  nlohmann::ordered_json out;
  out["dtype"] = to_string(plan.scalar());
  out["m"] = plan.m();
  out["n"] = plan.n();
  out["k"] = plan.k();
  out["scheme"] = to_string(plan.scheme());
  out["engine"] = plan.engine();
  out["device"] = device.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(device);
  out["variant"] = plan.scheme() == Scheme::kEc ? nlohmann::ordered_json(to_string(plan.variant())) : nullptr;
  out["bound"] = plan.bound();
  out["gauge"] = to_string(plan.gauge());
  out["base_moduli"] = plan.base_moduli();
  out["max_moduli"] = plan.max_moduli();
  out["workspace_bytes"] = plan.workspace_bytes();
  out["predicted_seconds"] = plan.predicted_seconds();
  out["numerics_hash"] = fmt::format("{:016x}", plan.numerics_hash());
  out["explanation"] = plan.explain();
  return out.dump() + "\n";
}

ExitCode run_plan(const PlanOptions& options) {
  const Scalar scalar = scalar_named(options.dtype);
  const std::int64_t m = integer_option("M", options.m, 0, kDimLimit - 1);
  const std::int64_t n = integer_option("N", options.n, 0, kDimLimit - 1);
  const std::int64_t k = integer_option("K", options.k, 0, kDimLimit - 1);
  if (options.device.is_given()) refuse_options_of_processor(options.policy);
  if (options.device.is_given() && scalar == Scalar::kDD)
    throw Failure(ExitCode::kUsage, "--dtype = dd is of the processor: it goes without --device");
  const Policy policy = policy_of(options.policy);
  if (options.device.is_given()) use_device(options.device);
  const std::string device = options.device.is_given() ? device_names().device : "";
  if (options.device.is_given()) require_room(product_bytes(scalar, m, n, k, 1, 0), device_room(), true);
  if (!options.device.is_given()) note_unused_calibration();
  const Result<Plan> plan =
      options.device.is_given() ? device_plan(scalar, m, n, k, policy) : make_plan(scalar, m, n, k, policy);
  throw_if_unplanned(plan.status(), policy, scalar);
  if (options.device.is_given())
    require_room(product_bytes(scalar, m, n, k, 1, plan.value().workspace_bytes()), device_room(), true);
  std::string text = options.is_json ? as_json(plan.value(), device) : plan.value().explain();
  if (!text.ends_with('\n')) text += '\n';
  write_stdout(text);
  return ExitCode::kOk;
}

}  // namespace

Command add_plan(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "plan", "print how op(A) (M x K) times op(B) (K x N) would be computed, and what that guarantees");
  const auto options = std::make_shared<PlanOptions>();
  app->add_option("M", options->m, "rows of C")->required()->type_name("");
  app->add_option("N", options->n, "columns of C")->required()->type_name("");
  app->add_option("K", options->k, "inner dimension")->required()->type_name("");
  app->add_option("--dtype", options->dtype, "type of the elements [f64]")->type_name("f32|f64|c64|c128|dd");
  add_device_option(*app, options->device, "for operands in its memory, on the current CUDA device");
  app->add_flag("--json", options->is_json, "print one JSON object");
  add_policy_options(*app, options->policy);
  app->footer(
      "\nExamples:\n  kizami plan 4096 4096 4096 --dtype f32\n"
      "  kizami plan 512 512 100000 --accuracy bits=40 --gauge norm --json\n");
  return {app, [options] { return run_plan(*options); }};
}

}  // namespace kizami::cli
