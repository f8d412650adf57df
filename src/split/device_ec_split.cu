// SPDX-License-Identifier: MIT
// The split of FP32 operands on the device. A scale is a maximum over a line, so every element is looked at twice; as many as
// fit are held in registers in between. Two ways, by what is contiguous in memory:
//   along the lines   1, 2, 4 or 8 warps of a CTA take a line, four elements a lane at a time;
//   across them       a cluster takes 32 lines. A lane has a line, a warp a unit of 32 lines x 32 elements, which it exchanges in
//                     shared memory so that whole blocks of 128 bytes go out.
// Where lines are short both operands are one launch: the first CTAs are of A, the others of B. Long lines across memory have
// a launch of their own, in which a lane holds twice as much and half as many CTAs share a multiprocessor.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
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
constexpr int kUnit = 32;      ///< lines, and elements, of a unit
constexpr int kMostCluster = 8;
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

struct Operand {
  problem::Lines<float> lines;
  std::int8_t* planes;
  std::int64_t row_stride;
  std::int32_t* scales;
  std::int32_t is_across;
  std::int32_t is_aligned;      ///< along: all of a line's elements can be read four at a time
  std::int32_t warps_per_line;  ///< along
};

struct Job {
  Operand a;
  Operand b;
  unsigned blocks_of_a;
  EcLineState* state;
};

struct Shared {
  float largest[kWarps][kUnit];      ///< of a warp's part of a line
  float parts[kMostCluster][kUnit];  ///< across: of a CTA's part of a line, from every CTA of the cluster
  EcLineCount count[kWarps][kUnit];
  EcLineCount line_count[kUnit];      ///< across: of rank 0, sums over the cluster
  uint4 exchange[kWarps][kUnit * 8];  ///< across: 16 bytes p of line l of a block at 8 l + (p ^ l % 8)
};

/// The larger magnitude; NaN if either is.
[[nodiscard]] __device__ float larger(float a, float b) {
  float result = 0;
  asm("max.NaN.f32 %0, %1, %2;\n" : "=f"(result) : "f"(fabsf(a)), "f"(fabsf(b)));
  return result;
}

/// ec_scale().
[[nodiscard]] __device__ std::int32_t scale_of(float largest) {
  const std::uint32_t max_bits = __float_as_uint(largest);
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
[[nodiscard]] __device__ std::uint32_t bits_of(__half2 x) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// Counts an element y of which `rest` was left for lo.
__device__ void note(EcLineCount& count, float y, float rest, float lo) {
  count.nonzero += y != 0 ? 1 : 0;
  count.coarse += fabsf(__fsub_rn(rest, lo)) > __fmul_rn(fabsf(y), 0x1p-22F) ? 1 : 0;
}

/// Splits four elements that are scaled already.
template <EcFormat kFormat, bool kCounts>
[[nodiscard]] __device__ Quad<kFormat> split_four(const float (&y)[4], EcLineCount& count) {
  Quad<kFormat> out;
  if constexpr (kFormat == EcFormat::kF16) {
    std::uint32_t hi_bits[2];
    std::uint32_t lo_bits[2];
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const __half2 hi = __floats2half2_rn(y[2 * p], y[2 * p + 1]);
      const float first = __fsub_rn(y[2 * p], __low2float(hi));
      const float second = __fsub_rn(y[2 * p + 1], __high2float(hi));
      const __half2 lo = __floats2half2_rn(first, second);
      if constexpr (kCounts) {
        note(count, y[2 * p], first, __low2float(lo));
        note(count, y[2 * p + 1], second, __high2float(lo));
      }
      hi_bits[p] = bits_of(hi);
      lo_bits[p] = bits_of(lo);
    }
    out.hi = make_uint2(hi_bits[0], hi_bits[1]);
    out.lo = make_uint2(lo_bits[0], lo_bits[1]);
  } else {
    std::uint32_t hi[4];
    std::uint32_t lo[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      hi[e] = tf32_bits(y[e]);
      const float rest = __fsub_rn(y[e], __uint_as_float(hi[e]));
      lo[e] = tf32_bits(rest);
      if constexpr (kCounts) note(count, y[e], rest, __uint_as_float(lo[e]));
    }
    out.hi = make_uint4(hi[0], hi[1], hi[2], hi[3]);
    out.lo = make_uint4(lo[0], lo[1], lo[2], lo[3]);
  }
  return out;
}

/// Adds to the state what the lines of a warp's lanes are.
__device__ void report(EcLineState* state, bool has_line, std::int32_t scale, const EcLineCount& count) {
  const unsigned nonfinite = __ballot_sync(kWholeWarp, has_line && scale == num::kSkipLine);
  const unsigned coarse = __ballot_sync(kWholeWarp, has_line && scale != num::kSkipLine && is_coarse(count));
  if (threadIdx.x % 32 != 0) return;
  if (nonfinite != 0) atomicAdd(&state->nonfinite_lines, static_cast<unsigned>(__popc(nonfinite)));
  if (coarse != 0) atomicAdd(&state->coarse_lines, static_cast<unsigned>(__popc(coarse)));
}

// ---- along the lines ----

/// Elements k..k+3 of a line, zeros beyond its end.
template <bool kIsAligned>
[[nodiscard]] __device__ float4 load_four(const Operand& o, const float* line, int k) {
  float4 x = make_float4(0, 0, 0, 0);
  const int left = static_cast<int>(o.lines.length) - k;
  if constexpr (kIsAligned) {
    if (left > 0) x = *reinterpret_cast<const float4*>(line + k);
  } else {
    const float* const from = line + k * o.lines.inner_stride;
    const std::int64_t step = o.lines.inner_stride;
    if (left > 0) x.x = from[0];
    if (left > 1) x.y = from[step];
    if (left > 2) x.z = from[2 * step];
    if (left > 3) x.w = from[3 * step];
  }
  return x;
}

template <EcFormat kFormat, bool kCounts>
__device__ void store_four(std::int8_t* row, int k, const float4& x, const Scaling& scaling, EcLineCount& count) {
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  constexpr int kBlockBytes = static_cast<int>(product::kEcBlockBytes);
  constexpr int kSize = kFormat == EcFormat::kF16 ? 2 : 4;
  const float y[4] = {scaling.apply(x.x), scaling.apply(x.y), scaling.apply(x.z), scaling.apply(x.w)};
  const Quad<kFormat> quad = split_four<kFormat, kCounts>(y, count);
  std::int8_t* const to = row + static_cast<std::int64_t>(k / kBlock) * kBlockBytes + k % kBlock * kSize;
  using Bytes = typename Quad<kFormat>::Bytes;
  *reinterpret_cast<Bytes*>(to) = quad.hi;
  *reinterpret_cast<Bytes*>(to + kBlockBytes / 2) = quad.lo;
}

template <EcFormat kFormat, bool kCounts, bool kIsAligned>
__device__ void split_along(const Operand& o, unsigned block, Shared& shared, EcLineState* state) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int width = o.warps_per_line;
  const std::int64_t i = static_cast<std::int64_t>(block) * (kWarps / width) + warp / width;
  const bool has_line = i < o.lines.num_lines;
  const float* const line = o.lines.data + i * o.lines.line_stride;
  const int first = (warp % width * 32 + lane) * 4;
  const int step = width * 128;
  constexpr std::int64_t kBlock = product::ec_block_length(kFormat);
  const int end =
      has_line ? static_cast<int>(ceil_div(o.lines.length, kBlock) * kBlock) : 0;  // of the line with its padding

  float4 held[kHeldQuads];
  float largest = 0;
  const auto observe = [&](const float4& x) { largest = larger(larger(largest, larger(x.x, x.y)), larger(x.z, x.w)); };
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    held[q] = make_float4(0, 0, 0, 0);
    if (has_line) held[q] = load_four<kIsAligned>(o, line, first + q * step);
  }
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) observe(held[q]);
#pragma unroll 4
  for (int k = first + kHeldQuads * step; k < end; k += step) observe(load_four<kIsAligned>(o, line, k));

#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) largest = larger(largest, __shfl_xor_sync(kWholeWarp, largest, mask));
  if (width > 1) {
    if (lane == 0) shared.largest[0][warp] = largest;
    __syncthreads();
    for (int w = 0; w < width; ++w) largest = larger(largest, shared.largest[0][warp / width * width + w]);
  }
  const std::int32_t scale = scale_of(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);
  std::int8_t* const row = o.planes + i * o.row_stride;
  EcLineCount count;
  const auto store = [&](int k, float4 x) {
    if (is_skipped) x = make_float4(0, 0, 0, 0);
    store_four<kFormat, kCounts>(row, k, x, scaling, count);
  };
#pragma unroll
  for (int q = 0; q < kHeldQuads; ++q) {
    if (first + q * step < end) store(first + q * step, held[q]);
  }
#pragma unroll 4
  for (int k = first + kHeldQuads * step; k < end; k += step) store(k, load_four<kIsAligned>(o, line, k));

  const bool is_first = warp % width == 0 && lane == 0 && has_line;
  if (is_first) o.scales[i] = scale;
  if constexpr (kCounts) {
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
}

// ---- across the lines ----

/// This lane's 32 elements of a unit, zeros beyond the line's end.
__device__ void load_unit(const Operand& o, const float* line, bool has_line, int unit, float (&x)[kUnit]) {
  const float* from = line + unit * kUnit * o.lines.inner_stride;
  const int left = has_line ? static_cast<int>(o.lines.length) - unit * kUnit : 0;
  if (left >= kUnit) {
#pragma unroll
    for (int e = 0; e < kUnit; ++e, from += o.lines.inner_stride) x[e] = *from;
    return;
  }
#pragma unroll
  for (int e = 0; e < kUnit; ++e, from += o.lines.inner_stride) x[e] = e < left ? *from : 0.0F;
}

/// Splits a unit and stores its blocks, 128 bytes of four lines at a time.
template <EcFormat kFormat, bool kCounts>
__device__ void store_unit(const Operand& o, int first_line, int unit, const float (&x)[kUnit], bool is_skipped,
                           const Scaling& scaling, uint4 (&exchange)[kUnit * 8], EcLineCount& count) {
  constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
  constexpr int kPiece = kFormat == EcFormat::kF16 ? 8 : 4;  // elements of 16 bytes
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int block = 0; block < kUnit / kBlock; ++block) {
    if (unit * kUnit + block * kBlock >= static_cast<int>(o.lines.length)) break;
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
        quads[q] = split_four<kFormat, kCounts>(y, count);
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
    std::int8_t* to = o.planes + (first_line + lane / 8) * o.row_stride +
                      (unit * (kUnit / kBlock) + block) * product::kEcBlockBytes + lane % 8 * 16;
    const int left = static_cast<int>(o.lines.num_lines) - first_line;
#pragma unroll
    for (int four = 0; four < 8; ++four, to += 4 * o.row_stride) {
      const int l = four * 4 + lane / 8;
      if (l < left) *reinterpret_cast<uint4*>(to) = exchange[8 * l + (lane % 8 ^ l % 8)];
    }
  }
}

template <EcFormat kFormat, int kHeldUnits, bool kCounts>
__device__ void split_across(const Operand& o, unsigned block, Shared& shared, EcLineState* state) {
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned ranks = cluster.num_blocks();
  const unsigned rank = cluster.block_rank();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_line = static_cast<int>(block / ranks) * kUnit;
  const bool has_line = first_line + lane < o.lines.num_lines;
  const float* const line = o.lines.data + (first_line + lane) * o.lines.line_stride;
  const int num_units = static_cast<int>(ceil_div(o.lines.length, kUnit));
  const int first = static_cast<int>(rank) * kWarps + warp;
  const int step = static_cast<int>(ranks) * kWarps;

  float held[kHeldUnits][kUnit];
  float largest = 0;
  const auto observe = [&](const float(&x)[kUnit]) {
#pragma unroll
    for (int e = 0; e < kUnit; ++e) largest = larger(largest, x[e]);
  };
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) load_unit(o, line, has_line, first + u * step, held[u]);
  }
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) observe(held[u]);
  }
#pragma unroll 1
  for (int unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_unit(o, line, has_line, unit, x);
    observe(x);
  }

  // The largest of each line over the warps, which warp r gives to CTA r of the cluster.
  shared.largest[warp][lane] = largest;
  if (kCounts && warp == 0) shared.line_count[lane] = {};
  __syncthreads();
  if (warp < static_cast<int>(ranks)) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) largest = larger(largest, shared.largest[w][lane]);
    *cluster.map_shared_rank(&shared.parts[rank][lane], static_cast<unsigned>(warp)) = largest;
  }
  cluster.sync();
  largest = 0;
  for (unsigned r = 0; r < ranks; ++r) largest = larger(largest, shared.parts[r][lane]);
  const std::int32_t scale = scale_of(largest);
  const bool is_skipped = scale == num::kSkipLine;
  const Scaling scaling(scale);

  EcLineCount count;
  const auto store = [&](int unit, const float(&x)[kUnit]) {
    store_unit<kFormat, kCounts>(o, first_line, unit, x, is_skipped, scaling, shared.exchange[warp], count);
  };
#pragma unroll
  for (int u = 0; u < kHeldUnits; ++u) {
    if (first + u * step < num_units) store(first + u * step, held[u]);
  }
#pragma unroll 1
  for (int unit = first + kHeldUnits * step; unit < num_units; unit += step) {
    float x[kUnit];
    load_unit(o, line, has_line, unit, x);
    store(unit, x);
  }

  if (rank == 0 && warp == 0 && has_line) o.scales[first_line + lane] = scale;
  if constexpr (kCounts) {
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
    cluster.sync();  // others have written line_count
    if (rank == 0 && warp == 0) report(state, has_line, scale, shared.line_count[lane]);
  }
}

template <EcFormat kFormat, int kHeldUnits, bool kCounts>
__global__ void __launch_bounds__(kThreads, 4 - kHeldUnits) split_ec_smxx(const __grid_constant__ Job job) {
  __shared__ Shared shared;
  base::follow_previous_kernel();
  const bool is_a = blockIdx.x < job.blocks_of_a;
  const Operand& o = is_a ? job.a : job.b;
  const unsigned block = is_a ? blockIdx.x : blockIdx.x - job.blocks_of_a;
  if (o.is_across != 0) {
    split_across<kFormat, kHeldUnits, kCounts>(o, block, shared, job.state);
  } else if (o.is_aligned != 0) {
    split_along<kFormat, kCounts, true>(o, block, shared, job.state);
  } else {
    split_along<kFormat, kCounts, false>(o, block, shared, job.state);
  }
}

// ---- the host's part ----

Operand operand_of(const DeviceEcSplit& task) {
  const problem::Lines<float>& lines = task.lines;
  Operand o{lines, task.planes, task.row_stride, task.scales, 0, 0, 1};
  o.is_across = lines.inner_stride > lines.line_stride && lines.num_lines > 1;
  o.is_aligned = lines.inner_stride == 1 && lines.line_stride % 4 == 0 && lines.length % 4 == 0 &&
                 reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0;
  // Enough warps to hold a line; more where lines are few and would leave multiprocessors idle.
  constexpr std::int64_t kManyBlocks = 256;
  const auto is_too_few = [&](std::int64_t warps) {
    return lines.length > warps * 128 * kHeldQuads ||
           (lines.length > warps * 128 * 2 && lines.num_lines * warps < kManyBlocks * kWarps);
  };
  while (o.warps_per_line < kWarps && is_too_few(o.warps_per_line)) o.warps_per_line *= 2;
  return o;
}

/// CTAs that share 32 lines, so that a warp has one unit.
int cluster_of(const Operand& o) {
  int cluster = 1;
  while (o.is_across != 0 && cluster < kMostCluster && o.lines.length > std::int64_t{cluster} * kWarps * kUnit) {
    cluster *= 2;
  }
  return cluster;
}

/// Whether more elements of a line are across memory than a cluster holds at a unit a warp.
bool is_long_across(const Operand& o) {
  return o.is_across != 0 && o.lines.length > std::int64_t{kMostCluster} * kWarps * kUnit;
}

std::int64_t blocks_of(const Operand& o, int cluster) {
  if (o.lines.num_lines == 0) return 0;
  if (o.is_across != 0) return ceil_div(o.lines.num_lines, kUnit) * cluster;
  return base::round_up(ceil_div(o.lines.num_lines, kWarps / o.warps_per_line), cluster);
}

template <EcFormat kFormat, int kHeldUnits>
Status launch(Job job, product::Queue queue) {
  const int cluster = std::max(cluster_of(job.a), cluster_of(job.b));
  const std::int64_t blocks_of_a = blocks_of(job.a, cluster);
  const std::int64_t blocks = blocks_of_a + blocks_of(job.b, cluster);
  if (blocks > INT32_MAX) {
    return {StatusCode::kInvalidArgument, "the split of " + std::to_string(job.a.lines.num_lines) + " and " +
                                              std::to_string(job.b.lines.num_lines) + " lines needs " +
                                              std::to_string(blocks) + " blocks, must be below 2^31"};
  }
  job.blocks_of_a = static_cast<unsigned>(blocks_of_a);
  cudaLaunchAttribute attributes[2] = {base::overlapped_start(), {}};
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = queue;
  config.attrs = attributes;
  config.numAttrs = 2;
  const auto kernel =
      job.state != nullptr ? &split_ec_smxx<kFormat, kHeldUnits, true> : &split_ec_smxx<kFormat, kHeldUnits, false>;
  return base::cuda_status(cudaLaunchKernelEx(&config, kernel, job), "the split of FP32 operands");
}

template <EcFormat kFormat>
Status split_both(const Job& both, product::Queue queue) {
  Job rest = both;
  for (Operand* o : {&rest.a, &rest.b}) {
    if (!is_long_across(*o)) continue;
    Job alone{*o, {}, 0, both.state};
    KIZAMI_RETURN_IF_ERROR((launch<kFormat, 2>(alone, queue)));
    o->lines.num_lines = 0;
    o->is_across = 0;
  }
  if (rest.a.lines.num_lines + rest.b.lines.num_lines == 0) return {};
  return launch<kFormat, 1>(rest, queue);
}

}  // namespace

Status device_ec_split(const DeviceEcSplit& a, const DeviceEcSplit& b, EcFormat format, EcLineState* state,
                       product::Queue queue) {
  const Job job{operand_of(a), operand_of(b), 0, state};
  return format == EcFormat::kF16 ? split_both<EcFormat::kF16>(job, queue) : split_both<EcFormat::kTf32>(job, queue);
}

}  // namespace kizami::split
