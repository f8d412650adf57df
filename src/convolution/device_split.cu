// SPDX-License-Identifier: MIT
// A cluster takes an image. A sample of it gives the scale; where the largest of all elements, which are looked at while
// they are split, turns out not to fit, the planes are made again with its own. A warp makes units of 32 cells by one
// block of channels. Where channels are contiguous in memory lanes have four of them; where cells are, a lane has a cell,
// and blocks are put together in shared memory. A CTA takes a filter.
#include "convolution/device_split.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "base/cluster_sm90.cuh"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "engines/hopper/current_device.hpp"
#include "num/line_stats.hpp"
#include "schemes/ec/device_terms.cuh"

namespace kizami::convolution {
namespace {

using base::ceil_div;
using ec::Glance;
using ec::Quad;
using ec::Scaling;
using product::EcFormat;

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kCtasOfSm = 4;
constexpr int kMostCluster = 8;
constexpr int kRounds = 2;  ///< in which the CTAs of an image tell each other what they have seen: of a sample, of all
constexpr int kCells = 32;  ///< of a unit
constexpr unsigned kWholeWarp = 0xFFFFFFFFU;
constexpr std::uint32_t kInfinity = 0x7F800000U;
constexpr int kRowBytes = 144;  ///< of a block in shared memory: 16-byte parts of neighbouring rows are in other banks

struct SplitJob {
  product::ConvolutionAxis h;
  product::ConvolutionAxis w;
  const float* x;
  const float* weights;
  ImageBuffers images;
  FilterBuffers filters;
  TensorStrides x_strides;
  TensorStrides w_strides;
  std::int64_t image_elements;
  std::int64_t filter_elements;
  std::uint32_t num_units;  ///< of an image
  std::int64_t pixel_bytes;
  std::int64_t filter_bytes;
  std::int32_t num_images;
  std::int32_t num_filters;  ///< that are split
  std::int32_t channels;     ///< of a group
  std::int32_t blocks;       ///< of a group
  std::int32_t pixel_blocks;
  std::int32_t cells;   ///< of an image in a plane
  std::int32_t chunks;  ///< of kCells cells, likewise
  std::int32_t cells_w;
  std::int32_t num_sampled;  ///< pixels; 0: the largest of all elements is looked for first
  std::int32_t num_pixels;
  std::int32_t width;
  std::int32_t all_channels;
  std::int32_t cluster;
  unsigned image_ctas;
  std::int32_t is_aligned;  ///< four channels can be read at a time
};

struct Shared {
  std::uint32_t largest[kWarps];  ///< of what each warp has seen: bits of finite magnitudes
  std::uint32_t nonfinite[kWarps];
  std::uint32_t largest_of_cta;
  std::uint32_t nonfinite_of_cta;
  alignas(16) uint4 told[kRounds][kMostCluster];  ///< what each CTA of the cluster has seen of an image
  std::uint64_t all_told[kRounds];                ///< mbarriers of it
};

/// What has been seen of magnitudes: the largest finite one, and whether there are others.
struct Sight {
  std::uint32_t largest = 0;
  std::uint32_t nonfinite = 0;

  __device__ void see(float x) {
    const std::uint32_t bits = __float_as_uint(x) & 0x7FFFFFFFU;
    if (bits >= kInfinity) {
      nonfinite = 1;
    } else {
      largest = max(largest, bits);
    }
  }
  __device__ void see(const float4& quad) {
    see(quad.x);
    see(quad.y);
    see(quad.z);
    see(quad.w);
  }
  /// Of all threads of the CTA, in shared memory.
  __device__ void combine(Shared& shared) const {
    const std::uint32_t of_warp = __reduce_max_sync(kWholeWarp, largest);
    const std::uint32_t flag = __reduce_or_sync(kWholeWarp, nonfinite);
    if (threadIdx.x % 32 == 0) {
      shared.largest[threadIdx.x / 32] = of_warp;
      shared.nonfinite[threadIdx.x / 32] = flag;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int warp = 1; warp < kWarps; ++warp) {
        shared.largest[0] = max(shared.largest[0], shared.largest[warp]);
        shared.nonfinite[0] |= shared.nonfinite[warp];
      }
      shared.largest_of_cta = shared.largest[0];
      shared.nonfinite_of_cta = shared.nonfinite[0];
    }
    __syncthreads();
  }
};

/// Looks at elements first, first + step, ... of an array.
__device__ Sight look_at(const float* x, std::int64_t count, std::int64_t first, std::int64_t step) {
  Sight sight;
  if (count % 4 == 0 && reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
    const auto* const quads = reinterpret_cast<const float4*>(x);
#pragma unroll 4
    for (std::int64_t i = first; i < count / 4; i += step) {
      sight.see(quads[i]);
    }
  } else {
#pragma unroll 4
    for (std::int64_t i = first; i < count; i += step) sight.see(x[i]);
  }
  return sight;
}

/// Four elements scaled, those that are not finite as zeros, and split.
template <EcFormat kFormat>
__device__ Quad<kFormat> split(const float (&x)[4], const Scaling& scaling, Sight& sight) {
  const num::EcRangeLimits limits{};
  Glance<kFormat> glance(limits);
  float y[4] = {x[0], x[1], x[2], x[3]};
  std::uint32_t largest = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) largest = max(largest, __float_as_uint(x[e]) & 0x7FFFFFFFU);
  if (largest < kInfinity) {
    sight.largest = max(sight.largest, largest);
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      sight.see(x[e]);
      if ((__float_as_uint(x[e]) & 0x7FFFFFFFU) >= kInfinity) y[e] = 0;
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) y[e] = scaling.most(y[e]);
  if (scaling.needs_rest()) {
#pragma unroll
    for (int e = 0; e < 4; ++e) y[e] = scaling.rest(y[e]);
  }
  return ec::split_four<kFormat>(y, glance);
}

template <EcFormat kFormat>
constexpr int kBlock = static_cast<int>(product::ec_block_length(kFormat));
template <EcFormat kFormat>
constexpr int kQuads = kBlock<kFormat> / 4;
template <EcFormat kFormat>
constexpr int kQuadBytes = kFormat == EcFormat::kF16 ? 8 : 16;

/// A unit of a warp: where its cells and channels are.
struct Unit {
  std::int64_t first;      ///< line of its first cell, in all planes
  std::int32_t cell;       ///< the first, in its image and plane
  std::int32_t block;      ///< of a pixel
  std::int32_t channel;    ///< the first
  std::int32_t num_there;  ///< channels
  std::int64_t source;     ///< of this lane's cell, relative to the image; negative: zeros
};
__device__ Unit unit_at(const SplitJob& job, std::uint32_t index, int image, int lane, int block_length) {
  Unit unit;
  const std::uint32_t chunk = index / static_cast<std::uint32_t>(job.pixel_blocks);
  unit.block = static_cast<std::int32_t>(index - chunk * static_cast<std::uint32_t>(job.pixel_blocks));
  const auto chunks = static_cast<std::uint32_t>(job.chunks);
  const std::int32_t plane = chunk < chunks ? 0 : static_cast<std::int32_t>(chunk / chunks);  // mostly there is one
  unit.cell = static_cast<std::int32_t>(chunk - static_cast<std::uint32_t>(plane) * chunks) * kCells;
  unit.first = (std::int64_t{plane} * job.num_images + image) * job.cells + unit.cell;
  const std::int32_t group = unit.block < job.blocks ? 0 : unit.block / job.blocks;
  const std::int32_t in_group = (unit.block - group * job.blocks) * block_length;
  unit.channel = group * job.channels + in_group;
  unit.num_there = min(block_length, job.channels - in_group);
  const std::int32_t cell = unit.cell + lane;
  const auto y = static_cast<std::int32_t>(static_cast<std::uint32_t>(cell) / static_cast<std::uint32_t>(job.cells_w));
  const std::int32_t plane_h = plane == 0 ? 0 : plane / job.w.num_planes();
  const std::int32_t row = job.h.input_of(plane_h, y);
  const std::int32_t column = job.w.input_of(plane - plane_h * job.w.num_planes(), cell - y * job.cells_w);
  const bool is_there = cell < job.cells && row >= 0 && row < job.h.extent && column >= 0 && column < job.w.extent;
  unit.source = is_there ? row * job.x_strides.row + column * job.x_strides.column : -1;
  return unit;
}

/// Four channels from `from` on, of which `left` are there.
template <bool kIsAligned>
__device__ float4 load_quad(const float* from, std::int32_t left) {
  if constexpr (kIsAligned) {
    return left > 0 ? *reinterpret_cast<const float4*>(from) : float4{};
  } else {
    return {left > 0 ? from[0] : 0.0F, left > 1 ? from[1] : 0.0F, left > 2 ? from[2] : 0.0F, left > 3 ? from[3] : 0.0F};
  }
}

/// Channels are contiguous.
template <EcFormat kFormat>
__device__ void split_unit_by_channels(const SplitJob& job, const float* image, const Unit& unit, int lane,
                                       const Scaling& scaling, Sight& sight) {
  constexpr int kAtOnce = 32 / kQuads<kFormat>;  // cells
  const int quad = lane % kQuads<kFormat>;
  const int first = lane / kQuads<kFormat>;  // cell
  const float* const from = image + unit.channel + quad * 4;
  float4 x[kQuads<kFormat>];
  const auto load = [&]<bool kIsAligned>(std::bool_constant<kIsAligned>) {
#pragma unroll
    for (int t = 0; t < kQuads<kFormat>; ++t) {
      const std::int64_t source = __shfl_sync(kWholeWarp, unit.source, t * kAtOnce + first);
      x[t] = load_quad<kIsAligned>(from + source, source < 0 ? 0 : unit.num_there - quad * 4);
    }
  };
  if (job.is_aligned != 0) {
    load(std::true_type{});
  } else {
    load(std::false_type{});
  }
  std::int8_t* to = job.images.planes + (unit.first + first) * job.pixel_bytes + unit.block * product::kEcBlockBytes +
                    quad * kQuadBytes<kFormat>;
  const std::int64_t step = kAtOnce * job.pixel_bytes;
  const int left = job.cells - unit.cell - first;
#pragma unroll
  for (int t = 0; t < kQuads<kFormat>; ++t) {
    const float four[4] = {x[t].x, x[t].y, x[t].z, x[t].w};
    const Quad<kFormat> made = split<kFormat>(four, scaling, sight);
    using Bytes = typename Quad<kFormat>::Bytes;
    if (t * kAtOnce < left) {
      *reinterpret_cast<Bytes*>(to) = made.hi;
      *reinterpret_cast<Bytes*>(to + product::kEcBlockBytes / 2) = made.lo;
    }
    to += step;
  }
}

/// Cells are contiguous. @param exchange of this warp: kCells * kRowBytes
template <EcFormat kFormat>
__device__ void split_unit_by_cells(const SplitJob& job, const float* image, const Unit& unit, int lane,
                                    const Scaling& scaling, Sight& sight, std::uint8_t* exchange) {
  float x[kBlock<kFormat>];
  const float* const from = image + unit.source + unit.channel * job.x_strides.channel;
#pragma unroll
  for (int c = 0; c < kBlock<kFormat>; ++c) {
    x[c] = unit.source >= 0 && c < unit.num_there ? from[c * job.x_strides.channel] : 0.0F;
  }
  __syncwarp();  // the unit before has been read
  using Bytes = typename Quad<kFormat>::Bytes;
#pragma unroll
  for (int quad = 0; quad < kQuads<kFormat>; ++quad) {
    const float four[4] = {x[quad * 4], x[quad * 4 + 1], x[quad * 4 + 2], x[quad * 4 + 3]};
    const Quad<kFormat> made = split<kFormat>(four, scaling, sight);
    std::uint8_t* const to = exchange + lane * kRowBytes + quad * kQuadBytes<kFormat>;
    *reinterpret_cast<Bytes*>(to) = made.hi;
    *reinterpret_cast<Bytes*>(to + product::kEcBlockBytes / 2) = made.lo;
  }
  __syncwarp();
#pragma unroll
  for (int t = 0; t < 8; ++t) {
    const int at = t * 4 + lane / 8;
    if (unit.cell + at >= job.cells) continue;
    const uint4 part = *reinterpret_cast<const uint4*>(exchange + at * kRowBytes + lane % 8 * 16);
    *reinterpret_cast<uint4*>(job.images.planes + (unit.first + at) * job.pixel_bytes +
                              unit.block * product::kEcBlockBytes + lane % 8 * 16) = part;
  }
}

/// Looks at the sample of an image, with the whole cluster.
template <bool kHasChannelsTogether>
__device__ Sight look_at_sample(const SplitJob& job, const float* image, int rank) {
  Sight sight;
  const int count = job.num_sampled * job.all_channels;
#pragma unroll 1
  for (int at = rank * kThreads + static_cast<int>(threadIdx.x); at < count; at += job.cluster * kThreads) {
    const int channel = kHasChannelsTogether ? at % job.all_channels : at / job.num_sampled;
    const int sampled = kHasChannelsTogether ? at / job.all_channels : at % job.num_sampled;
    const auto pixel = static_cast<int>(sampled_pixel(sampled, job.num_sampled, job.num_pixels));
    const int row = pixel / job.width;
    sight.see(image[row * job.x_strides.row + (pixel - row * job.width) * job.x_strides.column +
                    channel * job.x_strides.channel]);
  }
  return sight;
}

/// The begin of the CTAs of an image. Behind it they may tell each other what they have seen.
__device__ void meet(const SplitJob& job, Shared& shared) {
  if (threadIdx.x == 0) {
    for (std::uint64_t& barrier : shared.all_told) {
      base::barrier_init(base::shared_address(&barrier), 1);
      base::barrier_arrive_expect(base::shared_address(&barrier), job.cluster * sizeof(uint4));
    }
    base::barrier_init_fence();
  }
  __syncthreads();
  base::cluster_arrive_relaxed();
  base::cluster_wait();
}

/// What all CTAs of the cluster have seen. They send it as counted messages, for which no store to planes is waited for.
__device__ Sight of_cluster(const Sight& sight, const SplitJob& job, int rank, int round, Shared& shared) {
  sight.combine(shared);
  const std::uint32_t barrier = base::shared_address(&shared.all_told[round]);
  if (static_cast<int>(threadIdx.x) < job.cluster) {
    base::store_at(base::shared_address(&shared.told[round][rank]), barrier, threadIdx.x,
                   make_uint4(shared.largest_of_cta, shared.nonfinite_of_cta, 0, 0));
  }
  base::barrier_wait(barrier, 0);
  Sight all;
  for (int other = 0; other < job.cluster; ++other) {
    all.largest = max(all.largest, shared.told[round][other].x);
    all.nonfinite |= shared.told[round][other].y;
  }
  return all;
}

/// Makes this CTA's units of an image.
template <EcFormat kFormat, bool kHasChannelsTogether>
__device__ Sight split_units(const SplitJob& job, const float* x, int image, int rank, std::int32_t scale,
                             std::uint8_t* exchange) {
  const Scaling scaling(scale);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Sight sight;
#pragma unroll 1
  for (auto u = static_cast<std::uint32_t>(rank * kWarps + warp); u < job.num_units;
       u += static_cast<std::uint32_t>(job.cluster * kWarps)) {
    const Unit unit = unit_at(job, u, image, lane, kBlock<kFormat>);
    if constexpr (kHasChannelsTogether) {
      split_unit_by_channels<kFormat>(job, x, unit, lane, scaling, sight);
    } else {
      split_unit_by_cells<kFormat>(job, x, unit, lane, scaling, sight, exchange + warp * kCells * kRowBytes);
    }
  }
  return sight;
}

template <EcFormat kFormat, bool kHasChannelsTogether>
__device__ void split_image(const SplitJob& job, Shared& shared, std::uint8_t* exchange) {
  const auto image = static_cast<int>(blockIdx.x / static_cast<unsigned>(job.cluster));
  const auto rank = static_cast<int>(blockIdx.x % static_cast<unsigned>(job.cluster));
  const float* const x = job.x + image * job.image_elements;
  meet(job, shared);
  base::follow_previous_kernel();
  Sight sample;
  if (job.num_sampled > 0)
    sample = of_cluster(look_at_sample<kHasChannelsTogether>(job, x, rank), job, rank, 0, shared);
  const std::int32_t of_sample = ec::scale_of<kFormat>(__uint_as_float(sample.largest));
  Sight all;
  if (sample.largest != 0) {
    all = split_units<kFormat, kHasChannelsTogether>(job, x, image, rank, of_sample - kSampleMargin, exchange);
  } else {
    all = look_at(x, job.image_elements, rank * kThreads + static_cast<int>(threadIdx.x),
                  std::int64_t{job.cluster} * kThreads);
  }
  all = of_cluster(all, job, rank, 1, shared);
  const std::int32_t of_all = ec::scale_of<kFormat>(__uint_as_float(all.largest));
  const std::int32_t scale = image_scale(of_all, sample.largest != 0, of_sample);
  if (sample.largest == 0 || scale != of_sample - kSampleMargin)
    split_units<kFormat, kHasChannelsTogether>(job, x, image, rank, scale, exchange);
  if (rank == 0 && threadIdx.x == 0) {
    job.images.scales[image] = scale;
    job.images.has_nonfinite[image] = static_cast<std::int32_t>(all.nonfinite);
  }
}

template <EcFormat kFormat>
__device__ void split_filter(const SplitJob& job, std::int64_t filter, Shared& shared) {
  const float* const w = job.weights + filter * job.filter_elements;
  look_at(w, job.filter_elements, threadIdx.x, kThreads).combine(shared);
  const bool is_skipped = shared.nonfinite_of_cta != 0;
  const std::int32_t scale =
      is_skipped ? num::kSkipLine : ec::scale_of<kFormat>(__uint_as_float(shared.largest_of_cta));
  if (threadIdx.x == 0) job.filters.scales[filter] = scale;
  const Scaling scaling(scale);
  const int quads = static_cast<int>(job.filter_bytes / product::kEcBlockBytes) * kQuads<kFormat>;
#pragma unroll 2
  for (int at = static_cast<int>(threadIdx.x); at < quads; at += kThreads) {
    const int block = at / kQuads<kFormat>;  // (row, block of channels, column)
    const int row_and_channels = block / job.w.filter;
    const int column = block - row_and_channels * job.w.filter;
    const int row = row_and_channels / job.blocks;
    const int channel = (row_and_channels - row * job.blocks) * kBlock<kFormat> + at % kQuads<kFormat> * 4;
    float x[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      x[e] = channel + e < job.channels && !is_skipped
                 ? w[row * job.w_strides.row + column * job.w_strides.column + (channel + e) * job.w_strides.channel]
                 : 0.0F;
    }
    Sight unused;
    const Quad<kFormat> made = split<kFormat>(x, scaling, unused);
    std::int8_t* const to = job.filters.planes + filter * job.filter_bytes + block * product::kEcBlockBytes +
                            at % kQuads<kFormat> * kQuadBytes<kFormat>;
    using Bytes = typename Quad<kFormat>::Bytes;
    *reinterpret_cast<Bytes*>(to) = made.hi;
    *reinterpret_cast<Bytes*>(to + product::kEcBlockBytes / 2) = made.lo;
  }
}

template <EcFormat kFormat, bool kHasChannelsTogether>
__global__ void __launch_bounds__(kThreads, kCtasOfSm) split_convolution_smxx(const __grid_constant__ SplitJob job) {
  __shared__ Shared shared;
  __shared__ alignas(16) std::uint8_t exchange[kHasChannelsTogether ? 16 : kWarps * kCells * kRowBytes];
  base::begin_in_cluster(&shared, sizeof shared);
  if (blockIdx.x < job.image_ctas) {  // all CTAs of a cluster
    split_image<kFormat, kHasChannelsTogether>(job, shared, exchange);
    return;
  }
  base::follow_previous_kernel();
  const std::int64_t filter = blockIdx.x - job.image_ctas;
  if (filter < job.num_filters) split_filter<kFormat>(job, filter, shared);
}

template <EcFormat kFormat>
const void* kernel_for(ImageLayout layout) {
  return layout == ImageLayout::kNhwc ? reinterpret_cast<const void*>(&split_convolution_smxx<kFormat, true>)
                                      : reinterpret_cast<const void*>(&split_convolution_smxx<kFormat, false>);
}

}  // namespace

Status device_split(const Plan& plan, const float* x, const ImageBuffers& images, const float* w,
                    const FilterBuffers& filters, product::Queue queue) {
  const ConvolutionShape& s = plan.shape;
  SplitJob job{};
  job.h = plan.product.h;
  job.w = plan.product.w;
  job.x = x;
  job.weights = w;
  job.images = images;
  job.filters = filters;
  job.x_strides = plan.x_strides();
  job.w_strides = plan.w_strides();
  job.image_elements = s.channels * s.height * s.width;
  job.filter_elements = plan.group_channels() * s.filter_height * s.filter_width;
  job.pixel_bytes = plan.product.pixel_bytes();
  job.filter_bytes = plan.product.filter_bytes();
  job.num_images = plan.product.images;
  job.num_filters = w == nullptr ? 0 : static_cast<std::int32_t>(s.filters);
  job.channels = static_cast<std::int32_t>(plan.group_channels());
  job.blocks = plan.product.blocks;
  job.pixel_blocks = plan.product.groups * plan.product.blocks;
  job.cells = static_cast<std::int32_t>(plan.product.cells());
  job.cells_w = static_cast<std::int32_t>(job.w.cells());
  job.chunks = ceil_div(job.cells, kCells);
  job.num_units =
      static_cast<std::uint32_t>(std::int64_t{job.h.num_planes()} * job.w.num_planes() * job.chunks * job.pixel_blocks);
  job.is_aligned = job.channels % 4 == 0 && reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
  job.num_sampled = static_cast<std::int32_t>(sample_pixels(plan));
  job.num_pixels = static_cast<std::int32_t>(s.height * s.width);
  job.width = static_cast<std::int32_t>(s.width);
  job.all_channels = static_cast<std::int32_t>(s.channels);
  job.cluster = 1;
  engines::hopper::CurrentDevice device;
  KIZAMI_RETURN_IF_ERROR(engines::hopper::find_current_device(device));
  // More clusters than run at once would leave most multiprocessors idle at last. A cluster lies in one part of a chip, so
  // not all of its multiprocessors can be filled (docs/perf/convolution.md).
  constexpr std::int64_t kOfCta = 8192;  // elements: 32 a thread
  const std::int64_t room = std::int64_t{kCtasOfSm} * device.num_sms * 7 / 8;
  if (images.planes != nullptr)
    job.cluster = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(std::min(room / s.images, ceil_div(job.image_elements, kOfCta)), 1, kMostCluster));
  const std::int64_t image_ctas = images.planes == nullptr ? 0 : s.images * job.cluster;
  const std::int64_t ctas = base::round_up(image_ctas + (w == nullptr ? 0 : s.filters), std::int64_t{job.cluster});
  if (ctas > INT32_MAX) {
    return {StatusCode::kInvalidArgument, "the split of " + std::to_string(s.images) + " images and " +
                                              std::to_string(s.filters) + " filters needs " + std::to_string(ctas) +
                                              " blocks, must be below 2^31"};
  }
  job.image_ctas = static_cast<unsigned>(image_ctas);
  const void* const kernel = plan.product.format == EcFormat::kF16 ? kernel_for<EcFormat::kF16>(s.layout)
                                                                   : kernel_for<EcFormat::kTf32>(s.layout);
  return base::launch_overlapped_clusters("the split of images and filters", kernel, static_cast<unsigned>(ctas),
                                          kThreads, job.cluster, 0, queue, &job);
}

}  // namespace kizami::convolution
