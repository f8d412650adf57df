// SPDX-License-Identifier: MIT
// The reader of Matrix Market files against the format's own examples, its own writer, and hostile text.
#include "matrix_market.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace kizami::cli {
namespace {

struct Dense {
  MarketHeader header;
  std::vector<double> values;  ///< column by column; complex as pairs
};

/// Matrices that the tests read are smaller than this.
constexpr std::int64_t kMaxElems = 1 << 16;

Result<Dense> read(std::string_view text) {
  const Result<MarketHeader> header = parse_market_header(text);
  if (!header.ok()) return header.status();
  Dense out{header.value(), {}};
  const std::int64_t elems = out.header.rows * out.header.cols;
  EXPECT_LE(elems, kMaxElems);
  if (elems > kMaxElems) return Status{StatusCode::kOutOfMemory, "too large for a test"};
  out.values.resize(static_cast<std::size_t>(elems * (out.header.is_complex() ? 2 : 1)));
  const Status status = read_market_values(text, out.header, out.values);
  if (!status.ok()) return status;
  return out;
}

void expect_read(std::string_view text, std::int64_t rows, std::int64_t cols, const std::vector<double>& values) {
  const Result<Dense> matrix = read(text);
  ASSERT_TRUE(matrix.ok()) << matrix.status().reason() << "\n" << text;
  EXPECT_EQ(matrix.value().header.rows, rows);
  EXPECT_EQ(matrix.value().header.cols, cols);
  EXPECT_EQ(matrix.value().values, values) << text;
}

/// The text must be refused with a reason that holds `part`.
void expect_refused(std::string_view text, std::string_view part) {
  const Result<Dense> matrix = read(text);
  ASSERT_FALSE(matrix.ok()) << text;
  EXPECT_EQ(matrix.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(matrix.status().reason().find(part), std::string::npos)
      << matrix.status().reason() << "\nlacks: " << part << "\n"
      << text;
}

std::string array(std::string_view kind, std::string_view body) {
  return "%%MatrixMarket matrix array " + std::string(kind) + "\n" + std::string(body);
}
std::string coordinate(std::string_view kind, std::string_view body) {
  return "%%MatrixMarket matrix coordinate " + std::string(kind) + "\n" + std::string(body);
}

TEST(MatrixMarket, ReadsArrays) {
  expect_read(array("real general", "2 3\n1\n2\n3\n4\n5\n6\n"), 2, 3, {1, 2, 3, 4, 5, 6});
  expect_read(array("integer general", "2 1\n-7\n+9007199254740992"), 2, 1, {-7, 0x1p53});
  expect_read(array("complex general", "1 2\n1 -2\n.5 3e1\n"), 1, 2, {1, -2, 0.5, 30});
  expect_read(array("real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n"), 3, 3, {1, 2, 3, 2, 4, 5, 3, 5, 6});
  expect_read(array("real skew-symmetric", "3 3\n1\n2\n3\n"), 3, 3, {0, 1, 2, -1, 0, 3, -2, -3, 0});
  expect_read(array("integer symmetric", "1 1\n4\n"), 1, 1, {4});
  expect_read(array("real skew-symmetric", "1 1\n"), 1, 1, {0});
  expect_read(array("complex symmetric", "2 2\n1 2\n3 4\n5 6\n"), 2, 2, {1, 2, 3, 4, 3, 4, 5, 6});
  expect_read(array("complex hermitian", "2 2\n1 0\n3 4\n5 -0\n"), 2, 2, {1, 0, 3, 4, 3, -4, 5, 0});
  expect_read(array("complex skew-symmetric", "2 2\n3 4\n"), 2, 2, {0, 0, 3, 4, -3, -4, 0, 0});
}

TEST(MatrixMarket, ReadsCoordinates) {
  expect_read(coordinate("real general", "2 3 2\n2 1 1.5\n1 3 -2\n"), 2, 3, {0, 1.5, 0, 0, -2, 0});
  expect_read(coordinate("integer symmetric", "2 2 2\n2 1 7\n2 2 1\n"), 2, 2, {0, 7, 7, 1});
  expect_read(coordinate("real skew-symmetric", "2 2 1\n2 1 7\n"), 2, 2, {0, 7, -7, 0});
  expect_read(coordinate("complex general", "1 2 1\n1 2 1 -1\n"), 1, 2, {0, 0, 1, -1});
  expect_read(coordinate("complex hermitian", "2 2 2\n2 1 1 -1\n1 1 3 0\n"), 2, 2, {3, 0, 1, -1, 1, 1, 0, 0});
  expect_read(coordinate("real general", "2 2 0\n"), 2, 2, {0, 0, 0, 0});
}

// The example of the format's definition.
TEST(MatrixMarket, ReadsTheExampleOfTheDefinition) {
  expect_read(
      "%%MatrixMarket matrix coordinate real general\n"
      "%=================================================================================\n"
      "%\n"
      "% This ASCII file represents a sparse MxN matrix with L\n"
      "%=================================================================================\n"
      "  5  5  8\n"
      "    1     1   1.000e+00\n"
      "    2     2   1.050e+01\n"
      "    3     3   1.500e-02\n"
      "    1     4   6.000e+00\n"
      "    4     2   2.505e+02\n"
      "    4     4  -2.800e+02\n"
      "    4     5   3.332e+01\n"
      "    5     5   1.200e+01\n",
      5, 5, {1, 0, 0, 0, 0, 0, 10.5, 0, 250.5, 0, 0, 0, 0.015, 0, 0, 6, 0, 0, -280, 0, 0, 0, 0, 33.32, 12});
}

TEST(MatrixMarket, AddsDuplicatesInOrder) {
  expect_read(coordinate("real general", "1 2 4\n1 1 1e16\n1 2 5\n1 1 1\n1 1 -1e16\n"), 1, 2, {0, 5});
  expect_read(coordinate("integer symmetric", "2 2 3\n2 1 1\n2 1 2\n2 1 4\n"), 2, 2, {0, 7, 7, 0});
  expect_read(coordinate("complex general", "1 1 2\n1 1 1 2\n1 1 3 4\n"), 1, 1, {4, 6});
}

TEST(MatrixMarket, ReadsSpellings) {
  expect_read("%%matrixmarket MATRIX Array Real GENERAL\n1 1\n5\n", 1, 1, {5});
  expect_read("%%MatrixMarket\tmatrix  array real general \r\n%\r\n\r\n 1\t1 \r\n\r\n  +5.e0\r\n\r\n", 1, 1, {5});
  expect_read(array("real general", "\n  % comment\n\n1 2\n%between values\n1\n   \n2"), 1, 2, {1, 2});
  expect_read(array("real general", "0 4\n"), 0, 4, {});
  expect_read(array("real general", "4 0"), 4, 0, {});
  expect_read(coordinate("real symmetric", "0 0 0\n% end"), 0, 0, {});
}

TEST(MatrixMarket, ReadsNonFiniteValues) {
  const Result<Dense> matrix = read(array("real general", "6 1\nnan\nInf\n-inf\n+infinity\nNaN\n-NAN\n"));
  ASSERT_TRUE(matrix.ok()) << matrix.status().reason();
  const std::vector<double>& x = matrix.value().values;
  EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[4]) && std::isnan(x[5]));
  EXPECT_EQ(x[1], HUGE_VAL);
  EXPECT_EQ(x[2], -HUGE_VAL);
  EXPECT_EQ(x[3], HUGE_VAL);
}

TEST(MatrixMarket, KeepsTheSignOfZero) {
  for (const std::string& text :
       {array("real general", "1 1\n-0\n"), coordinate("real general", "1 1 1\n1 1 -0.0\n")}) {
    const Result<Dense> matrix = read(text);
    ASSERT_TRUE(matrix.ok()) << matrix.status().reason();
    EXPECT_TRUE(std::signbit(matrix.value().values[0])) << text;
  }
}

TEST(MatrixMarket, RefusesOtherBanners) {
  expect_refused("", "not a Matrix Market file");
  expect_refused(" %%MatrixMarket matrix array real general\n1 1\n1\n", "not a Matrix Market file");
  expect_refused("%MatrixMarket matrix array real general\n1 1\n1\n", "not a Matrix Market file");
  expect_refused("%%MatrixMarket", "line 1: the banner must be");
  expect_refused("%%MatrixMarket matrix array real\n1 1\n1\n", "line 1: the banner must be");
  expect_refused("%%MatrixMarketX matrix array real general\n1 1\n1\n", "begins with '%%MatrixMarketX'");
  expect_refused("%%MatrixMarket vector array real general\n1\n1\n", "object = 'vector', must be matrix");
  expect_refused("%%MatrixMarket matrix dense real general\n1 1\n1\n", "format = 'dense', must be array, coordinate");
  expect_refused(coordinate("pattern general", "1 1 1\n1 1\n"), "field = pattern");
  expect_refused(array("double general", "1 1\n1\n"), "field = 'double', must be real, integer, complex");
  expect_refused(array("real diagonal", "1 1\n1\n"), "symmetry = 'diagonal', must be general, symmetric");
  expect_refused(array("real hermitian", "1 1\n1\n"), "the field is not complex");
}

TEST(MatrixMarket, RefusesWrongSizes) {
  expect_refused(array("real general", ""), "ends before the size line");
  expect_refused(array("real general", "% only comments\n\n"), "ends before the size line");
  expect_refused(array("real general", "% x\n\n2\n"), "line 4: the size line must be \"rows cols\"");
  expect_refused(array("real general", "2 2 4\n"), "line 2: the size line must be \"rows cols\"");
  expect_refused(coordinate("real general", "2 2\n"), "line 2: the size line must be \"rows cols entries\"");
  expect_refused(array("real general", "2 x\n"), "line 2: 'x' is not an integer");
  expect_refused(array("real general", "-1 2\n"), "line 2: '-1' is out of range");
  expect_refused(array("real general", "99999999999999999999 1\n"), "out of range");
  expect_refused(array("real symmetric", "2 3\n1\n"), "line 2: 2 x 3, but a symmetric matrix must be square");
  expect_refused(array("complex hermitian", "2 3\n1\n"), "a hermitian matrix must be square");
}

TEST(MatrixMarket, RefusesWhatTheTextCannotHold) {
  expect_refused(array("real general", "4294967296 4294967296\n1\n"), "more than memory has addresses");
  expect_refused(array("complex general", "1073741824 536870912\n1 1\n"), "more than memory has addresses");
  expect_refused(array("real general", "1000000 1000000\n1\n"), "truncated: 1000000000000 entries are announced");
  expect_refused(array("real skew-symmetric", "1000001 1000001\n1\n"), "truncated: 500000500000 entries");
  expect_refused(array("real symmetric", "1000001 1000001\n1\n"), "truncated: 500001500001 entries");
  expect_refused(coordinate("real general", "9 9 9223372036854775807\n"), "but the 0 bytes that follow hold at most 0");
  expect_refused(coordinate("real general", "1 1 2\n1 1 1"), "truncated");
}

// The shortest files there are must pass the guard.
TEST(MatrixMarket, AcceptsTheShortestEntries) {
  expect_read(array("real general", "3 1\n1\n2\n3"), 3, 1, {1, 2, 3});
  expect_read(array("complex general", "2 1\n1 2\n3 4"), 2, 1, {1, 2, 3, 4});
  expect_read(coordinate("real general", "2 1 2\n1 1 1\n2 1 2"), 2, 1, {1, 2});
  expect_read(coordinate("complex general", "2 1 2\n1 1 1 0\n2 1 2 0"), 2, 1, {1, 0, 2, 0});
}

TEST(MatrixMarket, RefusesWrongValues) {
  const auto real = [](std::string_view value) { return array("real general", "% x\n1 1\n\n" + std::string(value)); };
  expect_refused(real("x   "), "line 5: 'x' is not a number");
  expect_refused(real("1.0D+00"), "line 5: '1.0D+00' is not a number");
  expect_refused(real("0x10"), "not a number");
  expect_refused(real("1,5"), "not a number");
  expect_refused(real("+-1"), "'+-1' is not a number");
  expect_refused(real("+"), "not a number");
  expect_refused(real("1e999"), "line 5: '1e999' is outside the range of FP64");
  expect_refused(real("-1e-999"), "outside the range of FP64");
  expect_refused(real("1 2"), "line 5: more than the one number an entry has");
  expect_refused(real(std::string_view("1\0", 2)), "'1\\x00' is not a number");
  expect_refused(array("complex general", "1 1\n1  "), "line 3: fewer than the 2 numbers");
  expect_refused(array("complex general", "1 1\n1 x\n"), "line 3: 'x' is not a number");
  expect_refused(array("complex general", "1 1\n1 2 3\n"), "more than the 2 numbers");
  expect_refused(array("integer general", "1 1\n1.0\n"), "line 3: '1.0' is not an integer");
  expect_refused(array("integer general", "1 1\n9007199254740993\n"), "'9007199254740993' is not exact in FP64");
  expect_refused(array("integer general", "1 1\n9223372036854775807\n"), "not exact in FP64");
  expect_refused(array("integer general", "1 1\n9223372036854775808\n"), "not exact in FP64");
  expect_refused(array("integer general", "1 1\nnan\n"), "is not an integer");
  expect_refused(array("complex hermitian", "1 1\n1 2\n"), "(1, 1) has the imaginary part 2, must be 0");
  expect_refused(array("complex hermitian", "1 1\n1 nan\n"), "imaginary part nan");
}

TEST(MatrixMarket, RefusesWrongPlaces) {
  const auto at = [](std::string_view place) {
    return coordinate("real general", "2 3 1\n" + std::string(place) + " 1.5\n");
  };
  expect_refused(at("0 1"), "line 3: row '0' is out of range; allowed: 1..2");
  expect_refused(at("3 1"), "line 3: row '3' is out of range; allowed: 1..2");
  expect_refused(at("1 4"), "line 3: column '4' is out of range; allowed: 1..3");
  expect_refused(at("1 -1"), "column '-1' is out of range");
  expect_refused(at("1.0 1"), "row '1.0' is not an integer");
  expect_refused(at("1 1 1"), "line 3: more than the 3 numbers an entry has");
  expect_refused(at(""), "line 3: no place");
  expect_refused(at("1"), "column '1.5' is not an integer");
  expect_refused(coordinate("real general", "0 3 1\n1 1 1\n"), "row '1' is out of range");
  expect_refused(coordinate("real symmetric", "2 2 1\n1 2 1\n"), "(1, 2) is above the diagonal: a symmetric file");
  expect_refused(coordinate("complex hermitian", "2 2 1\n1 2 1 1\n"), "(1, 2) is above the diagonal");
  expect_refused(coordinate("real skew-symmetric", "2 2 1\n2 2 1\n"), "(2, 2) is not below the diagonal");
  expect_refused(coordinate("complex hermitian", "2 2 1\n2 2 1 1\n"), "(2, 2) has the imaginary part 1");
}

TEST(MatrixMarket, CountsEntries) {
  expect_refused(array("real general", "2 2\n1\n2\n3  \n"), "truncated: the file ends after 3 of 4 entries");
  expect_refused(array("real general", "2 1\n1\n2\n\n3\n"), "line 6: unexpected text behind the last of 2 entries");
  expect_refused(coordinate("real general", "1 1 1\n1 1 1\n1 1 1\n"), "line 4: unexpected text");
  expect_refused(array("real general", "0 0\n1\n"), "line 3: unexpected text");
}

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

TEST(MatrixMarket, ReadsBackTheBitsItWrites) {
  std::mt19937_64 random(11);
  std::vector<double> values{0.0, -0.0, 1.0 / 3, HUGE_VAL, -HUGE_VAL, 5e-324, std::numeric_limits<double>::max()};
  while (values.size() < 4000) {
    if (const auto x = std::bit_cast<double>(random()); !std::isnan(x)) values.push_back(x);
  }
  const auto half = static_cast<std::int64_t>(values.size() / 2);
  for (const bool is_complex : {false, true}) {
    std::string text = make_market_header(is_complex, half, is_complex ? 1 : 2);
    for (std::size_t i = 0; i < values.size(); i += is_complex ? 2 : 1) {
      is_complex ? append_market_value(text, values[i], values[i + 1]) : append_market_value(text, values[i]);
    }
    const Result<Dense> matrix = read(text);
    ASSERT_TRUE(matrix.ok()) << matrix.status().reason();
    ASSERT_EQ(matrix.value().values.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(bits_of(matrix.value().values[i]), bits_of(values[i])) << i;
    }
  }
}

TEST(MatrixMarket, WritesPlainText) {
  std::string text = make_market_header(true, 1, 1);
  append_market_value(text, 0.1, -HUGE_VAL);
  EXPECT_EQ(text, "%%MatrixMarket matrix array complex general\n1 1\n0.1 -inf\n");
  EXPECT_EQ(make_market_header(false, 20, 3), "%%MatrixMarket matrix array real general\n20 3\n");
}

TEST(MatrixMarket, SurvivesEveryTruncationAndFlippedByte) {
  const std::string good = coordinate("complex hermitian", "% c\n3 3 3\n1 1 1 0\n2 1 1.5 -2\n3 2 1e-3 inf\n");
  ASSERT_TRUE(read(good).ok());
  // Without its last "\n" the file is whole; "in" is no number, and so on.
  for (std::size_t length = 0; length + 1 < good.size(); ++length)
    EXPECT_FALSE(read(good.substr(0, length)).ok()) << length;
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (int flips = 0; flips < 3; ++flips) bad[random() % bad.size()] = static_cast<char>(random() % 128);
    const Result<MarketHeader> header = parse_market_header(bad);
    if (!header.ok() || header.value().rows * header.value().cols > kMaxElems) continue;
    const Result<Dense> matrix = read(bad);
    EXPECT_TRUE(matrix.ok() || !matrix.status().reason().empty());
  }
}

}  // namespace
}  // namespace kizami::cli
