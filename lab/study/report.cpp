// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace kizami::study {
namespace {

std::string number(double x) { return fmt::format("{:.6g}", x); }

/// A field with a comma or a quote in it goes into quotes.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + csv_field(fields[i]);
  return out + "\n";
}

std::string markdown_line(const std::vector<std::string>& fields) {
  std::string out = "|";
  for (const std::string& field : fields) out += " " + field + " |";
  return out + "\n";
}

std::string markdown_rule(std::size_t columns) {
  std::string out = "|";
  for (std::size_t i = 0; i < columns; ++i) out += "---|";
  return out + "\n";
}

}  // namespace

std::optional<double> StudyFigure::at(std::string_view data, std::string_view series, double x) const {
  for (const StudyPoint& point : points) {
    if (point.data == data && point.series == series && point.x == x) return point.y;
  }
  return std::nullopt;
}

double StudyFigure::first_x(std::string_view data, std::string_view series) const {
  double first = std::numeric_limits<double>::infinity();
  for (const StudyPoint& point : points) {
    if (point.data == data && point.series == series) first = std::min(first, point.x);
  }
  return first;
}

double StudyFigure::last_x(std::string_view data, std::string_view series) const {
  double last = -std::numeric_limits<double>::infinity();
  for (const StudyPoint& point : points) {
    if (point.data == data && point.series == series) last = std::max(last, point.x);
  }
  return last;
}

double StudyFigure::last_y(std::string_view data, std::string_view series) const {
  return at(data, series, last_x(data, series)).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::string_view to_string(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::kReproduced:
      return "reproduced";
    case ClaimVerdict::kSurpassed:
      return "surpassed";
    case ClaimVerdict::kRefuted:
      return "refuted";
    case ClaimVerdict::kOtherHardware:
      return "other hardware";
  }
  return "unknown";
}

ClaimVerdict reproduced_if(bool holds) { return holds ? ClaimVerdict::kReproduced : ClaimVerdict::kRefuted; }

ClaimVerdict as_accurate(double x, double y) {
  constexpr double kSame = 2.0;
  if (!(x <= kSame * y)) return ClaimVerdict::kRefuted;
  return x * kSame < y ? ClaimVerdict::kSurpassed : ClaimVerdict::kReproduced;
}

Claim claim_of_equal_accuracy(const std::string& place, const std::string& statement, const StudyFigure& figure,
                              const std::string& series, const std::string& reference) {
  constexpr double kLongSums = 1024;
  struct Worst {
    double ratio = 0;
    double x = 0;
    void observe(double ratio_here, double x_here) {
      if (!(ratio_here <= ratio)) *this = {ratio_here, x_here};
    }
  };
  Worst of_all;
  Worst of_long;
  for (const StudyPoint& point : figure.points) {
    if (point.series != series) continue;
    const double ratio = point.y / figure.at(point.data, reference, point.x).value_or(0);
    of_all.observe(ratio, point.x);
    if (point.x >= std::min(kLongSums, figure.last_x(point.data, series))) of_long.observe(ratio, point.x);
  }
  return {
      place, statement, as_accurate(of_long.ratio, 1.0),
      fmt::format(
          "from k = 1024 on at most {:.3g} times the error of {} (k = {:g}); at all at most {:.3g} times (k = {:g})",
          of_long.ratio, reference, of_long.x, of_all.ratio, of_all.x)};
}

StudyTable as_table(const StudyFigure& figure) {
  StudyTable table{figure.name, figure.caption, {"data", "series", figure.x_name, figure.y_name}, {}};
  if (figure.has_entry) table.columns.emplace_back("max_entry_error_u");
  for (const StudyPoint& point : figure.points) {
    table.rows.push_back({point.data, point.series, number(point.x), number(point.y)});
    if (figure.has_entry) table.rows.back().push_back(number(point.entry));
  }
  return table;
}

std::string as_csv(const StudyTable& table) {
  std::string out = csv_line(table.columns);
  for (const std::vector<std::string>& row : table.rows) out += csv_line(row);
  return out;
}

std::string as_markdown(const StudyTable& table) {
  std::string out = markdown_line(table.columns) + markdown_rule(table.columns.size());
  for (const std::vector<std::string>& row : table.rows) out += markdown_line(row);
  return out;
}

std::string as_markdown(const StudyFigure& figure, std::size_t max_columns) {
  std::set<double> all;
  std::vector<std::pair<std::string, std::string>> series;
  for (const StudyPoint& point : figure.points) {
    all.insert(point.x);
    if (std::find(series.begin(), series.end(), std::pair(point.data, point.series)) == series.end())
      series.emplace_back(point.data, point.series);
  }
  // Evenly spaced, first and last among them.
  const std::vector<double> sorted(all.begin(), all.end());
  std::vector<double> chosen;
  const std::size_t count = std::min(max_columns, sorted.size());
  for (std::size_t i = 0; i < count; ++i)
    chosen.push_back(sorted[count == 1 ? 0 : i * (sorted.size() - 1) / (count - 1)]);
  std::vector<std::string> head = {"data", figure.y_name + " at " + figure.x_name + " ="};
  for (const double x : chosen) head.push_back(number(x));
  std::string out = markdown_line(head) + markdown_rule(head.size());
  for (const auto& [data, name] : series) {
    std::vector<std::string> row = {data, name};
    for (const double x : chosen) {
      const std::optional<double> y = figure.at(data, name, x);
      row.push_back(y ? fmt::format("{:.3g}", *y) : "");
    }
    out += markdown_line(row);
  }
  return out;
}

std::string as_markdown(const std::vector<Claim>& claims) {
  std::string out = markdown_line({"place", "claim", "verdict", "found"}) + markdown_rule(4);
  for (const Claim& claim : claims)
    out += markdown_line({claim.place, claim.statement, std::string(to_string(claim.verdict)), claim.found});
  return out;
}

}  // namespace kizami::study
