// SPDX-License-Identifier: MIT
// Runs the experiments and judges the document's claims by them.
#include "sgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kizami::study {
namespace {

/// Errors of mechanisms that are said to be one differ by at most this factor.
constexpr double kSame = 2.0;
/// A correction is negligible if leaving it out costs less than this.
constexpr double kNegligible = 1.25;
/// "Worse" and "degraded" mean by at least this factor.
constexpr double kWorse = 4.0;

std::string pair_text(const char* x_name, double x, const char* y_name, double y) {
  return fmt::format("{} {:.3g}, {} {:.3g}", x_name, x, y_name, y);
}

/// The largest y of one series relative to another of the same data, and where.
struct WorstRatio {
  double ratio = 0;
  double x = 0;
};
WorstRatio worst_ratio(const StudyFigure& figure, const std::string& data, const char* series, const char* to) {
  WorstRatio worst;
  for (const StudyPoint& point : figure.points) {
    if (point.data != data || point.series != series) continue;
    const double ratio = point.y / figure.at(data, to, point.x).value_or(0);
    if (!(ratio <= worst.ratio)) worst = {ratio, point.x};
  }
  return worst;
}

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

void judge_error_over_k(const StudyFigure& figure, std::vector<Claim>& claims) {
  const char* const data = "uniform(-1, 1)";
  const double simt = figure.last_y(data, "FP32 chain (SIMT)");
  const auto of = [&](const char* series) { return figure.last_y(data, series); };
  const std::string at = fmt::format(", k = {:g}", figure.last_x(data, "Markidis"));
  claims.push_back({"section 2.2", "Markidis corrects FP16, yet falls behind FP32 as k grows",
                    reproduced_if(of("Markidis") < of("FP16, not corrected") && of("Markidis") > kWorse * simt),
                    fmt::format("FP16 {:.3g}, Markidis {:.3g}, FP32 {:.3g}{}", of("FP16, not corrected"),
                                of("Markidis"), simt, at)});
  claims.push_back({"figure 1", "halfhalf is as accurate as FP32", as_accurate(of("halfhalf"), simt),
                    pair_text("halfhalf", of("halfhalf"), "FP32", simt) + at});
  claims.push_back({"figure 1", "tf32tf32 is as accurate as FP32", as_accurate(of("tf32tf32"), simt),
                    pair_text("tf32tf32", of("tf32tf32"), "FP32", simt) + at});
  claims.push_back({"section 3.4", "the product of the two small parts does not matter",
                    reproduced_if(of("halfhalf") <= kNegligible * of("halfhalf, small term kept")),
                    pair_text("dropped", of("halfhalf"), "kept", of("halfhalf, small term kept")) + at});
  claims.push_back({"section 3.5", "promoting hi hi alone is enough",
                    reproduced_if(of("halfhalf") <= kSame * of("halfhalf, all terms outside")),
                    pair_text("hi hi", of("halfhalf"), "all", of("halfhalf, all terms outside")) + at});
  const WorstRatio feng = worst_ratio(figure, data, "Feng, FP32 reference", "Feng");
  claims.push_back(
      {"section 2.2", "against an FP32 reference, as Feng has it, the error cannot be judged",
       reproduced_if(feng.ratio > kNegligible),
       fmt::format("up to {:.3g} times the error against FP64 (k = {:g}); the same{}", feng.ratio, feng.x, at)});
  claims.push_back({"figure 1, ours", "scaled operands in one accumulator, promoted every 64, are as accurate as FP32",
                    as_accurate(of("scaled, promoted every 64"), simt),
                    pair_text("scaled", of("scaled, promoted every 64"), "FP32", simt) + at});
  const char* const positive = "uniform(0, 1)";
  const double positive_simt = figure.last_y(positive, "FP32 chain (SIMT)");
  const double positive_scaled = figure.last_y(positive, "scaled, promoted every 64");
  claims.push_back({"figure 1, ours", "so they are on positive operands, where truncation is biased",
                    as_accurate(positive_scaled, positive_simt),
                    pair_text("scaled", positive_scaled, "FP32", positive_simt) + at});
}

void judge_causes(const StudyFigure& masked, const StudyFigure& rounding, std::vector<Claim>& claims) {
  const char* const eight = "uniform(-8, 8)";
  const double markidis = masked.last_y(eight, "Markidis");
  const double cut = masked.last_y(eight, "FP32 chain, last bit masked");
  claims.push_back({"figure 2", "FP32 with 22.5 bits is more accurate than Markidis with 22.75: bits are not the cause",
                    reproduced_if(cut < markidis), pair_text("masked", cut, "Markidis", markidis)});
  const char* const one = "uniform(-1, 1)";
  const double simt = rounding.last_y(one, "FP32 chain (SIMT)");
  const double rn = rounding.last_y(one, "mma_rn");
  const double rz = rounding.last_y(one, "mma_rz");
  const double hopper = rounding.last_y(one, "Markidis, Hopper");
  claims.push_back({"figure 3", "with mma_rn the error is that of FP32", as_accurate(rn, simt),
                    pair_text("mma_rn", rn, "FP32", simt)});
  claims.push_back({"figure 3", "with mma_rz it is that of Markidis: the rounding of the accumulator is the cause",
                    reproduced_if(rz <= kSame * hopper && hopper <= kSame * rz && rz > kWorse * rn),
                    pair_text("mma_rz", rz, "Markidis", hopper)});
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

void judge_ranges(const StudyFigure& representation, const StudyFigure& classes, std::vector<Claim>& claims) {
  const double markidis = full_range(representation, "Markidis");
  const double halfhalf = full_range(representation, "halfhalf");
  claims.push_back({"figure 7", "halfhalf represents a wider range than Markidis", reproduced_if(halfhalf > markidis),
                    fmt::format("{:g} against {:g} binades with an error below 2^-22", halfhalf, markidis)});
  const double tf32 = full_range(representation, "tf32tf32");
  claims.push_back({"figure 7", "tf32tf32 has the range of FP32",
                    reproduced_if(tf32 == full_range(representation, "FP32")),
                    fmt::format("{:g} of {:g} binades looked at", tf32, full_range(representation, "FP32"))});
  const auto ratio = [&](const char* data, const char* series) {
    return classes.last_y(data, series) / classes.last_y(data, "FP32 chain (SIMT)");
  };
  const char* const left = "exp_rand(-15, 15) x (-15, 15)";
  const char* const centre = "exp_rand(-15, 15) x (-35, -15)";
  const char* const right = "exp_rand(-15, 15) x (-45, -35)";
  const auto text = [](double x) { return fmt::format("{:.3g} times the error of FP32", x); };
  claims.push_back({"figure 8, left", "halfhalf is as accurate as FP32", as_accurate(ratio(left, "halfhalf"), 1.0),
                    text(ratio(left, "halfhalf"))});
  const WorstRatio degraded = worst_ratio(classes, centre, "halfhalf", "FP32 chain (SIMT)");
  claims.push_back({"figure 8, centre", "halfhalf is degraded", reproduced_if(degraded.ratio > kWorse),
                    fmt::format("{:.3g} times the error of FP32 at k = {:g}, {:.3g} at k = {:g}", degraded.ratio,
                                degraded.x, ratio(centre, "halfhalf"), classes.last_x(centre, "halfhalf"))});
  claims.push_back({"figure 8, right", "halfhalf is wrong", reproduced_if(ratio(right, "halfhalf") > 1e4),
                    text(ratio(right, "halfhalf"))});
  const auto judge_every_class = [&](const char* place, const char* series, const std::string& statement) {
    claims.push_back(claim_of_equal_accuracy(place, statement, classes, series, "FP32 chain (SIMT)"));
  };
  judge_every_class("figure 8", "tf32tf32", "tf32tf32 is as accurate as FP32 in every class");
  judge_every_class("figure 8, ours", "scheme ec by default",
                    "scheme ec by default is as accurate as FP32 in every class");
}

}  // namespace

SgemmStudy study_sgemm(const SgemmStudySize& size) {
  SgemmStudy study;
  study.table_1 = retained_bits();
  study.figures = {error_over_k(size),          masked_last_bit(size),      accumulator_rounding(size),
                   underflow_probability(size), representation_error(size), exponent_ranges(size)};
  judge_split(study.table_1, remainders_of_exp_rand(size), study.claims);
  judge_error_over_k(study.figures[0], study.claims);
  judge_causes(study.figures[1], study.figures[2], study.claims);
  judge_underflow(study.figures[3], study.claims);
  judge_ranges(study.figures[4], study.figures[5], study.claims);
  return study;
}

}  // namespace kizami::study
