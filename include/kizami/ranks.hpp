// SPDX-License-Identifier: MIT
// One product shared by processes, which a communicator of the caller connects: the bits of the call in one process,
// and the same bound, for every number of ranks and every cut of the matrices. Each rank gives the pieces that it holds
// and computes its pieces of C.
//   class Ranks : public multi::Communicator { ... };   // four functions: examples/ranks_over_mpi.hpp, ..._nccl.hpp
//   Status s = multi::run<double>(ranks, m, n, k, 1.0, a_pieces, b_pieces, 0.0, c_pieces);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "kizami/export.h"
#include "kizami/multi.hpp"
#include "kizami/outcome.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace kizami::multi {

enum class Reduction { kSum, kMax };

/// What connects the ranks. Every function blocks until its memory may be used again. One that fails on a rank must fail
/// on the others too, or run out of time there: run() then returns its status, and nobody hangs.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// On all ranks, of equally many values.
  virtual Status all_reduce(Reduction reduction, std::span<std::int64_t> values) = 0;
  /// On all ranks.
  virtual Status broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Meets receive() of as many bytes there.
  virtual Status send(std::span<const std::byte> bytes, int to) = 0;
  virtual Status receive(std::span<std::byte> bytes, int from) = 0;
};

/// C <- alpha A B + beta C, called by all ranks with equal shape, factors and policy (but for Policy::threads and
/// workspace_limit_bytes).
/// @shape  a: this rank's pieces of A, m x k; the pieces of all ranks hold every element once. Likewise b of B, k x n,
///         and c of C, m x n, where a rank's pieces are a set of row ranges by a set of column ranges: one rectangle,
///         or what a block-cyclic distribution gives it; or nothing. In host memory
/// @bound, bits: those of kizami::gemm() with a policy that names the scheme and engine of this plan
/// @status as kizami::gemm(), the same on all ranks, and naming the first rank that it came from. kInvalidArgument also:
///         ranks that differ in shape, type, factors or numerics; pieces that do not make up a matrix. kUnsupported:
///         slices that depend on all elements, as make_plan(). Before anything is written but for failures of engines
///         and of the communicator.
/// @param outcome  of the whole product; of schemes native and ec that of this rank's part
template <class T>
KIZAMI_API Status run(Communicator& ranks, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
                      std::span<const Piece<const std::type_identity_t<T>>> a,
                      std::span<const Piece<const std::type_identity_t<T>>> b, std::type_identity_t<T> beta,
                      std::span<const Piece<std::type_identity_t<T>>> c, const Policy& policy = {},
                      Outcome* outcome = nullptr);

}  // namespace kizami::multi
