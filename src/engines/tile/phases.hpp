// SPDX-License-Identifier: MIT
// The phases of scheme ozaki2 around the products as tile kernels (tile_kernels/residue_split.hpp, crt.hpp), for FP64
// and FP32.
#pragma once

#include "product/phases.hpp"

namespace kizami::engines {

/// @range  split: lines that are contiguous along k or across lines, finite, not equilibrated, integers below 2^96
///         (up to 24 moduli). Reconstruction: C column-major, P below 2^215, magnitudes of products within 2^-340
///         and 2^230, those of alpha, beta and, unless beta = 0, an FP64 C within 2^-400 and 2^400, so that nothing
///         underflows or overflows before the last rounding.
/// @exact  as the common phases
[[nodiscard]] const product::PhaseBodies& tile_phases();

}  // namespace kizami::engines
