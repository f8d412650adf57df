// SPDX-License-Identifier: MIT
// cublasLtMatmul as a Call: D <- alpha op(A) op(B) + beta C by descriptors, which only the program's own cuBLASLt can
// read.
#pragma once

#include <cublasLt.h>

#include "dropin/cublas/call.hpp"

namespace kizami::dropin::cublas {

/// The matrices of a matmul as they were passed.
struct LtOperands {
  const void* alpha;
  const void* a;
  cublasLtMatrixLayout_t layout_a;
  const void* b;
  cublasLtMatrixLayout_t layout_b;
  const void* beta;
  const void* c;
  cublasLtMatrixLayout_t layout_c;
  void* d;
  cublasLtMatrixLayout_t layout_d;
};

/// The column-major product that it is, with its context; row-major matrices become transposed ones. Its why_native is
/// set if it is none: other types, orders, epilogues, scales, pointer modes or compute types, C another matrix than D.
[[nodiscard]] Call read_matmul(cublasLtMatmulDesc_t description, const LtOperands& operands, cudaStream_t stream);

}  // namespace kizami::dropin::cublas
