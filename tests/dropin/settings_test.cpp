// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kizami::dropin {
namespace {

std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> map;
  return map;
}

Result<Settings> read(const std::map<std::string, std::string>& environment) {
  variables() = environment;
  return read_settings([](const char* name) -> const char* {
    const auto it = variables().find(name);
    return it == variables().end() ? nullptr : it->second.c_str();
  });
}

std::string refusal(const std::string& name, const std::string& value) {
  const Result<Settings> settings = read({{name, value}});
  return settings.ok() ? "accepted" : settings.status().reason();
}

TEST(Settings, DefaultsLeaveTheChoiceToThePlanner) {
  for (const auto& environment : {std::map<std::string, std::string>{},
                                  {{"KIZAMI_ACCURACY", ""}, {"KIZAMI_SCHEME", ""}, {"KIZAMI_MIN_SIZE", ""}}}) {
    const Result<Settings> settings = read(environment);
    ASSERT_TRUE(settings.ok()) << settings.status().reason();
    Policy expected;
    expected.reproducibility = Reproducibility::kNotGuaranteed;
    EXPECT_EQ(settings.value().policy, expected);
    EXPECT_EQ(settings.value().min_size, 0);
    EXPECT_FALSE(settings.value().is_verbose);
    EXPECT_EQ(settings.value().why_off, nullptr);
  }
}

TEST(Settings, EveryVariableIsRead) {
  const Result<Settings> settings = read({{"KIZAMI_ACCURACY", "bits=40"},
                                          {"KIZAMI_GAUGE", "norm"},
                                          {"KIZAMI_SCHEME", "ozaki2"},
                                          {"KIZAMI_ENGINE", "hopper"},
                                          {"KIZAMI_MIN_SIZE", "512"},
                                          {"KIZAMI_VERBOSE", "1"}});
  ASSERT_TRUE(settings.ok()) << settings.status().reason();
  Policy expected;
  expected.reproducibility = Reproducibility::kNotGuaranteed;
  expected.accuracy = Accuracy::at_bits(40);
  expected.gauge = Gauge::kNorm;
  expected.scheme = Scheme::kOzaki2;
  expected.engine = EngineName::kHopper;
  EXPECT_EQ(settings.value().policy, expected);
  EXPECT_EQ(settings.value().min_size, 512);
  EXPECT_TRUE(settings.value().is_verbose);
  EXPECT_EQ(settings.value().why_off, nullptr);
}

TEST(Settings, LimitsOfNumbers) {
  for (const char* bits : {"bits=1", "bits=52"}) EXPECT_EQ(refusal("KIZAMI_ACCURACY", bits), "accepted");
  for (const char* size : {"0", "1048576"}) EXPECT_EQ(refusal("KIZAMI_MIN_SIZE", size), "accepted");
  EXPECT_EQ(refusal("KIZAMI_ENGINE", "cublaslt"), "accepted");
  EXPECT_EQ(refusal("KIZAMI_VERBOSE", "0"), "accepted");
}

TEST(Settings, SchemeNativeLeavesEverythingToCublas) {
  const Result<Settings> settings = read({{"KIZAMI_SCHEME", "native"}});
  ASSERT_TRUE(settings.ok());
  EXPECT_STREQ(settings.value().why_off, "KIZAMI_SCHEME = native");
}

TEST(Settings, RefusalsNameVariableValueAndLimits) {
  for (const char* text : {"bits=0", "bits=53", "bits=-1", "bits=+4", "bits=", "bits=4x", "bits= 4",
                           "bits=99999999999999999999", "correct", "Native", " native", "native ", "40"}) {
    EXPECT_EQ(refusal("KIZAMI_ACCURACY", text),
              "KIZAMI_ACCURACY = '" + std::string(text) + "', must be native or bits=N with N of 1..52");
  }
  EXPECT_EQ(refusal("KIZAMI_GAUGE", "row"), "KIZAMI_GAUGE = 'row', must be entry or norm");
  EXPECT_EQ(refusal("KIZAMI_SCHEME", "ozaki3"),
            "KIZAMI_SCHEME = 'ozaki3', must be auto or native or ozaki2 or ec or ozaki1");
  EXPECT_EQ(refusal("KIZAMI_ENGINE", "cpu_ref"), "KIZAMI_ENGINE = 'cpu_ref', must be auto or cublaslt or hopper");
  for (const char* text : {"-1", "1048577", "1e3", "256K", "0x10", "99999999999999999999"}) {
    EXPECT_EQ(refusal("KIZAMI_MIN_SIZE", text),
              "KIZAMI_MIN_SIZE = '" + std::string(text) + "', must be an integer of 0..1048576");
  }
  for (const char* text : {"2", "yes", "-0"}) {
    EXPECT_EQ(refusal("KIZAMI_VERBOSE", text),
              "KIZAMI_VERBOSE = '" + std::string(text) + "', must be an integer of 0..1");
  }
}

TEST(Settings, HostileValuesAreShownSafely) {
  EXPECT_EQ(refusal("KIZAMI_GAUGE", "a\n\x1b[31m\xff"), "KIZAMI_GAUGE = 'a??[31m?', must be entry or norm");
  EXPECT_EQ(refusal("KIZAMI_GAUGE", std::string(5000, 'x')),
            "KIZAMI_GAUGE = '" + std::string(60, 'x') + "...', must be entry or norm");
}

TEST(Settings, OneBadVariableIsEnough) {
  const Result<Settings> settings = read({{"KIZAMI_ACCURACY", "bits=40"}, {"KIZAMI_VERBOSE", "maybe"}});
  EXPECT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kizami::dropin
