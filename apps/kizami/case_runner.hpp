// SPDX-License-Identifier: MIT
// Runs one case of the grammar and judges everything that the library promises of it:
//   - the bound that it reports is within the accuracy asked for, and every element (or a sample, for large products)
//     keeps to it against the exact product, both parts of a complex one; NaN and Inf stand where IEEE arithmetic puts
//     them
//   - A, B, the padding of leading dimensions and the memory around C are untouched; on a refusal C is, too
//   - scheme ozaki2: other engines, thread counts and workspaces give the same bits
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "check/case.hpp"

namespace kizami::cli {

enum class CaseVerdict : std::uint8_t {
  kPassed,
  kFailed,
  kRefused,     ///< the library said that it cannot do this, and why
  kMistrusted,  ///< nothing wrong was found, but most elements are exactly 0, so that little was proven
};
[[nodiscard]] std::string_view to_string(CaseVerdict verdict) noexcept;

struct CaseResult {
  CaseVerdict verdict = CaseVerdict::kPassed;
  std::string detail;  ///< the ratio error / allowed and how it was computed; or the reason
};

[[nodiscard]] CaseResult run_case(const check::Case& spec);

}  // namespace kizami::cli
