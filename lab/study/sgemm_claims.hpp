// SPDX-License-Identifier: MIT
// The claims of [OY2021] on errors of products, judged by figures whose series have the names that are used here: those
// of the software tensor core, and those of a device.
#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace kizami::study {

/// Errors of mechanisms that are said to be one differ by at most this factor.
inline constexpr double kSame = 2.0;
/// A correction is negligible if leaving it out costs less than this.
inline constexpr double kNegligible = 1.25;
/// "Worse" and "degraded" mean by at least this factor.
inline constexpr double kWorse = 4.0;

/// @param where  added to the place of each claim: "" or ", device"

/// Figure 1. @param ours  the series of our own variant
void judge_error_over_k(const StudyFigure& figure, const std::string& where, const std::string& ours,
                        std::vector<Claim>& claims);
/// Figures 2 and 3.
void judge_causes(const StudyFigure& masked, const StudyFigure& rounding, const std::string& where,
                  std::vector<Claim>& claims);
/// Figure 8.
void judge_classes(const StudyFigure& classes, const std::string& where, std::vector<Claim>& claims);

}  // namespace kizami::study
