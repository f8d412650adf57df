// SPDX-License-Identifier: MIT
#include "gemm_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "check/case.hpp"
#include "check/text.hpp"
#include "failure.hpp"
#include "kizami/wishes.hpp"
#include "npy.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

using Json = nlohmann::ordered_json;

/// JSON knows no NaN and Inf.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(check::print_real(x)); }

/// JSON knows no complex numbers either: [re, im].
Json scalar_value(std::complex<double> x, Scalar scalar) {
  return is_complex(scalar) ? Json::array({number(x.real()), number(x.imag())}) : number(x.real());
}

/// The shape of C as a user writes it.
std::string shape_of_c(const GemmReport& report) {
  return fmt::format("{}{} x {}", report.batch ? fmt::format("{} x ", *report.batch) : "", report.plan.m(),
                     report.plan.n());
}

bool is_worse(double x, double y) { return std::isnan(x) || x > y; }

std::string_view gauge_text(Gauge gauge) { return gauge == Gauge::kEntry ? "|A||B|" : "||row of A|| ||column of B||"; }

std::string method(const GemmReport& report) {
  const Outcome& outcome = report.outcome;
  const bool is_exact = report.plan.scalar() == Scalar::kDD || report.policy.accuracy.kind == Accuracy::Kind::kCorrect;
  const std::string_view last_rung = is_exact ? "a long accumulator" : "FP64 arithmetic";
  if (outcome.engine == "none") return "nothing to multiply";
  if (outcome.scheme == Scheme::kNative) return fmt::format("scheme native, engine {}", outcome.engine);
  if (outcome.scheme == Scheme::kEc)
    return fmt::format("scheme ec, variant {}, engine {}", to_string(outcome.variant), outcome.engine);
  if (outcome.scheme == Scheme::kOzaki1)
    return fmt::format("scheme ozaki1, engine {}, {}", outcome.engine, plural(outcome.slices, "slice"));
  std::string out = fmt::format("scheme {}, engine {}, ", to_string(outcome.scheme), outcome.engine);
  out += outcome.moduli > 0 ? fmt::format("{} moduli", outcome.moduli) : std::string(last_rung);
  if (outcome.equilibrated) out += ", inner index rescaled";
  if (report.plan.scheme() == Scheme::kEc) out += ", beyond the range of scheme ec";
  if (report.plan.scheme() == Scheme::kOzaki1) out += ", more than scheme ozaki1 had planned for";
  if (outcome.repaired > 0) out += fmt::format(", {} answered in {}", plural(outcome.repaired, "element"), last_rung);
  return out;
}

}  // namespace

void GemmReport::add(std::int64_t index, const Outcome& one) {
  if (index == 0) {
    outcome = one;
    return;
  }
  if (is_worse(one.bound, outcome.bound)) outcome.bound = one.bound;
  outcome.moduli = std::max(outcome.moduli, one.moduli);
  outcome.slices = std::max(outcome.slices, one.slices);
  outcome.rung = outcome.rung < 0 || one.rung < 0 ? -1 : std::max(outcome.rung, one.rung);
  outcome.is_conditional = outcome.is_conditional || one.is_conditional;
  outcome.equilibrated = outcome.equilibrated || one.equilibrated;
  outcome.repaired += one.repaired;
  outcome.nonfinite_rows += one.nonfinite_rows;
  outcome.nonfinite_cols += one.nonfinite_cols;
}

void GemmReport::add(std::int64_t index, const SampleError& one) {
  if (!check) {
    check = one;
    worst_product = index;
    return;
  }
  const std::int64_t checked_elements = check->checked_elements + one.checked_elements;
  const double error = is_worse(one.error, check->error) ? one.error : check->error;
  if (is_worse(one.error_over_bound, check->error_over_bound)) {
    check = one;
    worst_product = index;
  }
  check->error = error;
  check->checked_elements = checked_elements;
}

std::string as_json(const GemmReport& report) {
  const Outcome& outcome = report.outcome;
  Json out;
  out["output"] = report.output.empty() ? Json(nullptr) : Json(report.output);
  out["batch"] = report.batch ? Json(*report.batch) : Json(nullptr);
  out["m"] = report.plan.m();
  out["n"] = report.plan.n();
  out["k"] = report.plan.k();
  out["dtype"] = to_string(report.plan.scalar());
  out["op"] = fmt::format("{}{}", to_string(report.op_a), to_string(report.op_b));
  out["alpha"] = scalar_value(report.alpha, report.plan.scalar());
  out["beta"] = scalar_value(report.beta, report.plan.scalar());
  out["accuracy"] = to_string(report.policy.accuracy);
  out["reproducibility"] = to_string(report.policy.reproducibility);
  out["scheme"] = to_string(outcome.scheme);
  out["engine"] = outcome.engine;
  out["variant"] = outcome.scheme == Scheme::kEc ? Json(to_string(outcome.variant)) : Json(nullptr);
  out["moduli"] = outcome.moduli;
  out["slices"] = outcome.slices;
  out["rung"] = outcome.rung;
  out["equilibrated"] = outcome.equilibrated;
  out["repaired"] = outcome.repaired;
  out["nonfinite_rows"] = outcome.nonfinite_rows;
  out["nonfinite_cols"] = outcome.nonfinite_cols;
  out["bound"] = number(outcome.bound);
  out["gauge"] = to_string(outcome.gauge);
  out["is_conditional"] = outcome.is_conditional;
  if (report.check) {
    out["error"] = number(report.check->error);
    out["error_over_bound"] = number(report.check->error_over_bound);
    out["checked_elements"] = report.checked_elements();
  }
  out["seconds"] = report.seconds;
  out["device"] = report.device ? Json(*report.device) : Json(nullptr);
  out["threads"] = report.device ? Json(nullptr) : Json(report.threads);
  out["workspace_bytes"] = report.plan.workspace_bytes();
  out["numerics_hash"] = fmt::format("{:016x}", report.plan.numerics_hash());
  // Names of files may hold any bytes; JSON may not.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const GemmReport& report) {
  const Outcome& outcome = report.outcome;
  std::string out =
      fmt::format("{}: {} {}, k = {}, op {}{}\n", report.output, shape_of_c(report), dtype_name(report.plan.scalar()),
                  report.plan.k(), to_string(report.op_a), to_string(report.op_b));
  out += fmt::format("  {}; {:.3g} s{}\n", method(report), report.seconds,
                     report.device ? " on " + *report.device : ", at most " + plural(report.threads, "thread"));
  if (report.policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    out += "  guaranteed: the exact product, rounded once\n";
  } else {
    out += fmt::format(
        "  {}: error <= {:.3g} {}{}\n",
        outcome.is_conditional ? "guaranteed only where nothing overflows or underflows on the way" : "guaranteed",
        outcome.bound, gauge_text(outcome.gauge),
        report.alpha == 1.0 && report.beta == 0.0 ? "" : " before alpha and beta");
  }
  if (report.check) {
    out += fmt::format("  checked: error {:.3g} {}, {:.3g} of what is allowed; {} compared with the exact product\n",
                       report.check->error, gauge_text(outcome.gauge), report.check->error_over_bound,
                       plural(report.checked_elements(), "element"));
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
