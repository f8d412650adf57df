// SPDX-License-Identifier: MIT
// Products of matrices in the memory of a CUDA device, in the order of a stream. No CUDA header is needed to include this;
// a Stream is a cudaStream_t.
//   Result<Plan> plan = cuda::make_plan(Scalar::kF64, m, n, k);
//   Status s = cuda::run<double>(plan.value(), 1.0, A, B, 0.0, C, workspace, stream);
// After planning a call allocates nothing and waits for nothing (unless Policy::may_sync), so it can be captured into a
// CUDA graph and replayed with other elements: the rung is chosen on the device, by the elements of each replay.
// Equal numerics give equal bits, here and on the host. Built with CUDA only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kizami/export.h"
#include "kizami/outcome.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

struct CUstream_st;

namespace kizami::cuda {

using Stream = CUstream_st*;

/// Decides how to multiply on the calling thread's current device. Plans are cached by their arguments and the device.
/// Where the policy promises no bits, f32 and c64 may be answered by scheme ec, on FP16 or TF32 tensor cores as the elements
/// need; scheme ec itself has the variants scaled and scaled_tf32 here, beyond which FP64 arithmetic answers.
/// @range  f32, f64, c64, c128; accuracy native or bits=N. Policy::threads is not looked at; reject_nonfinite and
///         allow_fp64_arithmetic = false need may_sync. A workspace limit of 0 means as much as the plan would like, at most
///         a quarter of the device's memory.
/// @status as kizami::make_plan(); kUnsupported also where there is no device, or none that an engine runs on. A plan of
///         scheme native says that cuBLAS is predicted to be faster, or was asked for: run() refuses it.
/// @bound  scheme native: bound() is k u (complex types: 2 k u), whatever the order of cuBLAS's sums. With accuracy
///         bits=N it is at most 2^-N; with accuracy native it is above c(k) u for k > 256 (complex types: k > 128).
KIZAMI_API Result<Plan> make_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                                  const Policy& policy = {});

/// Enqueues C <- alpha A B + beta C.
/// @shape  a: m x k, b: k x n, c: m x n, as in the plan: device memory, any strides that do not make elements of C overlap;
///         workspace: plan.workspace_bytes() of device memory that begins on a 256-byte boundary, not in use by another call
/// @bound, @alias as kizami::run(); equal bits to a host plan of equal numerics_hash()
/// @status what is known without the elements is refused before anything is enqueued. kUnsupported: may_sync while the
///         stream is captured
/// @queue  asynchronous; the elements, alpha and beta in device memory, and the workspace must stay until it is done
template <class T>
KIZAMI_API Status run(const Plan& plan, Factor<T> alpha, MatrixView<const T> a, MatrixView<const T> b, Factor<T> beta,
                      MatrixView<T> c, std::span<std::byte> workspace, Stream stream);

/// What the last call with this workspace did. Waits for the stream.
KIZAMI_API Result<Outcome> read_outcome(const Plan& plan, std::span<const std::byte> workspace, Stream stream);

/// Multiplies in BLAS terms, with a cached plan and workspace from a memory pool of the library (stream-ordered; a graph
/// that captures the call owns its workspace).
/// @status as kizami::gemm(), make_plan() and run(); kOutOfMemory
/// @queue  asynchronous, but for `outcome`: asking for it waits for the stream
template <class T>
KIZAMI_API Status gemm(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                       Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta,
                       T* c, std::int64_t ldc, const Policy& policy = {}, Outcome* outcome = nullptr);

}  // namespace kizami::cuda
