// SPDX-License-Identifier: MIT
#include "multi/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kizami::multi {
namespace {

constexpr std::int64_t kTile = 128;        ///< lines of a tile of the products
constexpr std::int64_t kLeastTiled = 512;  ///< of a part: shorter ones are cut anywhere

[[nodiscard]] std::int64_t unit_of(std::int64_t extent, std::int64_t parts) {
  return extent / parts >= kLeastTiled ? kTile : 1;
}

/// Devices of each of so many groups: as equal as they can be, the first ones larger.
[[nodiscard]] std::vector<std::size_t> group_sizes(std::size_t devices, std::size_t groups) {
  std::vector<std::size_t> sizes(groups, devices / groups);
  for (std::size_t g = 0; g < devices % groups; ++g) ++sizes[g];
  return sizes;
}

[[nodiscard]] std::vector<Rect> deal_in_groups(std::int64_t m, std::int64_t n, std::span<const double> speeds,
                                               std::size_t groups) {
  const std::vector<std::size_t> sizes = group_sizes(speeds.size(), groups);
  std::vector<double> of_groups;
  std::size_t first = 0;
  for (const std::size_t size : sizes) {
    const std::span<const double> members = speeds.subspan(first, size);
    of_groups.push_back(std::accumulate(members.begin(), members.end(), 0.0));
    first += size;
  }
  const std::vector<std::int64_t> cols = cut_extent(n, of_groups, unit_of(n, static_cast<std::int64_t>(groups)));
  std::vector<Rect> blocks;
  first = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::int64_t col = g == 0 ? 0 : cols[g - 1];
    const std::vector<std::int64_t> rows =
        cut_extent(m, speeds.subspan(first, sizes[g]), unit_of(m, static_cast<std::int64_t>(sizes[g])));
    for (std::size_t i = 0; i < sizes[g]; ++i) {
      const std::int64_t row = i == 0 ? 0 : rows[i - 1];
      blocks.push_back({row, col, rows[i] - row, cols[g] - col});
    }
    first += sizes[g];
  }
  return blocks;
}

/// Ends of equal parts.
[[nodiscard]] std::vector<std::int64_t> equal_parts(std::int64_t extent, std::int64_t parts) {
  const std::vector<double> weights(static_cast<std::size_t>(parts), 1.0);
  return cut_extent(extent, weights, unit_of(extent, parts));
}

}  // namespace

std::vector<std::int64_t> cut_extent(std::int64_t extent, std::span<const double> weights, std::int64_t unit) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> ends;
  ends.reserve(weights.size());
  double sum = 0;
  for (const double weight : weights) {
    sum += weight;
    const double exact = static_cast<double>(extent) * (sum / all);
    const std::int64_t near = static_cast<std::int64_t>(std::llround(exact / static_cast<double>(unit))) * unit;
    ends.push_back(std::clamp(near, ends.empty() ? 0 : ends.back(), extent));
  }
  ends.back() = extent;
  return ends;
}

std::vector<Rect> deal_blocks(std::int64_t m, std::int64_t n, std::span<const double> speeds) {
  std::vector<Rect> best;
  std::int64_t fewest = 0;
  for (std::size_t groups = 1; groups <= speeds.size(); ++groups) {
    std::vector<Rect> blocks = deal_in_groups(m, n, speeds, groups);
    std::int64_t lines = 0;
    for (const Rect& block : blocks) lines += block.is_empty() ? 0 : block.rows + block.cols;
    if (best.empty() || lines <= fewest) {
      best = std::move(blocks);
      fewest = lines;
    }
  }
  return best;
}

std::vector<Rect> cut_block(const Rect& block, std::int64_t row_parts, std::int64_t col_parts) {
  const std::vector<std::int64_t> rows = equal_parts(block.rows, row_parts);
  const std::vector<std::int64_t> cols = equal_parts(block.cols, col_parts);
  std::vector<Rect> parts;
  for (std::size_t j = 0; j < cols.size(); ++j) {
    const std::int64_t col = j == 0 ? 0 : cols[j - 1];
    for (std::size_t step = 0; step < rows.size(); ++step) {
      const std::size_t i = j % 2 == 0 ? step : rows.size() - 1 - step;
      const std::int64_t row = i == 0 ? 0 : rows[i - 1];
      const Rect part{block.row + row, block.col + col, rows[i] - row, cols[j] - col};
      if (!part.is_empty()) parts.push_back(part);
    }
  }
  return parts;
}

}  // namespace kizami::multi
