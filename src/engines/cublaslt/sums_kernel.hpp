// SPDX-License-Identifier: MIT
// FP32 sums that are whole numbers -> INT32, in place, at memory speed.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// @shape  the planes of desc.windows: n columns of desc.c_col_stride elements, round_up(m, 4) of them converted
/// @range  c on a 16-byte boundary, strides multiples of 4, c_col_stride >= round_up(m, 4). |sums of the m rows| <= 2^24
/// @exact
Status sums_to_int32(const product::ProductDesc& desc, void* c, product::Queue queue);

}  // namespace kizami::engines
