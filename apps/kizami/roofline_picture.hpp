// SPDX-License-Identifier: MIT
// The roofline picture as SVG: rates over operations a byte, both axes logarithmic.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kizami::cli {

/// What a line stands for.
enum class LineKind { kRate, kProductRoof, kDataRoof };  ///< drawn through, dashed, dotted

struct PictureLine {
  std::string name;  ///< lines of one name have one colour, and one entry of the legend
  LineKind kind = LineKind::kRate;
  std::vector<std::pair<double, double>> points;  ///< x ascending; both above 0
};

/// @param note  below the picture  @range at least one point
[[nodiscard]] std::string roofline_picture(const std::vector<PictureLine>& lines, const std::string& note);

}  // namespace kizami::cli
