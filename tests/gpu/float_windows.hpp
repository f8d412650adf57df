// SPDX-License-Identifier: MIT
// Windows of whole numbers in floating-point formats, as every engine of its own that takes them is tried. The
// reference is an integer sum on the host. What lies between slices, rows and planes is NaN: whoever multiplies it is
// found.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/int_math.hpp"
#include "gpu/product_on_device.hpp"
#include "kizami/formats.hpp"
#include "num/slices.hpp"
#include "schemes/ozaki1/numerics.hpp"

namespace kizami::engines {

enum class FloatFill : std::uint8_t {
  kRandom,    ///< -2^bits .. 2^bits
  kLargest,   ///< 2^bits everywhere: every sum of exact_k elements is as large as the accumulator holds
  kOpposite,  ///< A 2^bits, B -2^bits
  kMixed,     ///< A and B 2^bits but for some ones, the last of the window among them: what aligning must not cut off
};
inline constexpr std::array kFloatFills = {FloatFill::kRandom, FloatFill::kLargest, FloatFill::kOpposite,
                                           FloatFill::kMixed};
inline constexpr std::array kFloatFormats = {SliceFormat::kFp16, SliceFormat::kBf16, SliceFormat::kE4m3,
                                             SliceFormat::kE5m2};

/// Digits of as many bits as the planner takes: FP16 9, BF16 8, E4M3 4, E5M2 3.
[[nodiscard]] inline int usual_bits(SliceFormat format) {
  Slicing wishes;
  wishes.format = format;
  return ozaki1::slice_rule(wishes).head;
}

/// A row is `slices` runs of `numbers` numbers, each begun on a multiple of kWindowPad.
struct FloatSpec {
  SliceFormat format = SliceFormat::kBf16;
  int bits = 8;
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t numbers = 1;
  int slices = 1;
  int num_windows = 1;
  std::int64_t most_k = product::kBlockMaxI8;  ///< of a window; below kWindowPad: at least `numbers`
  FloatFill fill = FloatFill::kRandom;
  int planes = 1;                   ///< of each operand
  std::int64_t extra_k = 0;         ///< row strides beyond the least, a multiple of 64
  std::int64_t extra_rows = 0;      ///< c_col_stride beyond m
  std::int64_t c_offset = 0;        ///< of C from a boundary of 64 bytes, in elements
  bool interleaves_planes = false;  ///< columns of all planes of C side by side
};

/// The windows of a case, a product on a device and its C.
class FloatWindows {
 public:
  explicit FloatWindows(const FloatSpec& spec) : spec_(spec) {
    describe();
    a_ = numbers_of(true);
    b_ = numbers_of(false);
    product_.a = encoded(a_);
    product_.b = encoded(b_);
    product_.initial_c.resize(static_cast<std::size_t>(c_elements()) * 4 + 2 * kGuard);
    for (std::size_t i = 0; i < product_.initial_c.size(); ++i)
      product_.initial_c[i] = static_cast<std::uint8_t>(0xA5 ^ (i * 7));
    product_.c_offset = kGuard + static_cast<std::size_t>(spec_.c_offset) * 4;
  }

  [[nodiscard]] const HostProduct& product() const { return product_; }
  /// All of C's storage.
  [[nodiscard]] std::vector<std::uint8_t> expected() const {
    std::vector<std::uint8_t> c = product_.initial_c;
    const ProductDesc& d = product_.desc;
    for (int l = 0; l < d.num_windows; ++l) {
      const product::Window& w = d.windows[static_cast<std::size_t>(l)];
      for (std::int64_t j = 0; j < d.n; ++j) {
        const std::int32_t* const y = b_.data() + w.b_plane * d.b_plane_stride + j * d.b_row_stride + w.b_first;
        for (std::int64_t i = 0; i < d.m; ++i) {
          const std::int32_t* const x = a_.data() + w.a_plane * d.a_plane_stride + i * d.a_row_stride + w.a_first;
          std::int64_t sum = 0;
          for (std::int64_t h = 0; h < w.k; ++h) sum += std::int64_t{x[h]} * y[h];
          const auto stored = static_cast<std::int32_t>(sum);
          if (stored != sum) ADD_FAILURE() << "the case leaves INT32: " << product_.name;
          const std::int64_t at = l * d.c_plane_stride + j * d.c_col_stride + i;
          std::memcpy(c.data() + product_.c_offset + at * 4, &stored, 4);
        }
      }
    }
    return c;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::int32_t kNothing = 1 << 30;  ///< encoded as NaN

  void describe() {
    const FloatSpec& s = spec_;
    ProductDesc& d = product_.desc;
    d.m = s.m;
    d.n = s.n;
    d.format = s.format;
    d.exact_k = ozaki1::slice_sum_limit(s.format, num::digit_rule(num::DigitKind::kNearest, s.bits));
    d.epilogue = Epilogue::kStoreAcc;
    d.num_products = d.num_windows = s.num_windows;
    stride_ = base::round_up(s.numbers, product::kWindowPad);
    d.a_row_stride = s.slices * stride_ + s.extra_k;
    d.b_row_stride = s.slices * stride_;
    d.a_plane_stride = base::round_up(s.m, 16) * d.a_row_stride + s.extra_k;
    d.b_plane_stride = base::round_up(s.n, 16) * d.b_row_stride;
    const std::int64_t column = s.m + s.extra_rows;
    d.c_col_stride = s.interleaves_planes ? column * s.num_windows : column;
    d.c_plane_stride = s.interleaves_planes ? column : s.n * column + s.extra_rows;
    for (int l = 0; l < s.num_windows; ++l) {
      d.windows[static_cast<std::size_t>(l)] = window(static_cast<std::uint64_t>(l));
      d.k = std::max(d.k, d.windows[static_cast<std::size_t>(l)].k);
    }
    product_.name = std::string(to_string(s.format)) + " of " + std::to_string(s.bits) + " bits " +
                    std::to_string(s.m) + "x" + std::to_string(s.n) + ", " + std::to_string(s.slices) + " slices of " +
                    std::to_string(s.numbers) + ", " + std::to_string(s.num_windows) + " windows up to " +
                    std::to_string(d.k) + ", fill " + std::to_string(static_cast<int>(s.fill)) + ", rows+" +
                    std::to_string(s.extra_rows) + (s.interleaves_planes ? " interleaved" : "");
  }

  /// The first one has the first slices, whole; the others any run, from any multiple of the padding on.
  [[nodiscard]] product::Window window(std::uint64_t l) const {
    const auto draw = [&](std::uint64_t what, std::int64_t count) {
      return static_cast<std::int64_t>(testing::hash(testing::hash(what * 64 + l) + 5) %
                                       static_cast<std::uint64_t>(count));
    };
    const std::int64_t from_a = l == 0 ? 0 : draw(1, spec_.slices);
    const std::int64_t from_b = l == 0 ? 0 : draw(2, spec_.slices);
    const std::int64_t most = spec_.slices - std::max(from_a, from_b);
    const std::int64_t count = l == 0 ? most : 1 + draw(3, most);
    const std::int64_t skipped =
        l == 0 ? 0 : draw(4, base::ceil_div(spec_.numbers, product::kWindowPad)) * product::kWindowPad;
    std::int64_t k = (count - 1) * stride_ + spec_.numbers - skipped;
    if (k > spec_.most_k) {  // within a run: whole multiples, or the numbers of one slice
      k = spec_.most_k < product::kWindowPad ? spec_.numbers : spec_.most_k / product::kWindowPad * product::kWindowPad;
    }
    return {static_cast<std::int32_t>(draw(5, spec_.planes)), static_cast<std::int32_t>(draw(6, spec_.planes)),
            from_a * stride_ + skipped, from_b * stride_ + skipped, k};
  }

  [[nodiscard]] std::int64_t c_elements() const {
    const ProductDesc& d = product_.desc;
    return spec_.c_offset + (spec_.interleaves_planes ? d.n * d.c_col_stride : d.num_products * d.c_plane_stride);
  }

  [[nodiscard]] std::int32_t number(bool is_a, std::int64_t line, std::int64_t h) const {
    const std::int32_t most = 1 << spec_.bits;
    if (spec_.fill == FloatFill::kRandom) {
      const std::uint64_t at = static_cast<std::uint64_t>((line * 2 + (is_a ? 1 : 0)) * product_.desc.a_row_stride + h);
      return static_cast<std::int32_t>((testing::hash(at) >> 20) % static_cast<std::uint64_t>(2 * most + 1)) - most;
    }
    if (spec_.fill == FloatFill::kMixed) {
      const std::int64_t in_slice = h % stride_;
      const bool is_one = in_slice % 64 == 63 || in_slice + 1 == spec_.numbers ||
                          testing::hash(static_cast<std::uint64_t>(in_slice)) % 16 == 0;
      if (is_one) return 1;
    }
    return spec_.fill == FloatFill::kOpposite && !is_a ? -most : most;
  }

  [[nodiscard]] std::vector<std::int32_t> numbers_of(bool is_a) const {
    const ProductDesc& d = product_.desc;
    const std::int64_t lines = is_a ? d.m : d.n;
    const std::int64_t row = is_a ? d.a_row_stride : d.b_row_stride;
    const std::int64_t plane = is_a ? d.a_plane_stride : d.b_plane_stride;
    std::vector<std::int32_t> x(static_cast<std::size_t>(spec_.planes * plane), kNothing);
    for (std::int64_t p = 0; p < spec_.planes; ++p) {
      for (std::int64_t i = 0; i < lines; ++i) {
        std::int32_t* const to = x.data() + p * plane + i * row;
        for (std::int64_t h = 0; h < spec_.slices * stride_; ++h)
          to[h] = h % stride_ < spec_.numbers ? number(is_a, p * lines + i, h) : 0;
      }
    }
    return x;
  }

  [[nodiscard]] std::vector<std::int8_t> encoded(const std::vector<std::int32_t>& x) const {
    switch (spec_.format) {
      case SliceFormat::kFp16:
        return encoded<Fp16>(x);
      case SliceFormat::kBf16:
        return encoded<Bf16>(x);
      case SliceFormat::kE4m3:
        return encoded<Fp8E4m3>(x);
      default:
        return encoded<Fp8E5m2>(x);
    }
  }
  template <class Float>
  [[nodiscard]] static std::vector<std::int8_t> encoded(const std::vector<std::int32_t>& x) {
    std::vector<Float> floats(x.size(), Float::from_bits(static_cast<typename Float::Bits>(~0U)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == kNothing) continue;
      floats[i] = Float::from(static_cast<double>(x[i]));
      if (static_cast<double>(floats[i]) != x[i]) ADD_FAILURE() << x[i] << " is no number of the format";
    }
    std::vector<std::int8_t> bytes(floats.size() * sizeof(Float));
    std::memcpy(bytes.data(), floats.data(), bytes.size());
    return bytes;
  }

  FloatSpec spec_;
  std::int64_t stride_ = 0;
  HostProduct product_;
  std::vector<std::int32_t> a_;
  std::vector<std::int32_t> b_;
};

/// The most elements of k that a window may have: what one accumulator sums, or where sums are promoted, what INT32
/// holds of products of such digits, of FP8 what FP32 does.
[[nodiscard]] inline std::int64_t longest_window(SliceFormat format, int bits, bool promotes) {
  const num::DigitRule rule = num::digit_rule(num::DigitKind::kNearest, bits);
  const std::int64_t promoted = product::element_bytes(format) == 1 ? num::float_block(bits) : num::int32_block(rule);
  return std::min(promotes ? promoted : ozaki1::slice_sum_limit(format, rule), product::kBlockMaxI8);
}

/// Lengths of C around tiles, with lengths of windows, strides and planes that take turns.
template <class Expect>
void expect_float_tile_edges(SliceFormat format, bool promotes, const std::vector<std::int64_t>& lengths,
                             const Expect& expect) {
  const int bits = usual_bits(format);
  const std::int64_t most_k = longest_window(format, bits, promotes);
  const std::vector<std::int64_t> numbers = {1, 15, 63, 64, 65, 128, 129, 200, 255, 257, 300, 513};
  int i = 0;
  for (const std::int64_t m : lengths) {
    for (const std::int64_t n : lengths) {
      const std::int64_t length = std::min(numbers[static_cast<std::size_t>(i) % numbers.size()], most_k);
      expect(FloatWindows({.format = format,
                           .bits = bits,
                           .m = m,
                           .n = n,
                           .numbers = length,
                           .slices = 1 + i % 4,
                           .num_windows = 1 + i % 5,
                           .most_k = most_k,
                           .planes = 1 + i % 3,
                           .extra_k = i % 7 == 0 ? 64 : 0,
                           .extra_rows = i % 3 == 0 ? 128 - m % 128 : i % 5,
                           .c_offset = i % 3 == 0 ? 0 : i % 4,
                           .interleaves_planes = i % 11 == 0}));
      if (::testing::Test::HasFailure()) return;
      ++i;
    }
  }
}

/// Sums as large as accumulators hold, of all bits that the format has and of fewer, and small numbers among them.
template <class Expect>
void expect_float_extremes(SliceFormat format, bool promotes, const Expect& expect) {
  for (const int bits : {usual_bits(format), usual_bits(format) - 2}) {
    const std::int64_t exact_k = longest_window(format, bits, false);
    for (const FloatFill fill : kFloatFills) {
      for (const std::int64_t k : {exact_k, exact_k - 1, exact_k / 2 + 1}) {
        expect(FloatWindows({.format = format,
                             .bits = bits,
                             .m = 130,
                             .n = 70,
                             .numbers = k,
                             .num_windows = 2,
                             .most_k = exact_k,
                             .fill = fill,
                             .extra_rows = 14}));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  if (!promotes) return;
  // Sums up to the ends of INT32.
  const int bits = usual_bits(format);
  const std::int64_t most_k = longest_window(format, bits, true);
  for (const FloatFill fill : kFloatFills) {
    for (const std::int64_t k : {most_k, most_k - 1, most_k / 2 + 77}) {
      expect(FloatWindows({.format = format,
                           .bits = bits,
                           .m = 20,
                           .n = 17,
                           .numbers = k,
                           .most_k = most_k,
                           .fill = fill,
                           .extra_rows = 12}));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// As many windows as there may be, in any order of lengths, over more tiles than a device works on at a time.
template <class Expect>
void expect_many_float_windows(SliceFormat format, bool promotes, const Expect& expect) {
  const int bits = usual_bits(format);
  const std::int64_t most_k = longest_window(format, bits, promotes);
  for (const std::int64_t extra_rows : {14, 1}) {
    expect(FloatWindows({.format = format,
                         .bits = bits,
                         .m = 386,
                         .n = 200,
                         .numbers = std::min<std::int64_t>(200, most_k),
                         .slices = 3,
                         .num_windows = product::kMaxWindows,
                         .most_k = most_k,
                         .planes = 2,
                         .extra_rows = extra_rows}));
  }
  for (const std::int64_t extra : {0, 1, 2, 4, 8, 12, 16, 17}) {
    expect(FloatWindows({.format = format,
                         .bits = bits,
                         .m = 144,
                         .n = 70,
                         .numbers = std::min<std::int64_t>(100, most_k),
                         .num_windows = 3,
                         .most_k = most_k,
                         .extra_rows = extra,
                         .c_offset = extra % 3}));
  }
}

template <class Expect>
void expect_float_empty_dimensions(SliceFormat format, const Expect& expect) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 0}, {0, 0}})
    expect(
        FloatWindows({.format = format, .bits = usual_bits(format), .m = m, .n = n, .numbers = 7, .num_windows = 2}));
}

}  // namespace kizami::engines
