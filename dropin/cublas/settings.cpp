// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace kizami::dropin {
namespace {

constexpr std::array kGauges{Gauge::kEntry, Gauge::kNorm};
constexpr std::array kSchemes{Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2, Scheme::kEc, Scheme::kOzaki1};
constexpr std::array kEngines{EngineName::kAuto, EngineName::kCublasLt, EngineName::kHopper};
constexpr std::int64_t kMaxBits = 52;  // of FP64; FP32 has 23, and products of FP32 with more are left to cuBLAS

/// The value for a message: at most 60 characters, anything unprintable as a question mark.
std::string quoted(std::string_view value) {
  constexpr std::size_t kMaxShown = 60;
  std::string out = "'";
  for (const char c : value.substr(0, kMaxShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (value.size() > kMaxShown ? "...'" : "'");
}

Status refused(const char* variable, std::string_view value, const std::string& allowed) {
  return {StatusCode::kInvalidArgument, std::string(variable) + " = " + quoted(value) + ", must be " + allowed};
}

/// The variable's value; null if it is unset or empty.
const char* value_of(ReadVariable read_variable, const char* variable) {
  const char* value = read_variable(variable);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

/// Digits only.
std::optional<std::int64_t> integer(std::string_view text, std::int64_t lo, std::int64_t hi) {
  if (text.starts_with('-')) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < lo || value > hi) return std::nullopt;
  return value;
}

template <class E, std::size_t N>
Status read_name(ReadVariable read_variable, const char* variable, const std::array<E, N>& names, E& out) {
  const char* value = value_of(read_variable, variable);
  if (value == nullptr) return {};
  std::string allowed;
  for (const E name : names) {
    if (to_string(name) == value) {
      out = name;
      return {};
    }
    allowed += (allowed.empty() ? "" : " or ") + std::string(to_string(name));
  }
  return refused(variable, value, allowed);
}

Status read_integer(ReadVariable read_variable, const char* variable, std::int64_t hi, std::int64_t& out) {
  const char* value = value_of(read_variable, variable);
  if (value == nullptr) return {};
  const std::optional<std::int64_t> number = integer(value, 0, hi);
  if (!number) return refused(variable, value, "an integer of 0.." + std::to_string(hi));
  out = *number;
  return {};
}

Status read_accuracy(ReadVariable read_variable, Accuracy& out) {
  constexpr const char* kVariable = "KIZAMI_ACCURACY";
  constexpr std::string_view kBits = "bits=";
  const char* value = value_of(read_variable, kVariable);
  if (value == nullptr || std::string_view(value) == "native") return {};
  const std::string_view text = value;
  const std::optional<std::int64_t> bits =
      text.starts_with(kBits) ? integer(text.substr(kBits.size()), 1, kMaxBits) : std::nullopt;
  if (!bits) return refused(kVariable, text, "native or bits=N with N of 1.." + std::to_string(kMaxBits));
  out = Accuracy::at_bits(static_cast<int>(*bits));
  return {};
}

Settings read_process_settings() {
  Result<Settings> settings = read_settings([](const char* name) -> const char* { return std::getenv(name); });
  if (settings.ok()) return settings.value();
  std::fprintf(stderr, "kizami: %s; every product is left to cuBLAS\n", settings.status().reason().c_str());
  Settings off = default_settings();
  off.why_off = "a variable of the environment is not understood";
  return off;
}

}  // namespace

Settings default_settings() {
  Settings settings;
  settings.policy.reproducibility = Reproducibility::kNotGuaranteed;
  return settings;
}

Result<Settings> read_settings(ReadVariable read_variable) {
  Settings settings = default_settings();
  std::int64_t verbose = 0;
  const std::array read{
      read_accuracy(read_variable, settings.policy.accuracy),
      read_name(read_variable, "KIZAMI_GAUGE", kGauges, settings.policy.gauge),
      read_name(read_variable, "KIZAMI_SCHEME", kSchemes, settings.policy.scheme),
      read_name(read_variable, "KIZAMI_ENGINE", kEngines, settings.policy.engine),
      read_integer(read_variable, "KIZAMI_MIN_SIZE", kMaxMinSize, settings.min_size),
      read_integer(read_variable, "KIZAMI_VERBOSE", 1, verbose),
  };
  for (const Status& status : read) {
    if (!status.ok()) return status;
  }
  settings.is_verbose = verbose == 1;
  if (settings.policy.scheme == Scheme::kNative) settings.why_off = "KIZAMI_SCHEME = native";
  return settings;
}

const Settings& process_settings() {
  static const Settings settings = read_process_settings();
  return settings;
}

}  // namespace kizami::dropin
