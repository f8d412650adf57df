// SPDX-License-Identifier: MIT
// One matrix times many: split A once, multiply it by several B.
//   prepared = prepare(plan, Side::kA, A);  run(plan, 1, {prepared, A}, B, 0, C)
// The bits are those of the unprepared product. A is passed along for data that need more than the lowest rung.
#include <cstdio>
#include <cstring>
#include <vector>

#include "kizami/plan.hpp"

int main() {
  const std::int64_t n = 128;
  std::vector<double> a(n * n), b(n * n), fresh(n * n), reused(n * n);
  for (std::int64_t i = 0; i < n * n; ++i) a[i] = static_cast<double>(i % 113) - 56.0;
  const auto matrix = [n](std::vector<double>& x) { return kizami::blas_view(x.data(), n, n, n); };

  const auto plan = kizami::make_plan(kizami::Scalar::kF64, n, n, n);
  if (!plan.ok()) return 1;
  const auto prepared = kizami::prepare<double>(plan.value(), kizami::Side::kA, matrix(a));
  if (!prepared.ok()) return 1;

  for (int step = 1; step <= 3; ++step) {
    for (std::int64_t i = 0; i < n * n; ++i) b[i] = 1.0 / static_cast<double>(i % (10 * step) + 1);
    const kizami::Operand<double> a_prepared(prepared.value(), matrix(a));
    if (!kizami::run(plan.value(), 1.0, matrix(a), matrix(b), 0.0, matrix(fresh)).ok()) return 1;
    if (!kizami::run(plan.value(), 1.0, a_prepared, matrix(b), 0.0, matrix(reused)).ok()) return 1;
    if (std::memcmp(fresh.data(), reused.data(), fresh.size() * sizeof(double)) != 0) return 1;
    std::printf("step %d: equal bits, C(0,0) = %.17g\n", step, reused[0]);
  }
  return 0;
}
