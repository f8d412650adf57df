// SPDX-License-Identifier: MIT
// The parts of the study that look at single numbers: table 1 and figures 6 and 7. The split is written here from the
// document's equations on the public formats, not taken from the library, which it thereby checks.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "check/random.hpp"
#include "kizami/formats.hpp"
#include "sgemm.hpp"

namespace kizami::study {
namespace {

float float_of(int exponent, std::uint32_t mantissa) {
  return std::ldexp(1.0F + std::ldexp(static_cast<float>(mantissa), -23), exponent);
}

/// Equations 7 and 8, or 14 with shift = 11: x is represented by hi + lo 2^-shift.
template <class F>
struct TwoParts {
  F hi;
  F lo;
  double value;
};
template <class F>
TwoParts<F> split(double x, RoundingMode rounding, int shift) {
  TwoParts<F> parts{};
  parts.hi = F::from(x, rounding);
  parts.lo = F::from(std::ldexp(x - parts.hi.to_double(), shift), rounding);
  parts.value = parts.hi.to_double() + std::ldexp(parts.lo.to_double(), -shift);
  return parts;
}

/// A row of the printed table: which bits decide, and what it says.
struct PrintedRow {
  const char* zeros;  ///< l0: zeros of the stored bits from m12 down
  const char* m12;
  const char* m11;
  const char* m0;
  int length;
  double probability;
  bool (*matches)(std::uint32_t m12, std::uint32_t m11, std::uint32_t m0);
};
constexpr std::array<PrintedRow, 6> kPrintedRows{{
    {">= 2", "0", "0", "*", 23, 0.25, [](auto m12, auto m11, auto) { return m12 == 0 && m11 == 0; }},
    {"= 1", "0", "1", "0", 23, 0.125, [](auto m12, auto m11, auto m0) { return m12 == 0 && m11 == 1 && m0 == 0; }},
    {"= 1", "0", "1", "1", 22, 0.125, [](auto m12, auto m11, auto m0) { return m12 == 0 && m11 == 1 && m0 == 1; }},
    {"= 0", "1", "0", "1", 22, 0.125, [](auto m12, auto m11, auto m0) { return m12 == 1 && m11 == 0 && m0 == 1; }},
    {"= 0", "1", "0", "0", 23, 0.125, [](auto m12, auto m11, auto m0) { return m12 == 1 && m11 == 0 && m0 == 0; }},
    {"= 0", "1", "1", "*", 23, 0.25, [](auto m12, auto m11, auto) { return m12 == 1 && m11 == 1; }},
}};

/// 23 if a mantissa is represented without loss, else 22: an error of one unit of m0 loses the last bit.
int retained_length(std::uint32_t mantissa, RoundingMode rounding) {
  const double x = static_cast<double>(float_of(0, mantissa));
  return split<Fp16>(x, rounding, 11).value == x ? 23 : 22;
}

double expected_length(RoundingMode rounding) {
  std::int64_t whole = 0;
  for (std::uint32_t mantissa = 0; mantissa < (1U << 23); ++mantissa)
    whole += retained_length(mantissa, rounding) == 23 ? 1 : 0;
  return 22.0 + static_cast<double>(whole) / static_cast<double>(1U << 23);
}

std::uint32_t sampled_mantissa(int exponent, int sample) {
  return static_cast<std::uint32_t>(check::AddressedRandom(6, 0, exponent + 512, sample).bits() & 0x7fffff);
}

struct UnderflowShare {
  double either = 0;
  double total = 0;
};
/// Shares of mantissas whose remainder is subnormal or zero, or zero, in FP16 though it is not zero.
UnderflowShare underflow_share(int exponent, RoundingMode rounding, int shift, int num_samples) {
  std::int64_t either = 0;
  std::int64_t total = 0;
  for (int sample = 0; sample < num_samples; ++sample) {
    const double x = static_cast<double>(float_of(exponent, sampled_mantissa(exponent, sample)));
    const TwoParts<Fp16> parts = split<Fp16>(x, rounding, shift);
    if (x == parts.hi.to_double()) continue;
    total += parts.lo.is_zero() ? 1 : 0;
    either += parts.lo.is_zero() || parts.lo.is_subnormal() ? 1 : 0;
  }
  return {static_cast<double>(either) / num_samples, static_cast<double>(total) / num_samples};
}

double theory(int exponent, int offset) {
  return std::max(0.0, std::min(1.0, std::ldexp(1.0, -(exponent + offset))) - 0x1p-13);
}

}  // namespace

RetainedBits retained_bits() {
  RetainedBits out;
  out.table = {"table_1",
               "Stored bits of FP32 that two FP16 numbers retain, by the bits that decide it: printed, and enumerated "
               "over all 2^23 mantissas",
               {"l0", "m12", "m11", "m0", "printed_length", "printed_probability", "length", "probability"},
               {}};
  out.agrees = true;
  for (const PrintedRow& row : kPrintedRows) {
    std::int64_t count = 0;
    std::int64_t lengths = 0;
    for (std::uint32_t mantissa = 0; mantissa < (1U << 23); ++mantissa) {
      if (!row.matches(mantissa >> 12 & 1, mantissa >> 11 & 1, mantissa & 1)) continue;
      ++count;
      lengths += retained_length(mantissa, RoundingMode::kNearestEven);
    }
    const double probability = static_cast<double>(count) / static_cast<double>(1U << 23);
    const double length = static_cast<double>(lengths) / static_cast<double>(count);
    out.agrees = out.agrees && probability == row.probability && length == row.length;
    out.table.rows.push_back({row.zeros, row.m12, row.m11, row.m0, fmt::format("{}", row.length),
                              fmt::format("{}", row.probability), fmt::format("{}", length),
                              fmt::format("{}", probability)});
  }
  out.expected_rn = expected_length(RoundingMode::kNearestEven);
  out.expected_rna = expected_length(RoundingMode::kNearestAway);
  // A number whose last bit is 0 loses nothing when it is cleared: half of them keep 23 bits, half 22.
  std::int64_t whole = 0;
  for (std::uint32_t mantissa = 0; mantissa < (1U << 23); ++mantissa) whole += (mantissa & 1) == 0 ? 1 : 0;
  out.expected_masked = 22.0 + static_cast<double>(whole) / static_cast<double>(1U << 23);
  out.table.rows.push_back({"expected", "", "", "", "", "", fmt::format("{}", out.expected_rn), "RN"});
  out.table.rows.push_back({"expected", "", "", "", "", "", fmt::format("{}", out.expected_rna), "RNA"});
  out.table.rows.push_back({"expected", "", "", "", "", "", fmt::format("{}", out.expected_masked), "last bit masked"});
  return out;
}

StudyFigure underflow_probability(const SgemmStudySize& size) {
  StudyFigure figure{"figure_6",
                     "Probability that the remainder of the first FP16 number underflows, by the exponent of the FP32 "
                     "number",
                     "exponent",
                     "probability",
                     false,
                     {}};
  for (int e = -20; e <= 16; ++e) {
    if (e > Fp16::kMaxExponent - 1) break;
    const auto add = [&](const char* data, const char* series, double y) {
      figure.points.push_back({data, series, static_cast<double>(e), y, 0});
    };
    const UnderflowShare rz = underflow_share(e, RoundingMode::kTowardZero, 0, size.num_samples);
    const UnderflowShare rn = underflow_share(e, RoundingMode::kNearestEven, 0, size.num_samples);
    const UnderflowShare shifted = underflow_share(e, RoundingMode::kNearestEven, 11, size.num_samples);
    add("RZ", "P_(u+gu) theory", theory(e, 4));
    add("RZ", "P_(u+gu) experiment", rz.either);
    add("RZ", "P_u theory", theory(e, 14));
    add("RZ", "P_u experiment", rz.total);
    add("RN", "P_(u+gu) theory", std::min(1.0, std::ldexp(1.0, -(e + 3))));
    add("RN", "P_(u+gu) experiment", rn.either);
    add("RN", "P_u experiment", rn.total);
    add("RN, times 2^11", "P_(u+gu) experiment", shifted.either);
    add("RN, times 2^11", "P_u experiment", shifted.total);
  }
  return figure;
}

StudyFigure representation_error(const SgemmStudySize& size) {
  StudyFigure figure{
      "figure_7", "Mean relative error of FP32 numbers as represented, by their exponent; 1 means nothing is left",
      "exponent", "relative_error",
      false,      {}};
  const int num_samples = std::max(1, size.num_samples / 64);
  for (int e = -140; e <= 127; e += e < -45 || e >= 20 ? 5 : 1) {
    std::array<double, 5> sums{};
    for (int sample = 0; sample < num_samples; ++sample) {
      const std::uint32_t mantissa = sampled_mantissa(e, sample);
      const double x = static_cast<double>(float_of(e, mantissa));
      const double whole = std::ldexp(1.0 + std::ldexp(static_cast<double>(mantissa), -23), e);
      const std::array<double, 5> values = {
          x, Fp16::from(x).to_double(), split<Fp16>(x, RoundingMode::kNearestEven, 0).value,
          split<Fp16>(x, RoundingMode::kNearestEven, 11).value, split<Tf32>(x, RoundingMode::kNearestAway, 11).value};
      for (std::size_t i = 0; i < values.size(); ++i)
        sums[i] += std::isfinite(values[i]) ? std::abs(values[i] - whole) / whole : 1.0;
    }
    constexpr std::array kNames = {"FP32", "FP16", "Markidis", "halfhalf", "tf32tf32"};
    for (std::size_t i = 0; i < sums.size(); ++i)
      figure.points.push_back({"", kNames[i], static_cast<double>(e), sums[i] / num_samples, 0});
  }
  return figure;
}

NormalRemainders remainders_of_exp_rand(const SgemmStudySize& size) {
  NormalRemainders out;
  const std::int64_t num_samples = std::int64_t{size.num_samples} * 16;
  std::int64_t subnormal = 0;
  for (std::int64_t sample = 0; sample < num_samples; ++sample) {
    check::AddressedRandom random(8, 0, sample & 0xffff, sample >> 16);
    const std::uint64_t word = random.bits();
    const double x = static_cast<double>(
        float_of(-15 + static_cast<int>((word >> 32) % 30), static_cast<std::uint32_t>(word & 0x7fffff)));
    const TwoParts<Fp16> parts = split<Fp16>(x, RoundingMode::kNearestEven, 11);
    subnormal += parts.lo.is_subnormal() || parts.hi.is_subnormal() ? 1 : 0;
    out.worst_error = std::max(out.worst_error, std::abs(parts.value - x) / x);
  }
  out.subnormal_share = static_cast<double>(subnormal) / static_cast<double>(num_samples);
  return out;
}

}  // namespace kizami::study
