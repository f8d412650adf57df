// SPDX-License-Identifier: MIT
// The split in one pass (device_single_pass.cuh) into the sums of quadrants that Strassen's products take. A cluster of
// blocks takes some lines of both halves, each block pieces of both halves of their length: so a block has what it adds.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/cluster_sm90.cuh"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/device_line_stats.cuh"
#include "certify/device_line_warps.cuh"
#include "device/panel.cuh"
#include "schemes/ozaki2/device_pass_digits.cuh"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_strassen.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

using device::Element;
using kernels::Fragment;
using kernels::kBlockLength;
using kernels::LineScaling;
using kernels::PlaneRow;

constexpr int kWords = 2;  ///< of an integer
constexpr int kBlocksPerSm = 3;

/// One operand of the launch.
template <class T>
struct PassOperand {
  DeviceOperand<T> operand;
  certify::DeviceDigits digits;
  std::uint64_t* nonfinite;
  bool is_across;
  std::int64_t half_lines;
};

template <class T>
struct Pass {
  PassOperand<T> operands[2];
  std::uint32_t blocks_of_first;
  std::int32_t cluster;
  std::int32_t half;  ///< elements of each half of a line that a block takes, a multiple of kBlockLength
  std::int64_t half_k;
  num::Ladder ladder;
  std::int32_t num_planes;
  const device::DeviceState* state;
};

/// The lines and elements of a block's panel: kPairs lines of the first half, then those of the second; of each line
/// `half` elements of the first half of k, then as many of the second.
template <class T>
struct QuadrantPanel {
  using P = device::Panel<T>;
  static constexpr int kPairs = P::kLines / 2;
  std::int64_t first_line;
  std::int64_t half_lines;
  std::int64_t first;
  std::int64_t half_k;
  int half;

  [[nodiscard]] __device__ std::int64_t line(int slot) const {
    return first_line + slot % kPairs + (slot < kPairs ? 0 : half_lines);
  }
  [[nodiscard]] __device__ std::int64_t element(int h) const {
    return h < half ? first + h : half_k + first + h - half;
  }
  /// Elements that a line of `length` has of half x of the panel.
  [[nodiscard]] __device__ int count(int x, std::int64_t length) const {
    const std::int64_t left = x == 0 ? min(half_k, length) - first : length - half_k - first;
    return static_cast<int>(max(std::int64_t{0}, min(left, static_cast<std::int64_t>(half))));
  }
};

/// Whether it comes as device::load_chunks() says.
template <class T>
[[nodiscard]] __device__ bool comes_in_chunks(const problem::Lines<T>& lines, const QuadrantPanel<T>& at) {
  using P = device::Panel<T>;
  return sizeof(T) < 16 && lines.line_stride == 1 && lines.inner_stride % P::kElems == 0 &&
         reinterpret_cast<std::uintptr_t>(lines.data + at.first_line) % 16 == 0 &&
         at.half_lines + at.first_line + at.kPairs <= lines.num_lines && at.first + at.half <= at.half_k &&
         at.half_k + at.first + at.half <= lines.length;
}
template <class T>
__device__ void load_chunks(const problem::Lines<T>& lines, const QuadrantPanel<T>& at, unsigned char* panel) {
  using C = device::PanelChunks<T>;
  const int thread = static_cast<int>(threadIdx.x);
  const T* from = lines.data + at.line(thread % C::kOfElement * device::Panel<T>::kElems) +
                  (at.first + thread / C::kOfElement) * lines.inner_stride;
  std::uint32_t to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel)) + 16 * threadIdx.x;
#pragma unroll 1
  for (int x = 0; x < 2; ++x) {
#pragma unroll 8
    for (int h = 0; h < at.half; h += C::kStep) {
      device::copy_async<16>(to, from, true);
      to += 16 * device::kPanelThreads;
      from += C::kStep * lines.inner_stride;
    }
    from += (at.half_k - at.half) * lines.inner_stride;
  }
}

/// device::load_panel() of it.
template <class T>
__device__ void load_panel(const problem::Lines<T>& lines, bool is_across, const QuadrantPanel<T>& at,
                           unsigned char* panel) {
  using P = device::Panel<T>;
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel));
  const int pitch = P::pitch(2 * at.half);
  const int thread = static_cast<int>(threadIdx.x);
  const int slot = is_across ? thread % P::kLines : thread / (32 * P::kWarpsPerLine);
  const std::int64_t number = at.line(slot);
  const bool is_line = number < lines.num_lines;
  const T* const line = is_line ? lines.data + number * lines.line_stride : lines.data;
  if (is_across) {
    constexpr int kStep = device::kPanelThreads / P::kLines;
#pragma unroll 4
    for (int h = thread / P::kLines; h < 2 * at.half; h += kStep) {
      const int in_half = h < at.half ? h : h - at.half;
      const bool is_there = is_line && in_half < at.count(h < at.half ? 0 : 1, lines.length);
      device::copy_async<sizeof(T)>(to + slot * pitch + h * static_cast<int>(sizeof(T)),
                                    is_there ? line + at.element(h) * lines.inner_stride : lines.data, is_there);
    }
    return;
  }
  const int rank = thread % (32 * P::kWarpsPerLine);
  const bool has_chunks =
      lines.inner_stride == 1 && reinterpret_cast<std::uintptr_t>(line + at.first) % 16 == 0;  // half_k keeps it
#pragma unroll 1
  for (int x = 0; x < 2; ++x) {
    const int count = is_line ? at.count(x, lines.length) : 0;
    const T* const piece = count > 0 ? line + at.element(x * at.half) * lines.inner_stride : lines.data;
    const int whole = has_chunks ? count / P::kElems * P::kElems : 0;
#pragma unroll 4
    for (int h = rank * P::kElems; h < at.half; h += 32 * P::kWarpsPerLine * P::kElems) {
      const std::uint32_t place = to + slot * pitch + (x * at.half + h) * static_cast<int>(sizeof(T));
      if (h < whole || h >= count) {
        device::copy_async<16>(place, h < whole ? piece + h : lines.data, h < whole);
      } else {
        for (int e = 0; e < P::kElems; ++e) {
          const bool is_there = h + e < count;
          device::copy_async<sizeof(T)>(place + e * static_cast<int>(sizeof(T)),
                                        is_there ? piece + (h + e) * lines.inner_stride : lines.data, is_there);
        }
      }
    }
  }
}

/// Two's complement of 64 bits, of which a fragment has the low words of both elements before the high ones. Integers
/// are biased by 2^63, so that the negative of one is biased alike, and a sum of an even number of them is off by it.
template <class Op>
__device__ void for_integers(uint4& x, const uint4& y, const Op& op) {
  const auto apply = [&](std::uint32_t& low, std::uint32_t& high, std::uint32_t of_low, std::uint32_t of_high) {
    const std::uint64_t result = op(std::uint64_t{high} << 32 | low, std::uint64_t{of_high} << 32 | of_low);
    low = static_cast<std::uint32_t>(result);
    high = static_cast<std::uint32_t>(result >> 32);
  };
  apply(x.x, x.z, y.x, y.z);
  apply(x.y, x.w, y.y, y.w);
}
template <class F>
__device__ void negate(F& fragment) {
  for (uint4& x : fragment.a) for_integers(x, x, [](std::uint64_t of, std::uint64_t) { return 0 - of; });
}

/// Sum s of the quadrants' integers. @param quadrant(q): the fragment of quadrant q
template <class T, int s, class Quadrant>
[[nodiscard]] __device__ Fragment<T, kWords> sum_of_quadrants(const Quadrant& quadrant) {
  constexpr int kSigns[4] = {strassen_sign(s, 0), strassen_sign(s, 1), strassen_sign(s, 2), strassen_sign(s, 3)};
  constexpr int kFirst = kSigns[0] == 1 ? 0 : kSigns[1] == 1 ? 1 : kSigns[2] == 1 ? 2 : 3;
  constexpr int kCount = (kSigns[0] != 0) + (kSigns[1] != 0) + (kSigns[2] != 0) + (kSigns[3] != 0);
  Fragment<T, kWords> sum = quadrant(kFirst);
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    if (q == kFirst || kSigns[q] == 0) continue;
    const Fragment<T, kWords> other = quadrant(q);
#pragma unroll
    for (int k = 0; k < Fragment<T, kWords>::kProducts; ++k) {
      if (kSigns[q] > 0) {
        for_integers(sum.a[k], other.a[k], [](std::uint64_t x, std::uint64_t y) { return x + y; });
      } else {
        for_integers(sum.a[k], other.a[k], [](std::uint64_t x, std::uint64_t y) { return x - y; });
      }
    }
  }
  if constexpr (kCount % 2 == 0) {
    for (uint4& x : sum.a) {
      x.z ^= 0x80000000u;
      x.w ^= 0x80000000u;
    }
  }
  return sum;
}

/// @range  one cluster: some lines of both halves of one operand
template <class T>
__global__ void __launch_bounds__(device::kPanelThreads, kBlocksPerSm)
    strassen_pass(const __grid_constant__ Pass<T> pass) {
  using P = device::Panel<T>;
  using F = Fragment<T, kWords>;
  static_assert(F::kRestBytes == 0, "sums of quadrants are made from fragments in the place of elements");
  constexpr int kTerms = Element<T>::kTerms;
  constexpr int kPairs = QuadrantPanel<T>::kPairs;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ __align__(16) certify::kernels::Mailbox<T> mailbox;
  __shared__ PlaneRow<kTerms, kWords> rows[num::kMaxPlanes];
  base::begin_in_cluster(&mailbox, sizeof mailbox);
  base::follow_previous_kernel();
  if ((pass.state->look != device::Look::kSample) | (pass.state->is_scaling_only != 0)) return;
  const bool is_second = blockIdx.x >= pass.blocks_of_first;
  const PassOperand<T>& task = pass.operands[is_second ? 1 : 0];
  const problem::Lines<T>& lines = task.operand.lines;
  const std::uint32_t block = blockIdx.x - (is_second ? pass.blocks_of_first : 0);
  const int cluster = pass.cluster;
  const int rank = static_cast<int>(block % static_cast<std::uint32_t>(cluster));
  const int half = pass.half;
  const QuadrantPanel<T> at{static_cast<std::int64_t>(block / static_cast<std::uint32_t>(cluster)) * kPairs,
                            task.half_lines, static_cast<std::int64_t>(rank) * half, pass.half_k, half};
  const certify::kernels::LineWarps<T> line_warps(mailbox, cluster, rank);
  const bool is_in_chunks = task.is_across && comes_in_chunks(lines, at);
  if (is_in_chunks) {
    load_chunks(lines, at, panel);
  } else {
    load_panel(lines, task.is_across, at, panel);
  }
  kernels::load_plane_rows(rows, pass.num_planes);
  device::wait_for_copies();
  if constexpr (sizeof(T) < 16) {
    if (is_in_chunks) device::order_chunks<T>(2 * half, panel);
  }
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  {
    const int slot = warp / P::kWarpsPerLine;
    const int part = warp % P::kWarpsPerLine;
    const std::int64_t line = at.line(slot);
    unsigned char* const piece = panel + slot * P::pitch(2 * half);
    const auto for_pairs = [&](const auto& visit) {
#pragma unroll 4
      for (int h = 64 * part + 2 * lane; h < 2 * half; h += 64 * P::kWarpsPerLine) {
        Element<T> elements[2];
        device::read_pair(piece, h, elements);
        visit(elements);
      }
    };
    const auto [range, exponent] = certify::kernels::first_look(lines, line, line_warps, for_pairs);
    const bool is_live = exponent != num::kNoExponent;
    const device::LineUnits units(is_live ? exponent : 0);
    certify::kernels::Sums sums = kernels::sums_of_pairs<T>(is_live, units, for_pairs);
    if (task.digits.digits != nullptr && line < base::round_up(lines.num_lines, device::kReadRows)) {
      const int of_first_half =
          static_cast<int>(min(static_cast<std::int64_t>(half), max(std::int64_t{0}, at.half_k - at.first)));
      kernels::write_digits<T>(piece, of_first_half, line, at.first, part, is_live, units, task.digits);
      kernels::write_digits<T>(piece + half * static_cast<int>(sizeof(T)), half, line, at.half_k + at.first, part,
                               is_live, units, task.digits);
    }
    sums = line_warps.merge(sums, 1);

    const num::LineStats stats = certify::kernels::line_stats(range, exponent, sums);
    const LineScaling scaling{line_scale(pass.ladder.rungs[0], stats), !stats.is_zero()};
    if (rank == 0 && part == 0 && lane == 0 && line < lines.num_lines) {
      task.operand.line_buffers.stats[line] = stats;
      if (task.operand.line_buffers.weights != nullptr)
        task.operand.line_buffers.weights[line] = num::rung_weight(pass.ladder.rungs[0], stats);
      task.operand.line_buffers.scales[line] = stats.is_finite ? scaling.scale : num::kSkipLine;
      if (!stats.is_finite) atomicAdd(reinterpret_cast<unsigned long long*>(task.nonfinite), 1ull);
    }
    __syncwarp();
    for (int h = kBlockLength * part; h < 2 * half; h += kBlockLength * P::kWarpsPerLine) {
      const bool is_negated = is_second && h < half;  // strassen.hpp
      kernels::convert_block<T, kWords>(piece + h * static_cast<int>(sizeof(T)), nullptr,
                                        [&](const Element<T>(&elements)[2]) {
                                          F fragment(elements, lines.is_conjugated, scaling, nullptr);
                                          if (is_negated) negate(fragment);
                                          return fragment;
                                        });
    }
  }
  __syncthreads();

  const DevicePlanes& planes = task.operand.planes;
  const int pair = warp % kPairs;
  constexpr int kStep = kBlockLength * (device::kPanelWarps / kPairs);
  const int begin = kBlockLength * (warp / kPairs);
  const auto end = static_cast<int>(min(static_cast<std::int64_t>(half), planes.row_stride - at.first));
  const unsigned char* const upper = panel + pair * P::pitch(2 * half);
  const unsigned char* const lower = upper + kPairs * P::pitch(2 * half);
  std::int8_t* const out = planes.data + (at.first_line + pair) * planes.row_stride + at.first + begin;
  kernels::for_planes</*kHasFours=*/false>(pass.num_planes, [&](int plane, auto at_once) {
    using Planes = kernels::LanePlanes<T, kWords, at_once.value>;
    const Planes lane_planes(rows, plane, pass.num_planes);
    const std::int64_t modulus_stride = kStrassenProducts * planes.plane_stride;
    std::int8_t* to[2] = {lane_planes.place(0, out, modulus_stride), lane_planes.place(1, out, modulus_stride)};
#pragma unroll 1
    for (int h = begin; h < end; h += kStep) {
      const auto make_sum = [&]<int s>(std::integral_constant<int, s>) {
        typename Planes::Bytes bytes;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const F sum = sum_of_quadrants<T, s>([&](int q) {
            return F::load((q < 2 ? upper : lower) + (q % 2 * half + h + 64 * i) * static_cast<int>(sizeof(T)));
          });
          lane_planes.make(sum, i, bytes);
        }
        const std::int64_t product = (is_second ? strassen_product_of_b(s) : s) * planes.plane_stride;
#pragma unroll
        for (int c = 0; c < 2; ++c) lane_planes.store(c, to[c] + product, bytes);
      };
      [&]<int... s>(std::integer_sequence<int, s...>) { (make_sum(std::integral_constant<int, s>{}), ...); }
      (std::make_integer_sequence<int, kStrassenProducts>{});
      to[0] += kStep;
      to[1] += kStep;
    }
  });
}

__global__ void choose_strassen_products(device::DeviceState* state) {
  base::follow_previous_kernel();
  const num::Selection& selection = state->selection;
  const bool answers = state->look == device::Look::kSample && selection.rung == 0 && !selection.equilibrated &&
                       state->is_scaling_only == 0;
  state->num_strassen_products = answers ? kStrassenProducts * state->num_products : 0;
  state->num_whole_products = answers ? 0 : state->num_products;
}

}  // namespace

template <class T>
Status device_strassen_pass(const SinglePassOperand<T>& a, const SinglePassOperand<T>& b, const StrassenHalves& halves,
                            const num::Ladder& ladder, const device::DeviceState* state, product::Queue queue) {
  using P = device::Panel<T>;
  const auto task_of = [](const SinglePassOperand<T>& x, std::int64_t half_lines) {
    return PassOperand<T>{x.operand, x.digits, x.nonfinite, device::lies_across(x.operand.lines), half_lines};
  };
  // Elements of a half of k that are read, written as bytes or sampled.
  const std::int64_t sampled =
      a.digits.digits == nullptr ? 0 : a.digits.row_stride / problem::kTerms<T> * a.digits.stride;
  const std::int64_t span = std::max(a.operand.planes.row_stride, sampled - halves.k);
  constexpr std::int64_t kMostHalf = device::kPanelLength / 2;
  int cluster = 1;
  while (cluster < certify::kernels::kMaxCluster && cluster * kMostHalf < span) cluster *= 2;
  const std::int64_t half = base::round_up(base::ceil_div(span, std::int64_t{cluster}), std::int64_t{kBlockLength});
  if (half > kMostHalf)
    return {StatusCode::kInternal, "halves of lines of " + std::to_string(span) + " elements do not fit in one pass"};
  const auto blocks_of = [&](std::int64_t half_lines) {
    return static_cast<unsigned>(half_lines / QuadrantPanel<T>::kPairs * cluster);
  };
  Pass<T> pass{{task_of(a, halves.m), task_of(b, halves.n)},
               blocks_of(halves.m),
               cluster,
               static_cast<std::int32_t>(half),
               halves.k,
               ladder,
               num::num_planes(plan::ring_of(kScalarOf<T>), ladder.rungs[0].num_moduli),
               state};
  constexpr int kMostBytes = P::bytes(device::kPanelLength);
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaFuncSetAttribute(strassen_pass<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBytes),
                        "shared memory of the split"));
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaFuncSetAttribute(strassen_pass<T>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                        "clusters of the split"));
  return base::launch_overlapped_clusters("the split into sums of quadrants",
                                          reinterpret_cast<const void*>(strassen_pass<T>),
                                          pass.blocks_of_first + blocks_of(halves.n), device::kPanelThreads, cluster,
                                          static_cast<std::size_t>(P::bytes(static_cast<int>(2 * half))), queue, &pass);
}

Status choose_strassen(device::DeviceState* state, product::Queue queue) {
  return base::launch_overlapped("choose_strassen_products", choose_strassen_products, dim3(1), dim3(1), 0, queue,
                                 state);
}

template Status device_strassen_pass<double>(const SinglePassOperand<double>&, const SinglePassOperand<double>&,
                                             const StrassenHalves&, const num::Ladder&, const device::DeviceState*,
                                             product::Queue);

}  // namespace kizami::ozaki2
