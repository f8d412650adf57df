// SPDX-License-Identifier: MIT
// Ranks over NCCL: a thread for each GPU of this host, each with columns of A, B and C in host memory. The bits of one process.
//   nvcc -std=c++20 10_ranks_nccl.cpp -lkizami -lnccl
//   NCCL_NVLS_ENABLE=0 ./a.out      # --fail absent: the last rank never calls, and all others end with an error within seconds
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kizami/gemm.hpp"
#include "kizami/ranks.hpp"
#include "ranks_over_nccl.hpp"

int main(int argc, char** argv) {
  const bool is_last_absent = argc == 3 && std::strcmp(argv[1], "--fail") == 0 && std::strcmp(argv[2], "absent") == 0;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("skipped: no CUDA device\n");
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

  ncclUniqueId id{};
  if (ncclGetUniqueId(&id) != ncclSuccess) return 1;
  std::vector<kizami::Status> statuses(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      NcclRanks ranks(id, rank, count, is_last_absent ? 3 : 60);
      if (is_last_absent && rank == count - 1) {
        std::this_thread::sleep_for(std::chrono::seconds(5));  // the others have given up by then
        return;
      }
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
  int num_failed = 0;
  for (const kizami::Status& status : statuses) {
    if (status.ok()) continue;
    std::printf("%s\n", status.reason().c_str());
    ++num_failed;
  }
  if (is_last_absent) return num_failed == count - 1 ? 0 : 1;
  if (num_failed != 0) return 1;
  const bool is_equal = std::memcmp(got.data(), want.data(), got.size() * sizeof(double)) == 0;
  std::printf("%d ranks over NCCL: %s\n", count, is_equal ? "the bits of one process" : "OTHER BITS");
  return is_equal ? 0 : 1;
}
