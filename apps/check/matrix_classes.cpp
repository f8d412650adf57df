// SPDX-License-Identifier: MIT
#include "check/matrix_classes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "check/element.hpp"
#include "check/parallel.hpp"
#include "check/random.hpp"

namespace kizami::check {
namespace {

using C = MatrixClass;

double power(double x, std::int64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1, x *= x) {
    if ((n & 1) != 0) result *= x;
  }
  return result;
}

}  // namespace

MatrixGenerator::MatrixGenerator(const MatrixSpec& spec, Scalar scalar, std::uint64_t seed, Which which,
                                 std::int64_t rows, std::int64_t cols, Part part)
    : spec_(spec),
      scalar_(real_of(scalar)),
      seed_(seed),
      which_(which),
      rows_(rows),
      cols_(cols),
      part_(part),
      scale_exp_(spec.scale_exp + (part == Part::kImaginary ? spec.imag_exp : 0)),
      bits_(significand_bits(scalar)),
      min_exp_(scalar_ == Scalar::kF32 ? -126 : -1022),
      max_exp_(scalar_ == Scalar::kF32 ? 127 : 1023) {
  const auto at_least_one = [](std::int64_t x) { return static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1)); };
  const std::uint64_t n = at_least_one(std::max(rows, cols));
  const bool is_shared = spec.cls == C::kGradeInner;
  AddressedRandom random(seed, is_shared ? std::uint32_t{kSharedShift} : stream(kMatrix), 0, 0);
  const std::uint64_t num_offsets = is_shared                ? at_least_one(num_inner())
                                    : spec.cls == C::kOnehot ? at_least_one(rows * cols)
                                                             : n;
  offset_ = static_cast<std::int64_t>(random.below(num_offsets));
  std::uint64_t step = random.below(n);
  while (std::gcd(step, n) != 1) ++step;  // ends: gcd(n + 1, n) = 1
  stride_ = static_cast<std::int64_t>(step);
}

double MatrixGenerator::operator()(std::int64_t i, std::int64_t j) const {
  const FilledParts other = part_ == Part::kReal ? FilledParts::kImaginary : FilledParts::kReal;
  const double value = spec_.parts == other ? 0.0 : round_to_type(base(i, j));
  const double scaled = scale_exp_ == 0 ? value : round_to_type(std::ldexp(value, scale_exp_));
  return spec_.placements.empty() ? scaled : placed(i, j, scaled);
}

double MatrixGenerator::round_to_type(double x) const {
  const double largest =
      scalar_ == Scalar::kF32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const double inside = std::clamp(x, -largest, largest);
  return scalar_ == Scalar::kF32 ? static_cast<float>(inside) : inside;
}

double MatrixGenerator::placed(std::int64_t i, std::int64_t j, double value) const {
  for (const Placement& p : spec_.placements) {
    if (p.part != part_) continue;
    bool here = false;
    switch (p.place) {
      case Placement::Place::kCorner:
        here = i == 0 && j == 0;
        break;
      case Placement::Place::kEdge:
        here = i == rows_ / 2 && j == cols_ - 1;
        break;
      case Placement::Place::kMiddle:
        here = i == rows_ / 2 && j == cols_ / 2;
        break;
      case Placement::Place::kLast:
        here = i == rows_ - 1 && j == cols_ - 1;
        break;
      case Placement::Place::kAll:
        here = true;
        break;
      case Placement::Place::kAt:
        here = i == p.row && j == p.col;
        break;
    }
    if (!here) continue;
    const double inf = std::numeric_limits<double>::infinity();
    value = p.kind == Placement::Kind::kNaN      ? std::numeric_limits<double>::quiet_NaN()
            : p.kind == Placement::Kind::kPosInf ? inf
                                                 : -inf;
  }
  return value;
}

double MatrixGenerator::rand(std::int64_t i, std::int64_t j) const {
  return AddressedRandom(seed_, element_stream(), i, j).uniform(bits_);
}

// A multiple of 2^(1 - bits) in [-1, 1), so exact in the type.
double MatrixGenerator::rands(std::int64_t i, std::int64_t j) const { return 2 * rand(i, j) - 1; }

double MatrixGenerator::base(std::int64_t i, std::int64_t j) const {
  switch (spec_.cls) {
    case C::kRand:
      return rand(i, j);
    case C::kRands:
      return rands(i, j);
    case C::kUniform:
    case C::kRandn:
    case C::kExprand:
    case C::kExpRand:
      return spread(i, j);
    case C::kGradeRows:
    case C::kGradeCols:
    case C::kGradeInner:
    case C::kGradeShift:
    case C::kEvil:
      return graded(i, j);
    case C::kHuge:
      return with_huge(i, j);
    case C::kCancel:
    case C::kCancelNear:
      return cancelling(i, j);
    case C::kTest2:
      return zero_complement(i, j);
    case C::kGram:
      return gram(i, j);
    case C::kHalfulp:
      return half_ulp(i, j);
    case C::kInt:
    case C::kPow2:
      return integral(i, j);
    case C::kZeros:
      return 0;
    case C::kOnes:
      return 1;
    case C::kHilbert:
      return 1 / (static_cast<double>(i) + static_cast<double>(j) + 1);
    case C::kVandermonde:
      return power(static_cast<double>(i + 1) / static_cast<double>(rows_), j);
    case C::kIdentity:
    case C::kPermutation:
    case C::kOnehot:
      return in_pattern(i, j) ? 1 : 0;
    case C::kZerorows:
    case C::kZerocols:
    case C::kDiagonal:
    case C::kLower:
    case C::kUpper:
    case C::kBanded:
      return in_pattern(i, j) ? rands(i, j) : 0;
    case C::kUnderflow:
    case C::kOverflow:
    case C::kTiny:
    case C::kBig:
    case C::kSubnormal:
      return at_range_end(i, j);
    case C::kNegzero:
      return (i + j) % static_cast<std::int64_t>(spec_.params[0]) == 0 ? -0.0 : rands(i, j);
  }
  return 0;
}

bool MatrixGenerator::in_pattern(std::int64_t i, std::int64_t j) const {
  const auto param = static_cast<std::int64_t>(spec_.params[0]);
  switch (spec_.cls) {
    case C::kZerorows:
      return i % param != 0;
    case C::kZerocols:
      return j % param != 0;
    case C::kPermutation:
      return j == (i * stride_ + offset_) % std::max(rows_, cols_);
    case C::kOnehot:
      return i * cols_ + j == offset_;
    case C::kLower:
      return j <= i;
    case C::kUpper:
      return j >= i;
    case C::kBanded:
      return std::abs(i - j) <= param;
    default:
      return i == j;  // kIdentity, kDiagonal
  }
}

template <class T>
requires kIsScalar<T>
void fill(const MatrixSpec& spec, std::uint64_t seed, Which which, MatrixView<T> x, int threads) {
  const MatrixGenerator value(spec, kScalarOf<T>, seed, which, x.rows, x.cols);
  const MatrixGenerator imaginary(spec, kScalarOf<T>, seed, which, x.rows, x.cols, Part::kImaginary);
  const auto element = [&](std::int64_t i, std::int64_t j) -> T {
    using R = RealOf<T>;
    const double im = kIsComplex<T> ? imaginary(i, j) : 0.0;
    return conjugated_if<T>(x.is_conjugated, from_parts<T>(static_cast<R>(value(i, j)), static_cast<R>(im)));
  };
  const bool rows_are_contiguous = x.col_stride <= x.row_stride;
  const MatrixView<T> walk = rows_are_contiguous ? x : x.transposed();
  parallel_for(walk.rows, walk.rows * walk.cols, threads, [&](std::int64_t r) {
    for (std::int64_t c = 0; c < walk.cols; ++c) {
      walk(r, c) = rows_are_contiguous ? element(r, c) : element(c, r);
    }
  });
}

template void fill(const MatrixSpec&, std::uint64_t, Which, MatrixView<float>, int);
template void fill(const MatrixSpec&, std::uint64_t, Which, MatrixView<double>, int);
template void fill(const MatrixSpec&, std::uint64_t, Which, MatrixView<std::complex<float>>, int);
template void fill(const MatrixSpec&, std::uint64_t, Which, MatrixView<std::complex<double>>, int);

}  // namespace kizami::check
