// SPDX-License-Identifier: MIT
// Which elements of C a product is for: all of them, or one triangle of a square C and its diagonal. What is not of the
// part is neither read nor written.
#pragma once

#include <cstdint>

#include "kizami/host_device.hpp"
#include "kizami/types.hpp"

namespace kizami::problem {

enum class PartKind : std::uint8_t { kAll, kLower, kUpper };

struct Part {
  PartKind kind = PartKind::kAll;
  /// Of a triangle of complex numbers: imaginary parts of the diagonal are not read, and become 0, as those of a
  /// Hermitian matrix.
  bool has_real_diagonal = false;

  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool is_all() const { return kind == PartKind::kAll; }
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool has(std::int64_t i, std::int64_t j) const {
    return kind == PartKind::kAll || (kind == PartKind::kLower ? i >= j : i <= j);
  }
  /// Whether rows [i, i + count) of column j are all of the part, and none lies on the diagonal of a triangle.
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool surrounds(std::int64_t i, std::int64_t count, std::int64_t j) const {
    return kind == PartKind::kAll || (kind == PartKind::kLower ? i > j : i + count <= j);
  }
  /// Columns [first, end) of n that have one of the rows [i, i + count).
  struct Columns {
    std::int64_t first;
    std::int64_t end;
  };
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr Columns columns_of(std::int64_t i, std::int64_t count,
                                                                std::int64_t n) const {
    if (kind == PartKind::kLower) return {0, i + count < n ? i + count : n};
    return {kind == PartKind::kUpper ? i : 0, n};
  }

  /// Whether one of rows [i, i + rows) of one of columns [j, j + cols) is of the part. @range rows, cols >= 1
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr bool meets(std::int64_t i, std::int64_t rows, std::int64_t j,
                                                        std::int64_t cols) const {
    return kind == PartKind::kAll || (kind == PartKind::kLower ? i + rows > j : i < j + cols);
  }

  /// An element as the part has it. @range has(i, j)
  template <class T>
  [[nodiscard]] KIZAMI_HOST_DEVICE constexpr T element(std::int64_t i, std::int64_t j, T x) const {
    if constexpr (kIsComplex<T>) {
      if (has_real_diagonal && i == j) return T(x.real(), 0);
    }
    return x;
  }

  friend constexpr bool operator==(const Part&, const Part&) = default;
};

}  // namespace kizami::problem
