// SPDX-License-Identifier: MIT
// The CRT of Strassen's seven products, of which residues of an element of C are sums: device_crt_panels.cuh.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "schemes/ozaki2/device_crt_panels.cuh"
#include "schemes/ozaki2/device_strassen.hpp"

namespace kizami::ozaki2 {
namespace {

template <class T, int kPieces, int kGroups>
__global__ void __launch_bounds__(device::kThreads, kernels::PanelShape<T, kPieces, kGroups, true>::kBlocksPerSm)
    reconstruct_quadrants(const __grid_constant__ DeviceReconstruction<T> task,
                          const __grid_constant__ StrassenHalves halves, std::int64_t first_col, std::int64_t end_col) {
  using Shared = kernels::PanelShared<T, kPieces, kGroups, /*kIsStrassen=*/true>;
  extern __shared__ __align__(128) unsigned char shared_memory[];
  base::follow_previous_kernel();
  if ((task.state->num_strassen_products == 0) | (task.state->takes_signs != 0)) return;
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  const DeviceCrtTable* const tables = task.tables + kParts * (task.ladder.rungs[0].num_moduli - num::kMinModuli);
  kernels::FromPanels<T, kPieces, kGroups, true>(task, tables, halves.m, halves.n,
                                                 *reinterpret_cast<Shared*>(shared_memory))
      .run(first_col, end_col);
}

template <class T, int kPieces, int kGroups>
Status launch(const DeviceReconstruction<T>& task, const StrassenHalves& halves, std::int64_t first, std::int64_t end,
              int num_sms, product::Queue queue) {
  using Shape = kernels::PanelShape<T, kPieces, kGroups, true>;
  constexpr std::size_t kBytes = sizeof(kernels::PanelShared<T, kPieces, kGroups, true>);
  const auto kernel = reconstruct_quadrants<T, kPieces, kGroups>;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes)),
      "shared memory of the CRT of quadrants"));
  const std::int64_t panels = base::ceil_div(halves.m, std::int64_t{kernels::kPanelRows}) * (end - first);
  const auto blocks = static_cast<unsigned>(std::min(std::int64_t{Shape::kBlocksPerSm} * num_sms, panels));
  return base::launch_overlapped("reconstruct_quadrants", kernel, dim3(blocks), dim3(device::kThreads), kBytes, queue,
                                 task, halves, first, end);
}

}  // namespace

template <class T>
Status reconstruct_strassen(const DeviceReconstruction<T>& task, const StrassenHalves& halves, std::int64_t first,
                            std::int64_t end, int num_sms, product::Queue queue) {
  if (first >= end) return {};
  const int num_moduli = task.ladder.rungs[0].num_moduli;
  const bool has_two_pieces = num_moduli <= most_piece_moduli(kIsComplex<T>, 2);
  if constexpr (kIsComplex<T>) {
    if (num::num_planes(num::Ring::kComplex, num_moduli) <= 16)
      return launch<T, 2, 1>(task, halves, first, end, num_sms, queue);
    return has_two_pieces ? launch<T, 2, 2>(task, halves, first, end, num_sms, queue)
                          : launch<T, 3, 2>(task, halves, first, end, num_sms, queue);
  } else {
    return has_two_pieces ? launch<T, 2, 1>(task, halves, first, end, num_sms, queue)
                          : launch<T, 3, 1>(task, halves, first, end, num_sms, queue);
  }
}

#define KIZAMI_INSTANTIATE(T)                                                                                  \
  template Status reconstruct_strassen<T>(const DeviceReconstruction<T>&, const StrassenHalves&, std::int64_t, \
                                          std::int64_t, int, product::Queue)
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
