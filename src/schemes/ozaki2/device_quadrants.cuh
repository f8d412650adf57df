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

// strassen.hpp's tables where the sum is known only while the kernel runs: without memory.
[[nodiscard]] constexpr std::uint64_t pack_signs() {
  std::uint64_t packed = 0;
  for (int s = 0; s < kStrassenProducts; ++s) {
    for (int q = 0; q < 4; ++q) packed |= static_cast<std::uint64_t>(strassen_sign(s, q) + 1) << (8 * s + 2 * q);
  }
  return packed;
}
[[nodiscard]] __device__ inline int packed_sign(int s, int quadrant) {
  constexpr std::uint64_t kSigns = pack_signs();
  return static_cast<int>(kSigns >> (8 * s + 2 * quadrant) & 3) - 1;
}
[[nodiscard]] constexpr std::uint32_t pack_products_of_b() {
  std::uint32_t packed = 0;
  for (int s = 0; s < kStrassenProducts; ++s) packed |= static_cast<std::uint32_t>(strassen_product_of_b(s)) << (4 * s);
  return packed;
}
[[nodiscard]] __device__ inline int packed_product_of_b(int s) {
  constexpr std::uint32_t kProducts = pack_products_of_b();
  return static_cast<int>(kProducts >> (4 * s) & 15);
}

/// The lines and elements of a block's panel: kPairs lines of the first part, as many of the second, and so on; of each
/// line `length` elements of the first part of k, then as many of the second, and so on.
template <class T, int kLevels>
struct QuadrantPanel {
  using P = device::Panel<T>;
  static constexpr int kParts = 1 << kLevels;
  static constexpr int kPairs = P::kLines / kParts;
  /// Elements of each part of a line at most.
  static constexpr int kMostLength = device::kPanelLength / kParts;
  std::int64_t first_line;
  std::int64_t part_lines;
  std::int64_t first;
  std::int64_t part_k;
  int length;

  [[nodiscard]] __device__ std::int64_t line(int slot) const {
    return first_line + slot % kPairs + slot / kPairs * part_lines;
  }
  /// Where part x of the panel begins in a line.
  [[nodiscard]] __device__ std::int64_t element(int x) const { return x * part_k + first; }
  /// Elements that a line of `total` has of part x of the panel.
  [[nodiscard]] __device__ int count(int x, std::int64_t total) const {
    const std::int64_t left = min(part_k, total - x * part_k) - first;
    return static_cast<int>(max(std::int64_t{0}, min(left, static_cast<std::int64_t>(length))));
  }
  /// Of all parts.
  [[nodiscard]] __device__ int total_length() const { return kParts * length; }
};

/// Whether it comes as device::load_chunks() says.
template <class T, int kLevels>
[[nodiscard]] __device__ bool comes_in_chunks(const problem::Lines<T>& lines, const QuadrantPanel<T, kLevels>& at) {
  using P = device::Panel<T>;
  constexpr int kLast = QuadrantPanel<T, kLevels>::kParts - 1;
  return sizeof(T) < 16 && lines.line_stride == 1 && lines.inner_stride % P::kElems == 0 &&
         reinterpret_cast<std::uintptr_t>(lines.data + at.first_line) % 16 == 0 &&
         kLast * at.part_lines + at.first_line + at.kPairs <= lines.num_lines && at.first + at.length <= at.part_k &&
         at.element(kLast) + at.length <= lines.length;
}
template <class T, int kLevels>
__device__ void load_chunks(const problem::Lines<T>& lines, const QuadrantPanel<T, kLevels>& at, unsigned char* panel) {
  using C = device::PanelChunks<T>;
  static_assert(QuadrantPanel<T, kLevels>::kPairs % device::Panel<T>::kElems == 0);
  const int thread = static_cast<int>(threadIdx.x);
  const T* from = lines.data + at.line(thread % C::kOfElement * device::Panel<T>::kElems) +
                  (at.first + thread / C::kOfElement) * lines.inner_stride;
  std::uint32_t to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel)) + 16 * threadIdx.x;
#pragma unroll 1
  for (int x = 0; x < at.kParts; ++x) {
#pragma unroll 8
    for (int h = 0; h < at.length; h += C::kStep) {
      device::copy_async<16>(to, from, true);
      to += 16 * device::kPanelThreads;
      from += C::kStep * lines.inner_stride;
    }
    from += (at.part_k - at.length) * lines.inner_stride;
  }
}

/// device::load_panel() of it.
template <class T, int kLevels>
__device__ void load_panel(const problem::Lines<T>& lines, bool is_across, const QuadrantPanel<T, kLevels>& at,
                           unsigned char* panel) {
  using P = device::Panel<T>;
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel));
  const int pitch = P::pitch(at.total_length());
  const int thread = static_cast<int>(threadIdx.x);
  const int slot = is_across ? thread % P::kLines : thread / (32 * P::kWarpsPerLine);
  const std::int64_t number = at.line(slot);
  const bool is_line = number < lines.num_lines;
  const T* const line = is_line ? lines.data + number * lines.line_stride : lines.data;
  if (is_across) {
    constexpr int kStep = device::kPanelThreads / P::kLines;
#pragma unroll 1
    for (int x = 0; x < at.kParts; ++x) {
      const int count = is_line ? at.count(x, lines.length) : 0;
#pragma unroll 4
      for (int h = thread / P::kLines; h < at.length; h += kStep) {
        const bool is_there = h < count;
        device::copy_async<sizeof(T)>(to + slot * pitch + (x * at.length + h) * static_cast<int>(sizeof(T)),
                                      is_there ? line + (at.element(x) + h) * lines.inner_stride : lines.data,
                                      is_there);
      }
    }
    return;
  }
  const int rank = thread % (32 * P::kWarpsPerLine);
  const bool has_chunks =
      lines.inner_stride == 1 && reinterpret_cast<std::uintptr_t>(line + at.first) % 16 == 0;  // part_k keeps it
#pragma unroll 1
  for (int x = 0; x < at.kParts; ++x) {
    const int count = is_line ? at.count(x, lines.length) : 0;
    const T* const piece = count > 0 ? line + at.element(x) * lines.inner_stride : lines.data;
    const int whole = has_chunks ? count / P::kElems * P::kElems : 0;
#pragma unroll 4
    for (int h = rank * P::kElems; h < at.length; h += 32 * P::kWarpsPerLine * P::kElems) {
      const std::uint32_t place = to + slot * pitch + (x * at.length + h) * static_cast<int>(sizeof(T));
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

/// Sum 7 `outer` + s of two levels: sum `outer` of the sums s of halves. @param quadrant(y, x): of quarters of the lines and of k
template <class T, int s, class Quadrant>
[[nodiscard]] __device__ Fragment<T, kQuadrantWords> sum_of_quarters(int outer, const Quadrant& quadrant) {
  Fragment<T, kQuadrantWords> sum;
  std::uint32_t bias = 0x80000000u;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    const int sign = packed_sign(outer, q);
    if (sign == 0) continue;  // for all threads
    const Fragment<T, kQuadrantWords> inner =
        sum_of_quadrants<T, s>([&](int i) { return quadrant(q / 2 * 2 + i / 2, q % 2 * 2 + i % 2); });
    const std::uint64_t flip = sign < 0 ? ~std::uint64_t{0} : 0;
#pragma unroll
    for (int k = 0; k < Fragment<T, kQuadrantWords>::kProducts; ++k)
      for_integers(sum.a[k], inner.a[k], [&](std::uint64_t x, std::uint64_t y) { return x + ((y ^ flip) - flip); });
    bias ^= 0x80000000u;
  }
  for (uint4& x : sum.a) {
    x.z ^= bias;
    x.w ^= bias;
  }
  return sum;
}

/// A line of the panel becomes its integers, each lane's next to those of its neighbours; of B with other signs in some
/// parts of k (strassen.hpp). By the warps of the line, of which this is number `part`.
template <class T, int kLevels>
__device__ __forceinline__ void convert_line(unsigned char* piece, int length, int part, bool is_second,
                                             bool is_conjugated, const LineScaling& scaling) {
  using F = Fragment<T, kQuadrantWords>;
  static_assert(F::kRestBytes == 0, "sums of quadrants are made from fragments in the place of elements");
  const int end = length << kLevels;
  for (int h = kBlockLength * part; h < end; h += kBlockLength * device::Panel<T>::kWarpsPerLine) {
    bool is_negated = h < length;
    if constexpr (kLevels == 2) is_negated = h >= length && h < 3 * length;
    is_negated = is_negated && is_second;
    convert_block<T, kQuadrantWords>(piece + h * static_cast<int>(sizeof(T)), nullptr,
                                     [&](const device::Element<T>(&elements)[2]) {
                                       F fragment(elements, is_conjugated, scaling, nullptr);
                                       if (is_negated) negate(fragment);
                                       return fragment;
                                     });
  }
}

/// The planes of all sums of the panel's integers, by all threads of the block. @param rows  in shared memory
template <class T, int kLevels>
__device__ __forceinline__ void write_sums(const unsigned char* panel, const QuadrantPanel<T, kLevels>& at,
                                           bool is_second,
                                           const PlaneRow<device::Element<T>::kTerms, kQuadrantWords>* rows,
                                           int num_planes, const DevicePlanes& planes) {
  using P = device::Panel<T>;
  using F = Fragment<T, kQuadrantWords>;
  using Planes = LanePlanes<T, kQuadrantWords, 8>;
  constexpr int kPairs = QuadrantPanel<T, kLevels>::kPairs;
  const int length = at.length;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  // A warp takes a line of each part, every other block of it, and of two levels every other eight planes.
  const int pair = warp % kPairs;
  constexpr int kStep = 2 * kBlockLength;
  constexpr int kPlaneGroups = device::kPanelWarps / (2 * kPairs);
  const int begin = kBlockLength * (warp / kPairs % 2);
  const auto end = static_cast<int>(min(static_cast<std::int64_t>(length), planes.row_stride - at.first));
  const int part_pitch = kPairs * P::pitch(at.total_length());
  const unsigned char* const first = panel + pair * P::pitch(at.total_length());
  std::int8_t* const out = planes.data + (at.first_line + pair) * planes.row_stride + at.first + begin;
#pragma unroll 1
  for (int plane = kPlaneGroups == 1 ? 0 : warp / (2 * kPairs) * 8; plane < num_planes; plane += 8 * kPlaneGroups) {
    const Planes lane_planes(rows, plane, num_planes);
    const std::int64_t modulus_stride = strassen_products(kLevels) * planes.plane_stride;
    std::int8_t* to[2] = {lane_planes.place(0, out, modulus_stride), lane_planes.place(1, out, modulus_stride)};
#pragma unroll 1
    for (int h = begin; h < end; h += kStep) {
      const auto load = [&](int y, int x, int i) {
        return F::load(first + y * part_pitch + (x * length + h + 64 * i) * static_cast<int>(sizeof(T)));
      };
      const auto write = [&](int product, const auto& sum) {
        typename Planes::Bytes bytes;
#pragma unroll
        for (int i = 0; i < 2; ++i) lane_planes.make(sum(i), i, bytes);
        const std::int64_t offset = product * planes.plane_stride;
#pragma unroll
        for (int c = 0; c < 2; ++c) lane_planes.store(c, to[c] + offset, bytes);
      };
      const auto for_sums = [](const auto& visit) {
        [&]<int... s>(std::integer_sequence<int, s...>) { (visit(std::integral_constant<int, s>{}), ...); }
        (std::make_integer_sequence<int, kStrassenProducts>{});
      };
      if constexpr (kLevels == 1) {
        for_sums([&]<int s>(std::integral_constant<int, s>) {
          write(is_second ? strassen_product_of_b(s) : s,
                [&](int i) { return sum_of_quadrants<T, s>([&](int q) { return load(q / 2, q % 2, i); }); });
        });
      } else {
#pragma unroll 1
        for (int outer = 0; outer < kStrassenProducts; ++outer) {
          const int product = kStrassenProducts * (is_second ? packed_product_of_b(outer) : outer);
          for_sums([&]<int s>(std::integral_constant<int, s>) {
            write(product + (is_second ? strassen_product_of_b(s) : s),
                  [&](int i) { return sum_of_quarters<T, s>(outer, [&](int y, int x) { return load(y, x, i); }); });
          });
        }
      }
      to[0] += kStep;
      to[1] += kStep;
    }
  }
}

}  // namespace kizami::ozaki2::kernels
