// SPDX-License-Identifier: MIT
// A product of matrices that lie in blocks on the ranks of MPI, as ScaLAPACK deals them: the bits of one process.
//   mpicxx -std=c++20 09_ranks_mpi.cpp -lkizami
//   mpiexec -n 4 ./a.out
// Each rank tells its own pieces, and computes its pieces of C; panels come from the ranks that hold them.
//   --fail absent|dead|error|memory|shape: what the last rank does wrong. All others end with an error within seconds. Of a rank that is dead
//   Open MPI's mpiexec ends them itself, unless it was told --enable-recovery.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kizami/gemm.hpp"
#include "kizami/ranks.hpp"
#include "ranks_over_mpi.hpp"

namespace {

using kizami::multi::Piece;

/// The same elements on every rank and in every cut.
double element(std::int64_t seed, std::int64_t i, std::int64_t j) {
  const std::uint64_t x = static_cast<std::uint64_t>(seed * 1000003 + i * 7919 + j) * 0x9e3779b97f4a7c15u;
  return static_cast<double>(static_cast<std::int64_t>(x >> 11) - (std::int64_t{1} << 52)) * 0x1p-52;
}

/// A matrix in blocks, dealt in turns along rows and columns to the ranks of a grid; those of one rank.
class Dealt {
 public:
  Dealt(std::int64_t seed, std::int64_t rows, std::int64_t cols, std::int64_t block, int grid_rows, int grid_cols,
        int rank) {
    for (std::int64_t col = rank / grid_rows * block; col < cols; col += grid_cols * block) {
      for (std::int64_t row = rank % grid_rows * block; row < rows; row += grid_rows * block) {
        const std::int64_t m = std::min(block, rows - row);
        const std::int64_t n = std::min(block, cols - col);
        memory_.emplace_back(static_cast<std::size_t>(m * n));
        pieces_.push_back({row, col, kizami::blas_view(memory_.back().data(), m, n, m)});
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = 0; i < m; ++i) pieces_.back().view(i, j) = element(seed, row + i, col + j);
        }
      }
    }
  }
  [[nodiscard]] const std::vector<Piece<double>>& pieces() const { return pieces_; }
  [[nodiscard]] std::vector<Piece<const double>> const_pieces() const {
    std::vector<Piece<const double>> all;
    for (const Piece<double>& piece : pieces_) all.push_back({piece.row, piece.col, piece.view});
    return all;
  }

 private:
  std::vector<std::vector<double>> memory_;
  std::vector<Piece<double>> pieces_;
};

std::vector<double> whole(std::int64_t seed, std::int64_t rows, std::int64_t cols) {
  std::vector<double> x;
  for (std::int64_t j = 0; j < cols; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) x.push_back(element(seed, i, j));
  }
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string fault = argc == 3 && std::strcmp(argv[1], "--fail") == 0 ? argv[2] : "";
  constexpr std::int64_t m = 300;
  constexpr std::int64_t n = 260;
  std::int64_t k = 280;
  MpiRanks ranks(MPI_COMM_WORLD, fault.empty() ? 60 : 2);
  const int grid_rows = ranks.size() % 2 == 0 ? 2 : 1;
  const int grid_cols = ranks.size() / grid_rows;
  const Dealt a(1, m, k, 32, grid_rows, grid_cols, ranks.rank());
  const Dealt b(2, k, n, 32, grid_rows, grid_cols, ranks.rank());
  const Dealt c(3, m, n, 32, grid_rows, grid_cols, ranks.rank());

  kizami::Policy policy;
  const bool is_at_fault = !fault.empty() && ranks.rank() == ranks.size() - 1;
  if (is_at_fault && fault == "shape") ++k;
  if (is_at_fault && fault == "memory") policy.workspace_limit_bytes = 100;
  if (is_at_fault && fault == "error") policy.accuracy = kizami::Accuracy::at_bits(99);

  if (is_at_fault && fault == "dead") std::raise(SIGKILL);
  kizami::Outcome outcome;
  kizami::Status status;
  if (!is_at_fault || fault != "absent")
    status = kizami::multi::run<double>(ranks, m, n, k, 1.0, a.const_pieces(), b.const_pieces(), 1.0, c.pieces(),
                                        policy, &outcome);
  if (!fault.empty()) {
    std::printf("rank %d of %d: %s\n", ranks.rank(), ranks.size(), status.reason().c_str());
    std::fflush(stdout);
    if (fault == "absent" || fault == "dead") {
      std::this_thread::sleep_for(std::chrono::seconds(3));  // the others have given up by then
      std::_Exit(0);                                         // MPI_Finalize() would wait for what was given up
    }
    MPI_Finalize();
    return 0;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "rank %d: %s\n", ranks.rank(), status.reason().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  // The same by this rank alone, of which it compares its own pieces.
  const std::vector<double> whole_a = whole(1, m, k);
  const std::vector<double> whole_b = whole(2, k, n);
  std::vector<double> whole_c = whole(3, m, n);
  if (!kizami::gemm(kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, m, n, k, 1.0, whole_a.data(), m,
                    whole_b.data(), k, 1.0, whole_c.data(), m)
           .ok()) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::int64_t different = 0;
  std::int64_t compared = 0;
  for (const Piece<double>& piece : c.pieces()) {
    for (std::int64_t j = 0; j < piece.view.cols; ++j) {
      for (std::int64_t i = 0; i < piece.view.rows; ++i, ++compared) {
        const double want = whole_c[static_cast<std::size_t>((piece.col + j) * m + piece.row + i)];
        different += std::memcmp(&piece.view(i, j), &want, sizeof want) != 0 ? 1 : 0;
      }
    }
  }
  std::printf("rank %d of %d: %lld elements, %lld with other bits than one process; bound %.3g\n", ranks.rank(),
              ranks.size(), static_cast<long long>(compared), static_cast<long long>(different), outcome.bound);
  MPI_Finalize();
  return different == 0 ? 0 : 1;
}
