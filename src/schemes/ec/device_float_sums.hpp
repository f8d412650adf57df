// SPDX-License-Identifier: MIT
// float_sums.hpp on a CUDA device, bit for bit: FP32 sums of scaled lines become elements of C.
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "product/product.hpp"
#include "schemes/ec/float_sums.hpp"

namespace kizami::ec {

/// Pointers are device memory. @shape as reconstruct_float(); complex types have ComplexSums::kParts
template <class T>
struct DeviceFloatSums {
  FloatSums sums;
  const std::int32_t* row_scales = nullptr;
  const std::int32_t* col_scales = nullptr;
  Factor<T> alpha;
  Factor<T> beta;
  MatrixView<T> c;
  const device::DeviceState* state = nullptr;
};

/// The bits of reconstruct_float(). C <- beta C if state->is_scaling_only; nothing if takes_signs.
/// @queue  asynchronous, one kernel, capturable
template <class T>
Status device_float_sums(const DeviceFloatSums<T>& task, int num_sms, product::Queue queue);

}  // namespace kizami::ec
