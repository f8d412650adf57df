// SPDX-License-Identifier: MIT
#include "dropin/policy/settings.hpp"

#include <algorithm>
#include <iterator>

#include "kizami/nearest.hpp"
#include "kizami/wishes.hpp"

namespace kizami::dropin {
namespace {

constexpr int kMaxBits = 52;  // of FP64; FP32 has 23, and products of FP32 with more stay native
/// What programs that know nothing of Kizami cannot be asked: whether they may be made to wait.
constexpr std::string_view kSync = "sync";

Status refused(std::string_view shown, std::string_view value, const std::string& allowed) {
  return {StatusCode::kInvalidArgument, std::string(shown) + " = " + in_quotes(value) + ", must be " + allowed};
}

/// Accuracy correct takes alpha = +-1 and beta = 0 only, which is not for the library to promise of a program's calls.
Status parse_accuracy(std::string_view shown, std::string_view value, Accuracy& out) {
  Accuracy accuracy;
  if (!kizami::parse_accuracy(value, accuracy) || accuracy.kind == Accuracy::Kind::kCorrect || accuracy.bits > kMaxBits)
    return refused(shown, value, "native or bits=N with N of 1.." + std::to_string(kMaxBits));
  out = accuracy;
  return {};
}

Status parse_min_size(std::string_view shown, std::string_view value, std::int64_t& out) {
  if (value == "auto") {
    out = kAutoMinSize;
  } else if (parse_integer<std::int64_t>(value, 0, kMaxMinSize, out) != IntegerFault::kNone) {
    return refused(shown, value, "auto or an integer of 0.." + std::to_string(kMaxMinSize));
  }
  return {};
}

Status parse_bool(std::string_view shown, std::string_view value, bool& out) {
  if (value != "0" && value != "1") return refused(shown, value, "0 or 1");
  out = value == "1";
  return {};
}

/// A setting that is no wish of a policy.
struct OwnSetting {
  std::string_view key;
  Status (*parse)(Settings&, std::string_view shown, std::string_view value);
};
using V = std::string_view;
constexpr OwnSetting kOwnSettings[] = {
    {"min_size", [](Settings& s, V shown, V value) { return parse_min_size(shown, value, s.min_size); }},
    {"own_lines", [](Settings& s, V shown, V value) { return parse_bool(shown, value, s.is_own_lines); }},
    {"learned", [](Settings& s, V shown, V value) { return parse_bool(shown, value, s.is_learned); }},
    {"log", [](Settings& s, V shown, V value) { return parse_bool(shown, value, s.is_logged); }},
};

}  // namespace

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const Wish& wish : wishes()) {
    if (wish.key != kSync) names.push_back(wish.key);
  }
  for (const OwnSetting& own : kOwnSettings) names.push_back(own.key);
  return names;
}

Status assign(Settings& settings, std::string_view key, std::string_view value, std::string_view shown) {
  if (shown.empty()) shown = key;
  const auto* const own = std::ranges::find(kOwnSettings, key, &OwnSetting::key);
  if (own != std::end(kOwnSettings)) return own->parse(settings, shown, value);
  if (key == "accuracy") return parse_accuracy(shown, value, settings.policy.accuracy);
  if (find_wish(key) != nullptr && key != kSync) return set_wish(settings.policy, key, value, shown);
  std::string names;
  for (const std::string_view name : setting_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  return {StatusCode::kInvalidArgument,
          "the setting " + in_quotes(key) + " is unknown, must be one of " + names + did_you_mean(key, names)};
}

Status require_consistent(const Settings& settings) {
  const Scheme scheme = settings.policy.scheme;
  if (!settings.is_own_lines || (scheme != Scheme::kEc && scheme != Scheme::kOzaki1)) return {};
  return {StatusCode::kInvalidArgument, "own_lines = 1 with scheme = " + in_quotes(to_string(scheme)) +
                                            ", whose bits depend on other lines: must be auto or ozaki2 or native"};
}

bool may_be_native(const Settings& settings) {
  const Policy policy = policy_of(settings);
  return policy.scheme == Scheme::kAuto && policy.engine == EngineName::kAuto &&
         policy.reproducibility == Reproducibility::kNotGuaranteed;
}

bool may_learn(const Settings& settings) { return settings.is_learned && may_be_native(settings); }

Policy policy_of(const Settings& settings) {
  Policy policy = settings.policy;
  if (settings.is_own_lines) policy.gauge = Gauge::kNorm;
  if ((settings.min_size == 0 || settings.is_own_lines) && policy.scheme == Scheme::kAuto)
    policy.scheme = Scheme::kOzaki2;
  return policy;
}

bool is_below(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t size) {
  return size > 0 && k <= (size * size * size - 1) / m / n;
}

Status parse_bytes(std::string_view shown, std::string_view value, std::size_t& out) {
  std::uint64_t bytes = 0;
  if (kizami::parse_bytes(value, bytes) != IntegerFault::kNone)
    return refused(shown, value, "bytes of 0.." + std::to_string(kMaxBytes) + ", or a number with K, M or G");
  out = bytes;
  return {};
}

}  // namespace kizami::dropin
