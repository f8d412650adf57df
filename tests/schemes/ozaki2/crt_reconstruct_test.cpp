// SPDX-License-Identifier: MIT
// Residues -> C: random and boundary integers are cut into residues by GMP, rebuilt by the library, and compared with
// the integer itself, rounded by MPFR. Every number of moduli, stride, thread count and instruction set.
#include "schemes/ozaki2/crt.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/int_math.hpp"
#include "num/crt_table.hpp"
#include "num/moduli.hpp"
#include "tests/certify/simd_targets.hpp"
#include "tests/num/exact_numbers.hpp"

namespace kizami::ozaki2 {
namespace {

using tests::exact;
using tests::Integer;
using tests::integer;
using tests::Rational;
using tests::Rng;
using tests::scaled;

/// Integers with |X| <= (P - 1) / 2 where something turns: the ends, zero, ties of the rounding to 53 bits, small ones.
Integer random_integer(Rng& rng, int num_moduli) {
  const Integer half = integer(num::crt_table(num::Ring::kReal, num_moduli).half_wide);
  Integer x;
  switch (rng() % 8) {
    case 0:
      x = half - static_cast<unsigned long>(rng() % 3);
      break;
    case 1:
      x = static_cast<unsigned long>(rng() % 1000);
      break;
    case 2: {  // few bits more than 53, the rest zero: ties and one beside them
      const int bits = tests::random_int(rng, 54, 60);
      x = (integer(std::uint64_t{rng()}) | (integer(std::uint64_t{1}) << 63)) >> static_cast<unsigned>(64 - bits);
      const auto width = static_cast<int>(mpz_sizeinbase(half.get_mpz_t(), 2));
      if (bits < width) x <<= static_cast<unsigned>(rng() % static_cast<std::uint64_t>(width - bits));
      if (rng() % 3 == 0) x += rng() % 2 == 0 ? 1 : -1;
      break;
    }
    case 3:
      x = tests::random_below(rng, half) >> static_cast<unsigned>(rng() % 200);
      break;
    case 4:
      x = half >> static_cast<unsigned>(rng() % 20);
      break;
    default:
      x = tests::random_below(rng, half + 1);
      break;
  }
  if (x > half) x %= half + 1;
  return rng() % 2 == 0 ? x : Integer(-x);
}

struct Planes {
  std::int64_t col_stride;
  std::int64_t plane_stride;
  std::vector<std::int8_t> bytes;
  [[nodiscard]] ResiduePlanes view(int num_moduli) const {
    return {bytes.data(), num_moduli, col_stride, plane_stride};
  }
};
/// x[j * rows + i]; padding holds arbitrary bytes, which are read but must not matter.
Planes planes_of(Rng& rng, const std::vector<Integer>& x, std::int64_t rows, std::int64_t cols, int num_moduli) {
  Planes planes;
  planes.col_stride = base::round_up(rows, 64) + 64 * static_cast<std::int64_t>(rng() % 2);
  planes.plane_stride = planes.col_stride * cols + static_cast<std::int64_t>(rng() % 2) * 7;
  planes.bytes.resize(static_cast<std::size_t>(planes.plane_stride * num_moduli));
  for (auto& byte : planes.bytes) byte = static_cast<std::int8_t>(rng());
  for (int l = 0; l < num_moduli; ++l) {
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) {
        planes.bytes[static_cast<std::size_t>(l * planes.plane_stride + j * planes.col_stride + i)] =
            static_cast<std::int8_t>(tests::residue_by_definition(x[static_cast<std::size_t>(j * rows + i)],
                                                                  num::kRealModuli[static_cast<std::size_t>(l)]));
      }
    }
  }
  return planes;
}

/// p = round_53(X) 2^-scale, then round_T(round_53(alpha p + round_53(beta c))); alpha = 1, beta = 0: round_T(p).
template <class T>
T by_definition(const Integer& x, int scale, T alpha, T beta, T c) {
  const Rational p = scaled(tests::rounded_to_bits(Rational(x), 53), -scale);
  if (beta == T{0} && alpha == T{1}) return tests::rounded<T>(p);
  Rational v = exact(static_cast<double>(alpha)) * p;
  if (beta != T{0}) v += tests::rounded_to_bits(exact(static_cast<double>(beta)) * exact(static_cast<double>(c)), 53);
  return tests::rounded<T>(tests::rounded_to_bits(v, 53));
}

enum class Order : std::uint8_t { kCol, kRow, kBoth };

/// C in memory with canaries in all gaps.
template <class T>
struct Result {
  Result(std::int64_t rows, std::int64_t cols, Order order, T fill) {
    const std::int64_t row_stride = order == Order::kCol ? 1 : order == Order::kRow ? cols + 2 : 3;
    const std::int64_t col_stride = order == Order::kCol ? rows + 2 : order == Order::kRow ? 1 : 3 * rows + 1;
    memory.assign(static_cast<std::size_t>(rows * row_stride + cols * col_stride + 3), kCanary);
    view = {memory.data() + 1, rows, cols, row_stride, col_stride};
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) view(i, j) = fill;
    }
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  static constexpr T kCanary = T(-77777);
  std::vector<T> memory;
  MatrixView<T> view;
};
template <class T>
bool bits_equal(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <class T>
void expect_definition(Rng& rng, int num_moduli, std::int64_t rows, std::int64_t cols, T alpha, T beta, int threads) {
  std::vector<Integer> x(static_cast<std::size_t>(rows * cols));
  for (Integer& v : x) v = random_integer(rng, num_moduli);
  const Planes planes = planes_of(rng, x, rows, cols, num_moduli);
  // Scales around where results are ordinary, and now and then at either end of the range.
  const int middle =
      static_cast<int>(mpz_sizeinbase(integer(num::crt_table(num::Ring::kReal, num_moduli).half_wide).get_mpz_t(), 2)) /
      2;
  std::vector<std::int32_t> row_scale(static_cast<std::size_t>(rows));
  std::vector<std::int32_t> col_scale(static_cast<std::size_t>(cols));
  const int range = sizeof(T) == sizeof(float) ? 80 : 570;
  for (auto& s : row_scale) s = rng() % 8 == 0 ? num::kSkipLine : middle + tests::random_int(rng, -range, range);
  for (auto& s : col_scale) s = rng() % 8 == 0 ? num::kSkipLine : middle + tests::random_int(rng, -range, range);
  for (const Order order : {Order::kCol, Order::kRow, Order::kBoth}) {
    // beta = 0 must not read C: it holds NaN.
    const T old = beta == T{0} ? std::numeric_limits<T>::quiet_NaN()
                               : static_cast<T>(tests::random_double(rng, tests::random_int(rng, -30, 30)));
    Result<T> got(rows, cols, order, old);
    Result<T> want(rows, cols, order, old);
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto s = row_scale[static_cast<std::size_t>(i)];
        const auto t = col_scale[static_cast<std::size_t>(j)];
        if (s == num::kSkipLine || t == num::kSkipLine) continue;
        const Integer& value = x[static_cast<std::size_t>(j * rows + i)];
        want.view(i, j) = by_definition<T>(value, s + t, alpha, beta, beta == T{0} ? T{0} : old);
        if (value == 0 && beta == T{0}) want.view(i, j) = alpha < 0 ? -T{0} : T{0};  // alpha * (+0)
      }
    }
    reconstruct_crt(planes.view(num_moduli), row_scale.data(), col_scale.data(), alpha, beta, threads, got.view);
    ASSERT_TRUE(bits_equal(got.memory, want.memory))
        << "N = " << num_moduli << ", " << rows << " x " << cols << ", alpha = " << alpha << ", beta = " << beta
        << ", order " << static_cast<int>(order) << ", threads " << threads;
  }
}

template <class T>
void expect_every_number_of_moduli(std::uint64_t seed) {
  Rng rng(seed);
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    for (const auto& [alpha, beta] :
         std::vector<std::pair<T, T>>{{T(1), T(0)}, {T(-1), T(0)}, {T(0.3), T(0)}, {T(1), T(1)}, {T(-0.7), T(3.1)}}) {
      expect_definition<T>(rng, n, tests::kIsSanitized ? 9 : 70, 3, alpha, beta, 1 + static_cast<int>(rng() % 3));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}
TEST(ReconstructCrt, EveryNumberOfModuli64) { expect_every_number_of_moduli<double>(1); }
TEST(ReconstructCrt, EveryNumberOfModuli32) { expect_every_number_of_moduli<float>(2); }

TEST(ReconstructCrt, ShapesAroundSegments) {
  Rng rng(3);
  for (const std::int64_t rows : {1, 63, 64, 65, 255, 256, 257, 600}) {
    for (const std::int64_t cols : {1, 2, 7}) {
      if (tests::kIsSanitized && rows * cols > 600) continue;
      for (const int threads : {1, 4}) expect_definition<double>(rng, 14, rows, cols, 1.0, 0.0, threads);
    }
  }
}

TEST(ReconstructCrt, NothingToDo) {
  double c = 5;
  const std::int32_t scale = 0;
  std::vector<std::int8_t> bytes(64);
  reconstruct_crt<double>({bytes.data(), 2, 64, 64}, &scale, &scale, 1.0, 0.0, 2, {&c, 0, 1, 1, 1});
  reconstruct_crt<double>({bytes.data(), 2, 64, 64}, &scale, &scale, 1.0, 0.0, 2, {&c, 1, 0, 1, 1});
  EXPECT_EQ(c, 5);
}

/// alpha = 1, beta = 0, inside the normal range: the integer, correctly rounded, for thousands of integers of every
/// size.
TEST(ReconstructCrt, CorrectlyRounded) {
  Rng rng(4);
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    const std::int64_t rows = tests::cases(6000);
    std::vector<Integer> x(static_cast<std::size_t>(rows));
    for (Integer& v : x) v = random_integer(rng, n);
    const Planes planes = planes_of(rng, x, rows, 1, n);
    const std::vector<std::int32_t> zero(static_cast<std::size_t>(rows), 0);
    std::vector<double> c(static_cast<std::size_t>(rows));
    reconstruct_crt<double>(planes.view(n), zero.data(), zero.data(), 1.0, 0.0, 1, {c.data(), rows, 1, 1, rows});
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(c[i], tests::rounded<double>(Rational(x[i]))) << "N = " << n << ", X = " << x[i].get_str();
  }
}

// ---- crt_digits -----------------------------------------------------------------------------------------------------

/// Any residues at all, extremes included: the digit sums are integers, congruent to the residues, below 0.51 P.
TEST(CrtDigits, CongruentAndSmallOnEveryTarget) {
  int targets = 0;
  const int ran = tests::for_each_simd_target([&](const std::string& name) {
    Rng rng(5);
    for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
      const num::CrtTable& table = num::crt_table(num::Ring::kReal, n);
      const Integer product = integer(table.product_wide);
      for (const std::int64_t count : {64, 192, 256}) {
        std::vector<std::int8_t> residues(static_cast<std::size_t>(n * 256));
        for (std::int64_t i = 0; i < count; ++i) {
          const auto kind = rng() % 5;
          const Integer x = random_integer(rng, n);
          for (int l = 0; l < n; ++l) {
            const int p = num::kRealModuli[static_cast<std::size_t>(l)];
            int r = tests::residue_by_definition(x, p);
            if (kind == 0) r = rng() % 2 == 0 ? -(p / 2) : (p + 1) / 2 - 1;
            if (kind == 1) r = -(p / 2);
            if (kind == 2) r = (p + 1) / 2 - 1;
            residues[static_cast<std::size_t>(l * 256 + i)] = static_cast<std::int8_t>(r);
          }
        }
        std::vector<double> digits(static_cast<std::size_t>(table.num_digits * kSegment + 1), 0.5);
        crt_digits(table, residues.data(), 256, count, digits.data());
        ASSERT_EQ(digits.back(), 0.5);
        for (std::int64_t i = 0; i < count; ++i) {
          Integer sum = 0;
          for (int d = table.num_digits - 1; d >= 0; --d) {
            const double digit = digits[static_cast<std::size_t>(d * kSegment + i)];
            ASSERT_EQ(digit, std::rint(digit));
            ASSERT_LE(std::fabs(digit), 0x1p53);
            sum = (sum << num::kCrtDigitBits) + Integer(digit);
          }
          ASSERT_LT(Integer(abs(sum) * 100), Integer(product * 51)) << name << ", N = " << n;
          for (int l = 0; l < n; ++l) {
            ASSERT_EQ(tests::residue_by_definition(sum, num::kRealModuli[static_cast<std::size_t>(l)]),
                      residues[static_cast<std::size_t>(l * 256 + i)])
                << name << ", N = " << n;
          }
        }
      }
    }
    ++targets;
  });
  EXPECT_EQ(targets, ran);
  EXPECT_GT(targets, 1);
}

/// C itself has the same bits on every target, at the ends (P - 1) / 2 too, where the quotient may fall either way.
TEST(ReconstructCrt, SameBitsOnEveryTarget) {
  for (int n = num::kMinModuli; n <= num::kMaxRealModuli; ++n) {
    std::vector<double> want;
    tests::for_each_simd_target([&](const std::string& name) {
      Rng rng(600 + static_cast<std::uint64_t>(n));
      const std::int64_t rows = 130;
      std::vector<Integer> x(static_cast<std::size_t>(rows));
      for (Integer& v : x) v = random_integer(rng, n);
      x[0] = integer(num::crt_table(num::Ring::kReal, n).half_wide);
      x[1] = -x[0];
      const Planes planes = planes_of(rng, x, rows, 1, n);
      const std::vector<std::int32_t> scale(static_cast<std::size_t>(rows), 3);
      std::vector<double> c(static_cast<std::size_t>(rows));
      reconstruct_crt<double>(planes.view(n), scale.data(), scale.data(), 1.0, 0.0, 1, {c.data(), rows, 1, 1, rows});
      if (want.empty()) want = c;
      ASSERT_TRUE(bits_equal(c, want)) << name;
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(c[i], tests::rounded<double>(scaled(Rational(x[i]), -6))) << name << ", N = " << n;
    });
  }
}

}  // namespace
}  // namespace kizami::ozaki2
