// SPDX-License-Identifier: MIT
// Sums of quadrants, for the kernels that write planes of what Strassen's products take: a block has pieces of some lines
// of both halves, of both halves of k, and so all that it adds.
#pragma once

#include <cstdint>

#include "base/code_capability.hpp"
#include "device/panel.cuh"
#include "problem/lines.hpp"
#include "schemes/ozaki2/device_pass_digits.cuh"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::ozaki2::kernels {

/// Of an integer, which takes the place of the number: may_take_strassen() sees that it fits.
template <class T>
inline constexpr int kQuadrantWords = sizeof(RealOf<T>) == 8 ? 2 : 1;
/// As many as panels leave room for: with two, whose warps have all registers that they want, the split of complex FP64 numbers
/// takes a sixth longer (docs/perf/strassen.md).
inline constexpr int kQuadrantBlocksPerSm = 3;

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
  const auto for_halves = [&](const auto& copy) {
#pragma unroll 1
    for (int x = 0; x < 2; ++x) {
      const int count = is_line ? at.count(x, lines.length) : 0;
      copy(count, at.element(x * at.half), to + slot * pitch + x * at.half * static_cast<int>(sizeof(T)));
    }
  };
  if (is_across) {
    const int first_h = thread / P::kLines;
    for_halves([&](int count, std::int64_t first, std::uint32_t piece) {
      const T* const from = count > 0 ? line + (first + first_h) * lines.inner_stride : lines.data;
      const std::uint32_t place = piece + first_h * static_cast<int>(sizeof(T));
      device::copy_across<T, P, 4>(lines, from, place, first_h, count, at.half);
    });
    return;
  }
  const bool has_chunks =
      lines.inner_stride == 1 && reinterpret_cast<std::uintptr_t>(line + at.first) % 16 == 0;  // half_k keeps it
  for_halves([&](int count, std::int64_t first, std::uint32_t piece) {
    const T* const from = count > 0 ? line + first * lines.inner_stride : lines.data;
    device::copy_along<T, P>(lines, from, has_chunks, piece, thread % (32 * P::kWarpsPerLine), count, at.half);
  });
}

// A round is 64 elements of which lane l takes 2l and 2l + 1: their residues are eight neighbours of each plane in four lanes.
inline constexpr int kRoundLength = 64;

/// Rounds of a line's piece become fragments, in their place, `step` apart, kAtOnce at a time.
/// @param make(h, elements)  of elements of the round that begins at h  @range end a multiple of kAtOnce * step, begin < step
template <class T, int kAtOnce, class Make>
__device__ __forceinline__ void convert_rounds(unsigned char* piece, int begin, int end, int step, const Make& make) {
  using F = Fragment<T, kQuadrantWords<T>>;
  static_assert(F::kRestBytes == 0, "sums of quadrants are made from fragments in the place of elements");
  const int pair = 2 * (static_cast<int>(threadIdx.x) % 32);
#pragma unroll 1
  for (int first = begin; first < end; first += kAtOnce * step) {
    device::Element<T> elements[kAtOnce][2];
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const unsigned char* const from = piece + (first + r * step) * static_cast<int>(sizeof(T));
      if constexpr (sizeof(T) == 16) {
        device::read_pair_in_turn(from, pair, elements[r]);
      } else {
        device::read_pair(from, pair, elements[r]);
      }
    }
    F fragments[kAtOnce];
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) fragments[r] = make(first + r * step, elements[r]);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) fragments[r].store(piece + (first + r * step) * static_cast<int>(sizeof(T)));
  }
}

/// A line of the panel becomes its integers, with the signs of its quadrants. By the warps of the line, of which this is number
/// `part`. @param half_of_lines  the line's
template <class T>
__device__ __forceinline__ void convert_line(unsigned char* piece, int half, int part, bool is_b, int half_of_lines,
                                             bool is_conjugated, const LineScaling& scaling) {
  using F = Fragment<T, kQuadrantWords<T>>;
  constexpr int kWarpsPerLine = device::Panel<T>::kWarpsPerLine;
  constexpr int kStep = kRoundLength * kWarpsPerLine;
  const auto is_negative = [&](int h) { return is_quadrant_negative(is_b, half_of_lines, h < half ? 0 : 1); };
  const int begin = kRoundLength * part;
  if (scaling.unit != 0.0) {  // integers are odd functions of a number
    constexpr int kAtOnce = sizeof(T) == 16 || kIsComplex<T> ? 2 : 4;
    static_assert(2 * kBlockLength % (kAtOnce * kStep) == 0);
    convert_rounds<T, kAtOnce>(piece, begin, 2 * half, kStep, [&](int h, const device::Element<T>(&elements)[2]) {
      return F(elements, is_conjugated, is_negative(h) ? -scaling.unit : scaling.unit);
    });
  } else {
    convert_rounds<T, 1>(piece, begin, 2 * half, kStep, [&](int h, device::Element<T>(&elements)[2]) {
      if (is_negative(h)) {
#pragma unroll
        for (device::Element<T>& element : elements) {
#pragma unroll
          for (double& x : element.term) x = -x;
        }
      }
      return F(elements, is_conjugated, scaling, nullptr);
    });
  }
}

/// write_sums() of planes of such residues.
template <Residues kResidues, class T>
__device__ __forceinline__ void write_planes_of_sums(
    const unsigned char* panel, const QuadrantPanel<T>& at, bool is_b,
    const PlaneRow<device::Element<T>::kTerms, kQuadrantWords<T>>* rows, int num_planes, const DevicePlanes& planes) {
  using P = device::Panel<T>;
  using F = Fragment<T, kQuadrantWords<T>>;
  constexpr int kPairs = QuadrantPanel<T>::kPairs;
  const int half = at.half;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int pair = warp % kPairs;
  constexpr int kStep = kRoundLength * (device::kPanelWarps / kPairs);
  const int begin = kRoundLength * (warp / kPairs);
  const auto end = static_cast<int>(min(static_cast<std::int64_t>(half), planes.row_stride - at.first));
  const unsigned char* const upper = panel + pair * P::pitch(2 * half);
  const unsigned char* const lower = upper + kPairs * P::pitch(2 * half);
  std::int8_t* const out = planes.data + (at.first_line + pair) * planes.row_stride + at.first + begin;
  for_planes</*kHasFours=*/false>(num_planes, [&](int plane, auto at_once) {
    using Planes = LanePlanes<T, kQuadrantWords<T>, at_once.value, typename F::Loaded>;
    using ResiduePairs = typename Planes::ResiduePairs;
    const Planes lane_planes(rows, plane, num_planes);
    const std::int64_t modulus_stride = kStrassenProducts * planes.plane_stride;
    std::int8_t* to[2] = {lane_planes.place_of_round(0, out, modulus_stride),
                          lane_planes.place_of_round(1, out, modulus_stride)};
#pragma unroll 1
    for (int h = begin; h < end; h += kStep) {
      const auto take_quadrant = [&](int q, ResiduePairs& residues) {
        typename Planes::Sums sums;
        lane_planes.start(F::load((q < 2 ? upper : lower) + (q % 2 * half + h) * static_cast<int>(sizeof(T))), sums);
        lane_planes.reduce(sums, residues);
      };
      const auto write = [&](int s, const ResiduePairs& residues) {
        typename Planes::Half bytes;
        lane_planes.template pack<kResidues>(residues, bytes);
        const std::int64_t product = (is_b ? strassen_product_of_b(s) : s) * planes.plane_stride;
#pragma unroll
        for (int c = 0; c < 2; ++c) lane_planes.store_round(c, to[c] + product, bytes);
      };
      // Sums by number, of the quadrants that has_quadrant() says.
      static_assert(has_quadrant(4, 3) && has_quadrant(4, 2) && !has_quadrant(4, 0) && has_quadrant(5, 0) &&
                    has_quadrant(2, 1) && has_quadrant(6, 0) && has_quadrant(6, 2));
      ResiduePairs sum;
      ResiduePairs second;
      ResiduePairs other;
      take_quadrant(3, sum);
      write(3, sum);
      take_quadrant(2, second);
      lane_planes.add(second, sum);
      write(4, sum);
      take_quadrant(0, other);
      write(0, other);
      lane_planes.add(other, sum);
      write(5, sum);
      lane_planes.add(other, second);
      write(6, second);
      take_quadrant(1, other);
      write(1, other);
      lane_planes.add(other, sum);
      write(2, sum);
      to[0] += kStep;
      to[1] += kStep;
    }
  });
}

/// The planes of all sums of the panel's quadrants, by all threads of the block: quadrants have residues, and those are added.
/// @param rows  of Residues::kUnsigned, in shared memory
template <class T>
__device__ __forceinline__ void write_sums(const unsigned char* panel, const QuadrantPanel<T>& at, bool is_b,
                                           const PlaneRow<device::Element<T>::kTerms, kQuadrantWords<T>>* rows,
                                           int num_planes, const DevicePlanes& planes) {
  static_assert(base::code_has_unsigned_planes() || !base::code_has_quadrants(), "rows have residues without sign");
  if (planes.is_unsigned) {
    write_planes_of_sums<Residues::kUnsigned>(panel, at, is_b, rows, num_planes, planes);
  } else {
    write_planes_of_sums<Residues::kSymmetric>(panel, at, is_b, rows, num_planes, planes);
  }
}

}  // namespace kizami::ozaki2::kernels
