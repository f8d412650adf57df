// SPDX-License-Identifier: MIT
#include "tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "check/text.hpp"
#include "failure.hpp"

namespace kizami::study {
namespace {

constexpr const char* kTile = "tile kernel";
constexpr const char* kVendor = "cuBLASLt";
/// From this n on the aim and the document's comparisons are judged; below, launches count.
constexpr std::int64_t kLarge = 4096;

/// A type of bench_gpu_tile, and its words in tables.
struct TypeName {
  const char* type;
  const char* words;
};
constexpr TypeName kTypes[] = {{"f16", "FP16"},
                               {"bf16", "BF16"},
                               {"e4m3", "FP8 E4M3"},
                               {"e5m2", "FP8 E5M2 (cuBLASLt: E4M3)"},
                               {"i8", "INT8"},
                               {"tf32", "TF32"},
                               {"f32_tf32", "FP32 cast to TF32"},
                               {"f32", "FP32, mma"},
                               {"f32_fma", "FP32, fma of outer products"},
                               {"f64", "FP64, mma"},
                               {"f64_fma", "FP64, fma of outer products"}};

struct Record {
  std::string type;
  std::int64_t n = 0;
  std::string who;
  std::string plan;
  std::string device;
  std::string check;
  double tflops = 0;
};

/// A tile kernel and the vendor's figure of its run.
struct Measured {
  double tflops = 0;
  double vendor = 0;
  [[nodiscard]] double share() const { return tflops / vendor; }
};
/// By type, n and plan.
using Measurements = std::map<std::string, std::map<std::int64_t, std::map<std::string, Measured>>>;

[[noreturn]] void refuse_line(const std::string& name, int line, const std::string& reason) {
  throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, reason));
}

Record parse_record(const std::string& text, const std::string& name, int line) {
  Record record;
  try {
    const auto json = nlohmann::json::parse(text);
    const auto string_at = [&](const char* key) { return json.at(key).get<std::string>(); };
    record = {string_at("type"),  json.at("n").get<std::int64_t>(), string_at("who"), string_at("plan"), "",
              string_at("check"), json.at("tflops").get<double>()};
    record.device = fmt::format("{}, driver {}, {}, commit {}", string_at("device"), string_at("driver"),
                                string_at("date"), string_at("commit"));
  } catch (const nlohmann::json::exception& error) {
    refuse_line(name, line, error.what());
  }
  const auto is_known = [&](const TypeName& x) { return record.type == x.type; };
  if (std::none_of(std::begin(kTypes), std::end(kTypes), is_known))
    refuse_line(name, line, fmt::format("type = {} is not known", in_quotes(record.type)));
  if (record.n < 1) refuse_line(name, line, fmt::format("n = {}, must be at least 1", record.n));
  if (!(record.tflops > 0)) refuse_line(name, line, fmt::format("tflops = {}, must be positive", record.tflops));
  return record;
}

/// The fastest plan of a type at an n.
std::pair<std::string, Measured> fastest(const std::map<std::string, Measured>& plans) {
  return *std::max_element(plans.begin(), plans.end(),
                           [](const auto& x, const auto& y) { return x.second.tflops < y.second.tflops; });
}

/// Shares of the fastest plans of a type from an n on: the least, the largest, and where.
struct Shares {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  std::int64_t least_n = 0;
  std::int64_t most_n = 0;
};
Shares shares_of(const Measurements& measured, const char* type, std::int64_t from) {
  Shares shares;
  for (const auto& [n, plans] : measured.at(type)) {
    if (n < from) continue;
    const double share = fastest(plans).second.share();
    if (share < shares.least) {
      shares.least = share;
      shares.least_n = n;
    }
    if (share > shares.most) {
      shares.most = share;
      shares.most_n = n;
    }
  }
  return shares;
}
std::string words_of(const Shares& s) {
  return fmt::format("{:.0f} % (n = {}) to {:.0f} % (n = {})", 100 * s.least, s.least_n, 100 * s.most, s.most_n);
}

/// What the document printed of a share of the vendor's speed, on a B200.
Claim printed_share(const Measurements& measured, const char* type, const std::string& place,
                    const std::string& statement) {
  return {place, statement, ClaimVerdict::kOtherHardware,
          words_of(shares_of(measured, type, kLarge)) + fmt::format(" from n = {} on", kLarge)};
}
/// "A tile kernel reaches this share of the vendor's": surpassed where even the least share is above it.
Claim claim_of_aim(const Measurements& measured, const char* type, const std::string& statement, double aim) {
  const Shares shares = shares_of(measured, type, kLarge);
  const ClaimVerdict verdict =
      shares.least > 1.05 * aim ? ClaimVerdict::kSurpassed : reproduced_if(shares.least >= aim);
  return {"aim", statement, verdict, words_of(shares) + fmt::format(" from n = {} on", kLarge)};
}

void judge_fp8(const Measurements& measured, std::vector<Claim>& claims) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const auto& [n, plans] : measured.at("e5m2")) {
    const auto f16 = measured.at("f16").find(n);
    if (n < kLarge || f16 == measured.at("f16").end()) continue;
    const double ratio = fastest(plans).second.tflops / fastest(f16->second).second.tflops;
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  claims.push_back({"GEMM, float8_e5m2", "from n = 4096 on about twice as fast as FP16 (printed: 2.0 to 2.2 times)",
                    ClaimVerdict::kOtherHardware, fmt::format("{:.2f} to {:.2f} times", least, most)});
}

void judge_fp64(const Measurements& measured, std::vector<Claim>& claims) {
  const Shares mma = shares_of(measured, "f64", 1);
  claims.push_back(
      {"GEMM, float64",
       "mma of FP64 is slower than the vendor's by an order of magnitude (printed: 30 times, 1.1 and 35.4 TFLOPS)",
       ClaimVerdict::kOtherHardware,
       fmt::format("{:.0f} to {:.0f} times slower; neither DMMA nor FMA in the machine code", 1 / mma.most,
                   1 / mma.least)});
  // Tiles of 64 x 64 and smaller, of one size of product.
  double larger = 0;
  double smaller = 0;
  for (const auto& [n, plans] : measured.at("f64")) {
    for (const auto& [plan, m] : plans) {
      double& of = plan.starts_with("64x64x") ? larger : smaller;
      of = std::max(of, m.tflops);
    }
  }
  if (larger > 0) {
    claims.push_back({"GEMM, float64", "smaller tiles help mma of FP64, to 1.6 TFLOPS", ClaimVerdict::kOtherHardware,
                      fmt::format("{:.1f} TFLOPS with tiles of 64 x 64, {:.1f} with smaller ones", larger, smaller)});
  }
  const auto fma = measured.find("f64_fma");
  if (fma != measured.end()) {
    const Shares shares = shares_of(measured, "f64_fma", 1);
    claims.push_back({"GEMM, float64", "the language has no efficient FP64 product (ours: fma of outer products)",
                      reproduced_if(shares.most < 0.5), words_of(shares) + " of cuBLASLt"});
  }
}

StudyTable gemm_table(const Measurements& measured) {
  StudyTable table{"gemm",
                   "Square products, the fastest tile kernel of each type and n beside cuBLASLt in the same run; "
                   "medians of single calls",
                   {"type", "n", "tile_tflops", "cublaslt_tflops", "share", "plan"},
                   {}};
  for (const TypeName& type : kTypes) {
    const auto sizes = measured.find(type.type);
    if (sizes == measured.end()) continue;
    for (const auto& [n, plans] : sizes->second) {
      const auto [plan, m] = fastest(plans);
      table.rows.push_back({type.words, std::to_string(n), fmt::format("{:.1f}", m.tflops),
                            fmt::format("{:.1f}", m.vendor), fmt::format("{:.3f}", m.share()), plan});
    }
  }
  return table;
}

StudyTable variant_table(const Measurements& measured) {
  StudyTable table{
      "variants",
      "Every plan: tile_m x tile_n x tile_k, CTAs a block, occupancy, warps, latency, TMA, group of swizzle_2d",
      {"type", "n", "plan", "tile_tflops", "share"},
      {}};
  for (const auto& [type, sizes] : measured) {
    for (const auto& [n, plans] : sizes) {
      for (const auto& [plan, m] : plans) {
        table.rows.push_back(
            {type, std::to_string(n), plan, fmt::format("{:.1f}", m.tflops), fmt::format("{:.3f}", m.share())});
      }
    }
  }
  return table;
}

}  // namespace

TileStudy study_tile(std::istream& records, const std::string& name) {
  TileStudy study;
  Measurements measured;
  std::map<std::pair<std::string, std::int64_t>, double> vendor;
  std::string text;
  for (int line = 1; std::getline(records, text); ++line) {
    if (text.empty()) continue;
    const Record r = parse_record(text, name, line);
    if (study.device.find(r.device) == std::string::npos) study.device += (study.device.empty() ? "" : "; ") + r.device;
    if (r.who != "tile") {
      vendor[{r.type, r.n}] = r.tflops;
      continue;
    }
    if (r.check != "equal") refuse_line(name, line, fmt::format("check = {}, must be 'equal'", in_quotes(r.check)));
    const auto reference = vendor.find({r.type, r.n});
    if (reference == vendor.end()) refuse_line(name, line, "no record of cuBLASLt of this type and n before it");
    measured[r.type][r.n][r.plan] = {r.tflops, reference->second};
  }
  if (records.bad()) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
  for (const char* type : {"f16", "e4m3", "e5m2", "tf32", "i8", "f64"}) {
    if (measured.find(type) == measured.end())
      throw cli::Failure(cli::ExitCode::kBadInput,
                         fmt::format("{}: no record of a tile kernel of type {}", name, type));
    if (std::string_view(type) != "f64" && measured.at(type).rbegin()->first < kLarge)
      throw cli::Failure(cli::ExitCode::kBadInput,
                         fmt::format("{}: no record of type {} for n >= {}", name, type, kLarge));
  }

  for (const auto& [type, sizes] : measured) {
    for (const auto& [n, plans] : sizes) study.fastest[{type, n}] = fastest(plans).second.tflops;
  }
  study.gemm = gemm_table(measured);
  study.variants = variant_table(measured);
  study.speed = {"gemm_speed", "Square products, the fastest tile kernel beside cuBLASLt", "n", "tflops", false, {}};
  for (const TypeName& type : kTypes) {
    const auto sizes = measured.find(type.type);
    if (sizes == measured.end()) continue;
    for (const auto& [n, plans] : sizes->second) {
      const Measured best = fastest(plans).second;
      study.speed.points.push_back({type.words, kTile, static_cast<double>(n), best.tflops, 0});
      study.speed.points.push_back({type.words, kVendor, static_cast<double>(n), best.vendor, 0});
    }
  }

  study.claims.push_back(
      printed_share(measured, "f16", "GEMM, float16",
                    "a simple tile kernel matches cuBLAS (printed: at least 88 % from n = 4096 on)"));
  study.claims.push_back(printed_share(measured, "tf32", "GEMM, float32 as TF32",
                                       "performance close to cuBLAS (printed: at least 94 % from n = 4096 on)"));
  judge_fp8(measured, study.claims);
  judge_fp64(measured, study.claims);
  constexpr double kAim = 0.8;
  for (const char* type : {"f16", "e4m3", "tf32", "i8"}) {
    const auto* const words = std::find_if(std::begin(kTypes), std::end(kTypes),
                                           [&](const TypeName& x) { return x.type == std::string_view(type); });
    study.claims.push_back(
        claim_of_aim(measured, type, fmt::format("{}: at least 80 % of cuBLASLt", words->words), kAim));
  }
  return study;
}

}  // namespace kizami::study
