// SPDX-License-Identifier: MIT
// What a program sets while it runs (kizami/dropin.h): wishes of the process and of a thread, which go before rules and
// the environment. A set of wishes never changes once it is made, and settings that were given out live as long as the
// process: calls in other threads, and plans remembered by the address of their settings, stay right.
#pragma once

#include <string>
#include <string_view>

#include "dropin/policy/configuration.hpp"
#include "dropin/policy/settings.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin {

enum class Scope : int { kProcess = 0, kThread = 1 };

/// @status kInvalidArgument: the key, its value and what is allowed; a value that does not go with those of the
///         environment or of a rule; an environment that was not understood; too many policies
[[nodiscard]] Status set_at_run_time(Scope scope, std::string_view key, std::string_view value,
                                     const Configuration& configuration);
/// Forgets one wish. @status kInvalidArgument: what remains does not go together; too many policies
[[nodiscard]] Status forget_at_run_time(Scope scope, std::string_view key, const Configuration& configuration);
void reset_at_run_time(Scope scope);

/// `base`, which lives as long as the process, with what was set; the same object for the same wishes.
[[nodiscard]] const Settings& with_run_time(const Settings& base);

/// The value that assign() would take for that key. @status kInvalidArgument: the key is unknown
[[nodiscard]] Result<std::string> value_of(const Settings& settings, std::string_view key);

}  // namespace kizami::dropin
