// SPDX-License-Identifier: MIT
// Sums of quadrants, for the kernels that write planes of what Strassen's products take: a block has pieces of some lines
// of both halves, of both halves of k, and so all that it adds.
#pragma once

#include <cstdint>
#include <utility>

#include "device/panel.cuh"
#include "problem/lines.hpp"
#include "schemes/ozaki2/device_pass_digits.cuh"
#include "schemes/ozaki2/device_residue_rows.cuh"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/strassen.hpp"

namespace kizami::ozaki2::kernels {

inline constexpr int kQuadrantWords = 2;  ///< of an integer
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
[[nodiscard]] __device__ Fragment<T, kQuadrantWords> sum_of_quadrants(const Quadrant& quadrant) {
  constexpr int kSigns[4] = {strassen_sign(s, 0), strassen_sign(s, 1), strassen_sign(s, 2), strassen_sign(s, 3)};
  constexpr int kFirst = kSigns[0] == 1 ? 0 : kSigns[1] == 1 ? 1 : kSigns[2] == 1 ? 2 : 3;
  constexpr int kCount = (kSigns[0] != 0) + (kSigns[1] != 0) + (kSigns[2] != 0) + (kSigns[3] != 0);
  Fragment<T, kQuadrantWords> sum = quadrant(kFirst);
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    if (q == kFirst || kSigns[q] == 0) continue;
    const Fragment<T, kQuadrantWords> other = quadrant(q);
#pragma unroll
    for (int k = 0; k < Fragment<T, kQuadrantWords>::kProducts; ++k) {
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

/// A line of the panel becomes its integers, each lane's next to those of its neighbours; with the signs of B in the first
/// half of k (strassen.hpp). By the warps of the line, of which this is number `part`.
template <class T>
__device__ __forceinline__ void convert_line(unsigned char* piece, int half, int part, bool is_second,
                                             bool is_conjugated, const LineScaling& scaling) {
  using F = Fragment<T, kQuadrantWords>;
  static_assert(F::kRestBytes == 0, "sums of quadrants are made from fragments in the place of elements");
  constexpr int kStep = kBlockLength * device::Panel<T>::kWarpsPerLine;
  const auto is_negated = [&](int h) { return is_second && h < half; };
  if (scaling.unit != 0.0) {  // integers are odd functions of a number
    convert_blocks<T, kQuadrantWords, kBlocksAtOnce<T>>(
        piece, nullptr, kBlockLength * part, 2 * half, kStep, [&](int h, const device::Element<T>(&elements)[2]) {
          return F(elements, is_conjugated, is_negated(h) ? -scaling.unit : scaling.unit);
        });
  } else {
    convert_blocks<T, kQuadrantWords, 1>(piece, nullptr, kBlockLength * part, 2 * half, kStep,
                                         [&](int h, const device::Element<T>(&elements)[2]) {
                                           F fragment(elements, is_conjugated, scaling, nullptr);
                                           if (is_negated(h)) negate(fragment);
                                           return fragment;
                                         });
  }
}

/// The planes of all sums of the panel's integers, by all threads of the block. @param rows  in shared memory
template <class T>
__device__ __forceinline__ void write_sums(const unsigned char* panel, const QuadrantPanel<T>& at, bool is_second,
                                           const PlaneRow<device::Element<T>::kTerms, kQuadrantWords>* rows,
                                           int num_planes, const DevicePlanes& planes) {
  using P = device::Panel<T>;
  using F = Fragment<T, kQuadrantWords>;
  constexpr int kPairs = QuadrantPanel<T>::kPairs;
  const int half = at.half;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int pair = warp % kPairs;
  constexpr int kStep = kBlockLength * (device::kPanelWarps / kPairs);
  const int begin = kBlockLength * (warp / kPairs);
  const auto end = static_cast<int>(min(static_cast<std::int64_t>(half), planes.row_stride - at.first));
  const unsigned char* const upper = panel + pair * P::pitch(2 * half);
  const unsigned char* const lower = upper + kPairs * P::pitch(2 * half);
  std::int8_t* const out = planes.data + (at.first_line + pair) * planes.row_stride + at.first + begin;
  for_planes</*kHasFours=*/false>(num_planes, [&](int plane, auto at_once) {
    using Planes = LanePlanes<T, kQuadrantWords, at_once.value>;
    const Planes lane_planes(rows, plane, num_planes);
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

}  // namespace kizami::ozaki2::kernels
