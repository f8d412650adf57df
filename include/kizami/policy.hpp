// SPDX-License-Identifier: MIT
// What the caller wishes. A Policy never names a count of products: the planner derives it from the accuracy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kizami/names.hpp"

namespace kizami {

/// The matrix that an error bound is measured against. Complex types: each part of C has its own, made of the 2k real
/// terms of that part: |Re A||Re B| + |Im A||Im B| for the real part, |Re A||Im B| + |Im A||Re B| for the imaginary
/// one; norms are those of the 2k real numbers of a line.
enum class Gauge : std::uint8_t {
  kEntry,  ///< (|A||B|)_ij: componentwise, the gauge of native BLAS
  kNorm,   ///< ||a_i||_2 ||b_j||_2: normwise; cheaper: no certificate, and bits of an element depend on its lines only
};
template <>
struct Names<Gauge> {
  static constexpr std::string_view kAll[] = {"entry", "norm"};
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
template <>
struct Names<Accuracy::Kind> {
  static constexpr std::string_view kAll[] = {"native", "bits", "correct"};
};

enum class Scheme : std::uint8_t {
  kAuto,    ///< the planner's choice: native where it meets the bound and reproducibility is not asked for
  kNative,  ///< the platform BLAS
  kOzaki2,  ///< residues modulo pairwise coprime moduli, CRT reconstruction
  kEc,      ///< error-corrected products of FP16, BF16 or TF32 parts on tensor cores: FP32 and its complex type only
  kOzaki1,  ///< slices of a few bits, products of pairs of slices, exact sums
};
template <>
struct Names<Scheme> {
  static constexpr std::string_view kAll[] = {"auto", "native", "ozaki2", "ec", "ozaki1"};
};
enum class EngineName : std::uint8_t {
  kAuto,        ///< the planner's choice
  kCpuRef,      ///< plain C++, to be compared with
  kCpuSimd,     ///< the widest integer arithmetic of the processor
  kNativeBlas,  ///< the platform BLAS, of scheme native
  kCublasLt,    ///< cuBLASLt; operands in device memory
  kHopper,      ///< kernels for devices of compute capability 9.0; operands in device memory
  kTcModel,     ///< a software tensor core, of schemes ec and ozaki1
  kTile,        ///< kernels in CUDA Tile C++, on processors and devices
  kMma,         ///< mma.sync, of scheme ec: what documents describe; operands in device memory
};
template <>
struct Names<EngineName> {
  static constexpr std::string_view kAll[] = {"auto",   "cpu_ref",  "cpu_simd", "native_blas", "cublaslt",
                                              "hopper", "tc_model", "tile",     "mma"};
};

/// How scheme ec splits its operands and which products of the parts it takes. x = hi + lo + remainder.
enum class EcVariant : std::uint8_t {
  kAuto,        ///< kScaled; kScaledTf32 where its range does not do; scheme ozaki2 where neither does
  kScaled,      ///< FP16, rows and columns scaled by powers of two, lo hi + hi lo + hi hi in one promoted accumulator
  kHalfhalf,    ///< FP16 as given, lo scaled by 2^11 and summed apart; only the sum of hi hi is promoted
  kTf32tf32,    ///< TF32, likewise
  kMarkidis,    ///< FP16 as given, four products, nothing scaled, nothing promoted
  kFeng,        ///< the products of kMarkidis with the round-split of EGEMM-TC, whatever truncate_parts says
  kBf16x3,      ///< BF16, two parts, three products, promoted; rows and columns scaled
  kBf16x6,      ///< BF16, three parts, the six products i + j <= 2
  kBf16x9,      ///< BF16, three parts, all products
  kFp16,        ///< one FP16 product as given, not corrected, not promoted: for studies
  kTf32,        ///< one TF32 product, likewise
  kScaledTf32,  ///< kScaled with TF32 for FP16: half the speed, nearly all of FP32's range
};
template <>
struct Names<EcVariant> {
  static constexpr std::string_view kAll[] = {"auto",   "scaled", "halfhalf", "tf32tf32", "markidis", "feng",
                                              "bf16x3", "bf16x6", "bf16x9",   "fp16",     "tf32",     "scaled_tf32"};
};

/// The tensor core that the engine tc_model computes as, and that its bound is derived from.
enum class TensorCoreModel : std::uint8_t {
  kHopper,  ///< 16 products (TF32: 8) and the accumulator cut to 25 fraction bits, result cut to FP32
  kAmpere,  ///< 8 products (TF32: 4), 24 fraction bits
  kMmaRn,   ///< 16 products summed by truncation, the accumulator added in FP32 to nearest
  kMmaRz,   ///< likewise, the accumulator added toward zero
};
template <>
struct Names<TensorCoreModel> {
  static constexpr std::string_view kAll[] = {"hopper", "ampere", "mma_rn", "mma_rz"};
};

/// What slices of scheme ozaki1 are held in.
enum class SliceFormat : std::uint8_t {
  kInt8,  ///< signed bytes, summed in INT32
  kFp16,  ///< the others: whole numbers that the format holds exactly, summed exactly in FP32
  kBf16,
  kE4m3,  ///< FP8 with 4 significand bits
  kE5m2,  ///< FP8 with 3
};
template <>
struct Names<SliceFormat> {
  static constexpr std::string_view kAll[] = {"int8", "fp16", "bf16", "e4m3", "e5m2"};
};

/// How a number becomes digits.
enum class SliceSplit : std::uint8_t {
  kAuto,       ///< kBytes for INT8, kNearest for the others
  kTruncated,  ///< ozIMMU: sign and magnitude, 7 bits a slice; INT8 only
  kNearest,    ///< each slice rounds what is left to nearest: digits up to 2^(bits - 1)
  kBytes,      ///< 8 bits a slice: balanced bytes in -128..127; INT8 only
};
template <>
struct Names<SliceSplit> {
  static constexpr std::string_view kAll[] = {"auto", "truncated", "nearest", "bytes"};
};

/// How products of slices are added up. Never changes a bit, but for kRounded.
enum class SliceSums : std::uint8_t {
  kAuto,          ///< kConcatenated; on a device in blocks of lines, or kFused, where that is quicker
  kPairs,         ///< every product in INT32 by itself, and one exact sum of them all
  kGrouped,       ///< ozIMMU_EF: as many products of one anti-diagonal as INT32 holds exactly
  kConcatenated,  ///< ozIMMU_EF_S: those as one product, slices side by side along k
  kBlocked,       ///< ozIMMU_EF_L: kGrouped with the larger operand in blocks of lines; on a device in several streams
  kFused,         ///< one launch that keeps the sums of all anti-diagonals on the chip; engine hopper, 2 to 4 slices
  kRounded,       ///< ozIMMU: every product added to an FP64 sum by itself, which rounds; named slices of INT8
};
template <>
struct Names<SliceSums> {
  static constexpr std::string_view kAll[] = {"auto",    "pairs", "grouped", "concatenated",
                                              "blocked", "fused", "rounded"};
};

/// How a complex product becomes real ones in scheme ozaki1. Of itself the planner takes kEnlarged for slices of INT8
/// and kFourProducts for others. On a device, in gauge kNorm and where no bits are promised, it takes what it predicts
/// to be the quickest.
enum class ComplexForm : std::uint8_t {
  kAuto,          ///< as the planner says
  kFourProducts,  ///< Re A Re B - Im A Im B, Re A Im B + Im A Re B
  kKaratsuba,     ///< three; (Re A + Im A) is formed exactly
  kEnlarged,      ///< one: [Re A, -Im A; Im A, Re A] [Re B; Im B]
};
template <>
struct Names<ComplexForm> {
  static constexpr std::string_view kAll[] = {"auto", "four", "karatsuba", "enlarged"};
};

/// What may differ between two calls on equal operands.
enum class Reproducibility : std::uint8_t {
  kNotGuaranteed,   ///< the planner may choose the platform BLAS
  kEngineToEngine,  ///< equal Numerics, equal bits: every engine, thread count, chunking and machine
};
template <>
struct Names<Reproducibility> {
  static constexpr std::string_view kAll[] = {"none", "engine"};
};

/// The limits of ErrorCorrection::promotion_k and remainder_shift: remainders stay below the numbers they are of.
inline constexpr int kPromotionUnit = 16;
inline constexpr int kMaxPromotionK = 65536;
inline constexpr int kMaxRemainderShift = 12;

/// Wishes of scheme ec alone.
struct ErrorCorrection {
  /// A named variant is taken at its own bound where the accuracy is native; bits=N it must reach.
  EcVariant variant = EcVariant::kAuto;
  /// Also the product of the two last parts (lo lo), a quarter more work for less than one last place.
  bool keep_small_term = false;
  /// Also the corrections of halfhalf and tf32tf32 are promoted.
  bool promote_corrections = false;
  /// Elements of k after which the tensor core's accumulator is added to an FP32 sum outside it, to nearest: a multiple
  /// of kPromotionUnit up to kMaxPromotionK; 0 leaves it to the variant (64). On a device 32, 64 or 128, of TF32 behind
  /// FP16 half as many.
  int promotion_k = 0;
  /// lo is multiplied by 2^this before it is rounded: 0..kMaxRemainderShift; -1 leaves it to the variant.
  int remainder_shift = -1;
  /// Parts are cut, not rounded to nearest: the truncate-split that EGEMM-TC takes kMarkidis for. Not with kFeng. On a
  /// device for variants of engine mma.
  bool truncate_parts = false;
  TensorCoreModel tensor_core = TensorCoreModel::kHopper;
  /// Complex products by three real ones instead of four: P1 = Re A Re B, P2 = Im A Im B, P3 = (Re A + Im A)(Re B + Im
  /// B), AB = P1 - P2 + i (P3 - P1 - P2). The imaginary part cancels, so its error is relative to norms: gauge norm
  /// only, and variants that scale lines.
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
inline constexpr int kMaxDiagonals = 2 * kMaxSlices - 1;
/// Of any format: the significand of FP16.
inline constexpr int kMaxSliceBits = 11;

/// Limits of Slicing::block_lines and Slicing::num_streams.
inline constexpr int kMaxSliceBlockLines = 1 << 20;
inline constexpr int kMaxSliceStreams = 8;

/// Wishes of scheme ozaki1 alone.
struct Slicing {
  SliceFormat format = SliceFormat::kInt8;
  SliceSplit split = SliceSplit::kAuto;
  /// Exactly so many slices, 1..kMaxSlices, or kUntilZero; 0 leaves it to the accuracy. A count by name has its own
  /// bound, in gauge kNorm, whatever the accuracy.
  int num_slices = 0;
  /// Products of slices i and j, counted from 0, are taken where i + j < num_diagonals: 1..kMaxDiagonals, or kAllPairs.
  /// 0: as many as slices; where num_slices is named and the format is not INT8, the fewest whose dropped products stay
  /// below 2 sqrt(k) u in gauge kNorm, and all pairs with kUntilZero.
  int num_diagonals = 0;
  /// Bits of a digit beside its sign, 1..7 for INT8, else up to the significand of the format; 0: the most of the
  /// format and the split, k in blocks that still sum exactly.
  int slice_bits = 0;
  SliceSums sums = SliceSums::kAuto;
  ComplexForm complex_form = ComplexForm::kAuto;
  /// One power of two for a whole matrix instead of one for each row or column. The bound then grows by the ratio of
  /// the largest elements of the matrix and of a line, which the Outcome reports; needs a named num_slices.
  bool one_scale = false;
  /// Lines of the larger operand in one block, 1..kMaxSliceBlockLines, and in device memory the streams that take blocks
  /// in turn, 1..kMaxSliceStreams; with sums by name, but for kFused and kRounded. 0: one block and stream, of kBlocked
  /// what was measured best. Neither changes a bit.
  int block_lines = 0;
  int num_streams = 0;

  friend constexpr bool operator==(const Slicing&, const Slicing&) = default;
};

/// The limit of Policy::threads.
inline constexpr int kMaxThreads = 32767;

/// What the caller wishes of one product. Every field has a word and values in text, which all faces share
/// (wishes.hpp).
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
  /// whole ladder, slices are counted (kUntilZero; kEntry). False: such an engine has its lowest rung and FP64
  /// arithmetic.
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
