// SPDX-License-Identifier: MIT
// The residue product of engine hopper in orders of tiles that the library does not have (drift_control.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "engines/hopper/drift_control.hpp"
#include "engines/hopper/forms.hpp"
#include "product/product.hpp"

namespace bench {

using kizami::engines::HopperForm;
using kizami::engines::HopperFormTraits;
using kizami::engines::hopper::DriftWords;
using kizami::engines::hopper::WalkOrder;

inline constexpr std::array kWalkOrders = {WalkOrder::kStatic, WalkOrder::kCounted, WalkOrder::kPaced};
[[nodiscard]] constexpr std::string_view to_string(WalkOrder order) {
  constexpr std::array<std::string_view, kWalkOrders.size()> kNames = {"static", "counted", "paced"};
  return kNames[static_cast<std::size_t>(order)];
}

/// Whether the product is compiled so: kStatic as the library has it, the others with kReduce for the cooperative forms.
[[nodiscard]] bool order_accepts(const HopperFormTraits& form, WalkOrder order,
                                 const kizami::product::ProductDesc& desc);

/// run_hopper_product() in an order.
/// @param words  in device memory, zeros before the first launch; one launch at a time
/// @status kUnsupported where order_accepts() says no; else as run_hopper_product()
[[nodiscard]] kizami::Status run_ordered_product(const kizami::product::ProductDesc& desc,
                                                 const kizami::product::Pointers& pointers, HopperForm form,
                                                 WalkOrder order, DriftWords* words, kizami::product::Queue queue,
                                                 int raster_tiles = 0);

/// A kernel and its dynamic shared memory.
struct OrderedKernel {
  const void* kernel;
  std::size_t shared_bytes;
};
struct OrderedKernels {
  OrderedKernel counted;
  OrderedKernel paced;
};
[[nodiscard]] OrderedKernels ordered_192x256();
[[nodiscard]] OrderedKernels ordered_256x128();
[[nodiscard]] OrderedKernels ordered_256x128_permuted();

}  // namespace bench
