// SPDX-License-Identifier: MIT
#include "reconstruct/crt.hpp"

#include <algorithm>

#include "base/int_math.hpp"
#include "base/parallel.hpp"

namespace kizami::reconstruct {
namespace {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

/// X from digits that fit in 127 bits: up to 16 moduli (P < 2^126).
constexpr int kNarrowBits = 126;

[[nodiscard]] num::Scaled round_narrow(const num::CrtTable& table, const double* digits, int exponent) {
  int128 x = 0;
  for (int d = table.num_digits - 1; d >= 0; --d) {
    // Unsigned: the shift of a negative value and intermediate wrap are harmless modulo 2^128.
    x = static_cast<int128>((static_cast<uint128>(x) << num::kCrtDigitBits) +
                            static_cast<uint128>(static_cast<int128>(static_cast<std::int64_t>(digits[d * kSegment]))));
  }
  const auto wide = [](const num::WideUint<4>& w) {
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

/// The same in 256 bits.
[[nodiscard]] num::Scaled round_wide(const num::CrtTable& table, const double* digits, int exponent) {
  using Wide = num::WideUint<4>;
  const auto is_negative = [](const Wide& w) { return (w.limb[3] >> 63) != 0; };
  Wide x;
  for (int d = table.num_digits - 1; d >= 0; --d) {
    const auto digit = static_cast<std::int64_t>(digits[d * kSegment]);
    Wide term(static_cast<std::uint64_t>(digit));
    if (digit < 0) term.limb[1] = term.limb[2] = term.limb[3] = ~std::uint64_t{0};
    x = num::add(num::mul_small(x, std::uint64_t{1} << num::kCrtDigitBits), term);
  }
  bool negative = is_negative(x);
  if (negative) x = num::negate(x);
  if (num::less(table.half_wide, x)) {  // |X| > (P - 1) / 2: the other representative, of the other sign
    x = num::sub(table.product_wide, x);
    negative = !negative;
  }
  int top = 3;
  while (top > 0 && x.limb[static_cast<std::size_t>(top)] == 0) --top;
  bool sticky = false;
  for (int i = 0; i + 1 < top; ++i) sticky = sticky || x.limb[static_cast<std::size_t>(i)] != 0;
  const std::uint64_t hi = x.limb[static_cast<std::size_t>(top)];
  const std::uint64_t lo = top > 0 ? x.limb[static_cast<std::size_t>(top - 1)] : 0;
  // With sticky bits below, the kept 128 bits hold at least 65 significant ones: enough for one rounding to 53.
  return num::round_to_scaled(negative, hi, lo, sticky, exponent + 64 * (top - 1));
}

}  // namespace

template <class T>
void reconstruct_crt(const ResiduePlanes& planes, const std::int32_t* row_scale, const std::int32_t* col_scale, T alpha,
                     T beta, int threads, MatrixView<T> c) {
  const num::CrtTable& table = num::crt_table(planes.num_moduli);
  const bool is_narrow = num::bit_width(table.product_wide) <= kNarrowBits;
  const std::int64_t segments = base::ceil_div(c.rows, kSegment);
  base::parallel_for(segments * c.cols, threads, [&](std::int64_t task, int) {
    double digits[num::kMaxCrtDigits * kSegment];
    // Neighbouring tasks write neighbouring memory.
    const bool rows_inner = c.row_stride <= c.col_stride;
    const std::int64_t j = rows_inner ? task / segments : task % c.cols;
    const std::int64_t first = (rows_inner ? task % segments : task / c.cols) * kSegment;
    if (col_scale[j] == kSkipLine) return;
    const std::int64_t count = std::min(kSegment, c.rows - first);
    crt_digits(table, planes.data + j * planes.col_stride + first, planes.plane_stride, base::round_up(count, 64),
               digits);
    for (std::int64_t i = 0; i < count; ++i) {
      if (row_scale[first + i] == kSkipLine) continue;
      const int exponent = -(row_scale[first + i] + col_scale[j]);
      const num::Scaled p =
          is_narrow ? round_narrow(table, digits + i, exponent) : round_wide(table, digits + i, exponent);
      T& out = c(first + i, j);
      out = num::finish(p, alpha, beta, beta == T{0} ? T{0} : out);
    }
  });
}

template void reconstruct_crt<float>(const ResiduePlanes&, const std::int32_t*, const std::int32_t*, float, float, int,
                                     MatrixView<float>);
template void reconstruct_crt<double>(const ResiduePlanes&, const std::int32_t*, const std::int32_t*, double, double,
                                      int, MatrixView<double>);

}  // namespace kizami::reconstruct
