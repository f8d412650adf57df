// SPDX-License-Identifier: MIT
// Figures of speed from JSON lines of bench_gpu_slices and bench_gpu_gemm, and the claims about slices of INT8.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "ozaki.hpp"
#include "ozaki_records.hpp"

namespace kizami::study {
namespace {

/// A line of a figure: the words of a way before and behind its engine (hopper has no word of its own), and its name
/// there.
struct Series {
  const char* words;
  const char* last;
  const char* name;
};
constexpr Series kReal[] = {{"rounded", "", "ozIMMU"},
                            {"pairs", "", "pairs, one exact sum"},
                            {"grouped", "", "ozIMMU_EF"},
                            {"concatenated", "", "ozIMMU_EF_S"},
                            {"blocked", "", "ozIMMU_EF_L"}};
constexpr Series kComplex[] = {{"karatsuba", "", "C_K_S"},
                               {"enlarged", "", "C_E_S"},
                               {"full", "", "C_E_S, full 2 x 2"},
                               {"four", "", "four products"}};

/// The speed of another way of the same type and n, of native that in the same run; 0: there is none.
double beside(const OzakiRecords& records, const OzakiRecord& record, const std::string& way) {
  if (way == "native") return record.native_tflops;
  const OzakiRecord* const other = records.find(record.type, way, record.n);
  return other == nullptr ? 0 : other->tflops;
}

/// The largest ratio of two ways over sizes, and where. n = 0: no size has both.
struct BestRatio {
  double ratio = 0;
  std::int64_t n = 0;
};
BestRatio best_ratio(const OzakiRecords& records, char type, const std::string& way, const std::string& to,
                     std::int64_t from, std::int64_t last) {
  BestRatio best;
  for (const OzakiRecord* record :
       records.where([&](const OzakiRecord& x) { return x.type == type && x.who == way; })) {
    const double other = beside(records, *record, to);
    if (record->n < from || record->n > last || other == 0) continue;
    const double ratio = record->tflops / other;
    if (ratio > best.ratio) best = {ratio, record->n};
  }
  return best;
}

Claim claim_of_ratio(const std::string& place, const std::string& statement, const BestRatio& best, double printed) {
  return {place, statement,
          best.ratio > 1.1 * printed ? ClaimVerdict::kSurpassed : reproduced_if(best.ratio >= printed),
          fmt::format("at most {:.2f} times (n = {})", best.ratio, best.n)};
}

/// The first n from which on one way is faster than another, 0 if it never is.
std::int64_t crossover(const OzakiRecords& records, char type, const std::string& way, const std::string& than) {
  std::int64_t first = 0;
  for (const OzakiRecord* record :
       records.where([&](const OzakiRecord& x) { return x.type == type && x.who == way; })) {
    const double other = beside(records, *record, than);
    if (other == 0) continue;
    if (record->tflops <= other) {
      first = 0;
    } else if (first == 0) {
      first = record->n;
    }
  }
  return first;
}

/// EF_L with whatever blocks and streams.
[[nodiscard]] bool is_blocked(const OzakiRecord& record, const std::string& engine) {
  const std::string way = "ozaki1/7/truncated/blocked" + engine;
  if (record.type != 'd' || !record.who.starts_with(way)) return false;
  const std::string rest = record.who.substr(way.size());
  return rest.empty() || rest.starts_with("/block") || rest.starts_with("/streams");
}

void judge_blocked(const OzakiRecords& records, const std::string& engine, const std::string& on,
                   std::vector<Claim>& claims) {
  BestRatio best;
  std::string way;
  for (const OzakiRecord* record : records.where([&](const OzakiRecord& x) { return is_blocked(x, engine); })) {
    const BestRatio large =
        best_ratio(records, 'd', record->who, "ozaki1/7/truncated/grouped" + engine, 1 << 13, 1 << 15);
    if (large.ratio <= best.ratio) continue;
    best = large;
    way = record->who;
  }
  if (best.n == 0) return;
  Claim claim =
      claim_of_ratio("thesis, figure 1" + on, "EF_L is up to 1.7 times as fast as EF for large matrices", best, 1.7);
  claim.found += ", " + way;
  claims.push_back(claim);
}

/// EF beside ozIMMU as equation 3 has it, and beside products that are added in one exact sum.
void judge_grouped(const OzakiRecords& records, const std::string& engine, const std::string& on,
                   std::vector<Claim>& claims) {
  struct Aim {
    const char* other;
    const char* name;
    std::int64_t n;
    double ratio;
  };
  constexpr Aim kAims[] = {{"rounded", "ozIMMU", 4096, 1.3},
                           {"rounded", "ozIMMU", 8192, 1.15},
                           {"pairs", "pairs with one exact sum", 4096, 1.0},
                           {"pairs", "pairs with one exact sum", 8192, 1.0}};
  for (const Aim& aim : kAims) {
    const BestRatio found = best_ratio(records, 'd', "ozaki1/7/truncated/grouped" + engine,
                                       fmt::format("ozaki1/7/truncated/{}{}", aim.other, engine), aim.n, aim.n);
    if (found.n == 0) continue;
    claims.push_back({"aim" + on, fmt::format("EF is {} times as fast as {} at n = {}", aim.ratio, aim.name, aim.n),
                      reproduced_if(found.ratio >= aim.ratio), fmt::format("{:.2f} times", found.ratio)});
  }
}

void judge_engine(const OzakiRecords& records, const std::string& engine, std::vector<Claim>& claims) {
  const auto way = [&](const char* words) { return "ozaki1/7" + std::string(words) + engine; };
  const std::string on = engine.empty() ? " (hopper)" : " (cublaslt)";
  const std::string ef = way("/truncated/grouped");
  const BestRatio small = best_ratio(records, 'd', way("/truncated/concatenated"), ef, 1 << 8, 1 << 11);
  if (small.n > 0) {
    claims.push_back(claim_of_ratio("thesis, figure 1" + on, "EF_S is up to 2.2 times as fast as EF for small matrices",
                                    small, 2.2));
  }
  judge_blocked(records, engine, on, claims);
  judge_grouped(records, engine, on, claims);
  const std::string karatsuba = way("/truncated/karatsuba");
  const std::string enlarged = way("/truncated/enlarged");
  if (best_ratio(records, 'z', karatsuba, enlarged, 1, 1 << 20).n == 0) return;
  const std::int64_t from = crossover(records, 'z', karatsuba, enlarged);
  const BestRatio full = best_ratio(records, 'z', way("/truncated/full"), enlarged, 1, 1 << 20);
  const BestRatio least = best_ratio(records, 'z', enlarged, karatsuba, 1, from > 0 ? from - 1 : 1 << 20);
  claims.push_back({"thesis, figure 2" + on, "the enlarged matrix is faster for small, Karatsuba for large matrices",
                    reproduced_if(from > 0 && least.ratio > 1),
                    (from == 0 ? "Karatsuba is never faster from some n on"
                               : fmt::format("Karatsuba from n = {} on; below, the enlarged matrix up to {:.2f} times "
                                             "as fast",
                                             from, least.ratio)) +
                        (full.n == 0 ? ""
                                     : fmt::format("; the full 2 x 2, written to memory, at most {:.2f} times as fast "
                                                   "as one column of it (n = {})",
                                                   full.ratio, full.n))});
  const std::int64_t overtakes = crossover(records, 'z', karatsuba, "native");
  claims.push_back({"thesis, figure 2" + on, "ZGEMM is overtaken from n = 8192 on",
                    overtakes > 0 && overtakes < 8192 ? ClaimVerdict::kSurpassed : reproduced_if(overtakes == 8192),
                    overtakes > 0 ? fmt::format("by Karatsuba from n = {} on", overtakes) : "not by Karatsuba"});
}

void judge_aims(const OzakiRecords& records, std::vector<Claim>& claims) {
  struct Aim {
    int slices;
    std::int64_t n;
    double tflops;
  };
  for (const Aim& aim : {Aim{7, 8192, 45}, {3, 8192, 185}, {4, 8192, 118}, {7, 1024, 27}}) {
    const OzakiRecord* const found = records.find('d', fmt::format("ozaki1/{}", aim.slices), aim.n);
    if (found == nullptr) continue;
    claims.push_back({"aim", fmt::format("{} slices reach {} TFLOPS at n = {}", aim.slices, aim.tflops, aim.n),
                      reproduced_if(found->tflops >= aim.tflops),
                      fmt::format("{:.1f} TFLOPS, native {:.1f} in the same run, error {:.2g} of abs(A) abs(B)",
                                  found->tflops, found->native_tflops, found->from_exact.entry)});
  }
}

}  // namespace

void add_ozaki_device(std::istream& lines, const std::string& name, OzakiStudy& study) {
  const OzakiRecords records(lines, name);
  study.device = records.device;
  const auto add_figure = [&](const std::string& figure_name, const std::string& caption, char type,
                              const auto& series) {
    StudyFigure figure{figure_name, caption, "n", "tflops", false, {}};
    for (const std::string engine : {"", "/cublaslt"}) {
      const std::string data = engine.empty() ? "hopper" : "cublaslt";
      for (const Series& s : series) {
        const std::string who = fmt::format("ozaki1/7/truncated/{}{}{}", s.words, engine, s.last);
        for (const OzakiRecord* record :
             records.where([&](const OzakiRecord& x) { return x.type == type && x.who == who; })) {
          const auto n = static_cast<double>(record->n);
          figure.points.push_back({data, s.name, n, record->tflops, 0});
          if (record->native_tflops > 0 && !figure.at(data, "native", n))
            figure.points.push_back({data, "native", n, record->native_tflops, 0});
        }
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
  for (const auto& [key, record] : records.all) {
    const double share = record.of_native();
    speed.rows.push_back({std::string(1, record.type), std::to_string(record.n), record.who,
                          fmt::format("{:.1f}", record.tflops), share == 0 ? "" : fmt::format("{:.2f}", share),
                          fmt::format("{:.2g}", record.from_exact.entry)});
  }
  study.tables.push_back(speed);
  add_floating_device(records, study);
  for (const std::string engine : {"", "/cublaslt"}) judge_engine(records, engine, study.claims);
  judge_aims(records, study.claims);
}

}  // namespace kizami::study
