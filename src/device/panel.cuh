// SPDX-License-Identifier: MIT
// Pieces of some neighbouring lines in shared memory, in the same order whatever is contiguous in global memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/async_copies.cuh"
#include "device/line.cuh"
#include "device/padding.hpp"
#include "kizami/host_device.hpp"
#include "problem/lines.hpp"

namespace kizami::device {

inline constexpr int kPanelThreads = 256;
inline constexpr int kPanelWarps = kPanelThreads / 32;
/// Elements of a line at most.
inline constexpr int kPanelLength = 1024;

/// Shape of a panel of so many lines: a line after the other, some bytes apart so that neighbouring lines at the same
/// place meet different banks.
template <class T, int kLinesOf = sizeof(T) == 16 ? 4 : 8, int kMostLengthOf = kPanelLength>
struct Panel {
  static constexpr int kLines = kLinesOf;
  static constexpr int kMostLength = kMostLengthOf;  ///< elements of a line at most
  static constexpr int kWarpsPerLine = kPanelWarps / kLines;
  static constexpr int kElems = 16 / static_cast<int>(sizeof(T));  ///< of a copy of 16 bytes
  static constexpr int kPadBytes = sizeof(T) == 16 ? 32 : 16;

  /// Bytes from a line to the next.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr int pitch(int length) {
    return length * static_cast<int>(sizeof(T)) + kPadBytes;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr int bytes(int length) { return kLines * pitch(length); }
};
/// Of whole lines, fewer and longer ones in the same 64 KB: as many as have an element in 16 bytes that lie across memory.
template <class T>
using WholeLines = Panel<T, Panel<T>::kElems, static_cast<int>(kLongestWholeLine)>;

/// Whether neighbouring lines, not elements, are neighbours in memory.
template <class T>
[[nodiscard]] bool lies_across(const problem::Lines<T>& lines) {
  return lines.inner_stride > lines.line_stride && lines.num_lines > 1;
}

/// Enqueues a copy of kBytes to shared memory, or of zeros. Where lines lie across memory, the neighbours in 256 bytes
/// are those that other blocks want: they come to the L2 cache as well.
template <int kBytes>
__device__ void copy_async(std::uint32_t to, const void* from, bool is_there) {
  base::copy_to_shared<kBytes, /*kIsAhead=*/true>(to, from, is_there ? kBytes : 0);
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The part of a thread in a line's piece of `length` elements, of which `count` are there and the others are zeros: every so
// many from the thread's first one on. They are on their way then.

/// Of a line that lies across memory, an element at a time. @param from, place  of element first_h
template <class T, class P, int kAtOnce>
__device__ __forceinline__ void copy_across(const problem::Lines<T>& lines, const T* from, std::uint32_t place,
                                            int first_h, int count, int length) {
  constexpr int kStep = kPanelThreads / P::kLines;
  const std::int64_t step = kStep * lines.inner_stride;
  int h = first_h;
#pragma unroll kAtOnce
  for (; h < count; h += kStep) {
    copy_async<sizeof(T)>(place, from, true);
    place += kStep * static_cast<int>(sizeof(T));
    from += step;
  }
#pragma unroll 1
  for (; h < length; h += kStep) {
    copy_async<sizeof(T)>(place, lines.data, false);
    place += kStep * static_cast<int>(sizeof(T));
  }
}

/// Of a line that a warp or some take together, 16 bytes a lane where it has_chunks. @param rank  of the thread among them
/// @range has_chunks: elements are neighbours, and the piece begins on 16 bytes
template <class T, class P>
__device__ __forceinline__ void copy_along(const problem::Lines<T>& lines, const T* piece, bool has_chunks,
                                           std::uint32_t to, int rank, int count, int length) {
  constexpr int kStep = 32 * P::kWarpsPerLine * P::kElems;
  const int whole = has_chunks ? count / P::kElems * P::kElems : 0;  // elements that come in chunks
  int h = rank * P::kElems;
#pragma unroll 4
  for (; h < whole; h += kStep) copy_async<16>(to + h * static_cast<int>(sizeof(T)), piece + h, true);
#pragma unroll 1
  for (; h < length; h += kStep) {
    const std::uint32_t place = to + h * static_cast<int>(sizeof(T));
    if (h >= count) {
      copy_async<16>(place, lines.data, false);
    } else {
      for (int e = 0; e < P::kElems; ++e) {
        const bool is_there = h + e < count;
        copy_async<sizeof(T)>(place + e * static_cast<int>(sizeof(T)),
                              is_there ? piece + (h + e) * lines.inner_stride : lines.data, is_there);
      }
    }
  }
}

/// Loads elements [first, first + length) of lines from first_line on; zeros where there are none. wait_for_copies()
/// and a barrier end it.
/// @range length a multiple of 128, at most P::kMostLength
template <class T, class P = Panel<T>>
__device__ void load_panel(const problem::Lines<T>& lines, bool is_across, std::int64_t first_line, std::int64_t first,
                           int length, unsigned char* panel) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel));
  const int pitch = P::pitch(length);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t left = lines.length - first;
  if (is_across) {
    const int i = thread % P::kLines;
    const bool is_line = first_line + i < lines.num_lines;
    const int count = !is_line || left <= 0 ? 0 : static_cast<int>(min(left, static_cast<std::int64_t>(length)));
    const int first_h = thread / P::kLines;
    const T* from = lines.data;
    if (count > 0) from += (first_line + i) * lines.line_stride + (first + first_h) * lines.inner_stride;
    const std::uint32_t place = to + i * pitch + first_h * static_cast<int>(sizeof(T));
    copy_across<T, P, 8>(lines, from, place, first_h, count, length);
    return;
  }
  const int i = thread / (32 * P::kWarpsPerLine);
  const bool is_line = first_line + i < lines.num_lines;
  const int count = !is_line || left <= 0 ? 0 : static_cast<int>(min(left, static_cast<std::int64_t>(length)));
  const T* const line =
      is_line ? lines.data + (first_line + i) * lines.line_stride + first * lines.inner_stride : lines.data;
  const bool has_chunks = lines.inner_stride == 1 && reinterpret_cast<std::uintptr_t>(line) % 16 == 0;
  copy_along<T, P>(lines, line, has_chunks, to + i * pitch, thread % (32 * P::kWarpsPerLine), count, length);
}

// Lines that lie across memory, several in 16 bytes: small copies to shared memory go through the L1 cache, of which
// panels leave little, and few are under way at a time. Copies of 16 bytes go past it. They come as [element][line] and
// are put in order on the chip.

/// Whether the piece of a whole group of lines comes so.
template <class T, class P = Panel<T>>
[[nodiscard]] __device__ bool comes_in_chunks(const problem::Lines<T>& lines, std::int64_t first_line,
                                              std::int64_t first, int length) {
  return sizeof(T) < 16 && lines.line_stride == 1 && lines.inner_stride % P::kElems == 0 &&
         reinterpret_cast<std::uintptr_t>(lines.data + first_line) % 16 == 0 &&
         first_line + P::kLines <= lines.num_lines && first + length <= lines.length;
}

/// What each thread copies and puts in order, of panels of at most kMostElements of a line.
template <class T, int kMostElements = kPanelLength, class P = Panel<T>>
struct PanelChunks {
  static constexpr int kOfElement = P::kLines / P::kElems;  ///< chunks that hold the lines of an element
  static constexpr int kStep = kPanelThreads / kOfElement;  ///< elements at a time
  static constexpr int kMost = kMostElements / kStep;       ///< of a thread

  /// Whether the thread has one of those that begin at element h: all do, unless a step is more than lengths are multiples of.
  [[nodiscard]] __device__ static bool has(int h, int length) {
    if constexpr (kStep > 128) h += static_cast<int>(threadIdx.x) / kOfElement;
    return h < length;
  }
};

/// Loads it. wait_for_copies(), order_chunks() and a barrier end it.
template <class T, class P = Panel<T>>
__device__ void load_chunks(const problem::Lines<T>& lines, std::int64_t first_line, std::int64_t first, int length,
                            unsigned char* panel) {
  using C = PanelChunks<T, P::kMostLength, P>;
  const int thread = static_cast<int>(threadIdx.x);
  const T* from = lines.data + first_line + thread % C::kOfElement * P::kElems +
                  (first + thread / C::kOfElement) * lines.inner_stride;
  std::uint32_t to = static_cast<std::uint32_t>(__cvta_generic_to_shared(panel)) + 16 * threadIdx.x;
#pragma unroll 8
  for (int h = 0; C::has(h, length); h += C::kStep) {
    copy_async<16>(to, from, true);
    to += 16 * kPanelThreads;
    from += C::kStep * lines.inner_stride;
  }
}

/// Puts it in order: each thread keeps what it has copied in registers until all have.
template <class T, int kMostElements = kPanelLength, class P = Panel<T>>
__device__ void order_chunks(int length, unsigned char* panel) {
  using C = PanelChunks<T, kMostElements, P>;
  const int thread = static_cast<int>(threadIdx.x);
  uint4 chunks[C::kMost];
#pragma unroll
  for (int c = 0; c < C::kMost; ++c) {
    if (C::has(c * C::kStep, length)) chunks[c] = reinterpret_cast<const uint4*>(panel)[c * kPanelThreads + thread];
  }
  __syncthreads();
  const int pitch = P::pitch(length);
  unsigned char* const to =
      panel + thread % C::kOfElement * P::kElems * pitch + thread / C::kOfElement * static_cast<int>(sizeof(T));
#pragma unroll
  for (int c = 0; c < C::kMost; ++c) {
    if (!C::has(c * C::kStep, length)) break;
    using Bits = std::conditional_t<sizeof(T) == 8, uint2, std::uint32_t>;
    Bits elements[P::kElems];
    memcpy(elements, &chunks[c], sizeof elements);
#pragma unroll
    for (int e = 0; e < P::kElems; ++e)
      *reinterpret_cast<Bits*>(to + e * pitch + c * C::kStep * static_cast<int>(sizeof(T))) = elements[e];
  }
}

/// Elements h and h + 1 of a line's piece. @range h even
template <class T>
__device__ void read_pair(const unsigned char* piece, int h, Element<T> (&elements)[2]) {
  T x[2];
  if constexpr (sizeof(T) == 4) {
    const auto both = *reinterpret_cast<const uint2*>(piece + h * 4);
    memcpy(x, &both, sizeof x);
  } else {
    const auto* const chunks = reinterpret_cast<const uint4*>(piece + h * static_cast<int>(sizeof(T)));
#pragma unroll
    for (int c = 0; c < static_cast<int>(sizeof x / 16); ++c) {
      const uint4 chunk = chunks[c];
      memcpy(reinterpret_cast<unsigned char*>(x) + 16 * c, &chunk, sizeof chunk);
    }
  }
#pragma unroll
  for (int e = 0; e < 2; ++e) elements[e] = load_element(x + e);
}

/// Two of 64 elements from element h on, each lane others, for who wants each of them once: neighbours, or of 16 bytes those
/// of places lane and lane + 32, for lanes whose loads are 32 bytes apart meet the same banks.
template <class T>
__device__ void read_two(const unsigned char* piece, int h, Element<T> (&elements)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (sizeof(T) == 16) {
    const T* const from = reinterpret_cast<const T*>(piece) + h + lane;
    elements[0] = load_element(from);
    elements[1] = load_element(from + 32);
  } else {
    read_pair(piece, h + 2 * lane, elements);
  }
}

/// read_pair() of elements of 16 bytes by all lanes, of which every other four load the second one first: so lanes that load
/// together meet different banks.
template <class T>
__device__ void read_pair_in_turn(const unsigned char* piece, int h, Element<T> (&elements)[2]) {
  static_assert(sizeof(T) == 16);
  const bool is_turned = threadIdx.x / 4 % 2 != 0;
  const T* const pair = reinterpret_cast<const T*>(piece) + h;
  const Element<T> first = load_element(pair + (is_turned ? 1 : 0));
  const Element<T> second = load_element(pair + (is_turned ? 0 : 1));
#pragma unroll
  for (int t = 0; t < Element<T>::kTerms; ++t) {
    elements[0].term[t] = elements[0].number[t] = is_turned ? second.term[t] : first.term[t];
    elements[1].term[t] = elements[1].number[t] = is_turned ? first.term[t] : second.term[t];
  }
}

}  // namespace kizami::device
