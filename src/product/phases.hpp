// SPDX-License-Identifier: MIT
// The optional second interface of an engine: bodies of its own for the phases of scheme ozaki2 around its products,
// split and reconstruction, so that operands come in and C goes out by its kernels alone. Same numerics, hence the same
// bits: what a body does not take, the common phases do, and nobody can tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kizami/status.hpp"
#include "num/rung.hpp"
#include "product/product.hpp"

namespace kizami::product {

/// Residue planes of elements of lines in FP64 or FP32, as ozaki2::make_residue_planes() makes them.
/// @shape  element h of line i at data[i * line_stride + h * inner_stride], num_lines x length; scales: [num_lines].
///         Residue h of line i of plane l goes to planes[l * plane_stride + i * row_stride + h]; up to the next
///         multiple of kPadBytes each row is zero-filled. factors: scratch of 2 num_lines.
/// @range  row_stride >= round_up(length, kPadBytes)
struct SplitDesc {
  std::variant<const double*, const float*> data;
  std::int64_t num_lines = 0;
  std::int64_t length = 0;
  std::int64_t line_stride = 0;
  std::int64_t inner_stride = 0;
  /// x 2^scale is rounded to an integer; num::kSkipLine for lines with NaN or Inf
  const std::int32_t* scales = nullptr;
  const std::int32_t* inner_shift = nullptr;  ///< [length], or null: what equilibration adds to the scales
  num::Rung rung;
  std::int8_t* planes = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t plane_stride = 0;
  double* factors = nullptr;
  int threads = 1;
};

/// A block of C in FP64 or FP32 from its residue planes, as ozaki2::reconstruct_crt() makes it.
/// @shape  residue (i, j) of plane q at residues[q * plane_stride + j * col_stride + i]; row_scale: [m], col_scale:
///         [n]; C_ij at c[i * c_row_stride + j * c_col_stride]. factors: scratch of m + n.
struct ReconstructionDesc {
  const std::int8_t* residues = nullptr;
  int num_moduli = 0;
  std::int64_t col_stride = 0;
  std::int64_t plane_stride = 0;
  const std::int32_t* row_scale = nullptr;
  const std::int32_t* col_scale = nullptr;
  double alpha = 1;  ///< of C's type, as beta
  double beta = 0;
  std::variant<double*, float*> c;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t c_row_stride = 0;
  std::int64_t c_col_stride = 0;
  double* factors = nullptr;
  int threads = 1;
};

class PhaseBodies {
 public:
  virtual ~PhaseBodies() = default;
  /// Why a body does not take what is described, scales and, where beta is not 0, C included; nothing if it does. Pure.
  [[nodiscard]] virtual std::optional<std::string> why_refused(const SplitDesc& desc) const = 0;
  [[nodiscard]] virtual std::optional<std::string> why_refused(const ReconstructionDesc& desc) const = 0;
  /// Runs what is not refused; blocks until done. Allocates nothing, reads no environment, prints nothing.
  /// @status kOutOfMemory: memory of a thread's own
  [[nodiscard]] virtual Status split(const SplitDesc& desc) const = 0;
  [[nodiscard]] virtual Status reconstruct(const ReconstructionDesc& desc) const = 0;
};

/// The interface of an engine that has it; null of one that has not.
[[nodiscard]] inline const PhaseBodies* phases_of(const Engine* engine) {
  return dynamic_cast<const PhaseBodies*>(engine);
}

}  // namespace kizami::product
