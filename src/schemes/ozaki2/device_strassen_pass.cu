// SPDX-License-Identifier: MIT
// The split in one pass (device_single_pass.cuh) into the sums of quadrants that Strassen's products take. A cluster of
// blocks takes some lines of both halves, each block pieces of both halves of their length: so a block has what it adds.
#include <complex>
#include <cstdint>

#include "base/balanced_launch.hpp"
#include "base/cluster_sm90.cuh"
#include "base/code_capability.hpp"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/device_line_stats.cuh"
#include "certify/device_line_warps.cuh"
#include "device/panel.cuh"
#include "device/state.cuh"
#include "schemes/ozaki2/device_pass_digits.cuh"
#include "schemes/ozaki2/device_quadrants.cuh"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_strassen.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

using device::Element;
using kernels::kBlockLength;
using kernels::kQuadrantBlocksPerSm;
using kernels::kQuadrantWords;
using kernels::LineScaling;
using kernels::PlaneRow;
using kernels::QuadrantPanel;

/// One operand of the launch.
template <class T>
struct PassOperand {
  DeviceOperand<T> operand;
  certify::DeviceDigits digits;
  std::uint64_t* nonfinite;
  bool is_across;
  std::int64_t half_lines;
  std::int64_t first_line;  ///< of the first half
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
  ClippedCheck clipped;
};

/// @range  one cluster: some lines of both halves of one operand
template <class T>
__global__ void __launch_bounds__(device::kPanelThreads, kQuadrantBlocksPerSm)
    strassen_pass(const __grid_constant__ Pass<T> pass) {
  if (!base::code_has_quadrants()) return __trap();
  using P = device::Panel<T>;
  constexpr int kTerms = Element<T>::kTerms;
  constexpr int kPairs = QuadrantPanel<T>::kPairs;
  extern __shared__ __align__(16) unsigned char panel[];
  __shared__ __align__(16) certify::kernels::Mailbox<T> mailbox;
  __shared__ PlaneRow<kTerms, kQuadrantWords<T>> rows[num::kMaxPlanes];
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
  const QuadrantPanel<T> at{
      task.first_line + static_cast<std::int64_t>(block / static_cast<std::uint32_t>(cluster)) * kPairs,
      task.half_lines, static_cast<std::int64_t>(rank) * half, pass.half_k, half};
  const certify::kernels::LineWarps<T> line_warps(mailbox, cluster, rank);
  const bool is_in_chunks = task.is_across && comes_in_chunks(lines, at);
  if (is_in_chunks) {
    load_chunks(lines, at, panel);
  } else {
    load_panel(lines, task.is_across, at, panel);
  }
  kernels::load_plane_rows(rows, pass.num_planes, /*is_unsigned=*/true);
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
      for (int h = 64 * part; h < 2 * half; h += 64 * P::kWarpsPerLine) {
        Element<T> elements[2];
        device::read_two(piece, h, elements);
        visit(elements);
      }
    };
    const auto [range, exponent, magnitudes] = certify::kernels::first_look(lines, line, line_warps, for_pairs);
    const bool is_live = exponent != num::kNoExponent;
    const device::LineUnits units(is_live ? exponent : 0);
    const std::uint32_t clip = kernels::clip_of_line(lines, magnitudes, units);
    certify::kernels::Sums sums = kernels::sums_of_pairs<T>(is_live, units, clip, for_pairs);
    if (task.digits.digits != nullptr && line < base::round_up(lines.num_lines, device::kReadRows)) {
      const int of_first_half =
          static_cast<int>(min(static_cast<std::int64_t>(half), max(std::int64_t{0}, at.half_k - at.first)));
      kernels::write_digits<T>(piece, of_first_half, line, at.first, part, is_live, units, task.digits);
      kernels::write_digits<T>(piece + half * static_cast<int>(sizeof(T)), half, line, at.half_k + at.first, part,
                               is_live, units, task.digits);
      if (rank == cluster - 1 && part == 0)
        kernels::clear_digits<kTerms>(line, at.half_k + std::int64_t{cluster} * half, task.digits);
    }
    sums = line_warps.merge(sums, 1);
    const std::uint32_t clipped = sums.take_clipped();

    const num::LineStats stats = certify::kernels::line_stats(range, exponent, sums);
    const LineScaling scaling{line_scale(pass.ladder.rungs[0], stats), !stats.is_zero()};
    if (rank == 0 && part == 0 && lane == 0 && line < lines.num_lines) {
      task.operand.line_buffers.stats[line] = stats;
      if (task.operand.line_buffers.weights != nullptr) {
        const num::RungWeight weight = num::rung_weight(pass.ladder.rungs[0], stats);
        task.operand.line_buffers.weights[line] = weight;
        kernels::count_open(pass.clipped, weight, lines.num_terms(), clip, clipped);
      }
      task.operand.line_buffers.scales[line] = stats.is_finite ? scaling.scale : num::kSkipLine;
      if (!stats.is_finite) atomicAdd(reinterpret_cast<unsigned long long*>(task.nonfinite), 1ull);
    }
    __syncwarp();
    kernels::convert_line<T>(piece, half, part, is_second, slot / kPairs, lines.is_conjugated, scaling);
  }
  __syncthreads();

  kernels::write_sums<T>(panel, at, is_second, rows, pass.num_planes, task.operand.planes);
}

__global__ void choose_strassen_products(device::DeviceState* state) {
  base::follow_previous_kernel();
  const num::Selection selection = device::newest_selection(*state);
  const std::int32_t num_products = __ldcg(&state->num_products);
  const bool answers = state->look == device::Look::kSample && selection.rung == 0 && !selection.equilibrated &&
                       state->is_scaling_only == 0;
  state->num_strassen_products = answers ? kStrassenProducts * num_products : 0;
  state->num_whole_products = answers ? 0 : num_products;
}

}  // namespace

template <class T>
Status device_strassen_pass(const SinglePassOperand<T>& a, const LinePairs& a_pairs, const SinglePassOperand<T>& b,
                            const LinePairs& b_pairs, const StrassenHalves& halves, const num::Ladder& ladder,
                            const device::DeviceState* state, product::Queue queue, const ClippedCheck& clipped) {
  using P = device::Panel<T>;
  if (a_pairs.count + b_pairs.count == 0) return {};
  const auto task_of = [](const SinglePassOperand<T>& x, std::int64_t half_lines, const LinePairs& pairs) {
    return PassOperand<T>{x.operand,  x.digits,   x.nonfinite, device::lies_across(x.operand.lines),
                          half_lines, pairs.first};
  };
  constexpr std::int64_t kMostHalf = device::kPanelLength / 2;
  int cluster = 1;
  while (cluster < certify::kernels::kMaxCluster && cluster * kMostHalf < halves.k) cluster *= 2;
  const std::int64_t half = base::round_up(base::ceil_div(halves.k, std::int64_t{cluster}), std::int64_t{kBlockLength});
  if (half > kMostHalf)
    return {StatusCode::kInternal,
            "halves of lines of " + std::to_string(halves.k) + " elements do not fit in one pass"};
  const auto blocks_of = [&](const LinePairs& pairs) {
    return static_cast<unsigned>(pairs.count / QuadrantPanel<T>::kPairs * cluster);
  };
  Pass<T> pass{{task_of(a, halves.m, a_pairs), task_of(b, halves.n, b_pairs)},
               blocks_of(a_pairs),
               cluster,
               static_cast<std::int32_t>(half),
               halves.k,
               ladder,
               num::num_planes(plan::ring_of(kScalarOf<T>), ladder.rungs[0].num_moduli),
               state,
               clipped};
  constexpr int kMostBytes = P::bytes(device::kPanelLength);
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaFuncSetAttribute(strassen_pass<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBytes),
                        "shared memory of the split"));
  KIZAMI_RETURN_IF_ERROR(
      base::cuda_status(cudaFuncSetAttribute(strassen_pass<T>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                        "clusters of the split"));
  return base::launch_balanced_clusters("the split into sums of quadrants",
                                        reinterpret_cast<const void*>(strassen_pass<T>),
                                        pass.blocks_of_first + blocks_of(b_pairs), device::kPanelThreads, cluster,
                                        static_cast<std::size_t>(P::bytes(static_cast<int>(2 * half))), queue, &pass);
}

Status choose_strassen(device::DeviceState* state, product::Queue queue) {
  return base::launch_overlapped("choose_strassen_products", choose_strassen_products, dim3(1), dim3(1), 0, queue,
                                 state);
}

#define KIZAMI_INSTANTIATE(T)                                                                                         \
  template Status device_strassen_pass<T>(const SinglePassOperand<T>&, const LinePairs&, const SinglePassOperand<T>&, \
                                          const LinePairs&, const StrassenHalves&, const num::Ladder&,                \
                                          const device::DeviceState*, product::Queue, const ClippedCheck&)
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
