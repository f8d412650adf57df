// SPDX-License-Identifier: MIT
// Residues of a line's elements, for the kernels that write residue planes. An element becomes one or two two's
// complement integers of some words, biased so that all their bytes are unsigned; a residue of every plane is then a
// linear map of those words and of a bias,
//   X = sum_i byte_i 256^i - 2^(32 words - 1),   X mod p = reduce(sum_i byte_i (256^i mod p) - (2^(32 words - 1) mod p)),
// so that the sums of all planes are a product of matrices of bytes, which the tensor cores make (mma.m16n8k32). They
// come as the fraction of a float, and a residue then takes one FP32 and one integer operation: see PlaneRow.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "base/code_capability.hpp"
#include "base/load_matrices.cuh"
#include "device/bytes.cuh"
#include "device/line.cuh"
#include "num/modular.hpp"
#include "num/moduli.hpp"
#include "num/scaling.hpp"
#include "schemes/ozaki2/residue_pairs.hpp"

namespace kizami::ozaki2::kernels {

// ---- the planes as linear maps --------------------------------------------------------------------------------------

/// What one plane makes of an element's words: those of its real term, then those of the imaginary one.
///
/// With x = sum + bias, |x| <= reach, the words' product with `radix` begins at `base`, whose bits are those of the
/// float B + bias for an integer B = p m + beta in [2^23, 2^24): as a float the sum is B + x. In
///   q = fma(B + x, inverse, addend),   inverse = (1 + d) / p,
/// the quotient is m + (x + beta + (B + x) d) / p before it is rounded to an integer. B is chosen so that
/// |beta + (B + x) d| < 1/2, which is what x keeps from every tie, in units of 1/p, for odd p: so q = addend + m + rint(x / p).
/// Then base + ... - p bits(q) has the symmetric residue as its low 16 bits, because -p bits(addend) = -beta modulo 2^16.
/// p = 256: the low byte is that of x, whatever q.
template <int kTerms, int kWords>
struct PlaneRow {
  std::int32_t minus_p = 0;
  std::int32_t base = 0;
  float inverse = 0;
  float addend = 0;
  std::uint32_t radix[kTerms * kWords] = {};  ///< bytes: symmetric residues of factor 256^i
};

/// The bits of the float n are kFloatBits + n. @range n in [2^23, 2^24)
inline constexpr std::int32_t kFloatBits = 0x4B000000 - (1 << 23);

/// Which residues a plane has: symmetric ones, or those from 0 to p - 1. The latter are r = x - p floor(x / p), and
/// floor(x / p) = rint((x - (p - 1) / 2) / p) for odd p: B is smaller by that, and addend keeps the low bits those of r.
enum class Residues : std::uint8_t { kSymmetric, kUnsigned };

/// Chooses B for a row whose sums reach so far from 0.
template <int kTerms, int kWords>
constexpr void set_quotient(PlaneRow<kTerms, kWords>& row, int reach, Residues residues) {
  const int p = -row.minus_p;
  const int middle = residues == Residues::kUnsigned && p % 2 == 1 ? (p - 1) / 2 : 0;
  reach += middle;
  row.inverse = 1.0F / static_cast<float>(p);
  const double d = static_cast<double>(row.inverse) * p - 1.0;  // exact
  const int lowest = ((1 << 23) + reach + p) / p * p;
  const int highest = ((1 << 24) - reach - 2) / p * p;
  double least = 1.0;
  int best = 0;
  int beta_of_best = 0;
  for (const int multiple : {lowest, highest}) {
    for (int beta = -1; beta <= 1; ++beta) {
      const double low = beta + (multiple + beta - reach) * d;
      const double high = beta + (multiple + beta + reach) * d;
      const double worst = std::max(low < 0 ? -low : low, high < 0 ? -high : high);
      if (worst >= least) continue;
      least = worst;
      best = multiple + beta;
      beta_of_best = beta;
    }
  }
  if (p % 2 == 1 && least >= 0.499) throw "no base keeps the quotient's error below a half";  // does not compile
  row.base = kFloatBits + best - middle;
  std::uint32_t inverse_of_p = 1;  // modulo 2^16: each step doubles the bits that are right
  for (int bits = 1; bits < 16; bits *= 2) inverse_of_p *= 2 - static_cast<std::uint32_t>(p) * inverse_of_p;
  const auto beta_bits = static_cast<std::uint32_t>(beta_of_best - middle);
  const std::uint32_t low = p % 2 == 1 ? inverse_of_p * beta_bits % 65536 : 0;
  if (p % 2 == 1 && (low * static_cast<std::uint32_t>(p) - beta_bits) % 65536 != 0)
    throw "the low 16 bits would not be the residue";  // does not compile
  row.addend = static_cast<float>((3 << 22) + static_cast<int>(low));
}

/// The plane of factors[t] times term t, modulo p.
template <int kTerms, int kWords>
[[nodiscard]] constexpr PlaneRow<kTerms, kWords> plane_row(int p, const std::array<int, 2>& factors,
                                                           Residues residues) {
  PlaneRow<kTerms, kWords> row;
  row.minus_p = -p;
  set_quotient(row, 255 * 128 * 4 * kTerms * kWords + kTerms * 128, residues);
  const auto residue = [&](int exponent, int factor) {
    return num::symmetric_residue(static_cast<std::int64_t>(num::power_of_two_residue(exponent, p)) * factor, p);
  };
  for (std::size_t t = 0; t < kTerms; ++t) {
    row.base += residue(32 * kWords - 1, -factors[t]);
    for (int i = 0; i < 4 * kWords; ++i) {
      const auto byte = static_cast<std::uint32_t>(residue(8 * i, factors[t])) & 255u;
      row.radix[static_cast<int>(t) * kWords + i / 4] |= byte << (i % 4 * 8);
    }
  }
  return row;
}

/// In Z[i]: U and V of two-product moduli, re + s im and re - s im; then re, im and their sum.
template <int kTerms, int kWords, Residues kResidues>
[[nodiscard]] constexpr auto plane_rows() {
  constexpr num::Ring kRing = kTerms == 2 ? num::Ring::kComplex : num::Ring::kReal;
  constexpr std::size_t kModuli = kTerms == 2 ? num::kComplexModuli.size() : num::kRealModuli.size();
  std::array<PlaneRow<kTerms, kWords>, static_cast<std::size_t>(num::num_planes(kRing, kModuli))> rows{};
  for (int l = 0; l < static_cast<int>(kModuli); ++l) {
    const int p = num::modulus(kRing, l);
    const int planes = num::planes_of_modulus(kRing, l);
    for (int i = 0; i < planes; ++i) {
      const int root = planes == 2 ? num::sqrt_minus_one(p) : 0;
      const std::array<int, 2> factors = planes == 1   ? std::array{1, 0}
                                         : planes == 2 ? std::array{1, i == 0 ? root : -root}
                                                       : std::array{i != 1 ? 1 : 0, i != 0 ? 1 : 0};
      rows[static_cast<std::size_t>(num::num_planes(kRing, l) + i)] = plane_row<kTerms, kWords>(p, factors, kResidues);
    }
  }
  return rows;
}
template <int kTerms, int kWords, Residues kResidues>
__device__ constexpr auto kPlaneRows = plane_rows<kTerms, kWords, kResidues>();

/// Copies the rows of planes [0, num_planes) to shared memory; the threads of the block share the work.
template <int kTerms, int kWords>
__device__ void load_plane_rows(PlaneRow<kTerms, kWords>* rows, int num_planes, bool is_unsigned) {
  constexpr int kSize = static_cast<int>(sizeof(PlaneRow<kTerms, kWords>) / 4);
  const auto* of_planes = kPlaneRows<kTerms, kWords, Residues::kSymmetric>.data();
  if constexpr (base::code_has_unsigned_planes()) {
    if (is_unsigned) of_planes = kPlaneRows<kTerms, kWords, Residues::kUnsigned>.data();
  } else if (is_unsigned) {
    __trap();
  }
  const auto* const from = reinterpret_cast<const std::uint32_t*>(of_planes);
  for (int i = static_cast<int>(threadIdx.x); i < num_planes * kSize; i += static_cast<int>(blockDim.x))
    reinterpret_cast<std::uint32_t*>(rows)[i] = from[i];
}

// ---- elements as integers -------------------------------------------------------------------------------------------

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

// ---- bytes of a line ------------------------------------------------------------------------------------------------

/// a b + c, a of 16 rows and 32 columns of digits without sign, b of 32 rows and 8 columns of signed bytes.
__device__ __forceinline__ void multiply_bytes(std::int32_t (&sum)[4], const uint4& a, const std::uint32_t (&b)[2],
                                               const std::int32_t (&c)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, "
      "%13};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

/// The same of 16 columns and rows.
__device__ __forceinline__ void multiply_bytes(std::int32_t (&sum)[4], std::uint32_t a0, std::uint32_t a1,
                                               std::uint32_t b, const std::int32_t (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

/// Store if `is_wanted`, without a branch around what makes the value.
__device__ inline void store_if(bool is_wanted, std::int8_t* to, const uint2& value) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.s32 p, %3, 0;\n"
      "@p st.global.v2.u32 [%0], {%1, %2};\n"
      "}\n" ::"l"(to),
      "r"(value.x), "r"(value.y), "r"(static_cast<int>(is_wanted))
      : "memory");
}
__device__ inline void store_if(bool is_wanted, std::int8_t* to, const uint4& value) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.s32 p, %5, 0;\n"
      "@p st.global.v4.u32 [%0], {%1, %2, %3, %4};\n"
      "}\n" ::"l"(to),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(static_cast<int>(is_wanted))
      : "memory");
}

/// Elements that a warp takes at a time, and those that a lane of it takes: pairs pair_of_lane(0) and pair_of_lane(1).
inline constexpr int kBlockLength = 128;
[[nodiscard]] __device__ inline int pair_of_lane(int i) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return 16 * (lane / 4) + 8 * i + 2 * (lane % 4);
}

// A warp makes bytes of kBlockLength elements and 8 planes in two rounds. In each, lane 4g + t gives elements of its
// pair as rows g and g + 8 of a. A row would mix the elements of four lanes, so b has the radix in the rows of one of
// them at a time; lane 4g + t then has the sums of all 8 elements of the four in columns 2t and 2t + 1, which are
// planes, and after two rounds 16 neighbouring bytes of both.
//
// Of 4 planes, the last ones, columns 4 to 7 are those planes again with the radix in the rows of another lane: half
// the turns, and a lane has 4 bytes of each round. Lanes 4g + t and 4g + t + 2 exchange some, so that each has 8
// neighbours.
//
// Elements of four words that come as ElementRows fill rows of 16 bytes by themselves. A turn is elements 8g + 2 turn and
// the next, as rows g and g + 8; of 4 planes, whose columns 4 to 7 take rows of their own, those and the elements 4 further.

/// What a lane needs of planes [plane, plane + kAtOnce).
/// @tparam Words  of elements: Fragment or ElementRows
template <class T, int kWords, int kAtOnce, class Words>
class LanePlanes {
  static_assert(kAtOnce == 8 || kAtOnce == 4);
  static constexpr int kTurns = kAtOnce / 2;
  static constexpr int kBytes = 2 * kAtOnce;  ///< of a plane
  static constexpr bool kTakesRows = std::is_same_v<Words, ElementRows>;
  using F = Fragment<T, kWords>;
  static_assert(kTakesRows || std::is_same_v<Words, F>);

 public:
  using Row = PlaneRow<device::Element<T>::kTerms, kWords>;
  using Bytes = std::uint32_t[2][kBytes / 4];  ///< of this lane's two planes
  using Half = std::uint32_t[2][kAtOnce / 4];  ///< of one round
  using Sums = std::int32_t[kTurns][4];
  using ResiduePairs = std::uint32_t[2][kAtOnce / 2];  ///< of one round: two residues in a word, of 16 bits each

  /// rows: in shared memory
  __device__ LanePlanes(const Row* rows, int plane, int num_planes) {
    const int g = lane() / 4;
    const int t = lane() % 4;
    const Row& column = rows[min(plane + g % kAtOnce, num_planes - 1)];
    // The radix of the column's plane, in the rows of this lane; zeros stand in the other lanes' turns.
    if constexpr (kTakesRows) {
#pragma unroll
      for (int of = 0; of < kColumnSets; ++of) radix_[of] = of == g / kAtOnce ? column.radix[t] : 0;
    } else {
#pragma unroll
      for (int w = 0; w < 2 * F::kProducts; ++w) {
        const std::uint32_t word = w < F::kCount ? column.radix[w] : 0;
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn)
          radix_[turn][w / 2][w % 2] = turn + g / kAtOnce * kTurns == t ? word : 0;
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      plane_[c] = plane + (2 * t + c) % kAtOnce;
      is_plane_[c] = plane_[c] < num_planes;
      const Row& row = rows[min(plane_[c], num_planes - 1)];
      minus_p_[c] = row.minus_p;
      inverse_[c] = row.inverse;
      addend_[c] = row.addend;
      // Twice, so that four registers side by side hold what the product takes.
      base_[c] = const_cast<const volatile std::int32_t&>(row.base);
      base_[2 + c] = const_cast<const volatile std::int32_t&>(row.base);
    }
  }
  /// Where this lane's bytes of its plane c begin, in planes from `out` on.
  [[nodiscard]] __device__ std::int8_t* place(int c, std::int8_t* out, std::int64_t plane_stride) const {
    return out + plane_[c] * plane_stride + lane() / 4 * 16 + (kAtOnce == 4 ? lane() % 4 / 2 * 8 : 0);
  }
  /// The sums of a round.
  __device__ __forceinline__ void start(const Words& x, Sums& sum) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      if constexpr (!kTakesRows) {
        multiply_bytes(sum[turn], x.a[0], radix_[turn][0], base_);
#pragma unroll
        for (int k = 1; k < F::kProducts; ++k) multiply_bytes(sum[turn], x.a[k], radix_[turn][k], sum[turn]);
      } else if constexpr (kAtOnce == 8) {
        const std::uint32_t(&rows)[4] = x.word[turn / 2];
        multiply_bytes(sum[turn], rows[turn % 2 * 2], rows[turn % 2 * 2 + 1], radix_[0], base_);
      } else {
        const uint4 rows =
            make_uint4(x.word[0][2 * turn], x.word[0][2 * turn + 1], x.word[1][2 * turn], x.word[1][2 * turn + 1]);
        multiply_bytes(sum[turn], rows, radix_, base_);
      }
    }
  }
  /// Bytes of a round of this lane's two planes.
  __device__ __forceinline__ void reduce(const Sums& sum, Half& bytes) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int e = 0; e < kAtOnce; e += 4) {
        bytes[c][e / 4] = device::pack_bytes(residue(sum, c, e), residue(sum, c, e + 1), residue(sum, c, e + 2),
                                             residue(sum, c, e + 3));
      }
    }
  }
  /// Residues of a round of this lane's two planes. @range planes of Residues::kUnsigned
  __device__ __forceinline__ void reduce(const Sums& sum, ResiduePairs& residues) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int e = 0; e < kAtOnce; e += 2)
        residues[c][e / 2] = __byte_perm(residue(sum, c, e), residue(sum, c, e + 1), 0x5410);
    }
  }
  /// Residues of sums: of p = 256 modulo 2^16, of which the low byte counts.
  __device__ __forceinline__ void add(const ResiduePairs& other, ResiduePairs& residues) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const std::uint32_t minus_p = __byte_perm(static_cast<std::uint32_t>(minus_p_[c]), 0, 0x1010);
#pragma unroll
      for (int w = 0; w < kAtOnce / 2; ++w) residues[c][w] = add_residue_pairs(residues[c][w], other[c][w], minus_p);
    }
  }
  /// Their bytes, or those of symmetric residues.
  template <Residues kResidues>
  __device__ __forceinline__ void pack(const ResiduePairs& residues, Half& bytes) const {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int w = 0; w < kAtOnce / 4; ++w)
        bytes[c][w] = __byte_perm(residues[c][2 * w], residues[c][2 * w + 1], 0x6420);
    }
    if constexpr (kResidues == Residues::kSymmetric) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const std::uint32_t p = 0u - static_cast<std::uint32_t>(minus_p_[c]);
#pragma unroll
        for (int w = 0; w < kAtOnce / 4; ++w) bytes[c][w] = symmetric_residue_bytes(bytes[c][w], p);
      }
    }
  }
  /// Bytes of round i of this lane's two planes.
  __device__ void make(const Words& x, int i, Bytes& bytes) const {
    Sums sum;
    Half half;
    start(x, sum);
    reduce(sum, half);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int w = 0; w < kAtOnce / 4; ++w) bytes[c][kAtOnce / 4 * i + w] = half[c][w];
    }
  }
  /// Where those of a round of quadrants begin (device_quadrants.cuh), in planes from `out` on.
  [[nodiscard]] __device__ std::int8_t* place_of_round(int c, std::int8_t* out, std::int64_t plane_stride) const {
    static_assert(kAtOnce == 8);
    return out + plane_[c] * plane_stride + lane() / 4 * 8;
  }
  __device__ void store_round(int c, std::int8_t* to, const Half& bytes) const {
    store_if(is_plane_[c], to, make_uint2(bytes[c][0], bytes[c][1]));
  }
  /// By all lanes.
  __device__ void store(int c, std::int8_t* to, const Bytes& bytes) const {
    if constexpr (kAtOnce == 8) {
      store_if(is_plane_[c], to, make_uint4(bytes[c][0], bytes[c][1], bytes[c][2], bytes[c][3]));
    } else {
      const bool is_first = lane() % 4 < 2;  // of the two: it takes the first round's
      const std::uint32_t others = __shfl_xor_sync(~0u, is_first ? bytes[c][1] : bytes[c][0], 2);
      store_if(is_plane_[c], to, is_first ? make_uint2(bytes[c][0], others) : make_uint2(others, bytes[c][1]));
    }
  }

 private:
  [[nodiscard]] __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// Of element e of those of this lane's plane c: the residue is in the low 16 bits.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t residue(const Sums& sum, int c, int e) const {
    const std::int32_t based = sum[e / 2][e % 2 * 2 + c];
    const float quotient = __fmaf_rn(__int_as_float(based), inverse_[c], addend_[c]);
    return static_cast<std::uint32_t>(based) + static_cast<std::uint32_t>(minus_p_[c]) * __float_as_uint(quotient);
  }

  static constexpr int kColumnSets = 8 / kAtOnce;  ///< of the same planes
  std::conditional_t<kTakesRows, std::uint32_t[kColumnSets], std::uint32_t[kTurns][F::kProducts][2]> radix_;
  std::int32_t plane_[2];  ///< 2t and 2t + 1 from the first on, modulo kAtOnce
  bool is_plane_[2];
  std::int32_t minus_p_[2];
  float inverse_[2];
  float addend_[2];
  std::int32_t base_[4];
};

/// visit(plane, n), n = 8 or 4 as a constant: planes [plane, plane + n), the last of which may not be there.
/// @param kHasFours  false: n = 8 always, for kernels whose registers both do not fit in
template <bool kHasFours, class Visit>
__device__ __forceinline__ void for_planes(int num_planes, const Visit& visit) {
  int plane = 0;
#pragma unroll 1
  for (; num_planes - plane > (kHasFours ? 4 : 0); plane += 8) visit(plane, std::integral_constant<int, 8>{});
  if constexpr (kHasFours) {
    if (plane < num_planes) visit(plane, std::integral_constant<int, 4>{});
  }
}

/// A warp writes elements [first, end) of a line to every plane, kBlockLength at a time, `step` apart: 8 planes of all
/// elements, then the next 8. For fragments that are quick to make.
/// @param fragment(h, i): of elements h + pair_of_lane(i) and the next, or what Fragment::load() has in their place
/// @param rows  in shared memory
/// @range  out of element 0 is aligned to 16; first, end and step are multiples of kBlockLength
template <class T, int kWords, bool kHasFours, class GetFragment>
__device__ void write_line(const GetFragment& fragment, int first, int end, int step,
                           const PlaneRow<device::Element<T>::kTerms, kWords>* rows, int num_planes, std::int8_t* out,
                           std::int64_t plane_stride) {
  for_planes<kHasFours>(num_planes, [&](int plane, auto at_once) {
    using Planes = LanePlanes<T, kWords, at_once.value, std::decay_t<decltype(fragment(0, 0))>>;
    const Planes planes(rows, plane, num_planes);
    std::int8_t* to[2] = {planes.place(0, out + first, plane_stride), planes.place(1, out + first, plane_stride)};
#pragma unroll 1
    for (int h = first; h < end; h += step) {
      typename Planes::Bytes bytes;
#pragma unroll
      for (int i = 0; i < 2; ++i) planes.make(fragment(h, i), i, bytes);
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        planes.store(c, to[c], bytes);
        to[c] += step;
      }
    }
  });
}

/// The same, all planes of kBlockLength elements and then the next elements: each fragment is made once.
template <class T, int kWords, bool kHasFours, class GetFragment>
__device__ void write_line_by_blocks(const GetFragment& fragment, int first, int end, int step,
                                     const PlaneRow<device::Element<T>::kTerms, kWords>* rows, int num_planes,
                                     std::int8_t* out, std::int64_t plane_stride) {
#pragma unroll 1
  for (int h = first; h < end; h += step) {
    const Fragment<T, kWords> fragments[2] = {fragment(h, 0), fragment(h, 1)};
    for_planes<kHasFours>(num_planes, [&](int plane, auto at_once) {
      using Planes = LanePlanes<T, kWords, at_once.value, Fragment<T, kWords>>;
      const Planes planes(rows, plane, num_planes);
      typename Planes::Bytes bytes;
#pragma unroll
      for (int i = 0; i < 2; ++i) planes.make(fragments[i], i, bytes);
#pragma unroll
      for (int c = 0; c < 2; ++c) planes.store(c, planes.place(c, out + h, plane_stride), bytes);
    });
  }
}

}  // namespace kizami::ozaki2::kernels
