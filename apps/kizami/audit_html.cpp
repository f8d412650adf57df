// SPDX-License-Identifier: MIT
// Pictures are SVG: a bar of the run's time, bars of the places, and errors on a scale of powers of ten that ends at the
// bound. All text is of strangers' programs, and escaped.
#include "audit_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kizami/predict.hpp"

namespace kizami::cli {
namespace {

constexpr std::size_t kShown = 30;
constexpr int kWidth = 880;
constexpr int kLabel = 330;
constexpr int kRow = 24;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : "..." + text.substr(text.size() - most + 3);
}

/// The offset tells places of one function apart.
std::string label_of(const AuditSite& site) {
  constexpr std::size_t kMost = 46;  // of the label's width
  const std::string offset = site.offset.empty() ? "" : "+" + site.offset;
  const std::size_t taken = site.routine.size() + 1 + offset.size();
  return site.routine + " " + shortened(site.site, kMost - std::min<std::size_t>(taken, kMost - 12)) + offset;
}

std::string text_at(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

std::string svg(int height, const std::string& title, const std::string& body) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n", kWidth, height,
                     escaped(title), body);
}

std::string time_picture(const AuditSummary& s) {
  const double whole = std::max(s.process_seconds, s.product_seconds);
  const double scale = whole > 0 ? (kWidth - 2) / whole : 0;
  std::string body = fmt::format("<rect class=\"rest\" x=\"1\" y=\"4\" width=\"{}\" height=\"26\"/>\n", kWidth - 2);
  double x = 1;
  int shade = 0;
  for (const AuditSite& site : s.sites) {
    const double width = site.seconds * scale;
    body += fmt::format(
        "<rect class=\"s{}\" x=\"{:.2f}\" y=\"4\" width=\"{:.2f}\" height=\"26\"><title>{}: {:.3g} s</title></rect>\n",
        shade++ % 3, x, width, escaped(label_of(site)), site.seconds);
    x += width;
  }
  body += text_at(1, 48, fmt::format("products {:.3g} s", s.product_seconds));
  body += text_at(kWidth - 1, 48, fmt::format("all {:.3g} s", whole), "end");
  return svg(54, "share of products in the time", body);
}

std::string sites_picture(const AuditSummary& s) {
  const std::size_t count = std::min(s.sites.size(), kShown);
  const double most = s.sites.empty() ? 0 : std::max(s.sites.front().seconds, s.sites.front().predicted_seconds);
  double longest = most;
  for (std::size_t i = 0; i < count; ++i)
    longest = std::max({longest, s.sites[i].seconds, s.sites[i].predicted_seconds});
  const double scale = longest > 0 ? (kWidth - kLabel - 150) / longest : 0;
  std::string body;
  for (std::size_t i = 0; i < count; ++i) {
    const AuditSite& site = s.sites[i];
    const double y = 4 + kRow * static_cast<double>(i);
    body += text_at(kLabel - 8, y + 14, label_of(site), "end");
    body += fmt::format("<rect class=\"own\" x=\"{}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"9\"/>\n", kLabel, y,
                        site.seconds * scale);
    if (site.predicted_seconds > 0)
      body += fmt::format("<rect class=\"kizami\" x=\"{}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"9\"/>\n", kLabel,
                          y + 10, site.predicted_seconds * scale);
    body += text_at(kLabel + 6 + std::max(site.seconds, site.predicted_seconds) * scale, y + 14,
                    gain_of(site) > 0 ? fmt::format("{:.3g} s, gain {:.2f}", site.seconds, gain_of(site))
                                      : fmt::format("{:.3g} s", site.seconds));
  }
  return svg(static_cast<int>(count) * kRow + 8, "time by place", body);
}

std::string errors_picture(const AuditSummary& s) {
  static constexpr double kLeast = -6;  // powers of ten
  static constexpr double kMost = 2;
  const auto at = [](double power) {
    return kLabel + (std::clamp(power, kLeast, kMost) - kLeast) / (kMost - kLeast) * (kWidth - kLabel - 60);
  };
  std::string marks;
  std::size_t rows = 0;
  for (const AuditSite& site : s.sites) {
    if (site.error_over_bound < 0 || rows >= kShown) continue;
    const double y = 26 + kRow * static_cast<double>(rows++);
    const double x = at(site.error_over_bound > 0 ? std::log10(site.error_over_bound) : kLeast);
    marks += text_at(kLabel - 8, y + 4, label_of(site), "end");
    marks += fmt::format("<line class=\"grid\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLabel, y,
                         at(kMost), y);
    marks += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n",
                         site.error_over_bound <= 1 ? "own" : "bad", x, y);
    marks += text_at(x + 9, y + 4, fmt::format("{:.2g}", site.error_over_bound));
  }
  if (rows == 0) return "<p>No element was looked at.</p>\n";
  const int height = 30 + kRow * static_cast<int>(rows);
  std::string body;
  for (int power = static_cast<int>(kLeast); power <= static_cast<int>(kMost); ++power) {
    body += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"16\" x2=\"{:.1f}\" y2=\"{}\"/>\n",
                        power == 0 ? "bound" : "grid", at(power), at(power), height - 6);
    body += text_at(at(power), 11, power == 0 ? "bound" : fmt::format("1e{}", power), "middle");
  }
  return svg(height, "errors of the program's own library", body + marks);
}

std::string cards_picture(const AuditSummary& s) {
  double longest = 0;
  for (const CardPrediction& card : s.cards) longest = std::max(longest, card.native_seconds);
  if (longest == 0) return "";
  const double scale = (kWidth - kLabel - 150) / longest;
  std::string body;
  int rows = 0;
  for (std::size_t i = 0; i < s.cards.size(); ++i) {
    const CardPrediction& card = s.cards[i];
    if (gain_of(card) == 0) continue;
    const double y = 4 + kRow * rows++;
    body += text_at(kLabel - 8, y + 14, model::known_devices()[i].title, "end");
    body += fmt::format("<rect class=\"own\" x=\"{}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"9\"/>\n", kLabel, y,
                        card.native_seconds * scale);
    body += fmt::format("<rect class=\"kizami\" x=\"{}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"9\"/>\n", kLabel,
                        y + 10, card.kizami_seconds * scale);
    body += text_at(kLabel + 6 + card.native_seconds * scale, y + 14,
                    fmt::format("{:.3g} s, gain {:.2f}", card.native_seconds, gain_of(card)));
  }
  return "<h2>On cards</h2>\n<p class=\"key\"><span class=\"own\" style=\"background:#2b6ca3\"></span>cuBLAS there, by "
         "the model<span style=\"background:#d9822b\"></span>Kizami there, each product left to the quicker one, at "
         "the "
         "same accuracy. Matrices are taken to be in the card's memory.</p>\n" +
         svg(rows * kRow + 8, "the same products on cards", body);
}

std::string table(const AuditSummary& s) {
  std::string out =
      "<table><tr><th>place</th><th>routine</th><th>calls</th><th>seconds</th><th>Gflop/s</th><th>shapes m x n x k "
      "(calls)</th>"
      "<th>samples</th><th>spread of A, B</th><th>bits</th><th>error / bound</th><th>gain</th></tr>\n";
  for (const AuditSite& site : s.sites) {
    std::string shapes;
    for (std::size_t i = 0; i < std::min<std::size_t>(site.shapes.size(), 3); ++i) {
      const AuditShape& shape = site.shapes[i];
      const std::string times = shape.products > 1 ? fmt::format("{} x ", shape.products) : "";
      shapes += fmt::format("{}{}{} ({})", i == 0 ? "" : ", ", times, shape_text(shape), shape.calls);
    }
    if (site.shapes.size() > 3) shapes += fmt::format(" and {} more", site.shapes.size() - 3);
    const bool is_sampled = site.samples > 0;
    std::string notes;
    for (const std::string& note : site.notes) notes += "<br>" + escaped(note);
    if (const std::string slowness = slowness_of(site); !slowness.empty()) notes += "<br>" + slowness;
    if (site.captured > 0) notes += fmt::format("<br>{} captured into graphs", counted(site.captured, "call"));
    if (!is_sampled && !site.why_no_sample.empty()) notes += "<br>no sample: " + escaped(site.why_no_sample);
    out += fmt::format(
        "<tr><td>{}+{}{}</td><td>{}</td><td>{}</td><td>{:.3g}</td><td>{:.3g}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        escaped(site.site), escaped(site.offset), notes, escaped(site.routine), site.calls, site.seconds,
        site.seconds > 0 ? site.gflop / site.seconds : 0, shapes, site.samples,
        is_sampled ? fmt::format("{}, {}{}", site.spread_a, site.spread_b, site.has_nonfinite ? ", Inf or NaN" : "")
                   : "-",
        is_sampled ? std::to_string(site.bits) : "-",
        site.error_over_bound < 0 ? "-" : fmt::format("{:.2g}", site.error_over_bound),
        gain_of(site) > 0 ? fmt::format("{:.2f}", gain_of(site)) : "-");
  }
  return out + "</table>\n";
}

constexpr const char* kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#222}"
    "h1{font-size:1.4em;overflow-wrap:anywhere}h2{font-size:1.1em;margin-top:1.8em}svg{width:100%;height:auto}svg "
    "text{font-size:12px;fill:#222}"
    ".rest{fill:#e4e4e0}.s0{fill:#2b6ca3}.s1{fill:#4b8fc4}.s2{fill:#84b5db}.own{fill:#2b6ca3}.kizami{fill:#d9822b}"
    ".bad{fill:#b3261e}.grid{stroke:#dcdcd8}.bound{stroke:#b3261e}table{display:block;overflow-x:auto;border-collapse:"
    "collapse;font-size:13px}"
    "td,th{border-bottom:1px solid #ddd;padding:3px 6px;text-align:right;vertical-align:top}"
    "td:first-child,th:first-child,td:nth-child(2),th:nth-child(2),td:nth-child(6),th:nth-child(6){text-align:left}"
    "td:first-child{min-width:11em;overflow-wrap:anywhere}"
    "pre{background:#f6f6f3;padding:.7em;white-space:pre-wrap;overflow-wrap:anywhere}.key "
    "span{display:inline-block;width:1em;height:.7em;margin:0 "
    ".4em 0 1em}";

}  // namespace

std::string audit_html(const AuditSummary& s) {
  std::string command;
  for (const std::string& word : s.command) command += (command.empty() ? "" : " ") + word;
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>kizami "
      "audit</title><style>{}</style></head><body>\n"
      "<h1>Products of <code>{}</code></h1>\n",
      kStyle, escaped(command));
  if (s.calls == 0)
    return out + fmt::format("<p>0 calls were seen, because {}.</p></body></html>\n", escaped(s.why_no_calls));
  out += fmt::format(
      "<p>{} in {}; the run took {:.3g} s and ended with {}. All results are of the program's own "
      "library. Samples took {:.3g} s.{}</p>\n",
      counted(s.calls, "product"), counted(s.processes, "process"), s.seconds, escaped(s.ended), s.sampled_seconds,
      s.cut > 0
          ? fmt::format(" <b>{} ended before the report was whole: calls of the last moments are not counted.</b>",
                        counted(s.cut, "process"))
          : "");
  for (const std::string& device : s.devices)
    out += fmt::format("<p>On {}: its times are of the device.</p>\n", escaped(device));
  out += "<h2>Time in products</h2>\n" + time_picture(s);
  out +=
      "<h2>By place</h2>\n<p class=\"key\"><span class=\"own\" style=\"background:#2b6ca3\"></span>the program's own "
      "library"
      "<span style=\"background:#d9822b\"></span>Kizami on this machine, predicted, at the same accuracy. The gain is "
      "beside what the library took or, if that is less, what it is predicted to take.</p>\n" +
      sites_picture(s);
  out += cards_picture(s);
  out +=
      "<h2>Errors of the program's own library</h2>\n<p>The worst sampled element of each place beside k u |A||B|, in "
      "arithmetic of "
      "113 bits.</p>\n" +
      errors_picture(s);
  out +=
      "<h2>All places</h2>\n<p>spread: exponents within a row of A and a column of B. bits: digits that these lines "
      "must keep for "
      "the bound of a native product.</p>\n" +
      table(s);
  return out + "<h2>Rules</h2>\n<pre>" + escaped(audit_rules(s)) + "</pre>\n</body></html>\n";
}

}  // namespace kizami::cli
