// SPDX-License-Identifier: MIT
// The product of cuBLASLt. Everything else of it stays the program's own, which is what makes and reads descriptors.
#include <cublasLt.h>

#include "dropin/cublas/export.hpp"
#include "dropin/cublas/lt_matmul.hpp"
#include "dropin/cublas/take.hpp"

using namespace kizami::dropin::cublas;  // NOLINT(google-build-using-namespace): the exported function is global
using kizami::dropin::depth;

KIZAMI_FUNCTION_OF(kCublasLt, cublasLtMatmul, cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                   const void* alpha, const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                   cublasLtMatrixLayout_t layout_b, const void* beta, const void* c, cublasLtMatrixLayout_t layout_c,
                   void* d, cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                   size_t workspace_bytes, cudaStream_t stream) {
  auto* function = native_cublasLtMatmul.as<decltype(cublasLtMatmul)>();
  const auto forward = [&](std::size_t) {
    return function(handle, description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm,
                    workspace, workspace_bytes, stream);
  };
  if (depth > 0 && function != nullptr) return forward(0);  // of cuBLAS, whose descriptors need not be read
  Call call = read_matmul(description, {alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d}, stream);
  call.name = native_cublasLtMatmul.name();
  call.caller = __builtin_return_address(0);
  if (handle == nullptr) call.context.reset();
  return take({&call, 1}, function != nullptr, forward);
}
