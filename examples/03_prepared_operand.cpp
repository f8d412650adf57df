// SPDX-License-Identifier: MIT
// One matrix against many:  C_1 = A B_1, C_2 = A B_2, ...
// Splitting A into residues is half of the work outside the products. prepare() does it once, for the lowest rung of
// the plan's ladder: the smallest number of moduli, which ordinary data need. The bits of C are those of the matrix
// itself. Data that need a higher rung need the values of A again: pass the matrix along, or the call is refused with
// that reason.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kizami/gemm.hpp"
#include "kizami/plan.hpp"

namespace {

constexpr std::int64_t kM = 60, kN = 50, kK = 400;
using Matrix = std::vector<double>;

kizami::MatrixView<const double> view(const Matrix& x, std::int64_t rows, std::int64_t cols) {
  return kizami::blas_view(x.data(), rows, cols, rows);
}

}  // namespace

int main() {
  Matrix a(static_cast<std::size_t>(kM * kK)), b(static_cast<std::size_t>(kK * kN));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<double>(i) * 0.7);

  const kizami::Result<kizami::Plan> plan = kizami::make_plan(kizami::Scalar::kF64, kM, kN, kK);
  if (!plan.ok()) return 1;
  const kizami::Result<kizami::PreparedOperand> prepared =
      kizami::prepare<double>(plan.value(), kizami::Side::kA, view(a, kM, kK));
  if (!prepared.ok()) {
    std::printf("refused: %s\n", prepared.status().reason().c_str());
    return 1;
  }
  std::printf("A prepared for %d moduli: %zu bytes\n", plan.value().base_moduli(), prepared.value().size_bytes());

  Matrix c(static_cast<std::size_t>(kM * kN)), fresh(c.size());
  const kizami::MatrixView<double> c_view = kizami::blas_view(c.data(), kM, kN, kM);
  for (int t = 1; t <= 3; ++t) {
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<double>(i) * 0.3 * t);
    const kizami::Status status =
        kizami::run<double>(plan.value(), 1.0, prepared.value(), view(b, kK, kN), 0.0, c_view);
    const kizami::Status check =
        kizami::gemm<double>(1.0, view(a, kM, kK), view(b, kK, kN), 0.0, kizami::blas_view(fresh.data(), kM, kN, kM));
    const bool is_same =
        status.ok() && check.ok() && std::memcmp(c.data(), fresh.data(), c.size() * sizeof(double)) == 0;
    std::printf("B_%d: the bits of the matrix itself: %s\n", t, is_same ? "yes" : "NO");
    if (!is_same) return 1;
  }

  // B_4 picks single columns of A: every small element of A must now be right by itself, which takes more moduli.
  for (double& x : b) x = 0;
  for (std::int64_t j = 0; j < kN; ++j) b[static_cast<std::size_t>(j * kK + 7 * j)] = 1;
  const kizami::Status refused = kizami::run<double>(plan.value(), 1.0, prepared.value(), view(b, kK, kN), 0.0, c_view);
  std::printf("prepared alone:     %s\n", refused.ok() ? "accepted" : refused.reason().c_str());
  kizami::Outcome outcome;
  const kizami::Status accepted =
      kizami::run<double>(plan.value(), 1.0, kizami::Operand<double>(prepared.value(), view(a, kM, kK)),
                          view(b, kK, kN), 0.0, c_view, {}, &outcome);
  std::printf("with its original:  %s, %d moduli\n", accepted.ok() ? "done" : accepted.reason().c_str(),
              outcome.moduli);
  return !refused.ok() && accepted.ok() ? 0 : 1;
}
