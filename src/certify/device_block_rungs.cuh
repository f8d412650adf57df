// SPDX-License-Identifier: MIT
// The rungs of all pairs as given: a kernel makes the digits of both operands, unless the split has, another one their
// products and rungs, and those of its warps that find rungs the gain of equilibration, where that may be wanted.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/code_capability.hpp"
#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/device_block_digits.cuh"
#include "certify/device_block_sums.cuh"
#include "certify/device_block_sums_sm80.cuh"
#include "certify/device_block_sums_sm90.cuh"
#include "certify/device_gain_beside.cuh"
#include "certify/device_second_look.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"

namespace kizami::certify::second_look {

inline constexpr int kDigitThreads = 256;
inline constexpr int kDigitBlocksPerSm = 2;

/// blockIdx.y: the operand.
template <class T>
__global__ void __launch_bounds__(kDigitThreads, kDigitBlocksPerSm)
    block_digits(const __grid_constant__ SecondLook<T> look) {
  base::follow_previous_kernel();
  if (!is_wanted(*look.state) || look.state->look != device::Look::kSample) return;  // the split has made them
  const bool is_a = blockIdx.y == 0;
  const Lines<T>& lines = is_a ? look.a : look.b;
  const device::DeviceLineBuffers& of_lines = is_a ? look.a_lines : look.b_lines;
  const SecondLookBuffers& to = look.buffers;
  make_digits(
      lines, of_lines.stats, nullptr, 0, lines.num_lines,
      DigitRows{is_a ? to.a_digits : to.b_digits, is_a ? to.a_scales : to.b_scales, is_a ? to.a_nonzero : to.b_nonzero,
                second_look_lines(lines.num_lines), is_a ? kScaleShiftA : kScaleShiftB<static_cast<int>(kTerms<T>)>});
  num::LineWeight* const weights = is_a ? to.a_weights : to.b_weights;
  for (std::int64_t i = grid_thread(); i < lines.num_lines; i += grid_threads()) {
    weights[i] =
        of_lines.line_weights != nullptr ? of_lines.line_weights[i] : num::line_weight(look.ladder, of_lines.stats[i]);
  }
}

/// Whether most tiles are probably of the lowest rung: asking the others costs time.
[[nodiscard]] __device__ inline bool may_be_of_lowest_rung(const device::DeviceState& state, std::int64_t num_pairs) {
  return (state.look == device::Look::kBlocks && state.first_rung == 0) ||
         (state.look == device::Look::kSample && state.sampled_failures < static_cast<std::uint64_t>(num_pairs) / 8);
}

/// What all cores ask of the lines.
struct PairsOfLines {
  DigitLines a;
  DigitLines b;
  std::int64_t length;  ///< elements of a line
};

/// The first lines of the n-th tile of this block of threads.
template <class Core>
[[nodiscard]] __device__ __forceinline__ TilePlace place_of_tile(const PairsOfLines& lines, int n) {
  const TilePlace tile =
      tile_place(std::int64_t{n} * gridDim.x + blockIdx.x, ceil_div(lines.a.num_lines, std::int64_t{Core::kRows}),
                 ceil_div(lines.b.num_lines, std::int64_t{Core::kCols}));
  return {tile.row * Core::kRows, tile.col * Core::kCols};
}

/// Of the pairs of a tile.
template <class Core, class T>
__device__ __forceinline__ void clear_repair_bits(const SecondLook<T>& look, std::int64_t row, std::int64_t col) {
  if (look.repair_bits == nullptr) return;  // all pairs must be certified
  constexpr int kWords = Core::kRows / 32;
  static_assert(Core::kRows % 32 == 0);
  const std::int64_t words_of_column = ceil_div(look.a.num_lines, 32);
  for (int item = static_cast<int>(threadIdx.x); item < Core::kCols * kWords; item += Core::kThreads) {
    const std::int64_t word = row / 32 + item % kWords;
    const std::int64_t j = col + item / kWords;
    if (word < words_of_column && j < look.b.num_lines) look.repair_bits[j * words_of_column + word] = 0;
  }
}

/// The tiles of a block of threads by mma.sync: one after another.
template <class T, class Core>
__device__ __forceinline__ void find_rungs_sm80(const SecondLook<T>& look, const PairsOfLines& lines, int num_tiles,
                                                std::byte* memory) {
  device::DeviceState& state = *look.state;
  Shared<Core>& shared = *aligned<Shared<Core>>(memory);
  if (threadIdx.x <= num::kMaxRungs) shared.histogram[threadIdx.x] = 0;
  if (threadIdx.x == 0) shared.ladder = look.ladder;
  make_ratio_classes(shared.ratio_classes, look.ladder);
  __syncthreads();
  const std::int64_t num_blocks = ceil_div(lines.length, kDigitBlock);
  const int blocks_of_term = blocks_of_scale(lines.length, Core::kParts);
  const std::int64_t stride = base::round_up(lines.a.num_lines, kSecondLookPad);
  bool has_open = false;
  for (int tile = 0; tile < num_tiles; ++tile) {
    const TilePlace place = place_of_tile<Core>(lines, tile);
    has_open |= find_rungs<Core, false>(lines.length, lines.a, place.row, lines.b, place.col, shared, [&](auto& sums) {
      sum_blocks<Core>(lines.a, place.row, lines.b, place.col, 0, num_blocks, blocks_of_term, shared, sums);
    });
    store_rungs<Core, true>(shared, lines.a.num_lines - place.row, lines.b.num_lines - place.col,
                            look.buffers.rungs + place.col * stride + place.row, stride);
    clear_repair_bits<Core>(look, place.row, place.col);
    Core::sync();
  }
  add_counts(shared, state.statistics.plain);
  if (threadIdx.x == 0 && has_open) atomicOr(&state.has_open_sums, 1u);
}

/// The tiles of a block of threads by wgmma: some warps copy digits, some add, some find the rungs of the tile before.
/// @param kHasGain  the gain of equilibration is found meanwhile
template <class T, class Core, bool kHasGain>
__device__ __forceinline__ void find_rungs_sm90(const SecondLook<T>& look, const PairsOfLines& lines, int num_tiles,
                                                std::byte* memory) {
  device::DeviceState& state = *look.state;
  StreamShared<Core>& shared = *aligned<StreamShared<Core>>(memory);
  FinderShared<Core>& finders = shared.finders;
  if (threadIdx.x <= kNoPair) finders.histogram[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    finders.ladder = look.ladder;
    begin_stream(shared);
  }
  make_ratio_classes(finders.classes, look.ladder);
  __syncthreads();
  const auto steps = static_cast<int>(second_look_steps(lines.length, Core::kParts));
  const bool asks = may_be_of_lowest_rung(state, lines.a.num_lines * lines.b.num_lines);
  if (threadIdx.x < Core::kThreads) {
    StepSums<Core> step_sums(steps, asks, shared);
    const typename Core::Place place;
    for (int tile = 0; tile < num_tiles; ++tile) {
      float sums[Core::kParts][Core::kPairs] = {};
      const int unread = step_sums.sum_tile(sums, [&](const auto& so_far) {
        return has_lowest_rung<Core>(look.ladder.rungs[0].allowance, finders.weights_of(tile), place, so_far);
      });
      hand_over<Core>(tile, unread != 0, sums, place, finders);
      if (threadIdx.x == 0 && unread != 0)
        atomicAdd(as_counter(&state.num_unread_steps), static_cast<unsigned long long>(unread));
    }
    return;
  }
  const int thread = static_cast<int>(threadIdx.x) - Core::kThreads - 32;
  if (thread < 0) {
    if (lane() == 0) {
      copy_steps(lines.a, lines.b, steps, num_tiles, asks, shared, [&](int tile, std::int64_t& row, std::int64_t& col) {
        const TilePlace place = place_of_tile<Core>(lines, tile);
        row = place.row;
        col = place.col;
      });
    }
    return;
  }
  RungFinder<T, Core> finder(thread, look, lines.a, lines.b, finders);
  TilePlace place = place_of_tile<Core>(lines, 0);
  finder.begin(place);
  GainBeside<T, kFinderThreads, kFinderBarrier> gain(thread, look, finders.line);
  if constexpr (kHasGain) gain.gather();
  for (int tile = 0; tile < num_tiles; ++tile) {
    // All blocks gather at about the same time, if all run.
    if constexpr (kHasGain) gain.measure(/*tries=*/tile == 0 ? 50 : 1);
    const TilePlace next = tile + 1 < num_tiles ? place_of_tile<Core>(lines, tile + 1) : place;
    finder.find(tile, place, next);
    place = next;
  }
  if (finder.has_open()) atomicOr(&state.has_open_sums, 1u);
  base::named_barrier_sync(kFinderBarrier, kFinderThreads);
  if (thread <= num::kMaxRungs && finders.histogram[thread] != 0)
    atomicAdd(as_counter(&state.statistics.plain.pairs[thread]),
              static_cast<unsigned long long>(finders.histogram[thread]));
}

/// Shared memory of a block of threads.
template <class Core>
[[nodiscard]] constexpr std::size_t rungs_bytes() {
  if constexpr (Core::kIsWgmma) {
    return sizeof(StreamShared<Core>) + alignof(StreamShared<Core>);
  } else {
    return kSharedBytes<Core>;
  }
}
template <class Core>
inline constexpr std::size_t kRungsBytes = rungs_bytes<Core>();

template <class T, class Core, bool kHasGain>
__global__ void __launch_bounds__(Core::kBlockThreads, 1) block_rungs(const __grid_constant__ SecondLook<T> look) {
  if (!base::code_has_room_for(kRungsBytes<Core>)) return __trap();
  base::follow_previous_kernel();
  if (!is_wanted(*look.state)) return;
  extern __shared__ __align__(1024) std::byte shared_memory[];
  const SecondLookBuffers& buffers = look.buffers;
  const std::int64_t m = look.a.num_lines;
  const std::int64_t n = look.b.num_lines;
  const PairsOfLines lines{
      {buffers.a_digits, buffers.a_scales, buffers.a_nonzero, buffers.a_weights, m, second_look_lines(m)},
      {buffers.b_digits, buffers.b_scales, buffers.b_nonzero, buffers.b_weights, n, second_look_lines(n)},
      look.a.length};
  const std::int64_t tiles = ceil_div(m, std::int64_t{Core::kRows}) * ceil_div(n, std::int64_t{Core::kCols});
  const auto num_tiles = static_cast<int>(ceil_div(tiles - blockIdx.x, std::int64_t{gridDim.x}));
  if constexpr (Core::kIsWgmma) {
    find_rungs_sm90<T, Core, kHasGain>(look, lines, num_tiles, shared_memory);
  } else {
    find_rungs_sm80<T, Core>(look, lines, num_tiles, shared_memory);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) look.state->has_rungs = 1;
}

/// Gives a kernel its shared memory, once a device.
template <class T, class Core, bool kHasGain>
cudaError_t prepare_block_rungs(int device) {
  static std::array<std::atomic<bool>, 64> is_prepared{};
  const bool is_remembered = device >= 0 && device < static_cast<int>(is_prepared.size());
  if (is_remembered && is_prepared[static_cast<std::size_t>(device)].load()) return cudaSuccess;
  const cudaError_t error = cudaFuncSetAttribute(
      block_rungs<T, Core, kHasGain>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kRungsBytes<Core>));
  if (error == cudaSuccess && is_remembered) is_prepared[static_cast<std::size_t>(device)] = true;
  return error;
}

template <class T, class Core, bool kHasGain>
Status launch_rungs(const SecondLook<T>& look, int device, int num_sms, product::Queue queue) {
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(prepare_block_rungs<T, Core, kHasGain>(device), "block_rungs"));
  const std::int64_t tiles =
      ceil_div(look.a.num_lines, std::int64_t{Core::kRows}) * ceil_div(look.b.num_lines, std::int64_t{Core::kCols});
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(tiles, num_sms));
  return base::launch_overlapped("block_rungs", block_rungs<T, Core, kHasGain>, dim3(blocks), dim3(Core::kBlockThreads),
                                 kRungsBytes<Core>, queue, look);
}

}  // namespace kizami::certify::second_look

namespace kizami::certify {

template <class T>
Status launch_block_rungs(const SecondLook<T>& look, int num_sms, product::Queue queue, DigitCore core) {
  using namespace second_look;
  constexpr int kParts = static_cast<int>(problem::kTerms<T>);
  const bool is_whole = look.chunk.mc >= look.a.num_lines && look.chunk.nc >= look.b.num_lines;
  if (!is_whole || look.a.length > num::kSegmentBlocks * num::kDigitBlock) return {};
  base::DeviceLimits limits;
  KIZAMI_RETURN_IF_ERROR(base::find_device_limits(limits));
  const int device = limits.device;
  if (!look.has_digits) {
    KIZAMI_RETURN_IF_ERROR(base::launch_overlapped("block_digits", block_digits<T>,
                                                   dim3(static_cast<unsigned>(kDigitBlocksPerSm * num_sms), 2),
                                                   dim3(kDigitThreads), 0, queue, look));
  }
  if (!limits.has_wgmma() || core == DigitCore::kMmaSync) {
    if (has_room_for<MmaSyncCore<kParts>>(limits))
      return launch_rungs<T, MmaSyncCore<kParts>, false>(look, device, num_sms, queue);
    return launch_rungs<T, MmaSyncCore<kParts, /*kIsNarrow=*/true>, false>(look, device, num_sms, queue);
  }
  // What is measured of longer lines takes longer than a tile.
  constexpr std::int64_t kMostLength = 4096;
  const bool has_gain = look.may_want_gain && look.has_digits && look.ladder.may_equilibrate && !look.wants_all_pairs &&
                        look.a.length <= kMostLength;
  const auto launch = [&](auto core_of_device) {
    using Core = decltype(core_of_device);
    return has_gain ? launch_rungs<T, Core, true>(look, device, num_sms, queue)
                    : launch_rungs<T, Core, false>(look, device, num_sms, queue);
  };
  if constexpr (kParts == 1) {
    if (blocks_of_scale(look.a.length, kParts) == 2) return launch(WgmmaCore<kParts, 2>{});
  }
  return launch(WgmmaCore<kParts, 1>{});
}

}  // namespace kizami::certify

#define KIZAMI_INSTANTIATE_BLOCK_RUNGS(T)                           \
  template ::kizami::Status kizami::certify::launch_block_rungs<T>( \
      const ::kizami::certify::SecondLook<T>&, int, ::kizami::product::Queue, ::kizami::certify::DigitCore)
