// SPDX-License-Identifier: MIT
// The processor by which kizami::predict_on_processor() predicts, and its calibration.
#include "kizami/calibrate.hpp"

#include <array>
#include <string>
#include <utility>

#include "exec/environment.hpp"
#include "exec/processor_calibration.hpp"
#include "exec/processor_file.hpp"
#include "plan/plan.hpp"
#include "schemes/native/stage.hpp"
#include "schemes/ozaki2/plan.hpp"

namespace kizami {
namespace {

using model::Part;
using model::PhaseTime;
using model::Prediction;
using model::Request;
using model::Roof;

/// What a phase reads and writes, by the rate of copies. 0: nobody has measured that
class Traffic {
 public:
  Traffic(const Request& request, const product::ProcessorRates& rates)
      : element_(static_cast<double>(size_bytes(request.scalar))),
        operands_((static_cast<double>(request.m) + static_cast<double>(request.n)) * static_cast<double>(request.k)),
        result_(static_cast<double>(request.m) * static_cast<double>(request.n)),
        bytes_per_second_(rates.copy_bytes_per_second) {}

  /// @param operands, result  bytes of each of their elements
  [[nodiscard]] double seconds(double operands, double result) const {
    return bytes_per_second_ > 0 ? (operands * operands_ + result * result_) / bytes_per_second_ : 0.0;
  }
  [[nodiscard]] double element() const { return element_; }

 private:
  double element_;
  double operands_;
  double result_;
  double bytes_per_second_;
};

/// A phase is held by memory where its traffic takes most of its time, else by what it computes with.
void add(Prediction& out, std::string_view name, Part part, Roof roof, double seconds, double memory_seconds) {
  constexpr double kMost = 0.8;
  if (seconds <= 0) return;
  PhaseTime phase;
  phase.phase = name;
  phase.part = part;
  phase.seconds = seconds;
  phase.of_roof[static_cast<std::size_t>(roof)] = seconds;
  phase.of_roof[static_cast<std::size_t>(Roof::kMemory)] = memory_seconds;
  const Roof holds = memory_seconds > kMost * seconds ? Roof::kMemory : roof;
  phase.held[static_cast<std::size_t>(holds)] = seconds;
  out.phases.push_back(phase);
}

[[nodiscard]] Prediction prediction_of(const plan::Plan& plan, const Request& request) {
  const product::ProcessorRates& rates = plan.schedule.facts.processor;
  const Traffic traffic(request, rates);
  const double element = traffic.element();
  Prediction out;
  out.seconds = plan.schedule.seconds;
  out.program = "kizami, engine " + std::string(plan.first().engine_name());
  if (request.way == model::Way::kNative) {
    const double product = native::native_of(plan).engine->seconds(plan.shape, plan.schedule.facts);
    out.products = 1;
    add(out, "product", Part::kComputation, Roof::kTensor, product, traffic.seconds(element, element));
    add(out, "look", Part::kDataHandling, Roof::kIssue, out.seconds - product, traffic.seconds(element, 0));
  } else {
    const ozaki2::HostSeconds phases = ozaki2::host_seconds(plan);
    const num::Rung& rung = ozaki2::ozaki2_of(plan).ladder.rungs[0];
    out.products = num::num_planes(plan::ring_of(request.scalar), rung.num_moduli);
    out.accumulators = out.products;
    const double planes = out.products;
    add(out, "products", Part::kComputation, Roof::kTensor, out.seconds - phases.sum(),
        traffic.seconds(planes, planes));
    add(out, "call", Part::kDataHandling, Roof::kLaunch, phases.call, 0);
    add(out, "split", Part::kDataHandling, Roof::kIssue, phases.split, traffic.seconds(element + planes, 0));
    add(out, "certificate", Part::kDataHandling, Roof::kIssue, phases.certificate, 0);
    add(out, "CRT", Part::kDataHandling, Roof::kIssue, phases.crt, traffic.seconds(0, planes + element));
  }
  const double operations = (is_complex(request.scalar) ? 8.0 : 2.0) * static_cast<double>(request.m) *
                            static_cast<double>(request.n) * static_cast<double>(request.k);
  out.tflops = 1e-12 * operations / out.seconds;
  out.bound_tflops = 1e-12 * operations / out.seconds_of(Part::kComputation);
  return out;
}

[[nodiscard]] Status require_known(const Request& request) {
  const auto unsupported = [](const std::string& reason) { return Status(StatusCode::kUnsupported, reason); };
  if (request.way != model::Way::kNative && request.way != model::Way::kOzaki2)
    return unsupported("scheme = " + std::string(to_string(request.way)) +
                       ": of a processor native and ozaki2 are predicted");
  if (request.program && *request.program != model::ProgramName::kKizami)
    return unsupported("program = " + std::string(to_string(*request.program)) +
                       ": of a processor kizami is predicted");
  if (request.format != model::Format::kInt8)
    return unsupported("format = " + std::string(to_string(request.format)) + ": a processor multiplies int8");
  if (request.scalar == Scalar::kDD) return unsupported("type = dd is not predicted");
  if (request.is_triangle) return unsupported("of a processor all of C is predicted, no triangle");
  if (request.m < 1 || request.n < 1 || request.k < 1)
    return {StatusCode::kInvalidArgument, "m, n and k must be at least 1"};
  return {};
}

}  // namespace

Result<std::string> calibrate_processor(const std::function<void(std::string_view)>& progress) {
  const Result<product::ProcessorRates> rates = exec::calibrate_processor(exec::environment(), progress);
  if (!rates.ok()) return rates.status();
  return exec::print_processor(exec::this_processor(), rates.value());
}

ProcessorCalibration processor_calibration() {
  const exec::ProcessorCalibration& found = exec::processor_calibration();
  return {found.path, found.is_used, found.why_unused};
}

Result<model::Prediction> predict_on_processor(const model::Request& request) {
  KIZAMI_RETURN_IF_ERROR(require_known(request));
  plan::Environment environment = exec::environment();
  const bool is_by_sheet = request.basis == model::Basis::kSheet;
  if (is_by_sheet) environment.facts.processor = {};
  Policy policy;
  policy.scheme = request.way == model::Way::kNative ? Scheme::kNative : Scheme::kOzaki2;
  if (policy.scheme == Scheme::kOzaki2) policy.forced_moduli = request.moduli;
  const Result<plan::Plan> plan = plan::make({request.scalar, request.m, request.n, request.k}, policy, environment);
  if (!plan.ok()) return plan.status();
  Prediction out = prediction_of(plan.value(), request);
  if (is_by_sheet || !exec::processor_calibration().is_used)
    out.doubts.emplace_back("rates are those of other processors; kizami calibrate --device cpu measures this one's");
  return out;
}

}  // namespace kizami
