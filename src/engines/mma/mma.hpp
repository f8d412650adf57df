// SPDX-License-Identifier: MIT
// Floating-point products of planes (product/float_product.hpp) in device memory by mma.sync, as portable PTX has it
// from sm_80 on. It carries every description whose tensor core is that of the device, so the algorithms of documents
// run as they are printed; nothing is tuned beyond a pipeline of copies.
#pragma once

#include "product/float_product.hpp"

namespace kizami::engines {

/// "mma". Equal to tc_model in every bit for the tensor cores that it accepts, but for NaN: any for any other. These are
/// that of the device, and of FP16 mma_rn and mma_rz [OY2021, section 3.2]: products from an accumulator of zero, which
/// FP32 additions outside take in.
[[nodiscard]] const product::FloatEngine& mma_engine();

}  // namespace kizami::engines
