// SPDX-License-Identifier: MIT
// A symmetric or Hermitian matrix written out in full.
#pragma once

#include <cstdint>

#include "kizami/status.hpp"
#include "product/product.hpp"

namespace kizami::device {

/// Column-major, or row-major by its other triangle. What is not stored is not read, nor are imaginary parts of the
/// diagonal of a Hermitian one.
template <class T>
struct StoredTriangle {
  const T* data = nullptr;
  std::int64_t ld = 0;
  std::int64_t order = 0;  ///< 1 <= order < 2^20
  bool is_lower = true;
  bool is_hermitian = false;
};

/// full(i, j) = full[i + j * order], as column-major as what is stored. @shape full: order x order
/// @status kInternal with CUDA's words  @queue asynchronous, one kernel, capturable
template <class T>
Status write_out(const StoredTriangle<T>& stored, T* full, product::Queue queue);

}  // namespace kizami::device
