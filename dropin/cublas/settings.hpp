// SPDX-License-Identifier: MIT
// What the environment asks of the library.
//   KIZAMI_ACCURACY   native | bits=N          native
//   KIZAMI_GAUGE      entry | norm             entry
//   KIZAMI_SCHEME     auto | native | ozaki2 | ec  auto
//   KIZAMI_ENGINE     auto | cublaslt | hopper auto
//   KIZAMI_MIN_SIZE   0..1048576               0
//   KIZAMI_VERBOSE    0 | 1                    0
// A variable that is unset or empty is at its default.
#pragma once

#include <cstdint>

#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin {

/// min_size^3 must not leave int64.
inline constexpr std::int64_t kMaxMinSize = std::int64_t{1} << 20;

struct Settings {
  Policy policy;
  std::int64_t min_size = 0;  ///< products with m n k < min_size^3 are left to cuBLAS
  bool is_verbose = false;
  const char* why_off = nullptr;  ///< why every product is left to cuBLAS, or null
};

/// How getenv() is seen: the value of a variable, or null.
using ReadVariable = const char* (*)(const char* name);

/// The defaults of a program that did not ask: accuracy native, and cuBLAS where it is predicted to be faster.
[[nodiscard]] Settings default_settings();

/// @status kInvalidArgument: names the variable, its value and what is allowed
[[nodiscard]] Result<Settings> read_settings(ReadVariable read_variable);

/// The settings of this process, read from its environment by the first call. A value that is not understood is reported
/// on stderr, and every product is then left to cuBLAS.
[[nodiscard]] const Settings& process_settings();

}  // namespace kizami::dropin
