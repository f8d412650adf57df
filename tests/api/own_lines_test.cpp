// SPDX-License-Identifier: MIT
// Gauge norm: the bits of an element depend on its own row of op(A) and column of op(B), on k, alpha, beta and its old
// value, not on what else the call multiplies. Every element against the 1 x 1 product of its lines, and blocks of C
// against the same elements of the whole. Gauge entry chooses the rung by all elements; that it does differ on these
// data shows that they are hard enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "api_case.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

// Exponents that spread, grade along lines and along the inner index, cancel and underflow; scaled and added to.
constexpr const char* kCaseLines[] = {
    "d nn 13x11x97 a=1 b=0 A=exprand:phi=4 B=exprand:phi=4",
    "d nn 12x14x150 a=-2.5 b=0.3 A=grade:inner,span=300 B=grade:inner,span=300 C=randn ld+3",
    "d nn 11x13x70 a=1 b=1 A=evil:span=300 B=evil:span=300 C=randn",
    "d nn 10x12x257 a=1 b=0 A=grade:rows B=grade:cols accuracy=bits=40",
    "d nn 9x10x64 a=1 b=0 A=randn,nan@3:4 B=randn,inf@7:8",
    "s nn 13x12x130 a=1 b=0 A=exprand:phi=4 B=exprand:phi=4",
    "s nn 12x13x600 a=3 b=0.1 A=grade:inner,span=60 B=grade:inner,span=60 C=randn",
    "z nn 11x9x97 a=1-2i b=0.3i A=exprand:phi=3,im2^-40 B=exprand:phi=3 C=randn ld+3",
    "z nn 10x11x60 a=1 b=0 A=grade:inner,span=300 B=evil:span=300",
    "c nn 12x11x130 a=1 b=0 A=exprand:phi=4 B=exprand:phi=4",
    "c nn 11x12x64 a=3 b=0.1+1i A=grade:inner,span=60 B=lower C=randn"};

/// Rows [i, i + m) and columns [j, j + n) of C.
struct Block {
  std::int64_t i, j, m, n;
};

/// Each element, each row and column, and the four quarters.
std::vector<Block> blocks_of(const Case& c) {
  std::vector<Block> out;
  for (std::int64_t j = 0; j < c.n; ++j) {
    for (std::int64_t i = 0; i < c.m; ++i) out.push_back({i, j, 1, 1});
  }
  for (std::int64_t i = 0; i < c.m; ++i) out.push_back({i, 0, 1, c.n});
  for (std::int64_t j = 0; j < c.n; ++j) out.push_back({0, j, c.m, 1});
  for (const std::int64_t i : {std::int64_t{0}, c.m / 2}) {
    for (const std::int64_t j : {std::int64_t{0}, c.n / 2})
      out.push_back({i, j, i == 0 ? c.m / 2 : c.m - i, j == 0 ? c.n / 2 : c.n - j});
  }
  return out;
}

/// Blocks that have other bits when they are multiplied alone.
/// @range c: column-major, op nn, so that a block's lines begin at an element of A and of B
template <class T>
std::int64_t num_other_blocks(const Case& c) {
  check::Operands<T> x(c, kThreads);
  const std::int64_t ldc = x.c.ld();
  const std::vector<T> before(x.c.data(), x.c.data() + c.m + (c.n - 1) * ldc);
  Outcome outcome;
  EXPECT_TRUE(call(c, x, outcome).ok()) << check::print(c);
  std::int64_t count = 0;
  for (const Block& block : blocks_of(c)) {
    std::vector<T> alone(before);
    const std::int64_t at = block.i + block.j * ldc;
    const Status status = gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, block.m, block.n, c.k, check::alpha_of<T>(c),
                                  x.a.data() + block.i, x.a.ld(), x.b.data() + block.j * x.b.ld(), x.b.ld(),
                                  check::beta_of<T>(c), alone.data() + at, ldc, c.policy);
    EXPECT_TRUE(status.ok()) << check::print(c) << ": " << status.reason();
    std::vector<T> want, got;
    for (std::int64_t j = 0; j < block.n; ++j) {
      for (std::int64_t i = 0; i < block.m; ++i) {
        want.push_back(x.c.data()[at + i + j * ldc]);
        got.push_back(with_nans_of(want.back(), alone[static_cast<std::size_t>(at + i + j * ldc)]));
      }
    }
    if (std::memcmp(want.data(), got.data(), want.size() * sizeof(T)) != 0) ++count;
  }
  return count;
}

std::int64_t num_other_blocks(const Case& c) {
  return with_scalar(c.scalar, [&]<class T>() { return num_other_blocks<T>(c); });
}

TEST(OwnLines, GaugeNormGivesEachElementTheBitsOfItsLinesAlone) {
  for (const char* line : kCaseLines) {
    Case c = case_of(line);
    c.policy.gauge = Gauge::kNorm;
    c.policy.threads = 1;
    EXPECT_EQ(num_other_blocks(c), 0) << check::print(c);
  }
}

TEST(OwnLines, CorrectHasThemToo) {
  for (const char* line : kCaseLines) {
    Case c = case_of(line);
    c.alpha = 1;
    c.beta = 0;
    c.alpha_imag = 0;
    c.beta_imag = 0;
    c.policy.accuracy = Accuracy::correct();
    EXPECT_EQ(num_other_blocks(c), 0) << check::print(c);
  }
}

TEST(OwnLines, GaugeEntryLooksAtTheWholeCall) {
  std::string types;
  for (const char* line : kCaseLines) {
    const Case c = case_of(line);
    if (types.find(line[0]) == std::string::npos && num_other_blocks(c) > 0) types += line[0];
  }
  EXPECT_EQ(types, "dszc");
}

}  // namespace
}  // namespace kizami::api_test
