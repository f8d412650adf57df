// SPDX-License-Identifier: MIT
// What the other tests of this folder rest on.
#include "gpu/device_memory.hpp"

namespace kizami::gpu_test {
namespace {

using Device = DeviceTest;

TEST_F(Device, GuardsNoticeAStrayWrite) {
  const DeviceArray<std::int32_t> array(std::vector<std::int32_t>{1, 2, 3});
  EXPECT_EQ(array.download(), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_TRUE(array.guards_are_intact());
  check(cudaMemset(array.data() + 3, 0, 1), "stray write");
  EXPECT_FALSE(array.guards_are_intact());
}

}  // namespace
}  // namespace kizami::gpu_test
