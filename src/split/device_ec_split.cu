// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device. A scale is a maximum over a line, so every element is looked at twice; as many as
// fit are held in registers in between. Two ways, by what is contiguous in memory:
//   along the lines   1, 2, 4 or 8 warps of a CTA take a line, four elements a lane at a time;
//   across them       a cluster takes 32 lines. A lane has a line, a warp a unit of 32 lines x 32 elements, which it exchanges in
//                     shared memory so that whole blocks of 128 bytes go out.
// Both operands are one launch: the first CTAs are of A, the others of B.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "num/line_stats.hpp"
#include "split/device_ec_split.hpp"
#include "split/ec_split.hpp"

namespace kizami::split {
namespace {

using base::ceil_div;
using product::EcFormat;

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kHeldQuads = 8;  ///< of four elements, a lane holds along the lines
constexpr int kHeldUnits = 2;  ///< of 32 elements, a lane holds across them
constexpr int kUnit = 32;      ///< lines, and elements, of a unit
constexpr int kMostCluster = 8;
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

struct Operand {
  problem::Lines<float> lines;
  std::int8_t* planes;
  std::int64_t row_stride;
  std::int32_t* scales;
  std::int32_t is_across;
  std::int32_t is_aligned;      ///< along: four elements can be read at once
  std::int32_t warps_per_line;  ///< along
};

struct Job {
  Operand a;
  Operand b;
  unsigned blocks_of_a;
  EcLineState* state;
};

struct Shared {
  std::uint32_t max_bits[kWarps][kUnit];
  std::uint32_t line_max[kUnit];  ///< of this CTA's part of the line
  EcLineCount count[kWarps][kUnit];
  EcLineCount line_count[kUnit];        ///< across: of rank 0, sums over the cluster
  uint4 exchange[kWarps][kUnit * 8];  ///< across: 16 bytes p of line l of a block at 8 l + (p ^ l % 8)
};

[[nodiscard]] __device__ std::uint32_t magnitude_bits(float x) { return __float_as_uint(x) & 0x7FFFFFFFU; }

/// ec_scale().
[[nodiscard]] __device__ std::int32_t scale_of(std::uint32_t max_bits) {
  if (max_bits >= 0x7F800000U) return num::kSkipLine;
  if (max_bits == 0) return 0;
  const int exponent = max_bits >> 23 != 0 ? static_cast<int>(max_bits >> 23) - 127 : 31 - __clz(max_bits) - 149;
  return product::kEcTopExponent - exponent;
}

/// 2^scale in two factors, so that x times both is rounded at most once.
struct Scaling {
  float first;
  float second;

  explicit __device__ Scaling(std::int32_t scale) {
    if (scale == num::kSkipLine) {
      first = second = 0;
      return;
    }
    const int most = min(scale, 126);
    first = __int_as_float((most + 127) << 23);
    second = __int_as_float((scale - most + 127) << 23);
  }
  [[nodiscard]] __device__ float apply(float x) const { return __fmul_rn(__fmul_rn(x, first), second); }
};

/// hi and lo of four elements, 8 or 16 bytes each.
template <EcFormat kFormat>
struct Quad {
  using Bytes = std::conditional_t<kFormat == EcFormat::kF16, uint2, uint4>;
  Bytes hi;
  Bytes lo;
};

[[nodiscard]] __device__ std::uint32_t tf32_bits(float y) {
  std::uint32_t bits = 0;
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(bits) : "f"(y));
  return bits & 0xFFFFE000U;
}
[[nodiscard]] __device__ std::uint32_t pack(__half low, __half high) {
  return static_cast<std::uint32_t>(__half_as_ushort(low)) | static_cast<std::uint32_t>(__half_as_ushort(high)) << 16;
}

/// Splits four elements that are scaled already.
template <EcFormat kFormat>
[[nodiscard]] __device__ Quad<kFormat> split_four(const float (&y)[4], EcLineCount& count) {
  const auto note = [&](float element, float rest, float lo) {
    count.nonzero += element != 0 ? 1 : 0;
    count.coarse += fabsf(__fsub_rn(rest, lo)) > __fmul_rn(fabsf(element), 0x1p-22F) ? 1 : 0;
  };
  Quad<kFormat> out;
  if constexpr (kFormat == EcFormat::kF16) {
    __half hi[4];
    __half lo[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      hi[e] = __float2half_rn(y[e]);
      const float rest = __fsub_rn(y[e], __half2float(hi[e]));
      lo[e] = __float2half_rn(rest);
      note(y[e], rest, __half2float(lo[e]));
    }
    out.hi = make_uint2(pack(hi[0], hi[1]), pack(hi[2], hi[3]));
    out.lo = make_uint2(pack(lo[0], lo[1]), pack(lo[2], lo[3]));
  } else {
    std::uint32_t hi[4];
    std::uint32_t lo[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      hi[e] = tf32_bits(y[e]);
      const float rest = __fsub_rn(y[e], __uint_as_float(hi[e]));
      lo[e] = tf32_bits(rest);
      note(y[e], rest, __uint_as_float(lo[e]));
    }
    out.hi = make_uint4(hi[0], hi[1], hi[2], hi[3]);
    out.lo = make_uint4(lo[0], lo[1], lo[2], lo[3]);
  }
  return out;
}

/// Adds to the state what the lines of a warp's lanes are.
__device__ void report(EcLineState* state, bool has_line, std::int32_t scale, const EcLineCount& count) {
  if (state == nullptr) return;
  const unsigned nonfinite = __ballot_sync(kWholeWarp, has_line && scale == num::kSkipLine);
  const unsigned coarse = __ballot_sync(kWholeWarp, has_line && scale != num::kSkipLine && is_coarse(count));
  if (threadIdx.x % 32 != 0) return;
  if (nonfinite != 0) atomicAdd(&state->nonfinite_lines, static_cast<unsigned>(__popc(nonfinite)));
  if (coarse != 0) atomicAdd(&state->coarse_lines, static_cast<unsigned>(__popc(coarse)));
}

// ---- along the lines ----

[[nodiscard]] __device__ float4 load_four(const Operand& o, const float* line, std::int64_t k) {
  const std::int64_t left = o.lines.length - k;
  if (left >= 4 && o.is_aligned != 0) return *reinterpret_cast<const float4*>(line + k);
  const std::int64_t step = o.lines.inner_stride;
  return make_float4(left > 0 ? line[k * step] : 0.0F, left > 1 ? line[(k + 1) * step] : 0.0F,
                     left > 2 ? line[(k + 2) * step] : 0.0F, left > 3 ? line[(k + 3) * step] : 0.0F);
}

template <EcFormat kFormat>
__device__ void store_four(std::int8_t* row, std::int64_t k, const float4& x, const Scaling& scaling, EcLineCount& count) {
  constexpr std::int64_t kBlock = product::ec_block_length(kFormat);
  constexpr std::int64_t kSize = kFormat == EcFormat::kF16 ? 2 : 4;
  const float y[4] = {scaling.apply(x.x), scaling.apply(x.y), scaling.apply(x.z), scaling.apply(x.w)};
  const Quad<kFormat> quad = split_four<kFormat>(y, count);
  std::int8_t* const to = row + k / kBlock * product::kEcBlockBytes + k % kBlock * kSize;
  using Bytes = typename Quad<kFormat>::Bytes;
  *reinterpret_cast<Bytes*>(to) = quad.hi;
  *reinterpret_cast<Bytes*>(to + product::kEcBlockBytes / 2) = quad.lo;
}

template <EcFormat kFormat>
__device__ void split_along(const Operand& o, unsigned block, Shared& shared, EcLineState* state) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int width = o.warps_per_line;
  const std::int64_t i = static_cast<std::int64_t>(block) * (kWarps / width) + warp / width;
  const bool has_line = i < o.lines.num_lines;
  const float* const line = o.lines.data + i * o.lines.line_stride;
  const std::int64_t first = (static_cast<std::int64_t>(warp % width) * 32 + lane) * 4;
  const std::int64_t step = static_cast<std::int64_t>(width) * 128;
  constexpr std::int64_t kBlock = product::ec_block_length(kFormat);
  const std::int64_t end = has_line ? ceil_div(o.lines.length, kBlock) * kBlock : 0;  // of the line with its padding

  float4 held[kHeldQuads];
  std::uint32_t max_bits = 0;
  const auto observe = [&](const float4& x) {
    max_bits = max(max_bits, max(max(magnitude_bits(x.x), magnitude_bits(x.y)), max(magnitude_bits(x.z), magnitude_bits(x.w))));
  };
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    held[q] = make_float4(0, 0, 0, 0);
    if (first + q * step < end) held[q] = load_four(o, line, first + q * step);
  }
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) observe(held[q]);
#pragma unroll 4
  for (std::int64_t k = first + kHeldQuads * step; k < end; k += step) observe(load_four(o, line, k));

  max_bits = __reduce_max_sync(kWholeWarp, max_bits);
  if (width > 1) {
    if (lane == 0) shared.max_bits[0][warp] = max_bits;
    __syncthreads();
    for (int w = 0; w < width; ++w) max_bits = max(max_bits, shared.max_bits[0][warp / width * width + w]);
  }
  const std::int32_t scale = scale_of(max_bits);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);
  std::int8_t* const row = o.planes + i * o.row_stride;
  EcLineCount count;
  const auto store = [&](std::int64_t k, float4 x) {
    if (is_skipped) x = make_float4(0, 0, 0, 0);
    store_four<kFormat>(row, k, x, scaling, count);
  };
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    if (first + q * step < end) store(first + q * step, held[q]);
  }
#pragma unroll 4
  for (std::int64_t k = first + kHeldQuads * step; k < end; k += step) store(k, load_four(o, line, k));

  const bool is_first = warp % width == 0 && lane == 0 && has_line;
  if (is_first) o.scales[i] = scale;
  if (state == nullptr) return;
  count.nonzero = __reduce_add_sync(kWholeWarp, count.nonzero);
  count.coarse = __reduce_add_sync(kWholeWarp, count.coarse);
  if (width > 1) {
    if (lane == 0) shared.count[0][warp] = count;
    __syncthreads();
    for (int w = 1; w < width && is_first; ++w) {
      count.nonzero += shared.count[0][warp + w].nonzero;
      count.coarse += shared.count[0][warp + w].coarse;
    }
  }
  report(state, is_first, scale, count);
}

// ---- across the lines ----

/// This lane's 32 elements of a unit, zeros beyond the line's end.
__device__ void load_unit(const Operand& o, const float* line, bool has_line, std::int64_t unit, float (&x)[kUnit]) {
  const std::int64_t k = unit * kUnit;
  const std::int64_t step = o.lines.inner_stride;
  const float* const from = line + k * step;
  if (has_line && k + kUnit <= o.lines.length) {
#pragma unroll
    for (int e = 0; e < kUnit; ++e) x[e] = from[e * step];
    return;
  }
#pragma unroll
  for (int e = 0; e < kUnit; ++e) x[e] = has_line && k + e < o.lines.length ? from[e * step] : 0.0F;
}

/// Splits a unit and stores its blocks, 128 bytes of four lines at a time.
template <EcFormat kFormat>
__device__ void store_unit(const Operand& o, std::int64_t first_line, std::int64_t unit, const float (&x)[kUnit],
                           bool is_skipped, const Scaling& scaling, uint4 (&exchange)[kUnit * 8], EcLineCount& count) {
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  constexpr int kPiece = kFormat == EcFormat::kF16 ? 8 : 4;  // elements of 16 bytes
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int block = 0; block < kUnit / kBlock; ++block) {
    if (unit * kUnit + block * kBlock >= o.lines.length) break;
    __syncwarp();  // what was there has been read
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      Quad<kFormat> quads[kPiece / 4];
#pragma unroll
      for (int q = 0; q < kPiece / 4; ++q) {
        float y[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float element = x[block * kBlock + piece * kPiece + q * 4 + e];
          y[e] = is_skipped ? 0.0F : scaling.apply(element);
        }
        quads[q] = split_four<kFormat>(y, count);
      }
      uint4 hi;
      uint4 lo;
      if constexpr (kFormat == EcFormat::kF16) {
        hi = make_uint4(quads[0].hi.x, quads[0].hi.y, quads[1].hi.x, quads[1].hi.y);
        lo = make_uint4(quads[0].lo.x, quads[0].lo.y, quads[1].lo.x, quads[1].lo.y);
      } else {
        hi = quads[0].hi;
        lo = quads[0].lo;
      }
      exchange[8 * lane + (piece ^ lane % 8)] = hi;
      exchange[8 * lane + ((piece + 4) ^ lane % 8)] = lo;
    }
    __syncwarp();
    std::int8_t* const to = o.planes + (unit * (kUnit / kBlock) + block) * product::kEcBlockBytes + lane % 8 * 16;
#pragma unroll
    for (int four = 0; four < 8; ++four) {
      const int l = four * 4 + lane / 8;
      if (first_line + l < o.lines.num_lines) {
        *reinterpret_cast<uint4*>(to + (first_line + l) * o.row_stride) = exchange[8 * l + (lane % 8 ^ l % 8)];
      }
    }
  }
}

template <EcFormat kFormat>
__device__ void split_across(const Operand& o, unsigned block, Shared& shared, EcLineState* state) {
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned ranks = cluster.num_blocks();
  const unsigned rank = cluster.block_rank();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first_line = static_cast<std::int64_t>(block / ranks) * kUnit;
  const bool has_line = first_line + lane < o.lines.num_lines;
  const float* const line = o.lines.data + (first_line + lane) * o.lines.line_stride;
  const std::int64_t num_units = first_line < o.lines.num_lines ? ceil_div(o.lines.length, kUnit) : 0;
  const std::int64_t first = static_cast<std::int64_t>(rank) * kWarps + warp;
  const std::int64_t step = static_cast<std::int64_t>(ranks) * kWarps;

  float held[kHeldUnits][kUnit];
  std::uint32_t max_bits = 0;
  const auto observe = [&](const float(&x)[kUnit]) {
#pragma unroll
    for (int e = 0; e < kUnit; ++e) max_bits = max(max_bits, magnitude_bits(x[e]));
  };
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) load_unit(o, line, has_line, first + u * step, held[u]);
  }
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) observe(held[u]);
  }
  for (std::int64_t unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_unit(o, line, has_line, unit, x);
    observe(x);
  }

  // The largest of each line over warps, then over the cluster.
  shared.max_bits[warp][lane] = max_bits;
  if (warp == 0) shared.line_count[lane] = {};
  __syncthreads();
  if (warp == 0) {
#pragma unroll
    for (int w = 1; w < kWarps; ++w) max_bits = max(max_bits, shared.max_bits[w][lane]);
    shared.line_max[lane] = max_bits;
  }
  cluster.sync();
  max_bits = 0;
  for (unsigned r = 0; r < ranks; ++r) max_bits = max(max_bits, *cluster.map_shared_rank(&shared.line_max[lane], r));
  const std::int32_t scale = scale_of(max_bits);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);

  EcLineCount count;
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step >= num_units) break;
    store_unit<kFormat>(o, first_line, first + u * step, held[u], is_skipped, scaling, shared.exchange[warp], count);
  }
  for (std::int64_t unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_unit(o, line, has_line, unit, x);
    store_unit<kFormat>(o, first_line, unit, x, is_skipped, scaling, shared.exchange[warp], count);
  }

  if (rank == 0 && warp == 0 && has_line) o.scales[first_line + lane] = scale;
  if (state != nullptr) {
    shared.count[warp][lane] = count;
    __syncthreads();
    if (warp == 0) {
      for (int w = 1; w < kWarps; ++w) {
        count.nonzero += shared.count[w][lane].nonzero;
        count.coarse += shared.count[w][lane].coarse;
      }
      EcLineCount* const total = cluster.map_shared_rank(&shared.line_count[lane], 0);
      atomicAdd(&total->nonzero, count.nonzero);
      atomicAdd(&total->coarse, count.coarse);
    }
  }
  cluster.sync();  // others have read line_max and written line_count
  if (rank == 0 && warp == 0) report(state, has_line, scale, shared.line_count[lane]);
}

template <EcFormat kFormat>
__global__ void __launch_bounds__(kThreads, 2) split_ec_smxx(const __grid_constant__ Job job) {
  __shared__ Shared shared;
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
  const bool is_a = blockIdx.x < job.blocks_of_a;
  const Operand& o = is_a ? job.a : job.b;
  const unsigned block = is_a ? blockIdx.x : blockIdx.x - job.blocks_of_a;
  if (o.is_across != 0) {
    split_across<kFormat>(o, block, shared, job.state);
  } else {
    split_along<kFormat>(o, block, shared, job.state);
  }
}

Operand operand_of(const DeviceEcSplit& task) {
  const problem::Lines<float>& lines = task.lines;
  Operand o{lines, task.planes, task.row_stride, task.scales, 0, 0, 1};
  o.is_across = lines.inner_stride > lines.line_stride && lines.num_lines > 1;
  o.is_aligned = lines.inner_stride == 1 && lines.line_stride % 4 == 0 &&
                 reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0;
  while (o.warps_per_line < kWarps && lines.length > std::int64_t{o.warps_per_line} * 128 * kHeldQuads) {
    o.warps_per_line *= 2;
  }
  return o;
}

/// CTAs that share 32 lines, so that a warp has one unit: more CTAs hold more elements.
int cluster_for(const Operand& a, const Operand& b) {
  std::int64_t units = 0;
  for (const Operand* o : {&a, &b}) {
    if (o->is_across != 0) units = std::max(units, ceil_div(o->lines.length, kUnit));
  }
  int cluster = 1;
  while (cluster < kMostCluster && units > std::int64_t{cluster} * kWarps) cluster *= 2;
  return cluster;
}

std::int64_t blocks_of(const Operand& o, int cluster) {
  if (o.is_across != 0) return ceil_div(o.lines.num_lines, kUnit) * cluster;
  return base::round_up(ceil_div(o.lines.num_lines, kWarps / o.warps_per_line), cluster);
}

}  // namespace

Status device_ec_split(const DeviceEcSplit& a, const DeviceEcSplit& b, EcFormat format, EcLineState* state,
                       product::Queue queue) {
  Job job{operand_of(a), operand_of(b), 0, state};
  const int cluster = cluster_for(job.a, job.b);
  const std::int64_t blocks_of_a = blocks_of(job.a, cluster);
  const std::int64_t blocks = blocks_of_a + blocks_of(job.b, cluster);
  if (blocks > INT32_MAX) {
    return {StatusCode::kInvalidArgument,
            "the split of " + std::to_string(a.lines.num_lines) + " and " + std::to_string(b.lines.num_lines) +
                " lines needs " + std::to_string(blocks) + " blocks, must be below 2^31"};
  }
  job.blocks_of_a = static_cast<unsigned>(blocks_of_a);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(cluster);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = queue;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const auto kernel = format == EcFormat::kF16 ? &split_ec_smxx<EcFormat::kF16> : &split_ec_smxx<EcFormat::kTf32>;
  return base::cuda_status(cudaLaunchKernelEx(&config, kernel, job), "the split of FP32 operands");
}

}  // namespace kizami::split
