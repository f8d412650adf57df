// SPDX-License-Identifier: MIT
#include "dropin/policy/runtime.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "dropin/policy/rules.hpp"
#include "kizami/variables.hpp"

namespace kizami::dropin {
namespace {

class RunTime : public testing::Test {
 protected:
  ~RunTime() override {
    reset_at_run_time(Scope::kProcess);
    reset_at_run_time(Scope::kThread);
  }
  Configuration configuration;

  std::string set(Scope scope, const char* key, const char* value) {
    const Status status = set_at_run_time(scope, key, value, configuration);
    return status.ok() ? "" : status.reason();
  }
};

TEST_F(RunTime, WithoutWishesSettingsAreTheSameObject) {
  EXPECT_EQ(&with_run_time(configuration.settings), &configuration.settings);
}

TEST_F(RunTime, ThreadGoesBeforeProcessAndProcessBeforeWhatIsGiven) {
  ASSERT_EQ(set(Scope::kProcess, "accuracy", "bits=30"), "");
  ASSERT_EQ(set(Scope::kProcess, "scheme", "ozaki2"), "");
  ASSERT_EQ(set(Scope::kThread, "accuracy", "bits=40"), "");
  const Settings& here = with_run_time(configuration.settings);
  EXPECT_EQ(here.policy.accuracy, Accuracy::at_bits(40));
  EXPECT_EQ(here.policy.scheme, Scheme::kOzaki2);
  EXPECT_EQ(&with_run_time(configuration.settings), &here);
  std::thread([&] { EXPECT_EQ(with_run_time(configuration.settings).policy.accuracy, Accuracy::at_bits(30)); }).join();
  reset_at_run_time(Scope::kThread);
  EXPECT_EQ(with_run_time(configuration.settings).policy.accuracy, Accuracy::at_bits(30));
  EXPECT_EQ(here.policy.accuracy, Accuracy::at_bits(40)) << "settings that were given out change";
}

TEST_F(RunTime, WhatIsForgottenIsThatOfTheProcessAgain) {
  ASSERT_EQ(set(Scope::kProcess, "accuracy", "bits=30"), "");
  ASSERT_EQ(set(Scope::kThread, "accuracy", "bits=40"), "");
  ASSERT_EQ(set(Scope::kThread, "scheme", "ozaki2"), "");
  ASSERT_TRUE(forget_at_run_time(Scope::kThread, "accuracy", configuration).ok());
  EXPECT_EQ(with_run_time(configuration.settings).policy.accuracy, Accuracy::at_bits(30));
  EXPECT_EQ(with_run_time(configuration.settings).policy.scheme, Scheme::kOzaki2);
  EXPECT_FALSE(forget_at_run_time(Scope::kThread, "acuracy", configuration).ok());
}

TEST_F(RunTime, EqualWishesGiveTheSameObject) {
  ASSERT_EQ(set(Scope::kThread, "accuracy", "bits=30"), "");
  const Settings* const first = &with_run_time(configuration.settings);
  ASSERT_EQ(set(Scope::kThread, "accuracy", "bits=31"), "");
  EXPECT_NE(&with_run_time(configuration.settings), first);
  ASSERT_EQ(set(Scope::kThread, "accuracy", "bits=30"), "");
  EXPECT_EQ(&with_run_time(configuration.settings), first);
}

TEST_F(RunTime, RefusalsChangeNothing) {
  ASSERT_EQ(set(Scope::kThread, "accuracy", "bits=30"), "");
  EXPECT_EQ(set(Scope::kThread, "accuracy", "bits=99"),
            "accuracy = 'bits=99', must be native or bits=N with N of 1..52");
  EXPECT_NE(set(Scope::kThread, "acuracy", "bits=30").find("the setting 'acuracy' is unknown"), std::string::npos);
  EXPECT_EQ(with_run_time(configuration.settings).policy.accuracy, Accuracy::at_bits(30));
  configuration.why_off = "off";
  EXPECT_EQ(set(Scope::kThread, "accuracy", "bits=30"), "off");
}

TEST_F(RunTime, WhatDoesNotGoWithARuleIsRefused) {
  Result<std::vector<Rule>> rules = parse_rules("type=d : scheme=ec", "r", configuration.settings);
  ASSERT_TRUE(rules.ok());
  configuration.rules = std::move(rules).value();
  EXPECT_NE(set(Scope::kProcess, "own_lines", "1").find("own_lines = 1 with scheme = 'ec'"), std::string::npos);
  EXPECT_EQ(&with_run_time(configuration.settings), &configuration.settings);
}

TEST_F(RunTime, EverySettingCanBeReadAsItIsSet) {
  for (const std::string_view name : setting_names()) {
    const Result<std::string> value = value_of(Settings(), name);
    ASSERT_TRUE(value.ok()) << name;
    Settings settings;
    EXPECT_TRUE(assign(settings, name, value.value()).ok()) << name << " = " << value.value();
    EXPECT_EQ(settings, Settings()) << name;
  }
  EXPECT_FALSE(value_of(Settings(), "sync").ok());
}

TEST_F(RunTime, ThreadsThatSetAtOnceLoseNoWishOfAnother) {
  for (int round = 0; round < 100; ++round) {
    reset_at_run_time(Scope::kProcess);
    std::atomic<bool> is_there{false};
    std::thread other([&] {
      is_there = true;
      EXPECT_EQ(set(Scope::kProcess, "log", "1"), "");
    });
    while (!is_there) continue;
    EXPECT_EQ(set(Scope::kProcess, "accuracy", "bits=30"), "");
    other.join();
    const Settings& settings = with_run_time(configuration.settings);
    ASSERT_EQ(settings.policy.accuracy, Accuracy::at_bits(30)) << round;
    ASSERT_TRUE(settings.is_logged) << round;
  }
}

// The table of variables (kizami/variables.hpp) and what is read.
TEST(VariablesOfDropins, AreThoseOfTheTable) {
  const std::vector<std::string> known = variable_names();
  const std::vector<std::string_view> settings = setting_names();
  for (const std::string_view setting : settings)
    EXPECT_EQ(std::ranges::count(known, variable_of(setting)), 1) << setting;
  static std::vector<std::string> asked;
  asked.clear();
  ASSERT_TRUE(read_configuration([](const char* name) -> const char* {
                asked.emplace_back(name);
                return nullptr;
              }).ok());
  for (const std::string& name : asked)
    EXPECT_EQ(std::ranges::count(known, name), 1) << name << " is read, and not known";
  for (const std::string& name : known)
    EXPECT_GE(std::ranges::count(asked, name), 1) << name << " is known, and not read";
  for (const Variable& variable : variables()) {
    const auto is_it = [&](std::string_view setting) { return variable_of(setting) == variable.name; };
    EXPECT_EQ(variable.is_setting, std::ranges::any_of(settings, is_it)) << variable.name;
  }
}

}  // namespace
}  // namespace kizami::dropin
