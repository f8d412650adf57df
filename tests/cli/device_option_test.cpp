// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device_option.hpp"
#include "device_room.hpp"
#include "failure.hpp"

namespace kizami::cli {
namespace {

using Words = std::vector<std::string>;

TEST(DeviceOption, NumbersBelongToIt) {
  const auto joined = [](Words words) {
    words.insert(words.begin(), "kizami");
    words = with_device_numbers(words);
    return Words(words.begin() + 1, words.end());
  };
  EXPECT_EQ(joined({"gemm", "--device", "1", "A.npy"}), (Words{"gemm", "--device=1", "A.npy"}));
  EXPECT_EQ(joined({"gemm", "--device", "A.npy", "B.npy"}), (Words{"gemm", "--device", "A.npy", "B.npy"}));
  EXPECT_EQ(joined({"bench", "--sizes", "64", "--device"}), (Words{"bench", "--sizes", "64", "--device"}));
  EXPECT_EQ(joined({"check", "--device", "d nn 5x7x9"}), (Words{"check", "--device", "d nn 5x7x9"}));
  EXPECT_EQ(joined({"plan", "9", "8", "7", "--device", "0"}), (Words{"plan", "9", "8", "7", "--device=0"}));
  EXPECT_EQ(joined({"plan", "--device", "0", "9", "8", "7"}), (Words{"plan", "--device=0", "9", "8", "7"}));
  EXPECT_EQ(joined({"plan", "--device", "9", "8", "7", "--json"}),
            (Words{"plan", "--device", "9", "8", "7", "--json"}));
  EXPECT_EQ(joined({"plan", "--device=2", "9", "8", "7"}), (Words{"plan", "--device=2", "9", "8", "7"}));
  EXPECT_EQ(joined({"predict", "9", "8", "7", "--device", "0"}), (Words{"predict", "9", "8", "7", "--device", "0"}));
  EXPECT_EQ(joined({"run", "--", "x", "--device", "0"}), (Words{"run", "--", "x", "--device", "0"}));
  EXPECT_EQ(joined({}), Words{});
}

TEST(DeviceRoom, CountsBytes) {
  const ProductBytes bytes = product_bytes(Scalar::kC64, 2, 3, 5, 7, 11);
  EXPECT_EQ(bytes.a, 2U * 5 * 7 * 8);
  EXPECT_EQ(bytes.b, 5U * 3 * 7 * 8);
  EXPECT_EQ(bytes.c, 2U * 3 * 7 * 8);
  EXPECT_EQ(bytes.sum(), bytes.a + bytes.b + bytes.c + 11);
  EXPECT_EQ(product_bytes(Scalar::kF64, 0, 3, 5, 1, 0).sum(), 5U * 3 * 8);
  const std::int64_t most = (std::int64_t{1} << 34) - 1;
  EXPECT_EQ(product_bytes(Scalar::kC128, most, most, most, 1, 0).sum(), ~std::uint64_t{0});
}

TEST(DeviceRoom, RefusesWithSizesAndLimit) {
  const DeviceRoom room{"GPU of a test", 1000, 2000};
  EXPECT_NO_THROW(require_room({400, 300, 200, 100}, room));
  EXPECT_NO_THROW(require_room({1400, 300, 200, 100}, room, true));
  EXPECT_THROW(require_room({1401, 300, 200, 100}, room, true), Failure);
  try {
    require_room({400, 300, 200, 101}, room);
    FAIL() << "1001 bytes fit in 1000";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kOutOfMemory);
    EXPECT_STREQ(failure.what(),
                 "--device: the product takes 1001 bytes of device memory (A 400 bytes, B 300 bytes, C 200 bytes, "
                 "workspace 101 bytes), the GPU of a test has 2.0 KiB, of which 1000 bytes are free");
  }
}

}  // namespace
}  // namespace kizami::cli
