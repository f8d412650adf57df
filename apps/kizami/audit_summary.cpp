// SPDX-License-Identifier: MIT
#include "audit_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace kizami::cli {
namespace {

constexpr std::size_t kShownSites = 20;
constexpr double kWorthIt = 1.1;  ///< predictions err

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-"; }

std::string shape_text(const AuditShape& s) { return fmt::format("{}x{}x{}", s.m, s.n, s.k); }

/// "gemm" of "scipy_cblas_dgemm64_".
std::string stem_of(const std::string& routine, char& letter) {
  static constexpr const char* kStems[] = {"gemm3m", "gemmt", "gemm", "syrk", "herk", "syr2k",
                                           "her2k",  "symm",  "hemm", "trmm", "trsm"};
  for (const char* const stem : kStems) {
    const std::size_t at = routine.find(stem);
    if (at == std::string::npos || at == 0) continue;
    letter = routine[at - 1];
    return stem;
  }
  return {};
}

void add(AuditSite& site, const nlohmann::json& line) {
  const AuditShape shape{line.value("m", std::int64_t{0}), line.value("n", std::int64_t{0}),
                         line.value("k", std::int64_t{0}), line.value("calls", std::int64_t{0}),
                         line.value("seconds", 0.0)};
  site.calls += shape.calls;
  site.seconds += shape.seconds;
  site.gflop += 2e-9 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) *
                static_cast<double>(shape.calls);
  site.samples += line.value("samples", std::int64_t{0});
  site.spread_a = std::max(site.spread_a, line.value("spread_a", 0));
  site.spread_b = std::max(site.spread_b, line.value("spread_b", 0));
  site.bits = std::max(site.bits, line.value("bits", 0));
  site.has_nonfinite |= line.value("nonfinite", false);
  if (line.contains("error_over_bound")) {
    const auto& error = line["error_over_bound"];  // null is NaN or Inf
    const double ratio = error.is_number() ? error.get<double>() : HUGE_VAL;
    site.error_over_bound = std::max(site.error_over_bound, ratio);
  }
  if (line.contains("predicted_seconds")) {
    site.compared_seconds += shape.seconds;
    site.predicted_seconds += line["predicted_seconds"].get<double>() * static_cast<double>(shape.calls);
  }
  const auto same = std::ranges::find_if(
      site.shapes, [&](const AuditShape& s) { return s.m == shape.m && s.n == shape.n && s.k == shape.k; });
  if (same == site.shapes.end()) {
    site.shapes.push_back(shape);
  } else {
    same->calls += shape.calls;
    same->seconds += shape.seconds;
  }
}

}  // namespace

double gain_of(const AuditSite& site) {
  return site.predicted_seconds > 0 ? site.compared_seconds / site.predicted_seconds : 0;
}

AuditSummary summarize(const std::vector<nlohmann::json>& lines, const std::vector<std::string>& command,
                       double seconds, const std::string& ended) {
  AuditSummary out;
  out.command = command;
  out.seconds = seconds;
  out.ended = ended;
  std::map<std::tuple<std::string, std::string, std::string>, AuditSite> sites;
  for (const nlohmann::json& line : lines) {
    const std::string event = line.value("event", "");
    if (event == "process") {
      ++out.processes;
      out.cut += line.value("complete", false) ? 0 : 1;
      if (line.value("native", std::int64_t{0}) > 0) out.process_seconds += line.value("elapsed", 0.0);
      if (line.contains("rank")) out.ranks.push_back(line.value("rank", ""));
    } else if (event == "audit") {
      out.sampled_seconds += line.value("sampled_seconds", 0.0);
    } else if (event == "audited") {
      const std::tuple key{line.value("site", ""), line.value("offset", ""), line.value("routine", "")};
      AuditSite& site = sites[key];
      std::tie(site.site, site.offset, site.routine) = key;
      add(site, line);
    }
  }
  for (auto& [key, site] : sites) {
    std::ranges::stable_sort(site.shapes, [](const auto& x, const auto& y) { return x.seconds > y.seconds; });
    out.calls += site.calls;
    out.product_seconds += site.seconds;
    out.sites.push_back(std::move(site));
  }
  std::ranges::stable_sort(out.sites, [](const auto& x, const auto& y) { return x.seconds > y.seconds; });
  return out;
}

std::string audit_text(const AuditSummary& s) {
  if (s.calls == 0) return fmt::format("kizami audit: 0 calls seen, because {}\n", s.why_no_calls);
  std::string out = fmt::format("kizami audit: {} products in {} process{}, {:.3g} s of {:.3g} s ({}); {}\n", s.calls,
                                s.processes, s.processes == 1 ? "" : "es", s.product_seconds, s.process_seconds,
                                percent(s.product_seconds, s.process_seconds), s.ended);
  out +=
      fmt::format("  samples took {:.3g} s ({})\n", s.sampled_seconds, percent(s.sampled_seconds, s.process_seconds));
  if (!s.ranks.empty()) out += fmt::format("  {} ranks of MPI\n", s.ranks.size());
  if (s.cut > 0)
    out += fmt::format("  {} process{} ended before the report was whole: calls of the last moments are not counted\n",
                       s.cut, s.cut == 1 ? "" : "es");
  out += fmt::format("  {:>7} {:>9} {:<20} {:<18} {:>9} {:>5} {:>9} {:>6}  {}\n", "share", "calls", "routine",
                     "largest share", "spread", "bits", "err/bound", "gain", "place");
  for (std::size_t i = 0; i < std::min(s.sites.size(), kShownSites); ++i) {
    const AuditSite& site = s.sites[i];
    const bool is_sampled = site.samples > 0;
    out += fmt::format("  {:>7} {:>9} {:<20} {:<18} {:>9} {:>5} {:>9} {:>6}  {}+{}\n",
                       percent(site.seconds, s.process_seconds), site.calls, site.routine,
                       site.shapes.empty() ? "" : shape_text(site.shapes.front()),
                       is_sampled ? fmt::format("{}, {}", site.spread_a, site.spread_b) : "-",
                       is_sampled ? fmt::format("{}", site.bits) : "-",
                       site.error_over_bound < 0 ? "-" : fmt::format("{:.2g}", site.error_over_bound),
                       gain_of(site) > 0 ? fmt::format("{:.2f}", gain_of(site)) : "-", site.site, site.offset);
  }
  if (s.sites.size() > kShownSites) out += fmt::format("  and {} more places\n", s.sites.size() - kShownSites);
  return out +
         "  share: of the time of the processes. spread: exponents within a row of A, a column of B. bits: digits that "
         "lines\n"
         "  must keep for the bound of a native product. err/bound: of the program's own library, beside k u |A||B|.\n"
         "  gain: its time over the one predicted of Kizami on this machine, at the same accuracy.\n";
}

std::string audit_json(const AuditSummary& s, const std::vector<nlohmann::json>& lines) {
  std::string out;
  const auto append = [&](const nlohmann::json& line) {
    out += line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  };
  for (const nlohmann::json& line : lines) append(line);
  for (const AuditSite& site : s.sites) {
    nlohmann::json line{{"event", "site"},         {"site", site.site},      {"offset", site.offset},
                        {"routine", site.routine}, {"calls", site.calls},    {"seconds", site.seconds},
                        {"gflop", site.gflop},     {"samples", site.samples}};
    if (site.samples > 0)
      line.update({{"spread_a", site.spread_a},
                   {"spread_b", site.spread_b},
                   {"bits", site.bits},
                   {"nonfinite", site.has_nonfinite}});
    if (!(site.error_over_bound < 0)) line["error_over_bound"] = site.error_over_bound;
    if (gain_of(site) > 0) line["predicted_gain"] = gain_of(site);
    append(line);
  }
  nlohmann::json run{{"event", "run"},
                     {"command", s.command},
                     {"ended", s.ended},
                     {"seconds", s.seconds},
                     {"processes", s.processes},
                     {"incomplete", s.cut},
                     {"calls", s.calls},
                     {"product_seconds", s.product_seconds},
                     {"process_seconds", s.process_seconds},
                     {"sampled_seconds", s.sampled_seconds}};
  if (!s.why_no_calls.empty()) run["why_no_calls"] = s.why_no_calls;
  append(run);
  return out;
}

std::string audit_rules(const AuditSummary& s) {
  std::string out =
      "# By kizami audit, for kizami run --rules. Gains are those predicted of this machine, at accuracy native.\n";
  std::string rules;
  for (const AuditSite& site : s.sites) {
    char letter = 0;
    const std::string stem = stem_of(site.routine, letter);
    const std::string rest = fmt::format("# {:.3g} s, gain {:.2f}", site.seconds, gain_of(site));
    if (stem.empty() || gain_of(site) < kWorthIt || site.site.find_first_of(" *?[#") != std::string::npos) continue;
    rules += fmt::format("routine={} type={} site={} : scheme=ozaki2  {}\n", stem, letter, site.site, rest);
  }
  if (rules.empty()) return out + "# There is no place where Kizami is predicted to be faster.\n: scheme=auto\n";
  return out + rules;
}

}  // namespace kizami::cli
