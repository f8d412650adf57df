// SPDX-License-Identifier: MIT
// One device's part of a call: its blocks, pass by pass, on streams of its own. Everything is enqueued; nothing here waits
// but wait().
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "multi/decision.hpp"
#include "multi/located.hpp"
#include "multi/plan.hpp"
#include "multi/resources.hpp"
#include "multi/schedule.hpp"
#include "num/rung.hpp"
#include "schemes/ozaki2/device_block.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::multi {

/// What a pass does with every block.
enum class Pass {
  kAlone,              ///< the whole call: C
  kCount,              ///< rungs as given
  kExponents,          ///< of the inner index
  kCountEquilibrated,  ///< rungs with the shifts of the whole
  kFinish,             ///< C, at the rung of the whole
  kSpeculate,          ///< rungs as given, and C if the lowest one is that of the whole
  kConfirm,            ///< behind kSpeculate: it is
};

template <class T>
class ShareRun {
 public:
  ShareRun(const MultiPlan& plan, const Share& share, const LocatedProblem<T>& problem)
      : plan_(plan), share_(share), problem_(problem) {}

  [[nodiscard]] const Share& share() const { return share_; }
  /// `status` with the device that it is of.
  [[nodiscard]] Status named(const Status& status) const {
    if (status.ok()) return {};
    return {status.code(), "device " + std::to_string(share_.device) + ": " + status.reason()};
  }

  /// @param before  events that all work waits for   @range the device is the current one, here and below
  Status prepare(std::span<std::byte> workspace, const Travels& travels, std::span<const cudaEvent_t> before);

  /// @param shifts of kCountEquilibrated, and of kFinish where selection.equilibrated
  Status enqueue(Pass pass, const num::Selection& selection, const InnerExponents* shifts);
  /// The first pass: kSpeculate, if that may be, or kCount.
  [[nodiscard]] Pass first_pass() const { return speculates_ ? Pass::kSpeculate : Pass::kCount; }
  /// The last pass for that selection; nothing where C is there already.
  [[nodiscard]] std::optional<Pass> last_pass(const num::Selection& selection) const;
  /// All that is enqueued.
  Status wait() const { return streams_.wait(); }

  /// What the states of the blocks say, behind wait() for a pass that counts; of kAlone one state a block.
  [[nodiscard]] const device::DeviceState& state(std::size_t block) const {
    return static_cast<const device::DeviceState*>(states_.data())[block];
  }
  /// Behind kExponents and wait(). @shape [k] of each operand
  void add_exponents(InnerExponents& exponents) const;
  /// The lines of certify::gain_line() that this device has, behind kCount and wait(). @shape a, b: [kGainLines][k] of the host
  Status read_samples(T* a, T* b) const;

 private:
  Status compute(Pass pass, const num::Selection& selection, const InnerExponents* shifts, std::size_t i_block,
                 const ozaki2::DeviceBlock<T>& block);
  Status count_equilibrated(const ozaki2::DeviceBlock<T>& block, const InnerExponents& shifts) const;
  /// Whether C of a guess leaves while the rest is made: where nothing but the guess is behind it.
  [[nodiscard]] bool leaves_in_parts(std::size_t i_block) const {
    return share_.is_resident && problem_.beta == T{0} && ozaki2::is_one_strassen_chunk(*share_.plans[i_block]);
  }
  /// Behind kSpeculate: what has left in parts was not C, but C is there now.
  [[nodiscard]] bool has_left_too_early(std::size_t i_block) const {
    return leaves_in_parts(i_block) && state(i_block).num_strassen_products == 0;
  }
  [[nodiscard]] bool has_nonfinite_lines(std::size_t i_block) const {
    return state(i_block).nonfinite_rows != 0 || state(i_block).nonfinite_cols != 0;
  }
  Status gather_samples(const Rect& rect, const ozaki2::DeviceBlock<T>& block) const;
  Status read_state(std::size_t i_block, const ozaki2::DeviceBlock<T>& block) const;

  const MultiPlan& plan_;
  const Share& share_;
  const LocatedProblem<T>& problem_;
  ShareBuffers buffers_;
  TakenStreams streams_;
  Events events_;  ///< of each step: StepEvents
  std::vector<Step> steps_;
  std::size_t num_done_ = 0;  ///< steps
  bool has_begun_ = false;    ///< blocks that are resident
  bool speculates_ = false;
  PinnedMemory states_;
  std::vector<std::int32_t> exponents_;  ///< [blocks][2][k]
};

}  // namespace kizami::multi
