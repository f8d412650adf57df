// SPDX-License-Identifier: MIT
// The values of the matrix classes that are more than a pattern: spreads, grading, cancellation, the ends of the range.
#include <cmath>
#include <limits>

#include "check/matrix_classes.hpp"
#include "check/random.hpp"

namespace kizami::check {
namespace {

using C = MatrixClass;

constexpr int kHalfulpScales = 8;    // row scales of halfulp: 2^-8..2^7
constexpr int kRangeEndBinades = 8;  // tiny and big: that many binades

/// Exponent of step t of n in a ramp from -floor(span / 2) upwards by span.
int ramp(std::int64_t t, std::int64_t n, int span) {
  return static_cast<int>(n > 1 ? span * t / (n - 1) : 0) - span / 2;
}

}  // namespace

double MatrixGenerator::spread(std::int64_t i, std::int64_t j) const {
  AddressedRandom random(seed_, element_stream(), i, j);
  switch (spec_.cls) {
    case C::kUniform: {
      const double lo = spec_.params[0], hi = spec_.params[1];
      return lo + random.uniform(bits_) * (hi - lo);
    }
    case C::kRandn:
      return random.normal();
    case C::kExprand: {
      const double u = random.uniform(bits_) - 0.5;
      return u * portable_exp(spec_.params[0] * random.normal());
    }
    default: {  // kExpRand
      const int a = static_cast<int>(spec_.params[0]), b = static_cast<int>(spec_.params[1]);
      const double significand = 1 + random.uniform(23);
      const double sign = random.sign();
      return sign * std::ldexp(significand, a + static_cast<int>(random.below(static_cast<std::uint64_t>(b - a))));
    }
  }
}

double MatrixGenerator::graded(std::int64_t i, std::int64_t j) const {
  const int span = static_cast<int>(spec_.params[0]);
  int e = 0;
  switch (spec_.cls) {
    case C::kGradeRows:
      e = ramp(i, rows_, span);
      break;
    case C::kGradeCols:
      e = ramp(j, cols_, span);
      break;
    case C::kGradeInner:
      e = ramp((inner(i, j) + offset_) % num_inner(), num_inner(), span);
      break;
    case C::kGradeShift:
      e = ramp((inner(i, j) + outer(i, j)) % num_inner(), num_inner(), span);
      break;
    default: {  // kEvil: the bits after those that rands() takes
      AddressedRandom random(seed_, of_part(stream(kExponent)), i, j);
      e = static_cast<int>(random.below(static_cast<std::uint64_t>(span) + 1)) - span / 2;
    }
  }
  const bool is_inverse = which_ == Which::kB && (spec_.cls == C::kGradeInner || spec_.cls == C::kGradeShift);
  return std::ldexp(rands(i, j), is_inverse ? -e : e);
}

double MatrixGenerator::with_huge(std::int64_t i, std::int64_t j) const {
  AddressedRandom random(seed_, stream(kVector), outer(i, j), 0);
  const auto place = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(num_inner())));
  return place == inner(i, j) ? random.sign() * std::ldexp(1.0, static_cast<int>(spec_.params[0])) : rands(i, j);
}

// Inner index l and l + h, h = floor(k / 2), form a pair: a_(l+h) = a_l, b_(l+h) = -b_l (near: -b_l and one ulp further
// from 0). If k is odd the last element is 0 in A, C like A.
double MatrixGenerator::cancelling(std::int64_t i, std::int64_t j) const {
  const bool is_b = which_ == Which::kB;
  const std::int64_t half = num_inner() / 2, l = inner(i, j);
  if (!is_b && l >= 2 * half) return 0;
  const bool is_partner = l >= half && l < 2 * half;
  const std::int64_t source = is_partner ? l - half : l;
  const double value = is_b ? rands(source, j) : rands(i, source);
  if (!is_b || !is_partner) return value;
  if (spec_.cls == C::kCancel || value == 0) return -value;
  const double away = std::copysign(std::numeric_limits<double>::infinity(), value);
  const float away_f32 = std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value));
  return scalar_ == Scalar::kF32 ? -std::nextafter(static_cast<float>(value), away_f32) : -std::nextafter(value, away);
}

// One random bit per (vector, inner index): row i of A lives where the bit is set, column i of B where it is not. So
// (|A||B|)_ii = 0, and every algorithm that only adds terms a_il b_lj gives exactly 0 there.
double MatrixGenerator::zero_complement(std::int64_t i, std::int64_t j) const {
  AddressedRandom mask(seed_, kSharedMask, outer(i, j), inner(i, j));
  const bool is_set = (mask.bits() >> 63) != 0;
  return is_set != (which_ == Which::kB) ? rand(i, j) : 0;
}

// Element l of vector i is the same number in A and B, conjugated in B.
double MatrixGenerator::gram(std::int64_t i, std::int64_t j) const {
  const double value = 2 * AddressedRandom(seed_, of_part(kSharedValue), outer(i, j), inner(i, j)).uniform(bits_) - 1;
  return which_ == Which::kB && part_ == Part::kImaginary ? -value : value;
}

// (4 s + 3) 2^-(q + 1): in units of 2^-q it is r + 1/2 with r = 2 s + 1 odd, so ties to even, ties away
// and floor(x + 1/2) all give r + 1, an error of +1/2 in every element.
double MatrixGenerator::half_ulp(std::int64_t i, std::int64_t j) const {
  const int q = static_cast<int>(spec_.params[0]);
  AddressedRandom random(seed_, element_stream(), i, j);
  const std::uint64_t quarter = std::uint64_t{1} << (q - 2);
  const std::uint64_t odd = 4 * (quarter + random.below(quarter)) + 3;  // in [2^q, 2^(q + 1))
  AddressedRandom vector_random(seed_, stream(kVector), outer(i, j), 0);
  const int e = static_cast<int>(vector_random.below(2 * kHalfulpScales)) - kHalfulpScales;
  return std::ldexp(static_cast<double>(odd), e - (q + 1));
}

double MatrixGenerator::integral(std::int64_t i, std::int64_t j) const {
  AddressedRandom random(seed_, element_stream(), i, j);
  const double sign = random.sign();
  if (spec_.cls == C::kPow2) {
    const int span = static_cast<int>(spec_.params[0]);
    return std::ldexp(sign, static_cast<int>(random.below(static_cast<std::uint64_t>(span) + 1)) - span / 2);
  }
  const std::uint64_t bound = std::uint64_t{1} << static_cast<int>(spec_.params[0]);
  const bool is_end = random.sign() > 0;
  return sign * static_cast<double>(is_end ? bound - 1 : random.below(bound));
}

double MatrixGenerator::at_range_end(std::int64_t i, std::int64_t j) const {
  AddressedRandom random(seed_, element_stream(), i, j);
  const double sign = random.sign();
  if (spec_.cls == C::kSubnormal) {
    const std::uint64_t units = 1 + random.below((std::uint64_t{1} << (bits_ - 1)) - 1);
    return std::ldexp(sign * static_cast<double>(units), min_exp_ - bits_ + 1);
  }
  const double significand = 1 + random.uniform(bits_ - 1);
  const int step = static_cast<int>(random.below(2 * kRangeEndBinades));
  int e = 0;
  switch (spec_.cls) {
    case C::kUnderflow:
      e = min_exp_ / 2 - kRangeEndBinades + step;  // products: 2^(min_exp - 16 .. min_exp + 16)
      break;
    case C::kOverflow:
      e = max_exp_ / 2 - step / 2;  // products: below 2^(max_exp + 1)
      break;
    case C::kTiny:
      e = min_exp_ + step / 2;
      break;
    default:  // kBig
      e = max_exp_ - step / 2;
      break;
  }
  return std::ldexp(sign * significand, e);
}

}  // namespace kizami::check
