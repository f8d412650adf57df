// SPDX-License-Identifier: MIT
#include "engines/hopper/product_i8_sm90.cuh"
#include "product_orders/product_orders.hpp"

namespace bench {
namespace {

namespace hopper = kizami::engines::hopper;
using kizami::engines::HopperSchedule;
using kizami::engines::LineOrder;

template <LineOrder kLineOrder, int kTileI, int kTileJ>
[[nodiscard]] OrderedKernels kernels_of() {
  using F = hopper::Form<HopperSchedule::kCooperative, kLineOrder, kTileI, kTileJ, 2, 4>;  // as the library has them
  using Counted = hopper::Ordered<WalkOrder::kCounted, hopper::ProductParams>;
  using Paced = hopper::Ordered<WalkOrder::kPaced, hopper::ProductParams>;
  constexpr auto kReduce = kizami::product::Epilogue::kReduce;
  return {{reinterpret_cast<const void*>(&hopper::product_i8_sm90<F, kReduce, false, Counted>),
           hopper::kOrderedBytes<F, Counted>},
          {reinterpret_cast<const void*>(&hopper::product_i8_sm90<F, kReduce, false, Paced>),
           hopper::kOrderedBytes<F, Paced>}};
}

}  // namespace

OrderedKernels ordered_192x256() { return kernels_of<LineOrder::kInOrder, 192, 256>(); }
OrderedKernels ordered_256x128() { return kernels_of<LineOrder::kInOrder, 256, 128>(); }
OrderedKernels ordered_256x128_permuted() { return kernels_of<LineOrder::kPermuted, 256, 128>(); }

}  // namespace bench
