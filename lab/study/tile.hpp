// SPDX-License-Identifier: MIT
// The benchmark of a document on CUDA Tile kernels (GEMM on a B200, FP16, FP8, TF32, FP64), repeated on a device by
// bench_gpu_tile; its JSON lines are sorted into a table and a figure here, and the document's claims are judged.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report.hpp"

namespace kizami::study {

struct TileStudy {
  std::string device;   ///< its name, driver, and when and at which commits it was measured
  StudyTable gemm;      ///< for each type and n the fastest tile kernel beside the vendor's
  StudyTable variants;  ///< every measured plan, as a share of the vendor's TFLOPS
  StudyFigure speed;    ///< TFLOPS over n, a class of data for each type
  std::vector<Claim> claims;
  std::map<std::pair<std::string, std::int64_t>, double>
      fastest;  ///< TFLOPS of the fastest tile kernel of a type and n
};

/// Reads JSON lines of bench_gpu_tile. A tile kernel counts beside the record of cuBLASLt of its type and n that
/// precedes it: that of the same run. Of two records of one plan the later counts.
/// @param name  of the source, for errors
/// @throws Failure kBadInput names the line that is no such record, has no vendor's before it, or failed its check; or
///         a type that the claims need and that was not measured
[[nodiscard]] TileStudy study_tile(std::istream& records, const std::string& name);

}  // namespace kizami::study
