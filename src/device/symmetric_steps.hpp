// SPDX-License-Identifier: MIT
// What a thread does, before and after the barrier of its block, when a symmetric or Hermitian matrix is written out in
// full: a block has a tile of the stored triangle and its mirror image. A host that does each step for all threads in
// turn makes the same bits.
#pragma once

#include <cstdint>

#include "base/triangular.hpp"
#include "device/symmetric.hpp"
#include "kizami/host_device.hpp"
#include "kizami/types.hpp"

namespace kizami::device {

inline constexpr int kWriteOutTile = 32;          ///< rows and columns of a tile, and threads along a column
inline constexpr int kWriteOutColumnsAtOnce = 8;  ///< threads across

/// In shared memory: [column][row], rows padded so that they do not meet in banks.
template <class T>
using WriteOutTile = T[kWriteOutTile][kWriteOutTile + 1];

/// Blocks of threads. @range tiles of kWriteOutTile lines in the order, >= 1
[[nodiscard]] constexpr std::uint32_t write_out_blocks(std::uint32_t tiles) {
  return base::triangular(tiles - 1) + tiles;
}

template <class T>
class WriteOutSteps {
 public:
  /// @range x in [0, kWriteOutTile), y in [0, kWriteOutColumnsAtOnce)
  KIZAMI_HOST_DEVICE WriteOutSteps(const StoredTriangle<T>& stored, T* full, WriteOutTile<T>& tile, std::uint32_t block,
                                   int x, int y)
      : stored_(stored), full_(full), tile_(tile), x_(x), y_(y) {
    const std::uint32_t row = base::triangular_root(block);
    const std::uint32_t column = block - base::triangular(row);
    is_on_diagonal_ = row == column;
    i_first_ = std::int64_t{stored.is_lower ? row : column} * kWriteOutTile;
    j_first_ = std::int64_t{stored.is_lower ? column : row} * kWriteOutTile;
  }

  /// The tile, as far as it is stored.
  KIZAMI_HOST_DEVICE void load() const {
    const std::int64_t i = i_first_ + x_;
    for (int y = y_; y < kWriteOutTile; y += kWriteOutColumnsAtOnce) {
      const std::int64_t j = j_first_ + y;
      if (i < stored_.order && j < stored_.order && is_stored(i, j)) tile_[y][x_] = stored_.data[i + j * stored_.ld];
    }
  }
  /// The tile in full, and what stands on the other side of the diagonal.
  KIZAMI_HOST_DEVICE void store() const {
    const std::int64_t n = stored_.order;
    const std::int64_t i = i_first_ + x_;
    for (int y = y_; y < kWriteOutTile; y += kWriteOutColumnsAtOnce) {
      const std::int64_t j = j_first_ + y;
      if (i < n && j < n) full_[i + j * n] = element(i, j, y);
      if (!is_on_diagonal_ && j_first_ + x_ < n && i_first_ + y < n)
        full_[j_first_ + x_ + (i_first_ + y) * n] = mirrored(tile_[x_][y]);
    }
  }

 private:
  [[nodiscard]] KIZAMI_HOST_DEVICE bool is_stored(std::int64_t i, std::int64_t j) const {
    return stored_.is_lower ? i >= j : i <= j;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE T element(std::int64_t i, std::int64_t j, int y) const {
    const T value = is_stored(i, j) ? tile_[y][x_] : mirrored(tile_[x_][y]);
    if constexpr (kIsComplex<T>) {
      if (stored_.is_hermitian && i == j) return T(value.real(), 0);
    }
    return value;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE T mirrored(const T& value) const {
    if constexpr (kIsComplex<T>) {
      if (stored_.is_hermitian) return T(value.real(), -value.imag());
    }
    return value;
  }

  const StoredTriangle<T>& stored_;
  T* full_;
  WriteOutTile<T>& tile_;
  int x_;
  int y_;
  bool is_on_diagonal_;
  std::int64_t i_first_;
  std::int64_t j_first_;
};

}  // namespace kizami::device
