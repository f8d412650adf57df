// SPDX-License-Identifier: MIT
#include "dropin/policy/rules.hpp"

#include <dlfcn.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>

namespace kizami::dropin {
namespace {

constexpr std::string_view kRoutines[]{"gemm",  "gemm3m", "gemmt", "symm",  "hemm", "syrk", "herk",
                                       "syrkx", "herkx",  "syr2k", "her2k", "trmm", "trsm"};

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  std::size_t begin = text.find_first_not_of(separators);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return words;
}

Status invalid(const std::string& reason) { return {StatusCode::kInvalidArgument, reason}; }

Status parse_range(std::string_view key, std::string_view value, std::int64_t hi, Range& out) {
  const std::size_t dots = value.find("..");
  const std::string_view first = value.substr(0, dots);
  const std::string_view last = dots == std::string_view::npos ? first : value.substr(dots + 2);
  Range range{0, hi};
  const bool is_empty = first.empty() && last.empty();
  const auto parse = [&](std::string_view end, std::int64_t& to) {
    return end.empty() || parse_integer<std::int64_t>(end, 0, hi, to) == IntegerFault::kNone;
  };
  const bool is_ok = !is_empty && parse(first, range.first) && parse(last, range.last) && range.first <= range.last;
  if (!is_ok) {
    return invalid(std::string(key) + " = " + in_quotes(value) +
                   ", must be N, N.., ..N or N..M with 0 <= N <= M <= " + std::to_string(hi));
  }
  out = range;
  return {};
}

Status parse_routines(std::string_view value, std::vector<std::string>& out) {
  for (const std::string_view name : split(value, ",")) {
    if (std::find(std::begin(kRoutines), std::end(kRoutines), name) == std::end(kRoutines)) {
      return invalid("routine " + in_quotes(name) +
                     " is unknown, must be one of gemm gemm3m gemmt symm hemm syrk herk "
                     "syrkx herkx syr2k her2k trmm trsm, without the letter of the type");
    }
    out.emplace_back(name);
  }
  return out.empty() ? invalid("routine = '', must name a routine") : Status();
}

Status parse_types(std::string_view value, std::string& out) {
  for (const std::string_view name : split(value, ",")) {
    if (name.size() != 1 || std::string_view("sdcz").find(name[0]) == std::string_view::npos)
      return invalid("type = " + in_quotes(value) + ", must be s, d, c, z or several with commas between");
    out += name[0];
  }
  return out.empty() ? invalid("type = '', must be s, d, c or z") : Status();
}

Status add_condition(Rule& rule, std::string_view key, std::string_view value) {
  constexpr std::int64_t kMaxDim = std::int64_t{1} << 34;
  if (key == "routine") return parse_routines(value, rule.routines);
  if (key == "type") return parse_types(value, rule.types);
  if (key == "m") return parse_range(key, value, kMaxDim, rule.m);
  if (key == "n") return parse_range(key, value, kMaxDim, rule.n);
  if (key == "k") return parse_range(key, value, kMaxDim, rule.k);
  if (key == "size") return parse_range(key, value, kMaxMinSize, rule.size);
  if (key == "site") {
    rule.site = value;
    return rule.site.empty() ? invalid("site = '', must be a pattern") : Status();
  }
  return invalid("the condition " + in_quotes(key) + " is unknown, must be routine, type, m, n, k, size or site");
}

Status parse_rule(std::string_view line, Rule& out) {
  bool is_after_colon = false;
  std::vector<std::string_view> seen;
  for (const std::string_view word : split(line, " \t\r")) {
    if (word == ":") {
      if (is_after_colon) return invalid("a second lone ':', must be one between conditions and settings");
      is_after_colon = true;
      seen.clear();
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      return invalid(in_quotes(word) + " is not understood, must be name=value or a lone ':'");
    const std::string_view key = word.substr(0, equals);
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) return invalid(in_quotes(key) + " is given twice");
    seen.push_back(key);
    const std::string_view value = word.substr(equals + 1);
    KIZAMI_RETURN_IF_ERROR(is_after_colon ? assign(out.settings, key, value) : add_condition(out, key, value));
  }
  if (!is_after_colon) return invalid("no lone ':' between conditions and settings");
  if (seen.empty()) return invalid("no setting after ':'");
  return require_consistent(out.settings);
}

bool holds(const Range& range, std::int64_t x) { return range.first <= x && x <= range.last; }

/// size = N..M: N^3 <= m n k < (M + 1)^3, so that every product has exactly one size.
bool holds_size(const Range& range, const Request& r) {
  if (r.m < 1 || r.n < 1 || r.k < 1) return range.first == 0;
  return !is_below(r.m, r.n, r.k, range.first) &&
         (range.last >= kMaxMinSize || is_below(r.m, r.n, r.k, range.last + 1));
}

bool holds_site(const std::string& pattern, const std::string& site) {
  const std::string file = site.substr(0, site.find(':'));
  return fnmatch(pattern.c_str(), site.c_str(), 0) == 0 || fnmatch(pattern.c_str(), file.c_str(), 0) == 0;
}

/// `site` is looked up by the first rule that wants it.
bool holds(const Rule& rule, const Request& request, std::optional<std::string>& site) {
  const auto& names = rule.routines;
  if (!names.empty() && std::find(names.begin(), names.end(), request.routine) == names.end()) return false;
  if (!rule.types.empty() && rule.types.find(letter_of(request.scalar)) == std::string::npos) return false;
  if (!holds(rule.m, request.m) || !holds(rule.n, request.n) || !holds(rule.k, request.k)) return false;
  if (!holds_size(rule.size, request)) return false;
  if (rule.site.empty()) return true;
  if (!site) site = site_of(request.caller);
  return holds_site(rule.site, *site);
}

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view name, const Settings& base) {
  std::vector<Rule> rules;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end).substr(0, text.substr(0, end).find('#'));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Rule rule;
    rule.settings = base;
    const Status status = parse_rule(line, rule);
    if (!status.ok()) return invalid(std::string(name) + ":" + std::to_string(number) + ": " + status.reason());
    rules.push_back(std::move(rule));
  }
  return rules;
}

const Settings& settings_for(const Request& request, const std::vector<Rule>& rules, const Settings& base) {
  std::optional<std::string> site;
  for (const Rule& rule : rules) {
    if (holds(rule, request, site)) return rule.settings;
  }
  return base;
}

std::string site_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  const std::string_view path = info.dli_fname;
  std::string site(path.substr(path.find_last_of('/') + 1));
  return info.dli_sname == nullptr ? site : site + ":" + info.dli_sname;
}

char letter_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF32:
      return 's';
    case Scalar::kF64:
      return 'd';
    case Scalar::kC64:
      return 'c';
    default:
      return 'z';
  }
}

}  // namespace kizami::dropin
