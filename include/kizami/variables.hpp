// SPDX-License-Identifier: MIT
// The variables of the environment that Kizami reads: one for each wish of a policy (wishes.hpp) but sync, and the rows
// of one table, for the drop-in libraries and, of KIZAMI_THREADS, for every product. Command line, drop-in libraries
// and the manual page read this table.
#pragma once

#include "kizami/cxx20.hpp"  // before all else

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kizami/export.h"

namespace kizami {

/// A variable that is no wish.
struct Variable {
  std::string_view name;     ///< "KIZAMI_SUMMARY"
  std::string_view values;   ///< what it takes
  std::string_view initial;  ///< what holds where it is unset or empty
  std::string_view meaning;
  bool is_setting;  ///< may also stand in a rule, in lower case and without KIZAMI_
};

[[nodiscard]] KIZAMI_API std::span<const Variable> variables() noexcept;

/// "KIZAMI_MIN_SIZE" of "min_size".
[[nodiscard]] KIZAMI_API std::string variable_of(std::string_view setting);

/// All names, those of wishes first.
[[nodiscard]] KIZAMI_API std::vector<std::string> variable_names();

/// One sentence for each variable of an environment that begins with KIZAMI_ and is none of those, with the nearest
/// name that there is. @param environment  NAME=VALUE, and a null pointer at the end
[[nodiscard]] KIZAMI_API std::vector<std::string> unknown_variables(const char* const* environment);

/// Those, and one sentence for KIZAMI_THREADS or OMP_NUM_THREADS of this process where it is no number of threads: what
/// a product of this process finds in its environment and does not go by.
[[nodiscard]] KIZAMI_API std::vector<std::string> variables_without_effect();

/// A file in the folder of KIZAMI_REPORT, of whoever says them first: other processes of the run then do not.
inline constexpr char kUnknownAreSaid[] = "unknown-variables-are-said";

}  // namespace kizami
