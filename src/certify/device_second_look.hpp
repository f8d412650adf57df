// SPDX-License-Identifier: MIT
// The second look at operands that the sampled certificate has not certified, without the host: the block certificate
// of certificate.hpp, equilibration and select(), in kernels that end at once where samples were looked at and none was
// refused.
//   launch_block_rungs():  digits of blocks -> products, rungs of all pairs as given, histogram
//   launch_second_look():  select -> [gain of equilibration -> exponents of the inner index -> shifts -> statistics ->
//   digits -> products -> histogram -> select] -> list and bits of the pairs above the rung; without the first launch
//   all of it
// The same FP32 sums as on the host, so the same rung and the same pairs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/carver.hpp"
#include "certify/second_look_buffers.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"

namespace kizami::certify {

/// What one launch of the second look is for. A call by itself decides; the calls of blocks of one product count, others
/// decide of all their counts, and tell each what to list.
enum class LookTask : std::int32_t {
  kDecide,             ///< all of it
  kCount,              ///< the histogram as given, in state->statistics.plain, and nothing else
  kInnerExponents,     ///< the largest exponents of these lines' elements, in inner_shift of both operands
  kCountEquilibrated,  ///< inner_shift holds the shifts: the statistics with them, and their histogram
  kList,               ///< the pairs above state->selection.rung, for operands as given or equilibrated as it says
};

template <class T>
struct SecondLook {
  num::Ladder ladder;
  problem::Lines<T> a;
  problem::Lines<T> b;
  device::DeviceLineBuffers a_lines;
  device::DeviceLineBuffers b_lines;
  SecondLookChunk chunk;
  SecondLookBuffers buffers;
  device::DeviceState* state = nullptr;
  device::Pair* repairs = nullptr;   ///< [repair_capacity], in any order
  std::int64_t repair_capacity = 0;  ///< at least (m n) >> num::kMostRepairShift of the product that the rung is for
  /// [n][ceil(m / 32)]: bit i % 32 of word i / 32 of column j; zeroed here if used
  std::uint32_t* repair_bits = nullptr;
  std::int32_t planes_of_rung[num::kMaxRungs] = {};  ///< residue planes of each rung, for state->num_products
  bool wants_all_pairs = false;  ///< chooses by num::lowest_for_all(): no repairs, and no equilibration
  bool has_digits = false;       ///< state->look is not kSample, so that the split makes the digits of blocks
  bool may_want_gain = false;    ///< of equilibration, by what is known of the elements: only time hangs on it
  LookTask task = LookTask::kDecide;
};

/// What multiplies digits: the bits are the same.
enum class DigitCore { kOfDevice, kMmaSync };

/// The rungs of all pairs of the operands as given, and their histogram, for the second look to go on from: where
/// state->sampled_failures is not 0, or state->look is not kSample. Nothing is enqueued where the digits do not fit at
/// once, or lines have several segments of blocks: the second look then does all itself. Digits and rungs have a kernel
/// each, so that one with wgmma calls no function; with look.has_digits the first is not needed.
/// @range  as launch_second_look()
/// @queue  enqueues one kernel or two; no allocation
template <class T>
Status launch_block_rungs(const SecondLook<T>& look, int num_sms, product::Queue queue,
                          DigitCore core = DigitCore::kOfDevice);

/// @range  state->sampled_failures, state->is_scaling_only and the statistics of both operands are there, and the
///         histograms of *state are zero but for those of launch_block_rungs(); 1 <= chunk.mc, chunk.nc
/// @exact  state->selection, the histograms and the set of repairs equal those of the host's phases
///         With look.task the part that it names; kCountEquilibrated and kList of equilibrated operands whatever
///         state->sampled_failures is
/// @queue  enqueues one cooperative kernel of as many blocks as fit; no allocation
template <class T>
Status launch_second_look(const SecondLook<T>& look, int num_sms, product::Queue queue);

}  // namespace kizami::certify
