// SPDX-License-Identifier: MIT
// Whether AddressSanitizer is there, which GCC and clang say in different words: for what it alone cannot do.
#pragma once

namespace kizami::tests {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kHasAddressSanitizer = true;
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

}  // namespace kizami::tests
