// SPDX-License-Identifier: MIT
// Products of matrices in the memory of a CUDA device, in the order of a stream. No CUDA header is needed to include
// this; a Stream is a cudaStream_t.
//   Result<Plan> plan = cuda::make_plan(Scalar::kF64, m, n, k);
//   Status s = cuda::run<double>(plan.value(), 1.0, A, B, 0.0, C, workspace, stream);
// After planning a call allocates nothing and waits for nothing (unless Policy::may_sync), so it can be captured into a
// CUDA graph and replayed with other elements: the rung is chosen on the device, by the elements of each replay.
// Equal numerics give equal bits, here and on the host. In a library without CUDA calls are refused with kUnsupported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kizami/batch.hpp"
#include "kizami/effort.hpp"
#include "kizami/export.h"
#include "kizami/outcome.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

struct CUstream_st;

namespace kizami::device {
struct Prepared;  // src/device: whose memory it is, and the numerics that made it
}

namespace kizami::cuda {

using Stream = CUstream_st*;

/// Decides how to multiply on the calling thread's current device, once or a batch of matrices of one shape. Plans are
/// cached by their arguments and the device.
/// Where the policy promises no bits, f32 and c64 may be answered by scheme ec, on FP16 or TF32 tensor cores as the
/// elements need; scheme ec itself has the variants scaled and scaled_tf32 here, beyond which FP64 arithmetic answers.
/// @range  f32, f64, c64, c128; accuracy native or bits=N. Policy::threads is not looked at; reject_nonfinite,
///         allow_fp64_arithmetic = false and slices that the elements count (kUntilZero; gauge kEntry) need may_sync. A
///         workspace limit of 0 means as much as the plan would like, at most a quarter of the device's memory.
///         A plan of scheme native (cuBLAS is predicted to be faster, or was asked for) does not look for NaN or Inf:
///         with reject_nonfinite it is refused. For a batch the choice is between all products here and one batched call
///         of cuBLAS.
/// @status as kizami::make_plan(); kUnsupported also where there is no device, or none that an engine runs on
/// @units  workspace_bytes() of a batch: that of one product, of up to eight where they are small and the limit admits
///         it, in scheme ec of as many as 272 MiB hold, and a few hundred bytes for each; predicted_seconds(): of all
/// @bound  scheme native: bound() is k u (complex types: 2 k u), whatever the order of cuBLAS's sums. With accuracy
///         bits=N it is at most 2^-N; with accuracy native it is above c(k) u for k > 256 (complex types: k > 128).
KIZAMI_API Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                                  const Policy& policy = {}, const Batch& batch = {});

/// Enqueues C <- alpha A B + beta C.
/// @shape  a: m x k, b: k x n, c: m x n, as in the plan: device memory, any strides that do not make elements of C
///         overlap; workspace: plan.workspace_bytes() of device memory that begins on a 256-byte boundary, not in use
///         by another call
/// @bound, @alias as kizami::run(); equal bits to a host plan of equal numerics_hash()
/// @status what is known without the elements is refused before anything is enqueued. kUnsupported: may_sync while the
///         stream is captured; scheme native: there is no libcublas, a matrix is contiguous in neither direction or is
///         conjugated and not transposed, or the first such call on a device, which makes a handle, is captured
/// @queue  asynchronous; the elements, alpha and beta in device memory, and the workspace must stay until it is done
template <class T>
KIZAMI_API Status run(const Plan& plan, Factor<T> alpha, MatrixView<const T> a, MatrixView<const T> b, Factor<T> beta,
                      MatrixView<T> c, std::span<std::byte> workspace, Stream stream);

/// Enqueues the products of a batch: C_i <- alpha A_i B_i + beta C_i. Each has the bits that run() gives it. Where C
/// has few tiles up to eight are computed side by side, on streams of the library between what the stream has before and
/// after them; where the stream is captured they follow one another. In scheme ec products whose views have the same
/// strides go through each kernel together.
/// @shape  a, b, c: one view for each product of the plan, in host memory and read before the call returns, of matrices
///         in device memory. Views may name the same A or B; what is made of it (planes) is made for each product
///         again, but in scheme ec where all views of A, or of B, name one. Scheme native: one call of cuBLAS, which
///         wants the same strides of all views.
/// @alias  no C overlaps another C (not checked) or any operand (checked for operands of the same product)
/// @status as run(), before anything is enqueued, with the number of the product. With may_sync products before the one
///         that is refused for its elements are done, and its C is untouched.
/// @queue  as run(); @bound as run()
template <class T>
KIZAMI_API Status run_batched(const Plan& plan, Factor<T> alpha, std::span<const MatrixView<const T>> a,
                              std::span<const MatrixView<const T>> b, Factor<T> beta, std::span<const MatrixView<T>> c,
                              std::span<std::byte> workspace, Stream stream);

/// The same with arrays of pointers in device memory, which are read when products run: a graph follows what they hold
/// at each replay. A product first copies its matrices into the workspace, and C back; cuBLAS and scheme ec take the
/// arrays as they are.
/// @range  a plan made with Batch::has_device_arrays; what the arrays hold is not checked: complex matrices begin on
///         the size of an element, no C overlaps another matrix
template <class T>
KIZAMI_API Status run_batched(const Plan& plan, Factor<T> alpha, MatrixArray<const T> a, MatrixArray<const T> b,
                              Factor<T> beta, MatrixArray<T> c, std::span<std::byte> workspace, Stream stream);

/// One operand split once for many products: planes, scales, statistics and samples in device memory, bound to the
/// lowest rung of the plan that made it. Cheap to copy; immutable, so that any number of threads and streams may use it
/// at a time.
/// @queue  a call is ordered behind the preparation by its stream, or by the caller where that is another one. The last
///         copy of one that owns its memory waits for the device, and must outlive all calls with it and all graphs
///         that captured them.
class KIZAMI_API PreparedOperand {
 public:
  [[nodiscard]] Side side() const;
  [[nodiscard]] std::size_t size_bytes() const;  ///< of device memory
  [[nodiscard]] std::string explain() const;     ///< what it is of, and what is kept; one fact a line
  [[nodiscard]] const device::Prepared& impl() const { return *impl_; }
  explicit PreparedOperand(std::shared_ptr<const device::Prepared> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const device::Prepared> impl_;
};

/// Device memory that a prepared operand of the plan's shape takes.
/// @status kInvalidArgument: a plan for the host, or for a batch; kUnsupported: its scheme keeps nothing (native,
///         ozaki1)
KIZAMI_API Result<std::size_t> prepared_bytes(const Plan& plan, Side side);

/// Enqueues the split of one operand, for products by plans of equal numerics with as many lines on that side: of A
/// rows, of B columns, whatever the other side has.
/// @shape  side A: op(A), m x k; side B: op(B), k x n; any strides. It must stay as it is, where it is or where calls say
///         (Operand), as long as they use what is prepared: they read it where elements want a higher rung, or are NaN
///         or Inf.
/// @param  memory  prepared_bytes() of device memory that begins on a 256-byte boundary, and stays as long
/// @status as prepared_bytes(); kInvalidArgument: shape, scalar type, memory, or another device than the plan's;
///         kInternal with CUDA's words
/// @queue  asynchronous, allocates nothing, waits for nothing, capturable: a graph prepares again at each replay
template <class T>
KIZAMI_API Result<PreparedOperand> prepare(const Plan& plan, Side side, MatrixView<const T> op,
                                           std::span<std::byte> memory, Stream stream);

/// The same in memory of its own.
/// @status also kOutOfMemory @queue allocates, and may wait for the device
template <class T>
KIZAMI_API Result<PreparedOperand> prepare(const Plan& plan, Side side, MatrixView<const T> op, Stream stream);

/// An operand of run_prepared(): a matrix, or a prepared operand, which knows its matrix.
template <class T>
struct Operand {
  MatrixView<const T> matrix;
  const PreparedOperand* prepared = nullptr;

  // NOLINTBEGIN(google-explicit-constructor): a matrix is an operand, and so is a prepared one
  Operand(MatrixView<const T> a) : matrix(a) {}
  Operand(MatrixView<T> a) requires(!std::is_const_v<T>) : matrix(a) {}
  Operand(const PreparedOperand& p) : prepared(&p) {}
  // NOLINTEND(google-explicit-constructor)
  /// Prepared, and where its matrix is now: the same elements elsewhere, or with other strides.
  Operand(const PreparedOperand& p, MatrixView<const T> a) : matrix(a), prepared(&p) {}
};

/// run() with one or both operands prepared: the same bits and the same outcome, without the split of those.
/// @status as run(); kInvalidArgument: prepared for another side, shape, type, device or numerics_hash; kUnsupported: a
///         plan whose scheme keeps nothing
/// @bound, @alias, @queue as run()
template <class T>
KIZAMI_API Status run_prepared(const Plan& plan, Factor<T> alpha, std::type_identity_t<Operand<T>> a,
                               std::type_identity_t<Operand<T>> b, Factor<T> beta, MatrixView<T> c,
                               std::span<std::byte> workspace, Stream stream);

/// The same with a workspace as gemm() takes it, from the library's pool.
/// @status also kOutOfMemory, as gemm()
/// @param  note where it tells its effort
template <class T>
KIZAMI_API Status run_prepared(const Plan& plan, Factor<T> alpha, std::type_identity_t<Operand<T>> a,
                               std::type_identity_t<Operand<T>> b, Factor<T> beta, MatrixView<T> c, Stream stream,
                               const EffortNote& note = {});

/// Whether the last call of run(), gemm() or their kin by this thread has enqueued anything that writes C. Without it C
/// is as it was, also where the call failed.
[[nodiscard]] KIZAMI_API bool last_call_writes_c() noexcept;

/// What the last call with this workspace did. Waits for the stream. Of a batch: the largest bound, moduli and rung of
/// its products, and the sums of their counts. Scheme native: what the plan says, for cuBLAS tells nothing.
KIZAMI_API Result<Outcome> read_outcome(const Plan& plan, std::span<const std::byte> workspace, Stream stream);

/// What each product of the last call with this workspace did. Waits for the stream.
/// @shape  outcomes: as many as the plan has products
KIZAMI_API Status read_outcomes(const Plan& plan, std::span<const std::byte> workspace, Stream stream,
                                std::span<Outcome> outcomes);

/// What the memory pool of the current device holds for the workspaces of gemm() and its kin. Graphs own theirs, which
/// are not here.
struct WorkspacePool {
  std::size_t held_bytes = 0;       ///< of the device
  std::size_t most_held_bytes = 0;  ///< at any time
  std::size_t used_bytes = 0;       ///< of held_bytes: by calls that are not done
};
/// @status kInternal with CUDA's words
KIZAMI_API Result<WorkspacePool> workspace_pool();

/// Limits what each device's pool holds at any time, for all threads and streams of this process together; 0: no limit.
/// A call whose workspace is not left of it waits, in the order of its stream, for others to give theirs back, or is
/// refused with kOutOfMemory.
/// @range before the first call on a device, for which it then counts; CUDA and its driver of 12.2 or newer, without
///        which calls are refused with kUnsupported
KIZAMI_API void limit_workspaces(std::size_t bytes);

/// Words for EffortNote: host memory that every device writes, zero, for as long as the process lives.
/// @range count >= 1 @status kOutOfMemory; kInternal with CUDA's words
[[nodiscard]] KIZAMI_API Result<std::span<std::uint64_t>> make_effort_words(std::size_t count);

/// What a call has told last, once a kernel of it knows; nothing before the first. Waits for nothing: whose effort
/// it is, is known by its number. Schemes native and ozaki1 tell nothing, nor does a call with alpha = 0; a graph tells
/// at each replay.
/// @param word of make_effort_words()
[[nodiscard]] KIZAMI_API std::optional<ToldEffort> read_effort(std::uint64_t* word) noexcept;

/// What a call with that effort takes, of all products: plan.predicted_seconds() where the elements asked for nothing
/// more.
/// @range a plan of make_plan() above, and an effort that a call with it has told
[[nodiscard]] KIZAMI_API double predicted_seconds(const Plan& plan, const Effort& effort);

/// Multiplies in BLAS terms, with a cached plan and workspace from a memory pool of the library (stream-ordered; a
/// graph that captures the call owns its workspace). The pool keeps twice the largest workspaces that the streams took
/// in the last 256 to 512 calls, and 64 MiB; what is beyond goes back to the device when the program waits for a
/// stream, or after 256 calls.
/// @status as kizami::gemm(), make_plan() and run(). kOutOfMemory: the workspace, or memory for a kernel, could not be
///         had, and nothing that writes C was enqueued; a smaller Policy::workspace_limit_bytes may do. kInternal: CUDA
///         refused a part of the call; C may be written in part if last_call_writes_c()
/// @queue  asynchronous, but for `outcome`: asking for it waits for the stream; for `note` nothing waits
template <class T>
KIZAMI_API Status gemm(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                       Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta,
                       T* c, std::int64_t ldc, const Policy& policy = {}, Outcome* outcome = nullptr,
                       const EffortNote& note = {});

/// gemm() for num_products pairs, the i-th at a + i * stride_a, b + i * stride_b and c + i * stride_c, by one plan.
/// @units  strides in elements; 0 gives every product the same A or B
/// @shape  outcomes, unless null: [num_products]
/// @range  num_products >= 0, strides >= 0; no two matrices C have an element in common
/// @alias, @status, @queue as run_batched() and gemm()
template <class T>
KIZAMI_API Status gemm_strided_batched(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n,
                                       std::int64_t k, Factor<T> alpha, const T* a, std::int64_t lda,
                                       std::int64_t stride_a, const T* b, std::int64_t ldb, std::int64_t stride_b,
                                       Factor<T> beta, T* c, std::int64_t ldc, std::int64_t stride_c,
                                       std::int64_t num_products, const Policy& policy = {},
                                       Outcome* outcomes = nullptr, const EffortNote& note = {});

/// The same with arrays of pointers: all three in host memory, or all three in device memory (PointerArray::at(), what
/// cublas<t>gemmBatched takes). Those in device memory cost a copy of each matrix, and are read when the product runs.
/// @shape  a, b, c: [num_products]; outcomes, unless null: likewise
template <class T>
KIZAMI_API Status gemm_batched(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n,
                               std::int64_t k, Factor<T> alpha, PointerArray<const T> a, std::int64_t lda,
                               PointerArray<const T> b, std::int64_t ldb, Factor<T> beta, PointerArray<T> c,
                               std::int64_t ldc, std::int64_t num_products, const Policy& policy = {},
                               Outcome* outcomes = nullptr, const EffortNote& note = {});

}  // namespace kizami::cuda
