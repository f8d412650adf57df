// SPDX-License-Identifier: MIT
// The kernel of the second look. As many blocks as the device holds at once walk the phases together, with a barrier of
// the whole grid between them. All blocks make the same decisions from the same histograms, so that nothing but the
// histograms is handed around. Where block_rungs has left counts, and neither gain nor list is wanted, all blocks
// choose, the first one tells what, and no barrier is met.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/code_capability.hpp"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/block_sum.hpp"
#include "certify/device_block_digits.cuh"
#include "certify/device_block_sums.cuh"
#include "certify/device_block_sums_sm80.cuh"
#include "certify/device_equilibration_gain.cuh"
#include "certify/device_repair_list.cuh"
#include "certify/device_second_look.hpp"
#include "certify/device_second_look_grid.cuh"
#include "certify/terms.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "num/slice_weight.hpp"
#include "problem/lines.hpp"

namespace kizami::certify::second_look {

using base::ceil_div;
using base::round_up;
using problem::Lines;

template <class T, class Core>
class Call {
  static constexpr int kParts = Core::kParts;
  static_assert(kParts == kTerms<T>);

 public:
  __device__ Call(const SecondLook<T>& look, Shared<Core>& shared)
      : look_(look), state_(*look.state), shared_(shared) {}

  __device__ void run() {
    if (look_.task == LookTask::kInnerExponents) return find_inner_exponents();
    // One place in the code visits the pairs, for the histograms and for the list: it is large.
    for (Purpose purpose = begin_task();;) {
      if (purpose != Purpose::kCountAsGiven || !takes_counts()) visit_pairs(purpose);
      if (purpose == Purpose::kList || look_.task != LookTask::kDecide) return;
      choose(purpose);
      if (purpose == Purpose::kCountAsGiven && wants_equilibration()) {
        equilibrate();
        use(true);
        purpose = Purpose::kCountEquilibrated;
        continue;
      }
      tell(purpose);
      if (shared_.selection.rung < 0 || shared_.selection.num_repaired == 0) return;
      use(shared_.selection.equilibrated);
      if (state_.has_rungs == 0) {  // else launch_block_rungs() has cleared them
        clear_bits();
        grid_barrier(state_);
      }
      purpose = Purpose::kList;
    }
  }

 private:
  enum class Purpose { kCountAsGiven, kCountEquilibrated, kList };

  /// Where a task begins that is not a whole call.
  __device__ Purpose begin_task() {
    if (look_.task == LookTask::kCountEquilibrated) {
      clear_statistics(look_.a_lines, m());
      clear_statistics(look_.b_lines, n());
      if (is_first_thread()) state_.has_rungs = 0;  // those in the buffers will be of the equilibrated operands
      grid_barrier(state_);
      observe_equilibrated();
      use(true);
      return Purpose::kCountEquilibrated;
    }
    if (look_.task != LookTask::kList) return Purpose::kCountAsGiven;
    if (threadIdx.x == 0) shared_.selection = state_.selection;
    __syncthreads();
    if (shared_.selection.equilibrated) {
      use(true);
    } else if (state_.has_rungs != 0 && state_.has_open_sums == 0) {
      has_rungs_ = true;
    }
    clear_bits();
    grid_barrier(state_);
    return Purpose::kList;
  }

  [[nodiscard]] __device__ std::int64_t m() const { return look_.a.num_lines; }
  [[nodiscard]] __device__ std::int64_t n() const { return look_.b.num_lines; }
  [[nodiscard]] __device__ bool is_first_thread() const { return blockIdx.x == 0 && threadIdx.x == 0; }
  [[nodiscard]] __device__ std::int64_t a_stride() const { return round_up(look_.chunk.mc, kSecondLookPad); }
  [[nodiscard]] __device__ std::int64_t a_padded() const { return second_look_lines(look_.chunk.mc); }
  [[nodiscard]] __device__ std::int64_t b_padded() const { return second_look_lines(look_.chunk.nc); }

  /// From now on: the operands as given, or equilibrated. Digits and rungs that are there stay if they are of these.
  __device__ void use(bool equilibrated) {
    if (equilibrated == is_equilibrated_) return;
    is_equilibrated_ = equilibrated;
    a_made_ = -1;
    b_made_ = -1;
    has_rungs_ = false;
  }

  __device__ __noinline__ void make(const Lines<T>& lines, const device::DeviceLineBuffers& line_buffers,
                                    std::int64_t first, std::int64_t count, const DigitRows& out,
                                    num::LineWeight* weights) {
    const num::LineStats* const stats = is_equilibrated_ ? line_buffers.equilibrated : line_buffers.stats;
    make_digits(lines, stats, is_equilibrated_ ? line_buffers.inner_shift : nullptr, first, count, out);
    for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
      weights[i] = line_buffers.line_weights != nullptr ? line_buffers.line_weights[first + i]
                                                        : num::line_weight(look_.ladder, stats[first + i]);
    }
  }

  /// Whether launch_block_rungs() has counted all pairs as given, with none left open: then digits and rungs are there.
  __device__ bool takes_counts() {
    if (state_.has_rungs != 0 && state_.has_open_sums == 0) {
      a_made_ = b_made_ = 0;
      has_rungs_ = true;
      return true;
    }
    if (state_.has_rungs != 0) {  // counted with gaps
      grid_barrier(state_);
      if (blockIdx.x == 0 && threadIdx.x <= num::kMaxRungs) state_.statistics.plain.pairs[threadIdx.x] = 0;
      grid_barrier(state_);
      a_made_ = b_made_ = 0;
    }
    return false;
  }

  /// What rungs are found with, once. Before a barrier of the block.
  __device__ __noinline__ void prepare_for_rungs() {
    if (is_prepared_) return;
    is_prepared_ = true;
    if (threadIdx.x <= num::kMaxRungs) shared_.histogram[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared_.ladder = look_.ladder;  // read at places that differ from lane to lane
    make_ratio_classes(shared_.ratio_classes, look_.ladder);
  }

  /// Finds the rung of every pair, chunk by chunk: counts them, or lists those above the selected rung.
  __device__ void visit_pairs(Purpose purpose) {
    for (std::int64_t i = 0; i < m(); i += look_.chunk.mc) {
      const std::int64_t num_i = std::min(look_.chunk.mc, m() - i);
      for (std::int64_t j = 0; j < n(); j += look_.chunk.nc) {
        const std::int64_t num_j = std::min(look_.chunk.nc, n() - j);
        if (!has_rungs_) find_rungs_of_chunk(i, num_i, j, num_j, purpose != Purpose::kList);
        if (purpose == Purpose::kList) list(i, num_i, j, num_j);
        if (purpose != Purpose::kList) {
          add_counts(shared_,
                     purpose == Purpose::kCountAsGiven ? state_.statistics.plain : state_.statistics.equilibrated);
        }
        const bool is_last = purpose == Purpose::kList && i + num_i == m() && j + num_j == n();
        if (!is_last) grid_barrier(state_);
      }
    }
    has_rungs_ = look_.chunk.mc >= m() && look_.chunk.nc >= n();
  }

  /// The rungs of all pairs of a chunk, in buffers.rungs. @param counts into shared_.histogram
  __device__ void find_rungs_of_chunk(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                                      bool counts) {
    const SecondLookBuffers& buffers = look_.buffers;
    prepare_for_rungs();
    if (a_made_ != i) {
      make(look_.a, look_.a_lines, i, num_i,
           {buffers.a_digits, buffers.a_scales, buffers.a_nonzero, a_padded(), kScaleShiftA}, buffers.a_weights);
      a_made_ = i;
    }
    if (b_made_ != j) {
      make(look_.b, look_.b_lines, j, num_j,
           {buffers.b_digits, buffers.b_scales, buffers.b_nonzero, b_padded(), kScaleShiftB<kParts>},
           buffers.b_weights);
      b_made_ = j;
    }
    grid_barrier(state_);
    const DigitLines a{buffers.a_digits, buffers.a_scales, buffers.a_nonzero, buffers.a_weights, num_i, a_padded()};
    const DigitLines b{buffers.b_digits, buffers.b_scales, buffers.b_nonzero, buffers.b_weights, num_j, b_padded()};
    const std::int64_t tile_rows = ceil_div(num_i, std::int64_t{Core::kRows});
    const std::int64_t tile_cols = ceil_div(num_j, std::int64_t{Core::kCols});
    for (std::int64_t index = blockIdx.x; index < tile_rows * tile_cols; index += gridDim.x) {
      const TilePlace tile = tile_place(index, tile_rows, tile_cols);
      const std::int64_t row = tile.row * Core::kRows;
      const std::int64_t col = tile.col * Core::kCols;
      const std::int64_t num_blocks = ceil_div(look_.a.length, kDigitBlock);
      const int blocks_of_term = blocks_of_scale(look_.a.length, kParts);
      find_rungs<Core, true>(look_.a.length, a, row, b, col, shared_, [&](auto& sums) {
        sum_blocks<Core>(a, row, b, col, 0, std::min(std::int64_t{num::kSegmentBlocks}, num_blocks), blocks_of_term,
                         shared_, sums);
        if (num_blocks <= num::kSegmentBlocks) return;
        float totals[Core::kParts][Core::kPairs];
#pragma unroll
        for (int s = 0; s < kParts * Core::kPairs; ++s)
          totals[s / Core::kPairs][s % Core::kPairs] = sums[s / Core::kPairs][s % Core::kPairs];
        add_segments<Core>(a, row, b, col, num_blocks, blocks_of_term, shared_, totals);
#pragma unroll
        for (int s = 0; s < kParts * Core::kPairs; ++s)
          sums[s / Core::kPairs][s % Core::kPairs] = totals[s / Core::kPairs][s % Core::kPairs];
      });
      std::uint8_t* const to = buffers.rungs + col * a_stride() + row;
      if (counts) {
        store_rungs<Core, true>(shared_, num_i - row, num_j - col, to, a_stride());
      } else {
        store_rungs<Core, false>(shared_, num_i - row, num_j - col, to, a_stride());
      }
      __syncthreads();
    }
    if (!counts) grid_barrier(state_);
  }

  /// Lists the pairs of a chunk above the selected rung.
  __device__ __noinline__ void list(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j) {
    const RungsAbove selected(shared_.selection.rung);
    const std::int64_t quads = a_stride() / 16;  // of a column; the columns follow one another
    const std::int64_t items = quads * num_j;
    const auto above_of = [&](std::int64_t item) {  // a byte each; those of rows beyond the last are anything
      const uint4 rungs = __ldcg(reinterpret_cast<const uint4*>(look_.buffers.rungs) + item);
      return uint4{selected.among(rungs.x), selected.among(rungs.y), selected.among(rungs.z), selected.among(rungs.w)};
    };
    const auto only_there = [&](uint4 above, std::int64_t item) {  // seldom: it divides
      const std::int64_t rows = num_i - item % quads * 16;
      const auto of_word = [&](std::uint32_t four, int first_row) {
        const std::int64_t there = rows - first_row;
        return there >= 4 ? four : there <= 0 ? 0 : four & ((1u << 8 * static_cast<int>(there)) - 1);
      };
      return uint4{of_word(above.x, 0), of_word(above.y, 4), of_word(above.z, 8), of_word(above.w, 12)};
    };
    constexpr int kAtOnce = 8;  // loads before the first use
    // The lanes of a warp go on together: they share the list's counter.
    for (std::int64_t first = grid_thread(); first - lane() < items; first += kAtOnce * grid_threads()) {
      uint4 above[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) above[u] = above_of(std::min(first + u * grid_threads(), items - 1));
      unsigned has_some = 0;  // one bit for each of those loads
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const bool is_there = first + u * grid_threads() < items;
        has_some |= is_there && (above[u].x | above[u].y | above[u].z | above[u].w) != 0 ? 1u << u : 0u;
      }
      if (!__any_sync(kFullWarp, has_some != 0)) continue;
      int count = 0;
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if ((has_some >> u & 1) == 0) continue;
        const uint4 there = only_there(above[u], first + u * grid_threads());
        count += __popc(there.x) + __popc(there.y) + __popc(there.z) + __popc(there.w);
      }
      std::uint64_t place = places_of_lane(state_.num_repairs, count);
      // Seldom: loaded again, for registers have no index.
      for (unsigned left = has_some; left != 0; left &= left - 1) {
        const std::int64_t item = first + (__ffs(static_cast<int>(left)) - 1) * grid_threads();
        const std::int64_t row = item % quads * 16;
        const uint4 words = only_there(above_of(item), item);
        for (int w = 0; w < 4; ++w) {
          std::uint32_t four = w < 2 ? (w == 0 ? words.x : words.y) : (w == 2 ? words.z : words.w);
          for (; four != 0; four &= four - 1)
            put_repair(look_, place++, i + row + 4 * w + (__ffs(static_cast<int>(four)) - 1) / 8, j + item / quads);
        }
      }
    }
  }

  __device__ void clear_bits() {
    for (std::int64_t w = grid_thread(); w < n() * ceil_div(m(), 32); w += grid_threads()) look_.repair_bits[w] = 0;
  }

  /// The same in every block.
  __device__ void choose(Purpose purpose) {
    const int rung = static_cast<int>(threadIdx.x);
    if (rung <= num::kMaxRungs) {  // all loads at once
      shared_.statistics.plain.pairs[rung] = __ldcg(&state_.statistics.plain.pairs[rung]);
      shared_.statistics.equilibrated.pairs[rung] = __ldcg(&state_.statistics.equilibrated.pairs[rung]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      num::Statistics& statistics = shared_.statistics;
      statistics.num_pairs = m() * n();
      statistics.has_equilibrated = purpose == Purpose::kCountEquilibrated;
      shared_.selection = look_.wants_all_pairs ? num::lowest_for_all(look_.ladder, statistics.plain)
                                                : num::select(look_.ladder, statistics);
    }
    __syncthreads();
  }

  /// Whether equilibrated operands must be looked at. The same in every block.
  __device__ bool wants_equilibration() {
    const num::Selection plain = shared_.selection;
    if (!num::may_equilibrate(look_.ladder, plain)) return false;
    return num::wants_equilibration(look_.ladder, plain, plain.rung < 0 ? 0 : equilibration_gain());
  }

  /// The first block tells the state what is chosen.
  __device__ void tell(Purpose purpose) {
    if (!is_first_thread()) return;
    state_.statistics.num_pairs = m() * n();
    state_.statistics.has_equilibrated = purpose == Purpose::kCountEquilibrated;
    const num::Selection selection = shared_.selection;
    state_.selection = selection;
    state_.num_products = selection.rung < 0 ? 0 : look_.planes_of_rung[selection.rung];
  }

  /// certify::equilibration_gain(). Its lines may have been measured beside the rungs.
  __device__ std::int32_t equilibration_gain() {
    if (state_.num_measured != kGainLines) {
      gather();
      grid_barrier(state_);
      for (int s = static_cast<int>(blockIdx.x); s < kGainLines; s += static_cast<int>(gridDim.x)) measure(s);
      grid_barrier(state_);
    }
    if (threadIdx.x < 32) {
      const std::int32_t of_a = median_of_warp(__ldcg(look_.buffers.gains + lane()));
      const std::int32_t of_b = median_of_warp(__ldcg(look_.buffers.gains + kOddLines + lane()));
      if (lane() == 0) shared_.gain = of_a + of_b;
    }
    __syncthreads();
    return shared_.gain;
  }
  __device__ __noinline__ void gather() {
    gather_relative_exponents<T>({look_.a, look_.a_lines.stats, look_.a_lines.inner_shift},
                                 {look_.b, look_.b_lines.stats, look_.b_lines.inner_shift}, grid_warp(), grid_warps(),
                                 &state_.least_difference, &state_.most_difference);
  }
  __device__ __noinline__ void measure(int s) {
    measure_gain<kThreads, 8>(look_, s, shared_.line, static_cast<int>(threadIdx.x), [] { __syncthreads(); });
  }

  /// equilibration_shifts() of the exponents that are in the shifts of both operands.
  __device__ void make_shifts() {
    std::int32_t* const a_shift = look_.a_lines.inner_shift;
    std::int32_t* const b_shift = look_.b_lines.inner_shift;
    const std::int64_t length = look_.a.length;
    grid_barrier(state_);
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    std::int32_t most = std::numeric_limits<std::int32_t>::min();
    for (std::int64_t h = grid_thread(); h < length; h += grid_threads()) {
      if (!is_live(a_shift[h], b_shift[h])) continue;
      least = std::min(least, a_shift[h] - b_shift[h]);
      most = std::max(most, a_shift[h] - b_shift[h]);
    }
    least = __reduce_min_sync(kFullWarp, least);
    most = __reduce_max_sync(kFullWarp, most);
    if (lane() == 0 && least <= most) {
      atomicMin(&state_.least_difference, least);
      atomicMax(&state_.most_difference, most);
    }
    grid_barrier(state_);
    for (std::int64_t h = grid_thread(); h < length; h += grid_threads()) {
      const std::int32_t d =
          equilibration_shift(a_shift[h], b_shift[h], state_.least_difference, state_.most_difference);
      a_shift[h] = -d;
      b_shift[h] = d;
    }
    grid_barrier(state_);
  }

  /// The largest exponents of elements h of all lines, in the place of the shifts.
  __device__ void find_inner_exponents() {
    for (std::int64_t h = grid_thread(); h < look_.a.length; h += grid_threads()) {
      look_.a_lines.inner_shift[h] = num::kNoExponent;
      look_.b_lines.inner_shift[h] = num::kNoExponent;
    }
    grid_barrier(state_);
    gather_inner_exponents(look_.a, look_.a_lines.inner_shift);
    gather_inner_exponents(look_.b, look_.b_lines.inner_shift);
  }

  /// Shifts of the inner index, and the statistics of the shifted operands; the same steps as on the host.
  __device__ void equilibrate() {
    grid_barrier(state_);  // whoever measured a gain has read the shifts
    if (is_first_thread()) {
      state_.least_difference = std::numeric_limits<std::int32_t>::max();
      state_.most_difference = std::numeric_limits<std::int32_t>::min();
    }
    clear_statistics(look_.a_lines, m());
    clear_statistics(look_.b_lines, n());
    find_inner_exponents();
    make_shifts();
    observe_equilibrated();
  }

  /// Exponents and sums of the shifted lines, whose statistics are clear.
  __device__ void observe_equilibrated() {
    const std::int32_t* const a_shift = look_.a_lines.inner_shift;
    const std::int32_t* const b_shift = look_.b_lines.inner_shift;
    observe_exponents(look_.a, look_.a_lines.stats, a_shift, look_.a_lines.equilibrated);
    observe_exponents(look_.b, look_.b_lines.stats, b_shift, look_.b_lines.equilibrated);
    grid_barrier(state_);
    add_magnitudes(look_.a, a_shift, look_.a_lines.equilibrated);
    add_magnitudes(look_.b, b_shift, look_.b_lines.equilibrated);
    grid_barrier(state_);
  }

  __device__ void clear_statistics(const device::DeviceLineBuffers& lines, std::int64_t num_lines) {
    for (std::int64_t i = grid_thread(); i < num_lines; i += grid_threads()) {
      num::LineStats stats;
      stats.is_finite = lines.stats[i].is_finite;
      lines.equilibrated[i] = stats;
    }
  }

  const SecondLook<T>& look_;
  device::DeviceState& state_;
  Shared<Core>& shared_;
  bool is_prepared_ = false;  ///< for rungs to be found
  bool is_equilibrated_ = false;
  bool has_rungs_ = false;    ///< of all pairs, in the buffers
  std::int64_t a_made_ = -1;  ///< first line of the chunk whose digits are there
  std::int64_t b_made_ = -1;
};

template <class T, class Core>
__global__ void __launch_bounds__(kThreads, 1) second_look_kernel(const __grid_constant__ SecondLook<T> look) {
  if (!base::code_has_room_for(kSharedBytes<Core>)) return __trap();
  base::follow_previous_kernel();
  if (!is_wanted(*look.state, look.task)) return;
  extern __shared__ __align__(1024) std::byte shared_memory[];
  Call<T, Core>(look, *aligned<Shared<Core>>(shared_memory)).run();
}

template <class T, class Core>
cudaError_t prepare(int& blocks) {
  const auto kernel = second_look_kernel<T, Core>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kSharedBytes<Core>));
  if (error != cudaSuccess) return error;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, kSharedBytes<Core>);
  return error == cudaSuccess && blocks == 0 ? cudaErrorCooperativeLaunchTooLarge : error;
}

template <class T, class Core>
Status launch(const SecondLook<T>& look, const base::DeviceLimits& limits, int num_sms, product::Queue queue) {
  constexpr const char* kWhat = "second look";
  static std::array<std::atomic<int>, 64> known{};
  const auto kernel = second_look_kernel<T, Core>;
  KIZAMI_RETURN_IF_ERROR(
      base::check_shared_bytes(kWhat, reinterpret_cast<const void*>(kernel), kSharedBytes<Core>, limits));
  const bool is_remembered = limits.device >= 0 && limits.device < static_cast<int>(known.size());
  int blocks = is_remembered ? known[static_cast<std::size_t>(limits.device)].load() : 0;
  if (blocks == 0) {
    KIZAMI_RETURN_IF_ERROR(base::cuda_status(prepare<T, Core>(blocks), kWhat));
    if (is_remembered) known[static_cast<std::size_t>(limits.device)] = blocks;
  }
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks * num_sms));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes<Core>;
  config.stream = queue;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return base::cuda_status(cudaLaunchKernelEx(&config, kernel, look), kWhat);
}

}  // namespace kizami::certify::second_look

namespace kizami::certify {

template <class T>
Status launch_second_look(const SecondLook<T>& look, int num_sms, product::Queue queue) {
  constexpr int kParts = static_cast<int>(problem::kTerms<T>);
  base::DeviceLimits limits;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(limits));
  if (second_look::has_room_for<second_look::MmaSyncCore<kParts>>(limits))
    return second_look::launch<T, second_look::MmaSyncCore<kParts>>(look, limits, num_sms, queue);
  return second_look::launch<T, second_look::MmaSyncCore<kParts, /*kIsNarrow=*/true>>(look, limits, num_sms, queue);
}

}  // namespace kizami::certify

#define KIZAMI_INSTANTIATE_SECOND_LOOK(T)                                                                        \
  template ::kizami::Status kizami::certify::launch_second_look<T>(const ::kizami::certify::SecondLook<T>&, int, \
                                                                   ::kizami::product::Queue)
