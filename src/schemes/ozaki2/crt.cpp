// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/crt.hpp"

#include <algorithm>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "num/line_stats.hpp"
#include "schemes/ozaki2/crt_segment.hpp"

namespace kizami::ozaki2 {
namespace {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

/// X from digits that fit in 127 bits: P < 2^126.
constexpr int kNarrowBits = 126;

[[nodiscard]] num::Scaled round_narrow(const num::CrtTable& table, const double* digits, int exponent) {
  int128 x = 0;
  for (int d = table.num_digits - 1; d >= 0; --d) {
    // Unsigned: the shift of a negative value and intermediate wrap are harmless modulo 2^128.
    x = static_cast<int128>((static_cast<uint128>(x) << num::kCrtDigitBits) +
                            static_cast<uint128>(static_cast<int128>(static_cast<std::int64_t>(digits[d * kSegment]))));
  }
  const auto wide = [](const num::CrtInt& w) {
    return static_cast<int128>((static_cast<uint128>(w.limb[1]) << 64) | w.limb[0]);
  };
  const int128 half = wide(table.half_wide);
  if (x > half) x -= wide(table.product_wide);
  if (x < -half) x += wide(table.product_wide);
  const bool negative = x < 0;
  const auto magnitude = negative ? static_cast<uint128>(0) - static_cast<uint128>(x) : static_cast<uint128>(x);
  return num::round_to_scaled(negative, static_cast<std::uint64_t>(magnitude >> 64),
                              static_cast<std::uint64_t>(magnitude), false, exponent);
}

/// The rounded integers of a segment.
class PartReader {
 public:
  PartReader(num::Ring ring, num::Part part, const ResiduePlanes& planes, const std::int8_t* residues,
             std::int64_t count)
      : segment_(ring, planes.num_moduli, part, residues, planes.plane_stride, count),
        is_narrow_(num::bit_width(segment_.table().product_wide) <= kNarrowBits) {}

  [[nodiscard]] num::Scaled operator()(std::int64_t i, int exponent) const {
    if (is_narrow_) return round_narrow(segment_.table(), segment_.digits(i), exponent);
    const SignedWide x = segment_.integer(i);
    const LeadingBits bits = leading_bits(x.magnitude);
    return num::round_to_scaled(x.negative, bits.hi, bits.lo, bits.sticky, exponent + bits.exponent);
  }

 private:
  CrtSegment segment_;
  bool is_narrow_;
};

}  // namespace

template <class T>
void reconstruct_crt(const ResiduePlanes& planes, const std::int32_t* row_scale, const std::int32_t* col_scale, T alpha,
                     T beta, int threads, MatrixView<T> c) {
  const std::int64_t segments = base::ceil_div(c.rows, kSegment);
  base::parallel_for(segments * c.cols, threads, [&](std::int64_t task, int) {
    // Neighbouring tasks write neighbouring memory.
    const bool rows_inner = c.row_stride <= c.col_stride;
    const std::int64_t j = rows_inner ? task / segments : task % c.cols;
    const std::int64_t first = (rows_inner ? task % segments : task / c.cols) * kSegment;
    if (col_scale[j] == num::kSkipLine) return;
    const std::int64_t count = std::min(kSegment, c.rows - first);
    const std::int8_t* const residues = planes.data + j * planes.col_stride + first;
    const auto finish_segment = [&](const auto& product) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (row_scale[first + i] == num::kSkipLine) continue;
        T& out = c(first + i, j);
        out = num::finish(product(i, -(row_scale[first + i] + col_scale[j])), alpha, beta, beta == T{0} ? T{0} : out);
      }
    };
    if constexpr (kIsComplex<T>) {
      const PartReader re(num::Ring::kComplex, num::Part::kReal, planes, residues, count);
      const PartReader im(num::Ring::kComplex, num::Part::kImaginary, planes, residues, count);
      finish_segment([&](std::int64_t i, int exponent) {
        return num::ScaledComplex{re(i, exponent), im(i, exponent)};
      });
    } else {
      finish_segment(PartReader(num::Ring::kReal, num::Part::kReal, planes, residues, count));
    }
  });
}

#define KIZAMI_INSTANTIATE(T)                                                                                 \
  template void reconstruct_crt<T>(const ResiduePlanes&, const std::int32_t*, const std::int32_t*, T, T, int, \
                                   MatrixView<T>)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
