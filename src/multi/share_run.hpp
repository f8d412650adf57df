// SPDX-License-Identifier: MIT
// One device's part of a call: its blocks, pass by pass, on streams of its own. What comes, kernels and what leaves are asked
// for one by one, so that whoever has several devices decides whose come first (run.cuda.cpp). Everything is enqueued;
// nothing here waits but wait().
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "multi/carrier.hpp"
#include "multi/decision.hpp"
#include "multi/located.hpp"
#include "multi/pieces.hpp"
#include "multi/plan.hpp"
#include "multi/resources.hpp"
#include "multi/schedule.hpp"
#include "multi/source_turns.hpp"
#include "num/rung.hpp"
#include "schemes/ozaki2/device_block.hpp"

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

inline constexpr auto kMostParts = static_cast<std::size_t>(kMostPanelParts);

/// Where a block finds a part of an operand or of C.
template <class E>
struct Found {
  MatrixView<E> view;
  bool is_staged = false;
};

/// An operand of a step.
template <class T>
struct StepOperand {
  const Located<const T>* matrix = nullptr;
  Rect panel;  ///< of the matrix
  PanelLines lines = PanelLines::kRows;
  Found<const T> found;
  int num_parts = 0;                              ///< that come; 0: it is there, or a step before brings it
  std::array<CUevent_st*, kMostParts> here = {};  ///< behind each of them
};

/// A step of the pass that is asked for.
template <class T>
struct StepRun {
  int number = 0;
  Step step;
  StepOperand<T> a;
  StepOperand<T> b;
  Found<T> c;
  int c_free_after = kNoStep;  ///< the step whose C must have left the place of c
  bool comes_apart = false;    ///< what is there of operands is split while the rest comes
  std::size_t first_end = 0;   ///< arrivals up to the operand that comes first
  bool brings_c = false;
  bool leaves = false;
  bool leaves_in_parts = false;
  std::array<CUevent_st*, kMostParts> parts_of_c = {};  ///< behind each of them
  ozaki2::DeviceBlock<T> block;
};

/// How much is asked for.
enum class Extent {
  kFirstOperand,  ///< up to the operand of a step that comes first
  kAll,
};

template <class T>
class ShareRun {
 public:
  /// @param turns  of all shares of the call; null: copies of this share wait for no others
  ShareRun(const MultiPlan& plan, const Share& share, const LocatedProblem<T>& problem, SourceTurns* turns)
      : plan_(plan), share_(share), problem_(problem), turns_(turns) {}

  [[nodiscard]] const Share& share() const { return share_; }
  /// `status` with the device that it is of.
  [[nodiscard]] Status named(const Status& status) const {
    if (status.ok()) return {};
    return {status.code(), "device " + std::to_string(share_.device) + ": " + status.reason()};
  }

  /// @param before  events that all work waits for   @range the device is the current one, here and below
  Status prepare(std::span<std::byte> workspace, const Travels& travels, std::span<const cudaEvent_t> before);

  /// Begins a pass, or one that leaves this share alone. Each of its steps is then asked for in this order: what it wants,
  /// compute_first(), compute(); and send() behind compute() of the step behind it, so that C that holds the host up holds no
  /// kernels up.
  /// @param shifts of kCountEquilibrated, and of kFinish where selection.equilibrated
  Status begin_pass(std::optional<Pass> pass, const num::Selection& selection, const InnerExponents* shifts);
  [[nodiscard]] int num_steps() const { return static_cast<int>(running_.size()); }
  /// The next copy of what comes for the pass, if it may be asked for before the kernels of step i.
  Status ask(int i, Extent extent, bool& has_asked);
  /// Of step i what waits for the operand that comes first alone, if there is any such.
  Status compute_first(int i);
  Status compute(int i);
  Status send(int i);
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
  void begin_step(std::size_t i);
  Status begin_part(const StepOperand<T>& operand, const Arrival& arrival);
  Status bring_holding(const StepOperand<T>& operand, const Holding& holding);
  Status end_part(const StepOperand<T>& operand);
  Status bring_c(const StepRun<T>& run, const Arrival& arrival);
  [[nodiscard]] cudaEvent_t event(int step, std::size_t which) const;
  [[nodiscard]] Carrier inwards() const { return {share_.device, streams_.get().in()}; }
  [[nodiscard]] Carrier outwards() const { return {share_.device, streams_.get().out()}; }
  [[nodiscard]] std::size_t block_of(const StepRun<T>& run) const { return static_cast<std::size_t>(run.step.block); }
  [[nodiscard]] const Rect& rect_of(const StepRun<T>& run) const { return share_.blocks[block_of(run)]; }
  /// Whether the pass makes C.
  [[nodiscard]] bool writes_c() const {
    return pass_ == Pass::kAlone || pass_ == Pass::kFinish || pass_ == Pass::kSpeculate;
  }
  /// Whether C leaves behind the pass. A guess leaves the device at once where it may be overwritten.
  [[nodiscard]] bool leaves(std::size_t i_block) const;

  Status validate(const ozaki2::DeviceBlock<T>& block) const;
  Status run_block(std::size_t i_block, const ozaki2::DeviceBlock<T>& block);
  Status count_equilibrated(const ozaki2::DeviceBlock<T>& block, const InnerExponents& shifts) const;
  /// Whether C of a guess leaves while the rest is made: where nothing but the guess is behind it.
  [[nodiscard]] bool leaves_in_parts(std::size_t i_block) const {
    return share_.is_resident && problem_.beta == T{0} && plan_.is_strassen_product(share_, i_block);
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
  SourceTurns* const turns_;
  ShareBuffers buffers_;
  TakenStreams streams_;
  Events events_;         ///< one for branches, again and again; of each step: StepEvents
  Events behind_copies_;  ///< one each, of those that take turns
  std::size_t num_copies_ = 0;
  bool has_waited_ = false;  ///< something that comes, for kernels
  std::vector<Step> steps_;
  PlacesOfC places_of_c_{0};
  int num_done_ = 0;        ///< steps
  bool has_begun_ = false;  ///< blocks that are resident
  bool speculates_ = false;
  PinnedMemory states_;
  std::vector<std::int32_t> exponents_;  ///< [blocks][2][k]
  // The pass that is asked for.
  Pass pass_ = Pass::kAlone;
  num::Selection selection_;
  const InnerExponents* shifts_ = nullptr;
  std::vector<StepRun<T>> running_;
  std::vector<Arrival> arrivals_;
  std::size_t next_arrival_ = 0;
  int next_part_ = 0;
  std::vector<Holding> coming_;  ///< over links, of that part
  std::size_t next_copy_ = 0;
};

}  // namespace kizami::multi
