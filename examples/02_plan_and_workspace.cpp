// SPDX-License-Identifier: MIT
// Decide once, run many times, allocate nothing in between.
//   plan = make_plan(type, m, n, k, policy);  run(plan, alpha, A, B, beta, C, workspace)
// A smaller workspace means more passes and the same bits.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "kizami/plan.hpp"

namespace {

/// C = A B with at most `limit` bytes of scratch memory, of which the caller is the owner.
bool multiply(std::size_t limit, kizami::MatrixView<const float> a, kizami::MatrixView<const float> b,
              kizami::MatrixView<float> c) {
  kizami::Policy policy;
  policy.workspace_limit_bytes = limit;
  const auto plan = kizami::make_plan(kizami::Scalar::kF32, c.rows, c.cols, a.cols, policy);
  if (!plan.ok()) {
    std::printf("%s\n", plan.status().reason().c_str());
    return false;
  }
  const std::size_t bytes = (plan.value().workspace_bytes() + 63) / 64 * 64;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(64, bytes), &std::free);
  const std::span<std::byte> workspace(static_cast<std::byte*>(memory.get()), bytes);
  const kizami::Status status = kizami::run(plan.value(), 1.0F, a, b, 0.0F, c, workspace);
  std::printf("limit %zu bytes, used %zu: %s\n", limit, bytes, status.ok() ? "ok" : status.reason().c_str());
  return status.ok();
}

}  // namespace

int main() {
  const std::int64_t n = 256;
  std::vector<float> a(n * n), b(n * n), large(n * n), small(n * n);
  for (std::int64_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i % 31) / 31.0F;
    b[i] = static_cast<float>(i % 37) - 18.0F;
  }
  const auto view = [n](std::vector<float>& x) {
    return kizami::blas_view(x.data(), n, n, n, kizami::Layout::kRowMajor);
  };
  if (!multiply(std::size_t{1} << 30, view(a), view(b), view(large))) return 1;
  if (!multiply(std::size_t{6} << 20, view(a), view(b), view(small))) return 1;
  return std::memcmp(large.data(), small.data(), large.size() * sizeof(float)) == 0 ? 0 : 1;
}
