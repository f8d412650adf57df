// SPDX-License-Identifier: MIT
// A rules file: one rule a line, conditions before a lone colon and settings after it; # begins a comment.
//   routine=gemm,syrk type=d,z m=1000.. n=..50 k=1..2000 : accuracy=bits=40 scheme=ozaki2
//   site=libscipy*                                       : scheme=native
//   size=..256                                           : scheme=native
// A rule holds for a call if all its conditions do; none hold always. The first rule that holds decides; what it does
// not set is as the environment says.
//   routine   names without the letter of the type: gemm, gemm3m, gemmt, symm, hemm, syrk, herk, syr2k, her2k, trmm, trsm,
//             of cuBLAS also syrkx, herkx
//   type      s, d, c, z
//   m, n, k   ranges N, N.., ..N or N..M, ends included; size: N.. holds where m n k >= N^3
//   site      the file that holds the calling code, without folders, or file:function: a pattern of * ? []
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dropin/policy/settings.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::dropin {

/// A call as rules see it. C is m x n; of routines with one size for two of the three, that size twice.
struct Request {
  std::string_view routine;  ///< without the letter of the type
  Scalar scalar = Scalar::kF64;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const void* caller = nullptr;  ///< an address in the calling code
};

struct Range {
  std::int64_t first = 0;
  std::int64_t last = INT64_MAX;
};

struct Rule {
  std::vector<std::string> routines;  ///< empty: all
  std::string types;                  ///< letters; empty: all
  Range m, n, k;
  Range size{0, kMaxMinSize};
  std::string site;  ///< pattern; empty: all
  Settings settings;
};

/// Reads a rules file's text.
/// @range  base: what a rule does not set
/// @status kInvalidArgument: "NAME:LINE: reason"
[[nodiscard]] Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view name, const Settings& base);

/// The settings of the first rule that holds, else `base`.
[[nodiscard]] const Settings& settings_for(const Request& request, const std::vector<Rule>& rules,
                                           const Settings& base);

/// The file that holds an address, without folders, and the function if it has a name: "libfoo.so:solve"; "unknown".
[[nodiscard]] std::string site_of(const void* address);

/// "s", "d", "c", "z".
[[nodiscard]] char letter_of(Scalar scalar);

}  // namespace kizami::dropin
