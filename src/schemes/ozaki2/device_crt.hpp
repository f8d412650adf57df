// SPDX-License-Identifier: MIT
// The CRT on a CUDA device: the bits of reconstruct_crt(). In FP64 pieces for the usual counts of moduli, in 32-bit
// limbs beyond, and for all counts where FP64 instructions are rare; both exact. See crt_pieces.hpp and device_crt.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/state.hpp"
#include "kizami/host_device.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/crt_table.hpp"
#include "num/rung.hpp"
#include "problem/part.hpp"
#include "product/product.hpp"
#include "schemes/ozaki2/crt.hpp"

namespace kizami::ozaki2 {

inline constexpr int kDeviceLimbs = 12;  ///< of 32 bits: 342 bits of P, 14 of a sum of 64 planes and sign
inline constexpr int kDeviceWords = 16;  ///< of 4 residues: 64 planes

/// Words of four residues that the kernel for so many limbs takes. No count that needs so many limbs has more planes.
[[nodiscard]] constexpr int device_words(bool is_complex, int limbs) {
  if (is_complex) return limbs >= 7 ? kDeviceWords : 2 * limbs;
  return limbs > 7 ? 13 : limbs;
}

/// Pieces of FP64 numbers: counts of up to 24 moduli are rebuilt in two to five of them.
inline constexpr int kDevicePieces = 5;
inline constexpr int kPiecePlanes = 56;  ///< at most
inline constexpr int kPieceGroup = 16;   ///< planes that are summed before their offset is subtracted
inline constexpr int kPieceDigits = 6;   ///< bytes of a weight's piece: five, and one that is zero

/// The most moduli whose constants fit in so many pieces, and their planes, rounded up to an even number.
[[nodiscard]] constexpr int most_piece_moduli(bool is_complex, int pieces) {
  constexpr int kMost[2][kDevicePieces - 1] = {{9, 14, 19, 24}, {9, 15, 20, 24}};
  return kMost[is_complex ? 1 : 0][pieces - 2];
}
[[nodiscard]] constexpr int most_piece_planes(bool is_complex, int pieces) {
  const num::Ring ring = is_complex ? num::Ring::kComplex : num::Ring::kReal;
  return (num::num_planes(ring, most_piece_moduli(is_complex, pieces)) + 1) / 2 * 2;
}

/// Pieces of a count; 0: it needs more than there are.
[[nodiscard]] constexpr int num_pieces(bool is_complex, int num_moduli) {
  for (int pieces = 2; pieces <= kDevicePieces; ++pieces) {
    if (num_moduli <= most_piece_moduli(is_complex, pieces)) return pieces;
  }
  return 0;
}

/// The constants of a count in FP64 pieces, piece i a multiple of 2^grid[i] and below 2^38 of it: see crt_pieces.hpp.
struct DeviceCrtPieces {
  std::int32_t count = 0;  ///< 2 to 5; 0: the count needs more
  std::int32_t grid[kDevicePieces] = {};
  double inverse = 0;                               ///< 1 / P
  double weight[kPiecePlanes][kDevicePieces] = {};  ///< 2^12 W_q, with |W_q| <= P / 2
  double offset[(kPiecePlanes + kPieceGroup - 1) / kPieceGroup][kDevicePieces] =
      {};                              ///< -(2^12 + 2^7) times the sum of a group's W_q
  double product[kDevicePieces] = {};  ///< P
  double half[kDevicePieces] = {};     ///< floor((P - 1) / 2)
  /// Digit d in [-128, 128) of W_q / 2^grid[i] = sum_d digit_d 256^d, as device_crt_bytes.cuh wants it: byte c of word
  /// 4 u + t is of plane q = 16 u + 4 c + t.
  std::uint32_t digits[kDevicePieces][kPieceDigits][(kPiecePlanes + 15) / 16 * 4] = {};
};

/// Digits of the fifth piece, whose values are at most half a unit of the fourth: 4 or 5. device_tables_test.cpp checks
/// it.
[[nodiscard]] KIZAMI_HOST_DEVICE inline int fifth_piece_digits(const DeviceCrtPieces& pieces) {
  return pieces.grid[3] - pieces.grid[4] <= 31 ? 4 : 5;
}

/// One count of moduli, one part: what the CRT kernel reads.
struct DeviceCrtTable {
  std::int32_t num_planes = 0;
  std::int32_t num_limbs = 0;  ///< that hold the biased sum, rounded up to what a kernel is compiled for
  std::int32_t num_bytes = 0;  ///< of P
  std::int32_t top_limb = 0;   ///< the highest that the biased sum reaches
  double quotient = 0;         ///< 2^(32 (top_limb - 1)) / P
  /// of byte b: makes its sum positive; sum_b bias_b 256^b is a multiple of P
  std::uint32_t bias[4 * kDeviceLimbs] = {};
  std::uint32_t product[kDeviceLimbs] = {};                   ///< P
  std::uint32_t half[kDeviceLimbs] = {};                      ///< floor((P - 1) / 2)
  std::uint32_t weight[4 * kDeviceLimbs][kDeviceWords] = {};  ///< byte b of the weights of planes 4w .. 4w + 3
  DeviceCrtPieces pieces;
};

/// The tables of all counts of a ring, count by count from num::kMinModuli; in Z[i] the imaginary part after the real
/// one. A copy in device memory is what reconstruct_device() wants.
[[nodiscard]] std::vector<DeviceCrtTable> make_device_crt_tables(num::Ring ring);

template <class T>
struct DeviceReconstruction {
  ResiduePlanes planes;                    ///< num_moduli is that of the selection
  const DeviceCrtTable* tables = nullptr;  ///< device memory
  const std::int32_t* row_scale = nullptr;
  const std::int32_t* col_scale = nullptr;
  num::Ladder ladder;
  device::DeviceState* state = nullptr;        ///< read, but for its num_claims
  const std::uint32_t* repair_bits = nullptr;  ///< of the whole C: [n][bits_stride]; read only if there are repairs
  std::int64_t bits_stride = 0;                ///< words of a column
  std::int64_t first_row = 0;                  ///< of the block c in C
  std::int64_t first_col = 0;
  Factor<T> alpha;
  Factor<T> beta;
  MatrixView<T> c;
  problem::Part part = {};             ///< of c, which is all of C unless this is all of it
  const std::int32_t* done = nullptr;  ///< device memory; not 0 there: others reconstruct. Null: nobody does
  /// Elements of c from which on tensor cores make the sums: of real numbers those of many pieces, in a second kernel,
  /// which is worth a launch from here on; of complex ones all (measured from 2^18 on).
  std::int64_t least_for_bytes = std::int64_t{1} << (kIsComplex<T> ? 16 : 22);
  /// All counts in limbs of integers: by reconstruct_by_limbs(). Where FP64 instructions are rare, crt_takes_limbs().
  bool by_limbs = false;
};

/// Which kernels reconstruct a block of C, each the rungs that are its own.
struct CrtKernels {
  bool has_numbers = false;  ///< reconstruct_by_numbers(): rungs of pieces
  bool has_bytes = false;    ///< reconstruct_by_bytes(): of large C, rungs of pieces, or real ones of many
  bool has_limbs = false;    ///< reconstruct_by_limbs(): rungs that are no pieces, or all
};
template <class T>
[[nodiscard]] CrtKernels crt_kernels(const DeviceReconstruction<T>& task);

/// Reconstructs a block of C at the rung of state->selection, if that is of this kernel; leaves lines of scale
/// num::kSkipLine and repaired elements alone: writes none, and an old value of one that it has loaded beside others decides
/// nothing but by which expression those are made, of equal bits. If state->is_scaling_only: one of the
/// kernels makes C <- beta C; if state->takes_signs: nothing.
/// @range  planes and their strides multiples of 16 bytes, columns readable up to round_up(m, 16); first_row a multiple
///         of 4; crt_kernels() has this kernel; state->num_claims is zero, as every launch leaves it
/// @queue  enqueues one kernel, which ends at once for rung -1
template <class T>
Status reconstruct_by_numbers(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue);
/// @param is_beside  what was enqueued last has begun with base::let_next_run_beside(): this kernel runs beside it, and ends behind it
template <class T>
Status reconstruct_by_bytes(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue, bool is_beside);

/// Beyond pieces, or all where task.by_limbs: about 12 FP64 instructions an element, where pieces of 14 planes take 66.
template <class T>
Status reconstruct_by_limbs(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue);

/// All, one after the other, where crt_kernels() has them.
template <class T>
Status reconstruct_device(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue);

/// What another body than reconstruct_device() needs for alpha times a product of finite FP64 matrices: 2^-scale of m
/// rows and n columns, 0 for lines of scale num::kSkipLine. *num_moduli: those of the rung of state->selection; 0 where
/// the other body has nothing to do: no rung, C only scaled, more moduli than `most`, or magnitudes of integers times
/// factors that may leave 2^-340 .. 2^446.
/// @queue  one kernel
Status device_crt_factors(const std::int32_t* row_scale, std::int64_t m, const std::int32_t* col_scale, std::int64_t n,
                          const num::Ladder& ladder, int most, const device::DeviceState* state, double* row_factors,
                          double* col_factors, std::int32_t* num_moduli, product::Queue queue);

/// C <- beta C; beta = 0 does not read C.
template <class T>
Status scale_device(Factor<T> beta, MatrixView<T> c, const problem::Part& part, product::Queue queue);

// The same of a triangle, in units of their own (device_crt_part.cuh): what is made of all of C are kernels without a
// question more.
template <class T>
Status reconstruct_part_by_numbers(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue);
template <class T>
Status reconstruct_part_by_bytes(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue,
                                 bool is_beside);
template <class T>
Status scale_part_device(Factor<T> beta, MatrixView<T> c, const problem::Part& part, product::Queue queue);

}  // namespace kizami::ozaki2
