// SPDX-License-Identifier: MIT
// 3 elements move for each two of A: on an H200 calls of 4096 and 8192 in FP32 take 38 and 139 microseconds more than gemm,
// 2.6 and 2.9 TB/s.
#include "device/symmetric.hpp"

#include <complex>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "device/symmetric_steps.hpp"

namespace kizami::device {
namespace {

template <class T>
__global__ void __launch_bounds__(kWriteOutTile* kWriteOutColumnsAtOnce)
    write_out_kernel(const __grid_constant__ StoredTriangle<T> stored, T* full) {
  __shared__ alignas(16) unsigned char memory[sizeof(WriteOutTile<T>)];
  base::follow_previous_kernel();
  const WriteOutSteps<T> thread(stored, full, reinterpret_cast<WriteOutTile<T>&>(memory), blockIdx.x,
                                static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.y));
  thread.load();
  __syncthreads();
  thread.store();
}

}  // namespace

template <class T>
Status write_out(const StoredTriangle<T>& stored, T* full, product::Queue queue) {
  const auto tiles = static_cast<std::uint32_t>(base::ceil_div(stored.order, std::int64_t{kWriteOutTile}));
  return base::launch_overlapped("a symmetric matrix in full", write_out_kernel<T>, dim3(write_out_blocks(tiles)),
                                 dim3(kWriteOutTile, kWriteOutColumnsAtOnce), 0, queue, stored, full);
}

#define KIZAMI_INSTANTIATE(T) template Status write_out<T>(const StoredTriangle<T>&, T*, product::Queue)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::device
