// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "check/text.hpp"
#include "failure.hpp"
#include "sgemm_claims.hpp"
#include "sgemm_device.hpp"

namespace kizami::study {
namespace {

/// Figures that a method is drawn in.
enum Figures : unsigned { kOne = 1, kTwo = 2, kThree = 4, kEight = 8 };

/// What bench_gpu_ec_errors calls it, and the names of its curves.
struct Method {
  const char* who;
  const char* series;
  unsigned figures;
};
constexpr Method kMethods[] = {{"fp32_chain", "FP32 chain (SIMT)", kOne | kTwo | kThree | kEight},
                               {"fp32_chain_masked", "FP32 chain, last bit masked", kTwo},
                               {"native", "FP32 (cuBLAS)", kOne | kTwo | kThree | kEight},
                               {"fp16", "FP16, not corrected", kOne | kEight},
                               {"tf32", "TF32, not corrected", kOne | kEight},
                               {"cublas_tf32", "TF32, not corrected (cuBLAS)", kOne | kEight},
                               {"cublas_f16_operands", "FP16 operands, not corrected (cuBLAS)", kOne | kEight},
                               {"markidis", "Markidis", kOne | kTwo | kEight},
                               {"markidis", "Markidis, Hopper", kThree},
                               {"markidis_cut", "Markidis, parts cut", kOne | kTwo},
                               {"markidis_mma_rn", "mma_rn", kThree},
                               {"markidis_mma_rz", "mma_rz", kThree},
                               {"feng", "Feng", kOne},
                               {"feng_fp32_reference", "Feng, FP32 reference", kOne},
                               {"halfhalf", "halfhalf", kOne | kEight},
                               {"halfhalf_outside", "halfhalf, all terms outside", kOne},
                               {"halfhalf_small_term", "halfhalf, small term kept", kOne},
                               {"tf32tf32", "tf32tf32", kOne | kEight},
                               {"tf32tf32_no_shift", "tf32tf32 without 2^11", kOne},
                               {"scaled", "scaled (FP16)", kOne | kEight},
                               {"scaled_tf32", "scaled_tf32 (TF32)", kOne | kEight},
                               {"ec", "scheme ec by default", kOne | kEight}};

/// One line: the errors of a method.
struct Record {
  std::string a;
  std::string b;
  std::string who;
  std::string device;
  int seeds = 0;
  std::vector<double> k;
  std::vector<double> frobenius;
  std::vector<double> entry;
};

[[noreturn]] void refuse_line(const std::string& name, int line, const std::string& reason) {
  throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, reason));
}

/// An error that is no number, as JSON has it, is as large as can be.
std::vector<double> errors_of(const nlohmann::json& list) {
  std::vector<double> values;
  for (const nlohmann::json& value : list) values.push_back(value.is_null() ? 1e300 : value.get<double>());
  return values;
}

Record parse_record(const std::string& text, const std::string& name, int line) {
  Record r;
  try {
    const auto json = nlohmann::json::parse(text);
    r.a = json.at("a").get<std::string>();
    r.b = json.at("b").get<std::string>();
    r.who = json.at("who").get<std::string>();
    r.seeds = json.at("seeds").get<int>();
    r.k = json.at("k").get<std::vector<double>>();
    r.frobenius = errors_of(json.at("frobenius_error"));
    r.entry = errors_of(json.at("error"));
    r.device = fmt::format("{}, driver {}, {}, commit {}", json.at("device").get<std::string>(),
                           json.at("driver").get<std::string>(), json.at("date").get<std::string>(),
                           json.at("commit").get<std::string>());
  } catch (const nlohmann::json::exception& error) {
    refuse_line(name, line, error.what());
  }
  const bool is_known =
      std::any_of(std::begin(kMethods), std::end(kMethods), [&](const Method& x) { return r.who == x.who; });
  if (!is_known) refuse_line(name, line, fmt::format("who = {} is not known", in_quotes(r.who)));
  if (r.k.empty() || r.k.size() != r.frobenius.size() || r.k.size() != r.entry.size())
    refuse_line(name, line, "k, frobenius_error and error must have as many values as each other");
  return r;
}

/// The classes of both operands in the words of the other figures: exp_rand(-15, 15) x (-35, -15).
std::string words_of(const std::string& a, const std::string& b) {
  if (a == "uniform" && b == a) return "uniform(0, 1)";
  const auto range_of = [](const std::string& data) {
    double first = 0;
    double last = 0;
    const std::size_t colon = data.find(':');
    if (colon == std::string::npos || std::sscanf(data.c_str() + colon, ":%lf:%lf", &first, &last) != 2) return data;
    return fmt::format("({:g}, {:g})", first, last);
  };
  const std::string kind = a.substr(0, a.find(':'));
  if (kind == "uniform") return "uniform" + range_of(a);
  const bool is_positive = kind == "exp_rand_positive";
  return "exp_rand" + range_of(a) + " x " + range_of(b) + (is_positive ? ", positive" : "");
}

/// Puts a record's points into a figure in place of those of the same curve.
void put(StudyFigure& figure, const std::string& data, const char* series, const Record& r) {
  std::erase_if(figure.points, [&](const StudyPoint& x) { return x.data == data && x.series == series; });
  for (std::size_t i = 0; i < r.k.size(); ++i)
    figure.points.push_back({data, series, r.k[i], r.frobenius[i], r.entry[i] * 0x1p24});
}

void demand(const StudyFigure& figure, const char* data, std::initializer_list<const char*> all,
            const std::string& name) {
  for (const char* series : all) {
    const bool is_there = std::any_of(figure.points.begin(), figure.points.end(), [&](const StudyPoint& point) {
      return point.data == data && point.series == series;
    });
    if (is_there) continue;
    throw cli::Failure(cli::ExitCode::kBadInput,
                       fmt::format("{}: no record of {} for {}, {}", name, series, figure.name, data));
  }
}

}  // namespace

SgemmErrors study_sgemm_errors(std::istream& records, const std::string& name) {
  SgemmErrors study;
  const auto figure = [](const char* figure_name, const char* caption) {
    return StudyFigure{figure_name, caption, "k", "error", true, {}};
  };
  StudyFigure one = figure("figure_1_device", "Error over k on the device, 16 x k by k x 16, uniform data");
  StudyFigure two = figure("figure_2_device", "FP32 operands with the last bit masked against Markidis on the device");
  StudyFigure three = figure("figure_3_device",
                             "Markidis' products on the device: products of an instruction added to the accumulator "
                             "inside the tensor core, or outside by mma_rn and mma_rz");
  StudyFigure eight =
      figure("figure_8_device", "Error over k on the device by the exponents of the operands; 1e+300: NaN");
  std::string text;
  for (int line = 1; std::getline(records, text); ++line) {
    if (text.empty()) continue;
    const Record r = parse_record(text, name, line);
    const std::string from = fmt::format("{}, {} seeds", r.device, r.seeds);
    if (study.device.find(from) == std::string::npos) study.device += (study.device.empty() ? "" : "; ") + from;
    const std::string data = words_of(r.a, r.b);
    const bool is_uniform = data.starts_with("uniform");
    if (!is_uniform && !data.starts_with("exp_rand")) continue;
    for (const Method& method : kMethods) {
      if (r.who != method.who) continue;
      const auto put_into = [&](StudyFigure& to, Figures which, bool belongs) {
        if (belongs && (method.figures & which) != 0) put(to, data, method.series, r);
      };
      put_into(one, kOne, is_uniform && data != "uniform(-8, 8)");
      put_into(two, kTwo, data == "uniform(-8, 8)");
      put_into(three, kThree, data == "uniform(-1, 1)");
      put_into(eight, kEight, !is_uniform);
    }
  }
  if (records.bad()) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
  demand(one, "uniform(-1, 1)",
         {"FP32 chain (SIMT)", "FP16, not corrected", "Markidis", "Markidis, parts cut", "Feng", "Feng, FP32 reference",
          "halfhalf", "halfhalf, all terms outside", "halfhalf, small term kept", "tf32tf32", "scaled (FP16)"},
         name);
  demand(one, "uniform(0, 1)", {"FP32 chain (SIMT)", "scaled (FP16)"}, name);
  demand(two, "uniform(-8, 8)", {"FP32 chain, last bit masked", "Markidis"}, name);
  demand(three, "uniform(-1, 1)", {"FP32 chain (SIMT)", "mma_rn", "mma_rz", "Markidis, Hopper"}, name);
  for (const char* data :
       {"exp_rand(-15, 15) x (-15, 15)", "exp_rand(-15, 15) x (-35, -15)", "exp_rand(-15, 15) x (-45, -35)"})
    demand(eight, data, {"FP32 chain (SIMT)", "halfhalf", "tf32tf32", "scheme ec by default"}, name);
  judge_error_over_k(one, ", device", "scaled (FP16)", study.claims);
  judge_causes(two, three, ", device", study.claims);
  judge_classes(eight, ", device", study.claims);
  study.figures = {std::move(one), std::move(two), std::move(three), std::move(eight)};
  return study;
}

}  // namespace kizami::study
