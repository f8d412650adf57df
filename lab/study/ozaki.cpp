// SPDX-License-Identifier: MIT
// Tables of the accuracy of slices, and the documents' claims about it.
#include "ozaki.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "check/case.hpp"
#include "kizami/policy.hpp"
#include "num/tensor_core.hpp"

namespace kizami::study {
namespace {

struct Row {
  check::Case spec;
  OzakiMeasurement m;
};

[[nodiscard]] int products_of(int l, int d) {
  int count = 0;
  for (int i = 0; i < l; ++i) {
    for (int j = 0; j < l; ++j) count += i + j < d ? 1 : 0;
  }
  return count;
}
[[nodiscard]] int products_of(const Row& row) {
  const int l = row.m.slices;
  const int d = row.spec.policy.slices.num_diagonals;
  return d > 0 ? products_of(l, d) : row.spec.policy.slices.num_slices == kUntilZero ? l * l : products_of(l, l);
}

[[nodiscard]] bool is_ozaki1(const Row& row) { return row.spec.policy.scheme == Scheme::kOzaki1; }

std::string number(double x) { return fmt::format("{:.3g}", x); }

std::vector<std::string> error_columns() {
  return {"frobenius",
          "largest_element",
          "largest_over_AB",
          "frobenius_from_native",
          "largest_element_from_native",
          "largest_over_AB_from_native"};
}
void add_errors(const OzakiMeasurement& m, std::vector<std::string>& row) {
  for (const double x : {m.frobenius, m.element, m.entry, m.from_native[0], m.from_native[1], m.from_native[2]})
    row.push_back(number(x));
}

StudyTable table_of(const std::vector<Row>& rows, const std::string& name, const std::string& caption,
                    const auto& is_wanted) {
  StudyTable table{
      name, caption, {"n", "k", "format", "split", "scale", "slices", "diagonals", "products", "seconds"}, {}};
  for (const std::string& column : error_columns()) table.columns.push_back(column);
  table.columns.emplace_back("bound");
  for (const Row& row : rows) {
    if (!is_wanted(row)) continue;
    const Slicing& s = row.spec.policy.slices;
    std::vector<std::string> fields = {std::to_string(row.spec.n),
                                       std::to_string(row.spec.k),
                                       std::string(to_string(s.format)),
                                       s.format == SliceFormat::kInt8 ? std::string(to_string(s.split)) : "nearest",
                                       s.one_scale ? "matrix" : "line",
                                       std::to_string(row.m.slices),
                                       s.num_diagonals > 0 ? std::to_string(s.num_diagonals) : "all",
                                       std::to_string(products_of(row)),
                                       number(row.m.seconds)};
    if (s.format == SliceFormat::kInt8) fields[6] = std::to_string(row.m.slices);
    add_errors(row.m, fields);
    fields.push_back(number(row.m.bound));
    table.rows.push_back(fields);
  }
  return table;
}

/// What the errors of slices stand beside.
StudyTable baselines_of(const std::vector<Row>& rows) {
  StudyTable table{"baselines", "Native FP64, and FP64 by pairs of FP32 (ff32)", {"n", "k", "way", "seconds"}, {}};
  for (const std::string& column : error_columns()) table.columns.push_back(column);
  table.columns.emplace_back("bound");
  for (const Row& row : rows) {
    if (is_ozaki1(row)) continue;
    std::vector<std::string> fields = {std::to_string(row.spec.n), std::to_string(row.spec.k),
                                       is_float_float(row.m.line) ? "ff32" : "native", number(row.m.seconds)};
    add_errors(row.m, fields);
    fields.push_back(number(row.m.bound));
    table.rows.push_back(fields);
  }
  return table;
}

/// The last row that is wanted: that of the largest n.
const Row* last_row(const std::vector<Row>& rows, const auto& is_wanted) {
  const Row* found = nullptr;
  for (const Row& row : rows) {
    if (is_wanted(row)) found = &row;
  }
  return found;
}

[[nodiscard]] bool is_until_zero(const Row& row) {
  return is_ozaki1(row) && row.spec.policy.slices.num_slices == kUntilZero;
}
[[nodiscard]] bool is_int8(const Row& row) {
  return is_ozaki1(row) && row.spec.policy.slices.format == SliceFormat::kInt8;
}
[[nodiscard]] bool is_sweep(const Row& row) { return is_ozaki1(row) && row.spec.k > row.spec.n; }
[[nodiscard]] bool is_fused(const Row& row) {
  return is_ozaki1(row) && !is_int8(row) && !is_until_zero(row) && !is_sweep(row);
}

constexpr int kReportBlock = 128;  ///< elements of k that a kernel of the document sums in FP32

/// |sum on a Hopper tensor core - exact sum| of products of the largest digit of so many bits, all of one sign.
/// @units of the product of two last digits. @range num_terms a multiple of 16, below 2^20
double error_of_block(num::FloatType type, int num_terms, int bits) {
  const num::TensorCore core = num::hopper_tensor_core(type);
  std::array<double, 16> digits;
  digits.fill(std::ldexp(1.0, bits) - 1);
  float sum = 0;
  for (int i = 0; i < num_terms; i += core.group)
    sum = num::tensor_core_step(core, type, sum, digits.data(), digits.data(), core.group);
  return std::abs(digits[0] * digits[0] * num_terms - static_cast<double>(sum));
}
double error_of_block(num::FloatType type, int num_terms) {
  return error_of_block(type, num_terms, num::significand_bits(type));
}

void judge_counts(std::vector<Claim>& claims) {
  const int counts[] = {products_of(7, 9), products_of(7, 8), products_of(7, 7), products_of(7, 6), products_of(7, 5)};
  const int expected[] = {39, 34, 28, 21, 15};
  claims.push_back({"report, pairs",
                    "7 x 7 slices with d = 9, 8, 7, 6, 5 keep 39, 34, 28, 21, 15 products; 14 x 14 with 16 keep 130",
                    reproduced_if(std::equal(std::begin(counts), std::end(counts), std::begin(expected)) &&
                                  products_of(14, 16) == 130),
                    fmt::format("{}, {}, {}, {}, {}; {}", counts[0], counts[1], counts[2], counts[3], counts[4],
                                products_of(14, 16))});
}

void judge_slices(const std::vector<Row>& rows, std::vector<Claim>& claims) {
  const auto naive = [&](SliceFormat format, bool one_scale) {
    return last_row(rows, [=](const Row& row) {
      return is_until_zero(row) && row.spec.policy.slices.format == format &&
             row.spec.policy.slices.one_scale == one_scale;
    });
  };
  for (const auto& [format, paper] : {std::pair(SliceFormat::kFp16, 5), std::pair(SliceFormat::kE4m3, 14)}) {
    const Row* const matrix = naive(format, true);
    const Row* const line = naive(format, false);
    if (matrix == nullptr || line == nullptr) continue;
    claims.push_back(
        {"report, slices",
         fmt::format("{} needs more than {} = ceil(53 / significand) slices until nothing is left", to_string(format),
                     paper),
         reproduced_if(matrix->m.slices > paper),
         fmt::format("{} with one scale, {} with one a line, n = {}: the smallest element has 53 bits of its own",
                     matrix->m.slices, line->m.slices, matrix->spec.n)});
    if (format == SliceFormat::kFp16) continue;  // judge_sums()
    claims.push_back(
        {"report, accumulation", fmt::format("sums of {} slices round in FP32", to_string(format)),
         reproduced_if(matrix->m.element > 0x1p-52),
         fmt::format("largest error of an element {:.2g}: the exact product rounded once; k in blocks that "
                     "the accumulator holds exactly",
                     matrix->m.element)});
  }
}

/// Sums over a block of the document, of its digits: all bits of the significand, nothing left for the sum.
void judge_sums(std::vector<Claim>& claims) {
  const double bf16 = error_of_block(num::FloatType::kBf16, kReportBlock);
  claims.push_back({"report, accumulation",
                    fmt::format("sums of BF16 products over blocks of {} are exact", kReportBlock),
                    reproduced_if(bf16 == 0),
                    fmt::format("of the largest digits, on the model of a Hopper tensor core: off by {:g}", bf16)});
  const double fp16 = error_of_block(num::FloatType::kFp16, kReportBlock);
  claims.push_back(
      {"report, accumulation", fmt::format("sums of FP16 slices over blocks of {} round in FP32", kReportBlock),
       reproduced_if(fp16 > 0),
       fmt::format("of the largest digits, 11 bits: off by {:g}; ours have 9 bits in blocks of 64: off by {:g}", fp16,
                   error_of_block(num::FloatType::kFp16, 64, 9))});
}

void judge_sweep(const std::vector<Row>& rows, std::vector<Claim>& claims) {
  const Row* const native = last_row(rows, [](const Row& row) { return !is_ozaki1(row) && row.spec.k > row.spec.n; });
  if (native == nullptr) return;
  const auto at = [&](int d) {
    return last_row(rows, [d](const Row& row) { return is_sweep(row) && row.spec.policy.slices.num_diagonals == d; });
  };
  struct Printed {
    int diagonals;
    double printed;
    double aim;  ///< 0: the level of native FP64
  };
  for (const Printed& p : {Printed{7, 3.5e-13, 0}, {6, 4.4e-11, 1e-13}, {5, 4.5e-9, 1e-10}}) {
    const Row* const row = at(p.diagonals);
    if (row == nullptr) continue;
    const double aim = p.aim == 0 ? 2 * native->m.frobenius : p.aim;
    claims.push_back(
        {"report, d sweep", fmt::format("d = {}: error {:.2g}", p.diagonals, p.printed),
         row->m.frobenius < p.printed / 2 ? ClaimVerdict::kSurpassed : reproduced_if(row->m.frobenius < 2 * p.printed),
         fmt::format("{:.2g} (native FP64 {:.2g}), k = {}; aim {:.2g} {}", row->m.frobenius, native->m.frobenius,
                     row->spec.k, aim, row->m.frobenius <= aim ? "met" : "missed")});
  }
}

}  // namespace

OzakiStudy study_ozaki(const std::vector<OzakiMeasurement>& measured) {
  std::vector<Row> rows;
  for (const OzakiMeasurement& m : measured)
    rows.push_back({check::parse_case(m.line.substr(0, case_length(m.line))).value(), m});
  OzakiStudy study;
  study.tables.push_back(table_of(rows, "naive", "Floating slices until nothing is left, all pairs", is_until_zero));
  study.tables.push_back(
      table_of(rows, "fused", "Seven BF16 slices with d = 9, fourteen e4m3 slices with d = 16", is_fused));
  study.tables.push_back(table_of(rows, "diagonals", "Seven BF16 slices, products of slices i + j < d", is_sweep));
  study.tables.push_back(table_of(rows, "int8", "Seven slices of INT8, products of slices i + j < 7", is_int8));
  study.tables.push_back(baselines_of(rows));
  judge_counts(study.claims);
  judge_slices(rows, study.claims);
  judge_sums(study.claims);
  judge_sweep(rows, study.claims);
  return study;
}

}  // namespace kizami::study
