// SPDX-License-Identifier: MIT
// The processor's part of the study of CUDA Tile kernels: GEMM in tile code by the host implementation of cuda::tiles,
// a type and a size after another, beside the platform's BLAS where it has the type, in pairs within one run; and the
// INT8 products of engine tile beside those of cpu_simd.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report.hpp"

namespace kizami::study {

struct TileHostStudy {
  std::string machine;  ///< processor and threads
  StudyTable host;      ///< every type, size and tiling
  StudyFigure speed;    ///< GFLOP/s of the fastest tiling over n, a class of data for each type
  std::vector<Claim> claims;
};

/// Measures with n = 64, 128, ... up to max_n; every C is compared with the exact product. Progress goes to stderr, if
/// that is a terminal.
/// @range  64 <= max_n <= 2048, the largest n for which FP16 holds every sum; threads >= 1
/// @throws Failure kInternal: a product that fails, or is wrong
[[nodiscard]] TileHostStudy study_tile_host(std::int64_t max_n, int threads);

}  // namespace kizami::study
