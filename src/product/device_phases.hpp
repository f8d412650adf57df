// SPDX-License-Identifier: MIT
// product::PhaseBodies for operands in device memory: bodies of an engine's own for split and reconstruction of scheme
// ozaki2. What only the device knows - the rung, scales, lines with NaN or Inf - they find in its memory: a count of
// moduli, which is 0 where the common phases do the work. Those follow on the stream and end at once where it is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "product/product.hpp"

namespace kizami::product {

/// Residue planes of elements of FP64 lines.
/// @shape  element h of line i at data[i * line_stride + h * inner_stride], num_lines x length. Residue h of line i of
///         plane l goes to planes[l * plane_stride + i * row_stride + h]; zeros up to round_up(length, kWindowPad) of
///         each row, and in rows up to num_rows. factors: [2][num_lines]; x first second is rounded to an integer.
///         *num_moduli: planes that are made
/// @range  row_stride >= round_up(length, kWindowPad), a multiple of kPadBytes; num_rows >= num_lines; |x first second|
///         of a count of moduli below 2 norm_limit of its rung. Of lines whose factors are 0 nobody looks at the
///         residues
struct DeviceSplitDesc {
  const double* data = nullptr;
  std::int64_t num_lines = 0;
  std::int64_t length = 0;
  std::int64_t line_stride = 0;
  std::int64_t inner_stride = 0;
  const double* factors = nullptr;
  const std::int32_t* num_moduli = nullptr;  ///< device memory
  num::Ladder ladder;                        ///< has that count among its rungs
  std::int8_t* planes = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t plane_stride = 0;
};

/// C = alpha A B of a block of C in FP64, from its residue planes.
/// @shape  residue (i, j) of plane q at residues[q * plane_stride + j * col_stride + i]; row_factors: [m], col_factors:
///         [n], powers of two that the integer of an element is multiplied by; C_ij at c[i * c_row_stride + j *
///         c_col_stride]. *num_moduli: planes there are; 0: C is left alone
/// @range  products of the factors, of an integer below P and of alpha stay normal; elements of lines whose factors are
///         0 are nobody's
struct DeviceReconstructionDesc {
  const std::int8_t* residues = nullptr;
  std::int64_t col_stride = 0;
  std::int64_t plane_stride = 0;
  const double* row_factors = nullptr;
  const double* col_factors = nullptr;
  const std::int32_t* num_moduli = nullptr;  ///< device memory
  num::Ladder ladder;                        ///< has that count among its rungs
  double alpha = 1;
  double* c = nullptr;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t c_row_stride = 0;
  std::int64_t c_col_stride = 0;
};

class DevicePhaseBodies {
 public:
  virtual ~DevicePhaseBodies() = default;
  /// The counts of moduli that the bodies take, of the rungs of a ladder: those up to this; 0: none.
  [[nodiscard]] virtual int most_split_moduli(const num::Ladder& ladder) const = 0;
  [[nodiscard]] virtual int most_reconstructed_moduli(const num::Ladder& ladder) const = 0;
  /// Why a body does not take what the host knows of the description; nothing if it does. Pure.
  [[nodiscard]] virtual std::optional<std::string> why_refused(const DeviceSplitDesc& desc) const = 0;
  [[nodiscard]] virtual std::optional<std::string> why_refused(const DeviceReconstructionDesc& desc) const = 0;
  /// Enqueues what is not refused. @queue asynchronous on a stream of the current device, capturable
  [[nodiscard]] virtual Status split(const DeviceSplitDesc& desc, Queue queue) const = 0;
  [[nodiscard]] virtual Status reconstruct(const DeviceReconstructionDesc& desc, Queue queue) const = 0;
};

/// The interface of an engine that has it; null of one that has not.
[[nodiscard]] inline const DevicePhaseBodies* device_phases_of(const Engine* engine) {
  return dynamic_cast<const DevicePhaseBodies*>(engine);
}

}  // namespace kizami::product
