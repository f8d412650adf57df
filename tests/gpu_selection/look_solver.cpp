// SPDX-License-Identifier: MIT
#include "gpu_selection/look_solver.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/carver.hpp"
#include "check/compare.hpp"
#include "check/operands.hpp"
#include "device_buffers.hpp"
#include "device_cases.hpp"
#include "device_region.hpp"
#include "exec/device_batch.hpp"
#include "gpu/device_problem.hpp"
#include "kizami/cuda.hpp"
#include "kizami/gemm.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_looks.hpp"

namespace kizami::gpu_test {
namespace {

using check::Case;
using check::Which;
using cli::CaseAnswer;
using cli::check_cuda;
using cli::SolvedCase;
using device::Look;

constexpr std::array<std::string_view, Coverage::kNumEvents> kEventNames{
    "of_sample",    "of_blocks", "of_blocks_first", "failed_sample", "rung_above",
    "equilibrated", "repaired",  "only_fp64",       "nonfinite",     "chunked"};
constexpr unsigned char kPoison = 0xA5;

/// In the order of Look.
constexpr std::array<std::string_view, 3> kLookNames{"sample", "blocks", "blocks_first"};
[[nodiscard]] std::string_view name_of(Look look) { return kLookNames[static_cast<std::size_t>(look)]; }
/// For messages.
[[nodiscard]] std::string named(std::optional<Look> look) {
  return look ? fmt::format("look {}", name_of(*look)) : "look of its own";
}

/// What one look of a case came to.
struct Looked {
  CaseAnswer answer;
  std::string fault;
  Outcome outcome;
  device::DeviceState state;
};

/// A plan of the device that has the numerics of the host, or why there is none.
[[nodiscard]] Result<Plan> planned(const Case& spec) {
  Result<Plan> on_device = cuda::make_plan(spec.scalar, spec.m, spec.n, spec.k, spec.policy);
  if (!on_device.ok()) return on_device;
  const Result<Plan> on_host = make_plan(spec.scalar, spec.m, spec.n, spec.k, cli::host_policy(spec));
  if (!on_host.ok()) return on_host;
  if (cli::promise_same_bits(on_device.value(), on_host.value())) return on_device;
  return Status{StatusCode::kInternal, "the plan of the device has other numerics than that of the host"};
}

class LookSolver final : public cli::CaseSolver {
 public:
  explicit LookSolver(Coverage& coverage) : coverage_(coverage) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~LookSolver() override { static_cast<void>(cudaStreamDestroy(stream_)); }
  LookSolver(const LookSolver&) = delete;
  LookSolver& operator=(const LookSolver&) = delete;

  SolvedCase solve(const Case& spec) override {
    return with_scalar(spec.scalar, [&]<class T>() { return solve_as<T>(spec); });
  }
  std::string difference(const Case& spec) override {
    return with_scalar(spec.scalar, [&]<class T>() { return difference_as<T>(spec); });
  }

 private:
  template <class T>
  SolvedCase solve_as(const Case& spec);
  template <class T>
  std::string difference_as(const Case& spec);
  template <class T>
  Looked run(const Case& spec, const plan::Plan& plan, std::optional<Look> look, check::Operands<T>& x);
  template <class T>
  std::string copied_back(check::Operands<T>& x, const cli::Region<T>& region);
  void count(const plan::Plan& plan, const Looked& looked);

  Coverage& coverage_;
  cudaStream_t stream_ = nullptr;
  cli::GrowingBuffer<false> device_, workspace_;
  cli::GrowingBuffer<true> before_, after_;
};

/// The looks of a plan; nothing: the one that it takes by itself, which is a sample.
[[nodiscard]] std::vector<std::optional<Look>> looks_of(const plan::Plan& plan) {
  if (!ozaki2::takes_any_look(plan)) return {std::nullopt};
  return {std::nullopt, Look::kSample, Look::kBlocks, Look::kBlocksFirst};
}

/// What must hold of the state of a call beside its outcome. @return what does not; empty: nothing
[[nodiscard]] std::string state_fault(const Looked& looked, std::optional<Look> look) {
  const device::DeviceState& state = looked.state;
  if (state.is_scaling_only != 0) return {};
  if (look && state.look != *look) return fmt::format("it looked at {}", name_of(state.look));
  if (state.look != Look::kSample && (state.has_rungs != 1 || state.sampled_failures != 0))
    return "it made no rungs of blocks, or a sample beside them";
  if (state.selection.rung >= 0 && static_cast<std::int64_t>(state.num_repairs) != state.selection.num_repaired)
    return fmt::format("{} repairs are listed, {} selected", state.num_repairs, state.selection.num_repaired);
  return {};
}

/// The call with operands as in `x`, whose C becomes the result.
template <class T>
Looked LookSolver::run(const Case& spec, const plan::Plan& plan, std::optional<Look> look, check::Operands<T>& x) {
  const cli::Region<T> region(spec, x);
  std::byte* const before = before_.reserve(region.bytes());
  std::byte* const device = device_.reserve(region.bytes());
  std::memset(before, kPoison, region.bytes());
  const check::Operand<T>* const operands[] = {&x.a, &x.b, &x.c};
  for (const Which which : {Which::kA, Which::kB, Which::kC}) {
    const std::span<const T> elems = operands[static_cast<std::size_t>(which)]->guarded();
    std::memcpy(before + region.guarded(which, 0), elems.data(), elems.size_bytes());
  }
  const T factors[] = {check::alpha_of<T>(spec), check::beta_of<T>(spec)};
  std::memcpy(before + region.factors(), factors, sizeof factors);
  check_cuda(cudaMemcpyAsync(device, before, region.bytes(), cudaMemcpyHostToDevice, stream_), "copying operands");

  // What the look before has left would be right.
  const std::size_t bytes = plan.schedule.workspace_bytes;
  std::byte* const workspace = workspace_.reserve(bytes);
  check_cuda(cudaMemsetAsync(workspace, kPoison, bytes, stream_), "writing poison");
  const T* const in_memory = reinterpret_cast<const T*>(device + region.factors());
  const auto factor = [&](std::size_t i) {
    return spec.has_device_factors ? Factor<T>::at(in_memory + i) : Factor<T>(factors[i]);
  };
  const auto at = [&](Which which) { return reinterpret_cast<T*>(device + region.matrix(which, 0)); };
  device::DeviceProblem<T> problem =
      device_problem<T>(spec, factor(0), at(Which::kA), at(Which::kB), factor(1), at(Which::kC));
  problem.look = look;
  Looked looked;
  looked.state.is_scaling_only = 1;
  Status status =
      exec::run_device<T>(plan, std::span<const device::DeviceProblem<T>>(&problem, 1), {workspace, bytes}, stream_);
  if (status.ok())
    status = exec::read_device_outcomes(plan, {workspace, bytes}, stream_, std::span(&looked.outcome, 1));
  looked.fault = copied_back(x, region);
  if (!status.ok()) return looked.answer = cli::refusal(status), looked;
  if (looked.outcome.engine != "none") {
    base::Carver carver(workspace);
    check_cuda(cudaMemcpyAsync(&looked.state, ozaki2::carve_device(carver, plan).state, sizeof looked.state,
                               cudaMemcpyDeviceToHost, stream_),
               "copying the state");
    check_cuda(cudaStreamSynchronize(stream_), "waiting for the state");
  }
  if (looked.fault.empty()) looked.fault = state_fault(looked, look);
  cli::BitsHash hash;
  hash.add(std::as_const(x).c.view());
  looked.answer.bits = hash.value();
  looked.answer.outcome = cli::outcome_text(looked.outcome);
  return looked;
}

/// C comes back into the operands. @return what was written besides; empty: nothing
template <class T>
std::string LookSolver::copied_back(check::Operands<T>& x, const cli::Region<T>& region) {
  const std::byte* const before = before_.reserve(region.bytes());
  std::byte* const after = after_.reserve(region.bytes());
  check_cuda(cudaMemcpyAsync(after, device_.reserve(region.bytes()), region.bytes(), cudaMemcpyDeviceToHost, stream_),
             "copying results");
  check_cuda(cudaStreamSynchronize(stream_), "waiting for a product");
  const auto is_changed = [&](Which which, std::size_t bytes) {
    const std::size_t first = region.guarded(which, 0);
    return std::memcmp(before + first, after + first, bytes) != 0;
  };
  if (is_changed(Which::kA, x.a.guarded().size_bytes())) return "A or its padding was written";
  if (is_changed(Which::kB, x.b.guarded().size_bytes())) return "B or its padding was written";
  std::memcpy(x.c.guarded().data(), after + region.guarded(Which::kC, 0), x.c.guarded().size_bytes());
  const check::Verdict intact = x.c.canaries_intact();
  return intact ? "" : intact.message;
}

void LookSolver::count(const plan::Plan& plan, const Looked& looked) {
  const auto add = [&](Coverage::Event event, bool has_come) {
    if (has_come) ++coverage_.counts[event];
  };
  const device::DeviceState& state = looked.state;
  if (!looked.answer.status.ok() || looked.outcome.engine == "none" || state.is_scaling_only != 0) return;
  add(static_cast<Coverage::Event>(Coverage::kOfSample + static_cast<int>(state.look)),
      ozaki2::ozaki2_of(plan).has_certificate);
  add(Coverage::kFailedSample, state.look == Look::kSample && state.sampled_failures > 0);
  add(Coverage::kRungAbove, looked.outcome.rung > 0);
  add(Coverage::kEquilibrated, looked.outcome.equilibrated);
  add(Coverage::kRepaired, looked.outcome.rung >= 0 && looked.outcome.repaired > 0);
  add(Coverage::kOnlyFp64, looked.outcome.rung < 0);
  add(Coverage::kNonFinite, looked.outcome.nonfinite_rows + looked.outcome.nonfinite_cols > 0);
  add(Coverage::kChunked, ozaki2::ozaki2_of(plan).has_certificate && !ozaki2::splits_in_one_pass(plan));
}

template <class T>
SolvedCase LookSolver::solve_as(const Case& spec) {
  SolvedCase out;
  const Result<Plan> plan = planned(spec);
  if (!plan.ok()) return out.answer = cli::refusal(plan.status()), out;
  out.promises_bits = true;
  const std::vector<std::optional<Look>> looks = looks_of(plan.value().impl());
  std::optional<Looked> first;
  for (const std::optional<Look>& look : looks) {
    check::Operands<T> x(spec);
    Looked looked = run<T>(spec, plan.value().impl(), look, x);
    count(plan.value().impl(), looked);
    const std::string who = named(look) + ": ";
    if (!looked.fault.empty()) out.fault = who + looked.fault;
    if (!first) {
      first = std::move(looked);
    } else if (looked.answer.bits != first->answer.bits || looked.answer.outcome != first->answer.outcome) {
      out.fault = fmt::format("{}C has hash {:016x}, outcome {}; of its own {:016x}, {}", who, looked.answer.bits,
                              looked.answer.outcome, first->answer.bits, first->answer.outcome);
    }
    if (!out.fault.empty()) break;
  }
  out.answer = first->answer;
  const Outcome& outcome = first->outcome;
  out.how = outcome.engine == "none"
                ? std::string("none")
                : fmt::format("{} {}, {} looks, rung {}{}{}", to_string(outcome.scheme), outcome.engine, looks.size(),
                              outcome.rung < 0    ? "none"
                              : outcome.rung == 0 ? "0"
                                                  : "above",
                              outcome.equilibrated ? ", equilibrated" : "",
                              outcome.rung >= 0 && outcome.repaired > 0 ? ", repaired" : "");
  return out;
}

template <class T>
std::string LookSolver::difference_as(const Case& spec) {
  const Result<Plan> plan = planned(spec);
  if (!plan.ok()) return plan.status().reason();
  check::Operands<T> want(spec);
  const Status status = gemm<T>(spec.layout, spec.op_a, spec.op_b, spec.m, spec.n, spec.k, check::alpha_of<T>(spec),
                                want.a.data(), want.a.ld(), want.b.data(), want.b.ld(), check::beta_of<T>(spec),
                                want.c.data(), want.c.ld(), cli::host_policy(spec));
  if (!status.ok()) return "the host refuses it: " + status.reason();
  for (const std::optional<Look>& look : looks_of(plan.value().impl())) {
    check::Operands<T> x(spec);
    const Looked looked = run<T>(spec, plan.value().impl(), look, x);
    const std::string who = named(look) + ": ";
    if (!looked.answer.status.ok()) return who + looked.answer.status.reason();
    if (!looked.fault.empty()) return who + looked.fault;
    const check::Verdict same = check::promised_bits_equal<T>(std::as_const(x).c.view(), std::as_const(want).c.view());
    if (!same) return who + same.message;
  }
  return "computed again, the device gives the host's bits with every look";
}

}  // namespace

std::string Coverage::text() const {
  std::string out;
  for (std::size_t e = 0; e < kNumEvents; ++e)
    out += fmt::format("{}{} {}", e > 0 ? ", " : "", counts[e].load(), kEventNames[e]);
  return out;
}

std::string Coverage::missing() const {
  std::string out;
  for (std::size_t e = 0; e < kNumEvents; ++e) {
    if (counts[e] == 0) out += fmt::format("{}{}", out.empty() ? "" : ", ", kEventNames[e]);
  }
  return out;
}

std::unique_ptr<cli::CaseSolver> look_solver(Coverage& coverage) { return std::make_unique<LookSolver>(coverage); }

}  // namespace kizami::gpu_test
