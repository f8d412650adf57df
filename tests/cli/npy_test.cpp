// SPDX-License-Identifier: MIT
// The reader of .npy headers against what NumPy writes and against hostile bytes.
#include "npy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>

namespace kizami::cli {
namespace {

/// A file of version `major` whose header is `text`; the header length may lie.
std::string npy_start(std::string_view text, int major = 1, std::int64_t claimed_length = -1) {
  const auto length =
      static_cast<std::uint64_t>(claimed_length < 0 ? static_cast<std::int64_t>(text.size()) : claimed_length);
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(length >> (8 * i) & 0xff);
  return out + std::string(text);
}

std::string dict(std::string_view descr, std::string_view order, std::string_view shape) {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

Result<NpyHeader> parse(const std::string& start, std::uint64_t data_bytes) {
  return parse_npy_header(start, start.size() + data_bytes);
}

/// The header must be refused with a reason that holds `part`.
void expect_refused(const std::string& start, std::uint64_t data_bytes, std::string_view part) {
  const Result<NpyHeader> header = parse(start, data_bytes);
  ASSERT_FALSE(header.ok()) << start;
  EXPECT_EQ(header.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(header.status().reason().find(part), std::string::npos) << header.status().reason() << "\nlacks: " << part;
}

void expect_dict_refused(const std::string& text, std::string_view part) { expect_refused(npy_start(text), 96, part); }

TEST(NpyHeader, ReadsAllVersions) {
  for (const int major : {1, 2, 3}) {
    const Result<NpyHeader> header = parse(npy_start(dict("'<f8'", "False", "(3, 4)"), major), 96);
    ASSERT_TRUE(header.ok()) << header.status().reason();
    EXPECT_EQ(header.value().rows, 3);
    EXPECT_EQ(header.value().cols, 4);
    EXPECT_EQ(header.value().data_bytes, 96U);
    EXPECT_FALSE(header.value().is_fortran_order);
    EXPECT_FALSE(header.value().is_big_endian);
  }
}

TEST(NpyHeader, ReadsTypesOrdersAndSpellings) {
  const Result<NpyHeader> f32 = parse(npy_start(dict("'<f4'", "True", "(3, 4)")), 48);
  ASSERT_TRUE(f32.ok()) << f32.status().reason();
  EXPECT_EQ(f32.value().scalar, Scalar::kF32);
  EXPECT_TRUE(f32.value().is_fortran_order);
  const Result<NpyHeader> swapped = parse(npy_start(dict("\">f8\"", "False", "(3L, 4L,)")), 96);
  ASSERT_TRUE(swapped.ok()) << swapped.status().reason();
  EXPECT_TRUE(swapped.value().is_big_endian);
  const Result<NpyHeader> dense = parse(npy_start("{'shape':((3),4),'descr':'f8','fortran_order':False}   \n"), 96);
  EXPECT_TRUE(dense.ok()) << dense.status().reason();
}

TEST(NpyHeader, ReadsComplexTypes) {
  const Result<NpyHeader> c64 = parse(npy_start(dict("'<c8'", "False", "(3, 4)")), 96);
  ASSERT_TRUE(c64.ok()) << c64.status().reason();
  EXPECT_EQ(c64.value().scalar, Scalar::kC64);
  const Result<NpyHeader> c128 = parse(npy_start(dict("'>c16'", "True", "(3, 4)")), 192);
  ASSERT_TRUE(c128.ok()) << c128.status().reason();
  EXPECT_EQ(c128.value().scalar, Scalar::kC128);
  EXPECT_TRUE(c128.value().is_big_endian);
}

TEST(NpyHeader, ReadsBatches) {
  const Result<NpyHeader> matrix = parse(npy_start(dict("'<f8'", "False", "(3, 4)")), 96);
  ASSERT_TRUE(matrix.ok()) << matrix.status().reason();
  EXPECT_FALSE(matrix.value().is_batch);
  EXPECT_EQ(matrix.value().batch, 1);
  const Result<NpyHeader> batch = parse(npy_start(dict("'<f8'", "False", "(2, 3, 4)")), 192);
  ASSERT_TRUE(batch.ok()) << batch.status().reason();
  EXPECT_TRUE(batch.value().is_batch);
  EXPECT_EQ(batch.value().batch, 2);
  EXPECT_EQ(batch.value().rows, 3);
  EXPECT_EQ(batch.value().cols, 4);
  EXPECT_TRUE(parse(npy_start(dict("'<f8'", "False", "(9223372036854775807, 0, 4)")), 0).ok());
}

TEST(NpyHeader, ReadsEmptyMatrices) {
  for (const char* shape : {"(0, 4)", "(4, 0)", "(0, 0)", "(0, 9223372036854775807)"}) {
    EXPECT_TRUE(parse(npy_start(dict("'<f8'", "False", shape)), 0).ok()) << shape;
  }
}

TEST(NpyHeader, RefusesWhatIsNotNpy) {
  expect_refused("", 0, "not a .npy file");
  expect_refused("PK\x03\x04 a zip archive", 100, "not a .npy file");
  expect_refused("\x93NUMPY", 0, "no version");
  expect_refused(std::string("\x93NUMPY\x01\x00", 8), 0, "no header length");
  expect_refused(std::string("\x93NUMPY\x02\x00\x10\x00", 10), 0, "no header length");
  expect_refused(npy_start(dict("'<f8'", "False", "(3, 4)"), 4), 96, "format version 4.0");
  expect_refused(npy_start(dict("'<f8'", "False", "(3, 4)"), 0), 96, "format version 0.0");
}

TEST(NpyHeader, RefusesLyingHeaderLengths) {
  expect_refused(npy_start("{}", 1, 100), 0, "truncated");
  expect_refused(npy_start("{}", 2, 0xffffffff), 0, "header length = 4294967295, must be <= 65535");
  expect_refused(npy_start("{}", 3, 65536), 0, "must be <= 65535");
  expect_refused(npy_start("", 1, 0), 0, "damaged header");
  expect_refused(npy_start(dict("'<f8'", "False", "(3, 4)"), 1, 20), 96, "damaged header");
}

TEST(NpyHeader, RefusesOtherTypes) {
  for (const char* descr : {"'<i8'", "'<f2'", "'<f16'", "'<c4'", "'<c32'", "'<c'", "'|S3'", "'|b1'", "'|O'", "'<U1'",
                            "'|f8'", "''", "'<<f8'"}) {
    expect_dict_refused(dict(descr, "False", "(3, 4)"), "dtype = ");
  }
  expect_dict_refused(dict("[('x', '<f8'), ('y', [('z', '<i4', (2, 2))])]", "False", "(3, 4)"), "dtype is structured");
  expect_dict_refused(dict("8", "False", "(3, 4)"), "dtype is structured");
}

TEST(NpyHeader, RefusesOtherShapes) {
  expect_dict_refused(dict("'<f8'", "False", "(12,)"), "has 1 dimension, must have 2, or 3");
  expect_dict_refused(dict("'<f8'", "False", "()"), "has 0 dimensions");
  expect_dict_refused(dict("'<f8'", "False", "(1, 3, 2, 2)"), "has 4 dimensions");
  expect_dict_refused(dict("'<f8'", "False", "(2, 3, 4)"), "truncated: shape = (2, 3, 4) of float64 takes 192 bytes");
  expect_dict_refused(dict("'<f8'", "False", "(-1, 3, 4)"), "-1, must be >= 0");
  expect_dict_refused(dict("'<f8'", "False", "(4611686018427387904, 3, 4)"), "more elements than memory");
  expect_dict_refused(dict("'<f8'", "False", "12"), "'shape' is not a tuple");
  expect_dict_refused(dict("'<f8'", "False", "(12)"), "'shape' is not a tuple");
  expect_dict_refused(dict("'<f8'", "False", "(3, -4)"), "-4, must be >= 0");
  expect_dict_refused(dict("'<f8'", "False", "(3, True)"), "no integer");
  expect_dict_refused(dict("'<f8'", "False", "(3, 4.0)"), "damaged header");
  expect_dict_refused(dict("'<f8'", "False", "(3, 99999999999999999999)"), "integer beyond 64 bits");
  expect_dict_refused(dict("'<f8'", "False", "(9223372036854775807, 9223372036854775807)"),
                      "more elements than memory");
  expect_dict_refused(dict("'<f8'", "False", "(4294967296, 4294967296)"), "more elements than memory");
  expect_dict_refused(dict("'<f8'", "False", "(2, 1152921504606846976)"), "more elements than memory");
  expect_dict_refused(dict("'<f8'", "False", "(1073741824, 536870912)"), "truncated: shape");
}

TEST(NpyHeader, ComparesShapeWithFileSize) {
  const std::string start = npy_start(dict("'<f8'", "False", "(3, 4)"));
  expect_refused(start, 95, "truncated: shape = (3, 4) of float64 takes 96 bytes, but 95 follow");
  expect_refused(start, 0, "truncated");
  expect_refused(start, 97, "unexpected bytes at the end");
}

TEST(NpyHeader, RefusesDamagedDictionaries) {
  expect_dict_refused("12", "not a dictionary");
  expect_dict_refused("(3, 4)", "not a dictionary");
  expect_dict_refused("{}", "'descr' is missing");
  expect_dict_refused("{'descr': '<f8', 'shape': (3, 4)}", "'fortran_order' is missing");
  expect_dict_refused("{'descr': '<f8', 'fortran_order': False}", "'shape' is missing");
  expect_dict_refused("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)}", "given twice");
  expect_dict_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), 'x': 1}", "'x' is unknown");
  expect_dict_refused("{1: 2}", "key that is no string");
  expect_dict_refused(dict("'<f8'", "0", "(3, 4)"), "neither True nor False");
  expect_dict_refused(dict("'<f8", "False", "(3, 4)"), "damaged header");
  expect_dict_refused("{'descr': '<f8", "unclosed string");
  expect_dict_refused("{'descr': '<f8\\", "unclosed string");
  expect_dict_refused("{'descr' '<f8'}", "missing colon");
  expect_dict_refused("{'descr': '<f8' 'shape': (3, 4)}", "missing comma");
  expect_dict_refused("{,}", "not a value");
  expect_dict_refused("{'a': __import__('os').system('x')}", "not a value");
  expect_dict_refused(dict("'<f8'", "False", "(3, 4)") + " x", "unexpected text after the value");
  expect_dict_refused(std::string("{\0}", 3), "not a value");
  expect_dict_refused("{'shape': -}", "not an integer");
}

TEST(NpyHeader, RefusesDeepNesting) {
  for (const char bracket : {'(', '[', '{'}) expect_refused(npy_start(std::string(60000, bracket)), 0, "nested deeper");
}

TEST(NpyHeader, SurvivesEveryTruncationAndFlippedByte) {
  const std::string good = npy_start(dict("'<f8'", "False", "(3, 4)"), 2);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(parse(good.substr(0, length), 0).ok()) << length;
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (int flips = 0; flips < 3; ++flips) bad[random() % bad.size()] = static_cast<char>(random());
    const Result<NpyHeader> header = parse(bad, 96);
    if (header.ok()) {
      EXPECT_EQ(header.value().data_bytes + header.value().data_offset, bad.size() + 96);
    } else {
      EXPECT_FALSE(header.status().reason().empty());
    }
  }
}

std::string header_of(Scalar scalar, std::initializer_list<std::int64_t> shape) {
  return make_npy_header(scalar, {shape.begin(), shape.size()});
}

// As numpy.save writes them (NumPy 2.1, version 1.0).
TEST(NpyHeader, WritesWhatNumPyWrites) {
  const auto expected = [](const std::string& dict, std::size_t blanks) {
    return npy_start(dict + std::string(blanks, ' ') + "\n");
  };
  EXPECT_EQ(header_of(Scalar::kF64, {3, 4}),
            expected("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", 58));
  EXPECT_EQ(header_of(Scalar::kF32, {100000, 1}),
            expected("{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 1), }", 53));
  EXPECT_EQ(header_of(Scalar::kC64, {3, 4}),
            expected("{'descr': '<c8', 'fortran_order': False, 'shape': (3, 4), }", 58));
  EXPECT_EQ(header_of(Scalar::kC128, {2, 3, 4}),
            expected("{'descr': '<c16', 'fortran_order': False, 'shape': (2, 3, 4), }", 54));
}

TEST(NpyHeader, WritesWhatItReads) {
  for (const std::int64_t batch : {0L, 1L, 100L}) {
    for (const std::int64_t rows : {0L, 1L, 9L, 10L, 12345L, 1L << 30}) {
      for (const std::int64_t cols : {0L, 1L, 7L, 1000L}) {
        for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
          const std::string text = header_of(scalar, {batch, rows, cols});
          EXPECT_EQ(text.size() % 64, 0U);
          const Result<NpyHeader> header =
              parse(text, static_cast<std::uint64_t>(batch * rows * cols * size_bytes(scalar)));
          ASSERT_TRUE(header.ok()) << header.status().reason();
          EXPECT_EQ(header.value().batch, batch);
          EXPECT_EQ(header.value().rows, rows);
          EXPECT_EQ(header.value().cols, cols);
          EXPECT_EQ(header.value().scalar, scalar);
          EXPECT_EQ(header.value().data_offset, text.size());
        }
      }
    }
  }
}

}  // namespace
}  // namespace kizami::cli
