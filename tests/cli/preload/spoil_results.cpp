// SPDX-License-Identifier: MIT
// Preloaded into the command line, this makes the library wrong by a little: C(0, 0) of every product gets 2^-20 of its
// value too much. Tests use it to see that checks turn red.
#include <dlfcn.h>

#include <cstdlib>

#include "kizami/gemm.hpp"
#include "kizami/plan.hpp"

namespace {

/// The function that `replacement` hides.
template <class Function>
Function* hidden_by(Function* replacement) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(replacement), &info) == 0 || info.dli_sname == nullptr) std::abort();
  void* const original = dlsym(RTLD_NEXT, info.dli_sname);
  if (original == nullptr) std::abort();
  return reinterpret_cast<Function*>(original);
}

}  // namespace

namespace kizami {

template <>
Status run<double>(const Plan& plan, double alpha, Operand<double> a, Operand<double> b, double beta,
                   MatrixView<double> c, std::span<std::byte> workspace, Outcome* outcome) {
  const Status status = hidden_by(&run<double>)(plan, alpha, a, b, beta, c, workspace, outcome);
  if (c.rows > 0 && c.cols > 0) c(0, 0) *= 1 + 0x1p-20;
  return status;
}

template <>
Status gemm<double>(Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                    const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
                    std::int64_t ldc, const Policy& policy, Outcome* outcome) {
  using Function = Status(Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, double, const double*, std::int64_t,
                          const double*, std::int64_t, double, double*, std::int64_t, const Policy&, Outcome*);
  const Status status = hidden_by<Function>(&gemm<double>)(layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                                           ldc, policy, outcome);
  if (m > 0 && n > 0) c[0] *= 1 + 0x1p-20;
  return status;
}

}  // namespace kizami
