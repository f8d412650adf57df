// SPDX-License-Identifier: MIT
// out = c + a b for dense row-major matrices whose extents are powers of two. A panel of b, kMaxVectors vectors wide,
// stays in L1 while kMaxRows rows of a at a time pass by; the sums stay in registers. Nothing is packed: a tile of 64
// columns is a panel already. This file is compiled once per target by Highway.
//   AVX3: 6 x 4 sums + 4 of b + 1 broadcast = 29 of 32 registers.   others: 4 x 2 + 2 + 1 = 11 of 16.
#include "kizami/tile/matrix_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/aligned_buffer.hpp"
#include "kizami/formats.hpp"

// Below AVX2 and NEON only the baseline is compiled. Vectors of unknown size cannot form arrays.
#define HWY_DISABLED_TARGETS                                                                                       \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_WASM | HWY_WASM_EMU256 | \
   HWY_PPC8)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/src/matrix_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kizami::tile::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kMaxRows = 6;
constexpr int kMaxVectors = 4;
#else
constexpr int kMaxRows = 4;
constexpr int kMaxVectors = 2;
#endif
constexpr std::size_t kMinRowsToPack = 16;  // unmeasured: below, a panel is used too seldom

/// kRows x (kVectors * lanes) elements of out, at a row of a and a column of b, c and out; rows of b are b_step apart.
template <int kRows, int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void multiply_block(D d, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::size_t b_step, const T* c,
                               T* out, std::size_t n, std::size_t k) {
  using V = hn::Vec<D>;
  const std::size_t lanes = hn::Lanes(d);
  V sums[kRows][kVectors];
  HWY_UNROLL(kMaxRows) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(kMaxVectors) for (int v = 0; v < kVectors; ++v) {
      const std::size_t at = static_cast<std::size_t>(r) * n + static_cast<std::size_t>(v) * lanes;
      sums[r][v] = c == nullptr ? hn::Zero(d) : hn::LoadU(d, c + at);
    }
  }
  for (std::size_t l = 0; l < k; ++l) {
    V row[kVectors];
    HWY_UNROLL(kMaxVectors) for (int v = 0; v < kVectors; ++v) {
      row[v] = hn::LoadU(d, b + l * b_step + static_cast<std::size_t>(v) * lanes);
    }
    HWY_UNROLL(kMaxRows) for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[static_cast<std::size_t>(r) * k + l]);
      HWY_UNROLL(kMaxVectors) for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, row[v], sums[r][v]);
    }
  }
  HWY_UNROLL(kMaxRows) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(kMaxVectors) for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, out + static_cast<std::size_t>(r) * n + static_cast<std::size_t>(v) * lanes);
    }
  }
}

/// All rows of one panel of columns.
template <int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void multiply_panel(D d, const T* a, const T* b, std::size_t b_step, const T* c, T* out, std::size_t m,
                               std::size_t n, std::size_t k) {
  std::size_t i = 0;
  const auto row = [&](const T* x, std::size_t at) { return x == nullptr ? nullptr : x + at * n; };
  for (; i + kMaxRows <= m; i += kMaxRows) {
    multiply_block<kMaxRows, kVectors>(d, a + i * k, b, b_step, row(c, i), out + i * n, n, k);
  }
  for (; i + 4 <= m; i += 4) multiply_block<4, kVectors>(d, a + i * k, b, b_step, row(c, i), out + i * n, n, k);
  for (; i + 2 <= m; i += 2) multiply_block<2, kVectors>(d, a + i * k, b, b_step, row(c, i), out + i * n, n, k);
  for (; i < m; ++i) multiply_block<1, kVectors>(d, a + i * k, b, b_step, row(c, i), out + i * n, n, k);
}

template <class T>
HWY_INLINE void multiply_columns(const T* a, const T* b, const T* c, T* out, T* packed, std::size_t m, std::size_t n,
                                 std::size_t k) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = kMaxVectors * lanes;
  std::size_t j = 0;
  const auto column = [&](const T* x) { return x == nullptr ? nullptr : x + j; };
  for (; j + width <= n; j += width) {
    // Rows of b that are a power of two apart fall on few lines of L1: a panel that is not b itself is packed.
    if (n == width || m < kMinRowsToPack) {
      multiply_panel<kMaxVectors>(d, a, b + j, n, column(c), out + j, m, n, k);
      continue;
    }
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t v = 0; v < width; v += lanes)
        hn::StoreU(hn::LoadU(d, b + l * n + j + v), d, packed + l * width + v);
    }
    multiply_panel<kMaxVectors>(d, a, packed, width, column(c), out + j, m, n, k);
  }
  for (; j + lanes <= n; j += lanes) multiply_panel<1>(d, a, b + j, n, column(c), out + j, m, n, k);
  const hn::CappedTag<T, 1> one;  // fewer columns than lanes
  for (; j < n; ++j) multiply_panel<1>(one, a, b + j, n, column(c), out + j, m, n, k);
}

void multiply_f32(const float* a, const float* b, const float* c, float* out, float* packed, std::size_t m,
                  std::size_t n, std::size_t k) {
  multiply_columns(a, b, c, out, packed, m, n, k);
}
void multiply_f64(const double* a, const double* b, const double* c, double* out, double* packed, std::size_t m,
                  std::size_t n, std::size_t k) {
  multiply_columns(a, b, c, out, packed, m, n, k);
}

/// FP16 to FP32; exact.
void widen_fp16(const std::uint16_t* from, float* to, std::size_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from + i))), d, to + i);
  }
  for (; i < count; ++i) to[i] = Fp16::from_bits(from[i]).to_float();
}

}  // namespace kizami::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kizami::tile {
namespace {

HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_f64);
HWY_EXPORT(widen_fp16);

/// Every value of an 8-bit format.
template <class F>
constexpr std::array<float, 256> kFp8Values = [] {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < 256; ++code) values[code] = F::from_bits(static_cast<std::uint8_t>(code)).to_float();
  return values;
}();

template <class Bits, class Convert>
void convert_all(const void* from, float* to, std::size_t count, const Convert& convert) {
  const auto* const bits = static_cast<const Bits*>(from);
  for (std::size_t i = 0; i < count; ++i) to[i] = convert(bits[i]);
}

/// A matrix of a narrow format as FP32; exact.
void widen(NarrowFormat format, const void* from, float* to, std::size_t count) {
  switch (format) {
    case NarrowFormat::kFp16:
      HWY_DYNAMIC_DISPATCH(widen_fp16)(static_cast<const std::uint16_t*>(from), to, count);
      return;
    case NarrowFormat::kBf16:
      convert_all<std::uint16_t>(from, to, count,
                                 [](std::uint16_t x) { return bit_cast<float>(std::uint32_t{x} << 16); });
      return;
    case NarrowFormat::kTf32:  // bits below the format are ignored, as tensor cores do
      convert_all<std::uint32_t>(from, to, count, [](std::uint32_t x) {
        return bit_cast<float>(x & ~((std::uint32_t{1} << Tf32::kSpareBits) - 1));
      });
      return;
    case NarrowFormat::kE4m3:
      convert_all<std::uint8_t>(from, to, count, [](std::uint8_t x) { return kFp8Values<Fp8E4m3>[x]; });
      return;
    case NarrowFormat::kE5m2:
      convert_all<std::uint8_t>(from, to, count, [](std::uint8_t x) { return kFp8Values<Fp8E5m2>[x]; });
      return;
  }
}

[[nodiscard]] constexpr std::int64_t bytes_of(NarrowFormat format) {
  switch (format) {
    case NarrowFormat::kFp16:
    case NarrowFormat::kBf16:
      return 2;
    case NarrowFormat::kTf32:
      return 4;
    case NarrowFormat::kE4m3:
    case NarrowFormat::kE5m2:
      break;
  }
  return 1;
}

/// Memory of the calling thread, kept from call to call: for widened operands, sums, and a packed panel. Null if the
/// system refuses it: multiply_in_place() needs none.
enum class Scratch : std::size_t { kA, kB, kSums, kPanel, kCount };
template <class T>
T* scratch(Scratch purpose, std::size_t count) {
  static thread_local std::array<base::AlignedBuffer, static_cast<std::size_t>(Scratch::kCount)> buffers;
  base::AlignedBuffer& buffer = buffers[static_cast<std::size_t>(purpose)];
  if (buffer.data() == nullptr || buffer.size() < count * sizeof(T)) buffer = base::AlignedBuffer(count * sizeof(T));
  return reinterpret_cast<T*>(buffer.data());
}
constexpr std::size_t kMaxPanelBytes = 4 * 64;  // a row: kMaxVectors vectors of AVX-512

void widen_int8(const void* from, bool is_signed, float* to, std::size_t count) {
  if (is_signed) {
    convert_all<std::int8_t>(from, to, count, [](std::int8_t x) { return static_cast<float>(x); });
  } else {
    convert_all<std::uint8_t>(from, to, count, [](std::uint8_t x) { return static_cast<float>(x); });
  }
}

/// Element by element, without memory. a_at(i), b_at(i): element i of a and b. add(sum, x, y): sum + x y.
template <class Acc, class AAt, class BAt, class Add>
void multiply_in_place(const AAt& a_at, const BAt& b_at, const Acc* c, Acc* out, int m, int n, int k, const Add& add) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      Acc sum = c == nullptr ? Acc{} : c[i * n + j];
      for (std::int64_t h = 0; h < k; ++h) sum = add(sum, a_at(i * k + h), b_at(h * n + j));
      out[i * n + j] = sum;
    }
  }
}
template <class T, class AAt, class BAt>
void multiply_in_place(const AAt& a_at, const BAt& b_at, const T* c, T* out, int m, int n, int k) {
  multiply_in_place(a_at, b_at, c, out, m, n, k, [](T sum, T x, T y) { return std::fma(x, y, sum); });
}

}  // namespace

void multiply_add(const float* a, const float* b, const float* c, float* out, int m, int n, int k) noexcept {
  float* const packed = scratch<float>(Scratch::kPanel, static_cast<std::size_t>(k) * kMaxPanelBytes / sizeof(float));
  const auto at = [](const float* x) { return [x](std::int64_t i) { return x[i]; }; };
  if (packed == nullptr) return multiply_in_place(at(a), at(b), c, out, m, n, k);
  HWY_DYNAMIC_DISPATCH(multiply_f32)
  (a, b, c, out, packed, static_cast<std::size_t>(m), static_cast<std::size_t>(n), static_cast<std::size_t>(k));
}

void multiply_add(const double* a, const double* b, const double* c, double* out, int m, int n, int k) noexcept {
  double* const packed =
      scratch<double>(Scratch::kPanel, static_cast<std::size_t>(k) * kMaxPanelBytes / sizeof(double));
  const auto at = [](const double* x) { return [x](std::int64_t i) { return x[i]; }; };
  if (packed == nullptr) return multiply_in_place(at(a), at(b), c, out, m, n, k);
  HWY_DYNAMIC_DISPATCH(multiply_f64)
  (a, b, c, out, packed, static_cast<std::size_t>(m), static_cast<std::size_t>(n), static_cast<std::size_t>(k));
}

void multiply_add_narrow(NarrowFormat format, const void* a, const void* b, const float* c, float* out, int m, int n,
                         int k) noexcept {
  const std::size_t a_count = static_cast<std::size_t>(m) * static_cast<std::size_t>(k);
  const std::size_t b_count = static_cast<std::size_t>(k) * static_cast<std::size_t>(n);
  float* const wide_a = scratch<float>(Scratch::kA, a_count);
  float* const wide_b = scratch<float>(Scratch::kB, b_count);
  if (wide_a == nullptr || wide_b == nullptr) {
    const auto at = [format](const void* x) {
      return [format, bytes = static_cast<const std::byte*>(x)](std::int64_t i) {
        float value = 0;
        widen(format, bytes + i * bytes_of(format), &value, 1);
        return value;
      };
    };
    return multiply_in_place(at(a), at(b), c, out, m, n, k);
  }
  widen(format, a, wide_a, a_count);
  widen(format, b, wide_b, b_count);
  multiply_add(wide_a, wide_b, c, out, m, n, k);
}

// Products of bytes are below 2^16, so FP32 sums of 256 of them are exact; those are added as integers.
void multiply_add_int8(const void* a, bool is_a_signed, const void* b, bool is_b_signed, const std::int32_t* c,
                       std::int32_t* out, int m, int n, int k) noexcept {
  constexpr int kExactDepth = 256;
  const std::size_t out_count = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
  const int depth = std::min(k, kExactDepth);  // a power of two, as k: it divides k
  const std::size_t a_count = static_cast<std::size_t>(m) * static_cast<std::size_t>(depth);
  const std::size_t b_count = static_cast<std::size_t>(depth) * static_cast<std::size_t>(n);
  float* const wide_a = scratch<float>(Scratch::kA, a_count);
  float* const wide_b = scratch<float>(Scratch::kB, b_count);
  float* const sums = scratch<float>(Scratch::kSums, out_count);
  if (wide_a == nullptr || wide_b == nullptr || sums == nullptr) {
    const auto at = [](const void* x, bool is_signed) {
      return [bytes = static_cast<const std::uint8_t*>(x), is_signed](std::int64_t i) {
        return is_signed ? std::int32_t{static_cast<std::int8_t>(bytes[i])} : std::int32_t{bytes[i]};
      };
    };
    return multiply_in_place(
        at(a, is_a_signed), at(b, is_b_signed), c, out, m, n, k, [](std::int32_t sum, std::int32_t x, std::int32_t y) {
          return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(x * y));
        });
  }
  for (int first = 0; first < k; first += depth) {
    for (int i = 0; i < m; ++i) {
      const std::size_t at =
          static_cast<std::size_t>(i) * static_cast<std::size_t>(k) + static_cast<std::size_t>(first);
      widen_int8(static_cast<const std::byte*>(a) + at, is_a_signed, wide_a + static_cast<std::size_t>(i * depth),
                 static_cast<std::size_t>(depth));
    }
    widen_int8(static_cast<const std::byte*>(b) + static_cast<std::size_t>(first) * static_cast<std::size_t>(n),
               is_b_signed, wide_b, b_count);
    multiply_add(wide_a, wide_b, nullptr, sums, m, n, depth);
    const std::int32_t* const so_far = first == 0 ? c : out;
    for (std::size_t i = 0; i < out_count; ++i) {
      const std::uint32_t before = so_far == nullptr ? 0 : static_cast<std::uint32_t>(so_far[i]);
      out[i] = static_cast<std::int32_t>(before + static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[i])));
    }
  }
}

}  // namespace kizami::tile
#endif  // HWY_ONCE
