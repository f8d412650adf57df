// SPDX-License-Identifier: MIT
// Residue planes of whole operands or of chunks of them, at the rung of the call's state. A block takes pieces of some
// neighbouring lines through shared memory, a warp or two a line: elements become integers there, and while these
// become residues the next elements come. One launch takes one operand or both.
#include <algorithm>
#include <cstdint>

#include "base/cuda_status.hpp"
#include "base/device_limits.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/panel.cuh"
#include "device/state.cuh"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

using device::Element;
using kernels::LineScaling;
using kernels::PlaneRow;

constexpr int kBlocksPerSm = 2;
/// Elements of a line in a panel.
constexpr int kLength = device::kPanelLength / 2;
template <class T>
constexpr int kElementBytes = device::Panel<T>::bytes(kLength);
/// A panel as integers, which leave their elements' place to the next panel.
template <class T, int kWords>
constexpr int kIntegerBytes = device::Panel<T>::kLines*(kLength / 64) * kernels::Fragment<T, kWords>::kWarpBytes;
template <class T, int kWords>
constexpr bool kKeepsIntegers = kBlocksPerSm*(kElementBytes<T> + kIntegerBytes<T, kWords>) <= 216 * 1024;
template <class T>
constexpr int kSharedBytes = kElementBytes<T> +
                             std::max(kIntegerBytes<T, 2>, kKeepsIntegers<T, 3> ? kIntegerBytes<T, 3> : 0);
/// Whether a block of every card has so much: else integers are not kept where there is less.
template <class T>
constexpr bool kFitsEverywhere = kSharedBytes<T> + sizeof(PlaneRow<Element<T>::kTerms, kMostWords>) * num::kMaxPlanes <=
                                 99 * 1024;

/// One operand and what its blocks do.
template <class T>
struct Task {
  DeviceOperand<T> operand;  ///< lines end where the chunk does
  bool is_kept;              ///< as in KeptPlanes
  bool is_across;
  std::uint32_t pieces;      ///< of a line
  std::uint32_t num_panels;  ///< in all
};

template <class T>
struct Work {
  Task<T> tasks[2];
  std::int64_t first;
  num::Ladder ladder;
  const device::DeviceState* state;
  bool has_first_rung;
  PlaneCounts* counts;
};

/// Where a panel lies.
struct Place {
  bool is_second;  ///< operand
  std::int64_t first_line;
  std::int64_t at;  ///< in a row of the planes
};
template <class T>
[[nodiscard]] __device__ Place place_of(const Work<T>& work, std::uint32_t number) {
  const bool is_second = number >= work.tasks[0].num_panels;
  if (is_second) number -= work.tasks[0].num_panels;
  const std::uint32_t pieces = work.tasks[is_second ? 1 : 0].pieces;
  return {is_second, static_cast<std::int64_t>(number / pieces) * device::Panel<T>::kLines,
          static_cast<std::int64_t>(number % pieces) * kLength};
}

/// What a block has of a panel in shared memory.
template <class T>
struct Room {
  unsigned char* elements;
  unsigned char* integers;
  num::LineStats* stats;  ///< of its lines
};

template <class T>
[[nodiscard]] __device__ bool comes_in_chunks(const Work<T>& work, const Place& place) {
  const Task<T>& task = work.tasks[place.is_second ? 1 : 0];
  return task.is_across &&
         device::comes_in_chunks(task.operand.lines, place.first_line, work.first + place.at, kLength);
}

/// Enqueues the copies of a panel.
template <class T>
__device__ void load(const Work<T>& work, const num::Selection& selection, const Place& place, const Room<T>& to) {
  const Task<T>& task = work.tasks[place.is_second ? 1 : 0];
  const problem::Lines<T>& lines = task.operand.lines;
  const std::int64_t first = work.first + place.at;
  if (comes_in_chunks(work, place)) {
    device::load_chunks(lines, place.first_line, first, kLength, to.elements);
  } else {
    device::load_panel(lines, task.is_across, place.first_line, first, kLength, to.elements);
  }
  static_assert(sizeof(num::LineStats) % 16 == 0);
  constexpr int kOfLine = sizeof(num::LineStats) / 16;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto left = lines.num_lines - place.first_line;
  if (thread < device::Panel<T>::kLines * kOfLine && thread / kOfLine < left) {
    const device::DeviceLineBuffers& buffers = task.operand.line_buffers;
    const num::LineStats* const from = selection.equilibrated ? buffers.equilibrated : buffers.stats;
    device::copy_async<16>(static_cast<std::uint32_t>(__cvta_generic_to_shared(to.stats)) + 16 * threadIdx.x,
                           reinterpret_cast<const uint4*>(from + place.first_line) + thread, true);
  }
}

/// A panel whose copies have come, and what becomes of it. All threads of the block call all of it.
template <class T, int kWords>
class Panel {
  using P = device::Panel<T>;
  using F = kernels::Fragment<T, kWords>;

 public:
  __device__ Panel(const Work<T>& work, const num::Selection& selection, const Place& place, const Room<T>& from)
      : operand_(work.tasks[place.is_second ? 1 : 0].operand),
        num_planes_(num::num_planes(plan::ring_of(kScalarOf<T>), work.ladder.rungs[selection.rung].num_moduli)),
        at_(place.at),
        line_(place.first_line + warp() / P::kWarpsPerLine),
        length_(static_cast<int>(min(std::int64_t{kLength}, operand_.planes.row_stride - place.at))),
        elements_(from.elements + warp() / P::kWarpsPerLine * P::pitch(kLength)),
        integers_(from.integers + warp() / P::kWarpsPerLine * (kLength / 64) * F::kWarpBytes) {
    if constexpr (sizeof(T) < 16) {
      if (comes_in_chunks(work, place)) device::order_chunks<T, kLength>(kLength, from.elements);
    }
    __syncthreads();
    const device::DeviceLineBuffers& buffers = operand_.line_buffers;
    if (selection.equilibrated) inner_shift_ = buffers.inner_shift + work.first + at_;
    if (line_ >= operand_.lines.num_lines) return;
    const num::LineStats& stats = from.stats[warp() / P::kWarpsPerLine];
    scaling_ = LineScaling{line_scale(work.ladder.rungs[selection.rung], stats), !stats.is_zero()};
    if (at_ == 0 && threadIdx.x % (32 * P::kWarpsPerLine) == 0)
      buffers.scales[line_] = stats.is_finite ? scaling_.scale : num::kSkipLine;
  }

  /// Puts the integers where elements are no longer needed for them.
  __device__ void keep_integers() const {
    if (!is_there()) return;
    for (int h = begin(); h < length_; h += kStep) {
#pragma unroll
      for (int i = 0; i < 2; ++i) made(h, i).store(kept(h, i));
    }
  }
  __device__ void write_kept(const PlaneRow<Element<T>::kTerms, kWords>* rows) const {
    if (!is_there()) return;
    __syncwarp();
    kernels::write_line<T, kWords, /*kHasFours=*/true>([&](int h, int i) { return F::load(kept(h, i)); }, begin(),
                                                       length_, kStep, rows, num_planes_, out(),
                                                       operand_.planes.plane_stride);
  }
  /// From the elements.
  __device__ void write(const PlaneRow<Element<T>::kTerms, kWords>* rows) const {
    if (!is_there()) return;
    kernels::write_line_by_blocks<T, kWords, /*kHasFours=*/true>([&](int h, int i) { return made(h, i); }, begin(),
                                                                 length_, kStep, rows, num_planes_, out(),
                                                                 operand_.planes.plane_stride);
  }

 private:
  static constexpr int kStep = kernels::kBlockLength * P::kWarpsPerLine;

  [[nodiscard]] __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  [[nodiscard]] __device__ static int begin() { return kernels::kBlockLength * (warp() % P::kWarpsPerLine); }
  [[nodiscard]] __device__ bool is_there() const {  // or padding
    return line_ < base::round_up(operand_.lines.num_lines, device::kReadRows);
  }
  [[nodiscard]] __device__ unsigned char* kept(int h, int i) const { return integers_ + (h / 64 + i) * F::kWarpBytes; }
  [[nodiscard]] __device__ std::int8_t* out() const {
    return operand_.planes.data + line_ * operand_.planes.row_stride + at_;
  }
  [[nodiscard]] __device__ F made(int h, int i) const {
    h += kernels::pair_of_lane(i);
    Element<T> elements[2];
    device::read_pair(elements_, h, elements);
    return F(elements, operand_.lines.is_conjugated, scaling_, inner_shift_ == nullptr ? nullptr : inner_shift_ + h);
  }

  const DeviceOperand<T>& operand_;
  int num_planes_;
  std::int64_t at_;    ///< in a row of the planes
  std::int64_t line_;  ///< of this warp
  int length_;
  const unsigned char* elements_;
  unsigned char* integers_;
  LineScaling scaling_;
  const std::int32_t* inner_shift_ = nullptr;
};

[[nodiscard]] __device__ bool is_lowest_as_given(const num::Selection& selection) {
  return (selection.rung == 0) & !selection.equilibrated;
}

template <class T>
[[nodiscard]] __device__ bool is_done(const Task<T>& task, const num::Selection& selection) {
  if (task.is_kept && is_lowest_as_given(selection)) return true;
  return task.operand.done != nullptr && *task.operand.done != 0;
}

/// A block takes every gridDim-th panel of both operands.
template <class T, int kWords, bool kHasRoom>
__device__ void split_panels(const Work<T>& work, const num::Selection& selection) {
  constexpr int kTerms = Element<T>::kTerms;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ __align__(16) num::LineStats stats[device::Panel<T>::kLines];
  __shared__ PlaneRow<kTerms, kWords> rows[num::kMaxPlanes];
  const std::uint32_t of_first = work.tasks[0].num_panels;
  const std::uint32_t end = is_done(work.tasks[1], selection) ? of_first : of_first + work.tasks[1].num_panels;
  std::uint32_t number = (is_done(work.tasks[0], selection) ? of_first : 0) + blockIdx.x;
  if (number >= end) return;
  const Room<T> room{memory, memory + kElementBytes<T>, stats};
  load(work, selection, place_of(work, number), room);
  kernels::load_plane_rows(rows,
                           num::num_planes(plan::ring_of(kScalarOf<T>), work.ladder.rungs[selection.rung].num_moduli),
                           work.tasks[0].operand.planes.is_unsigned);
#pragma unroll 1
  while (number < end) {
    device::wait_for_copies();
    const Panel<T, kWords> panel(work, selection, place_of(work, number), room);
    number += gridDim.x;
    const auto load_next = [&] {
      __syncthreads();  // all have read what is there
      if (number < end) load(work, selection, place_of(work, number), room);
    };
    if constexpr (kHasRoom && kKeepsIntegers<T, kWords>) {
      panel.keep_integers();
      load_next();
      panel.write_kept(rows);
    } else {
      panel.write(rows);
      load_next();
    }
  }
}

/// kWordsAtMost: of the integers of the ladder's highest rung. Apart, so that the registers of the usual ones are not
/// those of more.
template <class T, int kWordsAtMost, bool kHasRoom>
__global__ void __launch_bounds__(device::kPanelThreads, kBlocksPerSm)
    split_residues(const __grid_constant__ Work<T> work) {
  base::follow_previous_kernel();
  const num::Selection selection = device::newest_selection(*work.state);
  const bool is_scaling_only = work.state->is_scaling_only != 0;
  if (work.counts != nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
    const std::int32_t count = __ldcg(&work.state->num_products);
    *work.counts = is_lowest_as_given(selection) ? PlaneCounts{count, 0} : PlaneCounts{0, count};
  }
  const bool has_first_rung = work.has_first_rung & (work.state->look != device::Look::kBlocksFirst);
  const bool is_there = has_first_rung & (selection.rung == work.state->first_rung) & !selection.equilibrated;
  if ((selection.rung < 0) | is_scaling_only | is_there) return;
  base::read_no_older_copy();  // of shifts and statistics that the second look made anew
  const int words = words_of(work.ladder.rungs[selection.rung]);
  if (words == 2) {
    split_panels<T, 2, kHasRoom>(work, selection);
  } else if (words == 3) {
    if constexpr (kWordsAtMost >= 3) split_panels<T, 3, kHasRoom>(work, selection);
  } else {
    if constexpr (kWordsAtMost > 3) split_panels<T, kMostWords, kHasRoom>(work, selection);
  }
}

}  // namespace

template <class T>
Status device_residue_planes(std::span<const DeviceOperand<T>> operands, std::int64_t first, std::int64_t length,
                             const num::Ladder& ladder, const device::DeviceState* state, bool has_first_rung,
                             int num_sms, product::Queue queue, const KeptPlanes& kept) {
  using P = device::Panel<T>;
  Work<T> work{{}, first, ladder, state, has_first_rung, kept.counts};
  unsigned panels = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Task<T>& task = work.tasks[i];
    task.operand = operands[i];
    task.is_kept = kept.are_kept[i];
    task.operand.lines.length = first + length;
    task.is_across = device::lies_across(operands[i].lines);
    task.pieces = static_cast<std::uint32_t>(base::ceil_div(operands[i].planes.row_stride, std::int64_t{kLength}));
    const std::int64_t lines = base::round_up(operands[i].lines.num_lines, device::kReadRows);
    task.num_panels = task.pieces * static_cast<std::uint32_t>(base::ceil_div(lines, std::int64_t{P::kLines}));
    panels += task.num_panels;
  }
  if (panels == 0) return {};
  const auto start = [&](auto kernel, int shared_bytes) -> Status {
    KIZAMI_RETURN_IF_ERROR(
        base::cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
                          "shared memory of the residues"));
    // No more blocks than run at once: if there is nothing to do, they are what it costs.
    const unsigned grid = std::min(panels, static_cast<unsigned>(kBlocksPerSm * num_sms));
    return base::launch_overlapped("split_residues", kernel, grid, device::kPanelThreads,
                                   static_cast<std::size_t>(shared_bytes), queue, work);
  };
  const int words = words_of(ladder.rungs[ladder.num_rungs - 1]);
  if constexpr (!kFitsEverywhere<T>) {
    base::DeviceLimits limits;
    KIZAMI_RETURN_IF_ERROR(base::find_device_limits(limits));
    if (limits.shared_bytes < 128 * 1024) {
      return words <= 3 ? start(split_residues<T, 3, false>, kElementBytes<T>)
                        : start(split_residues<T, kMostWords, false>, kElementBytes<T>);
    }
  }
  return words <= 3 ? start(split_residues<T, 3, true>, kSharedBytes<T>)
                    : start(split_residues<T, kMostWords, true>, kSharedBytes<T>);
}

#define KIZAMI_INSTANTIATE(T)                                                                                         \
  template Status device_residue_planes<T>(std::span<const DeviceOperand<T>>, std::int64_t, std::int64_t,             \
                                           const num::Ladder&, const device::DeviceState*, bool, int, product::Queue, \
                                           const KeptPlanes&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
