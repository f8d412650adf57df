// SPDX-License-Identifier: MIT
// The software tensor core: performs a FloatProductDesc with any num::TensorCore on the CPU, every bit as
// num::tensor_core_step() says. It is the oracle of tensor-core kernels, and scheme ec's engine on machines without
// one.
#pragma once

#include "product/float_product.hpp"

namespace kizami::engines {

/// "tc_model".
[[nodiscard]] const product::FloatEngine& tc_model_engine();

}  // namespace kizami::engines
