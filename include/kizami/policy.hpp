// SPDX-License-Identifier: MIT
// What the caller wishes. A Policy never names a count of products: the planner derives it from the accuracy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kizami {

/// The matrix that an error bound is measured against. Complex types: each part of C has its own, made of the 2k real
/// terms of that part: |Re A||Re B| + |Im A||Im B| for the real part, |Re A||Im B| + |Im A||Re B| for the imaginary one;
/// norms are those of the 2k real numbers of a line.
enum class Gauge : std::uint8_t {
  kEntry,  ///< (|A||B|)_ij: componentwise, the gauge of native BLAS
  kNorm,   ///< ||a_i||_2 ||b_j||_2: normwise; cheaper: no certificate, and bits of an element depend on its lines only
};

/// The accuracy a caller asks for, relative to a Gauge G. For complex types c(k) is c(2k).
struct Accuracy {
  enum class Kind : std::uint8_t {
    kNative,   ///< |C - AB| <= c(k) u G with c(k) = min(max(k, 8), 16 sqrt(k)) and u = 2^-24, 2^-53, or 2^-104 (dd)
    kBits,     ///< |C - AB| <= 2^-bits G
    kCorrect,  ///< C = AB correctly rounded (to nearest, ties to even); alpha = +-1 and beta = 0 only
  };
  Kind kind = Kind::kNative;
  int bits = 0;  ///< kBits only: 1..23 for FP32, 1..52 for FP64, 1..100 for double-double (the result is rounded)

  [[nodiscard]] static constexpr Accuracy native() noexcept { return {}; }
  [[nodiscard]] static constexpr Accuracy at_bits(int bits) noexcept { return {Kind::kBits, bits}; }
  [[nodiscard]] static constexpr Accuracy correct() noexcept { return {Kind::kCorrect, 0}; }
  friend constexpr bool operator==(const Accuracy&, const Accuracy&) = default;
};

enum class Scheme : std::uint8_t {
  kAuto,    ///< the planner's choice: native where it meets the bound and reproducibility is not asked for
  kNative,  ///< the platform BLAS
  kOzaki2,  ///< residues modulo pairwise coprime moduli, CRT reconstruction
  kEc,      ///< error-corrected products of FP16, BF16 or TF32 parts on tensor cores: FP32 and its complex type only
  kOzaki1,  ///< slices of a few bits, products of pairs of slices, exact sums
};
enum class EngineName : std::uint8_t { kAuto, kCpuRef, kCpuSimd, kNativeBlas, kCublasLt, kHopper, kTcModel, kTile };

/// How scheme ec splits its operands and which products of the parts it takes. x = hi + lo + remainder.
enum class EcVariant : std::uint8_t {
  kAuto,        ///< kScaled; kScaledTf32 where its range does not do; scheme ozaki2 where neither does
  kScaled,      ///< FP16, rows and columns scaled by powers of two, lo hi + hi lo + hi hi in one promoted accumulator
  kHalfhalf,    ///< FP16 as given, lo scaled by 2^11 and summed apart; only the sum of hi hi is promoted
  kTf32tf32,    ///< TF32, likewise; rows and columns scaled
  kMarkidis,    ///< FP16 as given, four products, nothing scaled, nothing promoted
  kFeng,        ///< the round-split of EGEMM-TC: where both parts round to nearest, kMarkidis
  kBf16x3,      ///< BF16, two parts, three products, promoted; rows and columns scaled
  kBf16x6,      ///< BF16, three parts, the six products i + j <= 2
  kBf16x9,      ///< BF16, three parts, all products
  kFp16,        ///< one FP16 product as given, not corrected, not promoted: for studies
  kTf32,        ///< one TF32 product, likewise
  kScaledTf32,  ///< kScaled with TF32 for FP16: half the speed, nearly all of FP32's range
};

/// The tensor core that the engine tc_model computes as, and that its bound is derived from.
enum class TensorCoreModel : std::uint8_t {
  kHopper,  ///< 16 products (TF32: 8) and the accumulator cut to 25 fraction bits, result cut to FP32
  kAmpere,  ///< 8 products (TF32: 4), 24 fraction bits
  kMmaRn,   ///< 16 products summed by truncation, the accumulator added in FP32 to nearest
  kMmaRz,   ///< likewise, the accumulator added toward zero
};

/// What slices of scheme ozaki1 are held in.
enum class SliceFormat : std::uint8_t {
  kInt8,  ///< signed bytes, summed in INT32
  kFp16,  ///< the others: whole numbers that the format holds exactly, summed exactly in FP32
  kBf16,
  kE4m3,  ///< FP8 with 4 significand bits
  kE5m2,  ///< FP8 with 3
};

/// How a number becomes digits.
enum class SliceSplit : std::uint8_t {
  kAuto,       ///< kBytes for INT8, kNearest for the others
  kTruncated,  ///< ozIMMU: sign and magnitude, 7 bits a slice; INT8 only
  kNearest,    ///< each slice rounds what is left to nearest: digits up to 2^(bits - 1)
  kBytes,      ///< 8 bits a slice: balanced bytes in -128..127; INT8 only
};

/// How products of slices share an INT32 accumulator. Never changes a bit.
enum class SliceSums : std::uint8_t {
  kAuto,          ///< kConcatenated; on a device kFused where that is quicker
  kPairs,         ///< ozIMMU: every product by itself
  kGrouped,       ///< ozIMMU_EF: as many products of one anti-diagonal as INT32 holds exactly
  kConcatenated,  ///< ozIMMU_EF_S: those as one product, slices side by side along k
  kBlocked,       ///< ozIMMU_EF_L: kGrouped with the larger operand in blocks of lines
  kFused,         ///< one launch that keeps the sums of all anti-diagonals on the chip; engine hopper, 2 to 4 slices
};

/// How a complex product becomes real ones in scheme ozaki1.
enum class ComplexForm : std::uint8_t {
  kAuto,          ///< kFourProducts
  kFourProducts,  ///< Re A Re B - Im A Im B, Re A Im B + Im A Re B
  kKaratsuba,     ///< three; (Re A + Im A) is formed exactly
  kEnlarged,      ///< one: [Re A, -Im A; Im A, Re A] [Re B; Im B]
};

/// What may differ between two calls on equal operands.
enum class Reproducibility : std::uint8_t {
  kNotGuaranteed,   ///< the planner may choose the platform BLAS
  kEngineToEngine,  ///< equal Numerics, equal bits: every engine, thread count, chunking and machine
};

[[nodiscard]] constexpr std::string_view to_string(Gauge g) noexcept { return g == Gauge::kEntry ? "entry" : "norm"; }
[[nodiscard]] constexpr std::string_view to_string(Scheme s) noexcept {
  switch (s) {
    case Scheme::kAuto:
      return "auto";
    case Scheme::kNative:
      return "native";
    case Scheme::kOzaki2:
      return "ozaki2";
    case Scheme::kEc:
      return "ec";
    case Scheme::kOzaki1:
      return "ozaki1";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view to_string(EcVariant v) noexcept {
  switch (v) {
    case EcVariant::kAuto:
      return "auto";
    case EcVariant::kScaled:
      return "scaled";
    case EcVariant::kHalfhalf:
      return "halfhalf";
    case EcVariant::kTf32tf32:
      return "tf32tf32";
    case EcVariant::kMarkidis:
      return "markidis";
    case EcVariant::kFeng:
      return "feng";
    case EcVariant::kBf16x3:
      return "bf16x3";
    case EcVariant::kBf16x6:
      return "bf16x6";
    case EcVariant::kBf16x9:
      return "bf16x9";
    case EcVariant::kFp16:
      return "fp16";
    case EcVariant::kTf32:
      return "tf32";
    case EcVariant::kScaledTf32:
      return "scaled_tf32";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view to_string(TensorCoreModel m) noexcept {
  switch (m) {
    case TensorCoreModel::kHopper:
      return "hopper";
    case TensorCoreModel::kAmpere:
      return "ampere";
    case TensorCoreModel::kMmaRn:
      return "mma_rn";
    case TensorCoreModel::kMmaRz:
      return "mma_rz";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view to_string(SliceFormat x) noexcept {
  switch (x) {
    case SliceFormat::kInt8:
      return "int8";
    case SliceFormat::kFp16:
      return "fp16";
    case SliceFormat::kBf16:
      return "bf16";
    case SliceFormat::kE4m3:
      return "e4m3";
    case SliceFormat::kE5m2:
      return "e5m2";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view to_string(SliceSplit x) noexcept {
  switch (x) {
    case SliceSplit::kAuto:
      return "auto";
    case SliceSplit::kTruncated:
      return "truncated";
    case SliceSplit::kNearest:
      return "nearest";
    case SliceSplit::kBytes:
      return "bytes";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view to_string(SliceSums x) noexcept {
  switch (x) {
    case SliceSums::kAuto:
      return "auto";
    case SliceSums::kPairs:
      return "pairs";
    case SliceSums::kGrouped:
      return "grouped";
    case SliceSums::kConcatenated:
      return "concatenated";
    case SliceSums::kBlocked:
      return "blocked";
    case SliceSums::kFused:
      return "fused";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view to_string(ComplexForm x) noexcept {
  switch (x) {
    case ComplexForm::kAuto:
      return "auto";
    case ComplexForm::kFourProducts:
      return "four";
    case ComplexForm::kKaratsuba:
      return "karatsuba";
    case ComplexForm::kEnlarged:
      return "enlarged";
  }
  return "unknown";
}
[[nodiscard]] constexpr std::string_view to_string(EngineName e) noexcept {
  switch (e) {
    case EngineName::kAuto:
      return "auto";
    case EngineName::kCpuRef:
      return "cpu_ref";
    case EngineName::kCpuSimd:
      return "cpu_simd";
    case EngineName::kNativeBlas:
      return "native_blas";
    case EngineName::kCublasLt:
      return "cublaslt";
    case EngineName::kHopper:
      return "hopper";
    case EngineName::kTcModel:
      return "tc_model";
    case EngineName::kTile:
      return "tile";
  }
  return "unknown";
}

/// Wishes of scheme ec alone.
struct ErrorCorrection {
  /// A named variant is taken at its own bound where the accuracy is native; bits=N it must reach.
  EcVariant variant = EcVariant::kAuto;
  /// Also the product of the two last parts (lo lo), a quarter more work for less than one last place.
  bool keep_small_term = false;
  /// Also the corrections of halfhalf and tf32tf32 are promoted.
  bool promote_corrections = false;
  /// Elements of k after which the tensor core's accumulator is added to an FP32 sum outside it, to nearest: a multiple
  /// of 16 up to 65536; 0 leaves it to the variant (64). On a device 32, 64 or 128, of TF32 behind FP16 half as many.
  int promotion_k = 0;
  /// lo is multiplied by 2^this before it is rounded: 0..24; -1 leaves it to the variant.
  int remainder_shift = -1;
  TensorCoreModel tensor_core = TensorCoreModel::kHopper;
  /// Complex products by three real ones instead of four: P1 = Re A Re B, P2 = Im A Im B, P3 = (Re A + Im A)(Re B + Im B),
  /// AB = P1 - P2 + i (P3 - P1 - P2). The imaginary part cancels, so its error is relative to norms: gauge norm only, and
  /// variants that scale lines.
  bool karatsuba = false;
  /// Looks for operands that leave the variant's range, and answers those by another variant or scheme. False, for
  /// studies: the variant's arithmetic whatever comes; the bound then holds for operands within its range only.
  bool check_range = true;

  friend constexpr bool operator==(const ErrorCorrection&, const ErrorCorrection&) = default;
};

/// Slicing::num_slices: until nothing is left of any element, or kMaxSlices.
inline constexpr int kUntilZero = -1;
/// Slicing::num_diagonals: the products of all pairs.
inline constexpr int kAllPairs = -1;
inline constexpr int kMaxSlices = 20;

/// Wishes of scheme ozaki1 alone.
struct Slicing {
  SliceFormat format = SliceFormat::kInt8;
  SliceSplit split = SliceSplit::kAuto;
  /// Exactly so many slices, 1..kMaxSlices, or kUntilZero; 0 leaves it to the accuracy. A count by name has its own bound,
  /// in gauge kNorm, whatever the accuracy.
  int num_slices = 0;
  /// Products of slices i and j, counted from 0, are taken where i + j < num_diagonals: 1..2 slices - 1, or kAllPairs. 0: as
  /// many as slices; where num_slices is named and the format is not INT8, the fewest whose dropped products stay below
  /// 2 sqrt(k) u in gauge kNorm, and all pairs with kUntilZero.
  int num_diagonals = 0;
  /// Bits of a digit beside its sign, 1..7 for INT8, else up to the significand of the format; 0: the most of the format and the
  /// split, k in blocks that still sum exactly.
  int slice_bits = 0;
  SliceSums sums = SliceSums::kAuto;
  ComplexForm complex_form = ComplexForm::kAuto;
  /// One power of two for a whole matrix instead of one for each row or column. The bound then grows by the ratio of the
  /// largest elements of the matrix and of a line, which the Outcome reports; needs a named num_slices.
  bool one_scale = false;

  friend constexpr bool operator==(const Slicing&, const Slicing&) = default;
};

/// What the caller wishes of one product.
struct Policy {
  Accuracy accuracy;
  Gauge gauge = Gauge::kEntry;
  Scheme scheme = Scheme::kAuto;
  EngineName engine = EngineName::kAuto;
  /// kNotGuaranteed lets the planner take the platform BLAS where it meets the bound. A forced scheme native waives it;
  /// scheme ec, which rounds inside, is refused under kEngineToEngine.
  Reproducibility reproducibility = Reproducibility::kEngineToEngine;
  /// Answer what the moduli cannot certify by FP64 arithmetic of proven bound; false: refuse instead.
  bool allow_fp64_arithmetic = true;
  /// Lets a device call wait for what the elements say: engines that cannot read it on the device (cublaslt) climb the
  /// whole ladder, slices are counted (kUntilZero; kEntry). False: such an engine has its lowest rung and FP64 arithmetic.
  bool may_sync = false;
  /// Rungs of the ladder that may be used, from the lowest; 0 means all. Below them is FP64 arithmetic.
  int max_rungs = 0;
  /// NaN or Inf in an operand is an error instead of being multiplied as BLAS does.
  bool reject_nonfinite = false;
  /// Studies only: exactly this many moduli, whatever the accuracy; 0 leaves it to the planner. The bound reported is
  /// the a-priori one in gauge kNorm.
  int forced_moduli = 0;
  ErrorCorrection ec;  ///< scheme ec only
  Slicing slices;      ///< scheme ozaki1 only
  /// CPU threads; 0 means as many as the machine offers to this process. Never changes a bit.
  int threads = 0;
  /// Upper limit of the workspace in bytes; 0 means the library's default of 1 GiB. Never changes a bit.
  std::size_t workspace_limit_bytes = 0;

  friend constexpr bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace kizami
