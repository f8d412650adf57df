// SPDX-License-Identifier: MIT
// The operands of one device call, split and judged: statistics, digits for the certificate, and residue planes, those of
// the lowest rung before anybody knows the rung where the plan says so. Every member that returns a Status enqueues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "certify/device_certifier.hpp"
#include "device/effort_word.hpp"
#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"
#include "schemes/ozaki2/device_block.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_looks.hpp"
#include "schemes/ozaki2/device_own_phases.hpp"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/device_strassen.hpp"
#include "schemes/ozaki2/stage.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::ozaki2 {

/// One operand during a call.
template <class T>
struct CallOperand {
  problem::Lines<T> lines;
  device::DeviceLineBuffers buffers;
  std::int64_t loaded_line = -1;  ///< of the residue planes that are there
  std::int64_t loaded_inner = -1;
  std::int64_t summed_line = -1;                             ///< of the planes of sums of quadrants
  std::optional<DevicePreparedBuffers> kept = std::nullopt;  ///< of a prepared one
};

/// A block of C and of k: lines [i, i + num_i) of A, [j, j + num_j) of B, elements [h, h + length).
struct OperandBlock {
  std::int64_t i = 0;
  std::int64_t num_i = 0;
  std::int64_t j = 0;
  std::int64_t num_j = 0;
  std::int64_t h = 0;
  std::int64_t length = 0;
};

template <class T>
class DeviceOperands {
 public:
  /// @param state  where that of the call is; null: in the workspace
  DeviceOperands(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                 device::DeviceState* state, product::Queue queue);

  [[nodiscard]] const DeviceBuffers& buffers() const { return buffers_; }
  [[nodiscard]] device::DeviceState* state() const { return buffers_.state; }
  [[nodiscard]] const CallOperand<T>& a() const { return a_; }
  [[nodiscard]] const CallOperand<T>& b() const { return b_; }
  [[nodiscard]] bool has_kept() const { return a_.kept || b_.kept; }
  /// device_main_product() and strassen_product() of this call, whose planes have residues 0 .. p - 1 in bytes without sign where
  /// the engine gains by it, a sum over k fits, and nothing is kept of an operand: what is kept, any engine may read.
  [[nodiscard]] product::ProductDesc product_of(const plan::Chunk& chunk, int num_moduli) const;
  [[nodiscard]] product::ProductDesc product_of_sums() const;
  /// The lowest rung has answered the call before without a repair. Kernels that only wider elements want are not enqueued then,
  /// where another does the same more slowly: one of the CRT, and that of repairs.
  [[nodiscard]] bool expects_lowest_rung() const { return expects_lowest_rung_; }
  /// What is learned of the call, where it is to be told.
  [[nodiscard]] const device::LookReport& look_report() const { return look_report_; }
  [[nodiscard]] std::int32_t num_planes(int rung) const;
  [[nodiscard]] certify::DeviceCertifier<T> certifier() const;
  [[nodiscard]] DeviceOwnPhases own_phases() const { return {plan_, buffers_.phases, state(), queue_}; }
  /// Pairs that the certificate leaves to repairs go there.
  void take_repairs(device::Pair* repairs, std::int64_t capacity);
  [[nodiscard]] std::int64_t repair_capacity() const { return repair_capacity_; }

  // ---- before the rung is known -------------------------------------------------------------------------------------

  /// What is known of the call before its elements.
  void expect(const NextLook& next);
  /// Behind expect(): whether Strassen's products may answer.
  [[nodiscard]] bool takes_strassen() const { return takes_strassen_; }
  [[nodiscard]] bool may_take_strassen(const NextLook& next) const;
  /// State, statistics, and what the split makes before a rung is known. Behind expect().
  Status begin(const NextLook& next);

  /// Whether operands come one after the other, and by Strassen's products in parts: what is there is then split for a
  /// sample and a rung that nobody has agreed to yet. Behind expect().
  [[nodiscard]] bool begins_by_sides(const NextLook& next, const BlockEvents& events) const;
  /// In place of begin(): of the operand that comes first, then of the other one.
  Status begin_first_side(const BlockEvents& events);
  Status begin_second_side(const NextLook& next, const BlockEvents& events);
  /// For all of what comes.
  Status wait_for_all(const BlockEvents& events) const;

  // ---- planes to multiply ---------------------------------------------------------------------------------------------

  /// Where the planes of prepared operands are when they are multiplied.
  enum class Source : std::uint8_t {
    kMade,   ///< in the workspace: nothing is prepared, the rung is another one, or they are copied there
    kKept,   ///< in their own memory
    kEither  ///< the device knows: a product of each, of which one finds no planes
  };
  [[nodiscard]] Source source() const;
  /// Whether a call with prepared operands stays at the lowest rung, of lines as given: the host knows it.
  void stay_lowest(bool stays) { stays_lowest_ = stays; }
  /// Where planes of the lowest rung would be are those of sums of quadrants.
  void has_sums(bool has) { has_sums_ = has; }
  /// @param count  device memory; not 0 there: sums of quadrants are multiplied, not planes. Null: planes are
  void multiply_sums_unless_zero(const std::int32_t* count) { by_sums_ = count; }

  /// Residue planes of a block, unless they are there.
  Status load_planes(const OperandBlock& block, const DevicePlanes& a_planes, const DevicePlanes& b_planes);
  /// Planes of the sums of quadrants of its lines, whole ones, unless they are there.
  Status load_sums(const OperandBlock& block, const StrassenHalves& halves);

  /// Planes up to which those of conjugates are those of the numbers, in another order.
  static constexpr int kSwappedPlanes = 2 * num::kTwoProductModuli;
  /// Those of B that are planes of A in another order.
  [[nodiscard]] int num_swapped() const { return is_conjugate_ ? kSwappedPlanes : 0; }

  static constexpr bool kMayTakeStrassen = !std::is_same_v<T, float>;

 private:
  void take(Side side, CallOperand<T>& operand);
  [[nodiscard]] static bool may_sample(const NextLook& next) {
    return next.look.value_or(device::Look::kSample) == device::Look::kSample;
  }
  [[nodiscard]] const num::Ladder& ladder() const { return stage_.ladder; }
  [[nodiscard]] CallOperand<T>& operand(Side side) { return side == Side::kA ? a_ : b_; }
  [[nodiscard]] bool has_unsigned_planes() const;
  /// Whether the split judges lines by their clipped sums, so that more is looked at only where it leaves one open.
  [[nodiscard]] bool has_clipped_sums() const;
  [[nodiscard]] ClippedCheck clipped_check() const {
    return has_clipped_sums() ? clipped_check_of(plan_, state(), has_samples_) : ClippedCheck{};
  }
  [[nodiscard]] DeviceOperand<T> whole_operand(const CallOperand<T>& operand, Side side) const;
  [[nodiscard]] DevicePlanes planes_of_sums(Side side) const;
  [[nodiscard]] certify::DeviceDigits early_digits(Side side) const;
  [[nodiscard]] std::uint64_t* nonfinite_lines(Side side) const {
    return side == Side::kA ? &state()->nonfinite_rows : &state()->nonfinite_cols;
  }
  Status wait_for(CUevent_st* event) const;

  Status gather();
  Status split_side(Side side, const BlockEvents& events, bool is_scouted);
  Status scout_part(Side side, const QuadrantLines& there);
  Status gather_statistics(Side side, std::int64_t first, std::int64_t count);
  Status pass_into_sums(const LinePairs& a_pairs, const LinePairs& b_pairs);
  Status pass_into_planes(std::initializer_list<Side> sides, bool leaves_samples);
  Status make_sums(Side side, const LinePairs& pairs);

  const plan::Plan& plan_;
  const Ozaki2Stage& stage_;
  const device::DeviceProblem<T>& problem_;
  product::Queue queue_;
  int num_sms_;
  std::int64_t repair_capacity_;  ///< of buffers_.repairs
  device::LookReport look_report_;
  bool expects_lowest_rung_ = false;
  bool has_samples_ = true;  ///< where the split judges lines; without them blocks are looked at if it leaves one open
  int first_rung_ = 0;       ///< as in state()
  bool has_digits_ = false;  ///< of blocks, by the split
  bool may_want_gain_ = false;  ///< as in certify::SecondLook
  bool may_block_ = false;      ///< state()->look may be another than kSample
  bool takes_strassen_ = false;
  const std::int32_t* by_sums_ = nullptr;  ///< of multiply_sums_unless_zero()
  bool has_sums_ = false;
  bool is_split_once_ = false;        ///< B has A's lines and statistics, and
  bool is_conjugate_ = false;         ///< its planes, or those of conjugates
  std::optional<bool> stays_lowest_;  ///< nothing: the host does not know
  DeviceBuffers buffers_;
  CallOperand<T> a_;
  CallOperand<T> b_;
};

}  // namespace kizami::ozaki2
