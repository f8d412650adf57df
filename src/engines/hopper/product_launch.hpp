// SPDX-License-Identifier: MIT
// The host's part of a product of signed bytes: its parameters, the maps of its operands, one launch. For hopper.cpp,
// and for measurements of kernels that the library does not have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/hopper/forms.hpp"
#include "engines/hopper/product_params.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines::hopper {

/// What does not depend on the form.
[[nodiscard]] ProductParams common_params(const product::ProductDesc& d, const product::Pointers& pointers);

/// The maps of both operands, as a form reads them.
[[nodiscard]] Status encode_maps(const product::ProductDesc& d, const product::Pointers& pointers,
                                 const HopperFormTraits& traits, ProductParams& params);

/// @param parameter  ProductParams, or what begins with them
[[nodiscard]] Status launch_clusters(const HopperFormTraits& traits, const void* kernel, std::size_t shared_bytes,
                                     std::int64_t tiles, int num_sms, product::Queue queue, void* parameter);

}  // namespace kizami::engines::hopper
