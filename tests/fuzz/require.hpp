// SPDX-License-Identifier: MIT
// What a fuzz target demands of the code that it feeds.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace kizami::fuzz {

/// Ends the program, so that the fuzzer keeps the input, unless `is_kept`.
inline void require(bool is_kept, const char* demand) {
  if (is_kept) return;
  std::fprintf(stderr, "violated: %s\n", demand);
  std::abort();
}

}  // namespace kizami::fuzz
