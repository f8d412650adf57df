// SPDX-License-Identifier: MIT
// The split in one pass over both operands: statistics, sampled or block digits, and the residue planes of a rung. A
// cluster of blocks takes a few whole lines, each block a piece of their length in its shared memory, where the second
// look at a term and its split find it; lines of both layouts lie there in the same order. The blocks of a cluster
// merge what they know of a line through distributed shared memory. Where there are no clusters a block takes whole lines,
// a quarter as many and four times as long (device::WholeLines).
#pragma once

#include <cstddef>
#include <type_traits>

#include "base/balanced_launch.hpp"
#include "base/cluster_sm90.cuh"
#include "base/code_capability.hpp"
#include "base/cuda_status.hpp"
#include "base/device_limits.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/device_line_block_digits.cuh"
#include "certify/device_line_stats.cuh"
#include "certify/device_line_warps.cuh"
#include "device/panel.cuh"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_pass_digits.cuh"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2::kernels {

/// One operand of the launch.
template <class T>
struct PassOperand {
  DeviceOperand<T> operand;
  certify::DeviceDigits digits;
  std::uint64_t* nonfinite;
  bool is_across;  ///< neighbouring lines are neighbours in memory
  certify::kernels::DigitRows blocks;
  num::LineWeight* line_weights;
};

template <class T>
struct Pass {
  PassOperand<T> operands[2];
  std::int32_t num_alike;  ///< 2: the second operand is the first one, whose blocks do its part; else 1
  std::uint32_t blocks_of_first;
  std::int32_t cluster;
  std::int32_t length;  ///< elements of a line that a block takes, a multiple of 128
  num::Ladder ladder;
  std::int32_t rung;        ///< whose planes are made
  std::int32_t num_planes;  ///< of it
  bool leaves_samples;      ///< state->look = kSample is another kernel's
  const device::DeviceState* state;
  ClippedCheck clipped;
};

/// Whether fragments are made once and take the place of the elements, beside kRestBytes of others.
template <class T, int kWords>
inline constexpr bool kKeepsFragments = keeps_fragments(kScalarOf<T>, kWords);
/// Shared memory of a block for what of its fragments has no place among the elements.
template <class T, int kWords, class P = device::Panel<T>>
[[nodiscard]] constexpr int rest_bytes(int length) {
  return kKeepsFragments<T, kWords> ? P::kLines * (length / 64) * Fragment<T, kWords>::kRestBytes : 0;
}
template <class T, int kWords>
inline constexpr int kPassBlocksPerSm = rest_bytes<T, kWords>(64) == 0 ? 3 : 2;
/// That of its elements too. @param length elements of a line
template <class T, int kWords, class P>
[[nodiscard]] constexpr int pass_bytes(int length) {
  return P::bytes(length) + rest_bytes<T, kWords, P>(length);
}
/// one_pass_takes() goes by these bounds.
template <class T, int kWords, class P>
inline constexpr bool kFitsAsSaid = static_cast<std::size_t>(pass_bytes<T, kWords, P>(P::kMostLength)) +
                                        sizeof(certify::kernels::Mailbox<T, P>) +
                                        sizeof(PlaneRow<device::Element<T>::kTerms, kWords>) * num::kMaxPlanes
                                    <= static_cast<std::size_t>(needs_more_room(kScalarOf<T>, kWords) ? kRoomForMore
                                                                                                      : 99 << 10);

/// @range  one cluster, or one block that is none: some whole lines of one operand
template <class T, int kWords, class P>
__device__ __forceinline__ void pass_over_lines(const Pass<T>& pass) {
  constexpr int kTerms = device::Element<T>::kTerms;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ __align__(16) certify::kernels::Mailbox<T, P> mailbox;
  __shared__ PlaneRow<kTerms, kWords> rows[num::kMaxPlanes];
  base::begin_in_cluster(&mailbox, sizeof mailbox);
  base::follow_previous_kernel();
  const device::Look look = pass.state->look;
  if ((pass.state->is_scaling_only != 0) | (pass.leaves_samples & (look == device::Look::kSample))) return;
  const bool is_second = blockIdx.x >= pass.blocks_of_first;
  const PassOperand<T>& task = pass.operands[is_second ? 1 : 0];
  const problem::Lines<T>& lines = task.operand.lines;
  const std::uint32_t block = blockIdx.x - (is_second ? pass.blocks_of_first : 0);
  const int cluster = certify::kernels::kTakesWholeLines<T, P> ? 1 : pass.cluster;
  const int rank = static_cast<int>(block % static_cast<std::uint32_t>(cluster));
  const std::int64_t first_line = static_cast<std::int64_t>(block / static_cast<std::uint32_t>(cluster)) * P::kLines;
  const int length = pass.length;
  const std::int64_t first = static_cast<std::int64_t>(rank) * length;
  const certify::kernels::LineWarps<T, P> line_warps(mailbox, cluster, rank);
  const bool is_in_chunks = task.is_across && device::comes_in_chunks<T, P>(lines, first_line, first, length);
  if (is_in_chunks) {
    device::load_chunks<T, P>(lines, first_line, first, length, panel);
  } else {
    device::load_panel<T, P>(lines, task.is_across, first_line, first, length, panel);
  }
  load_plane_rows(rows, pass.num_planes, task.operand.planes.is_unsigned);
  device::wait_for_copies();
  if constexpr (sizeof(T) < 16) {
    if (is_in_chunks) device::order_chunks<T, P::kMostLength, P>(length, panel);
  }
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int part = warp % P::kWarpsPerLine;
  const std::int64_t line = first_line + warp / P::kWarpsPerLine;
  unsigned char* const piece = panel + warp / P::kWarpsPerLine * P::pitch(length);
  const auto for_pairs = [&](const auto& visit) {
#pragma unroll 4
    for (int h = 64 * part; h < length; h += 64 * P::kWarpsPerLine) {
      device::Element<T> elements[2];
      device::read_two(piece, h, elements);
      visit(elements);
    }
  };

  const auto [range, exponent, magnitudes] = certify::kernels::first_look(lines, line, line_warps, for_pairs);
  const bool is_there = line < base::round_up(lines.num_lines, device::kReadRows);  // or padding

  const bool is_live = exponent != num::kNoExponent;
  const device::LineUnits units(is_live ? exponent : 0);
  const std::uint32_t clip = clip_of_line(lines, magnitudes, units);
  certify::kernels::Sums sums = sums_of_pairs<T>(is_live, units, clip, for_pairs);
  // Operands that are alike are neighbours.
  const auto for_alike = [&](const auto& visit) {
    for (int of = 0; of < pass.num_alike; ++of) visit((&task)[of]);
  };
  if (look != device::Look::kSample) {
    if (line < lines.num_lines) {
      for_alike([&](const PassOperand<T>& alike) {
        certify::kernels::write_block_digits<T, P>(piece, length, line, first, part, range, exponent, lines,
                                                   alike.blocks);
      });
    }
  } else if (task.digits.digits != nullptr && is_there) {
    write_digits<T, P>(piece, length, line, first, part, is_live, units, task.digits);
    if (rank == cluster - 1 && part == 0) clear_digits<kTerms>(line, std::int64_t{cluster} * length, task.digits);
  }
  sums = line_warps.merge(sums, 1);
  const std::uint32_t clipped = sums.take_clipped();

  const num::LineStats stats = certify::kernels::line_stats(range, exponent, sums);
  const LineScaling scaling{line_scale(pass.ladder.rungs[pass.rung], stats), !stats.is_zero()};
  if (rank == 0 && part == 0 && lane == 0 && line < lines.num_lines) {
    task.operand.line_buffers.stats[line] = stats;
    if (task.operand.line_buffers.weights != nullptr) {
      const num::RungWeight weight = num::rung_weight(pass.ladder.rungs[0], stats);
      task.operand.line_buffers.weights[line] = weight;
      if (look == device::Look::kSample) count_open(pass.clipped, weight, lines.num_terms(), clip, clipped);
    }
    if (look != device::Look::kBlocksFirst)
      task.operand.line_buffers.scales[line] = stats.is_finite ? scaling.scale : num::kSkipLine;
    for_alike([&](const PassOperand<T>& alike) {
      if (!stats.is_finite) atomicAdd(reinterpret_cast<unsigned long long*>(alike.nonfinite), 1ull);
      if (look != device::Look::kSample) alike.line_weights[line] = num::line_weight(pass.ladder, stats);
    });
  }
  if (look == device::Look::kBlocksFirst) return;
  const DevicePlanes& planes = task.operand.planes;
  const auto end = static_cast<int>(min(static_cast<std::int64_t>(length), planes.row_stride - first));
  if (!is_there) return;
  constexpr int kStep = kBlockLength * P::kWarpsPerLine;
  const auto fragment_of = [&](const device::Element<T>(&elements)[2]) {
    return Fragment<T, kWords>(elements, lines.is_conjugated, scaling, nullptr);
  };
  std::int8_t* const out = planes.data + line * planes.row_stride + first;
  const int begin = kBlockLength * part;
  if constexpr (kKeepsFragments<T, kWords>) {
    using F = Fragment<T, kWords>;
    unsigned char* const rest = panel + P::bytes(length) + warp / P::kWarpsPerLine * (length / 64) * F::kRestBytes;
    __syncwarp();
    if (scaling.unit != 0.0) {
      convert_blocks<T, kWords, kBlocksAtOnce<T>>(
          piece, rest, begin, end, kStep,
          [&](int, const device::Element<T>(&elements)[2]) { return F(elements, lines.is_conjugated, scaling.unit); });
    } else {
      convert_blocks<T, kWords, 1>(piece, rest, begin, end, kStep,
                                   [&](int, const device::Element<T>(&elements)[2]) { return fragment_of(elements); });
    }
    if constexpr (F::kIsLoadedAsRows) __syncwarp();
    constexpr bool kHasFours = kPassBlocksPerSm<T, kWords> < 3;
    write_line<T, kWords, kHasFours>(
        [&](int h, int i) {
          return F::load(piece + (h + 64 * i) * static_cast<int>(sizeof(T)), rest + (h / 64 + i) * F::kRestBytes);
        },
        begin, end, kStep, rows, pass.num_planes, out, planes.plane_stride);
  } else {
    write_line_by_blocks<T, kWords, /*kHasFours=*/false>(
        [&](int h, int i) {
          device::Element<T> elements[2];
          device::read_pair(piece, h + pair_of_lane(i), elements);
          return fragment_of(elements);
        },
        begin, end, kStep, rows, pass.num_planes, out, planes.plane_stride);
  }
}

template <class T, int kWords>
__global__ void __launch_bounds__(device::kPanelThreads, (kPassBlocksPerSm<T, kWords>))
    single_pass(const __grid_constant__ Pass<T> pass) {
  pass_over_lines<T, kWords, device::Panel<T>>(pass);
}
/// Of two words, for the size of the library.
template <class T>
__global__ void __launch_bounds__(device::kPanelThreads, (kPassBlocksPerSm<T, 2>))
    single_pass_of_whole_lines(const __grid_constant__ Pass<T> pass) {
  if constexpr (base::code_has_pass_of_whole_lines()) {
    pass_over_lines<T, 2, device::WholeLines<T>>(pass);
  } else {
    __trap();
  }
}

/// Lines in panels P. @param blocks a multiple of pass.cluster
template <class T, int kWords, class P>
[[nodiscard]] Status launch_pass(Pass<T> pass, unsigned blocks, product::Queue queue) {
  static_assert(kFitsAsSaid<T, kWords, P>);
  const auto kernel = [] {
    if constexpr (certify::kernels::kTakesWholeLines<T, P>) {
      static_assert(kWords == 2);
      return single_pass_of_whole_lines<T>;
    } else {
      return single_pass<T, kWords>;
    }
  }();
  // Always the same number: between this and the launch, a call of another thread may ask for shorter lines.
  constexpr int kMostBytes = pass_bytes<T, kWords, P>(P::kMostLength);
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBytes),
                        "shared memory of the split"));
  if (pass.cluster > 8) {  // more than every device with clusters takes
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "clusters of the split"));
  }
  return base::launch_balanced_clusters("the split in one pass", reinterpret_cast<const void*>(kernel), blocks,
                                        device::kPanelThreads, pass.cluster,
                                        static_cast<std::size_t>(pass_bytes<T, kWords, P>(pass.length)), queue, &pass);
}

}  // namespace kizami::ozaki2::kernels

namespace kizami::ozaki2 {

template <class T>
Status device_single_pass(const SinglePassOperand<T>& a, const SinglePassOperand<T>& b, const num::Ladder& ladder,
                          int first_rung, const certify::SecondLookBuffers& blocks, bool leaves_samples,
                          const device::DeviceState* state, product::Queue queue, bool b_is_a,
                          const ClippedCheck& clipped) {
  using P = device::Panel<T>;
  using W = device::WholeLines<T>;
  const num::Rung& rung = ladder.rungs[static_cast<std::size_t>(first_rung)];
  const auto task_of = [](const SinglePassOperand<T>& x, const certify::kernels::DigitRows& digits,
                          num::LineWeight* weights) {
    return kernels::PassOperand<T>{x.operand, x.digits, x.nonfinite, device::lies_across(x.operand.lines),
                                   digits,    weights};
  };
  constexpr int kParts = device::Element<T>::kTerms;
  const certify::kernels::DigitRows a_blocks{blocks.a_digits, blocks.a_scales, blocks.a_nonzero,
                                             certify::second_look_lines(a.operand.lines.num_lines),
                                             certify::kScaleShiftA};
  const certify::kernels::DigitRows b_blocks{blocks.b_digits, blocks.b_scales, blocks.b_nonzero,
                                             certify::second_look_lines(b.operand.lines.num_lines),
                                             certify::kScaleShiftB<kParts>};
  const std::int64_t span = a.operand.planes.row_stride;
  int cluster = 1;
  while (cluster < certify::kernels::kMaxCluster && std::int64_t{cluster} * device::kPanelLength < span) cluster *= 2;
  bool takes_whole_lines = false;
  if (cluster > 1 && span <= device::kLongestWholeLine && fits_two_words(rung)) {
    base::DeviceLimits limits;
    KIZAMI_RETURN_IF_ERROR(base::find_device_limits(limits));
    takes_whole_lines = !limits.has_clusters();
  }
  if (takes_whole_lines) cluster = 1;
  const auto length = static_cast<int>(base::round_up(base::ceil_div(span, std::int64_t{cluster}), std::int64_t{128}));
  if (length > (takes_whole_lines ? W::kMostLength : P::kMostLength))
    return {StatusCode::kInternal, "lines of " + std::to_string(span) + " elements do not fit in one pass"};
  const auto blocks_of = [&](const SinglePassOperand<T>& x) {
    const std::int64_t lines = base::round_up(x.operand.lines.num_lines, device::kReadRows);
    return static_cast<unsigned>(base::ceil_div(lines, std::int64_t{takes_whole_lines ? W::kLines : P::kLines}) *
                                 cluster);
  };
  const int num_planes = num::num_planes(plan::ring_of(kScalarOf<T>), rung.num_moduli);
  kernels::Pass<T> pass{{task_of(a, a_blocks, blocks.a_weights), task_of(b, b_blocks, blocks.b_weights)},
                        b_is_a ? 2 : 1,
                        blocks_of(a),
                        cluster,
                        length,
                        ladder,
                        first_rung,
                        num_planes,
                        leaves_samples,
                        state,
                        clipped};
  if (b_is_a) pass.operands[0].digits = b.digits;

  const unsigned num_blocks = pass.blocks_of_first + (b_is_a ? 0 : blocks_of(b));
  if (takes_whole_lines) return kernels::launch_pass<T, 2, W>(pass, num_blocks, queue);
  const int words = pass_words_of(kScalarOf<T>, rung);
  if constexpr (kernels::kKeepsFragments<T, 1>) {
    if (words == 1) return kernels::launch_pass<T, 1, P>(pass, num_blocks, queue);
  }
  return words == 2 ? kernels::launch_pass<T, 2, P>(pass, num_blocks, queue)
                    : kernels::launch_pass<T, 3, P>(pass, num_blocks, queue);
}

}  // namespace kizami::ozaki2

/// In one file for each type, for the time that they take to compile.
#define KIZAMI_INSTANTIATE_SINGLE_PASS(T)                                                          \
  template ::kizami::Status kizami::ozaki2::device_single_pass<T>(                                 \
      const SinglePassOperand<T>&, const SinglePassOperand<T>&, const ::kizami::num::Ladder&, int, \
      const ::kizami::certify::SecondLookBuffers&, bool, const ::kizami::device::DeviceState*,     \
      ::kizami::product::Queue, bool, const ClippedCheck&)
