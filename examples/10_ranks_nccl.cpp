// SPDX-License-Identifier: MIT
// Ranks over NCCL: a thread for each GPU of this host, each with columns of A, B and C in host memory. The bits of one process.
//   nvcc -std=c++20 10_ranks_nccl.cpp -lkizami -lnccl
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kizami/gemm.hpp"
#include "kizami/ranks.hpp"
#include "ranks_over_nccl.hpp"

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("no device\n");
    return 77;
  }
  const std::int64_t n = 1024;
  std::vector<double> a(static_cast<std::size_t>(n * n));
  std::vector<double> b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(i * 7919 % 10007) / 10007 - 0.5;
    b[i] = static_cast<double>(i * 104729 % 10009) / 10009 - 0.5;
  }
  std::vector<double> want(a.size());
  std::vector<double> got(a.size());
  constexpr kizami::Op kAsGiven = kizami::Op::kNone;
  if (!kizami::gemm(kizami::Layout::kColMajor, kAsGiven, kAsGiven, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0,
                    want.data(), n)
           .ok())
    return 1;

  std::vector<ncclComm_t> communicators(static_cast<std::size_t>(count));
  if (ncclCommInitAll(communicators.data(), count, nullptr) != ncclSuccess) return 1;
  std::vector<kizami::Status> statuses(communicators.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      NcclRanks ranks(communicators[static_cast<std::size_t>(rank)]);
      const std::int64_t first = n * rank / count;
      const std::int64_t cols = n * (rank + 1) / count - first;
      const auto columns = [&](auto& x) { return kizami::blas_view(x.data() + first * n, n, cols, n); };
      const kizami::multi::Piece<const double> of_a{0, first, columns(std::as_const(a))};
      const kizami::multi::Piece<const double> of_b{0, first, columns(std::as_const(b))};
      const kizami::multi::Piece<double> of_c{0, first, columns(got)};
      statuses[static_cast<std::size_t>(rank)] =
          kizami::multi::run<double>(ranks, n, n, n, 1.0, {&of_a, 1}, {&of_b, 1}, 0.0, {&of_c, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const kizami::Status& status : statuses) {
    if (status.ok()) continue;
    std::printf("%s\n", status.reason().c_str());
    return 1;
  }
  const bool is_equal = std::memcmp(got.data(), want.data(), got.size() * sizeof(double)) == 0;
  std::printf("%d ranks over NCCL: %s\n", count, is_equal ? "the bits of one process" : "OTHER BITS");
  return is_equal ? 0 : 1;
}
