// SPDX-License-Identifier: MIT
// An array of Python as a stack of matrices: the last two axes are rows and columns, those before count products and
// are broadcast as numpy.matmul does. A vector is one row on the left of a product, one column on its right.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kizami/types.hpp"

namespace kizami::python {

using InputArray = nanobind::ndarray<nanobind::ro>;
using OutputArray = nanobind::ndarray<>;

/// @units strides in elements; they may be 0 (broadcast) but not negative
struct MatrixStack {
  const void* data = nullptr;
  Scalar scalar = Scalar::kF64;
  std::vector<std::int64_t> batch_shape;
  std::vector<std::int64_t> batch_strides;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  bool is_vector = false;
  bool is_conjugated = false;

  /// The i-th matrix of this stack broadcast to `shape`, counted with the last axis fastest.
  template <class T>
  [[nodiscard]] MatrixView<const T> view(std::span<const std::int64_t> shape, std::int64_t i) const {
    return {static_cast<const T*>(data) + offset(shape, i), rows, cols, row_stride, col_stride, is_conjugated};
  }
  /// The same of a result, which may be written.
  template <class T>
  [[nodiscard]] MatrixView<T> output(std::int64_t i) const {
    return {const_cast<T*>(static_cast<const T*>(data)) + offset(batch_shape, i), rows, cols, row_stride, col_stride};
  }
  [[nodiscard]] std::int64_t num_matrices() const;

 private:
  [[nodiscard]] std::int64_t offset(std::span<const std::int64_t> shape, std::int64_t i) const;
};

/// An array that may be written. @status kInvalidArgument: it is read-only, or no array
[[nodiscard]] OutputArray output_of(const nanobind::object& array);

/// True unless the memory from the first to the last element of one lies before or behind that of the other.
[[nodiscard]] bool may_overlap(const InputArray& x, const InputArray& y);

/// op() of the operand on the given side. @status kInvalidArgument: no axis, a type that is none of the four, a
/// negative stride, or memory that is not aligned to it
[[nodiscard]] MatrixStack operand_stack(Side side, const InputArray& array, Op op);

/// The array that a product is written to. a_is_vector, b_is_vector: the axis of C that the vector would have is not
/// there.
[[nodiscard]] MatrixStack result_stack(const OutputArray& array, bool a_is_vector, bool b_is_vector);

/// @status kInvalidArgument unless the stack can be broadcast to the shape
void check_broadcast(Side side, const MatrixStack& stack, std::span<const std::int64_t> shape);

}  // namespace kizami::python
