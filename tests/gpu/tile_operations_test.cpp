// SPDX-License-Identifier: MIT
// Every operation of the list (tile/tests/operations) on the device beside the host: equal in every bit, or, for functions
// that round as they like, as near as the list says. Nothing beside z is written.
#if defined(KIZAMI_TEST_HAS_TILE)
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/cuda_module.hpp"
#include "gpu/device_memory.hpp"
#include "tile/tests/operations/operations.hpp"

extern "C" const unsigned long long kizami_tile_operation_kernels[];

namespace kizami::gpu_test {
namespace {

using tile_operations::Bytes;
using tile_operations::Operation;

class TileOperation : public DeviceTest, public testing::WithParamInterface<Operation> {};

TEST_P(TileOperation, EqualsTheHosts) {
  const Operation& operation = GetParam();
  Bytes expected = operation.z;
  const Status status = operation.run_on_host(operation.x, operation.y, expected);
  ASSERT_TRUE(status.ok()) << status.reason();
  const DeviceArray<std::byte> x(operation.x);
  const DeviceArray<std::byte> y(operation.y);
  const DeviceArray<std::byte> z(operation.z);
  base::CudaModule module;
  ASSERT_EQ(module.load(kizami_tile_operation_kernels, "operation_kernels").reason(), "");
  base::CudaModuleKernel kernel;
  ASSERT_EQ(module.kernel(operation.name.c_str(), kernel).reason(), "");
  ASSERT_EQ(kernel.launch(dim3(1), nullptr, x.data(), y.data(), z.data()).reason(), "");
  EXPECT_EQ(operation.difference(expected, z.download()), "") << "host and device";
  EXPECT_TRUE(x.guards_are_intact() && y.guards_are_intact() && z.guards_are_intact());
  EXPECT_EQ(x.download(), operation.x);
  EXPECT_EQ(y.download(), operation.y);
}

INSTANTIATE_TEST_SUITE_P(All, TileOperation, testing::ValuesIn(tile_operations::operations()),
                         [](const testing::TestParamInfo<Operation>& one) { return one.param.name; });

}  // namespace
}  // namespace kizami::gpu_test
#endif
