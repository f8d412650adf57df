// SPDX-License-Identifier: MIT
// The second half of the document on CUDA Tile kernels: FP64 products from seven BF16 slices, repeated on a device by
// bench_gpu_tile_slices; its JSON lines are sorted into tables and a figure here, and the document's claims are judged.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "report.hpp"
#include "tile.hpp"

namespace kizami::study {

/// Bytes a second of an H200's memory, by its data sheet.
inline constexpr double kH200GigabytesPerSecond = 4800;

struct TileSlicesStudy {
  std::string device;   ///< as TileStudy's
  StudyTable slices;    ///< for each n and d the fastest kernel beside native FP64
  StudyTable variants;  ///< every kernel
  StudyFigure speed;    ///< TFLOPS of FP64 over n, a series for each d
  std::vector<Claim> claims;
};

/// Reads JSON lines of bench_gpu_tile_slices. A product counts beside the records of cuBLAS and of the split of its n
/// that precede it; of two records of one kernel, n and d the later counts.
/// @param gemm  of the same device, or null: what compares with a GEMM kernel's rate is then not judged
/// @param name  of the source, for errors
/// @throws Failure kBadInput names the line that is no such record or has no cuBLAS or split before it; or what claims
///         need and was not measured
[[nodiscard]] TileSlicesStudy study_tile_slices(std::istream& records, const std::string& name, const TileStudy* gemm);

struct TileSpreadStudy {
  StudyTable spread;  ///< every kernel whose pairs of a tile are shared, beside the same one where they are not
  std::vector<Claim> claims;
};

/// What the same records say of kernels that share the pairs of slices of a tile between blocks.
/// @throws Failure kBadInput as study_tile_slices(), or where there is no such kernel
[[nodiscard]] TileSpreadStudy study_tile_spread(std::istream& records, const std::string& name);

}  // namespace kizami::study
