// SPDX-License-Identifier: MIT
// The split of scheme ec: elements become parts in a narrow format, one plane a part.
//   x 2^s ~ sum_q part_q 2^(-q shift)                               num/float_split.hpp, per element
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "num/float_split.hpp"
#include "num/tensor_core.hpp"
#include "problem/lines.hpp"

namespace kizami::ec {

/// Writes the planes of the real terms of every line, in a form (problem::RealForm).
/// @shape  scales: [num_lines]. Term t of line i of plane q goes to element planes[q * plane_stride + i * row_stride +
///         t]; up to row_stride each row is zero-filled.
/// @units  strides in elements of the format; planes: as many bytes as those need
/// @range  T: float or its complex type; row_stride >= num_terms
/// @exact  see num::split_number(); scaling by 2^s is exact. Lines of scale num::kSkipLine give zeros.
/// @queue  blocks until done, on up to `threads` threads   @cite [OY2021, equations 7, 8 and 14]
template <class T>
void make_float_planes(const problem::Lines<T>& lines, problem::RealForm form, const std::int32_t* scales,
                       num::FloatType type, const num::FloatSplit& split, int threads, std::byte* planes,
                       std::int64_t row_stride, std::int64_t plane_stride);

/// What of a complex element Karatsuba's products take.
enum class ComplexTerm : std::uint8_t { kReal, kImaginary, kSum };

/// The same for one real term of each complex element: Re, Im or Re + Im (exact in FP64 but for the last of 53 bits).
/// @range row_stride >= lines.length
void make_float_planes(const problem::Lines<std::complex<float>>& lines, ComplexTerm term, const std::int32_t* scales,
                       num::FloatType type, const num::FloatSplit& split, int threads, std::byte* planes,
                       std::int64_t row_stride, std::int64_t plane_stride);

}  // namespace kizami::ec
