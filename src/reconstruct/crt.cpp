// SPDX-License-Identifier: MIT
#include "reconstruct/crt.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "base/parallel.hpp"

namespace kizami::reconstruct {
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

/// The same in wide integers.
[[nodiscard]] num::Scaled round_wide(const num::CrtTable& table, const double* digits, int exponent) {
  using Wide = num::CrtInt;
  constexpr int kTop = num::kCrtLimbs - 1;
  const auto is_negative = [](const Wide& w) { return (w.limb[kTop] >> 63) != 0; };
  Wide x;
  for (int d = table.num_digits - 1; d >= 0; --d) {
    const auto digit = static_cast<std::int64_t>(digits[d * kSegment]);
    Wide term(static_cast<std::uint64_t>(digit));
    if (digit < 0) std::fill(term.limb.begin() + 1, term.limb.end(), ~std::uint64_t{0});
    x = num::add(num::mul_small(x, std::uint64_t{1} << num::kCrtDigitBits), term);
  }
  bool negative = is_negative(x);
  if (negative) x = num::negate(x);
  if (num::less(table.half_wide, x)) {  // |X| > (P - 1) / 2: the other representative, of the other sign
    x = num::sub(table.product_wide, x);
    negative = !negative;
  }
  int top = kTop;
  while (top > 0 && x.limb[static_cast<std::size_t>(top)] == 0) --top;
  bool sticky = false;
  for (int i = 0; i + 1 < top; ++i) sticky = sticky || x.limb[static_cast<std::size_t>(i)] != 0;
  const std::uint64_t hi = x.limb[static_cast<std::size_t>(top)];
  const std::uint64_t lo = top > 0 ? x.limb[static_cast<std::size_t>(top - 1)] : 0;
  // With sticky bits below, the kept 128 bits hold at least 65 significant ones: enough for one rounding to 53.
  return num::round_to_scaled(negative, hi, lo, sticky, exponent + 64 * (top - 1));
}

/// One part of the products of a segment, and its rounding.
class PartReader {
 public:
  PartReader(num::Ring ring, int num_moduli, num::Part part)
      : table_(num::crt_table(ring, num_moduli, part)),
        is_narrow_(num::bit_width(table_.product_wide) <= kNarrowBits) {}

  void load(const std::int8_t* residues, std::int64_t plane_stride, std::int64_t count) {
    crt_digits(table_, residues, plane_stride, base::round_up(count, 64), digits_);
  }
  [[nodiscard]] num::Scaled operator()(std::int64_t i, int exponent) const {
    return is_narrow_ ? round_narrow(table_, digits_ + i, exponent) : round_wide(table_, digits_ + i, exponent);
  }

 private:
  const num::CrtTable& table_;
  bool is_narrow_;
  double digits_[num::kMaxCrtDigits * kSegment];
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
    if (col_scale[j] == kSkipLine) return;
    const std::int64_t count = std::min(kSegment, c.rows - first);
    const std::int8_t* const residues = planes.data + j * planes.col_stride + first;
    const auto finish_segment = [&](const auto& product) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (row_scale[first + i] == kSkipLine) continue;
        T& out = c(first + i, j);
        out = num::finish(product(i, -(row_scale[first + i] + col_scale[j])), alpha, beta, beta == T{0} ? T{0} : out);
      }
    };
    if constexpr (kIsComplex<T>) {
      PartReader re(num::Ring::kComplex, planes.num_moduli, num::Part::kReal);
      PartReader im(num::Ring::kComplex, planes.num_moduli, num::Part::kImaginary);
      re.load(residues, planes.plane_stride, count);
      im.load(residues, planes.plane_stride, count);
      finish_segment([&](std::int64_t i, int exponent) {
        return num::ScaledComplex{re(i, exponent), im(i, exponent)};
      });
    } else {
      PartReader part(num::Ring::kReal, planes.num_moduli, num::Part::kReal);
      part.load(residues, planes.plane_stride, count);
      finish_segment(part);
    }
  });
}

#define KIZAMI_INSTANTIATE(T)                                                                                 \
  template void reconstruct_crt<T>(const ResiduePlanes&, const std::int32_t*, const std::int32_t*, T, T, int, \
                                   MatrixView<T>)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::reconstruct
