// SPDX-License-Identifier: MIT
// What a study leaves behind: points of figures and rows of tables as CSV, and claims with a verdict each as Markdown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kizami::study {

/// A table of text: one CSV file.
struct StudyTable {
  std::string name;     ///< of the file, without ".csv"
  std::string caption;  ///< one sentence
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// One measured or computed value of a figure.
struct StudyPoint {
  std::string data;    ///< the class of operands; empty where there is one
  std::string series;  ///< the method
  double x = 0;
  double y = 0;
  double entry = 0;  ///< of products: the largest |error| / (|A||B|), in units of u = 2^-24
};

/// A figure: one CSV file with a row a point.
struct StudyFigure {
  std::string name;
  std::string caption;
  std::string x_name;
  std::string y_name;
  bool has_entry = false;
  std::vector<StudyPoint> points;

  /// y of a point; nothing if there is none.
  [[nodiscard]] std::optional<double> at(std::string_view data, std::string_view series, double x) const;
  /// The least x of a series.
  [[nodiscard]] double first_x(std::string_view data, std::string_view series) const;
  /// The largest x of a series.
  [[nodiscard]] double last_x(std::string_view data, std::string_view series) const;
  /// y at last_x().
  [[nodiscard]] double last_y(std::string_view data, std::string_view series) const;
};

enum class ClaimVerdict {
  kReproduced,
  kSurpassed,
  kRefuted,
  kOtherHardware,  ///< a speed that the document measured on a card of another kind: both figures, no judgement
};
[[nodiscard]] std::string_view to_string(ClaimVerdict verdict);

/// A claim of the document that is studied, and what was found.
struct Claim {
  std::string place;  ///< "table 1", "figure 3", "section 4.1"
  std::string statement;
  ClaimVerdict verdict = ClaimVerdict::kRefuted;
  std::string found;  ///< our figure
};

[[nodiscard]] ClaimVerdict reproduced_if(bool holds);
/// Of a claim "x is as accurate as y", by two errors: reproduced within a factor of 2, surpassed where x is below y by
/// more.
[[nodiscard]] ClaimVerdict as_accurate(double x, double y);

/// "series is as accurate as reference" for every class of data of a figure of errors over k. Judged from k = 1024 on
/// (or at the last k): a sum of few terms has next to no error of its own.
[[nodiscard]] Claim claim_of_equal_accuracy(const std::string& place, const std::string& statement,
                                            const StudyFigure& figure, const std::string& series,
                                            const std::string& reference);

[[nodiscard]] StudyTable as_table(const StudyFigure& figure);
[[nodiscard]] std::string as_csv(const StudyTable& table);
/// One row a series (and class of data), one column each of at most `max_columns` values of x.
[[nodiscard]] std::string as_markdown(const StudyFigure& figure, std::size_t max_columns);
[[nodiscard]] std::string as_markdown(const StudyTable& table);
[[nodiscard]] std::string as_markdown(const std::vector<Claim>& claims);

}  // namespace kizami::study
