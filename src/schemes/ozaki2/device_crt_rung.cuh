// SPDX-License-Identifier: MIT
// Which rung a CRT reconstructs, and its tables.
#pragma once

#include <type_traits>

#include "num/moduli.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_crt_epilogue.cuh"

namespace kizami::ozaki2::kernels {

/// The rung to be reconstructed; -1: none is, and what there was to scale is done. @param scales  whether it scales C where only
/// that is wanted: one of the kernels does
template <class T, bool kIsPart>
[[nodiscard]] __device__ __forceinline__ int rung_of_call(const DeviceReconstruction<T>& task, bool scales) {
  const int rung = task.state->selection.rung;
  const bool is_scaling_only = task.state->is_scaling_only != 0;
  if (is_scaling_only) {
    if (scales) scale_c<kIsPart>(task);
    return -1;
  }
  if (rung < 0 || task.state->takes_signs != 0 || task.state->num_strassen_products != 0) return -1;
  if (task.done != nullptr && *task.done != 0) return -1;
  return rung;
}

/// The tables of a count, its imaginary part's behind them.
template <class T>
[[nodiscard]] __device__ __forceinline__ const DeviceCrtTable* tables_of(const DeviceReconstruction<T>& task,
                                                                         int num_moduli) {
  return task.tables + (kIsComplex<T> ? 2 : 1) * (num_moduli - num::kMinModuli);
}

/// visit(2 or 3, as a constant), of so many pieces, else visit_many(). One chain: what is behind it would keep registers.
template <class Visit, class VisitMany>
__device__ __forceinline__ void with_pieces(int pieces, const Visit& visit, const VisitMany& visit_many) {
  if (pieces == 2) {
    visit(std::integral_constant<int, 2>{});
  } else if (pieces == 3) {
    visit(std::integral_constant<int, 3>{});
  } else {
    visit_many();
  }
}

}  // namespace kizami::ozaki2::kernels
