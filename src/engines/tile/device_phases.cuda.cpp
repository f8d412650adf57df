// SPDX-License-Identifier: MIT
#include "engines/tile/device_phases.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "engines/tile/device_kernels.hpp"
#include "num/crt_table.hpp"
#include "num/exponent.hpp"
#include "tile_kernels/crt_record.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using base::round_up;
using product::DeviceReconstructionDesc;
using product::DeviceSplitDesc;
using tile_engines::DeviceKernels;

// The tiles of the kernels (tile_kernels/device/ozaki2.cu).
constexpr std::int64_t kSplitLines = 16;
constexpr std::int64_t kSplitElems = 64;
constexpr std::int64_t kTileN = 8;
constexpr std::int64_t kTileM = 64;
/// Lines, columns, elements of one launch: its blocks are within the 2^24 of a grid.
constexpr std::int64_t kMostPhaseLines = std::int64_t{1} << 14;
static_assert((kMostPhaseLines / kSplitLines) * (product::kBlockMaxI8 / kSplitElems) < std::int64_t{1} << 24);
static_assert((kMostPhaseLines / kTileN) * (kMostPhaseLines / kTileM) < std::int64_t{1} << 24);

[[nodiscard]] std::optional<std::string> why_stride_refused(const char* name, std::int64_t stride) {
  if (stride >= 0 && stride <= std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return std::string(name) + " = " + std::to_string(stride) + ", must be in 0..2^31 - 1: tile kernels index by int";
}

/// Limbs of 44 bits but for the first one of 52 that hold the integers of a rung.
[[nodiscard]] int limbs_of(const num::Rung& rung) {
  const int bits = num::floor_log2(rung.norm_limit) + 2;
  return bits <= 52 ? 1 : 1 + ceil_div(bits - 52, 44);
}
/// Digits of 36 bits of the product of its moduli.
[[nodiscard]] int digits_of(const num::Rung& rung) {
  return std::max(num::crt_table(num::Ring::kReal, rung.num_moduli).num_digits, tile_engines::kLeastDigits);
}

/// The counts of moduli of the rungs that need from `least` to `most`. Rungs rise, and so does what they need.
struct Counts {
  int least = std::numeric_limits<std::int32_t>::max();
  int most = 0;
};
template <class OfRung>
[[nodiscard]] Counts counts_with(const num::Ladder& ladder, int least, int most, const OfRung& of_rung) {
  Counts counts;
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const num::Rung& rung = ladder.rungs[static_cast<std::size_t>(r)];
    if (of_rung(rung) < least || of_rung(rung) > most) continue;
    counts.least = std::min(counts.least, rung.num_moduli);
    counts.most = std::max(counts.most, rung.num_moduli);
  }
  return counts;
}
template <class OfRung>
[[nodiscard]] int most_moduli(const num::Ladder& ladder, int most, const OfRung& of_rung) {
  int count = 0;
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const num::Rung& rung = ladder.rungs[static_cast<std::size_t>(r)];
    if (of_rung(rung) <= most) count = std::max(count, rung.num_moduli);
  }
  return count;
}

[[nodiscard]] unsigned blocks(std::int64_t rows, std::int64_t tile_rows, std::int64_t cols, std::int64_t tile_cols) {
  return static_cast<unsigned>(ceil_div(rows, tile_rows) * ceil_div(cols, tile_cols));
}

class TileDevicePhases final : public product::DevicePhaseBodies {
 public:
  [[nodiscard]] int most_split_moduli(const num::Ladder& ladder) const override {
    return most_moduli(ladder, tile_engines::kMostLimbs, limbs_of);
  }
  [[nodiscard]] int most_reconstructed_moduli(const num::Ladder& ladder) const override {
    return most_moduli(ladder, tile_engines::kMostDigits, digits_of);
  }

  [[nodiscard]] std::optional<std::string> why_refused(const DeviceSplitDesc& d) const override {
    if (d.inner_stride != 1 && d.line_stride != 1) return "elements lie one by one, neither along nor across lines";
    if (auto reason = why_stride_refused("line_stride", d.line_stride)) return reason;
    if (auto reason = why_stride_refused("inner_stride", d.inner_stride)) return reason;
    return why_stride_refused("row_stride", d.row_stride);
  }

  [[nodiscard]] Status split(const DeviceSplitDesc& d, product::Queue queue) const override {
    const DeviceKernels* kernels = nullptr;
    KIZAMI_RETURN_IF_ERROR(tile_engines::current_kernels(kernels));
    for (int limbs = 1; limbs <= tile_engines::kMostLimbs; ++limbs) {
      const Counts counts = counts_with(d.ladder, limbs, limbs, limbs_of);
      if (counts.most == 0) continue;
      const tile_engines::SplitKernels& both = kernels->split[static_cast<std::size_t>(limbs - 1)];
      const bool is_across = d.inner_stride != 1;
      const base::CudaModuleKernel& kernel = is_across ? both.across : both.along;
      const auto stride = static_cast<int>(is_across ? d.inner_stride : d.line_stride);
      const std::int64_t padded = round_up(d.length, product::kWindowPad);
      for (std::int64_t i = 0; i < d.num_lines; i += kMostPhaseLines) {
        const std::int64_t num_lines = std::min(kMostPhaseLines, d.num_lines - i);
        // Rows of padding are those of the last tile.
        const std::int64_t num_rows = std::min(d.num_rows - i, round_up(num_lines, kSplitLines));
        KIZAMI_RETURN_IF_ERROR(kernel.launch(
            dim3(blocks(num_rows, kSplitLines, padded, kSplitElems)), queue, d.data + i * d.line_stride, stride,
            d.factors + i, d.factors + d.num_lines + i, kernels->moduli, d.num_moduli, counts.least, counts.most,
            d.planes + i * d.row_stride, d.plane_stride, static_cast<int>(d.row_stride), static_cast<int>(num_lines),
            static_cast<int>(d.length), static_cast<int>(num_rows), static_cast<int>(padded)));
      }
    }
    return {};
  }

  [[nodiscard]] std::optional<std::string> why_refused(const DeviceReconstructionDesc& d) const override {
    if (d.c_row_stride != 1) return "C is not column-major";
    if (auto reason = why_stride_refused("c_col_stride", d.c_col_stride)) return reason;
    return why_stride_refused("col_stride", d.col_stride);
  }

  [[nodiscard]] Status reconstruct(const DeviceReconstructionDesc& d, product::Queue queue) const override {
    const DeviceKernels* kernels = nullptr;
    KIZAMI_RETURN_IF_ERROR(tile_engines::current_kernels(kernels));
    // Digits of the lowest rung, which nearly all calls take, and as many as any other needs: a launch that does
    // nothing has its blocks.
    const int of_lowest = digits_of(d.ladder.rungs[0]);
    int of_others = of_lowest;
    for (int r = 1; r < d.ladder.num_rungs; ++r) {
      const int digits = digits_of(d.ladder.rungs[static_cast<std::size_t>(r)]);
      if (digits <= tile_engines::kMostDigits) of_others = std::max(of_others, digits);
    }
    KIZAMI_RETURN_IF_ERROR(reconstruct(d, *kernels, 0, of_lowest, queue));
    return of_others == of_lowest ? Status() : reconstruct(d, *kernels, of_lowest + 1, of_others, queue);
  }

 private:
  /// The rungs that need from least to most digits, by the kernel for most.
  [[nodiscard]] static Status reconstruct(const DeviceReconstructionDesc& d, const DeviceKernels& kernels, int least,
                                          int most, product::Queue queue) {
    const Counts counts = counts_with(d.ladder, least, most, digits_of);
    if (counts.most == 0) return {};
    const base::CudaModuleKernel& kernel =
        kernels.reconstruct[static_cast<std::size_t>(most - tile_engines::kLeastDigits)];
    for (std::int64_t j = 0; j < d.n; j += kMostPhaseLines) {
      for (std::int64_t i = 0; i < d.m; i += kMostPhaseLines) {
        const std::int64_t num_i = std::min(kMostPhaseLines, d.m - i);
        const std::int64_t num_j = std::min(kMostPhaseLines, d.n - j);
        KIZAMI_RETURN_IF_ERROR(kernel.launch(
            dim3(blocks(num_j, kTileN, num_i, kTileM)), queue, d.residues + j * d.col_stride + i, d.plane_stride,
            static_cast<int>(d.col_stride), d.num_moduli, counts.least, counts.most, kernels.crt_records,
            d.row_factors + i, d.col_factors + j, d.alpha, 0.0, d.c + j * d.c_col_stride + i,
            static_cast<int>(d.c_col_stride), static_cast<int>(num_i), static_cast<int>(num_j)));
      }
    }
    return {};
  }
};

}  // namespace

const product::DevicePhaseBodies& tile_device_phases() {
  static constinit base::MadeOnce<TileDevicePhases> phases;
  return phases.get();
}

}  // namespace kizami::engines
