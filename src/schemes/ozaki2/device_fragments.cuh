// SPDX-License-Identifier: MIT
// Elements of a line as integers of some words, biased so that all their bytes are unsigned, and their words as the tensor cores
// take them, from registers or from shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/load_matrices.cuh"
#include "device/line.cuh"
#include "num/scaling.hpp"

namespace kizami::ozaki2::kernels {

/// The biased integer rint(+-m 2^shift) + 2^(32 kWords - 1). @range |m 2^shift| < 2^(32 kWords - 1)
template <int kWords>
struct Integer {
  std::uint32_t word[kWords];

  Integer() = default;
  __device__ Integer(bool is_negative, std::uint64_t m, int shift) {
    if (shift < 0) {  // to nearest, ties to even
      const int drop = -shift;
      if (drop > 63) {
        m = 0;
      } else {
        const std::uint64_t kept = m >> drop;
        const std::uint64_t rest = m << (64 - drop);
        constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
        m = kept + (rest > kHalf || (rest == kHalf && (kept & 1) != 0) ? 1 : 0);
      }
      shift = 0;
    }
    for (int w = 0; w < kWords; ++w) word[w] = 0;
    if constexpr (kWords == 2) {
      m <<= shift;
      word[0] = static_cast<std::uint32_t>(m);
      word[1] = static_cast<std::uint32_t>(m >> 32);
    } else {
      const int first = shift / 32;
      const int bits = shift % 32;
      const std::uint64_t low = m << bits;
      const auto high = static_cast<std::uint32_t>(bits == 0 ? 0 : m >> (64 - bits));
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        if (w == first) word[w] = static_cast<std::uint32_t>(low);
        if (w == first + 1) word[w] = static_cast<std::uint32_t>(low >> 32);
        if (w == first + 2) word[w] = high;
      }
    }
    if (is_negative) {
      std::uint64_t carry = 1;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        carry += static_cast<std::uint32_t>(~word[w]);
        word[w] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    word[kWords - 1] ^= 0x80000000u;
  }

  /// Of x itself: a sum with 1.5 2^52 has it in its low bits. @range |x| < 2^31
  __device__ explicit Integer(double x) requires(kWords == 1) {
    word[0] = static_cast<std::uint32_t>(__double2loint(__dadd_rn(x, 0x1.8p52))) ^ 0x80000000u;
  }
  /// Of x itself. @range |x| < 2^62
  __device__ explicit Integer(double x) requires(kWords == 2) {
    const auto whole = static_cast<std::uint64_t>(__double2ll_rn(x));
    word[0] = static_cast<std::uint32_t>(whole);
    word[1] = static_cast<std::uint32_t>(whole >> 32) ^ 0x80000000u;
  }
  /// Of x itself, a word after the other from the highest: a sum with 1.5 2^(52 + i) has the nearest multiple of 2^i in
  /// its low bits, and what is left is exact. @range |x| < 2^94
  __device__ explicit Integer(double x) requires(kWords == 3) {
    constexpr double kTop = 0x1.8p116;
    constexpr double kMiddle = 0x1.8p84;
    constexpr double kLow = 0x1.8p52;
    const double top = __dadd_rn(x, kTop);
    x = __dsub_rn(x, __dsub_rn(top, kTop));  // up to 2^63
    const double middle = __dadd_rn(x, kMiddle);
    x = __dsub_rn(x, __dsub_rn(middle, kMiddle));  // up to 2^31
    const double low = __dadd_rn(x, kLow);
    // The high word of a sum is one less where its multiple is negative.
    constexpr auto kHighOf = [](double sum) { return static_cast<std::uint32_t>(bit_cast<std::uint64_t>(sum) >> 32); };
    const auto borrow = static_cast<std::int64_t>(__double2hiint(low)) - kHighOf(kLow);  // 0 or -1
    const std::uint32_t highest = static_cast<std::uint32_t>(__double2loint(top)) +
                                  static_cast<std::uint32_t>(__double2hiint(middle)) + (0x80000000u - kHighOf(kMiddle));
    const std::uint64_t high = (std::uint64_t{highest} << 32 | static_cast<std::uint32_t>(__double2loint(middle))) +
                               static_cast<std::uint64_t>(borrow);
    word[0] = static_cast<std::uint32_t>(__double2loint(low));
    word[1] = static_cast<std::uint32_t>(high);
    word[2] = static_cast<std::uint32_t>(high >> 32);
  }
};

/// How the elements of a line become integers.
struct LineScaling {
  int scale = 0;
  bool is_live = false;  ///< false: zero, or not finite
  double unit = 0;       ///< 2^scale if that is far from the ends of the range and the line is live, else 0

  LineScaling() = default;
  __device__ LineScaling(int line_scale, bool is_line_live) : scale(line_scale), is_live(is_line_live) {
    if (is_live && abs(scale) <= 1000) unit = num::power_of_two(scale);
  }
};

/// 64 elements of four words as a warp gives them to the tensor cores: lane 4g + t has word t of elements 8g to 8g + 7, so
/// that the words of an element are the row of a factor.
struct ElementRows {
  std::uint32_t word[2][4];  ///< of the first four elements, and of the others
};

/// The words of a lane's two neighbouring elements as it gives them to the tensor cores: a product takes two words of
/// each.
template <class T, int kWords>
struct Fragment {
  static constexpr int kWarpBytes = 8 * device::Element<T>::kTerms * kWords * 32;  ///< of all lanes, in memory
  static constexpr int kTerms = device::Element<T>::kTerms;
  static constexpr int kCount = kTerms * kWords;                              ///< words of an element
  static constexpr int kProducts = (kCount + 1) / 2;                          ///< a missing word is zero
  static constexpr int kProductBytes = 32 * static_cast<int>(sizeof(uint4));  ///< of all lanes and one product
  /// Products whose words fit in the place of the elements, and the bytes of the others.
  static constexpr int kInPlace = static_cast<int>(sizeof(T)) / 8;
  static constexpr int kRestBytes = kWarpBytes - kInPlace * kProductBytes;
  /// Elements of four words are loaded as rows: no zeros have to stand for the words of other elements.
  static constexpr bool kIsLoadedAsRows = kCount == 4;
  using Loaded = std::conditional_t<kIsLoadedAsRows, ElementRows, Fragment>;
  uint4 a[kProducts] = {};

  Fragment() = default;
  /// Of elements times a power of two: one product a term; one that underflows is rounded to zero either way.
  __device__ Fragment(const device::Element<T> (&elements)[2], bool is_conjugated, double unit) requires(kWords <= 3) {
    for_terms([&](int e, int t) {
      return Integer<kWords>(__dmul_rn(elements[e].term[t], t == 1 && is_conjugated ? -unit : unit));
    });
  }
  /// @param inner_shift of the two elements, or null
  __device__ Fragment(const device::Element<T> (&elements)[2], bool is_conjugated, const LineScaling& scaling,
                      const std::int32_t* inner_shift) {
    if constexpr (kWords <= 3) {
      if (inner_shift == nullptr && scaling.unit != 0.0) {
        *this = Fragment(elements, is_conjugated, scaling.unit);
        return;
      }
    }
    for_terms([&](int e, int t) {
      const double x = elements[e].term[t];
      const device::Term term = device::term_of(scaling.is_live ? device::magnitude_bits(x) : 0);
      const bool is_negative = (__double_as_longlong(x) < 0) != (t == 1 && is_conjugated);
      const int shift = inner_shift == nullptr ? 0 : inner_shift[e];
      return term.mantissa == 0 ? Integer<kWords>(false, 0, 0)
                                : Integer<kWords>(is_negative, term.mantissa, term.ulp + scaling.scale + shift);
    });
  }

  /// To and from shared memory, by all lanes: chunks of a lane are neighbours of those of others. Lanes load what they
  /// have stored, but as rows what others have: a barrier of the warp stands between.
  /// @param memory  the first kInPlace products' bytes  @param rest  the others': kRestBytes
  __device__ void store(unsigned char* memory, unsigned char* rest) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (kIsLoadedAsRows) {
      const int g = lane / 4;
      unsigned char* const to = place(g / 4, memory, rest);
      *chunk_of(to, g, lane % 4 * 2) = make_uint4(a[0].x, a[0].z, a[1].x, a[1].z);
      *chunk_of(to, g, lane % 4 * 2 + 1) = make_uint4(a[0].y, a[0].w, a[1].y, a[1].w);
    } else {
#pragma unroll
      for (int k = 0; k < kProducts; ++k) {
        unsigned char* const to = place(k, memory, rest);
        if (2 * k + 1 < kCount) {
          reinterpret_cast<uint4*>(to)[lane] = a[k];
        } else {
          reinterpret_cast<uint2*>(to)[lane] = make_uint2(a[k].x, a[k].y);
        }
      }
    }
  }
  __device__ static Loaded load(const unsigned char* memory, const unsigned char* rest) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Loaded loaded;
    if constexpr (kIsLoadedAsRows) {
      const int g = lane % 8;  // lane l names the chunk of element 8g + l / 8, then that of 8g + l / 8 + 4
      const std::uint32_t from =
          static_cast<std::uint32_t>(__cvta_generic_to_shared(chunk_of(place(g / 4, memory, rest), g, lane / 8)));
      base::load_matrices(loaded.word[0], from);
      base::load_matrices(loaded.word[1], from + (g < 4 ? 64 : -64));  // (l / 8 + 4) ^ g
    } else {
#pragma unroll
      for (int k = 0; k < kProducts; ++k) {
        const unsigned char* const from = place(k, memory, rest);
        if (2 * k + 1 < kCount) {
          loaded.a[k] = reinterpret_cast<const uint4*>(from)[lane];
        } else {
          const uint2 half = reinterpret_cast<const uint2*>(from)[lane];
          loaded.a[k] = make_uint4(half.x, half.y, 0, 0);
        }
      }
    }
    return loaded;
  }
  /// The same in kWarpBytes that are one.
  __device__ void store(unsigned char* memory) const { store(memory, memory + kInPlace * kProductBytes); }
  __device__ static Loaded load(const unsigned char* memory) { return load(memory, memory + kInPlace * kProductBytes); }

 private:
  template <class Byte>
  [[nodiscard]] __device__ static Byte* place(int k, Byte* memory, Byte* rest) {
    return k < kInPlace ? memory + k * kProductBytes : rest + (k - kInPlace) * kProductBytes;
  }
  /// Of element 8g + j, in an order in which elements j of all g lie in different banks, as neighbours do.
  /// @param memory  place() of g / 4
  template <class Byte>
  [[nodiscard]] __device__ static auto chunk_of(Byte* memory, int g, int j) {
    using Chunk = std::conditional_t<std::is_const_v<Byte>, const uint4, uint4>;
    return reinterpret_cast<Chunk*>(memory) + 8 * (g % 4) + (j ^ g);
  }
  template <class Make>
  __device__ void for_terms(const Make& make) {
#pragma unroll
    for (int t = 0; t < kTerms; ++t) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const Integer<kWords> x = make(e, t);
#pragma unroll
        for (int w = 0; w < kWords; ++w) set(t * kWords + w, e, x.word[w]);
      }
    }
  }
  __device__ void set(int word, int e, std::uint32_t value) {
    uint4& of = a[word / 2];
    (word % 2 == 0 ? (e == 0 ? of.x : of.y) : (e == 0 ? of.z : of.w)) = value;
  }
};

}  // namespace kizami::ozaki2::kernels
