// SPDX-License-Identifier: MIT
#include "gemm_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "check/case.hpp"
#include "check/text.hpp"
#include "failure.hpp"
#include "matrix_file.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

using Json = nlohmann::ordered_json;

/// JSON knows no NaN and Inf.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(check::print_real(x)); }

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view gauge_text(Gauge gauge) { return gauge == Gauge::kEntry ? "|A||B|" : "||row of A|| ||column of B||"; }

std::string method(const Outcome& outcome) {
  if (outcome.engine == "none") return "nothing to multiply";
  if (outcome.scheme == Scheme::kNative) return fmt::format("scheme native, engine {}", outcome.engine);
  std::string out = fmt::format("scheme {}, engine {}, ", to_string(outcome.scheme), outcome.engine);
  out += outcome.moduli > 0 ? fmt::format("{} moduli", outcome.moduli) : "FP64 arithmetic";
  if (outcome.equilibrated) out += ", inner index rescaled";
  if (outcome.repaired > 0) out += fmt::format(", {} answered in FP64 arithmetic", plural(outcome.repaired, "element"));
  return out;
}

}  // namespace

std::string as_json(const GemmReport& report) {
  const Outcome& outcome = report.outcome;
  Json out;
  out["output"] = report.output.empty() ? Json(nullptr) : Json(report.output);
  out["m"] = report.plan.m();
  out["n"] = report.plan.n();
  out["k"] = report.plan.k();
  out["dtype"] = dtype_name(report.plan.scalar());
  out["op"] = fmt::format("{}{}", to_string(report.op_a), to_string(report.op_b));
  out["alpha"] = number(report.alpha);
  out["beta"] = number(report.beta);
  out["accuracy"] = check::print(report.policy.accuracy);
  out["reproducibility"] = to_string(report.policy.reproducibility);
  out["scheme"] = to_string(outcome.scheme);
  out["engine"] = outcome.engine;
  out["moduli"] = outcome.moduli;
  out["rung"] = outcome.rung;
  out["equilibrated"] = outcome.equilibrated;
  out["repaired"] = outcome.repaired;
  out["nonfinite_rows"] = outcome.nonfinite_rows;
  out["nonfinite_cols"] = outcome.nonfinite_cols;
  out["bound"] = number(outcome.bound);
  out["gauge"] = to_string(outcome.gauge);
  if (report.check) {
    out["error"] = number(report.check->error);
    out["error_over_bound"] = number(report.check->error_over_bound);
    out["checked_elements"] = report.check->checked_elements;
  }
  out["seconds"] = report.seconds;
  out["threads"] = report.threads;
  out["workspace_bytes"] = report.plan.workspace_bytes();
  out["numerics_hash"] = fmt::format("{:016x}", report.plan.numerics_hash());
  // Names of files may hold any bytes; JSON may not.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const GemmReport& report) {
  const Outcome& outcome = report.outcome;
  std::string out =
      fmt::format("{}: {} x {} {}, k = {}, op {}{}\n", report.output, report.plan.m(), report.plan.n(),
                  dtype_name(report.plan.scalar()), report.plan.k(), to_string(report.op_a), to_string(report.op_b));
  out += fmt::format("  {}; {:.3g} s, at most {}\n", method(outcome), report.seconds, plural(report.threads, "thread"));
  out += fmt::format("  guaranteed: error <= {:.3g} {}{}\n", outcome.bound, gauge_text(outcome.gauge),
                     report.alpha == 1 && report.beta == 0 ? "" : " before alpha and beta");
  if (report.check) {
    out += fmt::format("  checked: error {:.3g} {}, {:.3g} of what is allowed; {} compared with the exact product\n",
                       report.check->error, gauge_text(outcome.gauge), report.check->error_over_bound,
                       plural(report.check->checked_elements, "element"));
  }
  return out;
}

std::string nonfinite_note(const Outcome& outcome) {
  if (outcome.nonfinite_rows == 0 && outcome.nonfinite_cols == 0) return {};
  return fmt::format(
      "NaN or Inf in {} of op(A) and {} of op(B): multiplied as IEEE arithmetic does; the bound holds elsewhere",
      plural(outcome.nonfinite_rows, "row"), plural(outcome.nonfinite_cols, "column"));
}

}  // namespace kizami::cli
