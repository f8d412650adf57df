// SPDX-License-Identifier: MIT
// Integers and rationals of GMP, roundings of MPFR, and lines of operands as exact integers: the references of the
// tests of num/, split/, reconstruct/ and fp64/. Shares no arithmetic with src/.
#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

#include "num/line_stats.hpp"
#include "num/wide_int.hpp"
#include "tests/sanitized.hpp"

// How GoogleTest prints them: the stream operators of gmpxx.h need a library of their own.
template <class Expression>
void PrintTo(const __gmp_expr<mpz_t, Expression>& x, std::ostream* out) {
  *out << mpz_class(x).get_str();
}
template <class Expression>
void PrintTo(const __gmp_expr<mpq_t, Expression>& x, std::ostream* out) {
  *out << mpq_class(x).get_str();
}

namespace kizami::tests {

using Integer = mpz_class;
using Rational = mpq_class;

// ---- conversions ----------------------------------------------------------------------------------------------------

[[nodiscard]] inline Integer power_of_two(unsigned e) { return Integer(1) << e; }

/// x 2^e
[[nodiscard]] inline Rational scaled(const Rational& x, int e) {
  Rational r;
  if (e >= 0) {
    mpq_mul_2exp(r.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(e));
  } else {
    mpq_div_2exp(r.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(-e));
  }
  return r;
}
[[nodiscard]] inline Rational exact(double x) { return Rational(x); }

[[nodiscard]] inline Integer integer(std::uint64_t x) {
  Integer r;
  mpz_import(r.get_mpz_t(), 1, -1, sizeof x, 0, 0, &x);
  return r;
}
[[nodiscard]] inline Integer integer(std::int64_t x) {
  const auto magnitude = x < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  return x < 0 ? Integer(-integer(magnitude)) : integer(magnitude);
}
template <int L>
[[nodiscard]] Integer integer(const num::WideUint<L>& x) {
  Integer r;
  mpz_import(r.get_mpz_t(), L, -1, sizeof(std::uint64_t), 0, 0, x.limb.data());
  return r;
}
/// x modulo 2^(64 L), x >= 0.
template <int L>
[[nodiscard]] num::WideUint<L> wide(const Integer& x) {
  num::WideUint<L> r;
  for (int i = 0; i < L; ++i) {
    const Integer limb = (x >> static_cast<unsigned>(64 * i)) & (power_of_two(64) - 1);
    mpz_export(&r.limb[static_cast<std::size_t>(i)], nullptr, -1, sizeof(std::uint64_t), 0, 0, limb.get_mpz_t());
  }
  return r;
}

// ---- roundings ------------------------------------------------------------------------------------------------------

/// A number of MPFR, with RAII. The exponent range of MPFR is never met here.
class Mpfr {
 public:
  explicit Mpfr(mpfr_prec_t bits) { mpfr_init2(x_, bits); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  ~Mpfr() { mpfr_clear(x_); }
  [[nodiscard]] mpfr_ptr get() { return x_; }

 private:
  mpfr_t x_;
};

/// x rounded to `bits` significant bits, to nearest with ties to even, exponents unbounded.
[[nodiscard]] inline Rational rounded_to_bits(const Rational& x, int bits) {
  Mpfr r(bits);
  mpfr_set_q(r.get(), x.get_mpq_t(), MPFR_RNDN);
  Rational result;
  mpfr_get_q(result.get_mpq_t(), r.get());
  return result;
}

/// The T nearest to x, in one rounding: subnormals, overflow to Inf; -0 for a negative number that rounds to zero.
template <class T>
[[nodiscard]] T rounded(const Rational& x) {
  if (sgn(x) == 0) return T{0};
  // 53 bits of a dyadic number are rounded once: a precision that holds all of it.
  Mpfr r(static_cast<mpfr_prec_t>(mpz_sizeinbase(x.get_num_mpz_t(), 2)) + 2);
  if (mpfr_set_q(r.get(), x.get_mpq_t(), MPFR_RNDN) != 0) std::abort();  // not dyadic: a broken test
  if constexpr (sizeof(T) == sizeof(float))
    return mpfr_get_flt(r.get(), MPFR_RNDN);
  else
    return mpfr_get_d(r.get(), MPFR_RNDN);
}

/// x 2^s rounded to an integer, ties to even, by MPFR.
[[nodiscard]] inline Integer rint_scaled(double x, int s) {
  Mpfr r(53);
  mpfr_set_d(r.get(), x, MPFR_RNDN);
  mpfr_mul_2si(r.get(), r.get(), s, MPFR_RNDN);
  Integer result;
  mpfr_get_z(result.get_mpz_t(), r.get(), MPFR_RNDN);
  return result;
}

/// The symmetric residue by its definition: the one congruent integer in [-floor(p/2), ceil(p/2) - 1].
[[nodiscard]] inline int residue_by_definition(const Integer& x, int p) {
  const auto r = static_cast<int>(mpz_fdiv_ui(x.get_mpz_t(), static_cast<unsigned long>(p)));  // in [0, p)
  return r > (p + 1) / 2 - 1 ? r - p : r;
}

// ---- lines ----------------------------------------------------------------------------------------------------------

/// A finite double as significand 2^exponent, by the C library.
struct Parts {
  std::int64_t significand;
  int exponent;
};
[[nodiscard]] inline Parts parts_of(double x) {
  int e = 0;
  const double f = std::frexp(x, &e);
  return {static_cast<std::int64_t>(std::ldexp(f, 53)), e - 53};
}

/// ceil(|x| 2^s) for results below 2^62.
[[nodiscard]] inline std::uint64_t ceil_scaled(double x, int s) {
  const Parts p = parts_of(std::fabs(x));
  const int e = p.exponent + s;
  const auto m = static_cast<std::uint64_t>(p.significand);
  if (m == 0) return 0;
  if (e >= 0) return m << e;
  return e <= -63 ? 1 : ((m - 1) >> -e) + 1;
}
/// floor(|x| 2^s) for results below 2^62.
[[nodiscard]] inline std::uint64_t floor_scaled(double x, int s) {
  const Parts p = parts_of(std::fabs(x));
  const int e = p.exponent + s;
  const auto m = static_cast<std::uint64_t>(p.significand);
  if (m == 0) return 0;
  if (e >= 0) return m << e;
  return e <= -63 ? 0 : m >> -e;
}

[[nodiscard]] inline int shift_at(const std::vector<std::int32_t>& shift, std::size_t h) {
  return shift.empty() ? 0 : shift[h];
}

/// num::LineStats by definition, of the elements x_h 2^shift_h. @range shift: as long as x, or empty
[[nodiscard]] inline num::LineStats stats_by_definition(const std::vector<double>& x,
                                                        const std::vector<std::int32_t>& shift = {}) {
  num::LineStats stats;
  for (std::size_t h = 0; h < x.size(); ++h) {
    if (std::isnan(x[h]) || std::isinf(x[h])) {
      num::LineStats nonfinite;
      nonfinite.is_finite = false;
      return nonfinite;
    }
    if (x[h] == 0) continue;
    const Parts p = parts_of(x[h]);
    int trailing = 0;
    while (((p.significand >> trailing) & 1) == 0) ++trailing;
    stats.exponent = std::max(stats.exponent, std::ilogb(x[h]) + shift_at(shift, h));
    stats.lsb = std::min(stats.lsb, p.exponent + trailing + shift_at(shift, h));
  }
  if (stats.exponent == num::kNoExponent) return stats;
  for (std::size_t h = 0; h < x.size(); ++h) {
    const int s = shift_at(shift, h) - stats.exponent;
    const std::uint64_t r = ceil_scaled(x[h], num::kSquareBits + s);
    stats.sum_abs += ceil_scaled(x[h], num::kAbsBits + s);
    stats.sum_squares += r * r;
  }
  return stats;
}

// ---- random numbers -------------------------------------------------------------------------------------------------

using Rng = std::mt19937_64;

[[nodiscard]] inline int random_int(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng() % static_cast<std::uint64_t>(high - low + 1));
}
/// A random sign and significand with leading exponent e; often few bits, now and then all ones.
[[nodiscard]] inline double random_double(Rng& rng, int e) {
  std::uint64_t m = rng() >> 11 | std::uint64_t{1} << 52;
  switch (rng() % 8) {
    case 0:
      m &= ~std::uint64_t{0} << (rng() % 53);
      break;
    case 1:
      m = ~std::uint64_t{0} >> 11;
      break;
    default:
      break;
  }
  const double x = std::ldexp(static_cast<double>(m), e - 52);
  return rng() % 2 == 0 ? x : -x;
}
/// An integer uniform in [0, limit).
[[nodiscard]] inline Integer random_below(Rng& rng, const Integer& limit) {
  Integer x;
  for (std::size_t bits = 0; bits < mpz_sizeinbase(limit.get_mpz_t(), 2) + 64; bits += 64)
    x = (x << 64) + integer(std::uint64_t{rng()});
  return x % limit;
}

}  // namespace kizami::tests
