// SPDX-License-Identifier: MIT
#include "dropin/cusolver/potrf.hpp"

#include <algorithm>
#include <limits>

#include "dropin/cublas/relaxed_capture.hpp"
#include "dropin/cusolver/level3_calls.hpp"
#include "dropin/cusolver/native_solver.hpp"
#include "dropin/cusolver/panels.hpp"
#include "dropin/cusolver/resources.hpp"

namespace kizami::dropin::cusolver {
namespace {

/// The backend of factorizations::cholesky(), up to the first error. An upper triangle is factored as the lower one of
/// its transpose, met where it is stored.
class Cholesky {
 public:
  Cholesky(const SolverCall& call, cublasFillMode_t uplo, cublasHandle_t blas, double* workspace, int elements,
           int* infos)
      : call_(call), uplo_(uplo), blas_(blas), workspace_(workspace), elements_(elements), infos_(infos) {}

  void factor(const Matrix& a) {
    if (!is_good()) return;
    const Matrix block = stored(a);
    const std::int64_t index = (block.data - call_.a) / (call_.lda + 1) / solver_sizes.potrf_block;
    status_ = native_potrf(call_.handle, uplo_, static_cast<int>(block.rows), block.data, static_cast<int>(block.ld),
                           workspace_, elements_, infos_ + index);
  }
  void ready(const Matrix&) {}
  void solve_transposed(const Matrix& l, const Matrix& b) {
    const cublasSideMode_t side = is_lower() ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
    if (is_good())
      status_ = status_of(cusolver::solve_transposed(call_.caller, blas_, side, uplo_, stored(l), stored(b)));
  }
  void update(const Matrix& a, const Matrix& c) {
    const cublasOperation_t op = is_lower() ? CUBLAS_OP_N : CUBLAS_OP_T;
    if (is_good()) status_ = status_of(subtract_rank_k(call_.caller, blas_, uplo_, op, stored(a), stored(c)));
  }
  void multiply(double, const Matrix&, const Matrix&, bool, const Matrix&) {}  // triangles are not cut

  [[nodiscard]] cusolverStatus_t status() const { return status_; }

 private:
  [[nodiscard]] bool is_good() const { return status_ == CUSOLVER_STATUS_SUCCESS; }
  [[nodiscard]] bool is_lower() const { return uplo_ == CUBLAS_FILL_MODE_LOWER; }
  /// A block of the lower triangle, or its mirror image.
  [[nodiscard]] Matrix stored(const Matrix& x) const {
    if (is_lower()) return x;
    const std::int64_t i = (x.data - call_.a) % call_.lda;
    const std::int64_t j = (x.data - call_.a) / call_.lda;
    return {call_.a + j + i * call_.lda, x.cols, x.rows, x.ld};
  }

  const SolverCall& call_;
  cublasFillMode_t uplo_;
  cublasHandle_t blas_;
  double* workspace_;
  int elements_;
  int* infos_;
  cusolverStatus_t status_ = CUSOLVER_STATUS_SUCCESS;
};

}  // namespace

SolverAnswer potrf(const SolverCall& call, cublasFillMode_t uplo) noexcept {
  use_up_names();
  const bool has_uplo = uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER;
  const bool has_size = call.n >= solver_sizes.least_potrf && call.lda <= std::numeric_limits<int>::max();
  if (!has_uplo || !has_size) return {};
  const cublas::RelaxedCapture relaxed;
  cudaStream_t stream = nullptr;
  const std::int64_t half = call.n / 2;
  if (!is_taken(call, half, half, half, stream)) return {};
  const std::int64_t block = solver_sizes.potrf_block;
  const std::int64_t num_blocks = (call.n + block - 1) / block;
  int elements = 0;
  for (const std::int64_t order : {block, call.n - (num_blocks - 1) * block}) {  // of all, and of the last one
    int wanted = 0;
    if (native_potrf_size(call.handle, uplo, static_cast<int>(order), call.a, static_cast<int>(call.lda), wanted) !=
        CUSOLVER_STATUS_SUCCESS)
      return {};
    elements = std::max(elements, wanted);
  }
  const std::size_t workspace_bytes = (static_cast<std::size_t>(elements) * sizeof(double) + 255) / 256 * 256;
  const LentLane lent(stream);
  if (!lent.is_lent()) return {};
  const StreamMemory memory(workspace_bytes + static_cast<std::size_t>(num_blocks) * sizeof(int), stream);
  if (memory.get() == nullptr) return {};
  auto* const infos = reinterpret_cast<int*>(memory.get() + workspace_bytes);

  Cholesky backend(call, uplo, lent.lane().blas[0], reinterpret_cast<double*>(memory.get()), elements, infos);
  factorizations::CholeskyBlocks blocks;
  blocks.factored = block;
  blocks.solved = call.n;  // trsm makes blocks of its own
  cholesky(backend, Matrix{call.a, call.n, call.n, call.lda}, blocks);
  SolverAnswer answer{true, backend.status()};
  if (answer.status == CUSOLVER_STATUS_SUCCESS &&
      !is_done(write_first_failure(infos, num_blocks, block, call.info, stream)))
    answer.status = CUSOLVER_STATUS_EXECUTION_FAILED;
  return answer;
}

}  // namespace kizami::dropin::cusolver
