// SPDX-License-Identifier: MIT
// The experiments of [OY2021], the document on error-corrected single-precision products on tensor cores, as far as a
// CPU can repeat them: on the software tensor core, whose bits are those of the hardware. Its numbering is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "report.hpp"

namespace kizami::study {

struct SgemmStudySize {
  std::int64_t max_k = 65536;  ///< a power of two, >= 256
  int num_seeds = 8;
  int num_samples = 1 << 18;  ///< mantissas an exponent in figures 6 and 7
};

/// Table 1: retained bits of the split by the bits that decide them, over all 2^23 mantissas.
struct RetainedBits {
  StudyTable table;
  double expected_rn = 0;
  double expected_rna = 0;
  double expected_masked = 0;  ///< FP32 whose last bit is cleared
  bool agrees = false;         ///< every printed row has its length and probability
};
[[nodiscard]] RetainedBits retained_bits();

/// Figure 6: probability that the remainder is subnormal or zero in FP16, or zero, by exponent: experiment and theory.
/// The printed sums (10), (11) and (13) cannot be evaluated as they stand; theory here is, for truncation in both
/// conversions, P_(u+gu) = max(0, min(1, 2^-(e+4)) - 2^-13) and P_u = max(0, min(1, 2^-(e+14)) - 2^-13).
[[nodiscard]] StudyFigure underflow_probability(const SgemmStudySize& size);
/// Figure 7: mean relative error of the representation, by exponent.
[[nodiscard]] StudyFigure representation_error(const SgemmStudySize& size);

/// Figure 1: error (6) of products of 16 x k by k x 16 over k.
[[nodiscard]] StudyFigure error_over_k(const SgemmStudySize& size);
/// Figure 2: the last bit of FP32 operands masked; uniform(-8, 8).
[[nodiscard]] StudyFigure masked_last_bit(const SgemmStudySize& size);
/// Figure 3: mma_rn and mma_rz in place of the tensor core.
[[nodiscard]] StudyFigure accumulator_rounding(const SgemmStudySize& size);
/// Figure 8: classes exp_rand(a, b).
[[nodiscard]] StudyFigure exponent_ranges(const SgemmStudySize& size);

/// The share of elements of exp_rand(-15, 15) whose halfhalf remainder is subnormal, and the worst representation
/// error.
struct NormalRemainders {
  double subnormal_share = 0;
  double worst_error = 0;
};
[[nodiscard]] NormalRemainders remainders_of_exp_rand(const SgemmStudySize& size);

/// Everything above, judged.
struct SgemmStudy {
  RetainedBits table_1;
  std::vector<StudyFigure> figures;  ///< 1, 2, 3, 6, 7, 8
  std::vector<Claim> claims;
};
[[nodiscard]] SgemmStudy study_sgemm(const SgemmStudySize& size);

}  // namespace kizami::study
