// SPDX-License-Identifier: MIT
#include "sgemm_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "check/text.hpp"
#include "failure.hpp"

namespace kizami::study {
namespace {

constexpr const char* kNative = "FP32 (cuBLAS)";
constexpr const char* kScaled = "scaled (FP16)";
constexpr const char* kScaledTf32 = "scaled_tf32 (TF32)";

/// What bench_gpu_ec calls it, and the name of its curve.
struct Method {
  const char* who;
  const char* series;
};
constexpr Method kMethods[] = {{"native", kNative},
                               {"halfhalf", "halfhalf"},
                               {"tf32tf32", "tf32tf32"},
                               {"markidis", "Markidis"},
                               {"fp16", "FP16, not corrected"},
                               {"tf32", "TF32, not corrected"},
                               {"ec_f16", kScaled},
                               {"ec_tf32", kScaledTf32},
                               {"cublas_tf32", "TF32, not corrected (cuBLAS)"},
                               {"cublas_f16", "FP16 mode on FP32 operands, not corrected (cuBLAS)"},
                               {"cublas_f16_operands", "FP16 operands, not corrected (cuBLAS)"}};

/// One line, as far as it is used here.
struct Record {
  std::int64_t m = 0, n = 0, k = 0;
  std::string ops;
  std::string data;
  std::string series;
  std::string device;
  double tflops = 0;
  double peak_tflops = 0;
};

[[noreturn]] void refuse_line(const std::string& name, int line, const std::string& reason) {
  throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, reason));
}

Record parse_record(const std::string& text, const std::string& name, int line) {
  Record record;
  try {
    const auto json = nlohmann::json::parse(text);
    const auto spec = json.at("case").get<std::string>();
    long m = 0, n = 0, k = 0;
    char ops[3] = "";
    char data[64] = "";
    if (std::sscanf(spec.c_str(), "s %2s %ldx%ldx%ld %63s", ops, &m, &n, &k, data) != 5 || m < 1 || n < 1 || k < 1) {
      refuse_line(name, line, fmt::format("case = {}, must be as 's nn 16x16x64 normal'", in_quotes(spec)));
    }
    const auto who = json.at("who").get<std::string>();
    const auto* const method =
        std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Method& x) { return who == x.who; });
    if (method == std::end(kMethods)) refuse_line(name, line, fmt::format("who = {} is not known", in_quotes(who)));
    record = {m,
              n,
              k,
              ops,
              data,
              method->series,
              "",
              json.at("tflops").get<double>(),
              json.at("fp32_peak_tflops").get<double>()};
    record.device = fmt::format("{}, driver {}, {}, commit {}", json.at("device").get<std::string>(),
                                json.at("driver").get<std::string>(), json.at("date").get<std::string>(),
                                json.at("commit").get<std::string>());
    if (!(record.peak_tflops > 0)) refuse_line(name, line, "fp32_peak_tflops must be positive");
  } catch (const nlohmann::json::exception& error) {
    refuse_line(name, line, error.what());
  }
  return record;
}

/// Adds a point, or replaces the one of its place.
void put(StudyFigure& figure, const StudyPoint& point) {
  const auto place = std::find_if(figure.points.begin(), figure.points.end(), [&](const StudyPoint& x) {
    return x.data == point.data && x.series == point.series && x.x == point.x;
  });
  if (place == figure.points.end()) {
    figure.points.push_back(point);
  } else {
    *place = point;
  }
}

/// The largest y of a series.
double highest(const StudyFigure& figure, const char* series) {
  double y = std::numeric_limits<double>::quiet_NaN();
  for (const StudyPoint& point : figure.points) {
    if (point.series == series && !(point.y <= y)) y = point.y;
  }
  return y;
}

/// @range  claims of the document's variants are not refuted here: engine mma, which has them, is not tuned, and its card
///         is another one
void judge_speed(const StudyFigure& speed, double peak, std::vector<Claim>& claims) {
  const auto judge_faster = [&](const char* place, const char* series, ClaimVerdict otherwise) {
    int faster = 0;
    int all = 0;
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    double from = std::numeric_limits<double>::quiet_NaN();  // the least n from which it is always faster
    for (const StudyPoint& point : speed.points) {
      if (point.series != series) continue;
      const double ratio = point.y / speed.at(point.data, kNative, point.x).value_or(0);
      ++all;
      least = std::min(least, ratio);
      most = std::max(most, ratio);
      if (ratio > 1) {
        ++faster;
        if (!(from <= point.x)) from = point.x;
      }
    }
    const std::string first = faster > 0 ? fmt::format(", the first n = {:g}", from) : "";
    claims.push_back({place, fmt::format("{} is faster than FP32 cores for many sizes", series),
                      2 * faster > all ? ClaimVerdict::kReproduced : otherwise,
                      fmt::format("at {} of {} sizes{}; {:.2f} to {:.2f} times", faster, all, first, least, most) +
                          (otherwise == ClaimVerdict::kOtherHardware ? ", by an engine that is not tuned" : "")});
  };
  judge_faster("figure 9", "halfhalf", ClaimVerdict::kOtherHardware);
  judge_faster("figure 9", "tf32tf32", ClaimVerdict::kOtherHardware);
  judge_faster("figure 9, ours", kScaled, ClaimVerdict::kRefuted);
  judge_faster("figure 9, ours", kScaledTf32, ClaimVerdict::kRefuted);
  // TFLOPS of the document on an A100, whose FP32 cores have 19.5.
  constexpr double kPrintedPeak = 19.5;
  const auto judge_peak = [&](const char* series, const char* ours, double printed) {
    const double y = highest(speed, series);
    const double of_ours = highest(speed, ours);
    claims.push_back(
        {"figure 9",
         fmt::format("{} reaches {:g} TFLOPS, {:.2f} times the peak of FP32 cores, beyond what those can do", series,
                     printed, printed / kPrintedPeak),
         ClaimVerdict::kOtherHardware,
         fmt::format("{:.1f} TFLOPS, {:.2f} times the peak of {:.1f}; ours, {}: {:.1f}, {:.2f} times", y, y / peak,
                     peak, ours, of_ours, of_ours / peak)});
  };
  judge_peak("halfhalf", kScaled, 45);
  judge_peak("tf32tf32", kScaledTf32, 29);
}

}  // namespace

SgemmSpeed study_sgemm_speed(std::istream& records, const std::string& name) {
  SgemmSpeed study;
  StudyFigure speed{
      "figure_9", "Speed of whole calls, square products in order nn of normal numbers", "n", "tflops", false, {}};
  StudyFigure relative{"figure_9_relative",
                       "The same, relative to the peak of the device's FP32 cores",
                       "n",
                       "share_of_fp32_peak",
                       false,
                       {}};
  double peak = 0;
  std::string text;
  for (int line = 1; std::getline(records, text); ++line) {
    if (text.empty()) continue;
    const Record r = parse_record(text, name, line);
    const auto n = static_cast<double>(r.n);
    if (r.ops != "nn" || r.data != "normal" || r.m != r.n || r.n != r.k) continue;
    if (study.device.find(r.device) == std::string::npos) study.device += (study.device.empty() ? "" : "; ") + r.device;
    peak = r.peak_tflops;
    put(speed, {"", r.series, n, r.tflops, 0});
    put(relative, {"", r.series, n, r.tflops / r.peak_tflops, 0});
  }
  if (records.bad()) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
  for (const char* series : {kNative, "halfhalf", "tf32tf32", kScaled, kScaledTf32}) {
    if (!(highest(speed, series) > 0))
      throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: no record of {} for figure_9", name, series));
  }
  judge_speed(speed, peak, study.claims);
  study.figures = {std::move(speed), std::move(relative)};
  return study;
}

StudyTable sgemm_table_2(const SgemmErrors& errors, const SgemmSpeed& speed) {
  StudyTable table{"table_2",
                   "Implementations of the document by their names there and ours, error over uniform(-1, 1) and the "
                   "highest speed in figure 9",
                   {"implementation", "ours", "tensor_core", "corrected", "error_k_1024", "error_k_65536", "tflops"},
                   {}};
  struct Row {
    const char *printed, *series, *tensor_core, *corrected;
  };
  constexpr Row kRows[] = {{"cutlass_tf32tf32", "tf32tf32", "TF32", "yes"},
                           {"cutlass_fp16fp16", "halfhalf", "FP16", "yes"},
                           {"cublas_tf32tc", "TF32, not corrected (cuBLAS)", "TF32", "no"},
                           {"cublas_fp16tc", "FP16 operands, not corrected (cuBLAS)", "FP16", "no"},
                           {"cublas_simt(FP32)", kNative, "not used", "no"},
                           {"", "Markidis", "FP16", "yes"},
                           {"", kScaledTf32, "TF32", "yes"},
                           {"", kScaled, "FP16", "yes"}};
  const StudyFigure& error = errors.figures[0];
  for (const Row& row : kRows) {
    const auto text = [](const std::optional<double>& x) { return x ? fmt::format("{:.3g}", *x) : std::string(); };
    const double tflops = highest(speed.figures[0], row.series);
    table.rows.push_back(
        {row.printed, row.series, row.tensor_core, row.corrected, text(error.at("uniform(-1, 1)", row.series, 1024)),
         text(error.at("uniform(-1, 1)", row.series, 65536)), tflops > 0 ? fmt::format("{:.1f}", tflops) : ""});
  }
  return table;
}

}  // namespace kizami::study
