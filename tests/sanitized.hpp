// SPDX-License-Identifier: MIT
// Whether a test runs under a sanitizer, where everything takes ten times as long. What values are worth is judged by the release build; a sanitizer
// is after memory, arithmetic and threads, which calls of one kind have in common. So loops over operands take some of them there, and each kind of call is made.
#pragma once

#include <cstdint>

namespace kizami::tests {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
#else
inline constexpr bool kIsSanitized = false;
#endif

/// Number of random cases.
[[nodiscard]] constexpr int cases(int count) { return kIsSanitized ? count / 20 + 1 : count; }

/// Whether a loop leaves its turn out: under a sanitizer all but one in `share`. Nested loops meet all pairs of what they vary if `share` has no
/// factor in common with their lengths.
[[nodiscard]] constexpr bool is_left_out(std::int64_t turn, std::int64_t share) {
  return kIsSanitized && turn % share != 0;
}

/// Step of a loop over all numbers of a format: under a sanitizer an odd one, so that all low bits come.
[[nodiscard]] constexpr std::uint32_t stride(std::uint32_t sanitized) { return kIsSanitized ? sanitized : 1; }

}  // namespace kizami::tests
