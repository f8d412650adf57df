// SPDX-License-Identifier: MIT
// What the host hands to a product kernel that walks tiles in an order of drift_control.hpp.
#pragma once

#include "engines/hopper/drift_control.hpp"

namespace kizami::engines::hopper {

/// Parameters of a kernel with an order of its own; Base: ProductParams or what begins with them.
template <WalkOrder walk_order, class Base>
struct Ordered : Base {
  DriftWords* words;
};
template <class Params>
inline constexpr WalkOrder kWalkOrderOf = WalkOrder::kStatic;
template <WalkOrder walk_order, class Base>
inline constexpr WalkOrder kWalkOrderOf<Ordered<walk_order, Base>> = walk_order;

}  // namespace kizami::engines::hopper
