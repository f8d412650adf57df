// SPDX-License-Identifier: MIT
// Lines in memory of any layout, with NaN in every gap: whoever reads one gets wrong statistics.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "problem/lines.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::tests {

enum class Storage : std::uint8_t { kLineContiguous, kLinePadded, kInnerContiguous, kInnerPadded, kBothStrided };
inline constexpr Storage kStorages[] = {Storage::kLineContiguous, Storage::kLinePadded, Storage::kInnerContiguous,
                                        Storage::kInnerPadded, Storage::kBothStrided};

template <class T>
class StoredLines {
 public:
  /// values[line][h], of one length
  StoredLines(const std::vector<std::vector<T>>& values, Storage storage) {
    const auto num_lines = static_cast<std::int64_t>(values.size());
    const auto length = values.empty() ? 0 : static_cast<std::int64_t>(values[0].size());
    std::int64_t line_stride = 1;
    std::int64_t inner_stride = 1;
    switch (storage) {
      case Storage::kLineContiguous:
        line_stride = length;
        break;
      case Storage::kLinePadded:
        line_stride = length + 3;
        break;
      case Storage::kInnerContiguous:
        inner_stride = num_lines;
        break;
      case Storage::kInnerPadded:
        inner_stride = num_lines + 5;
        break;
      case Storage::kBothStrided:
        inner_stride = 2, line_stride = 2 * length + 1;
        break;
    }
    constexpr std::int64_t kOffset = 1;  // misaligned for any vector
    buffer_.assign(static_cast<std::size_t>(kOffset + num_lines * line_stride + length * inner_stride + 1),
                   std::numeric_limits<T>::quiet_NaN());
    lines_ = {buffer_.data() + kOffset, num_lines, length, line_stride, inner_stride};
    for (std::int64_t i = 0; i < num_lines; ++i) {
      for (std::int64_t h = 0; h < length; ++h) {
        buffer_[static_cast<std::size_t>(kOffset + i * line_stride + h * inner_stride)] =
            values[static_cast<std::size_t>(i)][static_cast<std::size_t>(h)];
      }
    }
  }
  [[nodiscard]] const problem::Lines<T>& lines() const { return lines_; }

 private:
  std::vector<T> buffer_;
  problem::Lines<T> lines_;
};

/// A random T with leading exponent near e, subnormal or saturated to the largest finite one where T ends.
template <class T>
[[nodiscard]] T random_value(Rng& rng, int e) {
  const double x = random_double(rng, std::min(e, 1023));
  const auto y = static_cast<T>(x);
  return std::isinf(y) ? std::copysign(std::numeric_limits<T>::max(), y) : y;
}

/// Lines of many kinds: narrow and wide spreads, near both ends of the range, subnormal, sparse, zero, powers of two.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> random_lines(Rng& rng, std::int64_t num_lines, std::int64_t length) {
  using Limits = std::numeric_limits<T>;
  const int lowest = Limits::min_exponent - Limits::digits;  // of the smallest subnormal number
  const int highest = Limits::max_exponent - 1;
  std::vector<std::vector<T>> lines(static_cast<std::size_t>(num_lines));
  for (auto& line : lines) {
    line.resize(static_cast<std::size_t>(length));
    const int kind = random_int(rng, 0, 9);
    const int base = random_int(rng, lowest, highest);
    for (T& x : line) {
      switch (kind) {
        case 0:
          x = T{0};
          break;
        case 1:
          x = random_value<T>(rng, random_int(rng, lowest, highest));
          break;  // any at all
        case 2:
          x = random_value<T>(rng, random_int(rng, lowest, Limits::min_exponent));
          break;  // subnormal
        case 3:
          x = random_value<T>(rng, random_int(rng, highest - 3, highest));
          break;  // huge
        case 4:
          x = rng() % 4 == 0 ? random_value<T>(rng, base) : (rng() % 2 == 0 ? T{0} : -T{0});
          break;  // sparse
        case 5:
          x = std::ldexp(T{1}, std::max(lowest, base - random_int(rng, 0, 30)));
          break;  // powers of two
        case 6:
          x = rng() % 2 == 0 ? Limits::max() : Limits::denorm_min();
          break;  // both ends
        default:
          x = random_value<T>(rng, std::max(lowest, base - random_int(rng, 0, 12)));
          break;  // ordinary
      }
    }
  }
  return lines;
}

template <class T>
[[nodiscard]] std::vector<double> as_double(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

}  // namespace kizami::tests
