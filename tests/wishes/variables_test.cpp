// SPDX-License-Identifier: MIT
#include "kizami/variables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kizami/nearest.hpp"

namespace kizami {
namespace {

TEST(Nearest, CountsTheFewestChanges) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("accuracy", "accuracy"), 0U);
  EXPECT_EQ(edit_distance("acuracy", "accuracy"), 1U);
  EXPECT_EQ(edit_distance("accuarcy", "accuracy"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, IsEmptyWhereTooMuchWouldChange) {
  const std::vector<std::string> names{"accuracy", "gauge", "scheme"};
  EXPECT_EQ(nearest_name("acuracy", names), "accuracy");
  EXPECT_EQ(nearest_name("guage", names), "gauge");
  EXPECT_EQ(nearest_name("frobnicate", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

std::vector<std::string> unknown(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return unknown_variables(environment.data());
}

TEST(Variables, AllNamesAreKnown) {
  std::vector<std::string> entries;
  for (const std::string& name : variable_names()) entries.push_back(name + "=1");
  std::vector<const char*> environment;
  for (const std::string& entry : entries) environment.push_back(entry.c_str());
  EXPECT_TRUE(unknown(environment).empty());
  EXPECT_NE(std::ranges::find(entries, "KIZAMI_ACCURACY=1"), entries.end());
  EXPECT_NE(std::ranges::find(entries, "KIZAMI_SUMMARY=1"), entries.end());
}

TEST(Variables, OthersAreNamedWithTheNearest) {
  EXPECT_TRUE(unknown({"HOME=/root", "OMP_NUM_THREADS=3", "KIZAMI=1", "KIZAMI_TEST_DATA=x"}).empty());
  EXPECT_EQ(unknown({"KIZAMI_ACCURCY=bits=30"}),
            std::vector<std::string>{
                "the variable KIZAMI_ACCURCY is unknown and has no effect; did you mean KIZAMI_ACCURACY?"});
  EXPECT_EQ(unknown({"KIZAMI_XYZZY=1"}),
            std::vector<std::string>{"the variable KIZAMI_XYZZY is unknown and has no effect"});
  EXPECT_EQ(unknown({"KIZAMI_SYNC=1"}).size(), 1U);
}

}  // namespace
}  // namespace kizami
