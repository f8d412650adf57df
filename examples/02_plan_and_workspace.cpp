// SPDX-License-Identifier: MIT
// The call in two steps: decide once, run many times.
// A Plan follows from shape and wishes alone. It is immutable, prints itself, knows how much scratch it needs and may
// be shared by threads. run() with a workspace of that size allocates nothing. How large the workspace is, and what it
// held before, changes no bit of C:  the plan works in chunks of rows, columns and the inner index that fit.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "kizami/plan.hpp"

namespace {

constexpr std::int64_t kM = 300, kN = 200, kK = 2000;

/// C <- A B with at most `limit` bytes of scratch. Empty if refused.
std::vector<double> multiply(const std::vector<double>& a, const std::vector<double>& b, std::size_t limit) {
  kizami::Policy policy;
  policy.workspace_limit_bytes = limit;
  const kizami::Result<kizami::Plan> plan = kizami::make_plan(kizami::Scalar::kF64, kM, kN, kK, policy);
  if (!plan.ok()) {
    std::printf("limit %zu: %s\n", limit, plan.status().reason().c_str());
    return {};
  }
  const std::size_t bytes = plan.value().workspace_bytes();
  std::printf("limit %zu: the plan takes %zu bytes\n", limit, bytes);

  // On a 64-byte boundary, as run() asks for; aligned_alloc wants a multiple of that.
  const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                                                              &std::free);
  std::vector<double> c(static_cast<std::size_t>(kM * kN));
  for (int repetition = 0; repetition < 3; ++repetition) {  // the plan and the workspace serve every call
    const kizami::Status status = kizami::run<double>(
        plan.value(), 1.0, kizami::blas_view(a.data(), kM, kK, kM), kizami::blas_view(b.data(), kK, kN, kK), 0.0,
        kizami::blas_view(c.data(), kM, kN, kM), {static_cast<std::byte*>(workspace.get()), bytes});
    if (!status.ok()) {
      std::printf("refused: %s\n", status.reason().c_str());
      return {};
    }
  }
  return c;
}

}  // namespace

int main() {
  std::vector<double> a(static_cast<std::size_t>(kM * kK)), b(static_cast<std::size_t>(kK * kN));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>((i * 7919) % 1009) / 1009 - 0.5;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>((i * 104729) % 997) / 997 - 0.5;

  const kizami::Result<kizami::Plan> plan = kizami::make_plan(kizami::Scalar::kF64, kM, kN, kK);
  if (!plan.ok()) return 1;
  std::printf("%s\n", plan.value().explain().c_str());

  const std::vector<double> generous = multiply(a, b, 0);       // the default limit: 1 GiB
  const std::vector<double> tight = multiply(a, b, 8 << 20);    // 8 MiB: several chunks
  const std::vector<double> impossible = multiply(a, b, 1000);  // refused, with the least that would do
  const bool is_same = !generous.empty() && generous.size() == tight.size() &&
                       std::memcmp(generous.data(), tight.data(), generous.size() * sizeof(double)) == 0;
  std::printf("the bits of C are %s\n", is_same ? "the same" : "DIFFERENT");
  return is_same && impossible.empty() ? 0 : 1;
}
