// SPDX-License-Identifier: MIT
// Ask in digits, get a proof or a refusal.
//   |C - AB| <= 2^-bits (|A||B|)            gauge entry: every element as if it stood alone
//   |C - AB| <= 2^-bits ||a_i|| ||b_j||     gauge norm: relative to whole rows and columns, cheaper
// Fewer bits take fewer moduli. Wide data take more, and what no number of moduli can certify is answered in FP64
// arithmetic whose bound suffices - or, if the policy forbids that, refused with the reason. Never silently worse.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "kizami/gemm.hpp"

namespace {

constexpr std::int64_t kSize = 64;
using Matrix = std::vector<double>;

kizami::Status multiply(const Matrix& a, const Matrix& b, Matrix& c, const kizami::Policy& policy,
                        kizami::Outcome& outcome) {
  return kizami::gemm<double>(kizami::Layout::kRowMajor, kizami::Op::kNone, kizami::Op::kTranspose, kSize, kSize, kSize,
                              1.0, a.data(), kSize, b.data(), kSize, 0.0, c.data(), kSize, policy, &outcome);
}

/// One line: what was asked, what was done.
bool show(const std::string& what, const Matrix& a, const Matrix& b, const kizami::Policy& policy) {
  Matrix c(a.size());
  kizami::Outcome outcome;
  const kizami::Status status = multiply(a, b, c, policy, outcome);
  if (!status.ok()) {
    std::printf("%-34s refused (%s): %s\n", what.c_str(), std::string(to_string(status.code())).c_str(),
                status.reason().c_str());
    return false;
  }
  std::printf("%-34s bound %.2g (%s), %d moduli%s, %ld elements in FP64 arithmetic\n", what.c_str(), outcome.bound,
              std::string(to_string(outcome.gauge)).c_str(), outcome.moduli,
              outcome.equilibrated ? " equilibrated" : "", static_cast<long>(outcome.repaired));
  return true;
}

}  // namespace

int main() {
  Matrix a(static_cast<std::size_t>(kSize * kSize)), b(a.size()), graded_a(a.size()), graded_b(a.size()),
      wild(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int l = static_cast<int>(i % kSize);  // both row-major and B transposed: the inner index is contiguous
    a[i] = std::sin(1.0 + static_cast<double>(i));
    b[i] = std::cos(2.0 + static_cast<double>(i));
    graded_a[i] = std::ldexp(a[i], 10 * l);
    graded_b[i] = std::ldexp(b[i], -10 * l);
    wild[i] = std::ldexp(a[i], static_cast<int>((i * 7919) % 1801) - 900);
  }
  bool ok = true;
  kizami::Policy policy;
  ok &= show("native", a, b, policy);
  for (const int bits : {10, 20, 30, 40, 52}) {
    policy.accuracy = kizami::Accuracy::at_bits(bits);
    policy.gauge = kizami::Gauge::kEntry;
    ok &= show("bits = " + std::to_string(bits), a, b, policy);
    policy.gauge = kizami::Gauge::kNorm;
    ok &= show("bits = " + std::to_string(bits) + ", gauge norm", a, b, policy);
  }
  policy = {};
  ok &= show("graded operands, span 2^640", graded_a, graded_b, policy);
  ok &= show("wild exponents", wild, wild, policy);
  policy.allow_fp64_arithmetic = false;
  ok &= !show("wild exponents, FP64 forbidden", wild, wild, policy);
  policy = {};
  policy.accuracy = kizami::Accuracy::at_bits(60);
  ok &= !show("bits = 60", a, b, policy);
  policy = {};
  policy.scheme = kizami::Scheme::kNative;
  policy.accuracy = kizami::Accuracy::at_bits(52);
  ok &= !show("native BLAS with 52 bits", a, b, policy);
  return ok ? 0 : 1;
}
