// SPDX-License-Identifier: MIT
#include "audit_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "kizami/predict.hpp"
#include "preloading.hpp"

namespace kizami::cli {
namespace {

constexpr std::size_t kShownSites = 20;
constexpr double kWorthIt = 1.1;  ///< predictions err
/// A measured time so many times as long as the predicted one is of a busy machine or of another library.
constexpr double kMuchLonger = 2;

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-"; }

/// Of all calls. A row that keeps no shapes has their sum.
double multiplications_of(const nlohmann::json& line) {
  if (line.contains("multiplications")) return line["multiplications"].get<double>() * line.value("part", 1.0);
  double product = line.value("part", 1.0);
  for (const char* const factor : {"m", "n", "k", "products", "calls"}) product *= line.value(factor, 0.0);
  return product;
}

/// What shapes with a prediction would take, beside what they took and what the native library can do.
void compare(AuditSite& site, const AuditShape& shape, const nlohmann::json& line) {
  const auto calls = static_cast<double>(shape.calls);
  const double of_model = line.value("predicted_native_seconds", 0.0) * calls;
  const double native = of_model > 0 ? of_model : shape.seconds;
  site.measured_seconds += shape.seconds;
  site.native_seconds += native;
  site.compared_seconds += std::min(shape.seconds, native);
  site.predicted_seconds += line["predicted_seconds"].get<double>() * calls;
  if (!site.scheme.empty() && shape.seconds < site.scheme_seconds) return;
  site.scheme = line.value("predicted_scheme", "");
  site.scheme_seconds = shape.seconds;
}

void add(AuditSite& site, const nlohmann::json& line) {
  const AuditShape shape{line.value("m", std::int64_t{0}), line.value("n", std::int64_t{0}),
                         line.value("k", std::int64_t{0}), line.value("products", std::int64_t{1}),
                         line.value("part", 1.0),          line.value("calls", std::int64_t{0}),
                         line.value("seconds", 0.0),       2e-9 * multiplications_of(line)};
  site.stem = line.value("stem", "");
  site.calls += shape.calls;
  site.captured += line.value("captured", std::int64_t{0});
  site.seconds += shape.seconds;
  site.gflop += shape.gflop;
  site.samples += line.value("samples", std::int64_t{0});
  site.spread_a = std::max(site.spread_a, line.value("spread_a", 0));
  site.spread_b = std::max(site.spread_b, line.value("spread_b", 0));
  site.bits = std::max(site.bits, line.value("bits", 0));
  site.has_nonfinite |= line.value("nonfinite", false);
  if (line.contains("why_no_sample")) site.why_no_sample = line.value("why_no_sample", "");
  const std::string note = line.value("note", "");
  if (!note.empty() && std::ranges::find(site.notes, note) == site.notes.end()) site.notes.push_back(note);
  if (line.contains("error_over_bound")) {
    const auto& error = line["error_over_bound"];  // null is NaN or Inf
    const double ratio = error.is_number() ? error.get<double>() : HUGE_VAL;
    site.error_over_bound = std::max(site.error_over_bound, ratio);
  }
  if (line.contains("predicted_seconds")) compare(site, shape, line);
  site.shapes.push_back(shape);
}

/// Those of several processes, or of other options, are one; the longest times come first.
void merge_shapes(std::vector<AuditShape>& shapes) {
  const auto size = [](const AuditShape& s) { return std::tie(s.m, s.n, s.k, s.products); };
  std::ranges::stable_sort(shapes, {}, size);
  std::vector<AuditShape> out;
  for (const AuditShape& shape : shapes) {
    if (out.empty() || size(out.back()) != size(shape)) {
      out.push_back(shape);
      continue;
    }
    out.back().calls += shape.calls;
    out.back().seconds += shape.seconds;
    out.back().gflop += shape.gflop;
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &AuditShape::seconds);
  shapes = std::move(out);
}

/// Seconds of one call on a card; 0: the model does not know.
double predicted(const model::Device& card, const std::string& type, const AuditShape& shape, model::Way way) {
  model::Request request;
  request.scalar = type == "s" ? Scalar::kF32 : type == "d" ? Scalar::kF64 : type == "c" ? Scalar::kC64 : Scalar::kC128;
  request.m = shape.m;
  request.n = shape.n;
  request.k = shape.k;
  request.way = way;
  if (way == model::Way::kEc) request.format = model::Format::kFp16;
  const Result<model::Prediction> made = model::predict(card, request);
  return made.ok() ? made.value().seconds * static_cast<double>(shape.products) * shape.part : 0;
}

/// What the shapes with the most time would take elsewhere.
void predict_cards(AuditSummary& summary) {
  constexpr std::size_t kMostShapes = 256;  // each is predicted on each card
  struct Row {
    AuditSite* site;
    const AuditShape* shape;
  };
  const std::vector<model::Device>& known = model::known_devices();
  summary.cards.resize(known.size());
  std::vector<Row> rows;
  for (AuditSite& site : summary.sites) {
    site.cards.resize(known.size());
    for (const AuditShape& shape : site.shapes) {
      if (!site.type.empty() && std::min({shape.m, shape.n, shape.k, shape.products}) > 0)
        rows.push_back({&site, &shape});
    }
  }
  std::ranges::stable_sort(rows, [](const Row& x, const Row& y) { return x.shape->seconds > y.shape->seconds; });
  if (rows.size() > kMostShapes) rows.resize(kMostShapes);
  for (const auto& [site, shape] : rows) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      const double native = predicted(known[i], site->type, *shape, model::Way::kNative);
      if (native == 0) continue;
      double quickest = native;
      for (const model::Way way : {model::Way::kOzaki2, model::Way::kEc}) {
        const double seconds = predicted(known[i], site->type, *shape, way);
        if (seconds > 0) quickest = std::min(quickest, seconds);
      }
      for (CardPrediction* card : {&site->cards[i], &summary.cards[i]}) {
        card->native_seconds += native * static_cast<double>(shape->calls);
        card->kizami_seconds += quickest * static_cast<double>(shape->calls);
      }
    }
  }
}

/// "a100 1.00, b200 1.52", in lines.
std::string gains_text(const std::vector<CardPrediction>& cards) {
  constexpr std::size_t kInLine = 7;
  std::string out;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (gain_of(cards[i]) == 0) continue;
    out += shown == 0 ? "" : shown % kInLine == 0 ? ",\n    " : ", ";
    out += fmt::format("{} {:.2f}", model::known_devices()[i].name, gain_of(cards[i]));
    ++shown;
  }
  return out;
}

}  // namespace

double gain_of(const AuditSite& site) {
  return site.predicted_seconds > 0 ? site.compared_seconds / site.predicted_seconds : 0;
}

std::string slowness_of(const AuditSite& site) {
  if (!(site.measured_seconds > kMuchLonger * site.native_seconds)) return "";
  return fmt::format(
      "its own library took {:.3g} times what it is predicted to: the machine was busy, or the library "
      "slow; the gain is beside the prediction",
      site.measured_seconds / site.native_seconds);
}

std::string counted(std::int64_t count, const char* noun) {
  const bool hisses = std::string_view(noun).ends_with('s');
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : hisses ? "es" : "s");
}

std::string shape_text(const AuditShape& s) {
  const bool is_known = s.m > 0 || s.n > 0 || s.k > 0 || s.gflop == 0;
  return is_known ? fmt::format("{}x{}x{}", s.m, s.n, s.k) : "other shapes";
}

double gain_of(const CardPrediction& card) {
  return card.kizami_seconds > 0 ? card.native_seconds / card.kizami_seconds : 0;
}

AuditSummary summarize(const std::vector<nlohmann::json>& lines, const std::vector<std::string>& command,
                       double seconds, const std::string& ended) {
  AuditSummary out;
  out.command = command;
  out.seconds = seconds;
  out.ended = ended;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, AuditSite> sites;
  std::map<std::int64_t, double> elapsed;  // by process, which both libraries tell of
  for (const nlohmann::json& line : lines) {
    const std::string event = line.value("event", "");
    if (event == "process") {
      const bool is_called = line.value("native", std::int64_t{0}) > 0;
      const auto [process, is_first] = elapsed.try_emplace(line.value("pid", std::int64_t{0}), 0);
      if (is_called) process->second = std::max(process->second, line.value("elapsed", 0.0));
      if (is_first && line.contains("rank")) out.ranks.push_back(line.value("rank", ""));
    } else if (event == "device") {
      const std::string name = line.value("name", "");
      if (std::ranges::find(out.devices, name) == out.devices.end()) out.devices.push_back(name);
    } else if (event == "audit") {
      out.sampled_seconds += line.value("sampled_seconds", 0.0);
    } else if (event == "audited") {
      const std::tuple key{line.value("site", ""), line.value("offset", ""), line.value("routine", ""),
                           line.value("type", "")};
      AuditSite& site = sites[key];
      std::tie(site.site, site.offset, site.routine, site.type) = key;
      add(site, line);
    }
  }
  const Processes processes = processes_of(lines);
  out.processes = processes.count;
  out.cut = processes.cut;
  for (const auto& [pid, of_process] : elapsed) out.process_seconds += of_process;
  for (auto& [key, site] : sites) {
    merge_shapes(site.shapes);
    out.calls += site.calls;
    out.product_seconds += site.seconds;
    out.captured += site.captured;
    out.sites.push_back(std::move(site));
  }
  std::ranges::stable_sort(out.sites, [](const auto& x, const auto& y) { return x.seconds > y.seconds; });
  predict_cards(out);
  return out;
}

std::string audit_text(const AuditSummary& s) {
  if (s.calls == 0) return fmt::format("kizami audit: 0 calls seen, because {}\n", s.why_no_calls);
  std::string out = fmt::format("kizami audit: {} in {}, {:.3g} s of {:.3g} s ({}); {}\n", counted(s.calls, "product"),
                                counted(s.processes, "process"), s.product_seconds, s.process_seconds,
                                percent(s.product_seconds, s.process_seconds), s.ended);
  out +=
      fmt::format("  samples took {:.3g} s ({})\n", s.sampled_seconds, percent(s.sampled_seconds, s.process_seconds));
  for (const std::string& device : s.devices) out += fmt::format("  on {}\n", device);
  if (!s.ranks.empty()) out += fmt::format("  {} of MPI\n", counted(std::ssize(s.ranks), "rank"));
  if (s.cut > 0)
    out += fmt::format("  {} ended before the report was whole: calls of the last moments are not counted\n",
                       counted(s.cut, "process"));
  if (s.captured > 0)
    out += fmt::format("  {} captured into graphs: without a time, and replays are not seen\n",
                       counted(s.captured, "call"));
  out += fmt::format("  {:>7} {:>9} {:<20} {:<18} {:>7} {:>9} {:>5} {:>9} {:>6}  {}\n", "share", "calls", "routine",
                     "largest share", "samples", "spread", "bits", "err/bound", "gain", "place");
  for (std::size_t i = 0; i < std::min(s.sites.size(), kShownSites); ++i) {
    const AuditSite& site = s.sites[i];
    const bool is_sampled = site.samples > 0;
    out += fmt::format("  {:>7} {:>9} {:<20} {:<18} {:>7} {:>9} {:>5} {:>9} {:>6}  {}+{}\n",
                       percent(site.seconds, s.process_seconds), site.calls, site.routine,
                       site.shapes.empty() ? "" : shape_text(site.shapes.front()), site.samples,
                       is_sampled ? fmt::format("{}, {}", site.spread_a, site.spread_b) : "-",
                       is_sampled ? fmt::format("{}", site.bits) : "-",
                       site.error_over_bound < 0 ? "-" : fmt::format("{:.2g}", site.error_over_bound),
                       gain_of(site) > 0 ? fmt::format("{:.2f}", gain_of(site)) : "-", site.site, site.offset);
    const std::string slowness = slowness_of(site);
    if (!slowness.empty()) out += fmt::format("          {}\n", slowness);
    for (const std::string& note : site.notes) out += fmt::format("          {}\n", note);
    if (!is_sampled && !site.why_no_sample.empty()) out += fmt::format("          no sample: {}\n", site.why_no_sample);
  }
  if (s.sites.size() > kShownSites)
    out += fmt::format("  and {}\n",
                       counted(std::ssize(s.sites) - static_cast<std::ptrdiff_t>(kShownSites), "more place"));
  const std::string gains = gains_text(s.cards);
  if (!gains.empty())
    out += "  gain on cards, by the model, with matrices in their memory and each product left to the quicker:\n    " +
           gains + "\n";
  return out +
         "  share: of the time of the processes. spread: exponents within a row of A, a column of B. bits: digits that "
         "lines\n"
         "  must keep for the bound of a native product; the most of all samples. err/bound: of the program's own "
         "library,\n"
         "  beside k u |A||B|. gain: its time, or what it is predicted to take on this machine if that is less, over "
         "what "
         "Kizami\n"
         "  is predicted to take at the same accuracy.\n";
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
    if (!site.type.empty()) line["type"] = site.type;
    if (!site.notes.empty()) line["notes"] = site.notes;
    if (site.captured > 0) line["captured"] = site.captured;
    if (!site.why_no_sample.empty()) line["why_no_sample"] = site.why_no_sample;
    if (site.samples > 0)
      line.update({{"spread_a", site.spread_a},
                   {"spread_b", site.spread_b},
                   {"bits", site.bits},
                   {"nonfinite", site.has_nonfinite}});
    if (!(site.error_over_bound < 0)) line["error_over_bound"] = site.error_over_bound;
    if (gain_of(site) > 0)
      line.update({{"predicted_gain", gain_of(site)},
                   {"predicted_scheme", site.scheme},
                   {"measured_over_predicted", site.measured_seconds / site.native_seconds}});
    nlohmann::json on_cards = nlohmann::json::object();
    for (std::size_t i = 0; i < site.cards.size(); ++i) {
      if (gain_of(site.cards[i]) > 0) on_cards[model::known_devices()[i].name] = gain_of(site.cards[i]);
    }
    if (!on_cards.empty()) line["predicted_gain_on"] = on_cards;
    append(line);
  }
  for (std::size_t i = 0; i < s.cards.size(); ++i) {
    if (gain_of(s.cards[i]) > 0)
      append({{"event", "card"},
              {"card", model::known_devices()[i].name},
              {"native_seconds", s.cards[i].native_seconds},
              {"kizami_seconds", s.cards[i].kizami_seconds}});
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
      "# By kizami audit, for kizami run --rules. Gains are beside what the program's own library took or, if that is\n"
      "# less, what it is predicted to take on this machine; at accuracy native.\n";
  std::string rules;
  for (const AuditSite& site : s.sites) {
    const std::string slowness = slowness_of(site);
    const std::string rest =
        fmt::format("# {:.3g} s, gain {:.2f}{}", site.seconds, gain_of(site), slowness.empty() ? "" : "; " + slowness);
    const bool is_chosen = !site.scheme.empty() && site.scheme != "native";
    if (site.stem.empty() || site.type.empty() || !is_chosen || gain_of(site) < kWorthIt ||
        site.site.find_first_of(" *?[#") != std::string::npos)
      continue;
    rules +=
        fmt::format("routine={} type={} site={} : scheme={}  {}\n", site.stem, site.type, site.site, site.scheme, rest);
  }
  if (rules.empty()) return out + "# There is no place where Kizami is predicted to be faster.\n: scheme=auto\n";
  return out + rules;
}

}  // namespace kizami::cli
