// SPDX-License-Identifier: MIT
// What base::begin_in_cluster() does to kernels of this program: a write to a peer that has not begun is lost, one
// behind cluster_wait() is not. So the tests of real kernels beside this one fail where a kernel does not wait.
#include <cooperative_groups.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/cluster_sm90.cuh"
#include "gpu/device_memory.hpp"

namespace kizami::base {
namespace {

constexpr int kCluster = 4;
constexpr int kGiven = 7;

/// Rank 0 gives each CTA of its cluster a number, which they store.
template <bool kWaits>
__global__ void __cluster_dims__(kCluster, 1, 1) give_to_all(int* got) {
  __shared__ int mine;
  begin_in_cluster(&mine, sizeof mine);
  if constexpr (kWaits) cluster_arrive_relaxed();
  const auto cluster = cooperative_groups::this_cluster();
  if constexpr (kWaits) {
    cluster_wait();
  } else {
    __nanosleep(20'000);  // until hardware has begun all, but not yet those that are late
  }
  if (cluster.block_rank() == 0 && threadIdx.x < kCluster) *cluster.map_shared_rank(&mine, threadIdx.x) = kGiven;
  cluster.sync();
  if (threadIdx.x == 0) got[blockIdx.x] = mine;
}

class LateCtas : public gpu_test::DeviceTest {
 protected:
  template <bool kWaits>
  [[nodiscard]] static std::vector<int> given() {
    const gpu_test::DeviceArray<int> got(kCluster);
    give_to_all<kWaits><<<kCluster, 32>>>(got.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return got.download();
  }
};

TEST_F(LateCtas, LoseWhatIsWrittenBeforeTheyBegin) { EXPECT_EQ(given<false>(), (std::vector{kGiven, -1, kGiven, -1})); }

TEST_F(LateCtas, HaveWhatIsWrittenBehindTheWait) { EXPECT_EQ(given<true>(), std::vector(kCluster, kGiven)); }

}  // namespace
}  // namespace kizami::base
