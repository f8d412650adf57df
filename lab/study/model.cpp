// SPDX-License-Identifier: MIT
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace kizami::study {
namespace {

using model::Way;

// ---- rows and their summaries -----------------------------------------------------------------------------------------

[[nodiscard]] std::string extents_of(const ModelRow& row) {
  return row.m == row.n && row.n == row.k ? fmt::format("{}", row.n) : fmt::format("{}x{}x{}", row.m, row.n, row.k);
}

[[nodiscard]] StudyTable table_of(const std::string& name, const std::string& caption,
                                  const std::vector<ModelRow>& rows) {
  StudyTable table{name,
                   caption,
                   {"kind", "card", "release", "type", "way", "n", "phase", "predicted_ms", "measured_ms", "ratio"},
                   {}};
  for (const ModelRow& row : rows) {
    table.rows.push_back({std::string(1, letter_of(row.kind)), row.card, row.release, row.type, row.way,
                          extents_of(row), row.phase, fmt::format("{:.4g}", row.predicted_ms),
                          fmt::format("{:.4g}", row.measured_ms), fmt::format("{:.2f}", row.ratio())});
  }
  return table;
}

/// |ratio - 1| over rows.
struct Spread {
  std::vector<double> errors;
  const ModelRow* worst_row = nullptr;

  void add(const ModelRow& row) {
    const double error = std::abs(row.ratio() - 1);
    if (errors.empty() || error > worst()) worst_row = &row;
    errors.push_back(error);
  }
  [[nodiscard]] double worst() const { return *std::ranges::max_element(errors); }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = errors;
    std::ranges::sort(sorted);
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
};

/// One spread for each key, of rows from some extent on.
template <class Key>
[[nodiscard]] auto spreads_of(const std::vector<ModelRow>& rows, std::int64_t from, const Key& key) {
  std::map<decltype(key(rows.front())), Spread> out;
  for (const ModelRow& row : rows) {
    if (row.least() >= from) out[key(row)].add(row);
  }
  return out;
}

[[nodiscard]] std::string percent(double x) { return fmt::format("{:.0f} %", 100 * x); }

[[nodiscard]] std::vector<std::string> cells_of(const Spread& spread) {
  return {fmt::format("{}", spread.errors.size()), percent(spread.median()), percent(spread.worst()),
          fmt::format("{:.2f} ({})", spread.worst_row->ratio(), extents_of(*spread.worst_row))};
}

[[nodiscard]] StudyTable summary_of(const std::string& name, const std::string& caption,
                                    const std::vector<ModelRow>& rows, std::int64_t from) {
  StudyTable table{
      name, caption, {"kind", "card", "type", "way", "phase", "rows", "median", "worst", "worst ratio"}, {}};
  const auto spreads = spreads_of(rows, from, [](const ModelRow& row) {
    const int order = row.phase == "total" ? 0 : 1;
    return std::tuple(row.kind, row.card, row.type, row.way, order, row.phase);
  });
  for (const auto& [key, spread] : spreads) {
    std::vector<std::string> line = {std::string(1, letter_of(std::get<0>(key))), std::get<1>(key), std::get<2>(key),
                                     std::get<3>(key), std::get<5>(key)};
    for (std::string& cell : cells_of(spread)) line.push_back(std::move(cell));
    table.rows.push_back(std::move(line));
  }
  return table;
}

// ---- claims -----------------------------------------------------------------------------------------------------------

void judge_gemmul8(const std::vector<ModelRow>& published, std::vector<Claim>& claims) {
  std::vector<ModelRow> totals;
  for (const ModelRow& row : published) {
    if (row.way == "GEMMul8 int8 fast, 14 moduli" && row.type == "d" && row.phase == "total") totals.push_back(row);
  }
  const auto spreads = spreads_of(totals, 4096, [](const ModelRow& row) { return std::pair(row.kind, row.card); });
  for (const auto& [key, spread] : spreads) {
    const auto& [kind, card] = key;
    if (kind == RowKind::kFit) continue;  // proves nothing
    const double goal = kind == RowKind::kCalibrated ? 0.15 : 0.25;
    claims.push_back({fmt::format("aim, kind {}", letter_of(kind)),
                      fmt::format("GEMMul8 INT8, 14 moduli, on {} from n = 4096 within {}", card, percent(goal)),
                      reproduced_if(spread.worst() <= goal),
                      fmt::format("median {}, worst {} (predicted/measured {:.2f} at n = {})", percent(spread.median()),
                                  percent(spread.worst()), spread.worst_row->ratio(), spread.worst_row->n)});
  }
}

void judge_own(const std::vector<ModelRow>& own, std::vector<Claim>& claims) {
  std::map<std::string, Spread> of_group;
  for (const ModelRow& row : own) {
    if (row.kind == RowKind::kFit || row.phase != "total") continue;
    const std::string scheme = row.way.starts_with("ozaki2, kizami") ? "ozaki2, engine hopper"
                               : row.way.starts_with("ozaki2")       ? "ozaki2, engine cublaslt"
                               : row.way.starts_with("ozaki1")       ? "slices"
                               : row.way.starts_with("native")       ? "native"
                               : row.way.starts_with("ec")           ? "ec"
                                                                     : row.way;
    of_group[scheme].add(row);
  }
  for (const auto& [scheme, spread] : of_group) {
    const auto within = std::ranges::count_if(spread.errors, [](double error) { return error <= 0.15; });
    claims.push_back(
        {fmt::format("aim, kind {}", letter_of(spread.worst_row->kind)),
         fmt::format("Kizami on an H200, {}: all calls that nothing was fitted to within 15 %", scheme),
         reproduced_if(spread.worst() <= 0.15),
         fmt::format("{} of {} within 15 %, median {}, worst {} (predicted/measured {:.2f}: {}, {}, {})", within,
                     spread.errors.size(), percent(spread.median()), percent(spread.worst()), spread.worst_row->ratio(),
                     spread.worst_row->type, spread.worst_row->way, extents_of(*spread.worst_row))});
  }
}

[[nodiscard]] model::Request square(Way way, std::int64_t n, Scalar scalar, std::optional<model::ProgramName> program) {
  model::Request request;
  request.scalar = scalar;
  request.m = request.n = request.k = n;
  request.way = way;
  request.program = program;
  request.basis = model::Basis::kSheet;
  return request;
}

[[nodiscard]] model::Prediction predicted(const std::string& card, const model::Request& request) {
  return model::predict(*model::find_device(card), request).value();  // of names and extents that stand here
}

[[nodiscard]] double tflops_of_document(const std::string& card, Way way, std::int64_t n,
                                        Scalar scalar = Scalar::kF64) {
  return predicted(card, square(way, n, scalar, model::ProgramName::kDocuments)).tflops;
}
[[nodiscard]] double tflops_of_native(const std::string& card, std::int64_t n, Scalar scalar = Scalar::kF64) {
  return predicted(card, square(Way::kNative, n, scalar, std::nullopt)).tflops;
}

constexpr std::int64_t kFirst = 256;
constexpr std::int64_t kLast = 32768;

/// The first n from which on `is_faster` holds for all; 0: none.
template <class IsFaster>
[[nodiscard]] std::int64_t from_where(const IsFaster& is_faster) {
  std::int64_t first = 0;
  for (std::int64_t n = kFirst; n <= kLast; n *= 2) first = !is_faster(n) ? 0 : first == 0 ? n : first;
  return first;
}

/// Measured TFLOPS by n of a way on a card.
[[nodiscard]] std::map<std::int64_t, double> measured_tflops(const std::vector<ModelRow>& rows, const std::string& card,
                                                             const std::string& type, const std::string& way) {
  std::map<std::int64_t, double> out;
  for (const ModelRow& row : rows) {
    if (row.card != card || row.type != type || row.way != way || row.phase != "total") continue;
    const auto n = static_cast<double>(row.n);
    out[row.n] = (type == "z" || type == "c" ? 8 : 2) * n * n * n / row.measured_ms * 1e-9;
  }
  return out;
}

constexpr const char* kCublasSlices = "cuBLAS, 7 slices, as ef_s";

void judge_document(const std::vector<ModelRow>& published, std::vector<Claim>& claims) {
  const auto overtakes = [](const std::string& card, Scalar scalar) {
    return from_where([&](std::int64_t n) {
      return tflops_of_document(card, Way::kEfS, n, scalar) >= tflops_of_native(card, n, scalar);
    });
  };
  const std::int64_t blackwell = overtakes("gb200", Scalar::kF64);
  const auto cublas = measured_tflops(published, "gb200", "d", kCublasSlices);
  const auto native = measured_tflops(published, "gb200", "d", "native");
  std::string measured;
  for (const auto& [n, tflops] : cublas) {
    if (native.contains(n))
      measured += fmt::format("{}{:.1f} beside {:.1f} (n = {})", measured.empty() ? "" : ", ", tflops, native.at(n), n);
  }
  claims.push_back(
      {"thesis, section 5", "on Grace Blackwell EF_S reaches the performance of DGEMM or more (7 slices)",
       reproduced_if(blackwell > 0),
       fmt::format(
           "predicted from n = {} on, at n = 16384 {:.1f} TFLOPS beside {:.1f}; measured of cuBLAS's slices, which are "
           "not EF_S: {}",
           blackwell, tflops_of_document("gb200", Way::kEfS, 16384), tflops_of_native("gb200", 16384),
           measured.empty() ? "nothing" : measured)});
  const std::int64_t hopper = overtakes("gh200", Scalar::kF64);
  claims.push_back(
      {"model", "on GH200 slices stay behind DGEMM, as cuBLAS's were measured (7 slices)", reproduced_if(hopper == 0),
       hopper > 0 ? fmt::format("EF_S is predicted ahead from n = {} on", hopper)
                  : fmt::format("predicted at n = 8192: {:.1f} TFLOPS beside {:.1f}",
                                tflops_of_document("gh200", Way::kEfS, 8192), tflops_of_native("gh200", 8192))});
  const std::int64_t complex = overtakes("gh200", Scalar::kC128);
  claims.push_back({"thesis, figure 2", "on GH200 ZGEMM is overtaken at n = 8192", reproduced_if(complex == 8192),
                    complex > 0 ? fmt::format("predicted from n = {} on", complex) : "predicted at no n up to 32768"});
  struct Best {
    double ratio = 0;
    std::int64_t n = 0;
  };
  const auto best = [](Way way, std::int64_t first, std::int64_t last) {
    Best out;
    for (std::int64_t n = first; n <= last; n *= 2) {
      const double ratio = tflops_of_document("gh200", way, n) / tflops_of_document("gh200", Way::kEf, n);
      if (ratio > out.ratio) out = {ratio, n};
    }
    return out;
  };
  const Best small = best(Way::kEfS, 256, 2048);
  claims.push_back({"thesis, figure 1", "EF_S is up to 2.2 times as fast as EF for small matrices",
                    reproduced_if(std::abs(small.ratio / 2.2 - 1) <= 0.15),
                    fmt::format("predicted {:.2f} times, n = {}", small.ratio, small.n)});
  const Best large = best(Way::kEfL, 8192, 32768);
  claims.push_back({"thesis, figure 1", "EF_L is up to 1.7 times as fast as EF for large matrices",
                    reproduced_if(std::abs(large.ratio / 1.7 - 1) <= 0.15),
                    fmt::format("predicted {:.2f} times, n = {}", large.ratio, large.n)});
}

// ---- figures ----------------------------------------------------------------------------------------------------------

[[nodiscard]] StudyFigure claim_figure(const std::vector<ModelRow>& published) {
  StudyFigure figure{"claim", "FP64 products by 7 slices and by DGEMM, predicted from sheets, and what was measured",
                     "n",     "tflops",
                     false,   {}};
  for (const std::string card : {"gh200", "gb200"}) {
    for (std::int64_t n = kFirst; n <= kLast; n *= 2) {
      const auto x = static_cast<double>(n);
      for (const Way way : {Way::kOzimmu, Way::kEf, Way::kEfS, Way::kEfL})
        figure.points.push_back({card, std::string(kizami::to_string(way)), x, tflops_of_document(card, way, n), 0});
      figure.points.push_back({card, "native", x, tflops_of_native(card, n), 0});
    }
    for (const auto& [way, name] :
         {std::pair(kCublasSlices, "cuBLAS slices, measured"), std::pair("native", "native, measured")}) {
      for (const auto& [n, tflops] : measured_tflops(published, card, "d", way))
        figure.points.push_back({card, name, static_cast<double>(n), tflops, 0});
    }
  }
  return figure;
}

/// The roofline picture: TFLOPS over flops a byte of A, B and C; for each number of planes the prediction, and the two roofs
/// that make it, products alone and data handling alone.
[[nodiscard]] StudyFigure roofline(const std::string& name, const std::string& caption, const std::vector<int>& counts,
                                   const auto& request_of) {
  StudyFigure figure{name, caption, "flops_per_byte", "tflops", false, {}};
  for (const std::string card : {"h200", "gb200", "rtx5090"}) {
    for (std::int64_t n = kFirst; n <= kLast; n *= 2) {
      const double x = static_cast<double>(n) / 12;  // 2 n^3 / (3 * 8 n^2)
      figure.points.push_back({card, "native", x, tflops_of_native(card, n), 0});
      for (const int count : counts) {
        const model::Prediction p = predicted(card, request_of(n, count));
        const double data = p.seconds_of(model::Part::kDataHandling);
        figure.points.push_back({card, fmt::format("{}", count), x, p.tflops, 0});
        figure.points.push_back({card, fmt::format("{}, products alone", count), x, p.bound_tflops, 0});
        figure.points.push_back({card, fmt::format("{}, data alone", count), x, p.tflops * p.seconds / data, 0});
      }
    }
  }
  return figure;
}

}  // namespace

ModelStudy study_model(const std::vector<ModelRow>& published, const std::vector<ModelRow>& own) {
  ModelStudy study;
  constexpr std::int64_t kReported = 2048;
  study.summaries.push_back(summary_of("published_summary",
                                       "|predicted / measured - 1| of what others measured, from n = 2048 on",
                                       published, kReported));
  study.rows.push_back(table_of("published_rows", "What others measured", published));
  if (!own.empty()) {
    study.summaries.push_back(
        summary_of("h200_summary", "The same of Kizami's own records of an H200, all extents", own, 0));
    study.rows.push_back(table_of("h200_rows", "Kizami's own records of an H200", own));
  }
  judge_document(published, study.claims);
  judge_gemmul8(published, study.claims);
  judge_own(own, study.claims);
  study.figures.push_back(claim_figure(published));
  study.figures.push_back(roofline("roofline_slices", "FP64 products by slices, EF_S: the roofline extended by slices",
                                   {3, 5, 7, 9}, [](std::int64_t n, int slices) {
                                     model::Request request =
                                         square(Way::kEfS, n, Scalar::kF64, model::ProgramName::kDocuments);
                                     request.slices = slices;
                                     return request;
                                   }));
  study.figures.push_back(roofline("roofline_moduli", "FP64 products by residues: the roofline extended by moduli",
                                   {8, 14, 20}, [](std::int64_t n, int moduli) {
                                     model::Request request = square(Way::kOzaki2, n, Scalar::kF64, std::nullopt);
                                     request.moduli = moduli;
                                     return request;
                                   }));
  return study;
}

}  // namespace kizami::study
