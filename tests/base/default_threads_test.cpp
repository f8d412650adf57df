// SPDX-License-Identifier: MIT
#include "base/default_threads.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/thread_pool.hpp"

namespace kizami::base {
namespace {

auto reader_of(const std::map<std::string, std::string>& environment) {
  return [&environment](const char* name) -> const char* {
    const auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second.c_str();
  };
}

int wished(const std::map<std::string, std::string>& environment) { return threads_wished(reader_of(environment)); }

TEST(DefaultThreads, OwnVariableThenThatOfOpenMp) {
  EXPECT_EQ(wished({}), 0);
  EXPECT_EQ(wished({{"OMP_NUM_THREADS", "3"}}), 3);
  EXPECT_EQ(wished({{"OMP_NUM_THREADS", " 4 , 2"}}), 4);
  EXPECT_EQ(wished({{"KIZAMI_THREADS", "2"}, {"OMP_NUM_THREADS", "3"}}), 2);
  EXPECT_EQ(wished({{"KIZAMI_THREADS", "0"}, {"OMP_NUM_THREADS", "3"}}), 0);
}

TEST(DefaultThreads, WhatIsNoNumberDoesNotCount) {
  for (const char* text : {"", "x", "-1", "2x", "3;4", "99999999999999999999"})
    EXPECT_EQ(wished({{"OMP_NUM_THREADS", text}}), 0) << text;
  for (const char* text : {"", "x", "-1", "32768", "2,3"})
    EXPECT_EQ(wished({{"KIZAMI_THREADS", text}, {"OMP_NUM_THREADS", "5"}}), 5) << text;
}

TEST(DefaultThreads, WhatIsNoNumberIsSaid) {
  const auto said = [](const std::map<std::string, std::string>& environment) {
    std::string all;
    for (const std::string& one : threads_not_understood(reader_of(environment))) all += one + "\n";
    return all;
  };
  EXPECT_EQ(said({{"KIZAMI_THREADS", " 2 "}, {"OMP_NUM_THREADS", "x"}}), "");  // which nobody reads
  EXPECT_EQ(said({{"KIZAMI_THREADS", ""}, {"OMP_NUM_THREADS", "4,2"}}), "");
  EXPECT_EQ(said({{"KIZAMI_THREADS", "32768"}, {"OMP_NUM_THREADS", "x"}}),
            "KIZAMI_THREADS = '32768' has no effect, must be in 0..32767\n"
            "OMP_NUM_THREADS = 'x' has no effect, must be in 0..32767\n");
}

int quota(const std::string& groups, const std::map<std::string, std::string>& files) {
  return processors_of_quota(groups, [&](const std::string& path) {
    const auto it = files.find(path);
    return it == files.end() ? std::string() : it->second;
  });
}

TEST(DefaultThreads, TheLeastQuotaFromTheGroupToTheRoot) {
  EXPECT_EQ(quota("0::/a/b\n", {}), 0);
  EXPECT_EQ(quota("0::/a/b\n", {{"/a/b/cpu.max", "max 100000\n"}}), 0);
  EXPECT_EQ(quota("0::/a/b\n", {{"/a/b/cpu.max", "150000 100000\n"}}), 2);
  EXPECT_EQ(quota("0::/a/b\n", {{"/a/b/cpu.max", "800000 100000\n"}, {"/a/cpu.max", "300000 100000\n"}}), 3);
  EXPECT_EQ(quota("0::/\n", {{"/cpu.max", "50000 100000\n"}}), 1);
}

TEST(DefaultThreads, QuotasOfTheFirstVersion) {
  const std::map<std::string, std::string> files{{"/cpu/job/cpu.cfs_quota_us", "400000\n"},
                                                 {"/cpu/job/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(quota("4:cpu,cpuacct:/job\n2:memory:/job\n", files), 4);
  EXPECT_EQ(quota("4:cpuset:/job\n", files), 0);
  EXPECT_EQ(quota("4:cpu:/job\n", {{"/cpu/job/cpu.cfs_quota_us", "-1\n"}, {"/cpu/job/cpu.cfs_period_us", "100000\n"}}),
            0);
}

TEST(DefaultThreads, DamagedFilesAreNoLimit) {
  for (const char* text : {"", "x", "0 100000", "100000", "100000 0", "-5 100000"})
    EXPECT_EQ(quota("0::/a\n", {{"/a/cpu.max", text}}), 0) << text;
  for (const char* groups : {"", "\n", "x", "0:", "::"}) EXPECT_EQ(quota(groups, {{"/a/cpu.max", "1 1"}}), 0) << groups;
}

TEST(DefaultThreads, NoMoreThanTheProcessorsOfTheProcess) {
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), ThreadPool::hardware_threads());
}

}  // namespace
}  // namespace kizami::base
