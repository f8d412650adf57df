// SPDX-License-Identifier: MIT
// Whole products of scheme ec by planes in device memory: each variant has the bits that the host has, whose tensor core
// is a model of the device's, and the same outcome.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device_case.hpp"
#include "kizami/cuda.hpp"

namespace kizami::gpu_test {
namespace {

using EcPlanesCall = DeviceTest;

struct Way {
  std::string name;
  ErrorCorrection ec;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  const auto add = [&](EcVariant variant, const std::string& what, const auto& change) {
    ErrorCorrection ec;
    ec.variant = variant;
    ec.check_range = false;
    change(ec);
    ways.push_back({std::string(to_string(variant)) + what, ec});
  };
  for (const EcVariant variant : {EcVariant::kScaled, EcVariant::kHalfhalf, EcVariant::kTf32tf32, EcVariant::kMarkidis,
                                  EcVariant::kFeng, EcVariant::kBf16x3, EcVariant::kBf16x6, EcVariant::kBf16x9,
                                  EcVariant::kFp16, EcVariant::kTf32, EcVariant::kScaledTf32}) {
    add(variant, "", [](ErrorCorrection&) {});
  }
  for (const EcVariant variant : {EcVariant::kHalfhalf, EcVariant::kTf32tf32}) {
    add(variant, ", promoted every 16", [](ErrorCorrection& ec) { ec.promotion_k = 16; });
    add(variant, ", all terms, outside", [](ErrorCorrection& ec) {
      ec.keep_small_term = true;
      ec.promote_corrections = true;
      ec.remainder_shift = 9;
    });
    add(variant, ", cut", [](ErrorCorrection& ec) { ec.truncate_parts = true; });
  }
  add(EcVariant::kMarkidis, ", cut", [](ErrorCorrection& ec) { ec.truncate_parts = true; });
  add(EcVariant::kMarkidis, " by mma_rn", [](ErrorCorrection& ec) { ec.tensor_core = TensorCoreModel::kMmaRn; });
  add(EcVariant::kMarkidis, " by mma_rz", [](ErrorCorrection& ec) { ec.tensor_core = TensorCoreModel::kMmaRz; });
  return ways;
}

Case case_by(const std::string& line, const Way& way, EngineName engine) {
  Case c = case_of(line);
  c.policy = {};
  c.policy.scheme = Scheme::kEc;
  c.policy.engine = engine;
  c.policy.reproducibility = Reproducibility::kNotGuaranteed;
  c.policy.ec = way.ec;
  return c;
}

template <class T>
void expect_host(const std::string& line, const Way& way) {
  const std::string what = way.name + ": " + line;
  const Case on_device = case_by(line, way, EngineName::kMma);
  const DeviceResult<T> got = multiply<T>(on_device, on_device.policy);
  const Case on_host = case_by(line, way, EngineName::kTcModel);
  check::Operands<T> x = changed_operands<T>(on_host, {});
  Outcome outcome;
  const Status status = api_test::call(on_host, x, outcome);
  ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
  expect_same(got.c, stored(x.c), what);
  EXPECT_EQ(got.outcome.bound, outcome.bound) << what;
  EXPECT_EQ(got.outcome.nonfinite_rows, outcome.nonfinite_rows) << what;
  EXPECT_EQ(got.outcome.nonfinite_cols, outcome.nonfinite_cols) << what;
  if (outcome.engine == "none") return;
  EXPECT_EQ(got.outcome.scheme, Scheme::kEc) << what;
  EXPECT_EQ(got.outcome.variant, way.ec.variant) << what;
  EXPECT_EQ(got.outcome.engine, "mma") << what;
  EXPECT_TRUE(got.outcome.is_conditional) << what;
}

void expect_host(const std::string& line, const Way& way) {
  if (line[0] == 's') {
    expect_host<float>(line, way);
  } else {
    expect_host<std::complex<float>>(line, way);
  }
}

TEST_F(EcPlanesCall, HasTheBitsOfTheHostForEveryVariant) {
  for (const Way& way : all_ways()) {
    for (const char* line : {"s nn 1x1x1", "s nn 17x100x15", "s nn 100x17x16", "s nn 17x17x17", "s nn 130x140x100",
                             "s nn 20x30x1000", "c nn 33x40x50", "c nn 17x130x100"}) {
      expect_host(line, way);
    }
  }
}

TEST_F(EcPlanesCall, OfEveryLayoutAndFactors) {
  const std::vector<Way> ways = all_ways();
  for (std::size_t w = 0; w < 4; ++w) {
    for (const char* ops : {"nn", "nt", "tn", "tt"}) {
      for (const char* layout : {"col", "row"}) {
        const std::string rest = std::string(" layout=") + layout;
        expect_host(std::string("s ") + ops + " 70x45x65 a=0.5 b=-2 ld+3" + rest, ways[w]);
        expect_host(std::string("c ") + ops + " 33x41x30 a=-1 b=1 ld+1" + rest, ways[w]);
      }
    }
    for (const char* ops : {"cn", "nc", "rc", "cr"})
      expect_host(std::string("c ") + ops + " 33x41x30 a=1.5-2i b=0.25+1i", ways[w]);
    for (const char* factors : {"a=0 b=2", "a=0 b=0", "a=1e-20 b=1", "a=3e38 b=0", "a=-0.3 b=1e-30"})
      expect_host(std::string("s nn 40x37x100 ") + factors, ways[w]);
  }
}

TEST_F(EcPlanesCall, OfEveryRange) {
  for (const Way& way : all_ways()) {
    for (const char* classes :
         {"A=exp_rand:a=-15,b=15 B=exp_rand:a=-15,b=15", "A=exp_rand:a=-15,b=15 B=exp_rand:a=-35,b=-15",
          "A=exp_rand:a=-45,b=-35 B=exp_rand:a=-45,b=-35", "A=zeros B=randn", "A=huge:exp=30 B=randn",
          "A=randn,x2^-140 B=randn,x2^100"}) {
      expect_host(std::string("s nn 40x50x200 ") + classes, way);
    }
  }
}

TEST_F(EcPlanesCall, WithNonFiniteElements) {
  for (const Way& way : all_ways()) {
    for (const char* where : {"A=randn,nan@middle B=randn", "A=randn,inf@corner,-inf@last B=randn,inf@edge",
                              "A=randn B=randn,nan@all", "A=zeros,inf@middle B=zeros"}) {
      expect_host(std::string("s nn 50x41x60 b=1 ") + where, way);
      expect_host(std::string("c nt 20x31x40 b=0.5 ") + where, way);
    }
  }
}

TEST_F(EcPlanesCall, WithoutTerms) {
  for (const Way& way : all_ways()) {
    expect_host("s nn 20x30x0 a=1 b=2", way);
    expect_host("s nn 0x30x7", way);
  }
}

// What stands in each other's place has other bits where it should.
TEST_F(EcPlanesCall, TellsTheAlgorithmsApart) {
  const auto bits = [](EcVariant variant, bool is_cut, bool outside) {
    ErrorCorrection ec;
    ec.variant = variant;
    ec.check_range = false;
    ec.truncate_parts = is_cut;
    ec.promote_corrections = outside;
    const Case c = case_by("s nn 60x50x900", {"", ec}, EngineName::kMma);
    return multiply<float>(c, c.policy).c;
  };
  const std::vector<float> markidis = bits(EcVariant::kMarkidis, false, false);
  EXPECT_EQ(bits(EcVariant::kFeng, false, false), markidis);  // both round to nearest
  EXPECT_NE(bits(EcVariant::kMarkidis, true, false), markidis);
  const std::vector<float> halfhalf = bits(EcVariant::kHalfhalf, false, false);
  EXPECT_NE(halfhalf, markidis);
  EXPECT_NE(bits(EcVariant::kHalfhalf, false, true), halfhalf);
  EXPECT_NE(bits(EcVariant::kFp16, false, false), halfhalf);
  EXPECT_NE(bits(EcVariant::kTf32tf32, false, false), bits(EcVariant::kTf32, false, false));
}

}  // namespace
}  // namespace kizami::gpu_test
