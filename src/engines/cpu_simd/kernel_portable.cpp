// SPDX-License-Identifier: MIT
// The kernel of last resort: plain loops that a compiler may vectorise for its baseline. Operands are widened to INT16.
#include "engines/cpu_simd/micro_kernel.hpp"
#include "engines/cpu_simd/symmetric_residue.hpp"

namespace kizami::engines {
namespace {

constexpr int kTileRows = 8;
constexpr int kTileCols = 4;
static_assert(kTileRows * kTileCols <= kMaxTileElems);

/// @shape packed: [k][panel_rows]
template <int kPanelRows>
void pack(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes, std::byte* packed) {
  auto* const to = reinterpret_cast<std::int16_t*>(packed);
  for (int r = 0; r < kPanelRows; ++r) {
    for (std::int64_t k = 0; k < k_bytes; ++k)
      to[k * kPanelRows + r] = r < num_rows ? rows[r * row_stride + k] : std::int8_t{0};
  }
}

void pack_b(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes, std::byte* packed,
            std::int32_t* correction) {
  pack<kTileCols>(rows, row_stride, num_rows, k_bytes, packed);
  for (int j = 0; j < kTileCols; ++j) correction[j] = 0;
}

/// Computes the whole tile, whatever part of it is asked for. Sums are unsigned: modulo 2^32 without undefined
/// behaviour.
void multiply(int /*num_rows*/, int /*num_cols*/, std::int64_t num_k, const std::byte* packed_a,
              const std::byte* packed_b, const std::int32_t* /*correction*/, bool add, std::int32_t* acc) {
  const auto* a = reinterpret_cast<const std::int16_t*>(packed_a);
  const auto* b = reinterpret_cast<const std::int16_t*>(packed_b);
  std::uint32_t sum[kTileCols][kTileRows] = {};
  for (std::int64_t k = 0; k < num_k; ++k) {
    for (int j = 0; j < kTileCols; ++j) {
      for (int i = 0; i < kTileRows; ++i)
        sum[j][i] += static_cast<std::uint32_t>(std::int32_t{a[i]} * std::int32_t{b[j]});
    }
    a += kTileRows;
    b += kTileCols;
  }
  for (int j = 0; j < kTileCols; ++j) {
    for (int i = 0; i < kTileRows; ++i) {
      std::int32_t& to = acc[j * kTileRows + i];
      to = static_cast<std::int32_t>(sum[j][i] + (add ? static_cast<std::uint32_t>(to) : 0U));
    }
  }
}

void reduce(const std::int32_t* acc, int num_rows, int num_cols, int p, bool add, std::int8_t* c,
            std::int64_t c_col_stride) {
  const ResidueConstants constants = residue_constants(p);
  for (int j = 0; j < num_cols; ++j) {
    for (int i = 0; i < num_rows; ++i) {
      std::int8_t& to = c[j * c_col_stride + i];
      to = symmetric_residue(acc[j * kTileRows + i], add ? to : 0, constants);
    }
  }
}

}  // namespace

MicroKernel portable_kernel() {
  return {.name = "portable",
          .isa = Isa::kPortable,
          .is_supported = true,
          .tile_rows = kTileRows,
          .tile_cols = kTileCols,
          .packed_bytes = 2,
          .macs_per_second = 3e9,
          .pack_a = pack<kTileRows>,
          .pack_b = pack_b,
          .multiply = multiply,
          .reduce = reduce};
}

}  // namespace kizami::engines
