// SPDX-License-Identifier: MIT
#include "engines/tile/phases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "num/crt_table.hpp"
#include "num/scaled.hpp"
#include "num/scaling.hpp"
#include "product/product.hpp"
#include "tile_kernels/crt.hpp"
#include "tile_kernels/residue_split.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using base::round_up;
using product::ReconstructionDesc;
using product::SplitDesc;
using tile_kernels::Order;

/// Two limbs hold integers below 2^96, six digits of 36 bits numbers below 2^215 with their sign.
constexpr int kLimbs = 2;
constexpr int kMostIntegerBits = 96;
constexpr int kDigits = 6;
/// The powers of two that a product is multiplied by: within them all of num::finish() is one fused multiply-add.
constexpr std::int64_t kLeastExponent = -340;
constexpr std::int64_t kMostExponent = 230;
constexpr std::int64_t kMostScale = 600;

constexpr int kSplitLines = 8;
constexpr int kSplitElems = 64;
constexpr int kTileN = 4;
constexpr int kTileM = 64;
/// Lines, columns, elements of one launch: index by int, and blocks within the 2^24 of a grid.
constexpr std::int64_t kMostLines = std::int64_t{1} << 14;
constexpr std::int64_t kMostElems = product::kBlockMaxI8;
static_assert((kMostLines / kSplitLines) * (kMostElems / kSplitElems) < std::int64_t{1} << 24);
static_assert((kMostLines / kTileN) * (kMostLines / kTileM) < std::int64_t{1} << 24);

[[nodiscard]] std::optional<std::string> why_stride_refused(const char* name, std::int64_t stride) {
  if (stride <= std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return std::string(name) + " = " + std::to_string(stride) + ", must be below 2^31: tile kernels index by int";
}

struct ScaleRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  bool skips = false;
};
[[nodiscard]] ScaleRange range_of(const std::int32_t* scales, std::int64_t count) {
  ScaleRange range;
  for (std::int64_t i = 0; i < count; ++i) {
    range.skips = range.skips || scales[i] == num::kSkipLine;
    range.least = std::min<std::int64_t>(range.least, scales[i]);
    range.most = std::max<std::int64_t>(range.most, scales[i]);
  }
  return range;
}

template <Order kOrder, class Element>
[[nodiscard]] Status split_block(const SplitDesc& d, const Element* data, std::int64_t i, std::int64_t h,
                                 const double* first, const double* second, const tile::LaunchOptions& options) {
  const std::int64_t num_lines = std::min(kMostLines, d.num_lines - i);
  const std::int64_t length = std::min(kMostElems, d.length - h);
  const std::int64_t padded = round_up(length, product::kPadBytes);
  const std::int64_t stride = kOrder == Order::kRowMajor ? d.line_stride : d.inner_stride;
  const dim3 grid(static_cast<unsigned>(ceil_div(num_lines, kSplitLines) * ceil_div(padded, kSplitElems)));
  return KIZAMI_TILE_LAUNCH(
      (tile_kernels::residue_split_block<kLimbs, kSplitLines, kSplitElems, false, kOrder, Element>), grid, &options,
      data + i * d.line_stride + h * d.inner_stride, static_cast<int>(stride), first + i, second + i,
      num::kRealModuli.data(), d.rung.num_moduli, d.planes + i * d.row_stride + h, d.plane_stride,
      static_cast<int>(d.row_stride), static_cast<int>(num_lines), static_cast<int>(length),
      static_cast<int>(num_lines), static_cast<int>(padded));
}

/// Whether beta C can be added by one fused multiply-add. FP64 holds whatever FP32 holds, times any other.
[[nodiscard]] bool has_moderate_c(const ReconstructionDesc& d) {
  const double* const* const c = std::get_if<double*>(&d.c);
  if (c == nullptr) return true;
  for (std::int64_t j = 0; j < d.n; ++j) {
    const double* const column = *c + j * d.c_col_stride;
    if (!std::all_of(column, column + d.m, [](double x) { return num::detail::is_moderate(x); })) return false;
  }
  return true;
}

template <class Result>
[[nodiscard]] Status reconstruct_part(const ReconstructionDesc& d, Result* c, const num::CrtTable& table,
                                      const double* half, std::int64_t i, std::int64_t j,
                                      const tile::LaunchOptions& options) {
  const std::int64_t num_i = std::min(kMostLines, d.m - i);
  const std::int64_t num_j = std::min(kMostLines, d.n - j);
  const dim3 grid(static_cast<unsigned>(ceil_div(num_j, kTileN) * ceil_div(num_i, kTileM)));
  return KIZAMI_TILE_LAUNCH((tile_kernels::crt_block<kDigits, kTileN, kTileM, false, Result>), grid, &options,
                            d.residues + j * d.col_stride + i, d.plane_stride, static_cast<int>(d.col_stride),
                            d.num_moduli, &table.weight[0][0], table.fraction, table.product, half, d.factors + i,
                            d.factors + d.m + j, d.alpha, d.beta, c + j * d.c_col_stride + i,
                            static_cast<int>(d.c_col_stride), static_cast<int>(num_i), static_cast<int>(num_j));
}

class TilePhases final : public product::PhaseBodies {
 public:
  [[nodiscard]] std::optional<std::string> why_refused(const SplitDesc& d) const override {
    if (d.inner_shift != nullptr) return "operands are equilibrated";
    if (d.inner_stride != 1 && d.line_stride != 1) return "elements lie one by one, neither along nor across lines";
    if (auto reason = why_stride_refused("stride", std::max(d.inner_stride, d.line_stride))) return reason;
    if (auto reason = why_stride_refused("row_stride", d.row_stride)) return reason;
    if (const int bits = num::floor_log2(d.rung.norm_limit) + 2; bits > kMostIntegerBits)
      return "integers of " + std::to_string(bits) + " bits, must be at most 96";
    if (range_of(d.scales, d.num_lines).skips) return "a line holds NaN or Inf";
    return std::nullopt;
  }

  [[nodiscard]] Status split(const SplitDesc& d) const override {
    double* const first = d.factors;
    double* const second = d.factors + d.num_lines;
    for (std::int64_t i = 0; i < d.num_lines; ++i) {
      const num::ScaleFactors factors = num::scale_factors(d.scales[i]);
      first[i] = factors.first;
      second[i] = factors.second;
    }
    tile::LaunchOptions options;
    options.max_threads = std::max(1, d.threads);
    for (std::int64_t i = 0; i < d.num_lines; i += kMostLines) {
      for (std::int64_t h = 0; h < d.length; h += kMostElems) {
        KIZAMI_RETURN_IF_ERROR(std::visit(
            [&](const auto* data) {
              return d.inner_stride == 1 ? split_block<Order::kRowMajor>(d, data, i, h, first, second, options)
                                         : split_block<Order::kColMajor>(d, data, i, h, first, second, options);
            },
            d.data));
      }
    }
    return {};
  }

  [[nodiscard]] std::optional<std::string> why_refused(const ReconstructionDesc& d) const override {
    if (d.c_row_stride != 1) return "C is not column-major";
    if (auto reason = why_stride_refused("c_col_stride", std::max(d.c_col_stride, d.col_stride))) return reason;
    if (const int digits = num::crt_table(num::Ring::kReal, d.num_moduli).num_digits; digits > kDigits)
      return std::to_string(d.num_moduli) + " moduli of " + std::to_string(digits) + " digits, must be at most 6";
    if (!num::detail::is_moderate(d.alpha)) return "alpha leaves the range of one fused multiply-add";
    if (!num::detail::is_moderate(d.beta)) return "beta leaves the range of one fused multiply-add";
    if (d.beta != 0.0 && !has_moderate_c(d)) return "an element of C leaves the range of one fused multiply-add";
    const ScaleRange rows = range_of(d.row_scale, d.m);
    const ScaleRange cols = range_of(d.col_scale, d.n);
    if (rows.skips || cols.skips) return "a line holds NaN or Inf";
    for (const ScaleRange& range : {rows, cols}) {
      if (range.least < -kMostScale || range.most > kMostScale) return "scales leave the range of -600..600";
    }
    if (-(rows.most + cols.most) < kLeastExponent || -(rows.least + cols.least) > kMostExponent)
      return "products leave the range of one fused multiply-add";
    return std::nullopt;
  }

  [[nodiscard]] Status reconstruct(const ReconstructionDesc& d) const override {
    if (d.m == 0 || d.n == 0) return {};
    const num::CrtTable& table = num::crt_table(num::Ring::kReal, d.num_moduli);
    std::array<double, kDigits> half;
    for (int digit = 0; digit < kDigits; ++digit)
      half[static_cast<std::size_t>(digit)] = num::detail::crt_digit(table.half_wide, digit);
    double* const row_factors = d.factors;
    double* const col_factors = d.factors + d.m;
    for (std::int64_t i = 0; i < d.m; ++i) row_factors[i] = std::ldexp(1.0, -d.row_scale[i]);
    for (std::int64_t j = 0; j < d.n; ++j) col_factors[j] = std::ldexp(1.0, -d.col_scale[j]);
    tile::LaunchOptions options;
    options.max_threads = std::max(1, d.threads);
    for (std::int64_t j = 0; j < d.n; j += kMostLines) {
      for (std::int64_t i = 0; i < d.m; i += kMostLines) {
        KIZAMI_RETURN_IF_ERROR(
            std::visit([&](auto* c) { return reconstruct_part(d, c, table, half.data(), i, j, options); }, d.c));
      }
    }
    return {};
  }
};

}  // namespace

const product::PhaseBodies& tile_phases() {
  static constinit base::MadeOnce<TilePhases> phases;
  return phases.get();
}

}  // namespace kizami::engines
