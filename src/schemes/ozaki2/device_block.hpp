// SPDX-License-Identifier: MIT
// A product on a device that is a block of a larger one, with whole lines of both operands. The rung, the shifts of the
// inner index and the pairs that repairs may take are those of the whole; all else of a block is its own. So a call is
// cut where the rung is chosen, and the host carries integers between the calls of all blocks:
//   begin_device_block()                     -> counts of rungs in the state, for num::lowest_sufficient() of their sums
//   [find_block_exponents() -> exponents of the inner index, for certify::equilibration_shifts() of their maxima
//    -> shifts -> count_block_equilibrated() -> counts, for num::select()]
//   finish_device_block(selection)           -> C
// Most products come to the lowest rung, which a block may take before the others have counted:
//   speculate_device_block()                 -> the same counts, and C, if the guess is right
// One block alone comes to the same rung, repairs and bits as run_device_ozaki2().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/problem.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

struct CUevent_st;

namespace kizami::ozaki2 {

/// Of a block that begins before its operands are there, and whose C leaves before all of it is: what
/// speculate_device_block() waits for and says. Only time hangs on it.
struct BlockEvents {
  /// Behind event i part i of the operand's lines is there, quadrant_lines(); none: all of it is.
  std::span<CUevent_st* const> a_ready = {};
  std::span<CUevent_st* const> b_ready = {};
  Side first = Side::kB;  ///< that comes first, and is split while the other one comes
  /// Behind it C is there as it was before the call; null: it is. Products do not wait for it.
  CUevent_st* c_ready = nullptr;
  /// Event i is recorded when part i of the columns of C is there, unless products are whole.
  /// @range none unless is_one_strassen_chunk() of the plan
  std::span<CUevent_st* const> c_done = {};
};

/// A block, for all of its calls.
/// @range  plan: of its shape, with the numerics of the whole product's plan, scheme ozaki2 first; alpha not 0 and known to the host;
///         workspace: plan->schedule.product_bytes, which begins with the state of the call
template <class T>
struct DeviceBlock {
  const plan::Plan* plan = nullptr;
  device::DeviceProblem<T> problem;
  std::byte* workspace = nullptr;
  product::Queue queue = nullptr;
  BlockEvents events = {};     ///< of speculate_device_block()
  bool has_first = false;      ///< of speculate_device_block(): speculate_device_block_first() came before
  bool is_speculated = false;  ///< of finish_device_block(): what was begun was by speculate_device_block()

  [[nodiscard]] device::DeviceState* state() const { return reinterpret_cast<device::DeviceState*>(workspace); }
};

/// Statistics, planes of the lowest rung if the split makes them, and the certificate as far as counts:
/// state()->statistics.plain, unless state()->sampled_failures is 0 and state()->look is kSample. Then the lowest rung
/// certifies all pairs.
/// @queue enqueues
template <class T>
Status begin_device_block(const DeviceBlock<T>& block);

/// Whether blocks may be computed before the rung of the whole is known: what a wrong guess has cost is time alone.
template <class T>
[[nodiscard]] bool may_speculate(const plan::Plan& plan, T alpha);

/// begin_device_block(), and C at the lowest rung unless the counts of this block forbid it; but for lines with NaN or
/// Inf, which confirm_device_block() answers. By Strassen's products where the plan takes them.
/// @range may_speculate()   @queue enqueues
template <class T>
Status speculate_device_block(const DeviceBlock<T>& block);

/// What speculate_device_block() does with the operand that comes first before it waits for the other one: events of that
/// one need not be recorded yet. @queue enqueues; nothing where both are split together
template <class T>
Status speculate_device_block_first(const DeviceBlock<T>& block);

/// Behind speculate_device_block(), where the rung of the whole is the lowest, of operands as given and without repairs.
/// Needed where the block has lines with NaN or Inf. @queue enqueues one kernel
template <class T>
Status confirm_device_block(const DeviceBlock<T>& block);

/// Device memory of both operands: [k] exponents, then shifts.
struct BlockShifts {
  std::int32_t* a = nullptr;
  std::int32_t* b = nullptr;
};
/// @range a ladder that may equilibrate
template <class T>
[[nodiscard]] BlockShifts block_shifts(const DeviceBlock<T>& block);

/// certify::gather_inner_exponents() of the block's lines, to block_shifts(). @queue enqueues one kernel
template <class T>
Status find_block_exponents(const DeviceBlock<T>& block);

/// With the shifts of the whole in block_shifts(): statistics of the shifted lines, and their rungs in
/// state()->statistics.equilibrated. Once behind each begin_device_block(). @queue enqueues one kernel
template <class T>
Status count_block_equilibrated(const DeviceBlock<T>& block);

/// C of the block, at the rung of the whole product.
/// @range  selection.equilibrated: behind count_block_equilibrated()
/// @shape  repairs: [repair_capacity], device memory that stays until the call is done; as many as the whole product may leave
///         above its rung, or as the block has pairs
/// @queue  enqueues
template <class T>
Status finish_device_block(const DeviceBlock<T>& block, const num::Selection& selection, device::Pair* repairs,
                           std::int64_t repair_capacity);

}  // namespace kizami::ozaki2
