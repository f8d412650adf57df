// SPDX-License-Identifier: MIT
// The split in one pass over both operands: statistics, sampled digits and the residue planes of the lowest rung. A cluster
// of blocks takes a few whole lines, each block a piece of their length in its shared memory, where the second look at
// a term and its split find it; lines of both layouts lie there in the same order. The blocks of a cluster merge what
// they know of a line through distributed shared memory.
#pragma once

#include <algorithm>

#include "base/cluster_sm90.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "plan/device_buffers.hpp"
#include "split/device.hpp"
#include "split/device_line_stats.cuh"
#include "split/device_residue_bytes.cuh"
#include "split/residues.hpp"

namespace kizami::split::device {

inline constexpr int kPassThreads = 256;
inline constexpr int kPassWarps = kPassThreads / 32;
inline constexpr int kMaxCluster = 16;
/// Elements of a line that a block takes at most.
inline constexpr int kPassLength = 1024;
static_assert(kMaxCluster * kPassLength == plan::kMaxSinglePassLength);

/// A block's piece of its lines in shared memory. A lane reads runs of neighbouring elements, in chunks of 16 bytes; the
/// chunks of a line are permuted so that lanes that read at the same time meet different banks, and so do neighbouring
/// lines at the same place.
template <class T>
struct Panel {
  static constexpr int kLines = sizeof(T) == 16 ? 4 : 8;
  static constexpr int kWarpsPerLine = kPassWarps / kLines;
  static constexpr int kRun = kIsComplex<T> ? 4 : 8;               ///< elements
  static constexpr int kElems = 16 / static_cast<int>(sizeof(T));  ///< of a chunk
  static constexpr int kChunks = kRun / kElems;                    ///< of a run
  static constexpr int kPad = sizeof(T) == 16 ? 2 : 1;             ///< chunks between lines

  /// Bytes of a line's piece of `length` elements, a multiple of 128.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr int pitch(int length) { return (length / kElems + kPad) * 16; }
  /// Place of element h of its line, in bytes.
  [[nodiscard]] __device__ static int at(int h) {
    const int chunk = h / kElems;
    return (chunk ^ (chunk >> 3 & (kChunks - 1))) * 16 + h % kElems * static_cast<int>(sizeof(T));
  }
};

/// One operand of the launch.
template <class T>
struct PassOperand {
  DeviceOperand<T> operand;
  DeviceDigits digits;
  std::uint64_t* nonfinite;
  bool is_across;  ///< neighbouring lines are neighbours in memory
};

template <class T>
struct Pass {
  PassOperand<T> operands[2];
  std::uint32_t blocks_of_first;
  std::int32_t cluster;
  std::int32_t length;  ///< elements of a line that a block takes, a multiple of 128
  num::Rung rung;
  const plan::DeviceState* state;
};

// ---- clusters ----

/// What the warps of a line send each other, in every block of the cluster: two messages of 16 bytes.
template <class T>
struct Mailbox {
  static constexpr int kSenders = kMaxCluster * Panel<T>::kWarpsPerLine;
  static_assert(kSenders <= 32, "a lane reads one");
  std::uint64_t barriers[2][Panel<T>::kLines];
  uint4 messages[2][Panel<T>::kLines][kSenders];
};

template <class V>
[[nodiscard]] __device__ V merge_over_warp(V value) {
#pragma unroll
  for (int bit = 16; bit != 0; bit /= 2) value.merge(value.shuffled(bit));
  return value;
}

/// The warps of a line, in all blocks of its cluster.
template <class T>
class LineWarps {
 public:
  /// All threads of a block call it, and wait for each other and for the cluster before the first merge.
  __device__ LineWarps(Mailbox<T>& mailbox, int cluster, int rank)
      : mailbox_(mailbox), cluster_(cluster), rank_(rank), warp_(static_cast<int>(threadIdx.x) / 32) {
    if (is_alone()) return;
    if (threadIdx.x == 0) {
      for (std::uint64_t(&of_round)[kLines] : mailbox.barriers) {
        for (std::uint64_t& barrier : of_round) {
          base::barrier_init(base::shared_address(&barrier), 1);
          base::barrier_arrive_expect(base::shared_address(&barrier), 16u * static_cast<unsigned>(num_senders()));
        }
      }
      base::barrier_init_fence();
    }
    base::cluster_arrive_relaxed();
    base::cluster_wait();
  }

  /// Merges what the warps' lanes know; every lane returns the result. @range round 0 or 1, each once
  template <class V>
  [[nodiscard]] __device__ V merge(V value, int round) const {
    static_assert(sizeof(V) <= 16);
    value = merge_over_warp(value);
    if (is_alone()) return value;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int line = warp_ / kWarpsPerLine;
    const std::uint32_t barrier = base::shared_address(&mailbox_.barriers[round][line]);
    const int sender = rank_ * kWarpsPerLine + warp_ % kWarpsPerLine;
    uint4 message{};
    memcpy(&message, &value, sizeof value);
    if (lane < cluster_) {
      base::store_at(base::shared_address(&mailbox_.messages[round][line][sender]), barrier,
                     static_cast<std::uint32_t>(lane), message);
    }
    base::barrier_wait(barrier, 0);
    V part{};
    if (lane < num_senders()) memcpy(&part, &mailbox_.messages[round][line][lane], sizeof part);
    return merge_over_warp(part);
  }

 private:
  static constexpr int kLines = Panel<T>::kLines;
  static constexpr int kWarpsPerLine = Panel<T>::kWarpsPerLine;

  [[nodiscard]] __device__ int num_senders() const { return cluster_ * kWarpsPerLine; }
  [[nodiscard]] __device__ bool is_alone() const { return cluster_ == 1 && kWarpsPerLine == 1; }

  Mailbox<T>& mailbox_;
  int cluster_;
  int rank_;
  int warp_;
};

// ---- the loads ----

/// Enqueues a copy of kBytes to shared memory, or of zeros.
template <int kBytes>
__device__ void copy_async(std::uint32_t to, const void* from, bool is_there) {
  const int bytes = is_there ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(bytes), "n"(kBytes) : "memory");
  }
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// Loads elements [first, first + length) of the block's lines; zeros where there are none.
template <class T>
__device__ void load_panel(const problem::Lines<T>& lines, bool is_across, std::int64_t first_line, std::int64_t first,
                           int length, unsigned char* panel) {
  using P = Panel<T>;
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel));
  const int pitch = P::pitch(length);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t left = lines.length - first;
  if (is_across) {
    const int i = thread % P::kLines;
    const bool is_line = first_line + i < lines.num_lines;
    const int count = !is_line || left <= 0 ? 0 : static_cast<int>(min(left, static_cast<std::int64_t>(length)));
    const int first_h = thread / P::kLines;
    constexpr int kStep = kPassThreads / P::kLines;
    constexpr int kStepBytes = kStep * static_cast<int>(sizeof(T));
    static_assert(2 * kStep / P::kElems / 8 % P::kChunks == 0, "two steps keep the permutation of chunks");
    const T* from = lines.data;
    if (count > 0) from += (first_line + i) * lines.line_stride + (first + first_h) * lines.inner_stride;
    const std::int64_t step = count > 0 ? kStep * lines.inner_stride : 0;
    std::uint32_t place[2] = {to + i * pitch + P::at(first_h), to + i * pitch + P::at(first_h + kStep)};
#pragma unroll 4
    for (int h = first_h; h < length; h += 2 * kStep) {
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        const bool is_there = h + odd * kStep < count;
        copy_async<sizeof(T)>(place[odd], is_there ? from : lines.data, is_there);
        place[odd] += 2 * kStepBytes;
        from += step;
      }
    }
    return;
  }
  // A warp or some take a line, a chunk of 16 bytes a lane where the line allows it.
  const int i = thread / (32 * P::kWarpsPerLine);
  const int rank = thread % (32 * P::kWarpsPerLine);
  const bool is_line = first_line + i < lines.num_lines;
  const int count = !is_line || left <= 0 ? 0 : static_cast<int>(min(left, static_cast<std::int64_t>(length)));
  const T* const line = is_line ? lines.data + (first_line + i) * lines.line_stride + first * lines.inner_stride : lines.data;
  const bool has_chunks = lines.inner_stride == 1 && reinterpret_cast<std::uintptr_t>(line) % 16 == 0;
  const int whole = has_chunks ? count / P::kElems * P::kElems : 0;  // elements that come in chunks
#pragma unroll 4
  for (int h = rank * P::kElems; h < length; h += 32 * P::kWarpsPerLine * P::kElems) {
    const std::uint32_t place = to + i * pitch + P::at(h);
    if (h < whole || h >= count) {
      copy_async<16>(place, h < whole ? line + h : lines.data, h < whole);
    } else {
      for (int e = 0; e < P::kElems; ++e) {
        const bool is_there = h + e < count;
        copy_async<sizeof(T)>(place + e * static_cast<int>(sizeof(T)),
                              is_there ? line + (h + e) * lines.inner_stride : lines.data, is_there);
      }
    }
  }
}

/// The runs of a lane in its line's piece: `step` elements apart, a multiple of 128, which keeps the permutation of chunks.
template <class T>
class Runs {
 public:
  __device__ Runs(const unsigned char* piece, int first_h) {
    using P = Panel<T>;
#pragma unroll
    for (int c = 0; c < P::kChunks; ++c) chunks_[c] = piece + P::at(first_h + c * P::kElems);
  }
  __device__ void read(int offset, Element<T> (&elements)[Panel<T>::kRun]) const {
    using P = Panel<T>;
#pragma unroll
    for (int c = 0; c < P::kChunks; ++c) {
      const auto chunk = *reinterpret_cast<const uint4*>(chunks_[c] + offset * static_cast<int>(sizeof(T)));
      T x[P::kElems];
      memcpy(x, &chunk, sizeof x);
#pragma unroll
      for (int e = 0; e < P::kElems; ++e) elements[c * P::kElems + e] = load_element(x + e);
    }
  }

 private:
  const unsigned char* chunks_[Panel<T>::kChunks];
};

/// @range  one cluster: some whole lines of one operand
template <class T, int kWords>
__global__ void __launch_bounds__(kPassThreads, 3) single_pass(const __grid_constant__ Pass<T> pass) {
  using P = Panel<T>;
  constexpr int kTerms = Element<T>::kTerms;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ __align__(16) Mailbox<T> mailbox;
  base::follow_previous_kernel();
  if (pass.state->is_scaling_only != 0) return;
  const bool is_second = blockIdx.x >= pass.blocks_of_first;
  const PassOperand<T>& task = pass.operands[is_second ? 1 : 0];
  const problem::Lines<T>& lines = task.operand.lines;
  const std::uint32_t block = blockIdx.x - (is_second ? pass.blocks_of_first : 0);
  const int cluster = pass.cluster;
  const int rank = static_cast<int>(block % static_cast<std::uint32_t>(cluster));
  const std::int64_t first_line = static_cast<std::int64_t>(block / static_cast<std::uint32_t>(cluster)) * P::kLines;
  const int length = pass.length;
  const std::int64_t first = static_cast<std::int64_t>(rank) * length;
  load_panel(lines, task.is_across, first_line, first, length, panel);
  const LineWarps<T> line_warps(mailbox, cluster, rank);
  wait_for_copies();
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t line = first_line + warp / P::kWarpsPerLine;
  const int first_h = (warp % P::kWarpsPerLine * 32 + lane) * P::kRun;
  constexpr int kStep = P::kWarpsPerLine * 32 * P::kRun;
  const Runs<T> runs(panel + warp / P::kWarpsPerLine * P::pitch(length), first_h);

  Range range;
#pragma unroll 1
  for (int h = first_h; h < length; h += kStep) {
    Element<T> elements[P::kRun];
    runs.read(h - first_h, elements);
#pragma unroll
    for (int i = 0; i < P::kRun * kTerms; ++i) range.observe(elements[i / kTerms].term[i % kTerms]);
  }
  range = line_warps.merge(range, 0);
  MaxBits largest;
  if (range.is_subnormal()) {  // seldom: every warp looks at the whole line
    for (std::int64_t h = lane; h < lines.length; h += 32) {
      const Element<T> e = load_element(lines.data + line * lines.line_stride + h * lines.inner_stride);
      for (int t = 0; t < kTerms; ++t) largest.merge({magnitude_bits(e.term[t])});
    }
    largest = merge_over_warp(largest);
  }
  const int exponent = line_exponent(range, largest);
  const bool is_live = exponent != num::kNoExponent;
  const bool is_there = line < base::round_up(lines.num_lines, plan::kReadRows);  // or padding

  Sums sums;
  const LineUnits units(is_live ? exponent : 0);
  const bool has_digits = task.digits.digits != nullptr && is_there;
  const std::int64_t sampled = task.digits.row_stride / kTerms * task.digits.stride - first;
#pragma unroll 1
  for (int h = first_h; h < length; h += kStep) {
    Element<T> elements[P::kRun];
    runs.read(h - first_h, elements);
    if (!is_live) {
      for (Element<T>& e : elements) e = Element<T>{};
    }
    if (units.is_plain) {
      std::uint32_t abs = 0;
#pragma unroll
      for (int i = 0; i < P::kRun * kTerms; ++i) {
        const double x = elements[i / kTerms].term[i % kTerms];
        const std::uint32_t root = plain_root(x, units);
        abs += plain_abs(x, units);  // 8 terms: below 2^25
        sums.squares += static_cast<std::uint64_t>(root) * root;
      }
      sums.abs += abs;
    } else {
      for (int i = 0; i < P::kRun * kTerms; ++i)
        add_term(elements[i / kTerms].term[i % kTerms], units, sums.abs, sums.squares);
    }
    if (has_digits && h < sampled) write_digits<T, P::kRun>(elements, units, task.digits, line, first + h);
  }
  sums = line_warps.merge(sums, 1);

  const num::LineStats stats = line_stats(range, exponent, sums);
  const LineScaling scaling{line_scale(pass.rung, stats), !stats.is_zero()};
  if (rank == 0 && warp % P::kWarpsPerLine == 0 && lane == 0 && line < lines.num_lines) {
    task.operand.line_buffers.stats[line] = stats;
    task.operand.line_buffers.scales[line] = stats.is_finite ? scaling.scale : num::kSkipLine;
    if (!stats.is_finite) atomicAdd(reinterpret_cast<unsigned long long*>(task.nonfinite), 1ull);
  }
  const DevicePlanes& planes = task.operand.planes;
  std::int8_t* const out = planes.data + line * planes.row_stride + first;
#pragma unroll 1
  for (int h = first_h; h < length; h += kStep) {
    if (!is_there || first + h >= planes.row_stride) break;
    Element<T> elements[P::kRun];
    runs.read(h - first_h, elements);
    write_planes<T, kWords, P::kRun>(elements, lines.is_conjugated, scaling, nullptr, pass.rung.num_moduli, out + h,
                                     planes.plane_stride);
  }
}

}  // namespace kizami::split::device

namespace kizami::split {

template <class T>
Status device_single_pass(const SinglePassOperand<T>& a, const SinglePassOperand<T>& b, const num::Rung& rung,
                          const plan::DeviceState* state, product::Queue queue) {
  using P = device::Panel<T>;
  const auto task_of = [](const SinglePassOperand<T>& x) {
    const problem::Lines<T>& lines = x.operand.lines;
    return device::PassOperand<T>{x.operand, x.digits, x.nonfinite,
                                  lines.inner_stride > lines.line_stride && lines.num_lines > 1};
  };
  // Elements of a line that are read, written as bytes or sampled.
  const std::int64_t sampled =
      a.digits.digits == nullptr ? 0 : a.digits.row_stride / problem::kTerms<T> * a.digits.stride;
  const std::int64_t span = std::max(a.operand.planes.row_stride, sampled);
  int cluster = 1;
  while (cluster < device::kMaxCluster && std::int64_t{cluster} * device::kPassLength < span) cluster *= 2;
  const auto length = static_cast<int>(base::round_up(base::ceil_div(span, std::int64_t{cluster}), std::int64_t{128}));
  if (length > device::kPassLength)
    return {StatusCode::kInternal, "lines of " + std::to_string(span) + " elements do not fit in one pass"};
  const auto blocks_of = [&](const SinglePassOperand<T>& x) {
    const std::int64_t lines = base::round_up(x.operand.lines.num_lines, plan::kReadRows);
    return static_cast<unsigned>(base::ceil_div(lines, std::int64_t{P::kLines}) * cluster);
  };
  const device::Pass<T> pass{{task_of(a), task_of(b)}, blocks_of(a), cluster, length, rung, state};

  const auto start = [&](auto kernel) -> Status {
    const int bytes = P::kLines * P::pitch(length);
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                          "shared memory of the split"));
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters of the split"));
    cudaLaunchAttribute attributes[2] = {base::overlapped_start(), {}};
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(pass.blocks_of_first + blocks_of(b));
    config.blockDim = dim3(device::kPassThreads);
    config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
    config.stream = queue;
    config.attrs = attributes;
    config.numAttrs = 2;
    return base::cuda_status(cudaLaunchKernelEx(&config, kernel, pass), "the split in one pass");
  };
  // |X| < 2^(bits + 1) with 2^bits <= norm_limit, because the largest element of a line counts at least 1.
  return num::floor_log2(rung.norm_limit) + 2 <= 63 ? start(device::single_pass<T, 2>) : start(device::single_pass<T, 3>);
}

}  // namespace kizami::split

/// In one file for each type, for the time that they take to compile.
#define KIZAMI_INSTANTIATE_SINGLE_PASS(T)                                                                      \
  template ::kizami::Status kizami::split::device_single_pass<T>(                                              \
      const SinglePassOperand<T>&, const SinglePassOperand<T>&, const ::kizami::num::Rung&,                    \
      const ::kizami::plan::DeviceState*, ::kizami::product::Queue)
