// SPDX-License-Identifier: MIT
#include "split/residues.hpp"

#include <algorithm>
#include <cstring>

#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "num/scaling.hpp"

namespace kizami::split {

template <class T>
void make_residue_planes(const problem::Lines<T>& lines, const num::LineStats* stats, const std::int32_t* inner_shift,
                         std::int64_t first, std::int64_t length, const num::Rung& rung, int threads,
                         std::int8_t* planes, std::int64_t row_stride, std::int64_t plane_stride) {
  constexpr std::int64_t kPad = 64;
  base::parallel_for(base::ceil_div(lines.num_lines, problem::kTileLines), threads, [&](std::int64_t group, int) {
    alignas(64) double tile[problem::kTileLines * problem::kTileLength];
    const std::int64_t first_line = group * problem::kTileLines;
    const std::int64_t num_lines = std::min(problem::kTileLines, lines.num_lines - first_line);
    for (std::int64_t h = 0; h < length; h += problem::kTileLength) {
      const std::int64_t part = std::min(problem::kTileLength, length - h);
      const std::int64_t padded = base::round_up(part, kPad);
      problem::load_tile(lines, first_line, num_lines, first + h, part, tile);
      for (std::int64_t a = 0; a < num_lines; ++a) {
        const num::LineStats& line = stats[first_line + a];
        double* const x = tile + a * problem::kTileLength;
        std::int8_t* const out = planes + (first_line + a) * row_stride + h;
        if (line.is_zero()) {
          for (int l = 0; l < rung.num_moduli; ++l)
            std::memset(out + l * plane_stride, 0, static_cast<std::size_t>(padded));
          continue;
        }
        std::fill(x + part, x + padded, 0.0);
        const int bits = num::scale_bits(rung, line.sum_squares);
        const int scale = bits - line.exponent;
        num::ScaleFactors factors = num::scale_factors(scale);
        if (inner_shift != nullptr) {
          for (std::int64_t b = 0; b < part; ++b) {
            const num::ScaleFactors f = num::scale_factors(scale + inner_shift[first + h + b]);
            x[b] = x[b] * f.first * f.second;
          }
          factors = num::ScaleFactors{};
        }
        residue_row(x, padded, factors.first, factors.second, bits + 1, rung.num_moduli, out, plane_stride);
      }
    }
  });
}

template void make_residue_planes<float>(const problem::Lines<float>&, const num::LineStats*, const std::int32_t*,
                                         std::int64_t, std::int64_t, const num::Rung&, int, std::int8_t*, std::int64_t,
                                         std::int64_t);
template void make_residue_planes<double>(const problem::Lines<double>&, const num::LineStats*, const std::int32_t*,
                                          std::int64_t, std::int64_t, const num::Rung&, int, std::int8_t*, std::int64_t,
                                          std::int64_t);

}  // namespace kizami::split
