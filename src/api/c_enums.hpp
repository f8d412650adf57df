// SPDX-License-Identifier: MIT
// The numbers of kizami.h, one list for each C++ enum: a switch, of which the compiler says what it lacks. All else is derived
// from it. The numbers are promised to C and Fortran (docs/abi.md): change neither them nor those of the enums.
#pragma once

#include "kizami/kizami.h"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::api {

/// What an enumerator is called in C; kNotInC where the ABI does not have it.
inline constexpr int kNotInC = -1;

[[nodiscard]] constexpr int c_value(Scalar x) {
  switch (x) {
    case Scalar::kF32:
      return KIZAMI_F32;
    case Scalar::kF64:
      return KIZAMI_F64;
    case Scalar::kC64:
      return KIZAMI_C64;
    case Scalar::kC128:
      return KIZAMI_C128;
    case Scalar::kDD:
      break;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(Op x) {
  switch (x) {
    case Op::kNone:
      return KIZAMI_NONE;
    case Op::kTranspose:
      return KIZAMI_TRANSPOSE;
    case Op::kConjTranspose:
      return KIZAMI_CONJ_TRANSPOSE;
    case Op::kConjugate:
      return KIZAMI_CONJUGATE;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(Layout x) {
  switch (x) {
    case Layout::kColMajor:
      return KIZAMI_COL_MAJOR;
    case Layout::kRowMajor:
      return KIZAMI_ROW_MAJOR;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(Side x) {
  switch (x) {
    case Side::kA:
      return KIZAMI_SIDE_A;
    case Side::kB:
      return KIZAMI_SIDE_B;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(Gauge x) {
  switch (x) {
    case Gauge::kEntry:
      return KIZAMI_GAUGE_ENTRY;
    case Gauge::kNorm:
      return KIZAMI_GAUGE_NORM;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(Accuracy::Kind x) {
  switch (x) {
    case Accuracy::Kind::kNative:
      return KIZAMI_ACCURACY_NATIVE;
    case Accuracy::Kind::kBits:
      return KIZAMI_ACCURACY_BITS;
    case Accuracy::Kind::kCorrect:
      return KIZAMI_ACCURACY_CORRECT;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(Scheme x) {
  switch (x) {
    case Scheme::kAuto:
      return KIZAMI_SCHEME_AUTO;
    case Scheme::kNative:
      return KIZAMI_SCHEME_NATIVE;
    case Scheme::kOzaki2:
      return KIZAMI_SCHEME_OZAKI2;
    case Scheme::kEc:
      return KIZAMI_SCHEME_EC;
    case Scheme::kOzaki1:
      return KIZAMI_SCHEME_OZAKI1;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(EngineName x) {
  switch (x) {
    case EngineName::kAuto:
      return KIZAMI_ENGINE_AUTO;
    case EngineName::kCpuRef:
      return KIZAMI_ENGINE_CPU_REF;
    case EngineName::kCpuSimd:
      return KIZAMI_ENGINE_CPU_SIMD;
    case EngineName::kNativeBlas:
      return KIZAMI_ENGINE_NATIVE_BLAS;
    case EngineName::kCublasLt:
      return KIZAMI_ENGINE_CUBLASLT;
    case EngineName::kHopper:
      return KIZAMI_ENGINE_HOPPER;
    case EngineName::kTcModel:
      return KIZAMI_ENGINE_TC_MODEL;
    case EngineName::kTile:
      return KIZAMI_ENGINE_TILE;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(EcVariant x) {
  switch (x) {
    case EcVariant::kAuto:
      return KIZAMI_VARIANT_AUTO;
    case EcVariant::kScaled:
      return KIZAMI_VARIANT_SCALED;
    case EcVariant::kHalfhalf:
      return KIZAMI_VARIANT_HALFHALF;
    case EcVariant::kTf32tf32:
      return KIZAMI_VARIANT_TF32TF32;
    case EcVariant::kMarkidis:
      return KIZAMI_VARIANT_MARKIDIS;
    case EcVariant::kFeng:
      return KIZAMI_VARIANT_FENG;
    case EcVariant::kBf16x3:
      return KIZAMI_VARIANT_BF16X3;
    case EcVariant::kBf16x6:
      return KIZAMI_VARIANT_BF16X6;
    case EcVariant::kBf16x9:
      return KIZAMI_VARIANT_BF16X9;
    case EcVariant::kFp16:
      return KIZAMI_VARIANT_FP16;
    case EcVariant::kTf32:
      return KIZAMI_VARIANT_TF32;
    case EcVariant::kScaledTf32:
      return KIZAMI_VARIANT_SCALED_TF32;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(SliceFormat x) {
  switch (x) {
    case SliceFormat::kInt8:
      return KIZAMI_SLICE_FORMAT_INT8;
    case SliceFormat::kFp16:
      return KIZAMI_SLICE_FORMAT_FP16;
    case SliceFormat::kBf16:
      return KIZAMI_SLICE_FORMAT_BF16;
    case SliceFormat::kE4m3:
      return KIZAMI_SLICE_FORMAT_E4M3;
    case SliceFormat::kE5m2:
      return KIZAMI_SLICE_FORMAT_E5M2;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(SliceSplit x) {
  switch (x) {
    case SliceSplit::kAuto:
      return KIZAMI_SLICE_SPLIT_AUTO;
    case SliceSplit::kTruncated:
      return KIZAMI_SLICE_SPLIT_TRUNCATED;
    case SliceSplit::kNearest:
      return KIZAMI_SLICE_SPLIT_NEAREST;
    case SliceSplit::kBytes:
      return KIZAMI_SLICE_SPLIT_BYTES;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(SliceSums x) {
  switch (x) {
    case SliceSums::kAuto:
      return KIZAMI_SLICE_SUMS_AUTO;
    case SliceSums::kPairs:
      return KIZAMI_SLICE_SUMS_PAIRS;
    case SliceSums::kGrouped:
      return KIZAMI_SLICE_SUMS_GROUPED;
    case SliceSums::kConcatenated:
      return KIZAMI_SLICE_SUMS_CONCATENATED;
    case SliceSums::kBlocked:
      return KIZAMI_SLICE_SUMS_BLOCKED;
    case SliceSums::kFused:
      return KIZAMI_SLICE_SUMS_FUSED;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(ComplexForm x) {
  switch (x) {
    case ComplexForm::kAuto:
      return KIZAMI_COMPLEX_FORM_AUTO;
    case ComplexForm::kFourProducts:
      return KIZAMI_COMPLEX_FORM_FOUR_PRODUCTS;
    case ComplexForm::kKaratsuba:
      return KIZAMI_COMPLEX_FORM_KARATSUBA;
    case ComplexForm::kEnlarged:
      return KIZAMI_COMPLEX_FORM_ENLARGED;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(Reproducibility x) {
  switch (x) {
    case Reproducibility::kNotGuaranteed:
      return KIZAMI_REPRODUCIBILITY_NONE;
    case Reproducibility::kEngineToEngine:
      return KIZAMI_REPRODUCIBILITY_ENGINE_TO_ENGINE;
  }
  return kNotInC;
}
[[nodiscard]] constexpr int c_value(StatusCode x) {
  switch (x) {
    case StatusCode::kOk:
      return KIZAMI_OK;
    case StatusCode::kInvalidArgument:
      return KIZAMI_INVALID_ARGUMENT;
    case StatusCode::kUnsupported:
      return KIZAMI_UNSUPPORTED;
    case StatusCode::kAccuracyUnreachable:
      return KIZAMI_ACCURACY_UNREACHABLE;
    case StatusCode::kWorkspaceTooSmall:
      return KIZAMI_WORKSPACE_TOO_SMALL;
    case StatusCode::kOutOfMemory:
      return KIZAMI_OUT_OF_MEMORY;
    case StatusCode::kNonFinite:
      return KIZAMI_NON_FINITE;
    case StatusCode::kInternal:
      return KIZAMI_INTERNAL;
  }
  return kNotInC;
}

/// The largest number of an enum in C: those below it are numbers of it, too, which is checked when this is compiled.
template <class Enum>
[[nodiscard]] constexpr int last_value(Enum) {
  constexpr int kLast = [] {
    int last = kNotInC;
    for (int i = 0; i < 256; ++i) {
      if (const int c = c_value(static_cast<Enum>(i)); c != kNotInC) last = c == i && last == i - 1 ? i : 256;
    }
    return last;
  }();
  static_assert(kLast != kNotInC && kLast < 256, "kizami.h and this enum number it differently, or leave a gap");
  return kLast;
}

}  // namespace kizami::api
