// SPDX-License-Identifier: MIT
// Runs the experiments and judges the document's claims by them.
#include "sgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sgemm_claims.hpp"

namespace kizami::study {
namespace {

void judge_split(const RetainedBits& bits, const NormalRemainders& remainders, std::vector<Claim>& claims) {
  claims.push_back({"section 3.1", "two FP16 numbers by RN keep 22.75 of 23 bits on average",
                    reproduced_if(bits.expected_rn == 22.75), fmt::format("{}, enumerated", bits.expected_rn)});
  claims.push_back({"section 3.1", "so do they by RNA", reproduced_if(bits.expected_rna == 22.75),
                    fmt::format("{}, enumerated", bits.expected_rna)});
  claims.push_back({"section 3.1", "FP32 with its last bit masked keeps 22.5",
                    reproduced_if(bits.expected_masked == 22.5), fmt::format("{}", bits.expected_masked)});
  claims.push_back({"table 1", "lengths and probabilities by the deciding bits", reproduced_if(bits.agrees),
                    bits.agrees ? "all six rows" : "a row differs, see table_1.csv"});
  claims.push_back({"section 4.1", "for exp_rand(-15, 15) both halfhalf parts are normal numbers",
                    reproduced_if(remainders.subnormal_share == 0),
                    fmt::format("{:.1f} % of elements have a subnormal part; worst representation error {:.2g}",
                                100 * remainders.subnormal_share, remainders.worst_error)});
}

void judge_underflow(const StudyFigure& figure, std::vector<Claim>& claims) {
  double worst = 0;
  for (const StudyPoint& point : figure.points) {
    if (!point.series.ends_with("experiment")) continue;
    const std::string series = point.series.substr(0, point.series.size() - 10) + "theory";
    if (const auto theory = figure.at(point.data, series, point.x); theory && point.data == "RZ")
      worst = std::max(worst, std::abs(*theory - point.y));
  }
  // Sampling: the standard deviation of a share of 2^18 samples is below 0.001; every sample deterministic by its seed.
  claims.push_back({"figure 6", "the probabilities of underflow follow from the leading zeros of the remainder",
                    reproduced_if(worst < 0.005), fmt::format("largest difference {:.2g} (RZ)", worst)});
  const double at_one = figure.at("RN", "P_(u+gu) experiment", 0).value_or(0);
  claims.push_back({"section 3.3", "remainders of numbers near 2^0 already underflow gradually",
                    reproduced_if(at_one > 0), fmt::format("{:.3g} of them (RN)", at_one)});
  const double shifted = figure.at("RN, times 2^11", "P_(u+gu) experiment", 0).value_or(1);
  claims.push_back({"section 3.3", "2^11 prevents that", reproduced_if(shifted < 0.01 * at_one),
                    fmt::format("{:.3g} of them", shifted)});
}

/// The width in binades of the range in which a representation errs less than 2^-22 on average.
double full_range(const StudyFigure& figure, const char* series) {
  double width = 0;
  for (const StudyPoint& point : figure.points) {
    if (point.series == series && point.x > -45 && point.x < 20 && point.y < 0x1p-22) width += 1;
  }
  return width;
}

void judge_representation(const StudyFigure& representation, std::vector<Claim>& claims) {
  const double markidis = full_range(representation, "Markidis");
  const double halfhalf = full_range(representation, "halfhalf");
  claims.push_back({"figure 7", "halfhalf represents a wider range than Markidis", reproduced_if(halfhalf > markidis),
                    fmt::format("{:g} against {:g} binades with an error below 2^-22", halfhalf, markidis)});
  const double tf32 = full_range(representation, "tf32tf32");
  claims.push_back({"figure 7", "tf32tf32 has the range of FP32",
                    reproduced_if(tf32 == full_range(representation, "FP32")),
                    fmt::format("{:g} of {:g} binades looked at", tf32, full_range(representation, "FP32"))});
}

}  // namespace

SgemmStudy study_sgemm(const SgemmStudySize& size) {
  SgemmStudy study;
  study.table_1 = retained_bits();
  study.figures = {error_over_k(size),          masked_last_bit(size),      accumulator_rounding(size),
                   underflow_probability(size), representation_error(size), exponent_ranges(size)};
  judge_split(study.table_1, remainders_of_exp_rand(size), study.claims);
  judge_error_over_k(study.figures[0], "", "scaled, promoted every 64", study.claims);
  judge_causes(study.figures[1], study.figures[2], "", study.claims);
  judge_underflow(study.figures[3], study.claims);
  judge_representation(study.figures[4], study.claims);
  judge_classes(study.figures[5], "", study.claims);
  return study;
}

}  // namespace kizami::study
