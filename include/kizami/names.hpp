// SPDX-License-Identifier: MIT
// What enumerators are called: one list an enum, in the order of its numbers. to_string() reads it, command line, case
// grammar, drop-in settings and Python take its words, and tools/write_faces.py makes the constants of C and Fortran
// from it. A test fails where an enumerator has no name.
#pragma once

#include "kizami/cxx20.hpp"  // before all else

#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

namespace kizami {

/// Specialised beside each enum: static constexpr std::string_view kAll[], the names of its values 0, 1, 2, ...
template <class E>
struct Names;

template <class E>
concept NamedEnum = requires {
  Names<E>::kAll[0];
};

/// The name of a value; "unknown" for numbers of no enumerator. A zero byte follows it.
template <NamedEnum E>
[[nodiscard]] constexpr std::string_view to_string(E value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < std::size(Names<E>::kAll) ? Names<E>::kAll[index] : "unknown";
}

/// The value of that name.
template <NamedEnum E>
[[nodiscard]] constexpr std::optional<E> named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(Names<E>::kAll); ++i) {
    if (Names<E>::kAll[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

/// The number of the last enumerator.
template <NamedEnum E>
inline constexpr int kLastValue = static_cast<int>(std::size(Names<E>::kAll)) - 1;

}  // namespace kizami
