// SPDX-License-Identifier: MIT
// Floating slices on a device: the report's tables with its own figures beside ours, and its claims.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ozaki.hpp"
#include "ozaki_printed.hpp"
#include "ozaki_records.hpp"
#include "tile_slices.hpp"

namespace kizami::study {
namespace {

const PrintedProduct* printed_for(const OzakiRecord& record) {
  return printed_of(record.format, record.is_until_zero() ? 0 : record.diagonals(), record.n);
}

/// The engine whose figures are judged.
constexpr const char* kJudged = "hopper";
/// The share of the rate of one product that many of them are to have.
constexpr double kAimOfRate = 0.85;
/// The split's time over the bytes that it must move.
constexpr double kAimOfFloor = 1.5;

std::string number(double x) { return x < 0 ? "" : fmt::format("{:.3g}", x); }
std::string milliseconds(double ms) { return ms <= 0 ? "" : fmt::format("{:.4g}", ms); }

/// The report's digits: of so few bits that all of k sums exactly in FP32.
[[nodiscard]] bool has_report_digits(const OzakiRecord& record) {
  return record.has(fmt::format("b{}", record.digit_bits));
}
[[nodiscard]] bool is_fused(const OzakiRecord& record) {
  return record.is_floating() && ((record.format == "bf16" && record.slices == 7 && record.diagonals() == 9) ||
                                  (record.format == "e4m3" && record.slices == 14 && record.diagonals() == 16));
}
[[nodiscard]] bool is_sweep(const OzakiRecord& record) {
  return record.is_floating() && record.format == "bf16" && record.has("7") && record.scale == "matrix" &&
         record.diagonals() >= 5 && record.diagonals() <= 9;
}

StudyTable table_of(const OzakiRecords& records, const std::string& name, const std::string& caption,
                    const std::function<bool(const OzakiRecord&)>& is_wanted) {
  StudyTable table{name, caption, {}, {}};
  table.columns = {"n",
                   "engine",
                   "format",
                   "digit_bits",
                   "scale",
                   "slices",
                   "d",
                   "products",
                   "split_ms",
                   "product_ms",
                   "sums_ms",
                   "total_ms",
                   "tflops",
                   "of_native",
                   "frobenius",
                   "largest_element",
                   "largest_over_AB",
                   "frobenius_from_native",
                   "largest_element_from_native",
                   "largest_over_AB_from_native",
                   "bound",
                   "printed_slices",
                   "printed_products",
                   "printed_split_ms",
                   "printed_product_ms",
                   "printed_total_ms",
                   "printed_tflops",
                   "printed_error"};
  for (const OzakiRecord* r : records.where(is_wanted)) {
    const double share = r->of_native();
    std::vector<std::string> row = {std::to_string(r->n),
                                    r->engine,
                                    r->format,
                                    std::to_string(r->digit_bits),
                                    r->scale,
                                    std::to_string(r->slices),
                                    r->is_until_zero() ? "all" : std::to_string(r->diagonals()),
                                    std::to_string(r->products),
                                    milliseconds(r->split_ms),
                                    milliseconds(r->product_ms),
                                    milliseconds(r->sums_ms),
                                    milliseconds(r->ms),
                                    fmt::format("{:.2f}", r->tflops),
                                    share == 0 ? "" : fmt::format("{:.2f}", share)};
    for (const OzakiErrors* errors : {&r->from_exact, &r->from_native}) {
      for (const double x : {errors->frobenius, errors->element, errors->entry}) row.push_back(number(x));
    }
    row.push_back(number(r->bound));
    if (const PrintedProduct* const p = printed_for(*r)) {
      for (const std::string& field :
           {std::string(p->slices), std::to_string(p->products), milliseconds(p->split_ms), milliseconds(p->product_ms),
            milliseconds(p->total_ms), fmt::format("{:.2f}", p->tflops), number(p->error)})
        row.push_back(field);
    }
    row.resize(table.columns.size());
    table.rows.push_back(row);
  }
  return table;
}

/// Speed over n of what the report's tables hold, and of all d.
void add_figures(const OzakiRecords& records, OzakiStudy& study) {
  StudyFigure speed{
      "figure_floating", "FP64 products from floating slices, one scale a matrix", "n", "tflops", false, {}};
  StudyFigure sweep{"figure_diagonals", "Seven BF16 slices, products of slices i + j < d", "d", "tflops", false, {}};
  const std::vector<const OzakiRecord*> floating =
      records.where([](const OzakiRecord& r) { return r.is_floating() && r.scale == "matrix"; });
  const auto add = [](StudyFigure& figure, const std::string& data, const std::string& series, double x, double y) {
    if (!figure.at(data, series, x)) figure.points.push_back({data, series, x, y, 0});
  };
  for (const OzakiRecord* r : floating) {
    const auto n = static_cast<double>(r->n);
    if (r->is_until_zero()) {
      add(speed, r->engine, r->format + " until nothing is left" + (has_report_digits(*r) ? ", digits by k" : ""), n,
          r->tflops);
    } else if (is_fused(*r)) {
      add(speed, r->engine, fmt::format("{} {} slices, d = {}", r->format, r->slices, r->diagonals()), n, r->tflops);
    } else {
      continue;
    }
    if (r->native_tflops > 0) add(speed, r->engine, "native", n, r->native_tflops);
  }
  for (const OzakiRecord* r : floating) {
    if (!is_sweep(*r) || r->n != floating.back()->n) continue;
    add(sweep, r->engine, fmt::format("n = {}", r->n), r->diagonals(), r->tflops);
    if (r->native_tflops > 0) add(sweep, r->engine, "native", r->diagonals(), r->native_tflops);
    if (const PrintedProduct* const p = printed_for(*r))
      add(sweep, r->engine, "printed (B200)", r->diagonals(), p->tflops);
  }
  for (const StudyFigure& figure : {speed, sweep}) {
    if (!figure.points.empty()) study.figures.push_back(figure);
  }
}

/// Of the judged engine.
class Judge {
 public:
  Judge(const OzakiRecords& records, std::vector<Claim>& claims) : records_(records), claims_(claims) {}

  void judge_counts() {
    struct Counts {
      const char* format;
      std::vector<int> printed;  ///< n = 1024, 2048, ...
    };
    for (const auto& [format, printed] : {Counts{"fp16", {10, 12, 12, 14, 14}}, Counts{"e4m3", {16, 16, 17, 17}}}) {
      std::vector<int> ours;
      std::vector<int> by_blocks;
      for (std::size_t i = 0; i < printed.size(); ++i) {
        const std::int64_t n = std::int64_t{1024} << i;
        // FP8 digits have the bits of the format in either way.
        const OzakiRecord* const report = naive(format, n, std::string(format) == "fp16");
        if (report == nullptr) break;
        ours.push_back(report->slices);
        if (const OzakiRecord* const blocks = naive(format, n, false)) by_blocks.push_back(blocks->slices);
      }
      if (ours.size() < printed.size()) continue;
      bool is_more = false;
      for (std::size_t i = 0; i < printed.size(); ++i) is_more = is_more || ours[i] > printed[i];
      const auto list = [](const std::vector<int>& counts) {
        std::string text;
        for (const int count : counts) text += (text.empty() ? "" : ", ") + std::to_string(count);
        return text;
      };
      std::string found = list(ours);
      if (std::string(format) == "fp16" && !by_blocks.empty())
        found += " with the report's digits; " + list(by_blocks) + " with those of the format, k in blocks";
      claims_.push_back(
          {"report, device",
           fmt::format("{} needs {} slices until nothing is left, n = 1024, 2048, ...", format, list(printed)),
           is_more           ? ClaimVerdict::kRefuted
           : ours == printed ? ClaimVerdict::kReproduced
                             : ClaimVerdict::kSurpassed,
           found});
    }
  }

  void judge_split() {
    constexpr std::int64_t kN = 8192;
    const OzakiRecord* const slow = naive("fp16", kN, true);
    const OzakiRecord* const fast = fused("bf16", kN, "matrix");
    if (slow != nullptr && fast != nullptr && slow->split_ms > 0 && fast->split_ms > 0) {
      const double ratio = slow->split_ms / fast->split_ms;
      claims_.push_back(
          {"report, device", "the fused split of BF16 is 31 times as fast as that of FP16 before (36.00, 1.16 ms)",
           ClaimVerdict::kOtherHardware,
           fmt::format(
               "{:.1f} times: {:.2f} and {:.2f} ms, n = {}; {} slices against {}, all of a matrix at once in either "
               "case",
               ratio, slow->split_ms, fast->split_ms, kN, slow->slices, fast->slices)});
    }
    for (const char* scale : {"line", "matrix"}) {
      const OzakiRecord* const record = largest_fused("bf16", scale);
      if (record == nullptr || record->split_ms <= 0) continue;
      // A scale of the whole matrix has to be found before the first digit: the elements are read twice.
      const double read = 8.0 * (record->scale == "matrix" ? 2 : 1);
      const double bytes =
          2 * static_cast<double>(record->n) * static_cast<double>(record->n) * (read + 2.0 * record->slices);
      const double ratio = record->split_ms * 1e6 / (bytes / kH200GigabytesPerSecond);
      claims_.push_back({"aim, split",
                         fmt::format("within {} times of its memory floor, one scale a {}", kAimOfFloor, scale),
                         reproduced_if(ratio <= kAimOfFloor),
                         fmt::format("{:.2f} times: {:.2f} ms for {:.1f} GB, n = {}", ratio, record->split_ms,
                                     bytes * 1e-9, record->n)});
    }
  }

  void judge_formats() {
    std::string found;
    for (const OzakiRecord* bf16 : records_.where(is_fused)) {
      if (bf16->format != "bf16" || bf16->engine != kJudged || bf16->scale != "matrix") continue;
      const OzakiRecord* const e4m3 = fused("e4m3", bf16->n, "matrix");
      if (e4m3 == nullptr) continue;
      const double ratio = bf16->tflops / e4m3->tflops;
      found += fmt::format("{}{:.2f} (n = {})", found.empty() ? "" : ", ", ratio, bf16->n);
    }
    if (found.empty()) return;
    claims_.push_back({"report, device", "BF16 with 7 slices and d = 9 is faster than FP8 with 14 and d = 16",
                       ClaimVerdict::kOtherHardware, found + " times"});
  }

  /// The d sweep at the largest n of all.
  void judge_sweep() {
    const OzakiRecord* const nine = largest_fused("bf16", "matrix");
    if (nine == nullptr) return;
    const std::int64_t n = nine->n;
    const OzakiRecord* const native = records_.find('d', "native", n);
    if (native == nullptr) return;
    for (int d = 9; d >= 5; --d) {
      const auto found = records_.where(
          [&](const OzakiRecord& x) { return is_sweep(x) && x.n == n && x.engine == kJudged && x.diagonals() == d; });
      const PrintedProduct* const p = printed_of("bf16", d, 16384);
      if (found.empty() || p == nullptr) continue;
      const OzakiRecord* const r = found.front();
      const double share = r->of_native();
      claims_.push_back(
          {"report, device",
           fmt::format("d = {}: {:g} times native FP64 ({:g} TFLOPS)", p->diagonals, p->of_native, p->tflops),
           ClaimVerdict::kOtherHardware,
           fmt::format("{:.2f} times: {:.1f} TFLOPS, native {:.1f}, n = {}", share, r->tflops, r->native_tflops, n)});
      claims_.push_back(
          {"report, device", fmt::format("d = {}: {:.3g} from native FP64", p->diagonals, p->error),
           as_accurate(r->from_native.frobenius, p->error),
           fmt::format("{:.2g}, and {:.2g} from the exact product, native {:.2g} (Frobenius), n = {}",
                       r->from_native.frobenius, r->from_exact.frobenius, native->from_exact.frobenius, n)});
      judge_aim(*r, *native);
    }
  }

  /// Against the fastest product of ours: of one pair of slices, or of BF16 matrices by a tile kernel.
  void judge_rate() {
    const OzakiRecord* const nine = largest_fused("bf16", "matrix");
    if (nine == nullptr || nine->product_ms <= 0) return;
    const double flops = 2e-9 * std::pow(static_cast<double>(nine->n), 3);
    double rate = 0;
    std::string who;
    for (const OzakiRecord* r : records_.where([&](const OzakiRecord& x) {
           return x.is_floating() && x.format == "bf16" && x.products == 1 && x.n == nine->n && x.product_ms > 0;
         })) {
      if (flops / r->product_ms <= rate) continue;
      rate = flops / r->product_ms;
      who = "engine " + r->engine;
    }
    const auto tile = records_.bf16_tflops.find(nine->n);
    if (tile != records_.bf16_tflops.end() && tile->second > rate) {
      rate = tile->second;
      who = "a tile kernel";
    }
    if (rate == 0) return;
    const double floor_ms = nine->products * flops / rate;
    claims_.push_back(
        {"aim, speed", fmt::format("d = 9: at least {:.0f} % of the rate of one BF16 product", 100 * kAimOfRate),
         reproduced_if(floor_ms >= kAimOfRate * nine->ms),
         fmt::format("{:.0f} % of the whole call, {:.0f} % of its products alone: {} products at {:.0f} TFLOPS, one at "
                     "{:.0f} ({}), n = {}",
                     100 * floor_ms / nine->ms, 100 * floor_ms / nine->product_ms, nine->products,
                     nine->products * flops / nine->product_ms, rate, who, nine->n)});
  }

  void judge_automatic() {
    for (const OzakiRecord* r : records_.where([](const OzakiRecord& x) { return x.who == "ozaki1/bf16/7"; })) {
      claims_.push_back({"report, device", "for BF16 d = 9 is what 2 sqrt(k) u asks for: 39 of 49 products",
                         r->products < 39 ? ClaimVerdict::kSurpassed : reproduced_if(r->products == 39),
                         fmt::format("{} of 49 by a proven bound, error {:.2g} of abs(A) abs(B), n = {}", r->products,
                                     r->from_exact.entry, r->n)});
    }
  }

 private:
  [[nodiscard]] const OzakiRecord* naive(const std::string& format, std::int64_t n, bool has_digits_by_k) const {
    const auto found = records_.where([&](const OzakiRecord& r) {
      return r.is_floating() && r.is_until_zero() && r.format == format && r.n == n && r.scale == "matrix" &&
             r.engine == kJudged && has_report_digits(r) == has_digits_by_k;
    });
    return found.empty() ? nullptr : found.front();
  }
  [[nodiscard]] const OzakiRecord* fused(const std::string& format, std::int64_t n, const std::string& scale) const {
    const auto found = records_.where([&](const OzakiRecord& r) {
      return is_fused(r) && r.format == format && r.n == n && r.scale == scale && r.engine == kJudged;
    });
    return found.empty() ? nullptr : found.front();
  }
  [[nodiscard]] const OzakiRecord* largest_fused(const std::string& format, const std::string& scale) const {
    const auto found = records_.where([&](const OzakiRecord& r) {
      return is_fused(r) && r.format == format && r.scale == scale && r.engine == kJudged;
    });
    return found.empty() ? nullptr : found.back();
  }

  void judge_aim(const OzakiRecord& record, const OzakiRecord& native) {
    const int d = record.diagonals();
    const double error = record.from_exact.frobenius;
    if (d == 7) {
      claims_.push_back(
          {"aim, device", "d = 7 at the level of FP64", as_accurate(error, native.from_exact.frobenius),
           fmt::format("{:.2g}, native {:.2g} (Frobenius, n = {})", error, native.from_exact.frobenius, record.n)});
    } else if (d < 7) {
      const double aim = d == 6 ? 1e-13 : 1e-10;
      claims_.push_back({"aim, device", fmt::format("d = {} at most {:g}", d, aim),
                         error < 0.5 * aim ? ClaimVerdict::kSurpassed : reproduced_if(error <= aim),
                         fmt::format("{:.2g} (Frobenius, n = {})", error, record.n)});
    }
  }

  const OzakiRecords& records_;
  std::vector<Claim>& claims_;
};

}  // namespace

void add_floating_device(const OzakiRecords& records, OzakiStudy& study) {
  const std::vector<StudyTable> tables = {
      table_of(
          records, "device_naive",
          "On a device: floating slices until nothing is left, all pairs, one scale a matrix; phases are those of a "
          "call that names the number of slices, the total has the wait for it; what the report printed, of a B200",
          [](const OzakiRecord& r) { return r.is_floating() && r.is_until_zero(); }),
      table_of(records, "device_fused",
               "On a device: seven BF16 slices with d = 9, fourteen e4m3 slices with d = 16; what the report printed",
               is_fused),
      table_of(
          records, "device_diagonals",
          "On a device: seven BF16 slices, products of slices i + j < d; what the report printed",
          [&](const OzakiRecord& r) {
            return is_sweep(r) &&
                   !records.where([&](const OzakiRecord& x) { return is_sweep(x) && x.n == r.n && x.diagonals() == 5; })
                        .empty();
          })};
  for (const StudyTable& table : tables) {
    if (!table.rows.empty()) study.tables.push_back(table);
  }
  add_figures(records, study);
  Judge judge(records, study.claims);
  judge.judge_counts();
  judge.judge_split();
  judge.judge_formats();
  judge.judge_automatic();
  judge.judge_sweep();
  judge.judge_rate();
}

}  // namespace kizami::study
