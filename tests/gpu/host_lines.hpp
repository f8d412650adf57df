// SPDX-License-Identifier: MIT
// Lines in host memory for tests of splits: every layout, and lines that are zero, not finite or near the ends of the
// range.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kizami/types.hpp"
#include "problem/lines.hpp"

namespace kizami::gpu_test {

using problem::Lines;

enum class Memory : std::uint8_t { kAlong, kAcross, kAlongApart, kAcrossApart };
inline constexpr std::array kMemories = {Memory::kAlong, Memory::kAcross, Memory::kAlongApart, Memory::kAcrossApart};

/// Lines of all kinds in host memory.
template <class T>
struct HostLines {
  std::vector<T> data;
  Lines<T> lines;

  HostLines(std::int64_t num_lines, std::int64_t length, Memory memory, bool is_conjugated, std::uint64_t seed) {
    const bool is_across = memory == Memory::kAcross || memory == Memory::kAcrossApart;
    const bool is_apart = memory == Memory::kAlongApart || memory == Memory::kAcrossApart;
    const std::int64_t near = is_apart ? 2 : 1;
    const std::int64_t far = near * (is_across ? num_lines : length) + (is_apart ? 3 : 0);
    lines = {nullptr, num_lines, length, is_across ? near : far, is_across ? far : near, is_conjugated};
    data.assign(static_cast<std::size_t>(far * (is_across ? length : num_lines)), T{});
    lines.data = data.data();
    std::mt19937_64 rng(seed);
    for (std::int64_t i = 0; i < num_lines; ++i) {
      for (std::int64_t h = 0; h < length; ++h)
        data[static_cast<std::size_t>(i * lines.line_stride + h * lines.inner_stride)] = element(rng, i, h, length);
    }
  }

 private:
  using Real = RealOf<T>;

  static Real real(std::mt19937_64& rng, std::int64_t i, std::int64_t h, std::int64_t length) {
    using Limits = std::numeric_limits<Real>;
    const double x = (static_cast<double>(rng() >> 11) * 0x1p-53 - 0.5) * 2;
    const auto spread = [&](int bits) { return static_cast<int>(rng() % static_cast<unsigned>(bits)); };
    switch (i % 8) {
      case 1:  // wide
        return static_cast<Real>(std::ldexp(x, spread(60) - 30));
      case 2:  // zero
        return h % 2 == 0 ? Real{0} : -Real{0};
      case 3:  // small integers
        return static_cast<Real>(spread(9) - 4);
      case 4:  // one Inf or NaN
        if (h == length / 2) return i % 16 == 4 ? Limits::infinity() : Limits::quiet_NaN();
        return static_cast<Real>(x);
      case 5:  // subnormal numbers
        return static_cast<Real>(std::ldexp(x, Limits::min_exponent - 2 - spread(8)));
      case 6:  // near both ends
        return static_cast<Real>(std::ldexp(x, h % 2 == 0 ? Limits::max_exponent - 1 : Limits::min_exponent + 20));
      default:
        return static_cast<Real>(x);
    }
  }
  static T element(std::mt19937_64& rng, std::int64_t i, std::int64_t h, std::int64_t length) {
    const Real re = real(rng, i, h, length);
    if constexpr (kIsComplex<T>) {
      return {re, real(rng, i, h, length)};
    } else {
      return re;
    }
  }
};

}  // namespace kizami::gpu_test
