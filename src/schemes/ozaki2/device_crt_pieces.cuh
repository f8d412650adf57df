// SPDX-License-Identifier: MIT
// The CRT in FP64 pieces (crt_pieces.hpp) on a device. A thread takes four neighbouring elements of a column: one word
// of each residue plane.
#pragma once

#include <cstdint>

#include "device/quads.cuh"
#include "schemes/ozaki2/crt_pieces.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_crt_epilogue.cuh"

namespace kizami::ozaki2::kernels {

/// Four residues. Their neighbours in 256 bytes, which other warps want, come to the L2 cache as well.
[[nodiscard]] __device__ inline std::uint32_t load_word(const std::int8_t* at) {
  std::uint32_t word;
  asm volatile("ld.global.L2::256B.u32 %0, [%1];" : "=r"(word) : "l"(at));
  return word;
}

/// The constants of the parts one after another.
template <class Layout, int kParts>
__device__ void share_constants(const DeviceCrtTable* tables, double* shared) {
  const int thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  for (int at = thread; at < kParts * Layout::kSize; at += device::kThreads)
    shared[at] = Layout::value(tables[at / Layout::kSize].pieces, at % Layout::kSize);
  __syncthreads();
}

/// In two or three pieces. kIsWhole: the count is the largest of so many pieces, a constant then. @param shared  the constants
template <class T, int kPieces, bool kIsWhole, bool kIsPart>
__device__ void reconstruct_from_pieces(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables,
                                        int num_planes_of_rung, const double* shared) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  constexpr int kPlanes = most_piece_planes(kIsComplex<T>, kPieces);
  using Layout = PieceLayout<kPieces, kPlanes>;
  const std::int64_t i = device::first_row_of_thread();
  if (i >= task.c.rows) return;
  const NumberEpilogue<T, kIsPart> epilogue(task, i);
  const int num_planes = kIsWhole ? kPlanes : num_planes_of_rung;
  // Of few planes the words of the next column are on their way while this one is rebuilt.
  constexpr bool kIsAhead = kPlanes <= 16;
  const auto [first, end] = columns_of_thread<kIsPart>(task, i);
  const std::int64_t step = device::column_step();
  std::uint32_t words[kPlanes];
  const auto load = [&](std::int64_t j, std::uint32_t(&to)[kPlanes]) {
    const std::int8_t* at = task.planes.data + j * task.planes.col_stride + i;
#pragma unroll
    for (int q = 0; q < kPlanes; ++q, at += task.planes.plane_stride) to[q] = q < num_planes ? load_word(at) : 0;
  };
  if (kIsAhead && first < end) load(first, words);
  for (std::int64_t j = first; j < end; j += step) {
    const int col_scale = task.col_scale[j];
    if (j + step < end) epilogue.prefetch(task, j + step);
    std::uint32_t ahead[kPlanes];
    if constexpr (kIsAhead) {
      if (j + step < end) load(j + step, ahead);
    } else {
      load(j, words);
    }
    double x[kParts][4];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      rebuild_from_pieces<kPieces, kPlanes>(words, num_planes, shared + part * Layout::kSize, tables[part].pieces,
                                            x[part]);
    }
    epilogue.write(task, j, col_scale, x);
    if constexpr (kIsAhead) {
#pragma unroll
      for (int q = 0; q < kPlanes; ++q) words[q] = ahead[q];
    }
  }
}

/// In four or five pieces, whose sums take the registers that words of all planes would want: a few planes at a time,
/// while the next are on their way; words of complex numbers are read for each part. Apart, so that its registers are
/// not those of fewer pieces.
template <class T, int kPieces, bool kIsPart>
__device__ __noinline__ void reconstruct_from_many_pieces(const DeviceReconstruction<T>& task,
                                                          const DeviceCrtTable* tables, double* shared) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  constexpr int kPlanes = most_piece_planes(kIsComplex<T>, kPieces);
  constexpr int kAtOnce = 8;
  static_assert(kPieceGroup % kAtOnce == 0);
  using Layout = PieceLayout<kPieces, kPlanes>;
  share_constants<Layout, kParts>(tables, shared);
  const std::int64_t i = device::first_row_of_thread();
  if (i >= task.c.rows) return;
  const int num_planes = tables->num_planes;
  const std::int64_t plane_stride = task.planes.plane_stride;
  const auto [first_column, cols] = columns_of_thread<kIsPart>(task, i);
  const std::int64_t step = device::column_step();
  const auto load = [&](const std::int8_t* column, int first, std::uint32_t(&to)[kAtOnce]) {
    const std::int8_t* at = column + first * plane_stride;
#pragma unroll
    for (int q = 0; q < kAtOnce; ++q, at += plane_stride) to[q] = first + q < num_planes ? load_word(at) : 0;
  };
  std::int64_t j = first_column;
  if (j >= cols) return;
  const std::int8_t* column = task.planes.data + j * task.planes.col_stride + i;
  std::uint32_t words[kAtOnce];
  load(column, 0, words);
  for (; j < cols; j += step) {
    const std::int8_t* const next_column = j + step < cols ? column + step * task.planes.col_stride : column;
    double x[kParts][4];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const double* const constants = shared + part * Layout::kSize;
      double sum[4][kPieces];
      start_sums<kPieces, kPlanes>(constants, sum);
#pragma unroll 1
      for (int first = 0; first < num_planes; first += kAtOnce) {
        const bool is_last = first + kAtOnce >= num_planes;
        std::uint32_t ahead[kAtOnce];
        load(is_last && part == kParts - 1 ? next_column : column, is_last ? 0 : first + kAtOnce, ahead);
        add_planes<kPieces, kPlanes>(words, first, num_planes, constants, sum);
#pragma unroll
        for (int q = 0; q < kAtOnce; ++q) words[q] = ahead[q];
      }
      finish_sums<kPieces, kPlanes>(sum, constants, tables[part].pieces, x[part]);
    }
    const NumberEpilogue<T, kIsPart> epilogue(task, i);
    epilogue.write(task, j, task.col_scale[j], x);
    column = next_column;
  }
}

}  // namespace kizami::ozaki2::kernels
