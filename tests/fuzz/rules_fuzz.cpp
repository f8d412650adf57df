// SPDX-License-Identifier: MIT
// The reader of rules files (KIZAMI_RULES). The input is a file.
#include "dropin/policy/rules.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.hpp"

namespace {

using kizami::dropin::Range;
using kizami::dropin::Rule;
using kizami::dropin::Settings;
using kizami::fuzz::require;

bool is_proper(const Range& range) { return 0 <= range.first && range.first <= range.last; }

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const Settings base;
  const kizami::Result<std::vector<Rule>> parsed = kizami::dropin::parse_rules(file, "name", base);
  const auto lines = static_cast<std::size_t>(std::count(file.begin(), file.end(), '\n')) + 1;
  if (!parsed.ok()) {
    const std::string& reason = parsed.status().reason();
    const std::size_t colon = reason.find(": ");
    require(reason.starts_with("name:") && colon != std::string::npos, "a refusal begins with file and line");
    const std::string line = reason.substr(5, colon - 5);
    std::int64_t number = 0;
    require(kizami::parse_integer(line, std::int64_t{1}, static_cast<std::int64_t>(lines), number) ==
                kizami::IntegerFault::kNone,
            "the line is of the file");
    require(reason.size() > colon + 2 && is_printable(reason), "a refusal has a printable reason");
    return 0;
  }
  require(parsed.value().size() <= lines, "no line has two rules");
  for (const Rule& rule : parsed.value()) {
    require(is_proper(rule.m) && is_proper(rule.n) && is_proper(rule.k) && is_proper(rule.size), "ranges are proper");
    const Settings& s = rule.settings;
    require(s.min_size >= kizami::dropin::kAutoMinSize && s.min_size <= kizami::dropin::kMaxMinSize, "min_size");
    require(s.policy.accuracy.bits >= 0 && s.policy.accuracy.bits <= 52, "bits are those of FP64");
  }
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 34}) {
    const Settings& found =
        kizami::dropin::settings_for({"gemm", kizami::Scalar::kF64, n, n, n, nullptr}, parsed.value(), base);
    const bool is_of_a_rule = std::any_of(parsed.value().begin(), parsed.value().end(),
                                          [&](const Rule& rule) { return &rule.settings == &found; });
    require(&found == &base || is_of_a_rule, "settings are those of a rule or the environment");
  }
  return 0;
}
