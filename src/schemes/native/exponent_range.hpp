// SPDX-License-Identifier: MIT
// The look at operands that scheme native takes: which powers of two occur, once over each matrix.
#pragma once

#include "kizami/types.hpp"
#include "num/native_range.hpp"

namespace kizami::native {

/// Of all finite non-zero elements (complex types: parts).
/// @range strides >= 0 @queue blocks until done, on up to `threads` threads
template <class T>
[[nodiscard]] num::ExponentRange exponent_range(const MatrixView<const T>& x, int threads);

}  // namespace kizami::native
