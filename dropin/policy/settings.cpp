// SPDX-License-Identifier: MIT
#include "dropin/policy/settings.hpp"

#include <array>
#include <charconv>

namespace kizami::dropin {
namespace {

constexpr std::array kGauges{Gauge::kEntry, Gauge::kNorm};
constexpr std::array kSchemes{Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2, Scheme::kEc, Scheme::kOzaki1};
constexpr std::array kEngines{EngineName::kAuto,     EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kNativeBlas,
                              EngineName::kCublasLt, EngineName::kHopper, EngineName::kTcModel, EngineName::kTile};
constexpr std::int64_t kMaxBits = 52;  // of FP64; FP32 has 23, and products of FP32 with more stay native
constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kMaxBytes = 1LL << 46;      // 64 TiB
constexpr std::string_view kByteSuffixes = "KMG";  // 2^10, 2^20, 2^30

Status refused(std::string_view shown, std::string_view value, const std::string& allowed) {
  return {StatusCode::kInvalidArgument, std::string(shown) + " = " + quoted(value) + ", must be " + allowed};
}

template <class E, std::size_t N>
Status parse_name(std::string_view shown, std::string_view value, const std::array<E, N>& names, E& out) {
  std::string allowed;
  for (const E name : names) {
    if (to_string(name) == value) {
      out = name;
      return {};
    }
    allowed += (allowed.empty() ? "" : " or ") + std::string(to_string(name));
  }
  return refused(shown, value, allowed);
}

Status parse_accuracy(std::string_view shown, std::string_view value, Accuracy& out) {
  constexpr std::string_view kBits = "bits=";
  std::int64_t bits = 0;
  if (value == "native") {
    out = Accuracy::native();
  } else if (value.starts_with(kBits) && parse_integer(value.substr(kBits.size()), 1, kMaxBits, bits)) {
    out = Accuracy::at_bits(static_cast<int>(bits));
  } else {
    return refused(shown, value, "native or bits=N with N of 1.." + std::to_string(kMaxBits));
  }
  return {};
}

Status parse_min_size(std::string_view shown, std::string_view value, std::int64_t& out) {
  if (value == "auto") {
    out = kAutoMinSize;
  } else if (!parse_integer(value, 0, kMaxMinSize, out)) {
    return refused(shown, value, "auto or an integer of 0.." + std::to_string(kMaxMinSize));
  }
  return {};
}

Status parse_threads(std::string_view shown, std::string_view value, int& out) {
  std::int64_t number = 0;
  if (!parse_integer(value, 0, kMaxThreads, number))
    return refused(shown, value, "an integer of 0.." + std::to_string(kMaxThreads));
  out = static_cast<int>(number);
  return {};
}

Status parse_bool(std::string_view shown, std::string_view value, bool& out) {
  if (value != "0" && value != "1") return refused(shown, value, "0 or 1");
  out = value == "1";
  return {};
}

}  // namespace

Status assign(Settings& settings, std::string_view key, std::string_view value, std::string_view shown) {
  if (shown.empty()) shown = key;
  Policy& policy = settings.policy;
  if (key == "accuracy") return parse_accuracy(shown, value, policy.accuracy);
  if (key == "gauge") return parse_name(shown, value, kGauges, policy.gauge);
  if (key == "scheme") return parse_name(shown, value, kSchemes, policy.scheme);
  if (key == "engine") return parse_name(shown, value, kEngines, policy.engine);
  if (key == "min_size") return parse_min_size(shown, value, settings.min_size);
  if (key == "own_lines") return parse_bool(shown, value, settings.is_own_lines);
  if (key == "learned") return parse_bool(shown, value, settings.is_learned);
  if (key == "threads") return parse_threads(shown, value, policy.threads);
  if (key == "workspace") return parse_bytes(shown, value, policy.workspace_limit_bytes);
  if (key == "log") return parse_bool(shown, value, settings.is_logged);
  std::string names;
  for (const std::string_view name : kSettingNames) names += (names.empty() ? "" : " or ") + std::string(name);
  return {StatusCode::kInvalidArgument, "the setting " + quoted(key) + " is unknown, must be " + names};
}

Status require_consistent(const Settings& settings) {
  const Scheme scheme = settings.policy.scheme;
  if (!settings.is_own_lines || (scheme != Scheme::kEc && scheme != Scheme::kOzaki1)) return {};
  return {StatusCode::kInvalidArgument, "own_lines = 1 with scheme = " + quoted(to_string(scheme)) +
                                            ", whose bits depend on other lines: must be auto or ozaki2 or native"};
}

bool may_learn(const Settings& settings) {
  const Policy policy = policy_of(settings);
  return settings.is_learned && policy.scheme == Scheme::kAuto && policy.engine == EngineName::kAuto &&
         policy.reproducibility == Reproducibility::kNotGuaranteed;
}

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

std::string quoted(std::string_view value) {
  constexpr std::size_t kMaxShown = 60;
  std::string out = "'";
  for (const char c : value.substr(0, kMaxShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (value.size() > kMaxShown ? "...'" : "'");
}

Status parse_bytes(std::string_view shown, std::string_view value, std::size_t& out) {
  int shift = 0;
  std::string_view digits = value;
  if (!value.empty()) {
    const std::size_t suffix = kByteSuffixes.find(value.back());
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      digits.remove_suffix(1);
    }
  }
  std::int64_t number = 0;
  if (!parse_integer(digits, 0, kMaxBytes >> shift, number)) {
    return refused(shown, value, "bytes of 0.." + std::to_string(kMaxBytes) + ", or a number with K, M or G");
  }
  out = static_cast<std::size_t>(number) << shift;
  return {};
}

bool parse_integer(std::string_view text, std::int64_t lo, std::int64_t hi, std::int64_t& out) {
  if (text.starts_with('-')) return false;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < lo || value > hi) return false;
  out = value;
  return true;
}

}  // namespace kizami::dropin
