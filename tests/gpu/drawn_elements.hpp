// SPDX-License-Identifier: MIT
// Elements of a chosen spread of exponents.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "kizami/types.hpp"

namespace kizami::gpu_test {

/// (uniform - 1/2) exp(phi normal), both parts of a complex number; the same for the same arguments.
template <class T>
[[nodiscard]] std::vector<T> drawn_elements(std::size_t count, double phi, unsigned seed) {
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return static_cast<RealOf<T>>(uniform(source) * std::exp(phi * normal(source))); };
  std::vector<T> values(count);
  for (T& x : values) {
    if constexpr (kIsComplex<T>) {
      const auto re = draw();
      x = {re, draw()};
    } else {
      x = draw();
    }
  }
  return values;
}

}  // namespace kizami::gpu_test
