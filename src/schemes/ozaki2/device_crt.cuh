// SPDX-License-Identifier: MIT
// The CRT kernels: the integers of four neighbouring elements of a column at a time, in FP64 pieces
// (device_crt_pieces.cuh), then the epilogue. Of large C a second kernel takes the counts that are many pieces, or all of
// complex numbers, whose sums it has from tensor cores (device_crt_bytes.cuh), and a third those that do not fit in pieces
// (device_crt_by_limbs.cuh).
#pragma once

#include <algorithm>

#include "base/code_capability.hpp"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/quads.cuh"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_crt_bytes.cuh"
#include "schemes/ozaki2/device_crt_epilogue.cuh"
#include "schemes/ozaki2/device_crt_pieces.cuh"
#include "schemes/ozaki2/device_crt_rung.cuh"

namespace kizami::ozaki2::kernels {

/// Blocks of the usual kernels that a multiprocessor holds at once; a launch has no more.
inline constexpr int kBlocksPerSm = 2;

template <class T>
__global__ void scale_kernel(MatrixView<T> c, Factor<T> beta) {
  device::scale_all(c, beta.load());
}

/// The rungs that are pieces. @param leaves_bytes  those of reconstruct_from_bytes() are left to it
template <class T, bool kIsPart>
__global__ void __launch_bounds__(device::kThreads, kBlocksPerSm)
    reconstruct_kernel(const __grid_constant__ DeviceReconstruction<T> task, bool leaves_bytes) {
  if (!base::code_has_crt_by_fp64()) return __trap();
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  constexpr int kNumbers = kParts * PieceLayout<kDevicePieces, most_piece_planes(kIsComplex<T>, kDevicePieces)>::kSize;
  __shared__ __align__(16) double numbers[kNumbers];
  // Tables are older than the call: the constants of the lowest rung, which most calls take, come before its products are done.
  const int lowest = task.ladder.rungs[0].num_moduli;
  const auto share = [&](auto few, const DeviceCrtTable* tables) {
    share_constants<PieceLayout<few.value, most_piece_planes(kIsComplex<T>, few.value)>, kParts>(tables, numbers);
  };
  with_pieces(
      num_pieces(kIsComplex<T>, lowest), [&](auto few) { share(few, tables_of(task, lowest)); }, [] {});
  base::follow_previous_kernel();
  const int rung = rung_of_call<T, kIsPart>(task, /*scales=*/true);
  if (rung < 0) return;
  const int num_moduli = task.ladder.rungs[rung].num_moduli;
  const int pieces = num_pieces(kIsComplex<T>, num_moduli);
  if (leaves_bytes && pieces >= kLeastBytePieces<T>) return;
  const DeviceCrtTable* const tables = tables_of(task, num_moduli);
  const auto rebuild_few = [&](auto few) {
    constexpr int kPlanes = most_piece_planes(kIsComplex<T>, few.value);
    const int num_planes = num::num_planes(kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal, num_moduli);
    if (rung != 0) share(few, tables);
    if (few.value == 3 && num_planes == kPlanes) {
      reconstruct_from_pieces<T, few.value, true, kIsPart>(task, tables, num_planes, numbers);
    } else {
      reconstruct_from_pieces<T, few.value, false, kIsPart>(task, tables, num_planes, numbers);
    }
  };
  with_pieces(pieces, rebuild_few, [&] {
    if (pieces == 4) {
      reconstruct_from_many_pieces<T, 4, kIsPart>(task, tables, numbers);
    } else if (pieces == 5) {
      reconstruct_from_many_pieces<T, 5, kIsPart>(task, tables, numbers);
    }
  });
}

}  // namespace kizami::ozaki2::kernels

namespace kizami::ozaki2 {

template <class T>
CrtKernels crt_kernels(const DeviceReconstruction<T>& task) {
  if (task.c.rows == 0 || task.c.cols == 0) return {};
  if (task.by_limbs) return {.has_limbs = true};
  const int least = task.ladder.rungs[0].num_moduli;
  const int most = task.ladder.rungs[task.ladder.num_rungs - 1].num_moduli;
  constexpr int kNumberPieces = kernels::kLeastBytePieces<T> - 1;  // at most; of one none
  const int most_of_numbers = kNumberPieces < 2 ? 0 : most_piece_moduli(kIsComplex<T>, kNumberPieces);
  constexpr std::int64_t kMostRows = std::int64_t{1} << 30;  // numbers of rows and of runs are of 32 bits
  const std::int64_t columns = base::ceil_div(task.c.rows, std::int64_t{kWarpRows}) * task.c.cols;
  CrtKernels kernels;
  kernels.has_bytes = task.c.rows * task.c.cols >= task.least_for_bytes && most > most_of_numbers &&
                      task.c.rows <= kMostRows && columns < std::int64_t{1} << 31;
  const int most_of_pieces = most_piece_moduli(kIsComplex<T>, kDevicePieces);
  kernels.has_bytes = kernels.has_bytes && least <= most_of_pieces;
  kernels.has_numbers = least <= most_of_pieces && (!kernels.has_bytes || least <= most_of_numbers);
  kernels.has_limbs = most > most_of_pieces;
  return kernels;
}

/// Launches of the kernels, of all of C or of a part.
template <class T, bool kIsPart>
Status launch_numbers(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  const bool leaves_bytes = crt_kernels(task).has_bytes;
  // Threads of a triangle have columns of different number: more blocks than run at once, so that all end together.
  constexpr int kRounds = kIsPart ? 8 : 1;
  const device::QuadGrid shape = device::quad_grid(task.c.rows, task.c.cols, kRounds * kernels::kBlocksPerSm * num_sms);
  return base::launch_overlapped("reconstruct_kernel", kernels::reconstruct_kernel<T, kIsPart>, shape.grid, shape.block,
                                 0, queue, task, leaves_bytes);
}
template <class T, bool kIsPart>
Status launch_bytes(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue, bool is_beside) {
  const std::int64_t columns = base::ceil_div(task.c.rows, std::int64_t{kWarpRows}) * task.c.cols;
  const std::int64_t blocks = std::min<std::int64_t>(kernels::kBytesBlocksPerSm * num_sms,
                                                     base::ceil_div(columns, std::int64_t{kernels::kBytesWarps}));
  const bool scales_only = !crt_kernels(task).has_numbers;
  // What two blocks need; the rest is for planes, of which a warp reads half of what a load brings. The driver's own choice leaves
  // the level-1 cache less behind a product, which has taken it all.
  constexpr int kSharedPercent = 40;
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaFuncSetAttribute(kernels::reconstruct_from_bytes<T, kIsPart>,
                                             cudaFuncAttributePreferredSharedMemoryCarveout, kSharedPercent),
                        "shared memory of the CRT"));
  return base::launch_overlapped("reconstruct_from_bytes", kernels::reconstruct_from_bytes<T, kIsPart>,
                                 dim3(static_cast<unsigned>(blocks)), dim3(device::kThreads), 0, queue, task,
                                 scales_only, is_beside);
}

template <class T>
Status reconstruct_by_numbers(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  if (!task.part.is_all()) return reconstruct_part_by_numbers(task, num_sms, queue);
  return launch_numbers<T, false>(task, num_sms, queue);
}

template <class T>
Status reconstruct_by_bytes(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue, bool is_beside) {
  if (!task.part.is_all()) return reconstruct_part_by_bytes(task, num_sms, queue, is_beside);
  return launch_bytes<T, false>(task, num_sms, queue, is_beside);
}

template <class T>
Status reconstruct_device(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  const CrtKernels kernels = crt_kernels(task);
  if (kernels.has_numbers) KIZAMI_RETURN_IF_ERROR(reconstruct_by_numbers(task, num_sms, queue));
  if (kernels.has_limbs) KIZAMI_RETURN_IF_ERROR(reconstruct_by_limbs(task, num_sms, queue));
  return kernels.has_bytes ? reconstruct_by_bytes(task, num_sms, queue, /*is_beside=*/false) : Status{};
}

template <class T>
Status scale_device(Factor<T> beta, MatrixView<T> c, const problem::Part& part, product::Queue queue) {
  if (!part.is_all()) return scale_part_device(beta, c, part, queue);
  const std::int64_t blocks = base::ceil_div(c.rows * c.cols, device::kThreads);
  if (blocks == 0) return {};
  kernels::scale_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 4096)), device::kThreads, 0, queue>>>(
      c, beta);
  return base::launch_status("scale_kernel");
}

}  // namespace kizami::ozaki2

/// In one file for each type: together they take a minute to compile.
#define KIZAMI_INSTANTIATE_DEVICE_CRT(T)                                                                   \
  template ::kizami::ozaki2::CrtKernels kizami::ozaki2::crt_kernels<T>(const DeviceReconstruction<T>&);    \
  template ::kizami::Status kizami::ozaki2::reconstruct_by_numbers<T>(const DeviceReconstruction<T>&, int, \
                                                                      ::kizami::product::Queue);           \
  template ::kizami::Status kizami::ozaki2::reconstruct_by_bytes<T>(const DeviceReconstruction<T>&, int,   \
                                                                    ::kizami::product::Queue, bool);       \
  template ::kizami::Status kizami::ozaki2::reconstruct_device<T>(const DeviceReconstruction<T>&, int,     \
                                                                  ::kizami::product::Queue);               \
  template ::kizami::Status kizami::ozaki2::scale_device<T>(::kizami::Factor<T>, ::kizami::MatrixView<T>,  \
                                                            const ::kizami::problem::Part&, ::kizami::product::Queue)
