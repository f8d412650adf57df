// SPDX-License-Identifier: MIT
// A batch of BLAS calls on matrices at equal distances, as far as it can be checked.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::problem {

/// Elements from the first of a matrix to the first of the next one. 0: all products have the same A or B.
struct BatchStrides {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
};

/// @status kInvalidArgument unless num_products >= 0
Status validate_num_products(std::int64_t num_products);

/// The matrices of a batch must lie within the address space, and those of C must have no element in common: each
/// begins behind the one before it, or all lie side by side within a leading dimension.
/// @range m, n, ldc that validate_leading_dimensions() lets pass; num_products >= 0
/// @status kInvalidArgument names the stride
Status validate_batch_strides(Layout layout, std::int64_t m, std::int64_t n, std::int64_t ldc,
                              const BatchStrides& strides, std::int64_t num_products);

}  // namespace kizami::problem
