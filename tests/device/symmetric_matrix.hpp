// SPDX-License-Identifier: MIT
// A symmetric or Hermitian matrix in full, and as BLAS stores it.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kizami/cuda_triangle.hpp"
#include "kizami/types.hpp"

namespace kizami::device_test {

template <class T>
[[nodiscard]] std::vector<T> drawn(std::size_t count, unsigned seed) {
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<RealOf<T>> uniform(-1, 1);
  std::vector<T> values(count);
  for (T& x : values) {
    if constexpr (kIsComplex<T>) {
      const auto re = uniform(source);
      x = {re, uniform(source)};
    } else {
      x = uniform(source);
    }
  }
  return values;
}

/// A matrix in full, column-major without slack, and its triangle in memory with NaN in all other places.
template <class T>
struct SymmetricMatrix {
  std::vector<T> full;
  std::vector<T> memory;

  SymmetricMatrix(std::int64_t order, std::int64_t ld, const cuda::Symmetric& as)
      : full(drawn<T>(static_cast<std::size_t>(order * order), 1)),
        memory(static_cast<std::size_t>(order * ld), T(std::numeric_limits<RealOf<T>>::quiet_NaN())) {
    const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return full[static_cast<std::size_t>(i + j * order)]; };
    for (std::int64_t j = 0; j < order; ++j) {
      if constexpr (kIsComplex<T>) {
        if (as.is_hermitian) at(j, j) = T(at(j, j).real(), 0);  // +0, which is its own conjugate here
      }
      for (std::int64_t i = j + 1; i < order; ++i) {
        at(j, i) = at(i, j);
        if constexpr (kIsComplex<T>) {
          if (as.is_hermitian) at(j, i) = std::conj(at(i, j));
        }
      }
    }
    for (std::int64_t j = 0; j < order; ++j) {
      for (std::int64_t i = 0; i < order; ++i) {
        if (as.is_lower ? i < j : i > j) continue;
        T& x = memory[static_cast<std::size_t>(i + j * ld)] = at(i, j);
        if constexpr (kIsComplex<T>) {  // is not read
          if (as.is_hermitian && i == j) x = T(x.real(), std::numeric_limits<RealOf<T>>::quiet_NaN());
        }
      }
    }
  }
};

template <class T>
[[nodiscard]] bool are_same(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

}  // namespace kizami::device_test
