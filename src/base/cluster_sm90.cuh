// SPDX-License-Identifier: MIT
// The instructions of sm_90 for barriers and clusters of blocks, which CUDA C++ has no words for. One function per
// instruction; no policy. Addresses of shared memory are 32-bit, of the block's own window.
// Barriers of one block are there since sm_80. What is not ends the launch in code for older devices than sm_90: kernels
// that come to it are not launched there (DeviceLimits::has_clusters()), or only as clusters of one block.
#pragma once

#include <cstdint>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define KIZAMI_ASM_SM90(...) asm volatile(__VA_ARGS__)
#else
#define KIZAMI_ASM_SM90(...) __trap()
#endif

namespace kizami::base {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers ----

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Before memory of a barrier is used for anything else, or for another one.
__device__ __forceinline__ void barrier_invalidate(std::uint32_t barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];\n" ::"r"(barrier) : "memory");
}
/// Makes initialised barriers visible to the cluster and to the copy engine.
__device__ __forceinline__ void barrier_init_fence() {
  KIZAMI_ASM_SM90("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}
/// Arrives, and adds `bytes` to what the copy engine must bring before the phase ends.
__device__ __forceinline__ void barrier_arrive_expect(std::uint32_t barrier, std::uint32_t bytes) {
  KIZAMI_ASM_SM90("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile(
      "{\n"
      ".reg .b64 state;\n"
      "mbarrier.arrive.shared::cta.b64 state, [%0];\n"
      "}\n" ::"r"(barrier)
      : "memory");
}
/// Arrives at the same barrier of CTA `rank` of the cluster.
__device__ __forceinline__ void barrier_arrive_at(std::uint32_t barrier, std::uint32_t rank) {
  KIZAMI_ASM_SM90(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// Whether the phase of this parity has ended; may sleep for a while before it says no, on devices since sm_90.
__device__ __forceinline__ bool barrier_try_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t is_done = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define KIZAMI_WAIT "try_wait"
#else
#define KIZAMI_WAIT "test_wait"
#endif
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier." KIZAMI_WAIT
      ".parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(is_done)
      : "r"(barrier), "r"(parity)
      : "memory");
#undef KIZAMI_WAIT
  return is_done != 0;
}
/// Waits for the end of the phase of this parity. A wait lasts a tile's time at most, which is below a millisecond.
/// After 2^34 cycles (about 10 s) and 1000 tries, so not for having been preempted, it is a defect: the launch then
/// ends with an error instead of never.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  if (barrier_try_wait(barrier, parity)) return;
  constexpr long long kMostCycles = 1LL << 34;
  const long long start = clock64();
  for (int tries = 0; !barrier_try_wait(barrier, parity); ++tries) {
    if (tries > 1000 && clock64() - start > kMostCycles) __trap();
  }
}

// ---- named barriers: some warps of one CTA ----

__device__ __forceinline__ void named_barrier_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_barrier_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

/// A barrier of so many threads that tells each of them whether all say so.
[[nodiscard]] __device__ __forceinline__ bool named_barrier_all(int barrier, int threads, bool says) {
  std::uint32_t all = 0;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "bar.red.and.pred p, %2, %3, p;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(all)
      : "r"(says ? 1u : 0u), "r"(barrier), "r"(threads)
      : "memory");
  return all != 0;
}

// ---- clusters ----
//
// The CTAs of a cluster are given multiprocessors together, but begin one by one: until a CTA runs, its shared memory
// belongs to nobody or to the CTA before it there, and whoever writes to it ends the launch (or, worse, does not). So
// the first access of a kernel to a peer's memory or barriers stands behind cluster_wait(), which tells that all have
// begun, and a CTA does not end before the last access to its own (docs/adr/0020-peers-of-a-cluster.md).

// Where there are no clusters, a CTA is alone in its own.

__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
#endif
  return rank;
}
/// The begin of every kernel that is launched in clusters, before its CTA uses `memory`, shared memory that peers write
/// to: nothing. In tests CTAs of odd rank (KIZAMI_TEST_LATE_CTAS=0: even) begin 50 microseconds late, and what was in
/// that memory by then is lost.
/// @range memory aligned to 4, bytes a multiple of 4; all threads of the CTA
__device__ __forceinline__ void begin_in_cluster([[maybe_unused]] void* memory, [[maybe_unused]] std::uint32_t bytes) {
#ifdef KIZAMI_TEST_LATE_CTAS
  if (cluster_rank() % 2 != KIZAMI_TEST_LATE_CTAS) return;
  const long long start = clock64();
  while (clock64() - start < 100'000) __nanosleep(1000);
  __syncthreads();
  const std::uint32_t poison = 0xFFFFFFFFU;  // as float NaN, as integer -1
  for (std::uint32_t word = threadIdx.x; word < bytes / 4; word += blockDim.x)
    static_cast<volatile std::uint32_t*>(memory)[word] = poison;
  __syncthreads();
#endif
}

/// CTAs of the cluster.
__device__ __forceinline__ std::uint32_t cluster_size() {
  std::uint32_t size = 1;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_nctarank;\n" : "=r"(size));
#endif
  return size;
}
/// All threads of all CTAs of the cluster.
__device__ __forceinline__ void cluster_sync() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\n" ::
          : "memory");
#else
  __syncthreads();
#endif
}
/// Both halves of cluster_sync() without its ordering of memory operations, which waits for those under way: behind the
/// wait all CTAs of the cluster have begun.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  KIZAMI_ASM_SM90("barrier.cluster.arrive.relaxed.aligned;\n" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  KIZAMI_ASM_SM90("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}

/// Writes 16 bytes to the same address in CTA `rank` of the cluster; they count at `barrier` there.
__device__ __forceinline__ void store_at(std::uint32_t to, std::uint32_t barrier, std::uint32_t rank, uint4 value) {
  KIZAMI_ASM_SM90(
      "{\n"
      ".reg .b32 remote, remote_barrier;\n"
      "mapa.shared::cluster.u32 remote, %0, %2;\n"
      "mapa.shared::cluster.u32 remote_barrier, %1, %2;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [remote], {%3, %4, %5, %6}, "
      "[remote_barrier];\n"
      "}\n" ::"r"(to),
      "r"(barrier), "r"(rank), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
      : "memory");
}

}  // namespace kizami::base
