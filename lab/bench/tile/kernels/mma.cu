// SPDX-License-Identifier: MIT
// D = A B + C by mma, one kernel a type and a tile, so that what the matrix engine does to single sums can be read from
// D. On sm_90 the compiler takes the instructions of a warpgroup (HGMMA, QGMMA, IGMMA) for the 64 x 64 tile, those of a
// warp (HMMA, IMMA) for 32 x 32, and no matrix instruction for 16 x 16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_tf32.h>
#include <cuda_tile.h>

#include <cstdint>

namespace ct = cuda::tiles;

constexpr int kTileK = 64;

/// @shape A: kSize x k, B: k x kSize, C, D: kSize x kSize, row-major, dense; k is a multiple of 64; grid: 1
template <int kSize, class In, class Accumulator>
__tile__ void multiply(const In* __restrict__ A, const In* __restrict__ B, const Accumulator* __restrict__ C,
                       Accumulator* __restrict__ D, int k) {
  const auto a_view = ct::partition_view{ct::tensor_span{A, ct::extents{kSize, k}}, ct::shape<kSize, kTileK>{}};
  const auto b_view = ct::partition_view{ct::tensor_span{B, ct::extents{k, kSize}}, ct::shape<kTileK, kSize>{}};
  const auto c_view = ct::partition_view{ct::tensor_span{C, ct::extents{kSize, kSize}}, ct::shape<kSize, kSize>{}};
  const auto d_view = ct::partition_view{ct::tensor_span{D, ct::extents{kSize, kSize}}, ct::shape<kSize, kSize>{}};
  auto sum = c_view.load(0, 0);
  for (const int l : ct::irange(0, k / kTileK)) sum = ct::mma(a_view.load(0, l), b_view.load(l, 0), sum);
  d_view.store(sum, 0, 0);
}

#define MMA_KERNEL(name, size, In, Accumulator)                                                                       \
  extern "C" __tile_global__ void mma_##name##_##size(const In* __restrict__ A, const In* __restrict__ B,             \
                                                      const Accumulator* __restrict__ C, Accumulator* __restrict__ D, \
                                                      int k) {                                                        \
    multiply<size>(A, B, C, D, k);                                                                                    \
  }
#define MMA_KERNELS(name, In, Accumulator) \
  MMA_KERNEL(name, 64, In, Accumulator)    \
  MMA_KERNEL(name, 32, In, Accumulator)    \
  MMA_KERNEL(name, 16, In, Accumulator)

MMA_KERNELS(f16, __half, float)
MMA_KERNELS(f16_f16, __half, __half)
MMA_KERNELS(bf16, __nv_bfloat16, float)
MMA_KERNELS(tf32, __nv_tf32, float)
MMA_KERNELS(e4m3, __nv_fp8_e4m3, float)
MMA_KERNELS(e4m3_f16, __nv_fp8_e4m3, __half)
MMA_KERNELS(e5m2, __nv_fp8_e5m2, float)
MMA_KERNELS(i8, std::int8_t, std::int32_t)
MMA_KERNELS(u8, std::uint8_t, std::int32_t)
// These two have no instruction of their own; 64 x 64 would take the compiler 20 seconds each.
MMA_KERNEL(f32, 16, float, float)
MMA_KERNEL(f64, 16, double, double)
