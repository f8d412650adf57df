// SPDX-License-Identifier: MIT
// Batches of matrices in the memory of a CUDA device: many products of one shape, by one plan, one after another in a
// stream, some small ones side by side, or many in each kernel.
#pragma once

#include <cstdint>

#include "kizami/types.hpp"

namespace kizami {

/// The products that a plan for operands in device memory is for.
/// @range num_products >= 0
struct Batch {
  std::int64_t num_products = 1;
  /// Whether the matrices are found by arrays of pointers that are in device memory themselves. The workspace then
  /// holds one more A, B and C, unless the scheme is native.
  bool has_device_arrays = false;

  friend constexpr bool operator==(const Batch&, const Batch&) = default;
};

/// Pointers to the first elements of a batch of matrices in device memory.
/// @shape [num_products]
template <class T>
struct PointerArray {
  T* const* host = nullptr;    ///< in host memory, read before the call returns; or
  T* const* device = nullptr;  ///< in device memory, read when the call runs (what cuBLAS takes)

  constexpr PointerArray() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): an array in host memory is what the host's functions take
  constexpr PointerArray(T* const* pointers) : host(pointers) {}
  [[nodiscard]] static constexpr PointerArray at(T* const* pointers) {
    PointerArray array;
    array.device = pointers;
    return array;
  }
};

/// Matrices of one shape, with the same strides, that an array in device memory points to.
template <class T>
struct MatrixArray {
  T* const* pointers = nullptr;  ///< [num_products], in device memory
  MatrixView<T> layout;          ///< of every matrix; its data is not looked at
};

}  // namespace kizami
