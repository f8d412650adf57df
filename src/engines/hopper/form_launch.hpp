// SPDX-License-Identifier: MIT
// The launch of a kernel that walks tiles as one of the engine's forms does, and is not the engine's.
#pragma once

#include <cstddef>

#include "engines/hopper/forms.hpp"
#include "engines/hopper/product_params.hpp"
#include "engines/shared_memory.hpp"
#include "product/product.hpp"

namespace kizami::engines::hopper {

struct FormKernel {
  const void* kernel;
  std::size_t shared_bytes;
  int threads;
  SharedMemoryGrant& grant;
};

/// @param params  filled in; the kernel's one parameter, which begins with them
Status launch_form(const product::ProductDesc& desc, const product::Pointers& pointers, const HopperFormTraits& traits,
                   const FormKernel& kernel, ProductParams& params, product::Queue queue);

}  // namespace kizami::engines::hopper
