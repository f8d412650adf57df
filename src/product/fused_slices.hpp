// SPDX-License-Identifier: MIT
// A whole product of INT8 slices in one launch, for engines that keep the sums of all anti-diagonals on the chip and
// rebuild the elements of C there: the third interface of an engine for device memory, beside product.hpp and
// device_phases.hpp.
//   C_ij = alpha p_ij + beta C_ij,   p_ij = 2^(unit + row_exponent_i + col_exponent_j) sum_(s < l) 2^(step (l - 1 - s))
//   S_s, S_s = sum over slices p + q = s of the products A_p B_q, in INT32; the sum over s exact, rounded once to 53
//   bits.
#pragma once

#include <cstdint>
#include <variant>

#include "kizami/types.hpp"
#include "product/product.hpp"

namespace kizami::product {

/// Digits of FusedSliceDesc at most: INT32 sums of them, shifted, sum in 64 bits.
inline constexpr int kMaxFusedSlices = 4;

/// @shape  number h of slice s of line i of A: a + i * a_row_stride + s * slice_stride + h; of line j of B: slice s at
///         place num_slices - 1 - s. C: m x n
/// @range  2 <= num_slices <= kMaxFusedSlices; 1 <= step <= 8; num_slices k 2^14 < 2^31; zeros up to round_up(k,
///         kWindowPad); slice_stride a multiple of kWindowPad, row strides of kPadBytes; rows start on kPadBytes
///         boundaries
struct FusedSliceDesc {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int num_slices = 0;
  int step = 8;  ///< bits from one digit to the next
  std::int64_t slice_stride = 0;
  std::int64_t a_row_stride = 0;
  std::int64_t b_row_stride = 0;
};

/// Lines of exponent num::kSkipLine are left alone. *is_scaling_only != 0: C <- beta C; *takes_signs != 0: C is left
/// alone.
template <class T>
struct FusedSlicePointers {
  const std::int8_t* a = nullptr;
  const std::int8_t* b = nullptr;
  int unit = 0;
  const std::int32_t* row_exponents = nullptr;  ///< [m]
  const std::int32_t* col_exponents = nullptr;  ///< [n]
  Factor<T> alpha;
  Factor<T> beta;
  MatrixView<T> c;
  const std::int32_t* is_scaling_only = nullptr;  ///< device memory
  const std::int32_t* takes_signs = nullptr;      ///< likewise
};

class FusedSliceEngine {
 public:
  virtual ~FusedSliceEngine() = default;
  /// Pure. The offer has no workspace.
  [[nodiscard]] virtual std::variant<Offer, Refusal> query(const FusedSliceDesc& desc,
                                                           const DeviceFacts& facts) const = 0;
  /// Enqueues one launch of an accepted description. @exact the bits of products summed by reconstruct_slices()
  [[nodiscard]] virtual Status run(const FusedSliceDesc& desc, const FusedSlicePointers<float>& pointers,
                                   Queue queue) const = 0;
  [[nodiscard]] virtual Status run(const FusedSliceDesc& desc, const FusedSlicePointers<double>& pointers,
                                   Queue queue) const = 0;
};

/// The interface of an engine that has it; null of one that has not.
[[nodiscard]] inline const FusedSliceEngine* fused_slices_of(const Engine* engine) {
  return dynamic_cast<const FusedSliceEngine*>(engine);
}

}  // namespace kizami::product
