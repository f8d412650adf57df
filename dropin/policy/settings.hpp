// SPDX-License-Identifier: MIT
// What may be asked of one call, by variables of the environment and by rules: the wishes of a policy by the words that
// they have everywhere (kizami/wishes.hpp, `kizami help policy`), but sync and accuracy correct; reproducibility is
// none if nobody asks. And
//   min_size   auto | 0..1048576   auto
//   own_lines  0 | 1               0
//   learned    0 | 1               1
//   log        0 | 1               0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/text.hpp"

namespace kizami::dropin {

/// kMaxMinSize^3 does not leave int64.
inline constexpr std::int64_t kMaxMinSize = std::int64_t{1} << 20;
/// The planner alone decides which products are too small.
inline constexpr std::int64_t kAutoMinSize = -1;

struct Settings {
  /// Reproducibility is not asked for, so that the planner may leave a product to the native BLAS.
  Policy policy;
  /// Products with m n k < min_size^3 are native. 0: every product is emulated, by ozaki2 if the scheme is auto.
  std::int64_t min_size = kAutoMinSize;
  /// The bits of an element depend on its own row of op(A) and column of op(B) only, beside k, alpha, beta and its old
  /// value: not on what else the call multiplies. Scheme ozaki2 with one rung for each k, which gauge norm has; scheme
  /// native stays native.
  bool is_own_lines = false;
  /// Where the planner may leave a call to the native library, it is left there too if calls of the same place were
  /// slower than that, by what their elements asked for (learned_choice.hpp); libkizami_cublas.so only.
  bool is_learned = true;
  bool is_logged = false;

  Settings() { policy.reproducibility = Reproducibility::kNotGuaranteed; }
  friend bool operator==(const Settings&, const Settings&) = default;
};

/// Sets one value by its name.
/// @status kInvalidArgument: the reason names `key` (as `shown`, if it is not empty), the value and what is allowed
[[nodiscard]] Status assign(Settings& settings, std::string_view key, std::string_view value,
                            std::string_view shown = {});

/// The names that assign() knows, for messages and for the environment.
[[nodiscard]] std::vector<std::string_view> setting_names();

/// @status kInvalidArgument: own_lines with a scheme whose bits depend on other lines
[[nodiscard]] Status require_consistent(const Settings& settings);

/// What the planner is asked: min_size = 0 and own_lines turn scheme auto into ozaki2, own_lines any gauge into norm.
/// @range require_consistent()
[[nodiscard]] Policy policy_of(const Settings& settings);

/// Whether the planner may leave calls to the native library for their times, so that no bits are promised.
/// @range require_consistent()
[[nodiscard]] bool may_be_native(const Settings& settings);

/// Whether what was learned of calls may leave the next one to the native library: the planner chooses the scheme, so
/// that no bits are promised. @range require_consistent()
[[nodiscard]] bool may_learn(const Settings& settings);

/// m n k < size^3, without overflow. @range m, n, k >= 1; 0 <= size <= kMaxMinSize
[[nodiscard]] bool is_below(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t size);

/// Bytes, or a number with K, M or G. @status kInvalidArgument: the reason names `shown`, the value and what is allowed
[[nodiscard]] Status parse_bytes(std::string_view shown, std::string_view value, std::size_t& out);

}  // namespace kizami::dropin
