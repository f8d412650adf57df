// SPDX-License-Identifier: MIT
#include "roofline_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace kizami::cli {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 460;
constexpr double kLeft = 60;
constexpr double kRight = 500;  // the legend stands behind it
constexpr double kTop = 20;
constexpr double kBottom = 400;
constexpr double kLegendStep = 16;
constexpr std::array<std::string_view, 8> kColours = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                                      "#ff7f0e", "#17becf", "#8c564b", "#e377c2"};

/// A logarithmic axis over whole powers of its base.
struct Axis {
  double base = 10;
  double from = std::numeric_limits<double>::infinity();  ///< exponents
  double to = -std::numeric_limits<double>::infinity();
  double begin = 0;  ///< on the paper
  double end = 0;

  [[nodiscard]] double exponent(double x) const { return std::log(x) / std::log(base); }
  void cover(double x) {
    from = std::min(from, std::floor(exponent(x)));
    to = std::max({to, std::ceil(exponent(x)), from + 1});
  }
  [[nodiscard]] double place(double x) const { return begin + (exponent(x) - from) / (to - from) * (end - begin); }
};

[[nodiscard]] std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

[[nodiscard]] std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

[[nodiscard]] std::string grid(const Axis& x, const Axis& y) {
  std::string out = "<g stroke=\"#dddddd\">\n";
  std::string labels;
  for (double e = x.from; e <= x.to; ++e) {
    const double value = std::pow(x.base, e);
    out += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>\n", x.place(value), kTop, kBottom);
    labels += text_at(x.place(value), kBottom + 16, "middle", fmt::format("{:g}", value));
  }
  for (double e = y.from; e <= y.to; ++e) {
    const double value = std::pow(y.base, e);
    out += fmt::format("<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/>\n", y.place(value), kLeft, kRight);
    labels += text_at(kLeft - 6, y.place(value) + 4, "end", fmt::format("{:g}", value));
  }
  return out + "</g>\n" + labels;
}

[[nodiscard]] std::string_view dashes_of(LineKind kind) {
  switch (kind) {
    case LineKind::kProductRoof:
      return " stroke-dasharray=\"8 4\"";
    case LineKind::kDataRoof:
      return " stroke-dasharray=\"2 3\"";
    case LineKind::kRate:
      break;
  }
  return "";
}

}  // namespace

std::string roofline_picture(const std::vector<PictureLine>& lines, const std::string& note) {
  Axis x{.base = 4, .begin = kLeft, .end = kRight};
  Axis y{.base = 10, .begin = kBottom, .end = kTop};
  std::vector<std::string> names;
  for (const PictureLine& line : lines) {
    if (std::ranges::find(names, line.name) == names.end()) names.push_back(line.name);
    for (const auto& [at, rate] : line.points) {
      x.cover(at);
      y.cover(rate);
    }
  }
  const double height = std::max(kHeight, kTop + kLegendStep * static_cast<double>(names.size() + 5));
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, height);
  out += grid(x, y);
  out += text_at((kLeft + kRight) / 2, kBottom + 34, "middle", "operations a byte of A, B and C");
  out += text_at(kLeft, kTop - 6, "start", "TFLOPS");
  for (const PictureLine& line : lines) {
    const auto index = static_cast<std::size_t>(std::ranges::find(names, line.name) - names.begin());
    out += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{} points=\"",
                       kColours[index % kColours.size()], line.kind == LineKind::kRate ? 2 : 1, dashes_of(line.kind));
    for (const auto& [at, rate] : line.points) out += fmt::format("{:.1f},{:.1f} ", x.place(at), y.place(rate));
    out += "\"/>\n";
  }
  constexpr double kLegend = kRight + 16;
  double at = kTop + 10;
  for (std::size_t i = 0; i < names.size(); ++i, at += kLegendStep) {
    out += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"12\" height=\"3\" fill=\"{}\"/>\n", kLegend, at - 5,
                       kColours[i % kColours.size()]);
    out += text_at(kLegend + 18, at, "start", names[i]);
  }
  at += kLegendStep;
  for (const std::string_view meaning :
       {"through: predicted", "dashed: products alone", "dotted: data handling alone"}) {
    out += text_at(kLegend, at, "start", meaning);
    at += kLegendStep;
  }
  return out + text_at(kLeft, kBottom + 52, "start", note) + "</svg>\n";
}

}  // namespace kizami::cli
