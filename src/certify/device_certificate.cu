// SPDX-License-Identifier: MIT
#include "certify/device_certificate.hpp"

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"

namespace kizami::certify {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = 4 * kThreads;
constexpr int kCols = 32;    ///< of a block
constexpr int kFewCols = 8;  ///< of a block of small products, which would leave multiprocessors idle
constexpr int kFewBlocks = 1024;

/// Sums of four neighbouring rows of a column and part, as floats.
template <bool kIsOnePiece>
__device__ void load_floors(const SampledProducts& products, const std::int32_t* at, float (&floors)[4]) {
  if constexpr (kIsOnePiece) {  // sums are below 2^31
    const int4 four = *reinterpret_cast<const int4*>(at);
    floors[0] = static_cast<float>(four.x);
    floors[1] = static_cast<float>(four.y);
    floors[2] = static_cast<float>(four.z);
    floors[3] = static_cast<float>(four.w);
  } else {
    std::uint64_t sum[4] = {};
    for (std::int64_t piece = 0; piece < products.num_pieces; ++piece) {
      const int4 four = *reinterpret_cast<const int4*>(at + piece * products.piece_stride);
      sum[0] += static_cast<std::uint32_t>(four.x);
      sum[1] += static_cast<std::uint32_t>(four.y);
      sum[2] += static_cast<std::uint32_t>(four.z);
      sum[3] += static_cast<std::uint32_t>(four.w);
    }
    for (int e = 0; e < 4; ++e) floors[e] = static_cast<float>(sum[e]);
  }
}

[[nodiscard]] __device__ num::LineWeight weight_of(const num::Ladder& ladder, const device::DeviceLineBuffers& lines,
                                                   std::int64_t line) {
  return lines.line_weights != nullptr ? lines.line_weights[line] : num::line_weight(ladder, lines.stats[line]);
}

/// Four rows a thread, whose weights it keeps; the cols_of_block <= kCols columns of a block some at a time, the next
/// ones on their way while these are compared, and the first while the weights are made.
template <int kParts, bool kIsOnePiece>
__global__ void __launch_bounds__(kThreads)
    count_failures(const __grid_constant__ num::Ladder ladder, const SampledProducts products,
                   const device::DeviceLineBuffers a, const device::DeviceLineBuffers b, int cols_of_block,
                   device::DeviceState* state) {
  constexpr int kAtOnce = 4 / kParts;
  __shared__ num::LineWeight b_weights[kCols];
  base::follow_previous_kernel();
  if (state->is_scaling_only != 0) return;
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kRows) + 4 * static_cast<int>(threadIdx.x);
  const std::int64_t first_col = blockIdx.y * static_cast<std::int64_t>(cols_of_block);
  const int num_cols = static_cast<int>(min(static_cast<std::int64_t>(cols_of_block), products.n - first_col));
  const bool has_rows = i < products.m;
  float ahead[kAtOnce][kParts][4] = {};
  const auto load = [&](int y) {
#pragma unroll
    for (int c = 0; c < kAtOnce; ++c) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        if (has_rows && y + c < num_cols) {
          load_floors<kIsOnePiece>(
              products, products.acc + (first_col + y + c) * products.col_stride + part * products.part_stride + i,
              ahead[c][part]);
        }
      }
    }
  };
  load(0);
  if (static_cast<int>(threadIdx.x) < num_cols) b_weights[threadIdx.x] = weight_of(ladder, b, first_col + threadIdx.x);
  num::LineWeight a_weights[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (i + e < products.m) a_weights[e] = weight_of(ladder, a, i + e);
  }
  __syncthreads();
  unsigned failures = 0;
  if (has_rows) {
    // What accumulators hold beyond the last row is nobody's.
    const unsigned rows = products.m - i >= 4 ? 15u : (1u << (products.m - i)) - 1;
    for (int y = 0; y < num_cols; y += kAtOnce) {
      float floors[kAtOnce][kParts][4];
      memcpy(floors, ahead, sizeof floors);
      load(y + kAtOnce);
#pragma unroll
      for (int c = 0; c < kAtOnce; ++c) {
        if (y + c >= num_cols) break;
        unsigned failed = 0;
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (!num::is_certified(ladder, 0, a_weights[e], b_weights[y + c], floors[c][part][e] * 0x1p-12F))
              failed |= 1u << e;
          }
        }
        failures += __popc(failed & rows);
      }
    }
  }
  const unsigned all = __reduce_add_sync(~0u, failures);
  if (threadIdx.x % 32 == 0 && all != 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(&state->sampled_failures), static_cast<unsigned long long>(all));
}

}  // namespace

Status count_sampled_failures_device(const num::Ladder& ladder, const SampledProducts& products,
                                     const device::DeviceLineBuffers& a, const device::DeviceLineBuffers& b,
                                     device::DeviceState* state, product::Queue queue) {
  if (products.m == 0 || products.n == 0) return {};
  const std::int64_t rows = base::ceil_div(products.m, kRows);
  const int cols_of_block = rows * base::ceil_div(products.n, kCols) < kFewBlocks ? kFewCols : kCols;
  const std::int64_t cols = base::ceil_div(products.n, cols_of_block);
  if (cols > 65535) {  // more than one launch takes
    SampledProducts part = products;
    const std::int64_t half = base::round_up(products.n / 2, kCols);
    part.n = half;
    KIZAMI_RETURN_IF_ERROR(count_sampled_failures_device(ladder, part, a, b, state, queue));
    part.acc += half * products.col_stride;
    part.n = products.n - half;
    return count_sampled_failures_device(ladder, part, a, b.from(half), state, queue);
  }
  // Digits are at most 127: a piece of 2^17 of them sums to less than 2^31.
  const bool is_one_piece = products.num_pieces == 1;
  const auto kernel = products.num_parts == 2 ? (is_one_piece ? count_failures<2, true> : count_failures<2, false>)
                                              : (is_one_piece ? count_failures<1, true> : count_failures<1, false>);
  num::Ladder lowest = ladder;  // a weight is then quick to find
  lowest.num_rungs = 1;
  return base::launch_overlapped("count_failures", kernel,
                                 dim3(static_cast<unsigned>(rows), static_cast<unsigned>(cols)), kThreads, 0, queue,
                                 lowest, products, a, b, cols_of_block, state);
}

}  // namespace kizami::certify
