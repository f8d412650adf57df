// SPDX-License-Identifier: MIT
// No exception leaves a function of the C ABI: each becomes a code and a reason.
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "api/c_abi.hpp"

namespace kizami::api {
namespace {

constexpr std::size_t kMaxReasonLength = 1023;  // as kizami.h says

TEST(CGuard, TurnsExceptionsIntoCodes) {
  EXPECT_EQ(guarded([]() -> Status { throw std::bad_alloc(); }), KIZAMI_OUT_OF_MEMORY);
  EXPECT_STREQ(kizami_last_error(), "the system refused an allocation");
  EXPECT_EQ(guarded([]() -> Status { throw std::length_error("vector"); }), KIZAMI_OUT_OF_MEMORY);
  EXPECT_STREQ(kizami_last_error(), "more elements than any memory holds");
  EXPECT_EQ(guarded([]() -> Status { throw std::runtime_error("this and that"); }), KIZAMI_INTERNAL);
  EXPECT_STREQ(kizami_last_error(), "this and that");
  EXPECT_EQ(guarded([]() -> Status { throw 1; }), KIZAMI_INTERNAL);
  EXPECT_STREQ(kizami_last_error(), "an exception of unknown type");
  EXPECT_EQ(guarded([]() -> Status { return {StatusCode::kUnsupported, "no"}; }), KIZAMI_UNSUPPORTED);
  EXPECT_STREQ(kizami_last_error(), "no");
  EXPECT_EQ(guarded([]() -> Status { return {}; }), KIZAMI_OK);
  EXPECT_STREQ(kizami_last_error(), "");
}

TEST(CGuard, CutsLongReasons) {
  const std::string longest(kMaxReasonLength, 'x');
  EXPECT_EQ(guarded([&]() -> Status { return {StatusCode::kInternal, longest}; }), KIZAMI_INTERNAL);
  EXPECT_EQ(kizami_last_error(), longest);
  EXPECT_EQ(guarded([&]() -> Status { return {StatusCode::kInternal, longest + "y"}; }), KIZAMI_INTERNAL);
  EXPECT_EQ(kizami_last_error(), longest);
}

}  // namespace
}  // namespace kizami::api
