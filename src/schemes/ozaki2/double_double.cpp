// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/double_double.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "num/line_stats.hpp"
#include "schemes/ozaki2/crt_segment.hpp"

namespace kizami::ozaki2 {
namespace {

[[nodiscard]] num::Scaled round(const SignedWide& x, int exponent) {
  const LeadingBits bits = leading_bits(x.magnitude);
  return num::round_to_scaled(x.negative, bits.hi, bits.lo, bits.sticky, exponent + bits.exponent);
}

/// x less a number that it was rounded to, whose unit is 2^shift of its own.
[[nodiscard]] SignedWide less(const SignedWide& x, num::Scaled rounded, int shift) {
  const auto magnitude = static_cast<std::uint64_t>(rounded.mantissa < 0 ? -rounded.mantissa : rounded.mantissa);
  return add(x, !x.negative, num::shift_left(num::CrtInt(magnitude), shift));
}

[[nodiscard]] num::ScaledDoubleDouble round_twice(const SignedWide& x, int exponent) {
  num::ScaledDoubleDouble out;
  out.hi = round(x, exponent);
  const int shift = out.hi.exponent - exponent;
  if (shift <= 0) return out;  // X has 53 bits at most
  const SignedWide rest = less(x, out.hi, shift);
  out.lo = round(rest, exponent);
  const int lo_shift = out.lo.exponent - exponent;
  if (lo_shift <= 0 || !num::needs_rest(out.lo)) return out;
  const SignedWide last = less(rest, out.lo, lo_shift);
  out.rest = last.magnitude == num::CrtInt{} ? 0 : last.negative ? -1 : 1;
  return out;
}

}  // namespace

void reconstruct_crt(const ResiduePlanes& planes, const std::int32_t* row_scale, const std::int32_t* col_scale,
                     DoubleDouble alpha, DoubleDouble beta, int threads, MatrixView<DoubleDouble> c) {
  const std::int64_t segments = base::ceil_div(c.rows, kSegment);
  base::parallel_for(segments * c.cols, threads, [&](std::int64_t task, int) {
    const std::int64_t j = task / segments;
    const std::int64_t first = task % segments * kSegment;
    if (col_scale[j] == num::kSkipLine) return;
    const std::int64_t count = std::min(kSegment, c.rows - first);
    const CrtSegment segment(num::Ring::kReal, planes.num_moduli, num::Part::kReal,
                             planes.data + j * planes.col_stride + first, planes.plane_stride, count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (row_scale[first + i] == num::kSkipLine) continue;
      DoubleDouble& out = c(first + i, j);
      const auto p = round_twice(segment.integer(i), -(row_scale[first + i] + col_scale[j]));
      out = num::finish(p, alpha, beta, beta == DoubleDouble{0} ? DoubleDouble{} : out);
    }
  });
}

num::ScaledDoubleDouble accumulated_product(const problem::Lines<double>& a, std::int64_t i,
                                            const problem::Lines<double>& b, std::int64_t j) {
  num::LongAccumulator sum;
  for (std::int64_t h = 0; h < a.length; ++h) sum.add_product(a.term(i, h), b.term(j, h));
  return num::round_double_double(sum);
}

num::ScaledDoubleDouble accumulated_product(const problem::Lines<DoubleDouble>& a, std::int64_t i,
                                            const problem::Lines<DoubleDouble>& b, std::int64_t j) {
  num::LongAccumulator sum;
  for (std::int64_t h = 0; h < a.length; ++h) {
    const DoubleDouble& x = a.element(i, h);
    const DoubleDouble& y = b.element(j, h);
    sum.add_product(x.hi, y.hi);
    sum.add_product(x.hi, y.lo);
    sum.add_product(x.lo, y.hi);
    sum.add_product(x.lo, y.lo);
  }
  return num::round_double_double(sum);
}

}  // namespace kizami::ozaki2
