// SPDX-License-Identifier: MIT
#include "dropin/policy/configuration.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace kizami::dropin {
namespace {

std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> map;
  return map;
}

Result<Configuration> read(const std::map<std::string, std::string>& environment) {
  variables() = environment;
  return read_configuration([](const char* name) -> const char* {
    const auto it = variables().find(name);
    return it == variables().end() ? nullptr : it->second.c_str();
  });
}

std::string refusal(const std::map<std::string, std::string>& environment) {
  const Result<Configuration> read_back = read(environment);
  return read_back.ok() ? "accepted" : read_back.status().reason();
}

/// A file that lives as long as this, of a name that no other test has, in no other process.
class File {
 public:
  explicit File(const std::string& text) : path_(testing::TempDir() + "kizami_configuration_test.XXXXXX") {
    const int descriptor = mkstemp(path_.data());
    EXPECT_GE(descriptor, 0) << path_;
    close(descriptor);
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Configuration, UnsetAndEmptyVariablesAreDefaults) {
  for (const auto& environment : {std::map<std::string, std::string>{},
                                  {{"KIZAMI_ACCURACY", ""}, {"KIZAMI_RULES", ""}, {"KIZAMI_SUMMARY", "0"}}}) {
    const Result<Configuration> out = read(environment);
    ASSERT_TRUE(out.ok()) << out.status().reason();
    EXPECT_EQ(out.value().settings, Settings());
    EXPECT_FALSE(out.value().is_summary_wanted);
    EXPECT_FALSE(out.value().is_dry_run);
    EXPECT_EQ(out.value().monitor_period, 0);
    EXPECT_EQ(out.value().workspace_total, 0U);
    EXPECT_EQ(out.value().why_off, nullptr);
  }
}

TEST(Configuration, OnlyRegularFilesAreRules) {
  const std::string fifo = testing::TempDir() + "kizami_configuration_fifo." + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  alarm(60);  // a FIFO that nobody writes to must not be waited for
  for (const std::string& path : {fifo, testing::TempDir(), std::string("/dev/zero")})
    EXPECT_EQ(refusal({{"KIZAMI_RULES", path}}), "KIZAMI_RULES = '" + path + "': is not a regular file");
  alarm(0);
  std::remove(fifo.c_str());
}

TEST(Configuration, EachVariableIsRead) {
  const Result<Configuration> out = read({{"KIZAMI_ACCURACY", "bits=40"},
                                          {"KIZAMI_MIN_SIZE", "100"},
                                          {"KIZAMI_LEARNED", "0"},
                                          {"KIZAMI_WORKSPACE", "1M"},
                                          {"KIZAMI_WORKSPACE_TOTAL", "256M"},
                                          {"KIZAMI_LOG", "/tmp/log"},
                                          {"KIZAMI_SUMMARY", "1"},
                                          {"KIZAMI_MONITOR", "10"},
                                          {"KIZAMI_DRY_RUN", "1"},
                                          {"KIZAMI_KEPT", "3K"},
                                          {"KIZAMI_NATIVE", "libmkl_rt.so.2"}});
  ASSERT_TRUE(out.ok()) << out.status().reason();
  EXPECT_EQ(out.value().settings.policy.accuracy, Accuracy::at_bits(40));
  EXPECT_EQ(out.value().settings.min_size, 100);
  EXPECT_FALSE(out.value().settings.is_learned);
  EXPECT_EQ(out.value().settings.policy.workspace_limit_bytes, std::size_t{1} << 20);
  EXPECT_EQ(out.value().workspace_total, std::size_t{256} << 20);
  EXPECT_TRUE(out.value().settings.is_logged);
  EXPECT_EQ(out.value().log_path, "/tmp/log");
  EXPECT_TRUE(out.value().is_summary_wanted);
  EXPECT_EQ(out.value().summary_path, "");
  EXPECT_EQ(out.value().monitor_period, 10);
  EXPECT_TRUE(out.value().is_dry_run);
  EXPECT_EQ(out.value().kept_bytes, 3072U);
  EXPECT_EQ(out.value().native_path, "libmkl_rt.so.2");
}

TEST(Configuration, RefusalsNameTheVariable) {
  EXPECT_EQ(refusal({{"KIZAMI_ACCURACY", "bits=99"}}),
            "KIZAMI_ACCURACY = 'bits=99', must be native or bits=N with N of 1..52");
  EXPECT_EQ(refusal({{"KIZAMI_LEARNED", "yes"}}), "KIZAMI_LEARNED = 'yes', must be 0 or 1");
  EXPECT_EQ(refusal({{"KIZAMI_DRY_RUN", "2"}}), "KIZAMI_DRY_RUN = '2', must be an integer of 0..1");
  EXPECT_EQ(refusal({{"KIZAMI_WORKSPACE_TOTAL", "256MB"}}),
            "KIZAMI_WORKSPACE_TOTAL = '256MB', must be bytes of 0..1125899906842624, or a number with K, M or G");
  EXPECT_EQ(refusal({{"KIZAMI_MONITOR", "-1"}}), "KIZAMI_MONITOR = '-1', must be an integer of 0..2147483647");
}

TEST(Configuration, RulesComeFromAFileAndBeginAtTheEnvironment) {
  const File file("type=d : scheme=ozaki2\n");
  const Result<Configuration> out = read({{"KIZAMI_RULES", file.path()}, {"KIZAMI_ACCURACY", "bits=30"}});
  ASSERT_TRUE(out.ok()) << out.status().reason();
  ASSERT_EQ(out.value().rules.size(), 1U);
  EXPECT_EQ(out.value().rules[0].settings.policy.scheme, Scheme::kOzaki2);
  EXPECT_EQ(out.value().rules[0].settings.policy.accuracy, Accuracy::at_bits(30));
}

TEST(Configuration, BadFilesAreRefused) {
  const File file("type=d : scheme=ozaki2\nnonsense\n");
  EXPECT_EQ(refusal({{"KIZAMI_RULES", file.path()}}),
            file.path() + ":2: 'nonsense' is not understood, must be name=value or a lone ':'");
  EXPECT_EQ(refusal({{"KIZAMI_RULES", "/nowhere/rules"}}),
            "KIZAMI_RULES = '/nowhere/rules': No such file or directory");
  EXPECT_NE(refusal({{"KIZAMI_RULES", "/"}}), "accepted");
  const File large(std::string((1 << 20) + 1, '\n'));
  EXPECT_NE(refusal({{"KIZAMI_RULES", large.path()}}).find("has more than 1 MiB"), std::string::npos);
}

}  // namespace
}  // namespace kizami::dropin
