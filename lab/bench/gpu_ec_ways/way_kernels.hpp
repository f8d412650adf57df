// SPDX-License-Identifier: MIT
// The kernels of product_ways_sm90.cuh, each in a unit of its own for the time that they take to compile.
#pragma once

#include "engines/hopper/drift_control.hpp"
#include "engines/hopper/ec_params.hpp"
#include "gpu_ec_ways/ec_ways.hpp"

namespace bench::ec_ways {

struct WayParams : kizami::engines::hopper::EcParams {
  kizami::engines::hopper::DriftWords* words;  ///< EcWay::kPaced
};

/// @param kHasBlocks  false where hopper::has_block_sums(): for k that make one block
template <kizami::engines::EcForm form, kizami::product::EcPromotion promotion, EcWay way, bool kHasBlocks>
[[nodiscard]] kizami::engines::hopper::EcKernel way_kernel();

}  // namespace bench::ec_ways
