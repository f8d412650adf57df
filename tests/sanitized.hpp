// SPDX-License-Identifier: MIT
// Whether a test runs under a sanitizer, where everything takes ten times as long. What values are worth is judged by the release build; a sanitizer
// is after memory, arithmetic and threads, which calls of one kind have in common. So loops over operands take some of them there, and each kind of call is made.
#pragma once

#include <cstdint>

// GCC and clang say in different words which sanitizer there is.
#if defined(__has_feature)
#define KIZAMI_TESTS_HAVE(feature) __has_feature(feature)
#else
#define KIZAMI_TESTS_HAVE(feature) 0
#endif

namespace kizami::tests {

#if defined(__SANITIZE_ADDRESS__) || KIZAMI_TESTS_HAVE(address_sanitizer)
inline constexpr bool kHasAddressSanitizer = true;
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || KIZAMI_TESTS_HAVE(thread_sanitizer)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif
#if KIZAMI_TESTS_HAVE(memory_sanitizer)
inline constexpr bool kHasMemorySanitizer = true;
#else
inline constexpr bool kHasMemorySanitizer = false;
#endif
inline constexpr bool kIsSanitized = kHasAddressSanitizer || kHasThreadSanitizer || kHasMemorySanitizer;

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

#undef KIZAMI_TESTS_HAVE
