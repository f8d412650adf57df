// SPDX-License-Identifier: MIT
// The experiments of [OY2021] on a device: speed (figure 9) and errors on tensor cores of silicon (figures 1, 2, 3 and
// 8), and both beside each other (table 2). bench_gpu_ec and bench_gpu_ec_errors measure them and print JSON lines; here
// they are sorted into figures and judged: what the document claims of a variant by that variant as it is printed, ours
// beside it under its own name.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "report.hpp"

namespace kizami::study {

struct SgemmSpeed {
  std::string device;                ///< its name, driver, and when and at which commits it was measured
  std::vector<StudyFigure> figures;  ///< 9, and relative to the FP32 peak
  std::vector<Claim> claims;
};

/// Reads JSON lines of bench_gpu_ec. Square products in order nn of normal data become points of figure 9; others are
/// left out. Of two records of one point the later counts.
/// @param name  of the source, for errors
/// @throws Failure kBadInput names the line that is no such record, or the series without points
[[nodiscard]] SgemmSpeed study_sgemm_speed(std::istream& records, const std::string& name);

struct SgemmErrors {
  std::string device;                ///< likewise, and how many seeds
  std::vector<StudyFigure> figures;  ///< 1, 2, 3 and 8 on the device
  std::vector<Claim> claims;
};

/// Reads JSON lines of bench_gpu_ec_errors. Of two records of one pair of classes and method the later counts.
/// @throws Failure kBadInput as above
[[nodiscard]] SgemmErrors study_sgemm_errors(std::istream& records, const std::string& name);

/// Table 2: the implementations that the document compares, with their errors and their highest speeds.
[[nodiscard]] StudyTable sgemm_table_2(const SgemmErrors& errors, const SgemmSpeed& speed);

}  // namespace kizami::study
