// SPDX-License-Identifier: MIT
#include "check/random.hpp"

#include <bit>
#include <cmath>

namespace kizami::check {
namespace {

constexpr int kExpTerms = 15;  // |r| <= ln(2)/2: r^15 / 15! < 2^-62
constexpr int kLogTerms = 12;  // |f| <= 3 - 2 sqrt(2) = 0.172: 2 f^25 / 25 < 2^-66

constexpr std::array<double, kExpTerms> make_exp_coefficients() {
  std::array<double, kExpTerms> c{};
  double factorial = 1;  // exact up to 18!
  for (int n = 0; n < kExpTerms; ++n) {
    if (n > 0) factorial *= n;
    c[static_cast<std::size_t>(n)] = 1 / factorial;
  }
  return c;
}
constexpr std::array<double, kExpTerms> kExpCoefficients = make_exp_coefficients();

// ln 2 in two parts; the first has 32 significant bits, so that n * kLn2Hi is exact for |n| < 2^20.
constexpr double kLn2Hi = 0x1.62e42feep-1;
constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
constexpr double kInvLn2 = 0x1.71547652b82fep+0;

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9U;
    k[1] += 0xBB67AE85U;
  }
  return c;
}

AddressedRandom::AddressedRandom(std::uint64_t seed, std::uint32_t stream, std::int64_t i, std::int64_t j) noexcept
    : counter_{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), stream, 0},
      key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

std::uint64_t AddressedRandom::bits() noexcept {
  if (next_ == 4) {
    block_ = philox4x32(counter_, key_);
    ++counter_[3];
    next_ = 0;
  }
  const auto word = static_cast<std::size_t>(next_);
  next_ += 2;
  return std::uint64_t{block_[word]} << 32 | block_[word + 1];
}

std::uint64_t AddressedRandom::below(std::uint64_t n) noexcept {
  const std::uint64_t x = bits();  // the high half of the 128-bit product x * n, in 32-bit pieces
  const std::uint64_t x1 = x >> 32, x0 = x & 0xffffffffU, n1 = n >> 32, n0 = n & 0xffffffffU;
  const std::uint64_t middle = x1 * n0 + (x0 * n0 >> 32);
  return x1 * n1 + (middle >> 32) + ((x0 * n1 + (middle & 0xffffffffU)) >> 32);
}

double AddressedRandom::uniform(int num_bits) noexcept {
  return std::ldexp(static_cast<double>(bits() >> (64 - num_bits)), -num_bits);
}

double AddressedRandom::sign() noexcept { return (bits() >> 63) != 0 ? -1.0 : 1.0; }

double AddressedRandom::normal() noexcept {
  while (true) {
    const double u = 2 * uniform(53) - 1;
    const double v = 2 * uniform(53) - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

double portable_log(double x) noexcept {
  std::uint64_t word = std::bit_cast<std::uint64_t>(x);
  int e = static_cast<int>(word >> 52) - 1023;
  word = (word & 0x000fffffffffffffU) | 0x3ff0000000000000U;
  double m = std::bit_cast<double>(word);  // x = m 2^e, m in [1, 2)
  if (m > 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++e;
  }
  // log m = 2 artanh f = 2 (f + f^3/3 + f^5/5 + ...), f = (m - 1) / (m + 1)
  const double f = (m - 1) / (m + 1);
  const double f2 = f * f;
  double sum = 0;
  for (int n = kLogTerms; n-- > 0;) sum = sum * f2 + 2.0 / (2 * n + 1);
  return e * kLn2Hi + (f * sum + e * kLn2Lo);
}

double portable_exp(double x) noexcept {
  const double n = std::floor(x * kInvLn2 + 0.5);
  const double r = (x - n * kLn2Hi) - n * kLn2Lo;
  double sum = 0;
  for (int t = kExpTerms; t-- > 0;) sum = sum * r + kExpCoefficients[static_cast<std::size_t>(t)];
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace kizami::check
