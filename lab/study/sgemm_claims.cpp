// SPDX-License-Identifier: MIT
#include "sgemm_claims.hpp"

#include <fmt/format.h>

namespace kizami::study {
namespace {

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

}  // namespace

void judge_error_over_k(const StudyFigure& figure, const std::string& where, const std::string& ours,
                        std::vector<Claim>& claims) {
  const char* const data = "uniform(-1, 1)";
  const double simt = figure.last_y(data, "FP32 chain (SIMT)");
  const auto of = [&](const std::string& series) { return figure.last_y(data, series); };
  const std::string at = fmt::format(", k = {:g}", figure.last_x(data, "Markidis"));
  claims.push_back({"section 2.2" + where, "Markidis corrects FP16, yet falls behind FP32 as k grows",
                    reproduced_if(of("Markidis") < of("FP16, not corrected") && of("Markidis") > kWorse * simt),
                    fmt::format("FP16 {:.3g}, Markidis {:.3g}, FP32 {:.3g}{}", of("FP16, not corrected"),
                                of("Markidis"), simt, at)});
  claims.push_back({"figure 1" + where, "halfhalf is as accurate as FP32", as_accurate(of("halfhalf"), simt),
                    pair_text("halfhalf", of("halfhalf"), "FP32", simt) + at});
  claims.push_back({"figure 1" + where, "tf32tf32 is as accurate as FP32", as_accurate(of("tf32tf32"), simt),
                    pair_text("tf32tf32", of("tf32tf32"), "FP32", simt) + at});
  claims.push_back({"section 3.4" + where, "the product of the two small parts does not matter",
                    reproduced_if(of("halfhalf") <= kNegligible * of("halfhalf, small term kept")),
                    pair_text("dropped", of("halfhalf"), "kept", of("halfhalf, small term kept")) + at});
  claims.push_back({"section 3.5" + where, "promoting hi hi alone is enough",
                    reproduced_if(of("halfhalf") <= kSame * of("halfhalf, all terms outside")),
                    pair_text("hi hi", of("halfhalf"), "all", of("halfhalf, all terms outside")) + at});
  const double first_k = figure.first_x(data, "Markidis");
  const auto at_first = [&](const char* series) { return figure.at(data, series, first_k).value_or(0); };
  claims.push_back(
      {"section 3.1" + where, "how the parts are rounded is not why Markidis falls behind: cut ones fall behind alike",
       reproduced_if(of("Markidis, parts cut") <= kSame * of("Markidis") &&
                     at_first("Markidis, parts cut") > kNegligible * at_first("Feng")),
       fmt::format("k = {:g}: cut {:.3g}, rounded (Feng) {:.3g}; {}{}", first_k, at_first("Markidis, parts cut"),
                   at_first("Feng"), pair_text("cut", of("Markidis, parts cut"), "rounded", of("Markidis")), at)});
  const WorstRatio feng = worst_ratio(figure, data, "Feng, FP32 reference", "Feng");
  claims.push_back(
      {"section 2.2" + where, "against an FP32 reference, as Feng has it, the error cannot be judged",
       reproduced_if(feng.ratio > kNegligible),
       fmt::format("up to {:.3g} times the error against FP64 (k = {:g}); the same{}", feng.ratio, feng.x, at)});
  claims.push_back({"figure 1, ours" + where, ours + " is as accurate as FP32", as_accurate(of(ours), simt),
                    pair_text("scaled", of(ours), "FP32", simt) + at});
  const char* const positive = "uniform(0, 1)";
  const double positive_simt = figure.last_y(positive, "FP32 chain (SIMT)");
  const double positive_scaled = figure.last_y(positive, ours);
  claims.push_back({"figure 1, ours" + where, "so it is on positive operands, where truncation is biased",
                    as_accurate(positive_scaled, positive_simt),
                    pair_text("scaled", positive_scaled, "FP32", positive_simt) + at});
}

void judge_causes(const StudyFigure& masked, const StudyFigure& rounding, const std::string& where,
                  std::vector<Claim>& claims) {
  const char* const eight = "uniform(-8, 8)";
  const double markidis = masked.last_y(eight, "Markidis");
  const double cut = masked.last_y(eight, "FP32 chain, last bit masked");
  claims.push_back({"figure 2" + where,
                    "FP32 with 22.5 bits is more accurate than Markidis with 22.75: bits are not the cause",
                    reproduced_if(cut < markidis), pair_text("masked", cut, "Markidis", markidis)});
  const char* const one = "uniform(-1, 1)";
  const double simt = rounding.last_y(one, "FP32 chain (SIMT)");
  const double rn = rounding.last_y(one, "mma_rn");
  const double rz = rounding.last_y(one, "mma_rz");
  const double hopper = rounding.last_y(one, "Markidis, Hopper");
  claims.push_back({"figure 3" + where, "with mma_rn the error is that of FP32", as_accurate(rn, simt),
                    pair_text("mma_rn", rn, "FP32", simt)});
  claims.push_back({"figure 3" + where,
                    "with mma_rz it is that of Markidis: the rounding of the accumulator is the cause",
                    reproduced_if(rz <= kSame * hopper && hopper <= kSame * rz && rz > kWorse * rn),
                    pair_text("mma_rz", rz, "Markidis", hopper)});
}

void judge_classes(const StudyFigure& classes, const std::string& where, std::vector<Claim>& claims) {
  const auto ratio = [&](const char* data, const char* series) {
    return classes.last_y(data, series) / classes.last_y(data, "FP32 chain (SIMT)");
  };
  const char* const left = "exp_rand(-15, 15) x (-15, 15)";
  const char* const centre = "exp_rand(-15, 15) x (-35, -15)";
  const char* const right = "exp_rand(-15, 15) x (-45, -35)";
  const auto text = [](double x) { return fmt::format("{:.3g} times the error of FP32", x); };
  claims.push_back({"figure 8, left" + where, "halfhalf is as accurate as FP32",
                    as_accurate(ratio(left, "halfhalf"), 1.0), text(ratio(left, "halfhalf"))});
  const WorstRatio degraded = worst_ratio(classes, centre, "halfhalf", "FP32 chain (SIMT)");
  claims.push_back({"figure 8, centre" + where, "halfhalf is degraded", reproduced_if(degraded.ratio > kWorse),
                    fmt::format("{:.3g} times the error of FP32 at k = {:g}, {:.3g} at k = {:g}", degraded.ratio,
                                degraded.x, ratio(centre, "halfhalf"), classes.last_x(centre, "halfhalf"))});
  claims.push_back({"figure 8, right" + where, "halfhalf is wrong", reproduced_if(ratio(right, "halfhalf") > 1e4),
                    text(ratio(right, "halfhalf"))});
  const auto judge_every_class = [&](const std::string& place, const char* series, const std::string& statement) {
    claims.push_back(claim_of_equal_accuracy(place, statement, classes, series, "FP32 chain (SIMT)"));
  };
  judge_every_class("figure 8" + where, "tf32tf32", "tf32tf32 is as accurate as FP32 in every class");
  judge_every_class("figure 8, ours" + where, "scheme ec by default",
                    "scheme ec by default is as accurate as FP32 in every class");
}

}  // namespace kizami::study
