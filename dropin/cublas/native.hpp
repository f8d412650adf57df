// SPDX-License-Identifier: MIT
// The cuBLAS that the program would call without this library, found at run time: this library is linked to none.
#pragma once

#include <cstdint>

#include "dropin/level3/native_function.hpp"

namespace kizami::dropin::cublas {

enum class Library : std::uint8_t { kCublas, kCublasLt, kCusolver };
inline constexpr int kNumLibraries = static_cast<int>(Library::kCusolver) + 1;

/// The function of that name: of the library that a proxy names (proxy/proxy.cpp); else of the next one in the
/// program's order of loading; else of KIZAMI_NATIVE; else of a libcublas.so that is loaded out of that order (by a
/// Python extension, say); else of one that the system finds. Never one of this library. Null: there is none yet. Safe
/// to call from any thread.
[[nodiscard]] void* find_native(Library library, const char* name);

template <Library kLibrary>
[[nodiscard]] void* find_in(const char* name) {
  return find_native(kLibrary, name);
}

/// Of find_in<>.
using level3::NativeFunction;

}  // namespace kizami::dropin::cublas
