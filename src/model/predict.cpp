// SPDX-License-Identifier: MIT
#include "kizami/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/phases.hpp"
#include "model/roofs.hpp"

namespace kizami::model {
namespace {

constexpr std::int64_t kDimLimit = std::int64_t{1} << 34;  // as of the library
constexpr int kMostSlices = 20;
constexpr int kMostModuli = 24;

[[nodiscard]] Status invalid(std::string reason) { return {StatusCode::kInvalidArgument, std::move(reason)}; }
[[nodiscard]] Status unsupported(std::string reason) { return {StatusCode::kUnsupported, std::move(reason)}; }

[[nodiscard]] Status check_shape(const Request& r) {
  const std::pair<const char*, std::int64_t> extents[] = {{"m", r.m}, {"n", r.n}, {"k", r.k}};
  for (const auto& [name, extent] : extents) {
    if (extent < 1 || extent >= kDimLimit)
      return invalid(fmt::format("{} = {}, must be in [1, {}]", name, extent, kDimLimit - 1));
  }
  return {};
}

[[nodiscard]] bool is_sliced(Way way) {
  return way == Way::kOzimmu || way == Way::kEf || way == Way::kEfS || way == Way::kEfL;
}

/// One product leaves tiles of the other triangle out: engine hopper's, of residues in INT8.
[[nodiscard]] Status check_triangle(const Request& r, ProgramName program) {
  if (!r.is_triangle) return {};
  if (r.m != r.n) return invalid(fmt::format("m = {}, must be n = {} for one triangle of C", r.m, r.n));
  if (r.way != Way::kOzaki2)
    return unsupported(fmt::format("way {} makes all of C, must be ozaki2 for one triangle", to_string(r.way)));
  if (program != ProgramName::kKizami)
    return unsupported(fmt::format("program {} makes all of C, must be kizami for one triangle", to_string(program)));
  if (format_of(r) != Format::kInt8)
    return unsupported(fmt::format("format {} makes all of C, must be int8 for one triangle", to_string(format_of(r))));
  if (static_cast<double>(r.k) > kLargestBlock)
    return unsupported(fmt::format("k = {}, must be at most {} for one triangle", r.k, kLargestBlock));
  return {};
}

[[nodiscard]] Status check_way(const Device& device, const Request& r, ProgramName program) {
  if (r.scalar == Scalar::kDD) return unsupported("type dd is of processors: the model has no phases for it");
  if (r.way == Way::kNative) return {};
  if (r.slices < 0 || r.slices > kMostSlices)
    return invalid(fmt::format("slices = {}, must be in [1, {}]", r.slices, kMostSlices));
  if (r.moduli < 0 || r.moduli > kMostModuli)
    return invalid(fmt::format("moduli = {}, must be in [1, {}]", r.moduli, kMostModuli));
  const Program& p = program_of(program, device.compute_capability);
  if (is_sliced(r.way) && !p.has_slices)
    return unsupported(fmt::format("program {} has no scheme in slices", to_string(program)));
  if (r.way == Way::kOzaki2 && !p.has_residues)
    return unsupported(fmt::format("program {} has no scheme ozaki2", to_string(program)));
  if (r.way == Way::kEc && program != ProgramName::kKizami && program != ProgramName::kPortable)
    return unsupported(fmt::format("program {} has no scheme ec", to_string(program)));
  if (r.way == Way::kEc && real_of(r.scalar) != Scalar::kF32)
    return unsupported(fmt::format("scheme ec is of f32 and c64, not of {}", to_string(r.scalar)));
  if (program == ProgramName::kKizami && device.compute_capability != 90)
    return unsupported(fmt::format("program kizami runs on compute capability 9.0, {} has {}.{}; portable is for all",
                                   device.name, device.compute_capability / 10, device.compute_capability % 10));
  const Rates rates = rates_of(device, Basis::kSheet, 1, 0);
  const Format format = format_of(r);
  if (rates.of(format) <= 0)
    return unsupported(fmt::format("{} has no products in {}, says its description", device.name, to_string(format)));
  if (r.way == Way::kOzaki2 && format != Format::kInt8 && format != Format::kFp8)
    return unsupported(fmt::format("scheme ozaki2 is of int8 or fp8, not of {}", to_string(format)));
  return {};
}

/// Whether seconds hang on it: neither on the power, nor on products in formats that the request has none of.
[[nodiscard]] bool is_asked(Fact fact, const Request& r) {
  const auto rate = std::ranges::find(kProductRate, fact);
  const bool is_product = rate != kProductRate.end();
  return is_product ? *rate == kProductRate[static_cast<std::size_t>(format_of(r))] : fact != Fact::kPowerW;
}

[[nodiscard]] std::vector<std::string> doubts_of(const Device& device, const Request& r, ProgramName program) {
  std::vector<std::string> out;
  for (std::size_t f = 0; f < kNumFacts; ++f) {
    const Quantity* const quantity = device.find_sheet(static_cast<Fact>(f));
    if (quantity == nullptr || !quantity->is_uncertain || !is_asked(static_cast<Fact>(f), r)) continue;
    std::string range;
    if (quantity->range) range = fmt::format(" ({} to {})", quantity->range->first, quantity->range->second);
    out.push_back(fmt::format("{} = {}{} is uncertain", to_string(static_cast<Fact>(f)), quantity->value, range));
  }
  const bool is_own = program == ProgramName::kKizami || program == ProgramName::kPortable;
  if (is_own && r.way != Way::kNative && device.compute_capability != 90)
    out.push_back(fmt::format("Kizami has not run on compute capability {}.{}", device.compute_capability / 10,
                              device.compute_capability % 10));
  if (is_own && r.way == Way::kOzaki2 && format_of(r) == Format::kFp8)
    out.emplace_back("Kizami has no kernels for moduli in FP8");
  return out;
}

void add_up(const Request& r, const Phases& phases, Prediction& out) {
  const double data = out.seconds_of(Part::kDataHandling);
  const double computation = out.seconds_of(Part::kComputation);
  out.seconds = phases.parts_overlap ? std::max(data, computation) : data + computation;
  out.tflops = flops_of(r) / out.seconds * 1e-12;
}

}  // namespace

double Prediction::seconds_of(Part part) const {
  double sum = 0;
  for (const PhaseTime& phase : phases) sum += phase.part == part ? phase.seconds : 0.0;
  return sum;
}

Result<Prediction> predict(const Device& device, const Request& request) {
  KIZAMI_RETURN_IF_ERROR(check_shape(request));
  const ProgramName program =
      request.program.value_or(device.compute_capability == 90 ? ProgramName::kKizami : ProgramName::kPortable);
  KIZAMI_RETURN_IF_ERROR(check_way(device, request, program));
  KIZAMI_RETURN_IF_ERROR(check_triangle(request, program));
  if (is_complex(request.scalar) && is_sliced(request.way) && request.complex_form == ComplexForm::kAuto) {
    std::optional<Prediction> best;
    for (const ComplexForm form : {ComplexForm::kKaratsuba, ComplexForm::kEnlarged, ComplexForm::kFour}) {
      Request of_form = request;
      of_form.complex_form = form;
      Result<Prediction> made = predict(device, of_form);
      if (!made.ok()) return made.status();
      if (!best || made.value().seconds < best->seconds) best = std::move(made).value();
    }
    return *best;
  }
  const Program& of_program = program_of(program, device.compute_capability);
  const Rates rates = rates_of(device, request.basis, of_program.copy_share, of_program.launch_seconds);
  Prediction out;
  Phases phases = phases_of(of_program, request, rates, false);
  out.phases = phases.times;
  out.products = phases.products;
  out.accumulators = phases.accumulators;
  out.has_quadrants = phases.has_quadrants;
  out.bound_tflops = flops_of(request) / (phases.operations / rates.of(format_of(request))) * 1e-12;
  add_up(request, phases, out);
  if (request.way != Way::kNative) out.program = to_string(program);
  if (is_complex(request.scalar) && is_sliced(request.way)) out.complex_form = to_string(request.complex_form);
  out.doubts = doubts_of(device, request, program);
  if (const Quantity* const left = device.find_measured(Fact::kSustainedShare); left && request.way != Way::kNative) {
    Prediction hot;
    hot.phases = phases_of(of_program, request, rates, true).times;
    for (PhaseTime& phase : hot.phases) {
      // Calls of a library are known by their bursts; tiles have their own limit.
      if (phase.part == Part::kComputation && !of_program.products.share_by_size.empty()) phase.seconds /= left->value;
    }
    add_up(request, phases, hot);
    out.sustained_seconds = std::max(hot.seconds, out.seconds);
    if (const Quantity* const power = device.find_measured(Fact::kProductPowerW))
      out.joules = *out.sustained_seconds * power->value;
  }
  return out;
}

}  // namespace kizami::model
