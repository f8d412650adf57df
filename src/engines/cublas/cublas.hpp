// SPDX-License-Identifier: MIT
// The vendor's own products: libcublas, opened at run time, with one handle for each device that callers take turns with. Scheme
// native on a device; what it guarantees is num::dot_bound().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engines/cublas/column_major.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// One product or several. Left is A or B as `form` says, and so is right.
template <class T>
struct CublasProducts {
  ColumnMajorForm form;
  const T* alpha = nullptr;
  const T* beta = nullptr;
  bool are_factors_on_device = false;  ///< where alpha and beta are; there they are aligned to their size
  std::int64_t num_products = 1;
  const T* left = nullptr;  ///< of the first product, in device memory; the others at multiples of the stride
  const T* right = nullptr;
  T* c = nullptr;
  std::int64_t left_stride = 0;
  std::int64_t right_stride = 0;
  std::int64_t c_stride = 0;
  const T* const* left_array = nullptr;  ///< or [num_products] in device memory; null: as above
  const T* const* right_array = nullptr;
  T* const* c_array = nullptr;
};

/// Enqueues C <- alpha left right + beta C for all products, by one call of cuBLAS.
/// @status kUnsupported: no libcublas, or no handle yet while the queue is captured; kOutOfMemory; kInternal with cuBLAS's status
/// @queue  asynchronous; capturable but for the first call on a device, which makes the handle
template <class T>
Status cublas_products(int device, const CublasProducts<T>& products, std::span<std::byte> scratch,
                       product::Queue queue);

}  // namespace kizami::engines
