// SPDX-License-Identifier: MIT
#include "dropin/policy/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kizami/wishes.hpp"

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

// All but sync, which a program cannot be asked that does not know of Kizami.
TEST(Settings, EveryWishIsASetting) {
  const std::vector<std::string_view> names = setting_names();
  for (const Wish& wish : wishes()) {
    const bool is_setting = std::find(names.begin(), names.end(), wish.key) != names.end();
    EXPECT_EQ(is_setting, wish.key != "sync") << wish.key;
    Settings settings;
    EXPECT_EQ(assign(settings, wish.key, wish.get(Policy{})).ok(), is_setting) << wish.key;
  }
  EXPECT_EQ(names.size(), wishes().size() - 1 + 4);
  EXPECT_EQ(with("slices", "7").policy.slices.num_slices, 7);
  EXPECT_EQ(with("reproducibility", "engine").policy.reproducibility, Reproducibility::kEngineToEngine);
}

TEST(Settings, BytesHaveSuffixes) {
  EXPECT_EQ(with("workspace", "4096").policy.workspace_limit_bytes, 4096U);
  EXPECT_EQ(with("workspace", "3K").policy.workspace_limit_bytes, 3U << 10);
  EXPECT_EQ(with("workspace", "3M").policy.workspace_limit_bytes, 3U << 20);
  EXPECT_EQ(with("workspace", "1048576G").policy.workspace_limit_bytes, kMaxBytes);
  for (const char* value : {"1048577G", "1125899906842625", "-1", "", "K", "1k", "1 K", "1.5G"})
    EXPECT_NE(refusal("workspace", value).find("must be in 0..1125899906842624"), std::string::npos) << value;
}

TEST(Settings, RefusalsNameTheValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal("accuracy", "bits=53"), "accuracy = 'bits=53', must be native or bits=N with N of 1..52");
  EXPECT_EQ(refusal("accuracy", "correct"), "accuracy = 'correct', must be native or bits=N with N of 1..52");
  EXPECT_EQ(refusal("scheme", "ozaki3"),
            "scheme = 'ozaki3', must be one of auto, native, ozaki2, ec, ozaki1; did you mean ozaki2?");
  EXPECT_EQ(refusal("min_size", "1048577"), "min_size = '1048577', must be auto or an integer of 0..1048576");
  EXPECT_EQ(refusal("threads", "32768"), "threads = '32768', must be in 0..32767");
  EXPECT_EQ(refusal("log", "yes"), "log = 'yes', must be 0 or 1");
  EXPECT_EQ(refusal("colour", "1").find("the setting 'colour' is unknown, must be one of accuracy, gauge"), 0U);
  EXPECT_TRUE(refusal("shceme", "ec").ends_with("; did you mean scheme?"));
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
