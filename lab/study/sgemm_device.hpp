// SPDX-License-Identifier: MIT
// The experiments of [OY2021] that need a device: speed (figure 9) and errors on tensor cores of silicon. bench_gpu_ec
// measures them and prints JSON lines; here they are sorted into figures and judged.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "report.hpp"

namespace kizami::study {

struct SgemmDeviceStudy {
  std::string device;                ///< its name, driver, and when and at which commits it was measured
  std::vector<StudyFigure> figures;  ///< 9, relative to the FP32 peak; 1 and 8 on the device
  std::vector<Claim> claims;
};

/// Reads JSON lines of bench_gpu_ec. Square products in order nn of normal data become points of figure 9; products of
/// 16 x k by k x 16 become points of figures 1 (uniform data) and 8 (exp_rand); others are left out. Of two records of
/// one point the later counts.
/// @param name  of the source, for errors
/// @throws Failure kBadInput names the line that is no such record, or the figure without points
[[nodiscard]] SgemmDeviceStudy study_sgemm_device(std::istream& records, const std::string& name);

}  // namespace kizami::study
