// SPDX-License-Identifier: MIT
// The instructions of sm_90 that CUDA C++ has no words for and that only products need: registers that warpgroups hand
// over, bulk tensor copies. One function per instruction; no policy. Those that others need as well are in base/.
#pragma once

#include <cstdint>

#include "base/cluster_sm90.cuh"
#include "base/wgmma_sm90.cuh"
#include "engines/hopper/tile_walk.hpp"

namespace kizami::engines::hopper {

using base::barrier_arrive;
using base::barrier_arrive_at;
using base::barrier_arrive_expect;
using base::barrier_init;
using base::barrier_init_fence;
using base::barrier_wait;
using base::cluster_rank;
using base::cluster_sync;
using base::descriptor_step;
using base::named_barrier_arrive;
using base::named_barrier_sync;
using base::pin;
using base::shared_address;
using base::swizzled_lines;
using base::wgmma_commit;
using base::wgmma_fence;
using base::wgmma_s8;
using base::wgmma_u8;
using base::wgmma_wait;

// ---- registers of the warps of a warpgroup ----

template <int kRegisters>
__device__ __forceinline__ void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

// ---- bulk tensor copies into shared memory; the bytes count at `barrier` of each CTA that gets them ----

__device__ __forceinline__ void prefetch_map(const TensorMapBits& map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(reinterpret_cast<std::uint64_t>(&map)) : "memory");
}
__device__ __forceinline__ void copy_box(std::uint32_t to, const TensorMapBits& map, std::uint32_t barrier, int x0,
                                         int x1, int x2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];\n" ::
          "r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "r"(x0), "r"(x1), "r"(x2)
      : "memory");
}
__device__ __forceinline__ void copy_box(std::uint32_t to, const TensorMapBits& map, std::uint32_t barrier, int x0,
                                         int x1, int x2, int x3, int x4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], "
      "[%2];\n" ::"r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
      : "memory");
}
/// To the same address in each CTA whose bit is set in `ranks`.
__device__ __forceinline__ void copy_box_to_all(std::uint32_t to, const TensorMapBits& map, std::uint32_t barrier,
                                                std::uint16_t ranks, int x0, int x1, int x2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, "
      "%5, "
      "%6}], [%2], %3;\n" ::"r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "h"(ranks), "r"(x0), "r"(x1), "r"(x2)
      : "memory");
}
__device__ __forceinline__ void copy_box_to_all(std::uint32_t to, const TensorMapBits& map, std::uint32_t barrier,
                                                std::uint16_t ranks, int x0, int x1, int x2, int x3, int x4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, "
      "%5, "
      "%6, %7, %8}], [%2], %3;\n" ::"r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "h"(ranks), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
      : "memory");
}

}  // namespace kizami::engines::hopper
