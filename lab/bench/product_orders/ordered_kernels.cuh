// SPDX-License-Identifier: MIT
// The kernels of one form in every order of tiles but the one that the library has.
#pragma once

#include "engines/hopper/product_i8_sm90.cuh"
#include "product_orders/product_orders.hpp"

namespace bench {

template <class F>
[[nodiscard]] OrderedKernels ordered_kernels_of() {
  namespace hopper = kizami::engines::hopper;
  using Counted = hopper::Ordered<hopper::WalkOrder::kCounted, hopper::ProductParams>;
  using Paced = hopper::Ordered<hopper::WalkOrder::kPaced, hopper::ProductParams>;
  constexpr auto kReduce = kizami::product::Epilogue::kReduce;
  return {{reinterpret_cast<const void*>(&hopper::product_i8_sm90<F, kReduce, false, Counted>),
           hopper::kOrderedBytes<F, Counted>},
          {reinterpret_cast<const void*>(&hopper::product_i8_sm90<F, kReduce, false, Paced>),
           hopper::kOrderedBytes<F, Paced>}};
}

}  // namespace bench
