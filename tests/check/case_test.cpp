// SPDX-License-Identifier: MIT
// The grammar of cases: printing and parsing are inverse on every class and item; malformed lines are refused with the
// token, the value and what is allowed.
#include "check/case.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "case_line.hpp"
#include "check/random.hpp"
#include "kizami/wishes.hpp"

namespace kizami::check {
namespace {

TEST(Case, ReadsEveryItem) {
  const Case c = case_of(
      "s tn 33x65x129 a=-1.5 b=nan ld+3 off+1 layout=row A=exprand:phi=4,x2^-40 "
      "B=grade:inner,span=20,nan@corner,-inf@2:64 "
      "C=zeros,inf@all accuracy=bits=20 gauge=norm scheme=ozaki2 engine=cpu_simd moduli=9 reproducibility=engine "
      "fp64=refuse "
      "nonfinite=reject threads=2 workspace=64M seed=18446744073709551615");
  EXPECT_EQ(c.scalar, Scalar::kF32);
  EXPECT_EQ(c.op_a, Op::kTranspose);
  EXPECT_EQ(c.op_b, Op::kNone);
  EXPECT_EQ(c.m, 33);
  EXPECT_EQ(c.n, 65);
  EXPECT_EQ(c.k, 129);
  EXPECT_EQ(c.alpha, -1.5);
  EXPECT_TRUE(std::isnan(c.beta));
  EXPECT_EQ(c.ld_pad, 3);
  EXPECT_EQ(c.offset, 1);
  EXPECT_EQ(c.layout, Layout::kRowMajor);
  EXPECT_EQ(c.a, (MatrixSpec{MatrixClass::kExprand, {4, 0}, -40, {}}));
  EXPECT_EQ(c.b.cls, MatrixClass::kGradeInner);
  EXPECT_EQ(c.b.params[0], 20);
  ASSERT_EQ(c.b.placements.size(), 2U);
  EXPECT_EQ(c.b.placements[0], (Placement{Placement::Kind::kNaN, Placement::Place::kCorner}));
  EXPECT_EQ(c.b.placements[1], (Placement{Placement::Kind::kNegInf, Placement::Place::kAt, 2, 64}));
  EXPECT_EQ(c.c.placements[0].place, Placement::Place::kAll);
  Policy policy;
  policy.accuracy = Accuracy::at_bits(20);
  policy.gauge = Gauge::kNorm;
  policy.scheme = Scheme::kOzaki2;
  policy.engine = EngineName::kCpuSimd;
  policy.forced_moduli = 9;
  policy.reproducibility = Reproducibility::kEngineToEngine;
  policy.allow_fp64_arithmetic = false;
  policy.reject_nonfinite = true;
  policy.threads = 2;
  policy.workspace_limit_bytes = std::size_t{64} << 20;
  EXPECT_EQ(c.policy, policy);
  EXPECT_EQ(c.seed, std::numeric_limits<std::uint64_t>::max());
  expect_round_trip(c);
}

TEST(Case, ReadsWhatDevicesAreAskedFor) {
  const Case c = case_of("z nn 3x4x5 batch=6 by=device_pointers factors=device sync=allowed rungs=3 seed=9");
  EXPECT_EQ(c.num_products, 6);
  EXPECT_EQ(c.batch_form, BatchForm::kDevicePointers);
  EXPECT_TRUE(c.has_device_factors);
  EXPECT_TRUE(c.policy.may_sync);
  EXPECT_EQ(c.policy.max_rungs, 3);
  expect_round_trip(c);
  const Case one = product_of_batch(c, 4);
  EXPECT_EQ(one.seed, 13U);
  EXPECT_EQ(one.num_products, 1);
  EXPECT_FALSE(one == product_of_batch(c, 3));
  EXPECT_FALSE(c == case_of("z nn 3x4x5 batch=6 by=pointers factors=device sync=allowed rungs=3 seed=9"));
  EXPECT_FALSE(parse_case("z nn 3x4x5 batch=0").ok());
}

// By its word, with the values that it has everywhere.
TEST(Case, EveryWishIsAnItem) {
  for (const Wish& wish : wishes()) {
    const Case c = case_of("d nn 3x4x5 " + std::string(wish.key) + "=" + wish.get(Policy{}));
    EXPECT_EQ(c.policy, Policy{}) << wish.key;
    EXPECT_NE(case_help().find("\n  " + std::string(wish.key) + "= "), std::string::npos) << wish.key;
  }
}

TEST(Case, OlderWordsAreUnderstood) {
  EXPECT_EQ(
      case_of("c nn 3x4x5 acc=bits=20 repro=any ws=64M promote=32 bits=3 format=fp16 split=nearest sums=pairs "
              "scale=matrix form=karatsuba"),
      case_of("c nn 3x4x5 accuracy=bits=20 reproducibility=none workspace=64M promotion_k=32 slice_bits=3 "
              "slice_format=fp16 slice_split=nearest slice_sums=pairs slice_scale=matrix complex_form=karatsuba"));
  EXPECT_EQ(print(case_of("d nn 1x1x1 acc=correct repro=engine")),
            "d nn 1x1x1 a=1 b=0 A=randn B=randn accuracy=correct seed=1");
}

TEST(Case, PrintsTheCanonicalLine) {
  EXPECT_EQ(print(Case{}), "d nn 1x1x1 a=1 b=0 A=randn B=randn seed=1");
  EXPECT_EQ(print(case_of(
                "  d\tnt 33x65x129  seed=7 B=grade:cols ld+3 b=-0.50 A=exprand:phi=4,x2^0 a=1e0 accuracy=native\n")),
            "d nt 33x65x129 a=1 b=-0.5 ld+3 A=exprand:phi=4 B=grade:cols,span=40 seed=7");
  EXPECT_EQ(print(case_of("d nn 1x2x3 workspace=65536 A=uniform B=uniform:-1,0.25")),
            "d nn 1x2x3 a=1 b=0 A=uniform:-8,8 B=uniform:-1,0.25 workspace=64K seed=1");
}

TEST(Case, RoundTripsOnEveryClassAndSuffix) {
  for (const ClassInfo& info : class_inventory()) {
    for (const int scale_exp : {0, 40, -1000}) {
      Case c;
      c.m = c.n = c.k = 7;
      c.a = c.c = default_spec(info.id);
      c.a.scale_exp = scale_exp;
      c.b = default_spec(info.id);
      if (info.num_params > 0) c.b.params[0] = info.params[0].integral ? info.params[0].lo : info.params[0].lo / 3;
      c.b.placements = {{Placement::Kind::kPosInf, Placement::Place::kMiddle},
                        {Placement::Kind::kNaN, Placement::Place::kAt, 6, 0}};
      expect_round_trip(c);
    }
  }
}

TEST(Case, RoundTripsScalarsBitForBit) {
  AddressedRandom random(1, 0, 0, 0);
  for (int t = 0; t < 500; ++t) {
    Case c;
    c.scalar = t % 2 == 0 ? Scalar::kF64 : Scalar::kF32;
    c.alpha = c.scalar == Scalar::kF64 ? std::bit_cast<double>(random.bits())
                                       : std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    c.beta = random.below(2) == 0 ? -0.0 : std::numeric_limits<float>::denorm_min();
    expect_round_trip(c);
  }
  EXPECT_FALSE(case_of("d nn 1x1x1 b=0") == case_of("d nn 1x1x1 b=-0"));
  EXPECT_EQ(case_of("s nn 1x1x1 a=0.1").alpha, 0.1F);
}

TEST(Case, HelpNamesEveryItemAndClass) {
  const std::string help = case_help();
  for (const char* key :
       {"a=", "b=", "ld+", "off+", "layout=", "A=", "B=", "C=", "accuracy=", "gauge=", "scheme=", "engine=", "moduli=",
        "reproducibility=", "fp64=", "nonfinite=", "threads=", "workspace=", "seed="}) {
    EXPECT_NE(help.find(std::string("\n  ") + key), std::string::npos) << key;
  }
  for (const ClassInfo& info : class_inventory()) EXPECT_NE(help.find(info.name), std::string::npos) << info.name;
}

struct Malformed {
  std::string line;
  std::vector<std::string> message_has;  ///< the token or value, and what is allowed
};

TEST(Case, RefusesMalformedLinesAndSaysWhy) {
  const std::string head = "d nn 3x4x5 ";
  const std::vector<Malformed> lines = {
      {"", {"s, d, c, z", "n, t, c, r", "MxNxK"}},
      {"d nn", {"MxNxK"}},
      {"h nn 1x1x1", {"'h'", "s, d, c, z"}},
      {"dd nn 1x1x1", {"'dd'", "s, d, c, z"}},
      {"d nh 1x1x1", {"'nh'", "n, t, c, r"}},
      {"d n 1x1x1", {"'n'", "n, t, c, r"}},
      {"d nn 1x1", {"'1x1'", "MxNxK"}},
      {"d nn 1x1x", {"k ''", "0..268435456"}},
      {"d nn 1x1x1x1", {"k '1x1'", "not an integer"}},
      {"d nn 1x-1x1", {"n '-1'", "0..268435456"}},
      {"d nn 268435457x1x1", {"m '268435457'", "out of range"}},
      {"d nn 1x1x99999999999999999999999999", {"k '9999", "out of range"}},
      {"d nn 0x10x0x10", {"not an integer"}},
      {"d nn +1x1x1", {"m '+1'"}},
      {"d nn 1 x1x1", {"'1'", "MxNxK"}},
      {head + "q=1", {"'q=1'", "not known", "seed=", "A="}},
      {head + "a", {"'a'", "not known"}},
      {head + "a=", {"'a='", "not a number"}},
      {head + "a=1.5x", {"'1.5x'", "not a number"}},
      {head + "a=+1", {"'+1'", "not a number"}},
      {head + "a=0x10", {"not a number"}},
      {head + "a=nan(1)", {"not a number"}},
      {head + "a=infinity", {"not a number", "inf"}},
      {head + "a=1e999", {"range of double"}},
      {head + "a=1e-999", {"range of double"}},
      {head + "a=1 a=1", {"twice"}},
      {"s nn 1x1x1 a=1e39", {"'a=1e+39'", "f32"}},
      {"s nn 1x1x1 b=-1e39", {"'b=-1e+39'", "f32"}},
      {head + "ld+", {"'ld+'", "0..1048576"}},
      {head + "ld+-1", {"'-1'", "0..1048576"}},
      {head + "ld+1048577", {"out of range"}},
      {head + "off+64", {"0..63"}},
      {head + "layout=diag", {"'layout=diag'", "one of col, row"}},
      {head + "accuracy=54", {"native, correct, bits=N"}},
      {head + "accuracy=bits=53", {"1..52"}},
      {head + "accuracy=bits=0", {"1..100"}},
      {"s nn 1x1x1 accuracy=bits=24", {"accuracy=bits=24", "1..23"}},
      {head + "gauge=max", {"'gauge=max'", "one of entry, norm"}},
      {head + "scheme=ozaki3", {"'scheme=ozaki3'", "auto, native, ozaki2"}},
      {head + "engine=unknown", {"'engine=unknown'", "cpu_ref"}},
      {head + "moduli=65", {"0..64"}},
      {head + "reproducibility=bits", {"none, engine"}},
      {head + "fp64=yes", {"refuse, allow"}},
      {head + "nonfinite=", {"multiply, reject"}},
      {head + "threads=32768", {"0..32767"}},
      {head + "acc=native accuracy=native", {"accuracy= is given twice"}},
      {head + "gauge", {"not known", "gauge="}},
      {head + "workspace=1T", {"K, M or G"}},
      {head + "workspace=M", {"K, M or G"}},
      {head + "workspace=99999999999G", {"0..1125899906842624"}},
      {head + "workspace=18446744073709551616", {"K, M or G"}},
      {head + "seed=-1", {"'-1'", "0..18446744073709551615"}},
      {head + "seed=18446744073709551616", {"0..18446744073709551615"}},
      {head + "A=", {"not a matrix class", "exprand"}},
      {head + "A=normal", {"'normal'", "randn"}},
      {head + "A=grade", {"'grade'", "grade:rows"}},
      {head + "A=grade:diag", {"'grade:diag'"}},
      {head + "A=Randn", {"'Randn'"}},
      {head + "A=randn:phi=1", {"class randn", "'phi=1'", "no parameters"}},
      {head + "A=exprand:psi=1", {"class exprand", "'psi=1'", "phi = 0..32 (default 1)"}},
      {head + "A=exprand,phi=1", {"'phi=1'", "without a colon"}},
      {head + "A=exprand:", {"class exprand", "''"}},
      {head + "A=exprand:phi=33", {"'33'", "phi = 0..32"}},
      {head + "A=exprand:phi=nan", {"not a number"}},
      {head + "A=exprand:phi=1,phi=2", {"phi twice"}},
      {head + "A=exprand:4", {"'4'", "phi = 0..32"}},
      {head + "A=uniform:1", {"2 or none"}},
      {head + "A=uniform:1,1", {"lo = 1 must be less than hi = 1"}},
      {head + "A=uniform:1,2,3", {"'3'"}},
      {head + "A=exp_rand:a=5,b=5", {"a = 5 must be less than b = 5"}},
      {head + "A=exp_rand:a=1.5", {"not an integer"}},
      {head + "A=int:bits=54", {"1..53"}},
      {"s nn 1x1x1 A=int:bits=25", {"'A=int:bits=25'", "<= 24"}},
      {"s nn 1x1x1 B=halfulp:q=24", {"'B=halfulp:q=24'", "<= 23"}},
      {head + "A=zerorows:every=0", {"1..268435456"}},
      {head + "A=randn,x2^1001", {"'x2^1001'", "-1000..1000"}},
      {head + "A=randn,x2^", {"'x2^'"}},
      {head + "A=randn,x2^1,x2^1", {"second scaling"}},
      {head + "A=exprand:x2^1,phi=2", {"'phi=2'", "follows a suffix"}},
      {head + "A=randn,", {"''"}},
      {head + "A=randn,one@corner", {"'one'", "nan, inf, -inf, nani, infi, -infi"}},
      {head + "A=randn,nan@center", {"'center'", "corner, edge, middle, last, all, row:column"}},
      {head + "A=randn,nan@1", {"row:column"}},
      {head + "A=randn,nan@1:x", {"'x'"}},
      {head + "A=randn,nan@3:0", {"3:0", "3 rows and 5 columns"}},
      {head + "B=randn,nan@0:4", {"0:4", "5 rows and 4 columns"}},
      {head + "C=randn,nan@0:4", {"0:4", "3 rows and 4 columns"}},
      {head + std::string("A=\x01\xff\0", 5), {"\\x01\\xff\\x00"}},
      {head + "A=" + std::string(3000, 'a'), {"aaa...'"}},
      {std::string(5000, ' '), {"5000 bytes", "4096"}},
  };
  for (const Malformed& m : lines) {
    const Result<Case> c = parse_case(m.line);
    ASSERT_FALSE(c.ok()) << m.line;
    EXPECT_EQ(c.status().code(), StatusCode::kInvalidArgument);
    for (const std::string& part : m.message_has) {
      EXPECT_NE(c.status().reason().find(part), std::string::npos)
          << m.line << "\nsays: " << c.status().reason() << "\nlacks: " << part;
    }
  }
}

// Every prefix and every line with one byte replaced either parses to a case that round-trips or is refused with a
// reason.
TEST(Case, SurvivesMutilatedLines) {
  const std::string line =
      "d nt 33x65x129 a=1 b=-0.5 ld+3 A=exprand:phi=4,x2^5 B=grade:cols,nan@1:2 accuracy=bits=40 workspace=64M seed=7";
  AddressedRandom random(2, 0, 0, 0);
  for (std::size_t t = 0; t < 20000; ++t) {
    std::string bad = t < line.size() ? line.substr(0, t) : line;
    if (t >= line.size())
      bad[random.below(bad.size())] =
          static_cast<char>(random.below(2) == 0 ? random.bits() : " =:,x@^.-+9e"[random.below(13)]);
    const Result<Case> c = parse_case(bad);
    if (c.ok()) {
      expect_round_trip(c.value());
    } else {
      EXPECT_FALSE(c.status().reason().empty());
    }
  }
}

TEST(Case, ShapesFollowOpsAndLayout) {
  const Case c = case_of("d tn 3x4x5 ld+2");
  EXPECT_EQ(shape_of(c, Which::kA).rows, 3);
  EXPECT_EQ(shape_of(c, Which::kA).cols, 5);
  const StoredShape a = stored_shape(c, Which::kA), b = stored_shape(c, Which::kB);
  EXPECT_EQ(a.rows, 5);
  EXPECT_EQ(a.cols, 3);
  EXPECT_EQ(a.ld, 7);
  EXPECT_EQ(a.num_elems, 21);
  EXPECT_EQ(b.ld, 7);
  const Case row = case_of("d nn 0x4x5 layout=row");
  EXPECT_EQ(stored_shape(row, Which::kA).ld, 5);
  EXPECT_EQ(stored_shape(row, Which::kA).num_elems, 0);
  EXPECT_EQ(stored_shape(case_of("d nn 0x4x5"), Which::kA).ld, 1);
  // The largest case does not overflow 64 bits, in bytes either.
  const Case huge = case_of("d nn 268435456x268435456x268435456 ld+1048576");
  EXPECT_GT(stored_shape(huge, Which::kA).num_elems, std::int64_t{1} << 56);
  EXPECT_LT(stored_shape(huge, Which::kA).num_elems, std::numeric_limits<std::int64_t>::max() / 16);
}

}  // namespace
}  // namespace kizami::check
