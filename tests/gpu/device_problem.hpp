// SPDX-License-Identifier: MIT
// A case of the check kit's grammar as the library takes it in device memory.
#pragma once

#include "check/case.hpp"
#include "exec/device_call.hpp"
#include "kizami/types.hpp"

namespace kizami::gpu_test {

/// @param a, b, c  the matrices as stored, of stored_shape()
template <class T>
[[nodiscard]] device::DeviceProblem<T> device_problem(const check::Case& spec, Factor<T> alpha, const T* a, const T* b,
                                                      Factor<T> beta, T* c) {
  const auto view = [&](const T* data, check::Which which) {
    const check::StoredShape s = check::stored_shape(spec, which);
    const Op op = check::op_of(spec, which);
    MatrixView<const T> v = blas_view(data, s.rows, s.cols, s.ld, spec.layout);
    if (is_transposed(op)) v = v.transposed();
    v.is_conjugated = kIsComplex<T> && is_conjugated(op);
    return v;
  };
  const check::StoredShape s = check::stored_shape(spec, check::Which::kC);
  return {alpha, view(a, check::Which::kA), view(b, check::Which::kB), beta,
          blas_view(c, s.rows, s.cols, s.ld, spec.layout)};
}

/// With the factors of the case.
template <class T>
[[nodiscard]] device::DeviceProblem<T> device_problem(const check::Case& spec, const T* a, const T* b, T* c) {
  return device_problem<T>(spec, check::alpha_of<T>(spec), a, b, check::beta_of<T>(spec), c);
}

}  // namespace kizami::gpu_test
