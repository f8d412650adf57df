// SPDX-License-Identifier: MIT
// What a device call by Strassen's products (strassen.hpp) has of its own: split, choice and CRT. All pointers are
// device memory; every function enqueues and waits for nothing.
#pragma once

#include <cstdint>
#include <span>

#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::ozaki2 {

/// Lines of the first half of an operand, and those of the second half that belong to them.
struct LinePairs {
  std::int64_t first = 0;  ///< a multiple of device::kReadRows
  std::int64_t count = 0;  ///< likewise
};

/// device_single_pass() of some lines at the lowest rung, with the planes of the seven sums of quadrants instead of those of
/// the operand: sum s of modulus l is plane 7 l + s of A, 7 l + strassen_product_of_b(s) of B, and planes.plane_stride from
/// one to the next.
/// @range  as there; integer_bits() of the rung <= 61; state->first_rung = 0
/// @queue  one kernel, which ends at once unless state->look is kSample
template <class T>
Status device_strassen_pass(const SinglePassOperand<T>& a, const LinePairs& a_pairs, const SinglePassOperand<T>& b,
                            const LinePairs& b_pairs, const StrassenHalves& halves, const num::Ladder& ladder,
                            const device::DeviceState* state, product::Queue queue, const ClippedCheck& clipped = {});

/// Lines of one operand for device_strassen_residues(), whole ones.
template <class T>
struct StrassenOperand {
  DeviceOperand<T> operand;  ///< statistics are there; `done` is not read
  Side side = Side::kA;
  std::int64_t half_lines = 0;  ///< StrassenHalves::m or n of these lines
  LinePairs pairs;
};

/// The planes of device_strassen_pass() with the statistics of the lines known, and their scales at the lowest rung. Behind
/// choose_strassen().
/// @range  one or two operands of equal row strides of planes; integer_bits() of the rung <= 61
/// @queue  one kernel, which ends at once if state->num_strassen_products is zero
template <class T>
Status device_strassen_residues(std::span<const StrassenOperand<T>> operands, std::int64_t half_k,
                                const num::Ladder& ladder, const device::DeviceState* state, product::Queue queue);

/// With the rung of the call known: num_strassen_products and num_whole_products of the state.
/// @queue one kernel
Status choose_strassen(device::DeviceState* state, product::Queue queue);

/// reconstruct_device() of the seven products of a block of C, or of all of it, at rung 0: of columns [first, end) of its
/// left half, and the columns of its right half that belong to them.
/// @range  halves: of the block; planes are those of strassen_product(); the rung's count takes
///         two or three pieces; 0 <= first <= end <= halves.n
/// @queue  one kernel, which ends at once if state->num_strassen_products is zero
template <class T>
Status reconstruct_strassen(const DeviceReconstruction<T>& task, const StrassenHalves& halves, std::int64_t first,
                            std::int64_t end, int num_sms, product::Queue queue);

}  // namespace kizami::ozaki2
