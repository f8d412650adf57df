// SPDX-License-Identifier: MIT
// INT32 accumulators -> symmetric residues, at memory speed.
#pragma once

#include <array>
#include <cstdint>

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// @shape  acc: planes of n columns of acc_col_stride elements, m of them used. Planes first_plane, ... of desc are made.
/// @range  acc_col_stride a multiple of 4, acc on a 16-byte boundary
Status reduce_accumulators(const product::ProductDesc& desc, const std::int32_t* acc, std::int64_t acc_col_stride,
                           std::int64_t acc_plane_stride, int first_plane, int num_planes, std::int8_t* c,
                           product::Queue queue);

}  // namespace kizami::engines
