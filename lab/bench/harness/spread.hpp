// SPDX-License-Identifier: MIT
// What is said of repeated measurements: the median, and how far they lie apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {

struct Spread {
  double min, median, max;
};

/// Of an even number of values the median is the upper one of the two in the middle: what is said was measured.
/// @throws std::invalid_argument there is none
template <class T>
[[nodiscard]] Spread spread(std::vector<T> values) {
  if (values.empty()) throw std::invalid_argument("nothing was measured");
  std::sort(values.begin(), values.end());
  return {static_cast<double>(values.front()), static_cast<double>(values[values.size() / 2]),
          static_cast<double>(values.back())};
}

template <class T>
[[nodiscard]] double median(std::vector<T> values) {
  return spread(std::move(values)).median;
}

}  // namespace bench
