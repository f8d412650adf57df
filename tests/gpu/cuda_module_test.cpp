// SPDX-License-Identifier: MIT
// Cubins of another compiler: what is loaded runs, on a stream and in a graph, and what is refused says why.
#include "base/cuda_module.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/device_memory.hpp"

namespace kizami::base {
namespace {

using gpu_test::DeviceArray;
using CudaModuleTest = gpu_test::DeviceTest;

TEST(CudaModule, WithoutALoadThereIsNoKernel) {
  CudaModuleKernel kernel;
  EXPECT_EQ(CudaModule().kernel("any", kernel).code(), StatusCode::kInternal);
}

TEST_F(CudaModuleTest, GarbageIsRefusedByName) {
  const std::vector<unsigned long long> garbage(64, 0x0123456789abcdefULL);
  CudaModule module;
  const Status status = module.load(garbage.data(), "garbage");
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.reason().rfind("loading garbage: CUDA_ERROR_", 0), 0U) << status.reason();
  CudaModuleKernel kernel;
  EXPECT_FALSE(module.kernel("vector_add", kernel).ok());
}

#if defined(KIZAMI_TEST_HAS_TILE)
extern "C" const unsigned long long kizami_tile_vector_add[];

TEST_F(CudaModuleTest, NamesTheKernelThatIsNotThere) {
  CudaModule module;
  ASSERT_EQ(module.load(kizami_tile_vector_add, "vector_add").reason(), "");
  CudaModuleKernel kernel;
  const Status status = module.kernel("vector_subtract", kernel);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.reason().rfind("kernel vector_subtract: CUDA_ERROR_", 0), 0U) << status.reason();
}

TEST_F(CudaModuleTest, NamesKernelAndGridOfARefusedLaunch) {
  CudaModule module;
  ASSERT_EQ(module.load(kizami_tile_vector_add, "vector_add").reason(), "");
  CudaModuleKernel kernel;
  ASSERT_EQ(module.kernel("vector_add", kernel).reason(), "");
  float* const none = nullptr;
  const Status status = kernel.launch(dim3(0), nullptr, none, none, none, 0);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.reason().rfind("launch of vector_add, grid 0 x 1 x 1: CUDA_ERROR_", 0), 0U) << status.reason();
}

TEST_F(CudaModuleTest, IsCapturedInAGraph) {
  CudaModule module;
  ASSERT_EQ(module.load(kizami_tile_vector_add, "vector_add").reason(), "");
  ASSERT_EQ(module.load(kizami_tile_vector_add, "vector_add again").reason(), "");  // in place of the first
  CudaModuleKernel kernel;
  ASSERT_EQ(module.kernel("vector_add", kernel).reason(), "");
  constexpr int kSize = 300;
  DeviceArray<float> a(std::vector<float>(kSize, 1.0F));
  const DeviceArray<float> b(std::vector<float>(kSize, 2.0F));
  const DeviceArray<float> c(kSize);

  cudaStream_t stream = nullptr;
  gpu_test::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  gpu_test::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  const Status status = kernel.launch(dim3(2), stream, a.data(), b.data(), c.data(), kSize);
  cudaGraph_t graph = nullptr;
  gpu_test::check(cudaStreamEndCapture(stream, &graph), "end of capture");
  EXPECT_EQ(status.reason(), "");
  cudaGraphExec_t replay = nullptr;
  gpu_test::check(cudaGraphInstantiate(&replay, graph, 0), "graph");
  gpu_test::check(cudaGraphLaunch(replay, stream), "replay");
  EXPECT_EQ(c.download(), std::vector<float>(kSize, 3.0F));
  a.upload(std::vector<float>(kSize, 5.0F));
  gpu_test::check(cudaGraphLaunch(replay, stream), "second replay");
  EXPECT_EQ(c.download(), std::vector<float>(kSize, 7.0F));
  EXPECT_TRUE(c.guards_are_intact());
  gpu_test::check(cudaGraphExecDestroy(replay), "graph");
  gpu_test::check(cudaGraphDestroy(graph), "graph");
  gpu_test::check(cudaStreamDestroy(stream), "stream");
}
#endif

}  // namespace
}  // namespace kizami::base
