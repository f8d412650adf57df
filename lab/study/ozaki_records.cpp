// SPDX-License-Identifier: MIT
#include "ozaki_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "failure.hpp"

namespace kizami::study {
namespace {

/// What bench_gpu_slices says of slices.
void parse_slices(const nlohmann::json& json, OzakiRecord& record) {
  record.from_exact.frobenius = json.at("frobenius").get<double>();
  record.from_exact.element = json.at("element").get<double>();
  if (!json.contains("slices")) return;  // native
  const auto& from_native = json.at("from_native");
  record.from_native = {from_native.at(0).get<double>(), from_native.at(1).get<double>(),
                        from_native.at(2).get<double>()};
  record.bound = json.at("bound").get<double>();
  record.engine = json.at("engine").get<std::string>();
  record.format = json.at("format").get<std::string>();
  record.scale = json.at("scale").get<std::string>();
  record.digit_bits = json.at("digit_bits").get<int>();
  record.slices = json.at("slices").get<int>();
  record.products = json.at("products").get<int>();
  record.split_ms = json.value("split_ms", -1.0);
  record.product_ms = json.value("product_ms", -1.0);
  record.sums_ms = json.value("sums_ms", -1.0);
}

OzakiRecord parse_record(const nlohmann::json& json) {
  OzakiRecord record;
  const std::string spec = json.at("case").get<std::string>();
  long m = 0;
  long n = 0;
  long k = 0;
  if (std::sscanf(spec.c_str(), "%c nn %ldx%ldx%ld", &record.type, &m, &n, &k) != 4 || m != n || n != k)
    throw std::runtime_error(fmt::format("case = {}, must be of a square product nn", spec));
  record.n = n;
  record.who = json.at("who").get<std::string>();
  record.ms = json.value("ms_median", 0.0);
  record.tflops = json.at("tflops").get<double>();
  record.from_exact.entry = json.at("error").get<double>();
  if (json.contains("frobenius")) parse_slices(json, record);
  if (!(record.tflops > 0)) throw std::runtime_error(fmt::format("tflops = {}, must be positive", record.tflops));
  return record;
}

}  // namespace

bool OzakiRecord::has(std::string_view word) const {
  const std::string with_slash = "/" + std::string(word);
  return who.ends_with(with_slash) || who.find(with_slash + "/") != std::string::npos;
}

int OzakiRecord::diagonals() const {
  for (std::size_t at = who.find("/d"); at != std::string::npos; at = who.find("/d", at + 1)) {
    const int d = std::atoi(who.c_str() + at + 2);
    if (d > 0) return d;
  }
  return 0;
}

OzakiRecords::OzakiRecords(std::istream& lines, const std::string& name) {
  std::map<std::pair<char, std::int64_t>, double> native;
  std::string text;
  for (int line = 1; std::getline(lines, text); ++line) {
    if (text.empty()) continue;
    try {
      const auto json = nlohmann::json::parse(text);
      const std::string from = fmt::format("driver {}, {}, commit {}", json.at("driver").get<std::string>(),
                                           json.at("date").get<std::string>(), json.at("commit").get<std::string>());
      if (device.find(from) == std::string::npos) device += (device.empty() ? "" : "; ") + from;
      if (json.contains("type")) {  // of bench_gpu_tile
        if (json.at("type") != "bf16" || json.at("who") != "tile") continue;
        double& fastest = bf16_tflops[json.at("n").get<std::int64_t>()];
        fastest = std::max(fastest, json.at("tflops").get<double>());
        continue;
      }
      OzakiRecord record = parse_record(json);
      if (record.who == "native") native[{record.type, record.n}] = record.tflops;
      record.native_tflops = native[{record.type, record.n}];
      all[{record.type, record.who, record.n}] = record;
    } catch (const std::exception& error) {
      throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, error.what()));
    }
  }
  if (lines.bad()) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
}

const OzakiRecord* OzakiRecords::find(char type, const std::string& who, std::int64_t n) const {
  const auto found = all.find({type, who, n});
  return found == all.end() ? nullptr : &found->second;
}

std::vector<const OzakiRecord*> OzakiRecords::where(const std::function<bool(const OzakiRecord&)>& is_wanted) const {
  std::vector<const OzakiRecord*> wanted;
  for (const auto& [key, record] : all) {
    if (is_wanted(record)) wanted.push_back(&record);
  }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const OzakiRecord* x, const OzakiRecord* y) { return x->n < y->n; });
  return wanted;
}

}  // namespace kizami::study
