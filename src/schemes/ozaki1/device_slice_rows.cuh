// SPDX-License-Identifier: MIT
// From elements of a line in shared memory to numbers of its slices: a lane takes four neighbouring elements, a warp
// writes whole sectors of every slice.
#pragma once

#include <cstdint>

#include "device/panel.cuh"
#include "num/scaling.hpp"
#include "num/slices.hpp"
#include "schemes/ozaki1/device_slice_floats.cuh"
#include "schemes/ozaki1/device_split.hpp"

namespace kizami::ozaki1::kernels {

/// Elements that a lane takes at a time, and a warp.
inline constexpr int kQuad = 4;
inline constexpr int kQuadsLength = 32 * kQuad;

/// What the digits of a line need.
struct LineDigits {
  num::ScaleFactors scale;  ///< to units of the first digit
  bool is_live = false;     ///< false: all digits are zero

  /// @param exponent kNoExponent of a line that is zero or not finite
  __device__ LineDigits(const num::DigitRule& rule, int exponent)
      : scale(num::scale_factors(exponent == num::kNoExponent ? 0 : -(exponent + num::digit_unit(rule, 0)))),
        is_live(exponent != num::kNoExponent) {}
};

/// Four digits as bytes. @param digit the i-th
template <class Digit>
[[nodiscard]] __device__ std::uint32_t pack_digits(const Digit& digit) {
  std::uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) word |= (static_cast<std::uint32_t>(digit(i)) & 0xFFu) << (8 * i);
  return word;
}

/// Byte b of four words becomes word b. @shape words of four bytes
__device__ inline void transpose_bytes(std::uint32_t (&w)[4]) {
  const std::uint32_t low_01 = __byte_perm(w[0], w[1], 0x5140);
  const std::uint32_t high_01 = __byte_perm(w[0], w[1], 0x7362);
  const std::uint32_t low_23 = __byte_perm(w[2], w[3], 0x5140);
  const std::uint32_t high_23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low_01, low_23, 0x5410);
  w[1] = __byte_perm(low_01, low_23, 0x7632);
  w[2] = __byte_perm(high_01, high_23, 0x5410);
  w[3] = __byte_perm(high_01, high_23, 0x7632);
}

/// write_numbers() of bytes, all digits of a number at once. @range num_slices <= num::kMostPackedBytes
template <int kNumbers>
__device__ void write_bytes(const double (&x)[kNumbers], int num_slices, std::int64_t step, std::int8_t* out) {
  const double to_last = num::power_of_two(8 * (num_slices - 1));
  std::uint32_t words[kNumbers / 4][num::kMostPackedBytes];
#pragma unroll
  for (int w = 0; w < kNumbers / 4; ++w) {
    std::uint32_t low[4];
    std::uint32_t high[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t packed = num::packed_bytes(x[4 * w + i] * to_last, num_slices);
      low[i] = static_cast<std::uint32_t>(packed);
      high[i] = static_cast<std::uint32_t>(packed >> 32);
    }
    transpose_bytes(low);
    transpose_bytes(high);
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      words[w][b] = low[b];
      words[w][4 + b] = high[b];
    }
  }
#pragma unroll
  for (int b = 0; b < num::kMostPackedBytes; ++b) {
    const int s = num_slices - 1 - b;
    if (s < 0) break;
    if constexpr (kNumbers == 8) {
      *reinterpret_cast<uint2*>(out + s * step) = make_uint2(words[0][b], words[1][b]);
    } else {
      *reinterpret_cast<std::uint32_t*>(out + s * step) = words[0][b];
    }
  }
}

/// The digits of kNumbers neighbouring numbers as bytes, in units of the first one, `step` bytes from slice to slice.
template <int kNumbers, num::DigitKind kKind>
__device__ void write_numbers(const double (&x)[kNumbers], num::DigitRule rule, int num_slices, std::int64_t step,
                              std::int8_t* out) {
  rule.kind = kKind;  // known to the compiler
  num::FloatRest rest[kNumbers];
#pragma unroll
  for (int i = 0; i < kNumbers; ++i) rest[i].value = x[i];
#pragma unroll 1
  for (int s = 0; s < num_slices; ++s, out += step) {
    std::uint32_t words[kNumbers / 4];
#pragma unroll
    for (int w = 0; w < kNumbers / 4; ++w)
      words[w] = pack_digits([&](int i) { return num::leading_digit(rule, rest[4 * w + i]); });
    if constexpr (kNumbers == 8) {
      *reinterpret_cast<uint2*>(out) = make_uint2(words[0], words[1]);
    } else {
      *reinterpret_cast<std::uint32_t*>(out) = words[0];
    }
  }
}
template <int kNumbers>
__device__ void write_numbers(const double (&x)[kNumbers], const num::DigitRule& rule, SliceFormat format,
                              int num_slices, std::int64_t step, std::int8_t* out) {
  if (format != SliceFormat::kInt8) {
    if (product::element_bytes(format) == 2) return write_floats<2>(x, rule, format, num_slices, step, out);
    return write_floats<1>(x, rule, format, num_slices, step, out);
  }
  switch (rule.kind) {
    case num::DigitKind::kTruncated:
      return write_numbers<kNumbers, num::DigitKind::kTruncated>(x, rule, num_slices, step, out);
    case num::DigitKind::kNearest:
      return write_numbers<kNumbers, num::DigitKind::kNearest>(x, rule, num_slices, step, out);
    case num::DigitKind::kBytes:
      if (num_slices <= num::kMostPackedBytes) return write_bytes(x, num_slices, step, out);
      return write_numbers<kNumbers, num::DigitKind::kBytes>(x, rule, num_slices, step, out);
  }
}

/// Four digits as numbers of a format.
template <class Digit>
__device__ void store_digits(SliceFormat format, const Digit& digit, std::int8_t* out) {
  if (format == SliceFormat::kInt8) {
    *reinterpret_cast<std::uint32_t*>(out) = pack_digits(digit);
    return;
  }
  int digits[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) digits[i] = digit(i);
  if (product::element_bytes(format) == 2) {
    std::uint32_t words[2];
    pack_floats<2>(format, digits, words);
    store_words(words, out);
  } else {
    std::uint32_t words[1];
    pack_floats<1>(format, digits, words);
    store_words(words, out);
  }
}

/// The digits of re + im of four elements, for the exponent of the line plus one.
template <class T>
__device__ __noinline__ void write_sums(const T* elements, int exponent, bool is_conjugated, const num::DigitRule& rule,
                                        SliceFormat format, int num_slices, std::int64_t step, std::int8_t* out) {
  num::Int128 rest[kQuad];
  const int unit = exponent - num::kSumDepth;
  for (int i = 0; i < kQuad; ++i) {
    const device::Element<T> e = device::load_element(elements + i);
    rest[i] = num::fixed_point(e.term[0], unit) + num::fixed_point(is_conjugated ? -e.term[1] : e.term[1], unit);
  }
  for (int s = 0; s < num_slices; ++s, out += step) {
    const int shift = exponent + 1 + num::digit_unit(rule, s) - unit;
    store_digits(
        format, [&](int i) { return rest[i] == 0 ? 0 : num::next_digit(rule, rest[i], shift); }, out);
  }
}

/// What does not depend on the line.
struct SliceWork {
  DeviceSlicePlanes planes;
  SliceDigits digits;
  bool is_conjugated;
};

/// The byte at a number.
[[nodiscard]] __device__ inline std::int8_t* place_of(const DeviceSlicePlanes& planes, std::int64_t number) {
  return planes.data + number * product::element_bytes(planes.format);
}

/// Writes elements [begin, end) of a line's piece, a warp every `step` of them: numbers at `row` on, the piece's first.
/// @param exponent kNoExponent: zeros  @range begin, end, step multiples of kQuadsLength but for end, one of kQuad
template <class T>
__device__ void write_slices(const unsigned char* piece, int begin, int end, int step, int exponent,
                             const SliceWork& work, std::int8_t* row) {
  const DeviceSlicePlanes& planes = work.planes;
  const num::DigitRule& rule = work.digits.rule;
  const int num_slices = work.digits.count;
  const SliceFormat format = planes.format;
  const int bytes = static_cast<int>(product::element_bytes(format));
  const std::int64_t slice_bytes = planes.slice_stride * bytes;
  const std::int64_t slice_step = planes.is_reversed ? -slice_bytes : slice_bytes;
  if (planes.is_reversed) row += (num_slices - 1) * slice_bytes;
  const LineDigits line(rule, exponent);
  const auto scaled = [&](double x) { return line.is_live ? x * line.scale.first * line.scale.second : 0.0; };
#pragma unroll 1
  for (int h = begin + kQuad * (static_cast<int>(threadIdx.x) % 32); h < end; h += step) {
    device::Element<T> elements[kQuad];
    device::Element<T> pair[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      device::read_pair(piece, h + 2 * half, pair);
      elements[2 * half] = pair[0];
      elements[2 * half + 1] = pair[1];
    }
    if constexpr (!kIsComplex<T>) {
      double x[kQuad];
#pragma unroll
      for (int i = 0; i < kQuad; ++i) x[i] = scaled(elements[i].term[0]);
      write_numbers(x, rule, format, num_slices, slice_step, row + h * bytes);
    } else {
#pragma unroll 1
      for (int p = 0; p < planes.num_parts; ++p) {
        using num::SliceTerms;
        const SliceTerms terms = planes.parts[p];
        std::int8_t* const out = row + p * planes.part_stride * bytes;
        const double sign = work.is_conjugated ? -1.0 : 1.0;
        if (terms == SliceTerms::kReal || terms == SliceTerms::kImaginary) {
          const bool is_real = terms == SliceTerms::kReal;
          double x[kQuad];
#pragma unroll
          for (int i = 0; i < kQuad; ++i) x[i] = scaled(is_real ? elements[i].term[0] : sign * elements[i].term[1]);
          write_numbers(x, rule, format, num_slices, slice_step, out + h * bytes);
        } else if (terms == SliceTerms::kSum) {
          if (line.is_live) {
            write_sums(reinterpret_cast<const T*>(piece) + h, exponent, work.is_conjugated, rule, format, num_slices,
                       slice_step, out + h * bytes);
          } else {
            for (int s = 0; s < num_slices; ++s)
              store_digits(
                  format, [](int) { return 0; }, out + h * bytes + s * slice_step);
          }
        } else {
          double x[2 * kQuad];
#pragma unroll
          for (int i = 0; i < kQuad; ++i) {
            const double re = scaled(elements[i].term[0]);
            const double im = scaled(sign * elements[i].term[1]);
            x[2 * i] = terms == SliceTerms::kImagForm ? im : re;
            x[2 * i + 1] = terms == SliceTerms::kImagForm ? re : terms == SliceTerms::kRealForm ? -im : im;
          }
          write_numbers(x, rule, format, num_slices, slice_step, out + 2 * h * bytes);
        }
      }
    }
  }
}

/// Numbers of an element in a part.
[[nodiscard]] KIZAMI_HOST_DEVICE inline int numbers_per_element(const DeviceSlicePlanes& planes, bool is_complex) {
  return static_cast<int>(num::num_slice_terms(planes.parts[0], is_complex, 1));
}

}  // namespace kizami::ozaki1::kernels
