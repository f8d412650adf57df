// SPDX-License-Identifier: MIT
// Accuracy is a request that is kept or refused, never missed in silence.
//   bits=N: |C - AB| <= 2^-N |A||B|.  More bits take more moduli; what no scheme here can promise is refused with a
//   reason.
#include <cmath>
#include <cstdio>
#include <vector>

#include "kizami/gemm.hpp"

int main() {
  const std::int64_t n = 96;
  std::vector<double> a(n * n), b(n * n), c(n * n);
  for (std::int64_t i = 0; i < n * n; ++i) {
    a[i] = std::sin(static_cast<double>(i));
    b[i] = std::cos(static_cast<double>(3 * i));
  }
  const auto multiply = [&](const kizami::Policy& policy, kizami::Outcome& outcome) {
    return kizami::gemm<double>(kizami::Layout::kRowMajor, kizami::Op::kNone, kizami::Op::kTranspose, n, n, n, 1.0,
                                a.data(), n, b.data(), n, 0.0, c.data(), n, policy, &outcome);
  };
  int previous = 0;
  for (const int bits : {10, 20, 30, 40, 52}) {
    kizami::Policy policy;
    policy.accuracy = kizami::Accuracy::at_bits(bits);
    kizami::Outcome outcome;
    if (!multiply(policy, outcome).ok() || outcome.moduli < previous) return 1;
    std::printf("bits = %d: %d moduli\n", bits, outcome.moduli);
    previous = outcome.moduli;
  }
  kizami::Policy impossible;
  impossible.scheme = kizami::Scheme::kNative;  // the platform BLAS cannot promise 2^-52 |A||B| for k = 96
  impossible.accuracy = kizami::Accuracy::at_bits(52);
  kizami::Outcome outcome;
  const kizami::Status refused = multiply(impossible, outcome);
  std::printf("refused: %s\n", refused.reason().c_str());
  return refused.code() == kizami::StatusCode::kAccuracyUnreachable ? 0 : 1;
}
