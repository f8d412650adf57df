// SPDX-License-Identifier: MIT
#include "dropin/policy/settings.hpp"

#include <gtest/gtest.h>

namespace kizami::dropin {
namespace {

Settings with(const char* key, const char* value) {
  Settings settings;
  const Status status = assign(settings, key, value);
  EXPECT_TRUE(status.ok()) << status.reason();
  return settings;
}

std::string refusal(const char* key, const std::string& value) {
  Settings settings;
  const Status status = assign(settings, key, value);
  EXPECT_EQ(settings, Settings()) << key << " = " << value << " changed the settings";
  return status.ok() ? "accepted" : status.reason();
}

TEST(Settings, DefaultsLeaveTheChoiceToThePlanner) {
  const Settings settings;
  EXPECT_EQ(settings.policy.accuracy, Accuracy::native());
  EXPECT_EQ(settings.policy.scheme, Scheme::kAuto);
  EXPECT_EQ(settings.policy.reproducibility, Reproducibility::kNotGuaranteed);
  EXPECT_EQ(settings.min_size, kAutoMinSize);
}

TEST(Settings, EachNameSetsItsValue) {
  EXPECT_EQ(with("accuracy", "bits=52").policy.accuracy, Accuracy::at_bits(52));
  EXPECT_EQ(with("accuracy", "native").policy.accuracy, Accuracy::native());
  EXPECT_EQ(with("gauge", "norm").policy.gauge, Gauge::kNorm);
  EXPECT_EQ(with("scheme", "ec").policy.scheme, Scheme::kEc);
  EXPECT_EQ(with("engine", "cpu_ref").policy.engine, EngineName::kCpuRef);
  EXPECT_EQ(with("engine", "tile").policy.engine, EngineName::kTile);
  EXPECT_EQ(with("min_size", "0").min_size, 0);
  EXPECT_EQ(with("min_size", "1048576").min_size, kMaxMinSize);
  EXPECT_EQ(with("min_size", "auto").min_size, kAutoMinSize);
  EXPECT_EQ(with("threads", "3").policy.threads, 3);
  EXPECT_TRUE(with("own_lines", "1").is_own_lines);
  EXPECT_FALSE(with("learned", "0").is_learned);
  EXPECT_TRUE(with("log", "1").is_logged);
}

TEST(Settings, BytesHaveSuffixes) {
  EXPECT_EQ(with("workspace", "4096").policy.workspace_limit_bytes, 4096U);
  EXPECT_EQ(with("workspace", "3K").policy.workspace_limit_bytes, 3U << 10);
  EXPECT_EQ(with("workspace", "3M").policy.workspace_limit_bytes, 3U << 20);
  EXPECT_EQ(with("workspace", "65536G").policy.workspace_limit_bytes, std::size_t{1} << 46);
  for (const char* value : {"65537G", "70368744177665", "-1", "", "K", "1k", "1 K", "1.5G"})
    EXPECT_NE(refusal("workspace", value).find("must be bytes of 0..70368744177664"), std::string::npos) << value;
}

TEST(Settings, RefusalsNameTheValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal("accuracy", "bits=53"), "accuracy = 'bits=53', must be native or bits=N with N of 1..52");
  EXPECT_EQ(refusal("accuracy", "correct"), "accuracy = 'correct', must be native or bits=N with N of 1..52");
  EXPECT_EQ(refusal("scheme", "ozaki3"), "scheme = 'ozaki3', must be auto or native or ozaki2 or ec or ozaki1");
  EXPECT_EQ(refusal("min_size", "1048577"), "min_size = '1048577', must be auto or an integer of 0..1048576");
  EXPECT_EQ(refusal("threads", "1025"), "threads = '1025', must be an integer of 0..1024");
  EXPECT_EQ(refusal("log", "yes"), "log = 'yes', must be 0 or 1");
  EXPECT_EQ(refusal("colour", "1").find("the setting 'colour' is unknown, must be accuracy or gauge"), 0U);
  EXPECT_EQ(refusal("log", "\x1b[31m" + std::string(100, 'x')).find('\x1b'), std::string::npos);
}

TEST(Settings, MinimumSizeZeroForcesEmulation) {
  Settings settings = with("min_size", "0");
  EXPECT_EQ(policy_of(settings).scheme, Scheme::kOzaki2);
  settings.policy.scheme = Scheme::kEc;
  EXPECT_EQ(policy_of(settings).scheme, Scheme::kEc);
  EXPECT_EQ(policy_of(Settings()).scheme, Scheme::kAuto);
}

TEST(Settings, OwnLinesAreSchemeOzaki2InGaugeNorm) {
  Settings settings = with("own_lines", "1");
  EXPECT_EQ(policy_of(settings).scheme, Scheme::kOzaki2);
  EXPECT_EQ(policy_of(settings).gauge, Gauge::kNorm);
  for (const Scheme scheme : {Scheme::kAuto, Scheme::kNative, Scheme::kOzaki2}) {
    settings.policy.scheme = scheme;
    EXPECT_TRUE(require_consistent(settings).ok()) << to_string(scheme);
    EXPECT_NE(policy_of(settings).scheme, Scheme::kAuto);
  }
  for (const Scheme scheme : {Scheme::kEc, Scheme::kOzaki1}) {
    settings.policy.scheme = scheme;
    EXPECT_EQ(require_consistent(settings).code(), StatusCode::kInvalidArgument) << to_string(scheme);
  }
  settings.is_own_lines = false;
  EXPECT_TRUE(require_consistent(settings).ok());
}

// Nothing is learned where that could change bits that are promised: whoever names a scheme or an engine has its bits.
TEST(Settings, NothingIsLearnedWhereBitsArePromised) {
  EXPECT_TRUE(may_learn(Settings()));
  EXPECT_TRUE(may_learn(with("accuracy", "bits=40")));
  EXPECT_TRUE(may_learn(with("gauge", "norm")));
  EXPECT_FALSE(may_learn(with("learned", "0")));
  for (const char* scheme : {"native", "ozaki2", "ec", "ozaki1"}) EXPECT_FALSE(may_learn(with("scheme", scheme)));
  EXPECT_FALSE(may_learn(with("engine", "hopper")));
  EXPECT_FALSE(may_learn(with("min_size", "0")));
  EXPECT_FALSE(may_learn(with("own_lines", "1")));
  Settings reproducible;
  reproducible.policy.reproducibility = Reproducibility::kEngineToEngine;
  EXPECT_FALSE(may_learn(reproducible));
}

TEST(Settings, SizesAreComparedWithoutOverflow) {
  EXPECT_TRUE(is_below(10, 20, 30, 19));   // 6000 < 6859
  EXPECT_FALSE(is_below(10, 20, 30, 18));  // 6000 >= 5832
  EXPECT_FALSE(is_below(20, 20, 20, 20));
  EXPECT_TRUE(is_below(20, 20, 19, 20));
  EXPECT_FALSE(is_below(1, 1, 1, 0));
  const std::int64_t huge = std::int64_t{1} << 34;
  EXPECT_FALSE(is_below(huge, huge, huge, kMaxMinSize));
}

}  // namespace
}  // namespace kizami::dropin
