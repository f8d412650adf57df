// SPDX-License-Identifier: MIT
#include "engines/cpu_simd/blocked_product.hpp"

#include <algorithm>
#include <functional>

#include "base/int_math.hpp"
#include "base/thread_pool.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using base::round_up;
using product::Epilogue;
using product::Pointers;
using product::ProductDesc;

// Evidence for each: docs/perf/cpu_int8.md.
constexpr std::int64_t kMaxBlockElems = 2304;  // rows or columns; packing costs 1.4 % of the products at most
constexpr std::int64_t kMaxBlockK = 2048;      // bytes; 8 of them side by side are half of a 32 KiB L1
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;    // packed operands of a chunk of planes: one L2
constexpr std::int64_t kGroupBytes = std::int64_t{400} << 10;  // panels of A that one task keeps in L2
constexpr std::int64_t kGroupCols = 384;                       // columns that pass by while they are there

constexpr std::int64_t kTasksPerThread = 4;  // so that a late thread costs at most a quarter of its share

/// Divides `total` into the least number of blocks of at most `largest`, of nearly equal size, multiples of `unit`.
std::int64_t balanced_block(std::int64_t total, std::int64_t largest, std::int64_t unit) {
  if (total == 0) return 0;
  const std::int64_t num_blocks = ceil_div(total, largest / unit * unit);
  return round_up(ceil_div(total, num_blocks), unit);
}

/// Hands out consecutive pieces of the workspace, each aligned to 64 bytes.
class Booking {
 public:
  std::int64_t book(std::int64_t bytes) {
    const std::int64_t offset = total_;
    total_ += round_up(bytes, product::kPadBytes);
    return offset;
  }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  std::int64_t total_ = 0;
};

/// One block of C of a chunk of planes, and the range of k to be added to it.
struct BlockRange {
  std::int64_t plane;  ///< first plane of the chunk
  std::int64_t planes;
  std::int64_t row;
  std::int64_t rows;
  std::int64_t col;
  std::int64_t cols;
  std::int64_t k;
  std::int64_t num_k;  ///< elements; the last of them may lie in the padding of a row
  bool is_first_k;
  bool is_last_k;
};

class BlockedProduct {
 public:
  BlockedProduct(const ProductDesc& desc, const MicroKernel& kernel, const Blocking& blocking, int threads,
                 const Pointers& pointers, std::byte* workspace)
      : desc_(desc),
        kernel_(kernel),
        blocking_(blocking),
        threads_(threads),
        pointers_(pointers),
        workspace_(workspace) {}

  void run() const {
    const Blocking& b = blocking_;
    for (std::int64_t plane = 0; plane < desc_.num_products; plane += b.planes) {
      const std::int64_t planes = std::min(b.planes, desc_.num_products - plane);
      for (std::int64_t col = 0; col < desc_.n; col += b.block_cols) {
        for (std::int64_t row = 0; row < desc_.m; row += b.block_rows) {
          for (std::int64_t i_block = 0; i_block < b.num_k_blocks; ++i_block) {
            const std::int64_t k = i_block * b.block_k;
            const BlockRange range{.plane = plane,
                                   .planes = planes,
                                   .row = row,
                                   .rows = std::min(b.block_rows, desc_.m - row),
                                   .col = col,
                                   .cols = std::min(b.block_cols, desc_.n - col),
                                   .k = k,
                                   .num_k = std::min(b.block_k, desc_.k - k),
                                   .is_first_k = i_block == 0,
                                   .is_last_k = i_block == b.num_k_blocks - 1};
            // What an earlier block of this chunk packed is still there, unless k has several blocks.
            const bool has_a = b.num_k_blocks == 1 && col > 0 && b.block_rows >= desc_.m;
            const bool has_b = b.num_k_blocks == 1 && row > 0;
            pack(range, !has_a, !has_b);
            multiply(range);
          }
        }
      }
    }
  }

 private:
  void pack(const BlockRange& r, bool packs_a, bool packs_b) const {
    if (r.num_k <= 0 && r.k > 0) return;
    const std::int64_t row_panels = packs_a ? ceil_div(r.rows, kernel_.tile_rows) : 0;
    const std::int64_t col_panels = packs_b ? ceil_div(r.cols, kernel_.tile_cols) : 0;
    const std::int64_t col_tasks = ceil_div(col_panels, kPanelsPerPackTask);
    const std::int64_t k_bytes = round_up(r.num_k, kPackStep);
    const auto body = [&](std::int64_t task, int /*worker*/) {
      const std::int64_t l = task / (row_panels + col_tasks);
      const std::int64_t i = task % (row_panels + col_tasks);
      if (i < row_panels) {
        const std::int64_t row = i * kernel_.tile_rows;
        const std::int8_t* const from =
            pointers_.a + (r.plane + l) * desc_.a_plane_stride + (r.row + row) * desc_.a_row_stride + r.k;
        kernel_.pack_a(from, desc_.a_row_stride, clamp_tile(kernel_.tile_rows, r.rows - row), k_bytes, a_panel(l, i));
        return;
      }
      const std::int64_t first = (i - row_panels) * kPanelsPerPackTask;
      for (std::int64_t j = first; j < std::min(first + kPanelsPerPackTask, col_panels); ++j) {
        const std::int64_t col = j * kernel_.tile_cols;
        const std::int8_t* const from =
            pointers_.b + (r.plane + l) * desc_.b_plane_stride + (r.col + col) * desc_.b_row_stride + r.k;
        kernel_.pack_b(from, desc_.b_row_stride, clamp_tile(kernel_.tile_cols, r.cols - col), k_bytes, b_panel(l, j),
                       correction(l, j));
      }
    };
    parallel_for(r.planes * (row_panels + col_tasks), body);
  }

  void multiply(const BlockRange& r) const {
    const std::int64_t row_panels = ceil_div(r.rows, kernel_.tile_rows);
    const std::int64_t col_panels = ceil_div(r.cols, kernel_.tile_cols);
    // Groups shrink until every thread has several.
    std::int64_t group_rows =
        std::clamp<std::int64_t>(kGroupBytes / std::max<std::int64_t>(1, blocking_.a_panel_bytes), 1, row_panels);
    std::int64_t group_cols = std::clamp<std::int64_t>(kGroupCols / kernel_.tile_cols, 1, col_panels);
    const auto num_groups = [&] { return ceil_div(row_panels, group_rows) * ceil_div(col_panels, group_cols); };
    while (r.planes * num_groups() < kTasksPerThread * threads_ && threads_ > 1 && (group_cols > 1 || group_rows > 1)) {
      std::int64_t& larger =
          group_rows * kernel_.tile_rows > group_cols * kernel_.tile_cols && group_rows > 1 ? group_rows : group_cols;
      if (larger == 1) break;
      larger = ceil_div(larger, 2);
    }
    const std::int64_t groups_per_col = ceil_div(row_panels, group_rows);
    const std::int64_t groups_per_plane = num_groups();
    const auto body = [&](std::int64_t task, int /*worker*/) {
      const std::int64_t l = task / groups_per_plane;
      const std::int64_t i_group = task % groups_per_plane % groups_per_col;
      const std::int64_t j_group = task % groups_per_plane / groups_per_col;
      const std::int64_t i_end = std::min((i_group + 1) * group_rows, row_panels);
      const std::int64_t j_end = std::min((j_group + 1) * group_cols, col_panels);
      for (std::int64_t j = j_group * group_cols; j < j_end; ++j) {
        for (std::int64_t i = i_group * group_rows; i < i_end; ++i) multiply_tile(r, l, i, j);
      }
    };
    parallel_for(r.planes * groups_per_plane, body);
  }

  void multiply_tile(const BlockRange& r, std::int64_t l, std::int64_t i, std::int64_t j) const {
    alignas(64) std::int32_t local[kMaxTileElems];
    const int rows = clamp_tile(kernel_.tile_rows, r.rows - i * kernel_.tile_rows);
    const int cols = clamp_tile(kernel_.tile_cols, r.cols - j * kernel_.tile_cols);
    std::int32_t* const acc = blocking_.num_k_blocks == 1 ? local : acc_tile(l, i, j);
    kernel_.multiply(rows, cols, std::max<std::int64_t>(0, r.num_k), a_panel(l, i), b_panel(l, j), correction(l, j),
                     !r.is_first_k, acc);
    if (!r.is_last_k) return;

    const std::int64_t plane = r.plane + l;
    const std::int64_t at = plane * desc_.c_plane_stride + (r.col + j * kernel_.tile_cols) * desc_.c_col_stride +
                            r.row + i * kernel_.tile_rows;
    if (desc_.epilogue == Epilogue::kStoreAcc) {
      auto* const c = static_cast<std::int32_t*>(pointers_.c) + at;
      for (int col = 0; col < cols; ++col) {
        std::copy_n(acc + std::int64_t{col} * kernel_.tile_rows, rows, c + col * desc_.c_col_stride);
      }
    } else {
      auto* const c = static_cast<std::int8_t*>(pointers_.c) + at;
      const int modulus = desc_.moduli[static_cast<std::size_t>(plane)];
      kernel_.reduce(acc, rows, cols, modulus, desc_.epilogue == Epilogue::kReduceAdd, c, desc_.c_col_stride);
    }
  }

  template <class Body>
  void parallel_for(std::int64_t num_tasks, const Body& body) const {
    base::ThreadPool::global().parallel_for(num_tasks, threads_,
                                            std::cref(body));  // a reference fits std::function: no allocation
  }

  [[nodiscard]] static int clamp_tile(int tile, std::int64_t left) {
    return static_cast<int>(std::min<std::int64_t>(tile, left));
  }

  [[nodiscard]] std::byte* a_panel(std::int64_t l, std::int64_t i) const {
    return workspace_ + blocking_.a_offset + (l * blocking_.row_panels + i) * blocking_.a_panel_bytes;
  }
  [[nodiscard]] std::byte* b_panel(std::int64_t l, std::int64_t j) const {
    return workspace_ + blocking_.b_offset + (l * blocking_.col_panels + j) * blocking_.b_panel_bytes;
  }
  [[nodiscard]] std::int32_t* correction(std::int64_t l, std::int64_t j) const {
    return reinterpret_cast<std::int32_t*>(workspace_ + blocking_.correction_offset +
                                           (l * blocking_.col_panels + j) * blocking_.correction_bytes);
  }
  [[nodiscard]] std::int32_t* acc_tile(std::int64_t l, std::int64_t i, std::int64_t j) const {
    return reinterpret_cast<std::int32_t*>(workspace_ + blocking_.acc_offset +
                                           ((l * blocking_.col_panels + j) * blocking_.row_panels + i) *
                                               blocking_.tile_bytes);
  }

  static constexpr std::int64_t kPanelsPerPackTask = 4;

  const ProductDesc& desc_;
  const MicroKernel& kernel_;
  const Blocking& blocking_;
  const int threads_;
  const Pointers& pointers_;
  std::byte* const workspace_;
};

}  // namespace

Blocking make_blocking(const ProductDesc& desc, const MicroKernel& kernel) {
  Blocking b;
  if (desc.m == 0 || desc.n == 0 || desc.num_products == 0) return b;
  b.block_rows = balanced_block(desc.m, kMaxBlockElems, kernel.tile_rows);
  b.block_cols = balanced_block(desc.n, kMaxBlockElems, kernel.tile_cols);
  b.block_k = balanced_block(desc.k, kMaxBlockK / kernel.packed_bytes, kPackStep);
  b.num_k_blocks = desc.k == 0 ? 1 : ceil_div(desc.k, b.block_k);
  b.row_panels = b.block_rows / kernel.tile_rows;
  b.col_panels = b.block_cols / kernel.tile_cols;
  b.a_panel_bytes = kernel.tile_rows * b.block_k * kernel.packed_bytes;
  b.b_panel_bytes = kernel.tile_cols * b.block_k * kernel.packed_bytes;
  b.correction_bytes = round_up(kernel.tile_cols * std::int64_t{sizeof(std::int32_t)}, product::kPadBytes);
  b.tile_bytes = kernel.tile_rows * kernel.tile_cols * std::int64_t{sizeof(std::int32_t)};

  const std::int64_t packed_bytes = b.row_panels * b.a_panel_bytes + b.col_panels * b.b_panel_bytes;
  b.planes = std::clamp<std::int64_t>(kChunkBytes / std::max<std::int64_t>(1, packed_bytes), 1, desc.num_products);
  Booking booking;
  b.a_offset = booking.book(b.planes * b.row_panels * b.a_panel_bytes);
  b.b_offset = booking.book(b.planes * b.col_panels * b.b_panel_bytes);
  b.correction_offset = booking.book(b.planes * b.col_panels * b.correction_bytes);
  b.acc_offset = booking.book(b.num_k_blocks == 1 ? 0 : b.planes * b.row_panels * b.col_panels * b.tile_bytes);
  b.total_bytes = booking.total();
  return b;
}

void run_blocked(const ProductDesc& desc, const MicroKernel& kernel, const Blocking& blocking, int threads,
                 const Pointers& pointers, std::byte* workspace) {
  if (desc.m == 0 || desc.n == 0 || desc.num_products == 0) return;
  BlockedProduct(desc, kernel, blocking, threads, pointers, workspace).run();
}

}  // namespace kizami::engines
