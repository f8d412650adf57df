// SPDX-License-Identifier: MIT
// A factorization that a program asked cuSOLVER for, and whether its operations come in Kizami's order
// (dropin/factorizations/recursion.hpp).
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <cstdint>

namespace kizami::dropin::cusolver {

struct SolverCall {
  cusolverDnHandle_t handle = nullptr;
  const void* caller = nullptr;  ///< an address in the calling code
  std::int64_t n = 0;
  double* a = nullptr;  ///< device memory, column-major
  std::int64_t lda = 0;
  int* info = nullptr;  ///< device memory
};

/// What became of it.
struct SolverAnswer {
  bool is_answered = false;                           ///< false: nothing is enqueued, and cuSOLVER answers
  cusolverStatus_t status = CUSOLVER_STATUS_SUCCESS;  ///< if it is
};

/// Orders at which Kizami's order of operations was the quicker one, and its blocks (docs/perf/factorizations.md).
struct SolverSizes {
  std::int64_t least_potrf = 8192;
  std::int64_t potrf_block = 4096;  ///< the largest block on the diagonal
  std::int64_t least_getrf = 6144;
  std::int64_t getrf_block = 2048;  ///< columns that are factored while the update before goes on
};
/// Tests have smaller ones.
extern constinit SolverSizes solver_sizes;

/// What this thread has named for its next call is of none of the products that a factorization makes, cuSOLVER's own neither.
void use_up_names() noexcept;

/// Whether Kizami answers: the call is valid, the settings leave FP64 open, nothing is audited or captured, and the
/// planner gives a product m x n x k, which is what most operations are, to the engine that an order of large products
/// was measured with, hopper.
/// @param stream of the handle, if so
[[nodiscard]] bool is_taken(const SolverCall& call, std::int64_t m, std::int64_t n, std::int64_t k,
                            cudaStream_t& stream) noexcept;

[[nodiscard]] cusolverStatus_t status_of(cublasStatus_t status);

}  // namespace kizami::dropin::cusolver
