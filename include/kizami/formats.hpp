// SPDX-License-Identifier: MIT
// The narrow floating-point formats of matrix engines: FP16, BF16, TF32, FP8 E4M3 and FP8 E5M2, as storage types with
// exact conversion to float and double and correctly rounded conversion from them.
//   x = (-1)^sign * 1.mantissa * 2^(field - bias)  (field > 0)      (-1)^sign * 0.mantissa * 2^(1 - bias)  (field == 0)
// Every conversion rounds once, from double too (never double -> float -> narrow), and gives the same bits on host,
// device and in constant evaluation, whatever rounding or flush-to-zero mode the caller has set. May not: do arithmetic
// in the narrow format, include CUDA headers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kizami/host_device.hpp"

namespace kizami {

/// Which bit patterns are not finite.
enum class Encoding : std::uint8_t {
  kIeee,        ///< exponent field all ones: mantissa 0 is Inf, any other NaN
  kNoInfinity,  ///< only exponent and mantissa all ones is NaN (S.1111.111); there is no Inf: OCP FP8 E4M3
};

/// How a value between two neighbours of the target format is rounded.
enum class RoundingMode : std::uint8_t {
  kNearestEven,  ///< RNE: to nearest, ties to the even mantissa; PTX .rn
  kNearestAway,  ///< RNA: to nearest, ties away from zero; PTX .rna
  kTowardZero,   ///< RZ: truncation; PTX .rz. A finite value never overflows: it stops at max_finite (IEEE 754, 7.4)
};

/// What becomes of values beyond max_finite after rounding.
enum class Saturation : std::uint8_t {
  kNone,    ///< Inf of that sign, or NaN of that sign where the format has no Inf; so does Inf itself. CUDA __NV_NOSAT
  kFinite,  ///< max_finite of that sign; so does Inf itself. NaN stays NaN. CUDA __NV_SATFINITE, PTX .satfinite
};

/// A number of 1 sign bit, kExponentBits and kMantissaBits stored bits, held in the smallest of 8, 16 or 32 bits that
/// fits; spare bits lie below the mantissa and are zero (TF32: 13 of them, so that its bits are those of a float).
///
/// | alias   | fields | max finite        | min normal | min subnormal | unit roundoff | source              |
/// |---------|--------|-------------------|------------|---------------|---------------|---------------------|
/// | Fp16    | 1-5-10 | 65504             | 2^-14      | 2^-24         | 2^-11         | IEEE 754 binary16   |
/// | Bf16    | 1-8-7  | (2 - 2^-7) 2^127  | 2^-126     | 2^-133        | 2^-8          | high half of a float |
/// | Tf32    | 1-8-10 | (2 - 2^-10) 2^127 | 2^-126     | 2^-136        | 2^-11         | PTX ISA .tf32       |
/// | Fp8E4m3 | 1-4-3  | 448               | 2^-6       | 2^-9          | 2^-4          | OCP 8-bit FP (OFP8) |
/// | Fp8E5m2 | 1-5-2  | 57344             | 2^-14      | 2^-16         | 2^-3          | OCP 8-bit FP (OFP8) |
///
/// The default constructor leaves the bits unset, as float's does; FloatFormat{} is +0.
template <int kExponentBitsOf, int kMantissaBitsOf, Encoding kEncodingOf>
class FloatFormat {
 public:
  static constexpr int kExponentBits = kExponentBitsOf;
  static constexpr int kMantissaBits = kMantissaBitsOf;
  static constexpr Encoding kEncoding = kEncodingOf;
  static constexpr bool kHasInfinity = kEncoding == Encoding::kIeee;
  static_assert(kExponentBits >= 2 && kExponentBits <= 8 && kMantissaBits >= 1 && kMantissaBits <= 22,
                "every value must be a float, and float must have a bit more to round away");
  static_assert(kHasInfinity || kExponentBits < 8, "without Inf the top binade of 8 exponent bits lies beyond float");

  static constexpr int kSignificandBits = kMantissaBits + 1;            ///< hidden bit included
  static constexpr int kWidthBits = 1 + kExponentBits + kMantissaBits;  ///< bits that carry information
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kMaxExponent = kBias + (kHasInfinity ? 0 : 1);   ///< floor(log2(max_finite))
  static constexpr int kMinExponent = 1 - kBias;                        ///< log2(min_normal)
  static constexpr int kMinUlpExponent = kMinExponent - kMantissaBits;  ///< log2(min_subnormal)

  using Bits = std::conditional_t<(kWidthBits <= 8), std::uint8_t,
                                  std::conditional_t<(kWidthBits <= 16), std::uint16_t, std::uint32_t>>;
  static constexpr int kSpareBits = static_cast<int>(8 * sizeof(Bits)) - kWidthBits;  ///< zeros below the mantissa

  FloatFormat() = default;

  /// Takes a bit pattern as it is. @range the low kSpareBits bits are zero.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat from_bits(Bits bits) noexcept {
    FloatFormat result{};
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr Bits bits() const noexcept { return bits_; }

  /// Rounds x once to this format.
  /// @range any x. -0 stays -0, and what underflows to zero keeps its sign. Beyond max_finite and Inf: see Saturation;
  ///        under kTowardZero finite x stops at max_finite in either case, Inf does not. NaN gives a quiet NaN with the
  ///        sign and the leading payload bits of x (CUDA's conversions give one canonical NaN instead), in every mode.
  /// @exact when x is a value of this format; subnormals are rounded to the spacing of subnormals, once.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat from(
      double x, RoundingMode rounding = RoundingMode::kNearestEven,
      Saturation saturation = Saturation::kNone) noexcept {
    return round<Binary64>(bit_cast<std::uint64_t>(x), rounding, saturation);
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat from(
      float x, RoundingMode rounding = RoundingMode::kNearestEven, Saturation saturation = Saturation::kNone) noexcept {
    return round<Binary32>(bit_cast<std::uint32_t>(x), rounding, saturation);
  }

  /// Returns this value. @exact always; a NaN becomes quiet and keeps sign and payload (left-aligned).
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr double to_double() const noexcept {
    return bit_cast<double>(widen<Binary64>());
  }
  /// Returns this value. @exact always, subnormals of Bf16 and Tf32 included: they are subnormal floats.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr float to_float() const noexcept {
    return bit_cast<float>(widen<Binary32>());
  }
  KIZAMI_HOST_DEVICE constexpr explicit operator double() const noexcept { return to_double(); }
  KIZAMI_HOST_DEVICE constexpr explicit operator float() const noexcept { return to_float(); }

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_nan() const noexcept {
    return magnitude() > (kHasInfinity ? kInfinityCode : kMaxFiniteCode);
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_infinite() const noexcept {
    return kHasInfinity && magnitude() == kInfinityCode;
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_finite() const noexcept { return magnitude() <= kMaxFiniteCode; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_zero() const noexcept { return magnitude() == 0; }
  /// Nonzero and below min_normal.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_subnormal() const noexcept {
    return magnitude() != 0 && magnitude() < kHiddenCode;
  }
  /// The sign bit, of zeros and NaN too.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_negative() const noexcept {
    return ((code() >> (kWidthBits - 1)) & 1) != 0;
  }
  /// Flips the sign bit, of zeros and NaN too.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr FloatFormat operator-() const noexcept {
    return from_code(code() ^ kSignCode);
  }

  /// (2 - 2^-kMantissaBits) * 2^kMaxExponent, or one mantissa step less where all ones is NaN.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat max_finite() noexcept {
    return from_code(kMaxFiniteCode);
  }
  /// 2^kMinExponent.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat min_normal() noexcept { return from_code(kHiddenCode); }
  /// 2^kMinUlpExponent; every finite value is an integer multiple of it.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat min_subnormal() noexcept { return from_code(1); }
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat infinity() noexcept requires(kHasInfinity) {
    return from_code(kInfinityCode);
  }
  /// The positive quiet NaN without payload; the only positive NaN of Encoding::kNoInfinity.
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat quiet_nan() noexcept { return from_code(kNanCode); }
  /// 2^-kSignificandBits: |round(x) - x| <= unit_roundoff * |x| to nearest in the normal range (twice that under RZ).
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr double unit_roundoff() noexcept {
    return 1.0 / static_cast<double>(1 << kSignificandBits);
  }

 private:
  // A code is the bit pattern without spare bits. Positive codes are ordered as their values: code + 1 is the next one.
  using Code = std::uint32_t;
  static constexpr Code kSignCode = Code{1} << (kWidthBits - 1);
  static constexpr Code kHiddenCode = Code{1} << kMantissaBits;
  static constexpr Code kInfinityCode = kSignCode - kHiddenCode;  // field all ones; only a name where there is no Inf
  static constexpr Code kMaxFiniteCode = kHasInfinity ? kInfinityCode - 1 : kSignCode - 2;
  static constexpr Code kQuietCode = kHiddenCode >> 1;
  static constexpr Code kNanCode = kHasInfinity ? (kInfinityCode | kQuietCode) : kSignCode - 1;

  struct Binary64 {
    using Word = std::uint64_t;
    using Value = double;
    static constexpr int kMantissaBits = 52;
    static constexpr int kBias = 1023;
  };
  struct Binary32 {
    using Word = std::uint32_t;
    using Value = float;
    static constexpr int kMantissaBits = 23;
    static constexpr int kBias = 127;
  };

  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat from_code(Code code) noexcept {
    return from_bits(static_cast<Bits>(code << kSpareBits));
  }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr Code code() const noexcept { return Code{bits_} >> kSpareBits; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr Code magnitude() const noexcept { return code() & (kSignCode - 1); }

  /// Rounds the value that a wider format holds in `word`.
  template <class Wide>
  [[nodiscard]] KIZAMI_HOST_DEVICE static constexpr FloatFormat round(typename Wide::Word word, RoundingMode rounding,
                                                                      Saturation saturation) noexcept {
    constexpr int kSignShift = static_cast<int>(8 * sizeof(word)) - 1;
    constexpr std::uint64_t kHidden = std::uint64_t{1} << Wide::kMantissaBits;
    const Code sign = (word >> kSignShift) != 0 ? kSignCode : 0;
    const Code saturated = sign | kMaxFiniteCode;
    const Code beyond =
        saturation == Saturation::kFinite ? saturated : sign | (kHasInfinity ? kInfinityCode : kNanCode);
    const std::uint64_t stored = word & (kHidden - 1);
    const int field = static_cast<int>(word >> Wide::kMantissaBits) & (2 * Wide::kBias + 1);
    if (field == 2 * Wide::kBias + 1) {
      if (stored == 0) return from_code(beyond);
      const Code payload = kHasInfinity ? static_cast<Code>(stored >> (Wide::kMantissaBits - kMantissaBits)) : Code{0};
      return from_code(sign | kNanCode | payload);
    }
    // |x| = significand * 2^(exponent - Wide::kMantissaBits). A subnormal x has the exponent of the least normal, which
    // is at most kMinExponent, so its missing hidden bit is no concern: the result's ulp is kMinUlpExponent anyway.
    const std::uint64_t significand = field != 0 ? stored | kHidden : stored;
    const int exponent = (field != 0 ? field : 1) - Wide::kBias;
    const int ulp = exponent < kMinExponent ? kMinUlpExponent : exponent - kMantissaBits;
    const int drop = ulp - (exponent - Wide::kMantissaBits);     // >= Wide::kMantissaBits - kMantissaBits >= 1
    if (drop > Wide::kMantissaBits + 2) return from_code(sign);  // below a quarter of min_subnormal
    const std::uint64_t kept = significand >> drop;
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    const std::uint64_t rest = significand & (2 * half - 1);
    const bool is_up = rounding == RoundingMode::kNearestEven ? rest > half || (rest == half && (kept & 1) != 0)
                                                              : rounding == RoundingMode::kNearestAway && rest >= half;
    // kept includes the hidden bit, which adds the 1 that a normal number's exponent field is ahead of ulp; a carry out
    // of kept raises the field likewise.
    const std::uint64_t code =
        (static_cast<std::uint64_t>(ulp - kMinUlpExponent) << kMantissaBits) + kept + (is_up ? 1 : 0);
    if (code > kMaxFiniteCode) return from_code(rounding == RoundingMode::kTowardZero ? saturated : beyond);
    return from_code(sign | static_cast<Code>(code));
  }

  /// The word of a wider format that holds this value.
  template <class Wide>
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr typename Wide::Word widen() const noexcept {
    using Word = typename Wide::Word;
    constexpr int kSignShift = static_cast<int>(8 * sizeof(Word)) - 1;
    constexpr int kShift = Wide::kMantissaBits - kMantissaBits;
    constexpr Word kWideInfinity = static_cast<Word>(2 * Wide::kBias + 1) << Wide::kMantissaBits;
    constexpr Word kWideQuiet = Word{1} << (Wide::kMantissaBits - 1);
    const Word sign = Word{is_negative()} << kSignShift;
    const Word magnitude_code = magnitude();
    if (!is_finite()) {
      if (is_infinite()) return sign | kWideInfinity;
      const Word payload = kHasInfinity ? (magnitude_code & (kHiddenCode - 1)) << kShift : Word{0};
      return sign | kWideInfinity | kWideQuiet | payload;
    }
    if constexpr (Wide::kBias == kBias) {  // the same exponent field: subnormals stay subnormal
      return sign | magnitude_code << kShift;
    } else {
      if (magnitude_code >= kHiddenCode) {
        return sign | ((magnitude_code << kShift) + (static_cast<Word>(Wide::kBias - kBias) << Wide::kMantissaBits));
      }
      // A subnormal here is normal in the wider format: small integer times normal power of two, exact in any mode.
      static_assert(kMinUlpExponent > -Wide::kBias);
      using Value = typename Wide::Value;
      constexpr Word kUnit = static_cast<Word>(Wide::kBias + kMinUlpExponent) << Wide::kMantissaBits;
      return sign | bit_cast<Word>(static_cast<Value>(magnitude_code) * bit_cast<Value>(kUnit));
    }
  }

  Bits bits_;
};

/// IEEE 754 binary16. Integers up to 2^11 in magnitude are exact. Products of two are exact in float.
using Fp16 = FloatFormat<5, 10, Encoding::kIeee>;
/// bfloat16: a float cut to 8 significand bits, with float's exponents. Integers up to 2^8 in magnitude are exact.
using Bf16 = FloatFormat<8, 7, Encoding::kIeee>;
/// TensorFloat-32: a float whose low 13 mantissa bits are zero, stored as that float. Integers up to 2^11 in magnitude
/// are exact.
using Tf32 = FloatFormat<8, 10, Encoding::kIeee>;
/// OCP FP8 E4M3: no Inf, NaN is S.1111.111, max 448. Integers up to 2^4 in magnitude are exact.
using Fp8E4m3 = FloatFormat<4, 3, Encoding::kNoInfinity>;
/// OCP FP8 E5M2: binary16 cut to 3 significand bits, Inf and NaN as IEEE 754. Integers up to 2^3 are exact.
using Fp8E5m2 = FloatFormat<5, 2, Encoding::kIeee>;

/// Tells whether T is one of the narrow formats.
template <class T>
inline constexpr bool kIsFloatFormat = false;
template <int kExponentBits, int kMantissaBits, Encoding kEncoding>
inline constexpr bool kIsFloatFormat<FloatFormat<kExponentBits, kMantissaBits, kEncoding>> = true;

static_assert(sizeof(Fp16) == 2 && sizeof(Bf16) == 2 && sizeof(Tf32) == 4 && sizeof(Fp8E4m3) == 1 &&
              sizeof(Fp8E5m2) == 1 && Tf32::kSpareBits == 13 && std::is_trivial_v<Fp16>);

}  // namespace kizami
