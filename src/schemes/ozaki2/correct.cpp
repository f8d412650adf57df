// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/correct.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <optional>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "num/bounds.hpp"
#include "num/exponent.hpp"
#include "num/line_stats.hpp"
#include "num/long_accumulator.hpp"
#include "schemes/ozaki2/crt_segment.hpp"

namespace kizami::ozaki2 {
namespace {

using num::CrtInt;
using problem::RealForm;

/// X 2^exponent rounded once.
template <class R>
[[nodiscard]] R round_once(const SignedWide& x, bool negate, int exponent) {
  if (num::is_zero(x.magnitude)) return R{0};
  const LeadingBits bits = leading_bits(x.magnitude);
  return num::round_to<R>(x.negative != negate, bits.hi, bits.lo, exponent + bits.exponent, bits.sticky);
}

[[nodiscard]] CrtInt power_of_two(int e) {
  CrtInt x;
  x.limb[static_cast<std::size_t>(e / 64)] = std::uint64_t{1} << (e % 64);
  return x;
}

/// The exponent of a power of two that is at least the error of X; negative: X is exact.
///   E <= (||b'||_1 [a inexact] + ||a'||_1 [b inexact]) / 2 + k / 4 [both]   with k/2 more in each norm for a', b' rounded
[[nodiscard]] int error_exponent(const num::LineError& a, const num::LineError& b, std::int64_t num_terms) {
  if (a.is_exact && b.is_exact) return -1;
  const auto k = static_cast<double>(num_terms);
  const double error = ((a.is_exact ? 0.0 : b.norm1) + (b.is_exact ? 0.0 : a.norm1) + k) * num::kSlackUp;
  return num::floor_log2(error) + 1;
}

template <class T>
[[nodiscard]] RealOf<T> exact_product(const CorrectBlock<T>& block, RealForm form, std::int64_t i, std::int64_t j,
                                      bool negate) {
  num::LongAccumulator sum;
  for (std::int64_t t = 0; t < block.a.num_terms(); ++t)
    sum.add_product(block.a.term(i, t), problem::term(block.b, form, j, t));
  return sum.template round<RealOf<T>>(negate);
}

}  // namespace

template <class T>
std::int64_t reconstruct_correct(const ResiduePlanes& planes, const CorrectBlock<T>& block, bool negate, int threads,
                                 MatrixView<T> c) {
  using R = RealOf<T>;
  constexpr num::Ring kRing = kIsComplex<T> ? num::Ring::kComplex : num::Ring::kReal;
  const std::int64_t segments = base::ceil_div(c.rows, kSegment);
  std::atomic<std::int64_t> num_accumulated{0};
  base::parallel_for(segments * c.cols, threads, [&](std::int64_t task, int) {
    const std::int64_t j = task / segments;
    const std::int64_t first = task % segments * kSegment;
    if (block.col_scale[j] == num::kSkipLine) return;
    const std::int64_t count = std::min(kSegment, c.rows - first);
    const std::int8_t* const residues = planes.data + j * planes.col_stride + first;
    const auto finish_part = [&](num::Part part, RealForm form, auto&& store) {
      const CrtSegment segment(kRing, planes.num_moduli, part, residues, planes.plane_stride, count);
      for (std::int64_t i = first; i < first + count; ++i) {
        if (block.row_scale[i] == num::kSkipLine) continue;
        const SignedWide x = segment.integer(i - first);
        const int exponent = -(block.row_scale[i] + block.col_scale[j]);
        const int error = error_exponent(block.row_error[i], block.col_error[j], block.a.num_terms());
        if (error < 0) {
          store(i, round_once<R>(x, negate, exponent));
          continue;
        }
        const CrtInt radius = power_of_two(error);
        const R low = round_once<R>(add(x, true, radius), negate, exponent);
        const R high = round_once<R>(add(x, false, radius), negate, exponent);
        if (low == high && low != R{0}) {
          store(i, low);
        } else {
          store(i, exact_product(block, form, i, j, negate));
          num_accumulated.fetch_add(1, std::memory_order_relaxed);
        }
      }
    };
    if constexpr (kIsComplex<T>) {
      finish_part(num::Part::kReal, RealForm::kRealPart, [&](std::int64_t i, R x) { c(i, j).real(x); });
      finish_part(num::Part::kImaginary, RealForm::kImagPart, [&](std::int64_t i, R x) { c(i, j).imag(x); });
    } else {
      finish_part(num::Part::kReal, RealForm::kPlain, [&](std::int64_t i, R x) { c(i, j) = x; });
    }
  });
  return num_accumulated;
}

#define KIZAMI_INSTANTIATE(T) \
  template std::int64_t reconstruct_correct<T>(const ResiduePlanes&, const CorrectBlock<T>&, bool, int, MatrixView<T>)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
