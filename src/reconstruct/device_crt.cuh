// SPDX-License-Identifier: MIT
// The CRT kernel: the integers of four neighbouring elements of a column at a time, in FP64 pieces (device_crt_pieces.cuh) or
// in limbs (device_crt_limbs.cuh), then the epilogue.
#pragma once

#include <algorithm>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"
#include "num/scaling.hpp"
#include "reconstruct/device.hpp"
#include "reconstruct/device_crt_limbs.cuh"
#include "reconstruct/device_crt_pieces.cuh"
#include "reconstruct/device_quads.cuh"

namespace kizami::reconstruct::device {

/// Blocks of the usual kernels that a multiprocessor holds at once; a launch has no more.
inline constexpr int kBlocksPerSm = 2;

/// What all elements of a thread share.
template <class T>
struct Epilogue {
  T alpha;
  T beta;
  bool is_product;  ///< alpha = 1, beta = 0
  bool has_repairs;

  __device__ explicit Epilogue(const DeviceReconstruction<T>& task)
      : alpha(task.alpha.load()),
        beta(task.beta.load()),
        is_product(alpha == T{1} && beta == T{0}),
        has_repairs(task.state->num_repairs != 0) {}
};

/// Writes what is wanted of four elements from row i of column j, whatever alpha, beta and the scales.
template <class T, int kParts>
__device__ void finish_quad(const DeviceReconstruction<T>& task, const Epilogue<T>& epilogue, std::int64_t i,
                            std::int64_t j, const std::int32_t (&row_scale)[4], int col_scale,
                            num::Scaled (&p)[kParts][4]) {
  T value[4];
  unsigned wanted = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    bool is_wanted = row_scale[e] != num::kSkipLine;
    if (epilogue.has_repairs && is_wanted) {
      const std::int64_t bit = task.first_row + i + e;
      is_wanted = (task.repair_bits[(task.first_col + j) * task.bits_stride + bit / 32] >> (bit % 32) & 1) == 0;
    }
    value[e] = T{0};
    if (!is_wanted) continue;
    wanted |= 1u << e;
    for (int part = 0; part < kParts; ++part) p[part][e].exponent -= row_scale[e] + col_scale;
    const T old = epilogue.beta == T{0} ? T{0} : task.c(i + e, j);
    value[e] = finish_any<T, kParts>(p[0][e], p[kParts - 1][e], epilogue.alpha, epilogue.beta, old);
  }
  store(task.c, i, j, value, wanted);
}

/// Rows beyond the last have scale num::kSkipLine.
template <class T>
__device__ void load_row_scales(const DeviceReconstruction<T>& task, std::int64_t i, std::int32_t (&row_scale)[4]) {
#pragma unroll
  for (int e = 0; e < 4; ++e) row_scale[e] = i + e < task.c.rows ? task.row_scale[i + e] : num::kSkipLine;
}
template <class T, class Visit>
__device__ void for_columns(const DeviceReconstruction<T>& task, const Visit& visit) {
  for (std::int64_t j = first_column_of_thread(); j < task.c.cols; j += column_step()) {
    const int col_scale = task.col_scale[j];
    if (col_scale != num::kSkipLine) visit(j, col_scale);
  }
}

/// Four residues. Their neighbours in 256 bytes, which other warps want, come to the L2 cache as well.
[[nodiscard]] __device__ inline std::uint32_t load_word(const std::int8_t* at) {
  std::uint32_t word;
  asm volatile("ld.global.L2::256B.u32 %0, [%1];" : "=r"(word) : "l"(at));
  return word;
}

/// In FP64 pieces. kIsWhole: the count is the largest of so many pieces, a constant then.
template <class T, int kPieces, bool kIsWhole>
__device__ void reconstruct_from_pieces(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables,
                                        double* shared) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  constexpr int kPlanes = most_piece_planes(kIsComplex<T>, kPieces);
  using Layout = PieceLayout<kPieces, kPlanes>;
  const int thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  for (int at = thread; at < kParts * Layout::kSize; at += kThreads)
    shared[at] = Layout::value(tables[at / Layout::kSize].pieces, at % Layout::kSize);
  __syncthreads();
  const std::int64_t i = first_row_of_thread();
  if (i >= task.c.rows) return;
  const Epilogue<T> epilogue(task);
  const int num_planes = kIsWhole ? kPlanes : tables->num_planes;
  // Scales so far from the ends of the range that an element is one product.
  constexpr int kModerate = 450;
  const auto is_moderate = [](int scale) {
    return static_cast<unsigned>(scale + kModerate) <= static_cast<unsigned>(2 * kModerate);
  };
  std::int32_t row_scale[4];
  load_row_scales(task, i, row_scale);
  const bool is_fast = epilogue.is_product && !epilogue.has_repairs && is_moderate(row_scale[0]) &&
                       is_moderate(row_scale[1]) && is_moderate(row_scale[2]) && is_moderate(row_scale[3]);
  // Of few planes the words of the next column are on their way while this one is rebuilt.
  constexpr bool kIsAhead = kPlanes <= 16;
  const std::int64_t first = first_column_of_thread();
  const std::int64_t step = column_step();
  std::uint32_t words[kPlanes];
  const auto load = [&](std::int64_t j, std::uint32_t(&to)[kPlanes]) {
    const std::int8_t* at = task.planes.data + j * task.planes.col_stride + i;
#pragma unroll
    for (int q = 0; q < kPlanes; ++q, at += task.planes.plane_stride) to[q] = q < num_planes ? load_word(at) : 0;
  };
  if (kIsAhead && first < task.c.cols) load(first, words);
  for (std::int64_t j = first; j < task.c.cols; j += step) {
    const int col_scale = task.col_scale[j];
    std::uint32_t ahead[kPlanes];
    if constexpr (kIsAhead) {
      if (j + step < task.c.cols) load(j + step, ahead);
    } else {
      load(j, words);
    }
    double x[kParts][4];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      rebuild_from_pieces<kPieces, kPlanes>(words, num_planes, shared + part * Layout::kSize, tables[part].pieces,
                                            x[part]);
    }
    if (is_fast && is_moderate(col_scale)) {
      T value[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        using R = RealOf<T>;
        const double unit = num::power_of_two(-(row_scale[e] + col_scale));
        if constexpr (kParts == 2) {
          value[e] = T(static_cast<R>(x[0][e] * unit), static_cast<R>(x[1][e] * unit));
        } else {
          value[e] = static_cast<R>(x[0][e] * unit);
        }
      }
      store(task.c, i, j, value, 15u);
    } else if (col_scale != num::kSkipLine) {
      num::Scaled p[kParts][4];
      for (int part = 0; part < kParts; ++part) {
        for (int e = 0; e < 4; ++e) p[part][e] = num::make_scaled(x[part][e], 0);
      }
      finish_quad<T, kParts>(task, epilogue, i, j, row_scale, col_scale, p);
    }
    if constexpr (kIsAhead) {
#pragma unroll
      for (int q = 0; q < kPlanes; ++q) words[q] = ahead[q];
    }
  }
}

/// In limbs. kMostLimbs: what the rungs of the ladder need at most. Apart, so that its registers are not those of the other.
template <class T, int kMostLimbs>
__device__ __noinline__ void reconstruct_from_limbs(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables,
                                                    std::uint32_t* shared) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  const int limbs = tables->num_limbs;
  const int thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  const auto for_limbs = [&](const auto& visit) {
    const auto visit_if = [&](auto num_limbs) {
      if constexpr (num_limbs.value <= kMostLimbs) visit(num_limbs);
    };
    switch (limbs) {
      case 5:
        return visit_if(std::integral_constant<int, 5>{});
      case 6:
        return visit_if(std::integral_constant<int, 6>{});
      case 7:
        return visit_if(std::integral_constant<int, 7>{});
      default:
        return visit_if(std::integral_constant<int, kDeviceLimbs>{});
    }
  };
  for_limbs([&](auto num_limbs) {
    constexpr int kWords = device_words(kIsComplex<T>, num_limbs.value);
    using Layout = SharedLayout<num_limbs.value, kWords>;
    for (int at = thread; at < kParts * Layout::kSize; at += kThreads) {
      const DeviceCrtTable& table = tables[at / Layout::kSize];
      const int i = at % Layout::kSize;
      shared[at] = i < Layout::kBias      ? table.weight[i / kWords][i % kWords]
                   : i < Layout::kProduct ? table.bias[i - Layout::kBias]
                                          : table.product[i - Layout::kProduct];
    }
  });
  __syncthreads();
  const std::int64_t i = first_row_of_thread();
  if (i >= task.c.rows) return;
  const Epilogue<T> epilogue(task);
  std::int32_t row_scale[4];
  load_row_scales(task, i, row_scale);
  const bool is_fast = epilogue.is_product && !epilogue.has_repairs && row_scale[0] != num::kSkipLine &&
                       row_scale[1] != num::kSkipLine && row_scale[2] != num::kSkipLine &&
                       row_scale[3] != num::kSkipLine;
  for_columns(task, [&](std::int64_t j, int col_scale) {
    num::Scaled p[kParts][4];
    const std::int8_t* const residues = task.planes.data + j * task.planes.col_stride + i;
    for_limbs([&](auto num_limbs) {
      rebuild_quad<kParts, num_limbs.value>(residues, task.planes.plane_stride, tables, shared, p);
    });
    if (is_fast) {
      bool are_plain = true;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        for (int part = 0; part < kParts; ++part) {
          p[part][e].exponent -= row_scale[e] + col_scale;
          are_plain = are_plain && is_plain(p[part][e]);
        }
      }
      if (are_plain) {
        T value[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) value[e] = plain_element<T, kParts>(p[0][e], p[kParts - 1][e]);
        store(task.c, i, j, value, 15u);
        return;
      }
      for (int e = 0; e < 4; ++e) {  // as they were, for the general way
        for (int part = 0; part < kParts; ++part) p[part][e].exponent += row_scale[e] + col_scale;
      }
    }
    finish_quad<T, kParts>(task, epilogue, i, j, row_scale, col_scale, p);
  });
}

template <class T>
__global__ void scale_kernel(MatrixView<T> c, Factor<T> beta) {
  scale_all(c, beta.load());
}

/// kMostLimbs: of the rungs that do not fit in pieces; 0: all do.
template <class T, int kMostLimbs>
__global__ void __launch_bounds__(kThreads, kMostLimbs > 7 ? 1 : kBlocksPerSm)
    reconstruct_kernel(const __grid_constant__ DeviceReconstruction<T> task) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  constexpr int kPieceBytes =
      8 * kParts * PieceLayout<kDevicePieces, most_piece_planes(kIsComplex<T>, kDevicePieces)>::kSize;
  constexpr int kLimbBytes =
      kMostLimbs == 0 ? 0 : 4 * kParts * SharedLayout<kMostLimbs, device_words(kIsComplex<T>, kMostLimbs)>::kSize;
  __shared__ __align__(16) unsigned char shared[kPieceBytes > kLimbBytes ? kPieceBytes : kLimbBytes];
  base::follow_previous_kernel();
  const int rung = task.state->selection.rung;
  const bool is_scaling_only = task.state->is_scaling_only != 0;
  if (is_scaling_only) {
    scale_all(task.c, task.beta.load());
    return;
  }
  if (rung < 0) return;
  if (task.done != nullptr && *task.done != 0) return;
  const DeviceCrtTable* const tables = task.tables + kParts * (task.ladder.rungs[rung].num_moduli - num::kMinModuli);
  if (tables->pieces.count == 2) {
    reconstruct_from_pieces<T, 2, false>(task, tables, reinterpret_cast<double*>(shared));
  } else if (tables->num_planes == most_piece_planes(kIsComplex<T>, 3)) {
    reconstruct_from_pieces<T, 3, true>(task, tables, reinterpret_cast<double*>(shared));
  } else if (kMostLimbs == 0 || tables->pieces.count == 3) {
    reconstruct_from_pieces<T, 3, false>(task, tables, reinterpret_cast<double*>(shared));
  } else if constexpr (kMostLimbs != 0) {
    reconstruct_from_limbs<T, kMostLimbs>(task, tables, reinterpret_cast<std::uint32_t*>(shared));
  }
}

}  // namespace kizami::reconstruct::device

namespace kizami::reconstruct {

template <class T>
Status reconstruct_device(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  if (task.c.rows == 0 || task.c.cols == 0) return {};
  const device::QuadGrid shape = device::quad_grid(task.c.rows, task.c.cols, device::kBlocksPerSm * num_sms);
  const int most = task.ladder.rungs[task.ladder.num_rungs - 1].num_moduli;
  const auto launch = [&](auto limbs) {
    return base::launch_overlapped("reconstruct_kernel", device::reconstruct_kernel<T, limbs.value>, shape.grid,
                                   shape.block, 0, queue, task);
  };
  // Most moduli of so many limbs; device_tables_test.cpp checks them.
  if (most <= most_piece_moduli(kIsComplex<T>, kDevicePieces)) return launch(std::integral_constant<int, 0>{});
  if (kIsComplex<T> || most <= 26) return launch(std::integral_constant<int, 7>{});
  return launch(std::integral_constant < int, kIsComplex<T> ? 7 : kDeviceLimbs > {});
}

template <class T>
Status scale_device(Factor<T> beta, MatrixView<T> c, product::Queue queue) {
  const std::int64_t blocks = base::ceil_div(c.rows * c.cols, device::kThreads);
  if (blocks == 0) return {};
  device::scale_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 4096)), device::kThreads, 0, queue>>>(
      c, beta);
  return base::launch_status("scale_kernel");
}

}  // namespace kizami::reconstruct

/// In one file for each type: together they take a minute to compile.
#define KIZAMI_INSTANTIATE_DEVICE_CRT(T)                                                                       \
  template ::kizami::Status kizami::reconstruct::reconstruct_device<T>(const DeviceReconstruction<T>&, int,    \
                                                                       ::kizami::product::Queue);              \
  template ::kizami::Status kizami::reconstruct::scale_device<T>(::kizami::Factor<T>, ::kizami::MatrixView<T>, \
                                                                 ::kizami::product::Queue)
