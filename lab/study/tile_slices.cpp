// SPDX-License-Identifier: MIT
#include "tile_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "check/text.hpp"
#include "failure.hpp"

namespace kizami::study {
namespace {

/// What the document prints of a d, at n = 16384 on a B200: TFLOPS, also as a multiple of native, and the error.
struct Printed {
  int depth;
  double tflops;
  double share;
  double error;
};
constexpr Printed kPrinted[] = {{9, 26.84, 0.75, 2.21e-14},
                                {8, 29.44, 0.83, 2.31e-14},
                                {7, 36.81, 1.03, 3.5e-13},
                                {6, 46.4, 1.3, 4.39e-11},
                                {5, 64.52, 1.81, 4.51e-9}};
/// And of its split of both operands, in ms by n.
constexpr std::pair<std::int64_t, double> kPrintedSplits[] = {
    {1024, 0.2}, {2048, 0.24}, {4096, 0.43}, {8192, 1.16}, {16384, 3.96}};
/// 39 products at n = 16384 in 323.1 ms, beside 1357 TFLOPS of one FP16 product.
constexpr double kPrintedShareOfRate = 39 * 2e-9 * 16384. * 16384 * 16384 / 323.1 / 1357;

struct Native {
  double ms = 0;
  double tflops = 0;
  double error = 0;
  double frobenius = 0;
};
/// Products of one kernel with one d, beside what was measured in its run.
struct Product {
  int pairs = 0;
  double ms = 0;  ///< without the split
  double total_ms = 0;
  double tflops = 0;
  double error = 0;
  double frobenius = 0;
  double from_native = 0;
  double split_ms = 0;  ///< of one operand
  Native native;
  [[nodiscard]] double share() const { return tflops / native.tflops; }
  /// Of the BF16 products alone.
  [[nodiscard]] double rate() const { return pairs * tflops * total_ms / ms; }
};
/// By n, d and plan.
using Products = std::map<std::int64_t, std::map<int, std::map<std::string, Product>>>;

struct Split {
  double ms = 0;
  double gigabytes_per_second = 0;
};

[[noreturn]] void refuse_line(const std::string& name, int line, const std::string& reason) {
  throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, reason));
}

/// The records, read one after another.
struct Reader {
  std::string name;
  std::string device;
  std::map<std::int64_t, Native> native;
  std::map<std::int64_t, Split> splits;
  Products products;

  void read(const std::string& text, int line) {
    try {
      take(nlohmann::json::parse(text), line);
    } catch (const nlohmann::json::exception& error) {
      refuse_line(name, line, error.what());
    }
  }

 private:
  void take(const nlohmann::json& json, int line) {
    const auto text_at = [&](const char* key) { return json.at(key).get<std::string>(); };
    const auto positive = [&](const char* key) {
      const double x = json.at(key).get<double>();
      if (!(x > 0)) refuse_line(name, line, fmt::format("{} = {}, must be positive", key, x));
      return x;
    };
    const std::string made = fmt::format("{}, driver {}, {}, commit {}", text_at("device"), text_at("driver"),
                                         text_at("date"), text_at("commit"));
    if (device.find(made) == std::string::npos) device += (device.empty() ? "" : "; ") + made;
    const auto n = json.at("n").get<std::int64_t>();
    if (n < 1) refuse_line(name, line, fmt::format("n = {}, must be at least 1", n));
    const std::string who = text_at("who");
    const double ms = positive("ms_median");
    if (who == "split") {
      splits[n] = {ms, positive("gigabytes_per_second")};
      return;
    }
    if (who == "cublas") {
      native[n] = {ms, positive("tflops"), positive("error"), positive("frobenius")};
      return;
    }
    constexpr std::string_view kDepth = "depth ";
    const Result<std::int64_t> depth = who.starts_with(kDepth)
                                           ? check::parse_integer(std::string_view(who).substr(kDepth.size()), 1, 13)
                                           : check::invalid("not a depth");
    if (!depth.ok()) refuse_line(name, line, fmt::format("who = {} is not known", in_quotes(who)));
    if (native.find(n) == native.end()) refuse_line(name, line, "no record of cublas of this n before it");
    if (splits.find(n) == splits.end()) refuse_line(name, line, "no record of the split of this n before it");
    products[n][static_cast<int>(depth.value())][text_at("plan")] = {json.at("pairs").get<int>(),
                                                                     ms,
                                                                     positive("total_ms"),
                                                                     positive("tflops"),
                                                                     positive("error"),
                                                                     positive("frobenius"),
                                                                     positive("from_native"),
                                                                     splits[n].ms,
                                                                     native[n]};
  }
};

std::pair<std::string, Product> fastest(const std::map<std::string, Product>& plans) {
  return *std::min_element(plans.begin(), plans.end(),
                           [](const auto& x, const auto& y) { return x.second.ms < y.second.ms; });
}

std::string number(double x) { return fmt::format("{:.2g}", x); }

StudyTable slices_table(const Reader& reader) {
  StudyTable table{"slices",
                   "FP64 products from seven BF16 slices of each operand, the pairs p + q < d; the fastest kernel of "
                   "each n and d, and "
                   "cuBLAS DGEMM of the same run. Total: two splits and the product, not the search for the largest "
                   "element. Errors of "
                   "eight columns, and the Frobenius distance from cuBLAS",
                   {"n", "d", "pairs", "split_ms", "product_ms", "bf16_tflops", "total_ms", "tflops", "of_native",
                    "largest_over_AB", "frobenius", "frobenius_from_native", "kernel"},
                   {}};
  for (const auto& [n, depths] : reader.products) {
    const Native& native = reader.native.at(n);
    table.rows.push_back({std::to_string(n), "cuBLAS", "", "", "", "", fmt::format("{:.3f}", native.ms),
                          fmt::format("{:.1f}", native.tflops), "1", number(native.error), number(native.frobenius), "",
                          ""});
    for (auto d = depths.rbegin(); d != depths.rend(); ++d) {
      const auto [plan, p] = fastest(d->second);
      table.rows.push_back({std::to_string(n), std::to_string(d->first), std::to_string(p.pairs),
                            fmt::format("{:.3f}", p.split_ms), fmt::format("{:.3f}", p.ms),
                            fmt::format("{:.0f}", p.rate()), fmt::format("{:.3f}", p.total_ms),
                            fmt::format("{:.1f}", p.tflops), fmt::format("{:.2f}", p.share()), number(p.error),
                            number(p.frobenius), number(p.from_native), plan});
    }
  }
  return table;
}

StudyTable variants_table(const Products& products) {
  StudyTable table{"slices_variants",
                   "Every kernel: pairs (all in one launch) or diagonal (one launch a diagonal), tile_m x tile_n x "
                   "tile_k x tiles along k a "
                   "step, CTAs a block, occupancy, warps; TFLOPS of the BF16 products",
                   {"n", "d", "kernel", "product_ms", "bf16_tflops"},
                   {}};
  for (const auto& [n, depths] : products) {
    for (const auto& [depth, plans] : depths) {
      for (const auto& [plan, p] : plans)
        table.rows.push_back({std::to_string(n), std::to_string(depth), plan, fmt::format("{:.3f}", p.ms),
                              fmt::format("{:.0f}", p.rate())});
    }
  }
  return table;
}

StudyFigure speed_figure(const Reader& reader) {
  StudyFigure figure{"slices_speed",
                     "FP64 products from seven BF16 slices, the fastest kernel, beside cuBLAS DGEMM",
                     "n",
                     "tflops",
                     false,
                     {}};
  constexpr const char* kData = "FP64 from BF16 slices";
  for (const auto& [n, depths] : reader.products) {
    const auto x = static_cast<double>(n);
    for (auto d = depths.rbegin(); d != depths.rend(); ++d)
      figure.points.push_back({kData, fmt::format("d = {}", d->first), x, fastest(d->second).second.tflops, 0});
    figure.points.push_back({kData, "cuBLAS", x, reader.native.at(n).tflops, 0});
  }
  return figure;
}

/// The largest n that has every d of the document.
std::int64_t judged_size(const Reader& reader) {
  for (auto size = reader.products.rbegin(); size != reader.products.rend(); ++size) {
    const auto has = [&](const Printed& x) { return size->second.find(x.depth) != size->second.end(); };
    if (std::all_of(std::begin(kPrinted), std::end(kPrinted), has)) return size->first;
  }
  throw cli::Failure(cli::ExitCode::kBadInput,
                     fmt::format("{}: no n has records of depths 9, 8, 7, 6 and 5", reader.name));
}

void judge_split(const Reader& reader, std::vector<Claim>& claims) {
  std::string found;
  for (const auto& [n, printed_ms] : kPrintedSplits) {
    const auto split = reader.splits.find(n);
    if (split == reader.splits.end()) continue;
    const double ms = 2 * split->second.ms;
    found += fmt::format("{}{:.3f} ms at n = {} (printed {:.2f})", found.empty() ? "" : ", ", ms, n, printed_ms);
  }
  if (!found.empty()) {
    claims.push_back(
        {"slices, split",
         "all slices of both operands in one pass each: 0.20, 0.24, 0.43, 1.16, 3.96 ms at n = 1024 to 16384",
         ClaimVerdict::kOtherHardware, found + ", without the search for the largest element"});
  }
  const auto& [n, split] = *reader.splits.rbegin();
  const double ratio = kH200GigabytesPerSecond / split.gigabytes_per_second;
  claims.push_back(
      {"aim, split", "within 1.5 times of its memory floor", reproduced_if(ratio <= 1.5),
       fmt::format("{:.2f} times the bytes over {:.1f} TB/s at n = {}", ratio, kH200GigabytesPerSecond * 1e-3, n)});
}

void judge_speed(const Reader& reader, std::int64_t n, std::vector<Claim>& claims) {
  for (const Printed& printed : kPrinted) {
    const Product p = fastest(reader.products.at(n).at(printed.depth)).second;
    claims.push_back(
        {"slices, speed",
         fmt::format("d = {}: {:g} times native FP64 ({:g} TFLOPS on a B200)", printed.depth, printed.share,
                     printed.tflops),
         ClaimVerdict::kOtherHardware,
         fmt::format("{:.2f} times at n = {}: {:.1f} TFLOPS, cuBLAS {:.1f}", p.share(), n, p.tflops, p.native.tflops)});
  }
}

void judge_errors(const Reader& reader, std::int64_t n, std::vector<Claim>& claims) {
  const auto& depths = reader.products.at(n);
  for (const Printed& printed : kPrinted) {
    const Product p = fastest(depths.at(printed.depth)).second;
    claims.push_back({"slices, error",
                      fmt::format("d = {}: {:.3g} from native FP64 (Frobenius)", printed.depth, printed.error),
                      as_accurate(p.from_native, printed.error),
                      fmt::format("{:.2g}, and {:.2g} from the exact product, native {:.2g}, n = {}", p.from_native,
                                  p.frobenius, p.native.frobenius, n)});
  }
  const Product seven = fastest(depths.at(7)).second;
  claims.push_back(
      {"aim, error", "d = 7 at the level of FP64", as_accurate(seven.frobenius, seven.native.frobenius),
       fmt::format("{:.2g}, native {:.2g} (Frobenius, n = {})", seven.frobenius, seven.native.frobenius, n)});
  for (const auto& [depth, aim] : {std::pair(6, 1e-13), std::pair(5, 1e-10)}) {
    const Product p = fastest(depths.at(depth)).second;
    claims.push_back({"aim, error", fmt::format("d = {} at most {:g}", depth, aim),
                      p.frobenius < 0.5 * aim ? ClaimVerdict::kSurpassed : reproduced_if(p.frobenius <= aim),
                      fmt::format("{:.2g} (Frobenius, n = {})", p.frobenius, n)});
  }
}

/// Against kernels of bench_gpu_tile: the language's FP64 product, and the rate of one BF16 product.
void judge_against_gemm(const Reader& reader, std::int64_t n, const TileStudy& gemm, std::vector<Claim>& claims) {
  const auto [plan, nine] = fastest(reader.products.at(n).at(9));
  if (const auto f64 = gemm.fastest.find({"f64", n}); f64 != gemm.fastest.end()) {
    const double ratio = nine.tflops / f64->second;
    claims.push_back(
        {"slices, speed", "d = 9: 24 times the mma of FP64 in the same language (26.8 and 1.1 TFLOPS)",
         ClaimVerdict::kOtherHardware,
         fmt::format("{:.1f} times: {:.1f} and {:.1f} TFLOPS, n = {}", ratio, nine.tflops, f64->second, n)});
  }
  if (const auto bf16 = gemm.fastest.find({"bf16", n}); bf16 != gemm.fastest.end()) {
    const double share = nine.rate() / bf16->second;
    claims.push_back(
        {"slices, product",
         fmt::format("d = 9: 39 products in one kernel at {:.0f} % of the rate of one (printed: 323.1 ms at n = 16384 "
                     "and 1357 TFLOPS)",
                     100 * kPrintedShareOfRate),
         ClaimVerdict::kOtherHardware, fmt::format("{:.0f} %, {:.1f} ms, n = {}", 100 * share, nine.ms, n)});
    claims.push_back({"aim, speed", "d = 9: at least 85 % of the rate of one BF16 product",
                      share > 1.05 * 0.85 ? ClaimVerdict::kSurpassed : reproduced_if(share >= 0.85),
                      fmt::format("{:.0f} %: {:.0f} TFLOPS of {:.0f}, n = {}, {}", 100 * share, nine.rate(),
                                  bf16->second, n, plan)});
  }
}

/// Kernels of the document's form, all pairs in one launch, by tiles.
void judge_tiles(const Products& products, std::vector<Claim>& claims) {
  for (auto size = products.rbegin(); size != products.rend(); ++size) {
    const auto nine = size->second.find(9);
    if (nine == size->second.end()) continue;
    std::map<std::string, double> rates;
    for (const auto& [plan, p] : nine->second) {
      if (plan.starts_with("pairs")) rates[plan] = p.rate();
    }
    if (rates.size() < 2) continue;
    const auto [slowest, best] = std::minmax_element(rates.begin(), rates.end(),
                                                     [](const auto& x, const auto& y) { return x.second < y.second; });
    claims.push_back({"slices, tiles", "the sizes of tiles have no effect",
                      reproduced_if(best->second < 1.05 * slowest->second),
                      fmt::format("{:.0f} ({}) to {:.0f} TFLOPS ({}) of BF16, d = 9, n = {}", slowest->second,
                                  slowest->first, best->second, best->first, size->first)});
    return;
  }
}

void read_lines(std::istream& records, Reader& reader) {
  std::string text;
  for (int line = 1; std::getline(records, text); ++line) {
    if (!text.empty()) reader.read(text, line);
  }
  if (records.bad()) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be read", reader.name));
}

}  // namespace

TileSlicesStudy study_tile_slices(std::istream& records, const std::string& name, const TileStudy* gemm) {
  Reader reader;
  reader.name = name;
  read_lines(records, reader);
  const std::int64_t n = judged_size(reader);
  TileSlicesStudy study;
  study.device = reader.device;
  study.slices = slices_table(reader);
  study.variants = variants_table(reader.products);
  study.speed = speed_figure(reader);
  judge_split(reader, study.claims);
  judge_speed(reader, n, study.claims);
  if (gemm != nullptr) judge_against_gemm(reader, n, *gemm, study.claims);
  judge_errors(reader, n, study.claims);
  judge_tiles(reader.products, study.claims);
  return study;
}

TileSpreadStudy study_tile_spread(std::istream& records, const std::string& name) {
  constexpr std::string_view kSpread = "spread_";
  constexpr double kEffect = 1.05;
  Reader reader;
  reader.name = name;
  read_lines(records, reader);
  TileSpreadStudy study;
  study.spread = {"spread",
                  fmt::format("FP64 products from seven BF16 slices, the pairs of a tile of C spread over p CTAs and "
                              "their sums added, beside one CTA a tile ({})",
                              reader.device),
                  {"n", "d", "kernel", "product_ms", "ms_of_one_cta", "times_as_fast"},
                  {}};
  std::string found;
  bool has_effect = false;
  for (const auto& [n, depths] : reader.products) {
    double best = 0;
    for (const auto& [depth, plans] : depths) {
      for (const auto& [plan, p] : plans) {
        if (!plan.starts_with(kSpread)) continue;
        // spread_T_pN is pairs_T by N CTAs a tile.
        const auto alone = plans.find("pairs_" + plan.substr(kSpread.size(), plan.rfind("_p") - kSpread.size()));
        if (alone == plans.end()) continue;
        const double ratio = alone->second.ms / p.ms;
        best = std::max(best, ratio);
        study.spread.rows.push_back({std::to_string(n), std::to_string(depth), plan, fmt::format("{:.3f}", p.ms),
                                     fmt::format("{:.3f}", alone->second.ms), fmt::format("{:.2f}", ratio)});
      }
    }
    if (best == 0) continue;
    has_effect = has_effect || best > kEffect;
    found += fmt::format("{}{:.2f} times as fast at n = {}", found.empty() ? "at best " : ", ", best, n);
  }
  if (found.empty())
    throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: no kernel is recorded spread and not", name));
  study.claims.push_back({"slices, CTAs", "spreading the loop over pairs of slices over CTAs has no effect",
                          reproduced_if(!has_effect), fmt::format("{} ({})", found, reader.device)});
  return study;
}

}  // namespace kizami::study
