// SPDX-License-Identifier: MIT
// Figures of speed from JSON lines of bench_gpu_gemm, and the claims about them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "failure.hpp"
#include "study_ozaki.hpp"

namespace kizami::cli {
namespace {

struct Record {
  char type = 'd';
  std::int64_t n = 0;
  std::string who;
  double tflops = 0;
  double error = 0;
};

/// A line of a figure: the words of a way, and its name there.
struct Series {
  const char* words;
  const char* name;
};
/// ENGINE stands for hopper (which has no word of its own) or /cublaslt.
constexpr Series kReal[] = {{"/truncated/pairs", "ozIMMU"},
                            {"/truncated/grouped", "ozIMMU_EF"},
                            {"/truncated/concatenated", "ozIMMU_EF_S"},
                            {"/truncated/blocked", "ozIMMU_EF_L"}};
constexpr Series kComplex[] = {
    {"/truncated/karatsuba", "C_K_S"}, {"/truncated/enlarged", "C_E_S"}, {"/truncated/four", "four products"}};

Record parse_record(const std::string& text, const std::string& name, int line, std::string& device) {
  const auto refuse = [&](const std::string& reason) {
    throw Failure(ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, reason));
  };
  Record record;
  try {
    const auto json = nlohmann::json::parse(text);
    const std::string spec = json.at("case").get<std::string>();
    long m = 0;
    long n = 0;
    long k = 0;
    if (std::sscanf(spec.c_str(), "%c nn %ldx%ldx%ld", &record.type, &m, &n, &k) != 4 || m != n || n != k)
      refuse(fmt::format("case = {}, must be of a square product nn", spec));
    record.n = n;
    record.who = json.at("who").get<std::string>();
    record.tflops = json.at("tflops").get<double>();
    record.error = json.at("error").get<double>();
    const std::string from = fmt::format("driver {}, {}, commit {}", json.at("driver").get<std::string>(),
                                         json.at("date").get<std::string>(), json.at("commit").get<std::string>());
    if (device.find(from) == std::string::npos) device += (device.empty() ? "" : "; ") + from;
  } catch (const nlohmann::json::exception& error) {
    refuse(error.what());
  }
  if (!(record.tflops > 0)) refuse(fmt::format("tflops = {}, must be positive", record.tflops));
  return record;
}

using Rates = std::map<std::tuple<char, std::string, std::int64_t>, Record>;

/// The largest ratio of two ways over sizes, and where. n = 0: no size has both.
struct BestRatio {
  double ratio = 0;
  std::int64_t n = 0;
};
BestRatio best_ratio(const Rates& rates, char type, const std::string& way, const std::string& to, std::int64_t from,
                     std::int64_t last) {
  BestRatio best;
  for (const auto& [key, record] : rates) {
    const auto& [t, who, n] = key;
    const auto other = rates.find({type, to, n});
    if (t != type || who != way || n < from || n > last || other == rates.end()) continue;
    const double ratio = record.tflops / other->second.tflops;
    if (ratio > best.ratio) best = {ratio, n};
  }
  return best;
}

Claim claim_of_ratio(const std::string& place, const std::string& statement, const BestRatio& best, double printed) {
  return {place, statement,
          best.ratio > 1.1 * printed ? ClaimVerdict::kSurpassed : reproduced_if(best.ratio >= printed),
          fmt::format("at most {:.2f} times (n = {})", best.ratio, best.n)};
}

/// The first n from which on one way is faster than another, 0 if it never is.
std::int64_t crossover(const Rates& rates, char type, const std::string& way, const std::string& than) {
  std::int64_t first = 0;
  for (const auto& [key, record] : rates) {
    const auto& [t, who, n] = key;
    const auto other = rates.find({type, than, n});
    if (t != type || who != way || other == rates.end()) continue;
    if (record.tflops <= other->second.tflops) {
      first = 0;
    } else if (first == 0) {
      first = n;
    }
  }
  return first;
}

void judge_engine(const Rates& rates, const std::string& engine, std::vector<Claim>& claims) {
  const auto way = [&](const char* words) { return "ozaki1/7" + std::string(words) + engine; };
  const std::string on = engine.empty() ? " (hopper)" : " (cublaslt)";
  const std::string ef = way("/truncated/grouped");
  const BestRatio small = best_ratio(rates, 'd', way("/truncated/concatenated"), ef, 1 << 8, 1 << 11);
  if (small.n > 0) {
    claims.push_back(claim_of_ratio("thesis, figure 1" + on, "EF_S is up to 2.2 times as fast as EF for small matrices",
                                    small, 2.2));
  }
  const BestRatio large = best_ratio(rates, 'd', way("/truncated/blocked"), ef, 1 << 13, 1 << 15);
  if (large.n > 0) {
    claims.push_back(claim_of_ratio("thesis, figure 1" + on, "EF_L is up to 1.7 times as fast as EF for large matrices",
                                    large, 1.7));
  }
  const std::string karatsuba = way("/truncated/karatsuba");
  const std::string enlarged = way("/truncated/enlarged");
  if (best_ratio(rates, 'z', karatsuba, enlarged, 1, 1 << 20).n == 0) return;
  const std::int64_t from = crossover(rates, 'z', karatsuba, enlarged);
  const BestRatio least = best_ratio(rates, 'z', enlarged, karatsuba, 1, from > 0 ? from - 1 : 1 << 20);
  claims.push_back({"thesis, figure 2" + on, "the enlarged matrix is faster for small, Karatsuba for large matrices",
                    reproduced_if(from > 0 && least.ratio > 1),
                    from == 0
                        ? "Karatsuba is never faster from some n on"
                        : fmt::format("Karatsuba from n = {} on; below, the enlarged matrix up to {:.2f} times as fast",
                                      from, least.ratio)});
  const std::int64_t overtakes = crossover(rates, 'z', karatsuba, "native");
  claims.push_back({"thesis, figure 2" + on, "ZGEMM is overtaken from n = 8192 on",
                    overtakes > 0 && overtakes < 8192 ? ClaimVerdict::kSurpassed : reproduced_if(overtakes == 8192),
                    overtakes > 0 ? fmt::format("by Karatsuba from n = {} on", overtakes) : "not by Karatsuba"});
}

void judge_aims(const Rates& rates, std::vector<Claim>& claims) {
  struct Aim {
    int slices;
    std::int64_t n;
    double tflops;
  };
  for (const Aim& aim : {Aim{7, 8192, 45}, {3, 8192, 185}, {4, 8192, 118}, {7, 1024, 27}}) {
    const auto found = rates.find({'d', fmt::format("ozaki1/{}", aim.slices), aim.n});
    if (found == rates.end()) continue;
    claims.push_back({"aim", fmt::format("{} slices reach {} TFLOPS at n = {}", aim.slices, aim.tflops, aim.n),
                      reproduced_if(found->second.tflops >= aim.tflops),
                      fmt::format("{:.1f} TFLOPS, error {:.2g} of |A||B|", found->second.tflops, found->second.error)});
  }
}

}  // namespace

void add_ozaki_device(std::istream& records, const std::string& name, OzakiStudy& study) {
  Rates rates;
  std::string text;
  for (int line = 1; std::getline(records, text); ++line) {
    if (text.empty()) continue;
    const Record record = parse_record(text, name, line, study.device);
    rates[{record.type, record.who, record.n}] = record;
  }
  if (records.bad()) throw Failure(ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
  const auto add_figure = [&](const std::string& figure_name, const std::string& caption, char type,
                              const auto& series) {
    StudyFigure figure{figure_name, caption, "n", "tflops", false, {}};
    for (const std::string engine : {"", "/cublaslt"}) {
      const std::string data = engine.empty() ? "hopper" : "cublaslt";
      for (const auto& [key, record] : rates) {
        const auto& [t, who, n] = key;
        if (t != type) continue;
        std::string label = who == "native" ? "native" : "";
        for (const Series& s : series) {
          if (who == "ozaki1/7" + std::string(s.words) + engine) label = s.name;
        }
        if (!label.empty()) figure.points.push_back({data, label, static_cast<double>(n), record.tflops, 0});
      }
    }
    if (!figure.points.empty()) study.figures.push_back(figure);
  };
  add_figure("figure_1", "DGEMM by 7 truncated slices", 'd', kReal);
  add_figure("figure_2", "ZGEMM by 7 truncated slices", 'z', kComplex);
  StudyTable speed{"speed",
                   "Whole calls on a device: TFLOPS, and the largest error over |A||B|",
                   {"type", "n", "way", "tflops", "of_native", "largest_over_AB"},
                   {}};
  for (const auto& [key, record] : rates) {
    const auto native = rates.find({record.type, "native", record.n});
    speed.rows.push_back({std::string(1, record.type), std::to_string(record.n), record.who,
                          fmt::format("{:.1f}", record.tflops),
                          native == rates.end() ? "" : fmt::format("{:.2f}", record.tflops / native->second.tflops),
                          fmt::format("{:.2g}", record.error)});
  }
  study.tables.push_back(speed);
  for (const std::string engine : {"", "/cublaslt"}) judge_engine(rates, engine, study.claims);
  judge_aims(rates, study.claims);
}

}  // namespace kizami::cli
