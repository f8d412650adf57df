// SPDX-License-Identifier: MIT
// One product at a stated accuracy.
//   C <- A B,  |C - AB| <= c(k) u |A||B| in every element, the same bits on every machine.
// The outcome says what it took: for these data 14 products of signed bytes.
#include <cstdio>
#include <vector>

#include "kizami/gemm.hpp"

int main() {
  const std::int64_t m = 300, n = 200, k = 400;
  std::vector<double> a(m * k), b(k * n), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1.0 / static_cast<double>(i % 97 + 1);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 89) - 44.0;

  kizami::Outcome outcome;
  const kizami::Status status =
      kizami::gemm<double>(kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, m, n, k, 1.0, a.data(), m,
                           b.data(), k, 0.0, c.data(), m, kizami::Policy{}, &outcome);
  if (!status.ok()) {
    std::printf("%s\n", status.reason().c_str());
    return 1;
  }
  std::printf("%d moduli, |C - AB| <= %.3g |A||B|, C(0,0) = %.17g\n", outcome.moduli, outcome.bound, c[0]);
  return 0;
}
