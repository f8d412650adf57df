// SPDX-License-Identifier: MIT
// A double of what libkizami_cublas.so needs of Kizami and of the CUDA runtime, for machines without a device.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "kizami/cuda.hpp"
#include "kizami/cuda_triangle.hpp"
#include "kizami/multi.hpp"

namespace kizami::dropin_test {

enum class Kind : std::uint8_t { kOne, kStrided, kPointers, kShared, kPrepared };

/// What kizami::cuda::gemm(), gemmt(), symm(), run_prepared(), one of their batched kin or kizami::multi::gemm() was called with.
/// run_prepared() has views: op and ld are those of column-major matrices.
struct KizamiCall {
  Kind kind = Kind::kOne;
  Scalar scalar{};
  cuda::Stream stream = nullptr;
  Layout layout{};
  Op op_a{}, op_b{};
  std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
  std::complex<double> alpha, beta;                            ///< where there is no device pointer
  const void *device_alpha = nullptr, *device_beta = nullptr;  ///< or null
  const void *a = nullptr, *b = nullptr, *c = nullptr;         ///< matrices, or arrays of pointers in device memory
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  std::int64_t num_products = 1;
  std::optional<cuda::Triangle> triangle;           ///< of gemmt()
  std::optional<cuda::Symmetric> symmetric;         ///< of symm()
  std::vector<int> devices;                         ///< kShared
  const void *kept_a = nullptr, *kept_b = nullptr;  ///< kPrepared: memory of the prepared ones
  Policy policy;
  EffortNote note;
};

/// What was enqueued that has to do with operands that are kept, in order.
struct Step {
  enum class Kind : std::uint8_t { kAllocate, kSplit, kUse, kRecord, kWait, kCame, kFree };
  Kind kind;
  const void* stream;  ///< null: the host has seen an event come
  const void* what;    ///< memory, or an event
};
class Steps {
 public:
  void add(const Step& step);
  [[nodiscard]] std::vector<Step> all();
  [[nodiscard]] std::size_t count(Step::Kind kind);
  void forget();

 private:
  std::mutex mutex_;
  std::vector<Step> steps_;
};
Steps& steps();

/// What the memory pool says. It prints the limit that it is told.
struct Pool {
  cuda::WorkspacePool use;
};
Pool& pool();

/// What the double does. By default it prints a line. FAKE_KIZAMI_REFUSES: it returns an error. FAKE_KIZAMI_NESTED: it
/// calls cuBLAS by its name.
using OnKizamiCall = std::function<Status(const KizamiCall&)>;
OnKizamiCall& on_kizami_call();

/// What cuda::last_call_writes_c() says.
bool& writes_c();

/// Whether cuda::gemmt() is there for the engine and the workspace: it is not, unless a test says so.
bool& takes_triangles();

/// dropin::cublas::solve_block(), the kernel that solves with a diagonal block: here all its steps, thread by thread.
struct SolvedBlocks {
  int count = 0;
  std::int64_t largest = 0;  ///< order
  bool computes = true;      ///< false: addresses are no memory
  Status status;             ///< what a block comes to
  int good = 0;              ///< so many solve before it
};
SolvedBlocks& solved_blocks();

/// What every plan says, or why there is none. FAKE_KIZAMI_UNUSABLE: the latter from the start.
struct Planner {
  Scheme scheme = Scheme::kOzaki2;
  std::size_t wished_bytes = 1000;  ///< workspace; a plan with a limit takes as much of them as it may
  std::size_t native_below = 0;     ///< a plan that is left with less prefers the native library
  std::size_t least_bytes = 0;      ///< that a plan can do with: with a lower limit there is none
  bool can_be_native = true;        ///< a plan of scheme native by name is there
  double native_seconds = 0.25;     ///< predicted of a plan of scheme native by name; of others 0.25
  /// if not empty, for these: seconds of 2 m n k operations, of scheme native by name or not
  std::function<double(double operations, bool is_native)> seconds_of;
  double native_operations = 0;      ///< a plan for fewer prefers the native library; with seconds_of
  std::size_t prepared_bytes = 512;  ///< that a prepared operand takes; 0: the scheme keeps nothing
  std::uint64_t numerics = 1;
  Status preparation;  ///< what cuda::prepare() comes to
  Status status;
  std::function<void(const Batch&)> on_plan;  ///< if not empty
};
Planner& planner();

/// What calls tell by the words that they are given: tell() is how one ends. A call with num_exceptions elements one by
/// one takes 1 + num_exceptions times what a plan says, which is what the native library takes.
class Efforts {
 public:
  /// Nothing is told any more.
  void forget();
  void tell(const EffortNote& note, const Effort& effort);
  [[nodiscard]] std::optional<ToldEffort> read(const std::uint64_t* word);
  bool has_memory = true;  ///< for the words

 private:
  std::mutex mutex_;
  std::map<const std::uint64_t*, ToldEffort> told_;
};
Efforts& efforts();

/// The CUDA runtime: device memory is host memory.
struct Runtime {
  int device = 0;             ///< what cudaGetDevice() says; below 0: an error
  bool is_capturing = false;  ///< every stream
  bool is_busy = false;       ///< every stream
  bool can_copy = true;
  int copies = 0;
  int waits = 0;           ///< for a stream
  bool works = true;       ///< false: what asks for a property of the device fails
  int asked = 0;           ///< properties of a device
  int relaxed = 0;         ///< threads whose capture mode is not the usual one
  bool has_error = false;  ///< that cudaGetLastError() has not taken
  int events = 0;          ///< recorded
  bool events_come = true;
  bool has_pinned_memory = true;
  bool has_memory = true;    ///< for operands that are kept
  bool knows_events = true;  ///< false: no stream can wait for one
  bool makes_events = true;
  std::int64_t held = 0;                 ///< allocations that are not freed
  std::int64_t most_panel_rows = 33792;  ///< of LU
  int trims = 0;
};
Runtime& runtime();

}  // namespace kizami::dropin_test
