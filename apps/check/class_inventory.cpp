// SPDX-License-Identifier: MIT
// The table of matrix classes: names, parameters with defaults and ranges, one line of help each.
#include "check/matrix_spec.hpp"

namespace kizami::check {
namespace {

constexpr ParamInfo integer(std::string_view name, double def, double lo, double hi) {
  return {name, def, lo, hi, true};
}
constexpr ParamInfo real(std::string_view name, double def, double lo, double hi) { return {name, def, lo, hi, false}; }
constexpr ParamInfo kSpan = integer("span", 40, 0, 2000);
constexpr double kLargestDim = static_cast<double>(kMaxDim);

using C = MatrixClass;
constexpr ClassInfo kInventory[] = {
    {C::kRand, "rand", "uniform in [0, 1)"},
    {C::kRands, "rands", "uniform in [-1, 1)"},
    {C::kUniform,
     "uniform",
     "uniform in [lo, hi], written uniform:-8,8",
     2,
     {real("lo", -8, -1e300, 1e300), real("hi", 8, -1e300, 1e300)},
     true},
    {C::kRandn, "randn", "normal, mean 0, variance 1"},
    {C::kExprand, "exprand", "(rand - 1/2) exp(phi randn)", 1, {real("phi", 1, 0, 32)}},
    {C::kExpRand,
     "exp_rand",
     "random sign and 23 random bits, binary exponent uniform in a..b-1",
     2,
     {integer("a", -15, -1000, 1000), integer("b", 15, -1000, 1000)}},
    {C::kGradeRows, "grade:rows", "rands, rows scaled by 2^-span/2 to 2^span/2", 1, {kSpan}},
    {C::kGradeCols, "grade:cols", "rands, columns scaled likewise", 1, {kSpan}},
    {C::kGradeInner,
     "grade:inner",
     "rands, inner index scaled by D in A and 1/D in B, D a ramp of 2^span, shifted circularly",
     1,
     {kSpan}},
    {C::kGradeShift,
     "grade:shift",
     "grade:inner, the shift growing by 1 with each row of A and column of B: no common D",
     1,
     {kSpan}},
    {C::kEvil,
     "evil",
     "rands, every element scaled by its own 2^-span/2 to 2^span/2",
     1,
     {integer("span", 60, 0, 2000)}},
    {C::kHuge,
     "huge",
     "rands, one element of every row of A and column of B is +-2^exp",
     1,
     {integer("exp", 60, 0, 1000)}},
    {C::kCancel, "cancel", "in both A and B: the terms of every product sum cancel to exactly 0"},
    {C::kCancelNear, "cancel:near", "in both A and B: they cancel but for one unit in the last place of each term"},
    {C::kTest2, "test2", "in both A and B: rand where the other is 0 along (i, i), so that these sums have no term"},
    {C::kGram, "gram", "in both A and B: rands, B the conjugate transpose of A (k x n of it), so AB is Hermitian"},
    {C::kHalfulp,
     "halfulp",
     "positive odd multiples of 2^-(q+1) in [1/2, 1), times 2^e of their row of A or column of B; all round up",
     1,
     {integer("q", 20, 2, 52)}},
    {C::kInt, "int", "integers of magnitude below 2^bits, half of them +-(2^bits - 1)", 1, {integer("bits", 8, 1, 53)}},
    {C::kPow2, "pow2", "random sign, powers of two from 2^-span/2 to 2^span/2", 1, {integer("span", 20, 0, 2000)}},
    {C::kZeros, "zeros", "+0"},
    {C::kOnes, "ones", "1"},
    {C::kHilbert, "hilbert", "1 / (i + j + 1)"},
    {C::kVandermonde, "vandermonde", "((i + 1) / rows)^j"},
    {C::kZerorows, "zerorows", "rands, rows 0, every, 2 every, ... are zero", 1, {integer("every", 3, 1, kLargestDim)}},
    {C::kZerocols,
     "zerocols",
     "rands, columns 0, every, 2 every, ... are zero",
     1,
     {integer("every", 3, 1, kLargestDim)}},
    {C::kIdentity, "identity", "1 where i == j, else 0"},
    {C::kPermutation, "permutation", "a permutation matrix (its leading part if not square)"},
    {C::kOnehot, "onehot", "one element is 1, at a random place, the others 0"},
    {C::kDiagonal, "diagonal", "rands where i == j, else 0"},
    {C::kLower, "lower", "rands where j <= i, else 0"},
    {C::kUpper, "upper", "rands where j >= i, else 0"},
    {C::kBanded, "banded", "rands where |i - j| <= w, else 0", 1, {integer("w", 1, 0, kLargestDim)}},
    {C::kUnderflow, "underflow", "random sign, magnitudes whose products straddle the smallest normal number"},
    {C::kOverflow, "overflow", "random sign, magnitudes whose products come within 2^16 of the largest finite number"},
    {C::kTiny, "tiny", "random sign, normal numbers within 2^8 of the smallest"},
    {C::kBig, "big", "random sign, finite numbers within 2^8 of the largest"},
    {C::kSubnormal, "subnormal", "random sign, subnormal numbers"},
    {C::kNegzero,
     "negzero",
     "-0 where i + j is a multiple of every, else rands",
     1,
     {integer("every", 2, 1, kLargestDim)}},
};

constexpr bool inventory_is_in_order() {
  int expected = 0;
  for (const ClassInfo& info : kInventory) {
    if (static_cast<int>(info.id) != expected++) return false;
  }
  return expected == static_cast<int>(C::kNegzero) + 1;
}
static_assert(inventory_is_in_order(), "class_info() indexes the inventory by MatrixClass");

}  // namespace

std::span<const ClassInfo> class_inventory() noexcept { return kInventory; }

const ClassInfo& class_info(MatrixClass id) noexcept { return kInventory[static_cast<std::size_t>(id)]; }

}  // namespace kizami::check
