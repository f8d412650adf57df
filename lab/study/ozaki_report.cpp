// SPDX-License-Identifier: MIT
// The code that the report on tile kernels prints, as run on this machine and on a device: a table, and whether the
// report's figures follow from it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "failure.hpp"
#include "ozaki.hpp"
#include "ozaki_printed.hpp"

namespace kizami::study {
namespace {

/// Two figures are one: the report does not define its error, and Frobenius and the largest elements lie so far apart.
constexpr double kNear = 1.25;

ReportProduct parse_record(const nlohmann::json& json) {
  ReportProduct product;
  product.device = json.at("device").get<std::string>();
  product.n = json.at("n").get<std::int64_t>();
  product.format = json.at("format").get<std::string>();
  product.digit_bits = json.at("digit_bits").get<int>();
  product.advance = json.at("advance").get<int>();
  product.slices_a = json.at("slices_a").get<int>();
  product.slices_b = json.at("slices_b").get<int>();
  product.depth = json.at("depth").get<int>();
  product.products = json.at("products").get<int>();
  product.sum_block = json.at("sum_block").get<int>();
  product.frobenius = json.at("frobenius").get<double>();
  product.from_native = json.at("from_native").at(0).get<double>();
  product.largest_from_native = json.at("from_native").at(1).get<double>();
  return product;
}

/// The printed slices of A and B, "15 x 16".
std::pair<int, int> counts_of(const PrintedProduct& printed) {
  const std::string text = printed.slices;
  return {std::stoi(text), std::stoi(text.substr(text.find('x') + 1))};
}

/// Where a product was measured, as claims say it.
std::string place_of(const ReportProduct& x) {
  return x.device.empty() ? fmt::format("k = {}, on a processor", x.n) : fmt::format("n = {}, {}", x.n, x.device);
}

class Judge {
 public:
  Judge(const std::vector<ReportProduct>& products, std::vector<Claim>& claims)
      : products_(products), claims_(claims) {}

  void judge_errors() {
    for (const PrintedProduct& printed : kPrinted) {
      if (printed.diagonals == 0) continue;
      const bool is_fp8 = std::string_view(printed.format) == "e4m3";
      // The bits of a significand without the hidden one.
      const int advance = is_fp8 ? 3 : 7;
      const auto found = measured(printed, advance);
      if (found.empty()) continue;
      const auto others = measured(printed, advance + 1);
      std::string text;
      for (const ReportProduct* x : found) {
        text += fmt::format("{}{:.3g}, largest elements {:.3g} ({})", text.empty() ? "" : "; ", x->from_native,
                            x->largest_from_native, place_of(*x));
      }
      if (!others.empty()) text += fmt::format("; with {} bits {:.2g}", advance + 1, others.front()->from_native);
      const double ratio = found.front()->from_native / printed.error;
      claims_.push_back(
          {"report, code as printed",
           fmt::format("{}, {} slices, d = {}, n = {}: {:.3g} from native FP64 follows, if a slice "
                       "advances {} bits",
                       printed.format, printed.slices, printed.diagonals, printed.n, printed.error, advance),
           reproduced_if(ratio <= kNear && ratio >= 1 / kNear), text});
    }
  }

  void judge_sums() {
    std::int64_t most_k = 0;
    std::int64_t changed = 0;
    for (const ReportProduct& x : products_) {
      if (!x.device.empty() || x.format == "fp16") continue;
      most_k = std::max(most_k, x.n);
      changed += x.changed;
    }
    if (most_k == 0) return;
    claims_.push_back({"report, code as printed",
                       "FP32 sums of BF16 and FP8 slices over all of k are exact, as equation 11 has it",
                       reproduced_if(changed == 0),
                       fmt::format("of normal operands, k up to {}: exact sums change {} elements", most_k, changed)});
    judge_full_fp16(most_k);
  }

  /// Counts of slices until nothing is left, which the smallest element decides: by chance one more or less.
  void judge_counts() {
    for (const char* format : {"fp16", "e4m3"}) {
      std::string printed;
      std::string counted;
      bool is_near = true;
      for (const PrintedProduct& row : kPrinted) {
        if (row.diagonals != 0 || std::string_view(row.format) != format) continue;
        const ReportProduct* const x = find(format, 0, 0, row.n, true);
        if (x == nullptr) continue;
        printed += fmt::format("{}{}", printed.empty() ? "" : ", ", row.slices);
        counted += fmt::format("{}{} x {}", counted.empty() ? "" : ", ", x->slices_a, x->slices_b);
        const auto [a, b] = counts_of(row);
        is_near = is_near && std::abs(a - x->slices_a) <= 1 && std::abs(b - x->slices_b) <= 1;
      }
      if (printed.empty()) continue;
      claims_.push_back(
          {"report, code as printed",
           fmt::format("{} needs {} slices of A and B until nothing is left, n = 1024, 2048, ...", format, printed),
           reproduced_if(is_near), counted});
    }
  }

 private:
  /// FP16 digits of all bits of the significand at the k of this machine, and over blocks at the largest n of a device.
  void judge_full_fp16(std::int64_t k) {
    std::string here;
    std::string there;
    std::int64_t most_n = 0;
    bool rounds = false;
    for (const ReportProduct& x : products_) {
      if (x.format != "fp16" || x.advance == 0) continue;
      const std::string what = fmt::format("{} bits, sums of {}", x.advance, x.sum_block == 0 ? "k" : "128");
      if (!x.device.empty()) {
        if (x.sum_block == 0 || x.n < most_n) continue;
        if (x.n > most_n) there.clear();
        most_n = x.n;
        there += fmt::format("{}{}: {:.2g} from native", there.empty() ? "; " + place_of(x) + ", advance " : ", ", what,
                             x.from_native);
      } else if (x.n == k) {
        // Digits that use all bits: each slice takes away what it can.
        rounds = rounds || (x.advance == x.digit_bits + 1 && x.sum_block != 0 && x.changed > 0);
        here += fmt::format("{}{}: {:.2g}, {:.2g} if exact", here.empty() ? place_of(x) + ", advance " : ", ", what,
                            x.frobenius, x.with_exact_sums);
      }
    }
    claims_.push_back({"report, code as printed", "products of FP16 slices of 11 bits round in FP32 sums of 128",
                       reproduced_if(rounds), here + there});
  }

  /// Null: not measured.
  [[nodiscard]] const ReportProduct* find(std::string_view format, int advance, int depth, std::int64_t n,
                                          bool on_device) const {
    const auto found = std::find_if(products_.rbegin(), products_.rend(), [&](const ReportProduct& x) {
      return x.format == format && x.advance == advance && x.depth == depth && x.n == n && x.sum_block == 0 &&
             x.device.empty() != on_device;
    });
    return found == products_.rend() ? nullptr : &*found;
  }
  /// On a device before on this machine.
  [[nodiscard]] std::vector<const ReportProduct*> measured(const PrintedProduct& printed, int advance) const {
    std::vector<const ReportProduct*> all;
    for (const bool on_device : {true, false}) {
      const ReportProduct* const x = find(printed.format, advance, printed.diagonals, printed.n, on_device);
      if (x != nullptr) all.push_back(x);
    }
    return all;
  }

  const std::vector<ReportProduct>& products_;
  std::vector<Claim>& claims_;
};

}  // namespace

std::string read_report(std::istream& records, const std::string& name, std::vector<ReportProduct>& products) {
  std::string device;
  std::string text;
  for (int line = 1; std::getline(records, text); ++line) {
    if (text.empty()) continue;
    try {
      const auto json = nlohmann::json::parse(text);
      const std::string from = fmt::format("driver {}, {}, commit {}", json.at("driver").get<std::string>(),
                                           json.at("date").get<std::string>(), json.at("commit").get<std::string>());
      if (device.find(from) == std::string::npos) device += (device.empty() ? "" : "; ") + from;
      products.push_back(parse_record(json));
    } catch (const nlohmann::json::exception& error) {
      throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}, line {}: {}", name, line, error.what()));
    }
  }
  if (records.bad()) throw cli::Failure(cli::ExitCode::kBadInput, fmt::format("{}: cannot be read", name));
  return device;
}

void add_report(const std::vector<ReportProduct>& products, OzakiStudy& study) {
  StudyTable table{"report",
                   "The code of the report as it prints it, one scale a matrix: bits of a digit by its rho with k = n "
                   "(FP16: of the format); on a processor 32 rows and columns of C",
                   {"device", "n", "format", "digit_bits", "advance", "slices", "d", "products", "fp32_sum_of",
                    "frobenius_from_native", "largest_over_largest_from_native", "frobenius", "frobenius_if_sums_exact",
                    "elements_changed_by_exact_sums", "printed_slices", "printed_error"},
                   {}};
  for (const ReportProduct& x : products) {
    const auto error = [](double value) { return value < 0 ? "" : fmt::format("{:.3g}", value); };
    const PrintedProduct* const printed = printed_of(x.format, x.depth, x.n);
    const bool is_printed = printed != nullptr && x.sum_block == 0 && (x.depth > 0 || x.advance == 0);
    table.rows.push_back(
        {x.device.empty() ? "processor" : x.device, std::to_string(x.n), x.format, std::to_string(x.digit_bits),
         x.advance == 0 ? "found" : std::to_string(x.advance), fmt::format("{} x {}", x.slices_a, x.slices_b),
         x.depth == 0 ? "all" : std::to_string(x.depth), std::to_string(x.products),
         x.sum_block == 0 ? "k" : std::to_string(x.sum_block), error(x.from_native), error(x.largest_from_native),
         error(x.frobenius), error(x.with_exact_sums), x.changed < 0 ? "" : std::to_string(x.changed),
         is_printed ? printed->slices : "", is_printed ? error(printed->error) : ""});
  }
  study.tables.push_back(table);
  Judge judge(products, study.claims);
  judge.judge_errors();
  judge.judge_sums();
  judge.judge_counts();
}

}  // namespace kizami::study
