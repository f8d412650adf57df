// SPDX-License-Identifier: MIT
// The last phases of scheme ozaki1 on a CUDA device: the exact sums of slices.hpp, and its bits.
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "product/product.hpp"
#include "schemes/ozaki1/device_plan.hpp"

namespace kizami::ozaki1 {

/// One block of C. All pointers are device memory.
template <class T>
struct DeviceSliceTask {
  const std::int32_t* acc = nullptr;  ///< element (i, j) of plane p at acc[p * plane_stride + j * col_stride + i]
  std::int64_t col_stride = 0;        ///< a multiple of 4, and readable up to round_up(rows, 4)
  std::int64_t plane_stride = 0;      ///< likewise
  SliceSumList list;
  std::int32_t num_words = 2;             ///< of a sum: 1 (an FP64 number), 2, 4 or 8
  const std::uint64_t* loaded = nullptr;  ///< [forms][cols][rows][words]: sums of earlier products, or none
  std::uint64_t* stored = nullptr;        ///< likewise: where the sums go instead of C, or null
  int unit = 0;                           ///< of the sums
  const std::int32_t* row_exponents = nullptr;
  const std::int32_t* col_exponents = nullptr;
  Factor<T> alpha;
  Factor<T> beta;
  MatrixView<T> c;
  const device::DeviceState* state = nullptr;
};

/// Adds the planes to the sums; then C = alpha sum 2^(unit + row_exponent + col_exponent) + beta C by num::finish(), or
/// the sums are stored. Lines of exponent num::kSkipLine are left alone. If state->is_scaling_only: C <- beta C; if
/// state->takes_signs: nothing.
/// @exact  the bits of reconstruct_slices()   @queue enqueues one kernel
template <class T>
Status sum_slices_device(const DeviceSliceTask<T>& task, int num_sms, product::Queue queue);

}  // namespace kizami::ozaki1
