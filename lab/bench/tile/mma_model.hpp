// SPDX-License-Identifier: MIT
// Candidates for what one mma does to the sum c + a_0 b_0 + a_1 b_1 + ..., to be held against a device bit by bit.
// Unlike num/tensor_core.hpp, which describes known hardware, any width and group is allowed here, and sums of plain
// FP32 operations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace tile_bench {

/// What rounds a number to the accumulator: bits of significand, smallest exponent, direction.
struct Rounding {
  const char* name;
  int bits;
  int min_exponent;
  bool is_to_nearest;

  /// @exact rounds x once; no overflow is modelled.  @range |x| a double with room: bits <= 52
  [[nodiscard]] double operator()(double x) const {
    if (x == 0.0 || !std::isfinite(x)) return x;
    const int exponent = std::max(std::ilogb(x), min_exponent);
    const double units = std::ldexp(x, bits - 1 - exponent);
    return std::ldexp(is_to_nearest ? std::nearbyint(units) : std::trunc(units), exponent - (bits - 1));
  }
};

inline constexpr Rounding kFp32Nearest{"fp32 to nearest", 24, -126, true};
inline constexpr Rounding kFp32Zero{"fp32 towards zero", 24, -126, false};
inline constexpr Rounding kFp16Nearest{"fp16 to nearest", 11, -14, true};
inline constexpr Rounding kFp16Zero{"fp16 towards zero", 11, -14, false};

/// One term a b of a sum; exponent: of a plus of b, as their formats hold them (subnormal numbers: the smallest).
struct Term {
  double product;
  int exponent;
};

/// A candidate.
struct SumModel {
  enum class Kind { kAligned, kPromoted, kSequential, kFused, kProductsFirst };
  Kind kind;
  int group;          ///< kAligned, kPromoted: products that are aligned together, with the accumulator
  int fraction_bits;  ///< likewise: addends are cut to multiples of 2^(largest exponent - fraction_bits)
  Rounding rounding;  ///< of each step

  /// kPromoted: products of one call of mma, which are summed from zero; that sum is added to c in FP32, to nearest.
  /// kProductsFirst: the same with products rounded one by one.
  static constexpr std::size_t kCall = 64;

  [[nodiscard]] std::string name() const {
    switch (kind) {
      case Kind::kAligned:
      case Kind::kPromoted:
        return std::string(kind == Kind::kPromoted ? "each call from zero and promoted: " : "") + "groups of " +
               std::to_string(group) + ", " + std::to_string(fraction_bits) + " fraction bits, " + rounding.name;
      case Kind::kSequential:
        return std::string("multiply, then add, ascending, ") + rounding.name;
      case Kind::kFused:
        return std::string("fused multiply-add, ascending, ") + rounding.name;
      case Kind::kProductsFirst:
        return std::string("each call from zero: multiply, then add, ascending; then added to c: ") + rounding.name;
    }
    return "";
  }

  [[nodiscard]] double sum(double c, const std::vector<Term>& terms) const {
    if (kind == Kind::kAligned) return aligned_sum(c, terms, 0, terms.size());
    double total = c;
    if (kind == Kind::kPromoted || kind == Kind::kProductsFirst) {
      for (std::size_t first = 0; first < terms.size(); first += kCall) {
        const std::size_t last = std::min(terms.size(), first + kCall);
        total = kind == Kind::kPromoted ? kFp32Nearest(total + aligned_sum(0.0, terms, first, last))
                                        : rounding(total + plain_sum(0.0, terms, first, last));
      }
      return total;
    }
    return plain_sum(c, terms, 0, terms.size());
  }

 private:
  /// FP64 between the roundings: exact for products, harmless for sums of rounded numbers (53 >= 2 * 24 + 2); only
  /// kFused can, seldom, be rounded twice.
  [[nodiscard]] double plain_sum(double c, const std::vector<Term>& terms, std::size_t first, std::size_t last) const {
    for (; first < last; ++first) {
      const double product = terms[first].product;
      c = rounding(c + (kind == Kind::kFused ? product : rounding(product)));
    }
    return c;
  }
  [[nodiscard]] double aligned_sum(double c, const std::vector<Term>& terms, std::size_t first,
                                   std::size_t last) const {
    for (; first < last; first += static_cast<std::size_t>(group)) c = aligned_step(c, terms, first);
    return c;
  }
  [[nodiscard]] double aligned_step(double c, const std::vector<Term>& terms, std::size_t first) const {
    const std::size_t last = std::min(terms.size(), first + static_cast<std::size_t>(group));
    int largest = c == 0.0 ? -10000 : std::max(std::ilogb(c), rounding.min_exponent);
    for (std::size_t h = first; h < last; ++h)
      if (terms[h].product != 0.0) largest = std::max(largest, terms[h].exponent);
    if (largest == -10000) return c;
    const int quantum = largest - fraction_bits;
    double units = std::trunc(std::ldexp(c, -quantum));
    for (std::size_t h = first; h < last; ++h) units += std::trunc(std::ldexp(terms[h].product, -quantum));
    return rounding(std::ldexp(units, quantum));
  }
};

/// Everything that a device might plausibly do.
inline std::vector<SumModel> sum_models() {
  std::vector<SumModel> models;
  for (const Rounding& rounding : {kFp32Nearest, kFp32Zero, kFp16Nearest, kFp16Zero}) {
    for (const SumModel::Kind kind :
         {SumModel::Kind::kSequential, SumModel::Kind::kFused, SumModel::Kind::kProductsFirst})
      models.push_back({kind, 0, 0, rounding});
    for (const SumModel::Kind kind : {SumModel::Kind::kAligned, SumModel::Kind::kPromoted}) {
      for (const int group : {4, 8, 16, 32, 64})
        for (const int bits : {10, 11, 12, 13, 14, 15, 22, 23, 24, 25, 26, 27})
          models.push_back({kind, group, bits, rounding});
    }
  }
  // FP8 on Hopper is said to keep 14 bits of the accumulator.
  for (const Rounding& narrow :
       {Rounding{"13 bits towards zero", 13, -126, false}, Rounding{"14 bits towards zero", 14, -126, false},
        Rounding{"15 bits towards zero", 15, -126, false}}) {
    for (const int group : {16, 32, 64}) {
      models.push_back({SumModel::Kind::kAligned, group, narrow.bits - 1, narrow});
      models.push_back({SumModel::Kind::kPromoted, group, narrow.bits - 1, narrow});
    }
  }
  return models;
}

}  // namespace tile_bench
