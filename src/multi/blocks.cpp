// SPDX-License-Identifier: MIT
#include "multi/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

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

/// Column x up to which the triangle of n has `pairs` of its n^2 / 2.
[[nodiscard]] double column_of_pairs(double n, double pairs) { return n - std::sqrt(std::max(n * n - 2 * pairs, 0.0)); }
/// Row y of columns [x0, x1) above which the triangle has `pairs` there.
[[nodiscard]] double row_of_pairs(double x0, double x1, double pairs) {
  const double width = x1 - x0;
  const double corner = width * width / 2;
  if (pairs <= corner) return x0 + std::sqrt(2 * std::max(pairs, 0.0));
  return x1 + (pairs - corner) / width;
}
[[nodiscard]] std::int64_t rounded(double x, std::int64_t unit, std::int64_t least, std::int64_t most) {
  return std::clamp(static_cast<std::int64_t>(std::llround(x / static_cast<double>(unit))) * unit, least, most);
}

/// Rows [y0, y1) of columns [x0, x1) of the triangle, in blocks.
void add_band(std::int64_t x0, std::int64_t x1, std::int64_t y0, std::int64_t y1, std::vector<Rect>& blocks) {
  const auto add = [&](const Rect& block) {
    if (!block.is_empty()) blocks.push_back(block);
  };
  const std::int64_t in_corner = std::min(y1, x1);
  if (y0 < in_corner) {
    add({y0, y0, in_corner - y0, in_corner - y0});
    add({y0, x0, in_corner - y0, y0 - x0});
  }
  const std::int64_t below = std::max(y0, x1);
  add({below, x0, y1 - below, x1 - x0});
}

[[nodiscard]] std::vector<std::vector<Rect>> deal_triangle_in_groups(std::int64_t n, std::span<const double> speeds,
                                                                     std::span<const std::size_t> sizes) {
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  const auto extent = static_cast<double>(n);
  const double pairs = extent * extent / 2;
  const std::int64_t unit = unit_of(n, static_cast<std::int64_t>(speeds.size()));
  std::vector<std::vector<Rect>> dealt;
  std::int64_t x0 = 0;
  std::size_t first = 0;
  double before = 0;  // speeds of the groups before
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const std::span<const double> members = speeds.subspan(first, sizes[g]);
    const double of_group = std::accumulate(members.begin(), members.end(), 0.0);
    const std::int64_t x1 =
        g + 1 == sizes.size() ? n : rounded(column_of_pairs(extent, pairs * ((before + of_group) / all)), unit, x0, n);
    // Of what these columns have, whatever rounding has made of them.
    const double width = static_cast<double>(x1 - x0);
    const double in_columns = width * static_cast<double>(n - x0) - width * width / 2;
    std::int64_t y0 = x0;
    double sum = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      sum += members[i];
      std::int64_t y1 = n;
      if (i + 1 < members.size()) {
        y1 = rounded(row_of_pairs(static_cast<double>(x0), static_cast<double>(x1), in_columns * (sum / of_group)),
                     unit, y0, n);
        if (std::abs(y1 - x1) * 128 <= n && x1 >= y0) y1 = x1;  // no sliver beside a triangle
      }
      dealt.emplace_back();
      add_band(x0, x1, y0, y1, dealt.back());
      y0 = y1;
    }
    before += of_group;
    first += sizes[g];
    x0 = x1;
  }
  return dealt;
}

/// Lines that a device splits for its blocks, those of a triangle once.
[[nodiscard]] std::int64_t lines_to_split(std::span<const Rect> blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}, [](std::int64_t sum, const Rect& block) {
    return sum + block.rows + (block.row == block.col ? 0 : block.cols);
  });
}

/// Pairs of a device's blocks for the time that they take, each 1 in a triangle.
[[nodiscard]] double pairs_for_time(std::span<const Rect> blocks, double beside) {
  double pairs = 0;
  double time = 0;
  for (const Rect& block : blocks) {
    pairs += num_pairs(block);
    time += num_pairs(block) * (is_triangle(block) ? 1 : beside);
  }
  return time > 0 ? pairs / time : 1;
}

[[nodiscard]] std::size_t count_blocks(std::span<const std::vector<Rect>> dealt) {
  return std::accumulate(dealt.begin(), dealt.end(), std::size_t{0},
                         [](std::size_t sum, const std::vector<Rect>& blocks) { return sum + blocks.size(); });
}

/// Ends of equal parts.
[[nodiscard]] std::vector<std::int64_t> equal_parts(std::int64_t extent, std::int64_t parts) {
  const std::vector<double> weights(static_cast<std::size_t>(parts), 1.0);
  return cut_extent(extent, weights, unit_of(extent, parts));
}

/// Sizes of the groups by which the device with most lines to split has fewest, of equal ones the fewest lines in all.
[[nodiscard]] std::vector<std::size_t> groups_of_triangle(std::int64_t n, std::span<const double> speeds) {
  std::vector<std::size_t> best;
  std::pair<std::int64_t, std::int64_t> fewest;
  // Every way to put the devices in groups, in their order: a bit for each place where a group may end.
  const std::size_t ways = std::size_t{1} << (speeds.size() - 1);
  for (std::size_t way = 0; way < ways; ++way) {
    std::vector<std::size_t> sizes = {1};
    for (std::size_t i = 0; i + 1 < speeds.size(); ++i) {
      if ((way >> i & 1) != 0) {
        sizes.push_back(1);
      } else {
        ++sizes.back();
      }
    }
    std::pair<std::int64_t, std::int64_t> lines;  // of the device with most, of all
    for (const std::vector<Rect>& blocks : deal_triangle_in_groups(n, speeds, sizes)) {
      const std::int64_t here = lines_to_split(blocks);
      lines.first = std::max(lines.first, here);
      lines.second += here;
    }
    if (!best.empty() && fewest <= lines) continue;
    best = std::move(sizes);
    fewest = lines;
  }
  return best;
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

std::vector<std::vector<Rect>> deal_triangle(std::int64_t n, std::span<const double> speeds, double beside) {
  const std::vector<std::size_t> groups = groups_of_triangle(n, speeds);
  std::vector<std::vector<Rect>> by_area = deal_triangle_in_groups(n, speeds, groups);
  if (beside == 1) return by_area;
  // Whose blocks are quick is dealt to as if it were: three rounds of it change shares by no more than a tile.
  constexpr int kRounds = 3;
  std::vector<std::vector<Rect>> by_time = by_area;
  std::vector<double> of_areas(speeds.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < speeds.size(); ++i) of_areas[i] = speeds[i] * pairs_for_time(by_time[i], beside);
    by_time = deal_triangle_in_groups(n, of_areas, groups);
  }
  return count_blocks(by_time) > count_blocks(by_area) ? by_area : by_time;
}

std::vector<Rect> halve_block(const Rect& block) {
  if (block.row != block.col)
    return block.cols > block.rows ? cut_block(block, 1, 2)
                                   : cut_block(block, std::min<std::int64_t>(block.rows, 2), 1);
  if (block.rows <= 1) return {block};
  const std::int64_t half = equal_parts(block.rows, 2)[0];
  const std::int64_t rest = block.rows - half;
  const std::int64_t middle = block.row + half;
  return {{block.row, block.row, half, half}, {middle, middle, rest, rest}, {middle, block.row, rest, half}};
}

bool halve_all(std::vector<Rect>& blocks) {
  std::vector<Rect> halves;
  for (const Rect& block : blocks) {
    const std::vector<Rect> of_block = halve_block(block);
    halves.insert(halves.end(), of_block.begin(), of_block.end());
  }
  const bool is_cut = halves.size() > blocks.size();
  blocks = std::move(halves);
  return is_cut;
}

std::vector<Rect> cut_share_of_triangle(std::vector<Rect> dealt, int parts, std::size_t devices) {
  const bool is_square_alone = dealt.size() == 1 && dealt[0].row != dealt[0].col;
  const std::size_t wished = parts != 0 ? static_cast<std::size_t>(parts) : devices > 1 && is_square_alone ? 2 : 1;
  while (!dealt.empty() && dealt.size() < wished && halve_all(dealt)) {
  }
  return dealt;
}

}  // namespace kizami::multi
