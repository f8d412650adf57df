// SPDX-License-Identifier: MIT
#include "matrix_stack.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "bindings.hpp"

namespace kizami::python {
namespace {

const char* name_of(Side side) { return side == Side::kA ? "a" : "b"; }

template <class Array>
Scalar scalar_of_array(const char* name, const Array& array) {
  const nb::dlpack::dtype type = array.dtype();
  if (type == nb::dtype<float>()) return Scalar::kF32;
  if (type == nb::dtype<double>()) return Scalar::kF64;
  if (type == nb::dtype<std::complex<float>>()) return Scalar::kC64;
  if (type == nb::dtype<std::complex<double>>()) return Scalar::kC128;
  refuse(std::string(name) + " is of a type that is none of float32, float64, complex64, complex128");
}

/// The last num_matrix_axes axes are the matrix's own; they are left to the caller.
template <class Array>
MatrixStack stack_of(const char* name, const Array& array, std::size_t num_matrix_axes) {
  MatrixStack stack;
  stack.data = array.data();
  stack.scalar = scalar_of_array(name, array);
  const auto alignment = static_cast<std::uintptr_t>(size_bytes(real_of(stack.scalar)));
  if (reinterpret_cast<std::uintptr_t>(stack.data) % alignment != 0) {
    refuse(std::string(name) + " begins at an address that is no multiple of " + std::to_string(alignment) +
           ", must be aligned to its type");
  }
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    if (array.shape(axis) > 1 && array.stride(axis) < 0) {
      refuse(std::string(name) + " has a stride of " + std::to_string(array.stride(axis)) + ", must be >= 0");
    }
  }
  for (std::size_t axis = 0; axis + num_matrix_axes < array.ndim(); ++axis) {
    stack.batch_shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
    stack.batch_strides.push_back(array.stride(axis));
  }
  return stack;
}

/// Axes of extent 1 may carry any stride; the library wants none that is negative.
template <class Array>
std::int64_t stride_of(const Array& array, std::size_t axis) {
  return array.shape(axis) > 1 ? array.stride(axis) : 0;
}

}  // namespace

std::int64_t MatrixStack::num_matrices() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : batch_shape) count *= extent;
  return count;
}

std::int64_t MatrixStack::offset(std::span<const std::int64_t> shape, std::int64_t i) const {
  std::int64_t result = 0;
  for (std::size_t from_last = 1; from_last <= shape.size(); ++from_last) {
    const std::int64_t extent = shape[shape.size() - from_last];
    if (from_last <= batch_shape.size()) {
      const std::size_t axis = batch_shape.size() - from_last;
      if (batch_shape[axis] != 1) result += i % extent * batch_strides[axis];
    }
    i /= extent;
  }
  return result;
}

OutputArray output_of(const nb::object& array) {
  OutputArray output;
  if (!nb::try_cast<OutputArray>(array, output)) refuse("out is read-only, must be writable");
  return output;
}

MatrixStack operand_stack(Side side, const InputArray& array, Op op) {
  const char* const name = name_of(side);
  const std::size_t ndim = array.ndim();
  if (ndim == 0) refuse(std::string(name) + " has no axis, must have at least one");
  MatrixStack stack = stack_of(name, array, ndim == 1 ? 1 : 2);
  stack.is_conjugated = is_conjugated(op) && is_complex(stack.scalar);
  if (ndim == 1) {
    stack.is_vector = true;
    stack.rows = stack.cols = 1;
    (side == Side::kA ? stack.cols : stack.rows) = static_cast<std::int64_t>(array.shape(0));
    (side == Side::kA ? stack.col_stride : stack.row_stride) = stride_of(array, 0);
    return stack;
  }
  stack.rows = static_cast<std::int64_t>(array.shape(ndim - 2));
  stack.cols = static_cast<std::int64_t>(array.shape(ndim - 1));
  stack.row_stride = stride_of(array, ndim - 2);
  stack.col_stride = stride_of(array, ndim - 1);
  if (is_transposed(op)) {
    std::swap(stack.rows, stack.cols);
    std::swap(stack.row_stride, stack.col_stride);
  }
  return stack;
}

MatrixStack result_stack(const OutputArray& array, bool a_is_vector, bool b_is_vector) {
  const std::size_t num_axes = std::size_t{2} - (a_is_vector ? 1 : 0) - (b_is_vector ? 1 : 0);
  if (array.ndim() < num_axes) {
    refuse("out has " + std::to_string(array.ndim()) + " axes, must have at least " + std::to_string(num_axes));
  }
  MatrixStack stack = stack_of("out", array, num_axes);
  std::size_t axis = array.ndim() - num_axes;
  stack.rows = stack.cols = 1;
  if (!a_is_vector) {
    stack.rows = static_cast<std::int64_t>(array.shape(axis));
    stack.row_stride = stride_of(array, axis++);
  }
  if (!b_is_vector) {
    stack.cols = static_cast<std::int64_t>(array.shape(axis));
    stack.col_stride = stride_of(array, axis);
  }
  return stack;
}

void check_broadcast(Side side, const MatrixStack& stack, std::span<const std::int64_t> shape) {
  bool is_possible = stack.batch_shape.size() <= shape.size();
  for (std::size_t from_last = 1; is_possible && from_last <= stack.batch_shape.size(); ++from_last) {
    const std::int64_t extent = stack.batch_shape[stack.batch_shape.size() - from_last];
    is_possible = extent == 1 || extent == shape[shape.size() - from_last];
  }
  if (!is_possible) refuse(std::string(name_of(side)) + " cannot be broadcast to the products of out");
}

}  // namespace kizami::python
