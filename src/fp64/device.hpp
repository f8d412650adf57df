// SPDX-License-Identifier: MIT
// The last rung on a CUDA device, bit-identical with fp64.hpp: the same chains of 128 fused multiply-adds, combined by
// the same binary counter; the same compensated sums; the same scaling of lines.
#pragma once

#include <cstdint>

#include "device/effort_word.hpp"
#include "device/learned_look.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/bounds.hpp"
#include "num/line_stats.hpp"
#include "problem/lines.hpp"
#include "problem/part.hpp"
#include "product/product.hpp"

namespace kizami::fp64 {

/// A call as its last kernel sees it. All pointers are device memory.
template <class T>
struct DeviceCall {
  problem::Lines<T> a;
  problem::Lines<T> b;
  const num::LineStats* a_stats = nullptr;  ///< as given, never equilibrated
  const num::LineStats* b_stats = nullptr;
  num::Fp64Summation summation = num::Fp64Summation::kPairwise;
  Factor<T> alpha;
  Factor<T> beta;
  MatrixView<T> c;
  problem::Part part = {};  ///< of C; pairs of the list that are not of it are left alone
  const device::DeviceState* state = nullptr;
  const device::Pair* repairs = nullptr;  ///< [state->num_repairs]
  bool has_answered_repairs = false;      ///< by answer_repairs()
  device::EffortReport effort;            ///< what the kernel tells the host as it begins
  device::LookReport look;                ///< likewise, for ozaki2::next_look()
};

/// Shared memory of a block of answer_repairs(), at most.
inline constexpr int kRepairSharedBytes = 227 * 1024;

/// Answers the pairs of the list, those of neighbouring lines together: apart from answer_exceptions(), whose blocks
/// are few, each with all shared memory.
/// @range  limits of a device that gives a block kRepairSharedBytes
/// @exact, @queue  as answer_exceptions()
template <class T>
Status answer_repairs(const DeviceCall<T>& call, int num_sms, product::Queue queue);

/// Answers what the CRT has left: everything if state->selection.rung < 0, else the pairs of the list unless
/// call.has_answered_repairs; and the lines with NaN or Inf. One launch, which ends at once where there is nothing to
/// do (or state->is_scaling_only, or takes_signs).
/// @exact  elements of finite lines: the bits of gemm_fp64() and line_product(); others: of finish_nonfinite(), any NaN
/// @range  the elements of C that it answers hold their old values (read only if beta is not 0)
/// @queue  enqueues one kernel; no allocation
template <class T>
Status answer_exceptions(const DeviceCall<T>& call, int num_sms, product::Queue queue);

/// If state->takes_signs: C <- alpha AB + beta C for all elements, with the signs of exact sums in long accumulators,
/// in place of what would else write C. Slow: k products of integers an element, a warp for each. Else it ends at once.
/// @exact  elements of finite lines: the bits of answer_nonfinite_alpha(); others: of finish_nonfinite(), any NaN
/// @range  state and the statistics are there; C holds its old values (read only if beta is not 0)
/// @queue  enqueues one kernel; no allocation
template <class T>
Status answer_signs(const DeviceCall<T>& call, int num_sms, product::Queue queue);

}  // namespace kizami::fp64
