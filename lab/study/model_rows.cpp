// SPDX-License-Identifier: MIT
#include "model_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "failure.hpp"

namespace kizami::study {
namespace {

using model::Request;
using model::Way;

[[nodiscard]] Scalar scalar_of(char type) {
  switch (type) {
    case 's':
      return Scalar::kF32;
    case 'd':
      return Scalar::kF64;
    case 'c':
      return Scalar::kC64;
    case 'z':
      return Scalar::kC128;
    default:
      throw std::runtime_error(fmt::format("type {}, must be s, d, c or z", type));
  }
}

/// Calls `take` with each line's JSON; what it throws names the line.
template <class Take>
void for_each_line(std::istream& lines, const std::string& name, const Take& take) {
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    if (text.empty()) continue;
    try {
      take(nlohmann::json::parse(text));
    } catch (const std::exception& error) {
      throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, number, error.what()));
    }
  }
}

[[nodiscard]] model::Prediction predicted(const std::string& card, const Request& request) {
  const model::Device* const device = model::find_device(card);
  if (device == nullptr) throw std::runtime_error(fmt::format("no description of card {}", card));
  Result<model::Prediction> made = model::predict(*device, request);
  if (!made.ok()) throw std::runtime_error(made.status().reason());
  return std::move(made).value();
}

[[nodiscard]] double ms_of_phase(const model::Prediction& prediction, std::string_view phase) {
  if (phase == "total") return prediction.seconds * 1e3;
  for (const model::PhaseTime& time : prediction.phases) {
    if (time.phase == phase) return time.seconds * 1e3;
  }
  throw std::runtime_error(fmt::format("the model has no phase {}", phase));
}

// ---- published --------------------------------------------------------------------------------------------------------

struct Published {
  ModelRow row;
  Request request;
  std::vector<std::pair<std::string, double>> phases_ms;
};

[[nodiscard]] Published parse_published(const nlohmann::json& json) {
  Published out;
  ModelRow& row = out.row;
  row.card = json.at("card").get<std::string>();
  row.release = json.at("release").get<std::string>();
  row.type = json.at("type").get<std::string>();
  row.m = row.n = row.k = json.at("n").get<std::int64_t>();
  row.phase = "total";
  const auto way = json.at("way").get<std::string>();
  Request& request = out.request;
  request.m = request.n = request.k = row.n;
  request.scalar = scalar_of(row.type.at(0));
  if (way == "native") {
    request.way = Way::kNative;
    row.way = way;
  } else if (way == "cublas") {  // another program than EF_S, by the same scheme
    request.way = Way::kEfS;
    request.program = model::ProgramName::kDocuments;
    request.slices = json.at("slices").get<int>();
    row.way = fmt::format("cuBLAS, {} slices, as ef_s", request.slices);
  } else if (way == "gemmul8") {
    request.way = Way::kOzaki2;
    request.program = model::ProgramName::kGemmul8;
    request.moduli = json.at("moduli").get<int>();
    const auto format = json.at("format").get<std::string>();
    const auto scaling = json.at("scaling").get<std::string>();
    request.format = named<model::Format>(format).value();
    request.is_accurate = scaling == "accurate";
    row.way = fmt::format("GEMMul8 {} {}, {} moduli", format, scaling, request.moduli);
  } else {
    throw std::runtime_error(fmt::format("way = {}, must be native, cublas or gemmul8", way));
  }
  const double flops = (is_complex(request.scalar) ? 8.0 : 2.0) * static_cast<double>(row.n) *
                       static_cast<double>(row.n) * static_cast<double>(row.n);
  row.measured_ms = json.contains("ms") ? json.at("ms").get<double>() : flops / json.at("tflops").get<double>() * 1e-9;
  if (!(row.measured_ms > 0 && row.measured_ms < 1e12)) throw std::runtime_error("tflops or ms must be positive");
  if (json.contains("phases_ms")) {
    for (const auto& [phase, ms] : json.at("phases_ms").items()) out.phases_ms.emplace_back(phase, ms.get<double>());
  }
  return out;
}

/// Whether GEMMul8's constants were fitted to this phase of this card: all of GH200's, and of RTX 5080 the kernels for cards
/// whose FP64 instructions are rare.
[[nodiscard]] bool is_fitted(const Published& x, std::string_view phase) {
  if (x.request.program != model::ProgramName::kGemmul8) return false;
  return x.row.card == "gh200" || (x.row.card == "rtx5080" && phase != "products" && phase != "residues");
}

void add_published(const Published& x, std::vector<ModelRow>& out) {
  constexpr std::string_view kMeasuredProducts[] = {"a100"};  // by a product that is none of the call's
  for (const model::Basis basis : {model::Basis::kSheet, model::Basis::kCalibrated}) {
    const bool is_calibrated = basis == model::Basis::kCalibrated;
    const bool may_calibrate = x.request.program == model::ProgramName::kGemmul8 &&
                               std::ranges::find(kMeasuredProducts, x.row.card) != std::end(kMeasuredProducts);
    if (is_calibrated && !may_calibrate) continue;
    Request request = x.request;
    request.basis = basis;
    const model::Prediction prediction = predicted(x.row.card, request);
    const auto add = [&](const std::string& phase, double measured_ms) {
      ModelRow row = x.row;
      row.kind = is_fitted(x, phase) ? RowKind::kFit : is_calibrated ? RowKind::kCalibrated : RowKind::kPure;
      row.phase = phase;
      row.measured_ms = measured_ms;
      row.predicted_ms = ms_of_phase(prediction, phase);
      out.push_back(row);
    };
    add("total", x.row.measured_ms);
    for (const auto& [phase, ms] : x.phases_ms) add(phase, ms);
  }
}

// ---- our own ----------------------------------------------------------------------------------------------------------

/// The words of a way between slashes.
[[nodiscard]] std::vector<std::string> words_of(const std::string& who) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= who.size()) {
    const std::size_t end = std::min(who.find('/', begin), who.size());
    out.push_back(who.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// "ozaki1/7/truncated/grouped/cublaslt" as the model has it; nothing: it has no such way.
[[nodiscard]] std::optional<Request> sliced_request(const std::string& who) {
  Request request;
  request.way = Way::kEfS;
  request.program = model::ProgramName::kKizami;
  const std::vector<std::string> words = words_of(who);
  if (words.size() < 2 || words[1].size() != 1 || words[1][0] < '1' || words[1][0] > '9') return std::nullopt;
  request.slices = words[1][0] - '0';
  request.has_byte_digits = std::ranges::find(words, "truncated") == words.end();
  constexpr std::pair<std::string_view, Way> kWays[] = {
      {"rounded", Way::kOzimmu}, {"grouped", Way::kEf}, {"concatenated", Way::kEfS}, {"blocked", Way::kEfL}};
  constexpr std::pair<std::string_view, model::ComplexForm> kForms[] = {{"karatsuba", model::ComplexForm::kKaratsuba},
                                                                        {"enlarged", model::ComplexForm::kEnlarged},
                                                                        {"four", model::ComplexForm::kFour}};
  for (std::size_t w = 2; w < words.size(); ++w) {
    const auto way = std::ranges::find(kWays, words[w], [](const auto& x) { return x.first; });
    const auto form = std::ranges::find(kForms, words[w], [](const auto& x) { return x.first; });
    if (way != std::end(kWays)) {
      request.way = way->second;
    } else if (form != std::end(kForms)) {
      request.complex_form = form->second;
    } else if (words[w] == "cublaslt") {
      request.program = model::ProgramName::kPortable;
    } else if (words[w] != "truncated") {
      return std::nullopt;
    }
  }
  return request;
}

/// What the model calls a way of bench_gpu_gemm, bench_gpu_slices or bench_gpu_ec_call.
[[nodiscard]] std::optional<Request> request_of(const std::string& who, const std::string& plan, int moduli) {
  Request request;
  if (who == "native") {
    request.way = Way::kNative;
    return request;
  }
  if (who.starts_with("ozaki1/")) return sliced_request(who);
  if (who == "ec") {
    request.way = Way::kEc;
    request.format = model::Format::kFp16;
    return request;
  }
  if (who != "hopper" && who != "cublaslt") return std::nullopt;
  if (plan.find("repaired") != std::string::npos) return std::nullopt;  // elements in FP64, which the model leaves out
  request.program = who == "hopper" ? model::ProgramName::kKizami : model::ProgramName::kPortable;
  request.moduli = moduli > 0 ? moduli : static_cast<int>(std::strtol(plan.c_str(), nullptr, 10));
  if (request.moduli == 0) return std::nullopt;
  return request;
}

/// Whether engine hopper multiplied by the kernels of today, whose sums become residues by their bytes (ADR 73): of the day that they came,
/// by its commit.
[[nodiscard]] bool has_todays_products(std::string_view date, std::string_view commit) {
  constexpr std::string_view kFirstDay = "2026-11-30";
  constexpr std::string_view kCommits[] = {"0a82115e", "624b0fbe"};
  return date != kFirstDay ? date > kFirstDay : std::ranges::find(kCommits, commit) != std::end(kCommits);
}

/// What a row proves of constants: D and Z, squares of n = 1024, 4096 and 8192, were fitted to; of ec, whose kernels were
/// measured alone, nothing was, nor of cuBLASLt at 2048, whose tile there was measured by single products, nor of its calls of
/// more than 8192 lines of either operand, where the card's description has single products of so many.
/// @param is_wide  its calls of a library have more than 8192 lines of either operand
[[nodiscard]] RowKind kind_of(const ModelRow& row, bool is_wide) {
  if (row.way.starts_with("ec")) return RowKind::kCalibrated;
  const bool is_square = row.m == row.n && row.n == row.k;
  const bool is_of_library = row.way.ends_with("/cublaslt") || row.way.starts_with("ozaki2, portable");
  if (is_of_library && is_square && row.n == 2048) return RowKind::kCalibrated;
  if (is_of_library && is_wide && model::find_device(row.card)->find_measured(model::Fact::kInt8WideTops) != nullptr)
    return RowKind::kCalibrated;
  const bool is_fitted =
      (row.type == "d" || row.type == "z") && is_square && (row.n == 1024 || row.n == 4096 || row.n == 8192);
  return is_fitted ? RowKind::kFit : RowKind::kJudged;
}

/// Whether no block of C has fewer lines of either operand.
[[nodiscard]] bool is_wide(const Request& request) {
  constexpr std::int64_t kManyLines = 8192;
  return request.way != Way::kEfL && request.block_lines == 0 && std::min(request.m, request.n) > kManyLines;
}

constexpr std::string_view kUpdate = " update";

[[nodiscard]] bool has_few_exponents(std::string_view spec) {
  if (spec.ends_with(kUpdate)) spec.remove_suffix(kUpdate.size());
  return spec.ends_with(" phi=0.5") || spec.ends_with(" phi=0") || spec.ends_with(" randn") ||
         spec.ends_with(" normal");
}

}  // namespace

char letter_of(RowKind kind) {
  constexpr std::array kLetters{'P', 'C', 'F', 'J'};
  return kLetters[static_cast<std::size_t>(kind)];
}

std::vector<ModelRow> published_rows(std::istream& lines, const std::string& name) {
  std::vector<ModelRow> out;
  for_each_line(lines, name, [&](const nlohmann::json& json) { add_published(parse_published(json), out); });
  return out;
}

void OwnRows::take(const Measured& measured) {
  const auto same = std::ranges::find_if(all_, [&](const Measured& x) {
    return std::tie(x.row.type, x.row.way, x.row.m, x.row.n, x.row.k, x.row.phase) ==
           std::tie(measured.row.type, measured.row.way, measured.row.m, measured.row.n, measured.row.k,
                    measured.row.phase);
  });
  if (same == all_.end()) {
    all_.push_back(measured);
  } else if (measured.date >= same->date) {
    *same = measured;
  }
}

void OwnRows::read(std::istream& lines, const std::string& name) {
  for_each_line(lines, name, [&](const nlohmann::json& json) {
    const auto spec = json.at("case").get<std::string>();
    char type = 0;
    std::array<char, 3> ops{};
    long m = 0;
    long n = 0;
    long k = 0;
    if (std::sscanf(spec.c_str(), "%c %2s %ldx%ldx%ld", &type, ops.data(), &m, &n, &k) != 5)
      throw std::runtime_error(fmt::format("case = {}, must be of a product", spec));
    const bool has_phases = json.contains("phases_us");
    const std::string who = has_phases ? "hopper" : json.at("who").get<std::string>();
    const std::string plan = has_phases ? "" : json.value("plan", std::string());
    std::optional<Request> known = request_of(who, plan, has_phases ? json.at("moduli").get<int>() : 0);
    // Which form a call took that named none.
    if (known && json.value("complex_form", std::string()) == "enlarged" && is_complex(scalar_of(type)))
      known->complex_form = model::ComplexForm::kEnlarged;
    if (known && who.ends_with("/cublaslt")) known->block_lines = json.value("block_lines", std::int64_t{0});
    const bool is_plain = !has_phases || (json.at("look") == "sample" && json.at("repaired") == 0);
    const bool is_older =
        known && known->moduli > 0 && known->program == model::ProgramName::kKizami &&
        !has_todays_products(json.at("date").get<std::string>(), json.at("commit").get<std::string>());
    if (!known || !is_plain || is_older || !has_few_exponents(spec)) {
      ++left_out_;
      return;
    }
    Measured measured;
    measured.request = *known;
    measured.request.scalar = scalar_of(type);
    measured.request.m = m;
    measured.request.n = n;
    measured.request.k = k;
    measured.request.is_update = spec.ends_with(kUpdate);
    measured.date = json.at("date").get<std::string>();
    ModelRow& row = measured.row;
    row.card = "h200";
    row.release = "Kizami " + json.at("commit").get<std::string>();
    row.type = std::string(1, type);
    row.m = m;
    row.n = n;
    row.k = k;
    row.way = known->moduli > 0 ? fmt::format("ozaki2, {}, {} moduli", to_string(*known->program), known->moduli) : who;
    if (predicted(row.card, measured.request).has_quadrants) row.way += ", of quadrants";
    if (measured.request.is_update) row.way += ", update";
    const auto add = [&](const std::string& phase, double ms) {
      row.phase = phase;
      row.measured_ms = ms;
      if (!(ms > 0)) throw std::runtime_error(fmt::format("{} of {} takes {} ms, must be positive", phase, spec, ms));
      take(measured);
    };
    if (!has_phases) {
      add("total", json.at("ms_median").get<double>());
      const std::pair<const char*, const char*> phases[] = {
          {"split", "split_ms"}, {"products", "product_ms"}, {"sums", "sums_ms"}};
      if (!who.starts_with("ozaki1/")) return;
      const auto is_apart = [&](const auto& phase) { return json.value(phase.second, 0.0) > 0; };
      if (!std::ranges::all_of(phases, is_apart)) return;  // one kernel does it all
      for (const auto& [phase, key] : phases) add(phase, json.at(key).get<double>());
      return;
    }
    // A call with its phases: bench_gpu_gemm's total of the same call may be later.
    row.way += ", by phases";
    const auto& us = json.at("phases_us");
    add("total", json.at("call_us_median").get<double>() * 1e-3);
    add("split", us.at("split").get<double>() * 1e-3);
    add("products", us.at("product").get<double>() * 1e-3);
    add("crt", us.at("crt").get<double>() * 1e-3);
    const double sample = us.at("sample").get<double>();
    if (sample > 0) add("certificate", sample * 1e-3);  // calls after a tame one multiply none
  });
}

std::vector<ModelRow> OwnRows::rows() const {
  std::vector<ModelRow> out;
  for (const Measured& measured : all_) {
    ModelRow row = measured.row;
    row.kind = kind_of(row, is_wide(measured.request));
    row.predicted_ms = ms_of_phase(predicted(row.card, measured.request), row.phase);
    out.push_back(row);
  }
  return out;
}

}  // namespace kizami::study
