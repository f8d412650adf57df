// SPDX-License-Identifier: MIT
// The split on a CUDA device, bit-identical with certify/statistics.hpp, certify/digits.hpp and residues.hpp. All
// pointers are device memory; every function enqueues kernels and waits for nothing.
#pragma once

#include <cstdint>
#include <span>

#include "certify/device_statistics.hpp"
#include "certify/second_look_buffers.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"
#include "product/product.hpp"

namespace kizami::ozaki2 {

/// Where residue planes go: element h of line i of plane q at data[q * plane_stride + i * row_stride + h - first].
struct DevicePlanes {
  std::int8_t* data = nullptr;
  std::int64_t row_stride = 0;  ///< a multiple of device::kDeviceInnerPad; each row is zero-filled up to it
  std::int64_t plane_stride = 0;
  bool is_unsigned = false;  ///< residues are 0 .. p - 1, in bytes without sign; else symmetric ones
};

/// One operand of a device split, or a subset of its lines: line_buffers are those of the first line.
template <class T>
struct DeviceOperand {
  problem::Lines<T> lines;
  device::DeviceLineBuffers line_buffers;
  DevicePlanes planes;
  /// device memory; not 0 there: others make the planes and the scales. Null: nobody does
  const std::int32_t* done = nullptr;
};

/// Residue planes to multiply, of a call with prepared operands: those that are kept, or those that the call has made.
/// One of both is 0.
struct PlaneCounts {
  std::int32_t of_kept = 0;
  std::int32_t of_made = 0;
};

/// Of the operands of a device split: whose planes and scales of the lowest rung, of lines as given, are kept elsewhere,
/// and not made.
struct KeptPlanes {
  bool are_kept[2] = {};
  PlaneCounts* counts = nullptr;  ///< device memory, written whatever else is done; or null
};

/// make_residue_planes() at the rung of state->selection, of elements [first, first + length) of every line, with the
/// statistics and shifts that the selection calls for. Also writes line_buffers.scales: line_scale(), or kSkipLine for
/// lines with NaN or Inf; and zeros to rows of the planes up to the next multiple of device::kReadRows.
/// @range  one or two operands of equal row strides and residues of planes; first a multiple of 64; rungs of at most 184-bit integers
/// @queue  one kernel, which ends at once if the rung is -1 or state->is_scaling_only, and if has_first_rung and
///         state->look say that the planes are those of state->first_rung already and that is the rung
template <class T>
Status device_residue_planes(std::span<const DeviceOperand<T>> operands, std::int64_t first, std::int64_t length,
                             const num::Ladder& ladder, const device::DeviceState* state, bool has_first_rung,
                             int num_sms, product::Queue queue, const KeptPlanes& kept = {});

/// What another body than device_residue_planes() needs of an operand: line_buffers.scales as there, and the factors of
/// x 2^scale, [2][lines], which are 0 for lines that are zero or not finite. *num_moduli: those of the rung of
/// state->selection; 0 where the other body has nothing to do: no rung, C only scaled, operands equilibrated, or more
/// moduli than `most`.
/// @queue  one kernel
Status device_line_factors(const device::DeviceLineBuffers& line_buffers, std::int64_t num_lines,
                           const num::Ladder& ladder, int most, const device::DeviceState* state, double* factors,
                           std::int32_t* num_moduli, product::Queue queue);

/// Who asks for the product of sampled digits where the split has seen all elements.
struct ClippedCheck {
  float allowance = 0;  ///< num::sampled_allowance() of the lowest rung
  /// Where the lowest rung is looked at first, lines without num::is_certified_by_clipped_sum() are added. Null: nobody asks
  std::uint64_t* open_lines = nullptr;
  std::uint64_t* failures = nullptr;  ///< likewise; null: samples are made
};

/// One operand of device_single_pass().
template <class T>
struct SinglePassOperand {
  DeviceOperand<T> operand;  ///< whole lines
  certify::DeviceDigits digits;
  std::uint64_t* nonfinite = nullptr;  ///< lines with NaN or Inf are added
};

/// device_statistics() of both operands, num::rung_weight() of their lines at the lowest rung if there is room for it,
/// and device_residue_planes() at `first_rung`, without inner shifts, before anybody knows whether that rung answers.
/// Reads every element from memory once. Rows of digits up to the next multiple of device::kReadRows are zero too.
/// state->look says what is made: without kSample block digits and num::line_weight() of the lines, in `blocks`,
/// instead of sampled digits, and with kBlocksFirst no planes and no scales.
/// Of an operand without lines nothing is made: it is kept.
/// @param  leaves_samples  whether device_strassen_pass() is there for kSample
/// @range  lines of at most device::kMaxSinglePassLength elements; norm_limit of first_rung < 2^94; first_rung =
///         state->first_rung; planes of equal row strides; one operand has lines, both in one launch or two where blocks are made
/// @param  b_is_a  both are the same lines, with one place for planes, digits, statistics, weights and scales, and are
///         read once; what else there is of each is made of each. Digits are made as b asks for them.
/// @queue  one kernel, which ends at once if state->is_scaling_only
template <class T>
Status device_single_pass(const SinglePassOperand<T>& a, const SinglePassOperand<T>& b, const num::Ladder& ladder,
                          int first_rung, const certify::SecondLookBuffers& blocks, bool leaves_samples,
                          const device::DeviceState* state, product::Queue queue, bool b_is_a = false,
                          const ClippedCheck& clipped = {});

}  // namespace kizami::ozaki2
