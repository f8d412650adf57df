// SPDX-License-Identifier: MIT
// One product in one call, with BLAS arguments:  C <- alpha op(A) op(B) + beta C.
// The library splits A and B into residues modulo small coprime numbers, multiplies those in INT8 and puts C together
// by the Chinese remainder theorem. Nothing in between rounds, so it can promise, for every element,
//   |C - AB| <= bound (|A||B|),   here c(k) u with u = 2^-53: never worse than what a native product guarantees.
// An Outcome says what the call did with the data that it saw.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "kizami/gemm.hpp"

int main() {
  const std::int64_t m = 120, n = 90, k = 300;
  std::vector<double> a(static_cast<std::size_t>(m * k));  // column-major, m x k
  std::vector<double> b(static_cast<std::size_t>(k * n));  // column-major, k x n
  std::vector<double> c(static_cast<std::size_t>(m * n));  // column-major, m x n; beta = 0 never reads it
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(1.0 + static_cast<double>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(2.0 + static_cast<double>(i));

  kizami::Outcome outcome;
  const kizami::Status status =
      kizami::gemm<double>(kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, m, n, k, 1.0, a.data(), m,
                           b.data(), k, 0.0, c.data(), m, kizami::Policy{}, &outcome);
  if (!status.ok()) {
    std::printf("refused: %s\n", status.reason().c_str());
    return 1;
  }
  std::printf("scheme  %s on engine %s\n", std::string(to_string(outcome.scheme)).c_str(),
              std::string(outcome.engine).c_str());
  std::printf("moduli  %d\n", outcome.moduli);
  std::printf("bound   %.3g |A||B|, for every element\n", outcome.bound);

  // One element beside a plain loop, whose own error is at most k u |A||B|: they may differ by both bounds together.
  double sum = 0, magnitudes = 0;
  for (std::int64_t l = 0; l < k; ++l) {
    const double term = a[static_cast<std::size_t>(l * m)] * b[static_cast<std::size_t>(l)];
    sum += term;
    magnitudes += std::fabs(term);
  }
  const double allowed = (outcome.bound + 1.01 * static_cast<double>(k) * 0x1p-53) * magnitudes;
  std::printf("C(0,0)  %.17g, by a plain loop %.17g\n", c[0], sum);
  return std::fabs(c[0] - sum) <= allowed ? 0 : 1;
}
