// SPDX-License-Identifier: MIT
// What a call did with the elements it saw: the half of the decision that no plan can make.
#pragma once

#include <cstdint>
#include <string_view>

#include "kizami/policy.hpp"

namespace kizami {

/// What a call did and what it guarantees.
struct Outcome {
  Scheme scheme = Scheme::kNative;  ///< never kAuto
  /// A name of EngineName; "cublas" of scheme native on a device; "none" after a quick return
  std::string_view engine;
  double bound = 0;  ///< |C - AB| <= bound * gauge for alpha = 1, beta = 0; 0 after a quick return
  Gauge gauge = Gauge::kEntry;
  /// Scheme native: the bound is that of arithmetic without overflow and underflow, and these operands, alpha and beta
  /// may meet one on the way; on a device nobody looks, and it is always true. Never true where the planner chose the
  /// scheme on a CPU: scheme ozaki2 answers then. Scheme ec with ErrorCorrection::check_range = false: likewise, beyond
  /// its range.
  bool is_conditional = false;
  int moduli = 0;             ///< ozaki2: moduli used; 0 if all was answered in FP64 arithmetic
  int slices = 0;             ///< ozaki1: slices used; 0 otherwise
  int rung = -1;              ///< index into the plan's ladder; -1: FP64 arithmetic or scheme native
  bool equilibrated = false;  ///< the inner index was rescaled by exact powers of two
  /// elements recomputed in FP64 arithmetic because no bound was certified for them; accuracy correct: elements (or
  /// parts) summed in a long accumulator, too close to a tie otherwise
  std::int64_t repaired = 0;
  std::int64_t nonfinite_rows = 0;  ///< rows of op(A) that hold NaN or Inf; not looked for by scheme native
  std::int64_t nonfinite_cols = 0;  ///< columns of op(B) likewise
  /// Scheme ec: the variant that answered; kAuto otherwise. A plan of scheme ec whose outcome is scheme ozaki2 met
  /// operands beyond the range of all its variants (on a device: all is answered in FP64 arithmetic then).
  EcVariant variant = EcVariant::kAuto;
};

}  // namespace kizami
