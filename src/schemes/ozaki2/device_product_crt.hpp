// SPDX-License-Identifier: MIT
// The product of all residue planes and the CRT of its results in one kernel, for engine hopper: a warpgroup rebuilds columns of
// a tile of C whose planes are all made while the other one multiplies.
#pragma once

#include "kizami/status.hpp"
#include "product/product.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace kizami::ozaki2 {

/// The planes of `product`, as the engine makes them, and C of rungs that is_made_with_product() has. Planes of others are made, too.
/// @param task  its planes are pointers.c; with_product
/// @queue enqueues one kernel
Status multiply_and_reconstruct(const product::ProductDesc& product, const product::Pointers& pointers,
                                const DeviceReconstruction<double>& task, product::Queue queue);

}  // namespace kizami::ozaki2
