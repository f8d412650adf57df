// SPDX-License-Identifier: MIT
// One instruction set's share of the blocked product: four functions on one tile, and the sizes that the blocking
// needs.
//   acc(i, j) = sum over k of a(i, k) b(j, k),   tile_rows x tile_cols, INT32 modulo 2^32.
// Rows of A lie along the vector, because C is contiguous along i; each element group of B is broadcast. Operands are
// packed so that the inner loop reads both as one stream. All arithmetic is exact modulo 2^32; product.hpp shows that
// the true sum fits in INT32 except where wrapping is harmless, so the order of summation never matters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kizami::engines {

/// Instruction sets that DeviceFacts can tell apart.
enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512, kAvx512Vnni, kNeon };

/// k is packed in steps of this many bytes; product.hpp pads every row to it with zeros.
inline constexpr std::int64_t kPackStep = 64;
/// No kernel's tile has more elements.
inline constexpr int kMaxTileElems = 48 * 8;

struct MicroKernel {
  std::string_view name;
  Isa isa = Isa::kPortable;
  bool is_supported = false;  ///< by the processor that runs this
  int tile_rows = 0;
  int tile_cols = 0;
  int packed_bytes = 0;        ///< per element: 1 (bytes) or 2 (widened to INT16)
  double macs_per_second = 0;  ///< one thread, for predictions only

  /// Packs rows [0, num_rows) of A, each k_bytes long, into a panel of tile_rows rows; rows beyond are zero.
  /// @range 1 <= num_rows <= tile_rows, k_bytes a multiple of kPackStep, packed has tile_rows * k_bytes * packed_bytes
  /// bytes
  void (*pack_a)(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes,
                 std::byte* packed) = nullptr;
  /// The same for B (tile_cols rows), and what multiply must add to each column of acc: correction, tile_cols elements.
  void (*pack_b)(const std::int8_t* rows, std::int64_t row_stride, int num_rows, std::int64_t k_bytes,
                 std::byte* packed, std::int32_t* correction) = nullptr;

  /// acc = (add ? acc : 0) + A B^T for the first num_rows rows, rounded up to whole vectors, and num_cols columns.
  /// @shape acc(i, j) at acc[j * tile_rows + i], aligned to 64 bytes.  @range num_k <= k_bytes of the packed panels
  void (*multiply)(int num_rows, int num_cols, std::int64_t num_k, const std::byte* packed_a, const std::byte* packed_b,
                   const std::int32_t* correction, bool add, std::int32_t* acc) = nullptr;
  /// c(i, j) = symmetric residue of acc(i, j) + (add ? c(i, j) : 0) modulo p, for exactly num_rows x num_cols elements.
  /// @shape acc as above; c(i, j) at c[j * c_col_stride + i].  @range p in 2..256  @exact see symmetric_residue.hpp
  void (*reduce)(const std::int32_t* acc, int num_rows, int num_cols, int p, bool add, std::int8_t* c,
                 std::int64_t c_col_stride) = nullptr;
};

/// Every kernel compiled into this build, best first. The last one, "portable", runs on any processor.
[[nodiscard]] std::span<const MicroKernel> compiled_kernels();

#if defined(__x86_64__)
[[nodiscard]] MicroKernel avx512_vnni_kernel();
#endif
/// One kernel per Highway target, best first.
[[nodiscard]] std::vector<MicroKernel> highway_kernels();
[[nodiscard]] MicroKernel portable_kernel();

}  // namespace kizami::engines
