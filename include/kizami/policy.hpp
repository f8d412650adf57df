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
  kNorm,   ///< ||a_i||_2 ||b_j||_2: normwise per row and column; cheaper, since no certificate is needed
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
};
enum class EngineName : std::uint8_t { kAuto, kCpuRef, kCpuSimd, kNativeBlas, kCublasLt, kHopper };

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
  }
  return "unknown";
}

/// What the caller wishes of one product.
struct Policy {
  Accuracy accuracy;
  Gauge gauge = Gauge::kEntry;
  Scheme scheme = Scheme::kAuto;
  EngineName engine = EngineName::kAuto;
  /// kNotGuaranteed lets the planner take the platform BLAS where it meets the bound. A forced scheme native waives it.
  Reproducibility reproducibility = Reproducibility::kEngineToEngine;
  /// Answer what the moduli cannot certify by FP64 arithmetic of proven bound; false: refuse instead.
  bool allow_fp64_arithmetic = true;
  /// Lets a device call wait for what its certificate says, so that an engine that cannot read it on the device (cublaslt)
  /// climbs the whole ladder. False: such an engine has its lowest rung and FP64 arithmetic, and nothing waits.
  bool may_sync = false;
  /// Rungs of the ladder that may be used, from the lowest; 0 means all. Below them is FP64 arithmetic.
  int max_rungs = 0;
  /// NaN or Inf in an operand is an error instead of being multiplied as BLAS does.
  bool reject_nonfinite = false;
  /// Studies only: exactly this many moduli, whatever the accuracy; 0 leaves it to the planner. The bound reported is
  /// the a-priori one in gauge kNorm.
  int forced_moduli = 0;
  /// CPU threads; 0 means as many as the machine offers to this process. Never changes a bit.
  int threads = 0;
  /// Upper limit of the workspace in bytes; 0 means the library's default of 1 GiB. Never changes a bit.
  std::size_t workspace_limit_bytes = 0;

  friend constexpr bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace kizami
