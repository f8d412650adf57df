// SPDX-License-Identifier: MIT
// Products without terms, in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// The result of k = 0: zeros, or for kReduceAdd, C as it is. All planes are made.
/// @queue asynchronous, capturable
[[nodiscard]] inline Status clear_sums(const product::ProductDesc& d, void* c, product::Queue queue) {
  if (d.epilogue == product::Epilogue::kReduceAdd) return {};
  const std::size_t size = d.epilogue == product::Epilogue::kStoreAcc ? 4 : 1;
  for (int l = 0; l < d.num_products; ++l) {
    std::byte* const plane = static_cast<std::byte*>(c) + static_cast<std::size_t>(l * d.c_plane_stride) * size;
    const cudaError_t error =
        cudaMemset2DAsync(plane, static_cast<std::size_t>(d.c_col_stride) * size, 0,
                          static_cast<std::size_t>(d.m) * size, static_cast<std::size_t>(d.n), queue);
    if (error != cudaSuccess)
      return {StatusCode::kInternal, std::string("cudaMemset2DAsync: ") + cudaGetErrorString(error)};
  }
  return {};
}

}  // namespace kizami::engines
