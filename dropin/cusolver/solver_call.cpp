// SPDX-License-Identifier: MIT
#include "dropin/cusolver/solver_call.hpp"

#include "dropin/cublas/choice.hpp"
#include "dropin/cublas/device_failure.hpp"
#include "dropin/cublas/device_lines.hpp"
#include "dropin/cusolver/level3_calls.hpp"
#include "dropin/cusolver/native_solver.hpp"
#include "dropin/policy/answer.hpp"
#include "dropin/policy/audit.hpp"
#include "dropin/policy/operand_names.hpp"
#include "kizami/names.hpp"

namespace kizami::dropin::cusolver {

constinit SolverSizes solver_sizes;

void use_up_names() noexcept { static_cast<void>(take_names()); }

bool is_taken(const SolverCall& call, std::int64_t m, std::int64_t n, std::int64_t k, cudaStream_t& stream) noexcept
    try {
  const bool is_valid = call.handle != nullptr && call.a != nullptr && call.info != nullptr && call.lda >= call.n;
  if (!is_valid || depth > 0 || is_audited()) return false;
  const Configuration& configuration = process_configuration();
  if (configuration.why_off != nullptr || configuration.is_dry_run || cublas::has_device_failed()) return false;
  cublas::Call product;
  product.scalar = Scalar::kF64;
  product.m = m;
  product.n = n;
  product.k = k;
  const Settings& settings = settings_of(product, product.scalar, call.caller, configuration);
  if (settings.policy.scheme == Scheme::kNative || is_below(m, n, k, settings.min_size)) return false;
  const cublas::Choice& choice = cublas::chosen(settings, product);
  if (choice.why_native != nullptr || choice.engine != to_string(EngineName::kHopper)) return false;
  return has_level3() && read_stream(call.handle, stream) && !cublas::is_captured(stream);
} catch (...) {  // no memory for what is to be known, or CUDA does not say it
  return false;
}

cusolverStatus_t status_of(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return CUSOLVER_STATUS_SUCCESS;
  return status == CUBLAS_STATUS_ALLOC_FAILED ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_EXECUTION_FAILED;
}

}  // namespace kizami::dropin::cusolver
