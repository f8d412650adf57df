// SPDX-License-Identifier: MIT
#include "multi/run.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/default_threads.hpp"
#include "base/instantiate.hpp"
#include "certify/equilibration_gain.hpp"
#include "exec/device_call.hpp"
#include "exec/outcome.hpp"
#include "multi/decision.hpp"
#include "multi/resources.hpp"
#include "multi/share_run.hpp"
#include "multi/source_turns.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "schemes/ozaki2/whole.hpp"

namespace kizami::multi {
namespace {

template <class T>
class Call final : private ozaki2::Part {
 public:
  Call(const MultiPlan& plan, const LocatedProblem<T>& problem) : plan_(plan), problem_(problem) {
    SourceTurns* const turns = copies_take_turns(plan) ? &turns_ : nullptr;
    for (const Share& share : plan.shares)
      shares_.push_back(std::make_unique<ShareRun<T>>(plan, share, problem, turns));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// Whatever happened: what is enqueued uses the caller's memory.
  ~Call() override { static_cast<void>(wait()); }

  Status run(std::span<const Travels> travels, std::span<const std::span<std::byte>> workspaces, Outcome& outcome) {
    KIZAMI_RETURN_IF_ERROR(prepare(travels, workspaces));
    if (!plan_.has_exchange || !problem_.has_terms(plan_)) {
      KIZAMI_RETURN_IF_ERROR(enqueue(Pass::kAlone));
      KIZAMI_RETURN_IF_ERROR(wait());
      report_blocks(outcome);
      return {};
    }
    KIZAMI_RETURN_IF_ERROR(enqueue([](const ShareRun<T>& share) { return std::optional(share.first_pass()); }));
    KIZAMI_RETURN_IF_ERROR(decide(
        stage(), plan_.shape.k, *this, [this](std::int32_t& gain) { return find_gain(gain); }, nullptr, counts_,
        selection_));
    KIZAMI_RETURN_IF_ERROR(require_what_is_needed(*plan_.whole, counts_, selection_));
    KIZAMI_RETURN_IF_ERROR(enqueue([&](const ShareRun<T>& share) { return share.last_pass(selection_); }));
    KIZAMI_RETURN_IF_ERROR(wait());
    outcome = exec::device_outcome(*plan_.whole, state_of_whole());
    return {};
  }

 private:
  [[nodiscard]] const ozaki2::Ozaki2Stage& stage() const { return ozaki2::ozaki2_of(*plan_.whole); }

  /// Calls visit(share) for all, each with its device current. The first error ends it, with the device's name.
  template <class Visit>
  Status for_each(const Visit& visit) {
    for (const std::unique_ptr<ShareRun<T>>& share : shares_) {
      KIZAMI_RETURN_IF_ERROR(return_to_device(share->share().device));
      KIZAMI_RETURN_IF_ERROR(share->named(visit(*share)));
    }
    return {};
  }

  /// Streams that begin after what the default streams of all devices have that hold a part.
  Status prepare(std::span<const Travels> travels, std::span<const std::span<std::byte>> workspaces) {
    std::set<int> devices;
    for (const Share& share : plan_.shares) devices.insert(share.device);
    const auto add = [&](const auto& matrix) { devices.insert(matrix.devices.begin(), matrix.devices.end()); };
    add(problem_.a);
    add(problem_.b);
    add(problem_.c);
    devices.erase(kHost);
    std::vector<cudaEvent_t> before;
    for (const int device : devices) {
      KIZAMI_RETURN_IF_ERROR(set_device(device));
      before_.push_back(std::make_unique<Events>());
      KIZAMI_RETURN_IF_ERROR(before_.back()->take(device, 1));
      before.push_back(before_.back()->at(0));
      KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaEventRecord(before.back(), nullptr), "cudaEventRecord"));
    }
    is_idle_ = false;
    std::size_t i = 0;
    return for_each([&](ShareRun<T>& share) {
      const std::size_t at = i++;
      return share.prepare(workspaces[at], travels[at], before);
    });
  }

  /// The pass of each share that pass_of(share) names, if any. What comes into all devices is asked for in rounds, a copy each, and before
  /// the kernels that read it: so devices begin together, and those of a round read from different sources. Kernels of the
  /// operand that comes first are asked for while it comes.
  template <class PassOf>
  Status enqueue(const PassOf& pass_of) {
    const InnerExponents* const shifts = shifts_ ? &*shifts_ : nullptr;
    int num_steps = 0;
    KIZAMI_RETURN_IF_ERROR(for_each([&](ShareRun<T>& share) {
      Status status = share.begin_pass(pass_of(share), selection_, shifts);
      num_steps = std::max(num_steps, share.num_steps());
      return status;
    }));
    if (num_steps == 0) return {};
    is_idle_ = false;
    for (int i = 0; i < num_steps; ++i) {
      KIZAMI_RETURN_IF_ERROR(ask_in_rounds(i, Extent::kFirstOperand));
      KIZAMI_RETURN_IF_ERROR(for_each([i](ShareRun<T>& share) { return share.compute_first(i); }));
      KIZAMI_RETURN_IF_ERROR(ask_in_rounds(i, Extent::kAll));
      KIZAMI_RETURN_IF_ERROR(for_each([i](ShareRun<T>& share) { return share.compute(i); }));
      if (i > 0) KIZAMI_RETURN_IF_ERROR(for_each([i](ShareRun<T>& share) { return share.send(i - 1); }));
    }
    return for_each([num_steps](ShareRun<T>& share) { return share.send(num_steps - 1); });
  }
  /// What may come before the kernels of step i.
  Status ask_in_rounds(int i, Extent extent) {
    for (bool has_asked = true; has_asked;) {
      has_asked = false;
      KIZAMI_RETURN_IF_ERROR(for_each([&](ShareRun<T>& share) { return share.ask(i, extent, has_asked); }));
    }
    return {};
  }
  Status enqueue(Pass pass) {
    return enqueue([pass](const ShareRun<T>&) { return std::optional(pass); });
  }

  /// For all shares, also behind one that failed. @return the first error
  Status wait() {
    if (is_idle_) return {};
    std::optional<Status> first;
    for (const std::unique_ptr<ShareRun<T>>& share : shares_) {
      const Status there = return_to_device(share->share().device);
      Status status = there.ok() ? share->named(share->wait()) : there;
      if (!status.ok() && !first) static_cast<void>(first.emplace(std::move(status)));  // nvcc: nothing is discarded
    }
    if (first) return *std::move(first);
    is_idle_ = true;
    return {};
  }

  /// Visits (share, block, its rectangle).
  template <class Visit>
  void for_each_block(const Visit& visit) const {
    for (const std::unique_ptr<ShareRun<T>>& share : shares_) {
      for (std::size_t i = 0; i < share->share().blocks.size(); ++i) visit(*share, i, share->share().blocks[i]);
    }
  }

  // ---- what blocks have counted -------------------------------------------------------------------------------------

  /// Behind the first pass.
  Status count(Counts& counts) override {
    KIZAMI_RETURN_IF_ERROR(wait());
    for_each_block([&](const ShareRun<T>& share, std::size_t i, const Rect& rect) {
      add_block(share.state(i), rect.rows * rect.cols, plan_.counts_rows(rect), plan_.counts_cols(rect), counts,
                plan_.times_of(rect));
    });
    return {};
  }

  Status find_exponents(std::span<std::int32_t> a, std::span<std::int32_t> b) override {
    KIZAMI_RETURN_IF_ERROR(enqueue(Pass::kExponents));
    KIZAMI_RETURN_IF_ERROR(wait());
    InnerExponents exponents(plan_.shape.k);
    for (const std::unique_ptr<ShareRun<T>>& share : shares_) share->add_exponents(exponents);
    std::copy(exponents.a().begin(), exponents.a().end(), a.begin());
    std::copy(exponents.b().begin(), exponents.b().end(), b.begin());
    return {};
  }

  Status count_equilibrated(std::span<const std::int32_t> a, std::span<const std::int32_t> b, Counts& counts) override {
    static_cast<void>(shifts_.emplace(plan_.shape.k));
    shifts_->add(a, b);
    KIZAMI_RETURN_IF_ERROR(enqueue(Pass::kCountEquilibrated));
    KIZAMI_RETURN_IF_ERROR(wait());
    for_each_block([&](const ShareRun<T>& share, std::size_t i, const Rect& rect) {
      add_equilibrated(share.state(i), counts, plan_.times_of(rect));
    });
    return {};
  }

  Status find_gain(std::int32_t& gain) {
    is_idle_ = false;
    const std::size_t count = static_cast<std::size_t>(certify::kGainLines) * static_cast<std::size_t>(plan_.shape.k);
    std::vector<T> a(count);
    std::vector<T> b(count);
    KIZAMI_RETURN_IF_ERROR(for_each([&](ShareRun<T>& share) { return share.read_samples(a.data(), b.data()); }));
    KIZAMI_RETURN_IF_ERROR(wait());
    gain = gain_of_samples(a.data(), b.data(), plan_.shape.k, base::default_threads());
    return {};
  }

  /// The state that a call of the whole by itself would end with, as far as it is reported.
  [[nodiscard]] device::DeviceState state_of_whole() const {
    device::DeviceState state;
    state.selection = selection_;
    state.nonfinite_rows = static_cast<std::uint64_t>(counts_.nonfinite_rows);
    state.nonfinite_cols = static_cast<std::uint64_t>(counts_.nonfinite_cols);
    return state;
  }

  /// Of blocks that were calls by themselves.
  void report_blocks(Outcome& outcome) const {
    const plan::Plan& whole = *plan_.whole;
    if (whole.first().scheme == Scheme::kNative && problem_.has_terms(plan_)) {
      outcome = {};
      outcome.engine = whole.first().engine_name();
      outcome.bound = whole.first().bound;
      outcome.gauge = whole.first().gauge;
      outcome.is_conditional = true;  // nobody has looked at the elements
      return;
    }
    device::DeviceState nothing;
    nothing.is_scaling_only = 1;
    outcome = exec::device_outcome(whole, nothing);
    if (!problem_.has_terms(plan_)) return;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    for_each_block([&](const ShareRun<T>& share, std::size_t i, const Rect& rect) {
      const Outcome one = exec::device_outcome(*share.share().plans[i], share.state(i));
      exec::add_outcome(one, outcome);
      rows += plan_.counts_rows(rect) ? one.nonfinite_rows : 0;
      cols += plan_.counts_cols(rect) ? one.nonfinite_cols : 0;
    });
    outcome.nonfinite_rows = rows;
    outcome.nonfinite_cols = cols;
  }

  const MultiPlan& plan_;
  const LocatedProblem<T>& problem_;
  std::vector<std::unique_ptr<Events>> before_;  ///< one a device
  SourceTurns turns_;
  std::vector<std::unique_ptr<ShareRun<T>>> shares_;
  bool is_idle_ = true;  ///< nothing is enqueued
  Counts counts_;
  num::Selection selection_;
  std::optional<InnerExponents> shifts_;
};

}  // namespace

template <class T>
Status run_shares(const MultiPlan& plan, const LocatedProblem<T>& problem, std::span<const Travels> travels,
                  std::span<const std::span<std::byte>> workspaces, Outcome& outcome) {
  return Call<T>(plan, problem).run(travels, workspaces, outcome);
}

#define KIZAMI_INSTANTIATE(T)                                                                         \
  template Status run_shares<T>(const MultiPlan&, const LocatedProblem<T>&, std::span<const Travels>, \
                                std::span<const std::span<std::byte>>, Outcome&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
