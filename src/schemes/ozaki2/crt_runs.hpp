// SPDX-License-Identifier: MIT
// What a warp takes of C at a time where the CRT's sums are made of bytes (device_crt_bytes.cuh), and all such shares of
// a triangle, for the kernel and for tests.
#pragma once

#include <cstdint>

#include "base/triangular.hpp"
#include "kizami/host_device.hpp"

namespace kizami::ozaki2 {

inline constexpr int kWarpRows = 128;
inline constexpr std::uint32_t kRunColumns = 4;

/// Some columns, one after another, of 128 rows.
struct Run {
  int rows;  ///< the number of the 128
  int column;
  int left;  ///< columns
};

/// The runs that have an element of one triangle, of blocks of 128 x 128 elements. Numbers that follow one another are
/// the rows of the same columns.
class TriangleRuns {
 public:
  /// @range 1 <= n, n^2 < 2^38
  KIZAMI_HOST_DEVICE TriangleRuns(std::int64_t n, bool is_lower)
      : cols_(static_cast<std::uint32_t>(n)),
        blocks_((cols_ + kWarpRows - 1) / kWarpRows),
        is_lower_(is_lower),
        missing_(kOfBlock - (cols_ - (blocks_ - 1) * kWarpRows + kRunColumns - 1) / kRunColumns) {}

  [[nodiscard]] KIZAMI_HOST_DEVICE std::uint32_t count() const {
    return kOfBlock * base::triangular(blocks_) - missing_ * (is_lower_ ? 1 : blocks_);
  }

  /// Columns of blocks have one, two, ... blocks, from the last one on of a lower triangle, from the first one on of an
  /// upper one. The last may be narrow: then the first of its runs are left out, or the last.
  [[nodiscard]] KIZAMI_HOST_DEVICE Run operator[](std::uint32_t number) const {
    const std::uint32_t at = is_lower_ ? number + missing_ : number;
    const std::uint32_t place = base::triangular_root(at / kOfBlock);
    const std::uint32_t in_place = at - kOfBlock * base::triangular(place);
    std::uint32_t run = in_place / (place + 1);
    const std::uint32_t below = in_place - run * (place + 1);
    if (is_lower_ && place == 0) run -= missing_;
    const std::uint32_t block_column = is_lower_ ? blocks_ - 1 - place : place;
    const std::uint32_t column = block_column * kWarpRows + run * kRunColumns;
    const std::uint32_t left = cols_ - column;
    return {static_cast<int>(is_lower_ ? block_column + below : below), static_cast<int>(column),
            static_cast<int>(left < kRunColumns ? left : kRunColumns)};
  }

 private:
  static constexpr std::uint32_t kOfBlock = kWarpRows / kRunColumns;
  std::uint32_t cols_;
  std::uint32_t blocks_;
  bool is_lower_;
  std::uint32_t missing_;  ///< runs of the last column of blocks, if it is narrow
};

}  // namespace kizami::ozaki2
