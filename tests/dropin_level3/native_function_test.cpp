// SPDX-License-Identifier: MIT
// Looking for native functions. How whole libraries do it: tests/dropin_blas, tests/dropin_cublas.
#include "dropin/level3/native_function.hpp"

#include <gtest/gtest.h>

namespace kizami::dropin::level3 {
namespace {

int num_searches = 0;
int there_is_none_before = 0;

void* find_late(const char* name) {
  return ++num_searches > there_is_none_before ? const_cast<char*>(name) : nullptr;  // any address
}

TEST(NativeFunction, IsLookedForUntilItIsThere) {
  num_searches = 0;
  there_is_none_before = 2;
  NativeFunction function(find_late, "dgemm_");
  EXPECT_STREQ(function.name(), "dgemm_");
  EXPECT_EQ(function.as<void()>(), nullptr);
  EXPECT_EQ(function.as<void()>(), nullptr);
  EXPECT_NE(function.as<void()>(), nullptr);
  EXPECT_NE(function.as<void()>(), nullptr);
  EXPECT_EQ(num_searches, 3);
}

TEST(NativeFunction, IsOfAnotherLibrary) {
  EXPECT_NE(search(RTLD_NEXT, "getenv"), nullptr);
  EXPECT_EQ(search(RTLD_NEXT, "kizami_no_such_function"), nullptr);
  EXPECT_EQ(search(nullptr, "getenv"), nullptr) << "no library was opened";
  EXPECT_NE(find_next("getenv"), nullptr);
}

}  // namespace
}  // namespace kizami::dropin::level3
