// SPDX-License-Identifier: MIT
// One step of Strassen's algorithm in Winograd's form (7 products of quadrants instead of 8), in the residues of a
// device call: sums of quadrants are exact there, and C has the bits that it has without it.   @cite Winograd1971
//
//   S1 = A21 + A22, S2 = S1 - A11, S3 = A11 - A21, S4 = A12 - S2;  T1 = B12 - B11, T2 = B22 - T1, T3 = B22 - B12, T4 = T2 - B21
//   P1 = A11 B11, P2 = A12 B21, P3 = S4 B22, P4 = A22 T4, P5 = S1 T1, P6 = S2 T2, P7 = S3 T3
//   C11 = P1 + P2, C12 = P1 + P6 + P5 + P3, C21 = P1 + P6 + P7 - P4, C22 = P1 + P6 + P7 + P5
//
// Quadrants are of the integers a' and b' (residues.hpp), so scales of lines do not matter. Of -A11, -A12, A21 and A22 all
// sums are without differences, but that S3 and S4 have other signs, and of B11, -B21, -B12 and B22 in their places they are
// those of B in another order, but that T1 has: the split of both operands is one, and residues add. Products have signs
// of their own, so that the CRT makes -C of them:
//   -C11 = P1' - P2',  -C12 = P1' - P6' + P5' + P3',  -C21 = P1' - P6' + P7' + P4',  -C22 = P1' - P6' + P7' + P5'.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ozaki2 {

/// Products of quadrants, and so planes of each modulus.
inline constexpr int kStrassenProducts = 7;
static_assert(kStrassenProducts <= product::kMaxPlanesOfModulus);

/// Whether the quadrant by halves of the lines and of k is the operand's or its negative.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_quadrant_negative(bool is_b, int half_of_lines, int half_of_k) {
  return is_b ? half_of_lines != half_of_k : half_of_lines == 0;
}
/// Whether sum s has a quadrant: (0, 0), (0, 1), (1, 0) or (1, 1) by halves of the lines and of k.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool has_quadrant(int s, int quadrant) {
  constexpr bool kQuadrants[kStrassenProducts][4] = {
      {true, false, false, false}, {false, true, false, false}, {true, true, true, true},  {false, false, false, true},
      {false, false, true, true},  {true, false, true, true},   {true, false, true, false}};
  return kQuadrants[s][quadrant];
}
/// The product that takes sum s of B; of A it is product s.
[[nodiscard]] KIZAMI_HOST_DEVICE constexpr int strassen_product_of_b(int s) {
  constexpr int kProducts[kStrassenProducts] = {0, 1, 3, 2, 6, 5, 4};
  return kProducts[s];
}

/// Lines and elements of a quadrant; those that the operands have not are zero.
struct StrassenHalves {
  std::int64_t m = 0;  ///< a multiple of device::kReadRows
  std::int64_t n = 0;  ///< likewise
  std::int64_t k = 0;  ///< a multiple of device::kDeviceInnerPad
};
[[nodiscard]] StrassenHalves strassen_halves(const problem::Shape& shape);

/// Lines of both halves that belong together, as what is split or made for itself: [begin[0], end[0]) and [begin[1], end[1])
/// of an operand, or columns of C; the second may be empty.
struct QuadrantLines {
  std::int64_t begin[2] = {};
  std::int64_t end[2] = {};
  // Of the first half, padding too.
  std::int64_t first = 0;  ///< a multiple of device::kReadRows
  std::int64_t count = 0;  ///< likewise
};
/// Part i of `count` of all lines. @range 0 <= i < count
[[nodiscard]] QuadrantLines quadrant_lines(std::int64_t extent, int i, int count);

/// The products of quadrants of a chunk with so many moduli: planes 7 l .. 7 l + 6 of modulus l.
[[nodiscard]] product::ProductDesc strassen_product(const plan::Plan& plan, int num_moduli);

/// FP64 pieces of a CRT of quadrants, at most: so many planes are the columns of one product of the tensor cores.
inline constexpr int kMostStrassenPieces = 3;

/// Whether a call may take it, at its lowest rung: FP64 or complex numbers in device memory, k in one chunk, an engine with
/// planes of the same modulus, and integers that the split and the CRT hold. Of lines that are not split in one pass, for they
/// are too long, or C is cut into chunks, statistics come first, and quadrants are those of each chunk.
[[nodiscard]] bool may_take_strassen(const plan::Plan& plan);

/// Whether a plan takes it with all of C in one chunk: operands may then be split one after the other, before anybody knows
/// the rung, and C is made in parts (device_block.hpp).
[[nodiscard]] bool is_one_strassen_chunk(const plan::Plan& plan);

/// Seconds that it saves at the lowest rung, by the model of device_seconds.hpp, with what lines take that several chunks
/// split again; negative where it is slower.
/// @range may_take_strassen(plan)
[[nodiscard]] double strassen_gain_seconds(const plan::Plan& plan);

/// The same of a block whose operands come over links, one after the other, the last one in so many parts. What is split
/// while others come is hidden: by Strassen's products all but the last part, of whole products all of the first operand.
/// @range may_take_strassen(plan); all of C in one chunk; parts >= 1
[[nodiscard]] double strassen_gain_of_block_seconds(const plan::Plan& plan, int parts);

}  // namespace kizami::ozaki2
