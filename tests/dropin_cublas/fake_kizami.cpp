// SPDX-License-Identifier: MIT
#include "dropin_cublas/fake_kizami.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <stdio.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fork_safe.hpp"
#include "device/prepared.hpp"
#include "dropin/cublas/solve_block.hpp"
#include "dropin/cublas/solve_block_steps.hpp"
#include "dropin_cublas/fake_cublas.hpp"
#include "kizami/calibrate.hpp"

namespace kizami {
namespace dropin_test {
namespace {

const char* of(Kind kind) {
  return kind == Kind::kOne        ? ""
         : kind == Kind::kStrided  ? " strided"
         : kind == Kind::kPrepared ? " prepared"
                                   : " pointers";
}

Status print(const KizamiCall& call) {
  flockfile(stdout);  // one line a call, whatever other threads print
  std::printf("kizami %s%s ops %s%s size %lldx%lldx%lld ld %lld %lld %lld stream %p", to_string(call.scalar).data(),
              of(call.kind), to_string(call.op_a).data(), to_string(call.op_b).data(), static_cast<long long>(call.m),
              static_cast<long long>(call.n), static_cast<long long>(call.k), static_cast<long long>(call.lda),
              static_cast<long long>(call.ldb), static_cast<long long>(call.ldc), static_cast<void*>(call.stream));
  if (call.device_alpha == nullptr) {
    std::printf(" factors %g%+gi %g%+gi", call.alpha.real(), call.alpha.imag(), call.beta.real(), call.beta.imag());
  } else {
    std::printf(" factors at %p %p", call.device_alpha, call.device_beta);
  }
  std::printf(" bits %d scheme %s engine %s\n", call.policy.accuracy.bits, to_string(call.policy.scheme).data(),
              to_string(call.policy.engine).data());
  funlockfile(stdout);
  if (std::getenv("FAKE_KIZAMI_NESTED") != nullptr) {
    FakeHandle handle;
    const float one = 1;
    static_cast<void>(cublasSgemm_v2(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nullptr, 1, nullptr, 1,
                                     &one, nullptr, 1));
  }
  if (std::getenv("FAKE_KIZAMI_REFUSES") != nullptr) return {StatusCode::kUnsupported, "the test says so"};
  return {};
}

template <class T>
KizamiCall call_of(Kind kind, cuda::Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n,
                   std::int64_t k, Factor<T> alpha, const void* a, std::int64_t lda, const void* b, std::int64_t ldb,
                   Factor<T> beta, const void* c, std::int64_t ldc, const Policy& policy, const EffortNote& note) {
  KizamiCall call;
  call.kind = kind;
  call.scalar = kScalarOf<T>;
  call.stream = stream;
  call.layout = layout;
  call.op_a = op_a;
  call.op_b = op_b;
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = alpha.value;
  call.beta = beta.value;
  call.device_alpha = alpha.device;
  call.device_beta = beta.device;
  call.a = a;
  call.lda = lda;
  call.b = b;
  call.ldb = ldb;
  call.c = c;
  call.ldc = ldc;
  call.policy = policy;
  call.note = note;
  return call;
}

/// Asking for the outcome would wait for the stream.
Status tell(const KizamiCall& call, const Outcome* outcome) {
  return outcome == nullptr ? on_kizami_call()(call) : Status(StatusCode::kInternal, "the outcome is asked for");
}

}  // namespace

OnKizamiCall& on_kizami_call() {
  static auto* const function = new OnKizamiCall(print);
  return *function;
}

Planner& planner() {
  static auto* const instance = [] {
    auto* made = new Planner;
    if (std::getenv("FAKE_KIZAMI_UNUSABLE") != nullptr) made->status = {StatusCode::kUnsupported, "there is no engine"};
    return made;
  }();
  return *instance;
}

bool& writes_c() {
  static bool instance = true;
  return instance;
}

bool& takes_triangles() {
  static bool instance = false;
  return instance;
}

SolvedBlocks& solved_blocks() {
  static SolvedBlocks instance;
  return instance;
}

Pool& pool() {
  static Pool instance;
  return instance;
}

Efforts& efforts() {
  static constinit base::PerProcess<Efforts> instance;  // as the library's own
  return instance.get();
}
void Efforts::forget() {
  const std::lock_guard lock(mutex_);
  told_.clear();
  has_memory = true;
}
void Efforts::tell(const EffortNote& note, const Effort& effort) {
  const std::lock_guard lock(mutex_);
  if (note.word != nullptr) told_[note.word] = {note.number, effort};
}
std::optional<ToldEffort> Efforts::read(const std::uint64_t* word) {
  const std::lock_guard lock(mutex_);
  const auto found = told_.find(word);
  return found == told_.end() ? std::nullopt : std::optional(found->second);
}

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

Steps& steps() {
  static constinit base::PerProcess<Steps> instance;
  return instance.get();
}
void Steps::add(const Step& step) {
  const std::lock_guard lock(mutex_);
  steps_.push_back(step);
}
std::vector<Step> Steps::all() {
  const std::lock_guard lock(mutex_);
  return steps_;
}
std::size_t Steps::count(Step::Kind kind) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(steps_, kind, &Step::kind));
}
void Steps::forget() {
  const std::lock_guard lock(mutex_);
  steps_.clear();
}

}  // namespace dropin_test

using namespace dropin_test;  // NOLINT(google-build-using-namespace)

/// What is in the address of a plan: how much workspace it has at most, and 1, which of those made by Planner::seconds_of it
/// is, and whether it is native by name.
constexpr std::uintptr_t kIsNativeByName = std::uintptr_t{1} << 62;
constexpr int kSecondsShift = 44;
constexpr std::uintptr_t kWorkspaceBits = (std::uintptr_t{1} << kSecondsShift) - 1;
struct MadePlan {
  double seconds = 0;
  bool is_native = false;
};
std::vector<MadePlan>& made_plans() {
  static std::vector<MadePlan> instance(1);
  return instance;
}
std::size_t index_of_made(const void* address) {
  return (reinterpret_cast<std::uintptr_t>(address) & ~kIsNativeByName) >> kSecondsShift;
}

Scheme Plan::scheme() const {
  const bool is_native =
      workspace_bytes() < planner().native_below || made_plans().at(index_of_made(impl_.get())).is_native;
  return is_native ? Scheme::kNative : planner().scheme;
}
std::string_view Plan::engine() const { return "hopper"; }
std::uint64_t Plan::numerics_hash() const { return planner().numerics; }
int Plan::base_moduli() const { return 14; }
int Plan::max_moduli() const { return 24; }
double Plan::bound() const { return 0x1p-50; }
Gauge Plan::gauge() const { return Gauge::kEntry; }
double Plan::predicted_seconds() const {
  const std::size_t index = index_of_made(impl_.get());
  if (index != 0) return made_plans().at(index).seconds;
  return (reinterpret_cast<std::uintptr_t>(impl_.get()) & kIsNativeByName) != 0 ? planner().native_seconds : 0.25;
}
std::size_t Plan::workspace_bytes() const {
  const std::uintptr_t limit = reinterpret_cast<std::uintptr_t>(impl_.get()) & kWorkspaceBits;
  return std::min(planner().wished_bytes, std::size_t{limit} - 1);
}

namespace cuda {

void limit_workspaces(std::size_t bytes) {
  if (bytes != 0) std::printf("kizami holds at most %zu bytes\n", bytes);
}
Result<WorkspacePool> workspace_pool() { return pool().use; }
Result<std::span<std::uint64_t>> make_effort_words(std::size_t count) {
  if (!efforts().has_memory) return Status(StatusCode::kOutOfMemory, "the test says so");
  return std::span(new std::uint64_t[count](), count);  // for as long as the process lives
}
std::optional<ToldEffort> read_effort(std::uint64_t* word) noexcept { return efforts().read(word); }
double predicted_seconds(const Plan& plan, const Effort& effort) {
  return plan.predicted_seconds() * static_cast<double>(1 + effort.num_exceptions);
}
bool last_call_writes_c() noexcept { return writes_c(); }

Result<Plan> make_plan(Scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy,
                       const Batch& batch) {
  if (planner().on_plan) planner().on_plan(batch);
  if (!planner().status.ok()) return planner().status;
  if (policy.scheme == Scheme::kNative && !planner().can_be_native)
    return Status(StatusCode::kAccuracyUnreachable, "the test wants more");
  const std::size_t limit = policy.workspace_limit_bytes;
  if (limit != 0 && limit < planner().least_bytes) return Status(StatusCode::kWorkspaceTooSmall, "the test wants more");
  const std::size_t most = limit == 0 ? planner().wished_bytes : limit;
  const bool is_native = policy.scheme == Scheme::kNative;
  std::uintptr_t address = (most + 1) | (is_native ? kIsNativeByName : 0);
  if (planner().seconds_of) {
    const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    made_plans().push_back({planner().seconds_of(operations, is_native), operations < planner().native_operations});
    address |= (made_plans().size() - 1) << kSecondsShift;
  }
  return Plan(std::shared_ptr<const plan::Plan>(std::shared_ptr<void>(),  // nobody looks behind it
                                                reinterpret_cast<const plan::Plan*>(address)));
}

Result<Plan> make_triangle_plan(Scalar scalar, std::int64_t n, std::int64_t k, const Policy& policy) {
  return make_plan(scalar, n, n, k, policy, {});
}

template <class T>
Status gemm(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
            Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c,
            std::int64_t ldc, const Policy& policy, Outcome* outcome, const EffortNote& note) {
  return tell(
      call_of<T>(Kind::kOne, stream, layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, policy, note),
      outcome);
}

const void* memory_of(const PreparedOperand* prepared) {
  return prepared == nullptr ? nullptr : prepared->impl().memory;
}

Result<std::size_t> prepared_bytes(const Plan&, Side) {
  if (planner().prepared_bytes == 0) return Status(StatusCode::kUnsupported, "the scheme keeps nothing");
  return planner().prepared_bytes;
}

template <class T>
Result<PreparedOperand> prepare(const Plan&, Side side, MatrixView<const T> op, std::span<std::byte> memory,
                                Stream stream) {
  if (memory.size() < planner().prepared_bytes) return Status(StatusCode::kInvalidArgument, "too little memory");
  steps().add({Step::Kind::kSplit, stream, memory.data()});
  if (!planner().preparation.ok()) return planner().preparation;
  auto made = std::make_shared<device::Prepared>();
  made->side = side;
  made->data = op.data;
  made->memory = memory.data();
  made->bytes = memory.size();
  return PreparedOperand(std::shared_ptr<const device::Prepared>(std::move(made)));
}

template <class T>
Status run_prepared(const Plan&, Factor<T> alpha, std::type_identity_t<Operand<T>> a,
                    std::type_identity_t<Operand<T>> b, Factor<T> beta, MatrixView<T> c, Stream stream,
                    const EffortNote& note) {
  const auto op = [](const MatrixView<const T>& x) {
    if (x.row_stride == 1) return x.is_conjugated ? Op::kConjugate : Op::kNone;
    return x.is_conjugated ? Op::kConjTranspose : Op::kTranspose;
  };
  const auto ld = [](const MatrixView<const T>& x) { return x.row_stride == 1 ? x.col_stride : x.row_stride; };
  const MatrixView<const T>& left = a.matrix;
  const MatrixView<const T>& right = b.matrix;
  KizamiCall call =
      call_of<T>(Kind::kPrepared, stream, Layout::kColMajor, op(left), op(right), left.rows, right.cols, left.cols,
                 alpha, left.data, ld(left), right.data, ld(right), beta, c.data, c.col_stride, {}, note);
  call.kept_a = memory_of(a.prepared);
  call.kept_b = memory_of(b.prepared);
  for (const void* kept : {call.kept_a, call.kept_b}) {
    if (kept != nullptr) steps().add({Step::Kind::kUse, stream, kept});
  }
  return tell(call, nullptr);
}

template <class T>
Status gemmt(Stream stream, Layout layout, const Triangle& triangle, Op op_a, Op op_b, std::int64_t n, std::int64_t k,
             Factor<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c,
             std::int64_t ldc, const Policy& policy, Outcome* outcome, const EffortNote& note) {
  if (!takes_triangles()) return {StatusCode::kUnsupported, "engine fake makes all of C"};
  KizamiCall call =
      call_of<T>(Kind::kOne, stream, layout, op_a, op_b, n, n, k, alpha, a, lda, b, ldb, beta, c, ldc, policy, note);
  call.triangle = triangle;
  return tell(call, outcome);
}

Result<double> symm_seconds(Scalar, std::int64_t order) {
  return 1e-12 * static_cast<double>(order) * static_cast<double>(order);
}

template <class T>
Status symm(Stream stream, Layout layout, const Symmetric& symmetric, std::int64_t m, std::int64_t n, Factor<T> alpha,
            const T* a, std::int64_t lda, const T* b, std::int64_t ldb, Factor<T> beta, T* c, std::int64_t ldc,
            const Policy& policy, Outcome* outcome, const EffortNote& note) {
  KizamiCall call = call_of<T>(Kind::kOne, stream, layout, Op::kNone, Op::kNone, m, n,
                               symmetric.side == Side::kA ? m : n, alpha, a, lda, b, ldb, beta, c, ldc, policy, note);
  call.symmetric = symmetric;
  return tell(call, outcome);
}

template <class T>
Status gemm_strided_batched(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n,
                            std::int64_t k, Factor<T> alpha, const T* a, std::int64_t lda, std::int64_t stride_a,
                            const T* b, std::int64_t ldb, std::int64_t stride_b, Factor<T> beta, T* c, std::int64_t ldc,
                            std::int64_t stride_c, std::int64_t num_products, const Policy& policy, Outcome* outcomes,
                            const EffortNote& note) {
  KizamiCall call = call_of<T>(Kind::kStrided, stream, layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                               policy, note);
  call.stride_a = stride_a;
  call.stride_b = stride_b;
  call.stride_c = stride_c;
  call.num_products = num_products;
  return tell(call, outcomes);
}

template <class T>
Status gemm_batched(Stream stream, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                    Factor<T> alpha, PointerArray<const T> a, std::int64_t lda, PointerArray<const T> b,
                    std::int64_t ldb, Factor<T> beta, PointerArray<T> c, std::int64_t ldc, std::int64_t num_products,
                    const Policy& policy, Outcome* outcomes, const EffortNote& note) {
  if (a.host != nullptr || b.host != nullptr || c.host != nullptr)
    return {StatusCode::kInternal, "the arrays of cuBLAS are in device memory"};
  KizamiCall call = call_of<T>(Kind::kPointers, stream, layout, op_a, op_b, m, n, k, alpha, a.device, lda, b.device,
                               ldb, beta, c.device, ldc, policy, note);
  call.num_products = num_products;
  return tell(call, outcomes);
}

#define KIZAMI_FAKE(T)                                                                                                 \
  template Status gemm<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, const T*,       \
                          std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*,  \
                          const EffortNote&);                                                                          \
  template Status gemmt<T>(Stream, Layout, const Triangle&, Op, Op, std::int64_t, std::int64_t, Factor<T>, const T*,   \
                           std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*, \
                           const EffortNote&);                                                                         \
  template Status symm<T>(Stream, Layout, const Symmetric&, std::int64_t, std::int64_t, Factor<T>, const T*,           \
                          std::int64_t, const T*, std::int64_t, Factor<T>, T*, std::int64_t, const Policy&, Outcome*,  \
                          const EffortNote&);                                                                          \
  template Result<PreparedOperand> prepare<T>(const Plan&, Side, MatrixView<const T>, std::span<std::byte>, Stream);   \
  template Status run_prepared<T>(const Plan&, Factor<T>, std::type_identity_t<Operand<T>>,                            \
                                  std::type_identity_t<Operand<T>>, Factor<T>, MatrixView<T>, Stream,                  \
                                  const EffortNote&);                                                                  \
  template Status gemm_strided_batched<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>, \
                                          const T*, std::int64_t, std::int64_t, const T*, std::int64_t, std::int64_t,  \
                                          Factor<T>, T*, std::int64_t, std::int64_t, std::int64_t, const Policy&,      \
                                          Outcome*, const EffortNote&);                                                \
  template Status gemm_batched<T>(Stream, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, Factor<T>,         \
                                  PointerArray<const T>, std::int64_t, PointerArray<const T>, std::int64_t, Factor<T>, \
                                  PointerArray<T>, std::int64_t, std::int64_t, const Policy&, Outcome*,                \
                                  const EffortNote&)
KIZAMI_FAKE(float);
KIZAMI_FAKE(double);
KIZAMI_FAKE(std::complex<float>);
KIZAMI_FAKE(std::complex<double>);
#undef KIZAMI_FAKE

}  // namespace cuda

namespace multi {

template <class T>
Status gemm(const Placement& placement, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k,
            std::type_identity_t<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
            std::type_identity_t<T> beta, T* c, std::int64_t ldc, const Policy& policy, Outcome* outcome) {
  KizamiCall call = call_of<T>(Kind::kShared, nullptr, layout, op_a, op_b, m, n, k, Factor<T>(alpha), a, lda, b, ldb,
                               Factor<T>(beta), c, ldc, policy, {});
  call.devices = placement.devices;
  if (outcome != nullptr) *outcome = Outcome{};  // such a call waits anyway
  return tell(call, nullptr);
}

#define KIZAMI_FAKE(T)                                                                                             \
  template Status gemm<T>(const Placement&, Layout, Op, Op, std::int64_t, std::int64_t, std::int64_t, T, const T*, \
                          std::int64_t, const T*, std::int64_t, T, T*, std::int64_t, const Policy&, Outcome*)
KIZAMI_FAKE(float);
KIZAMI_FAKE(double);
KIZAMI_FAKE(std::complex<float>);
KIZAMI_FAKE(std::complex<double>);
#undef KIZAMI_FAKE

}  // namespace multi
}  // namespace kizami

namespace kizami::dropin::cublas {

template <class T>
Status solve_block(const Forward<T>& system, cudaStream_t) {
  SolvedBlocks& blocks = solved_blocks();
  if (!blocks.status.ok() && blocks.count >= blocks.good) return blocks.status;
  ++blocks.count;
  blocks.largest = std::max(blocks.largest, system.order);
  if (!blocks.computes) return {};
  constexpr T kUnset = std::numeric_limits<T>::quiet_NaN();
  for (std::int64_t block = 0; block * kSolveColumns < system.width; ++block) {
    SolveShared<T> shared;
    std::ranges::fill(shared.divisors, typename SolveShared<T>::Divisor{kUnset, kUnset});
    std::vector<T> memory(static_cast<std::size_t>(solve_shared_bytes<T>(system.order)) / sizeof(T), kUnset);
    std::vector<SolveSteps<T>> threads;
    for (int i = 0; i < kSolveThreads; ++i) threads.emplace_back(system, shared, memory.data(), i, block);
    const auto all = [&](const auto& step) {
      for (SolveSteps<T>& thread : threads) step(thread);
    };
    solve_in_steps<T>(threads.front().num_panels(), all, all);
  }
  return {};
}
template Status solve_block<float>(const Forward<float>&, cudaStream_t);
template Status solve_block<double>(const Forward<double>&, cudaStream_t);

}  // namespace kizami::dropin::cublas

using kizami::dropin_test::runtime;
using kizami::dropin_test::Step;
using kizami::dropin_test::steps;

namespace {

cudaError_t failed() {
  runtime().has_error = true;
  return cudaErrorIllegalAddress;
}

}  // namespace

extern "C" {
cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  *device = runtime().device;
  return *device >= 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t CUDARTAPI cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                        std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t) {
  if (!runtime().can_copy) return failed();
  ++runtime().copies;
  for (std::size_t i = 0; i < height; ++i)
    std::memcpy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
cudaError_t CUDARTAPI cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  ++std::atomic_ref(runtime().asked);
  *free = *total = 0;
  return runtime().works ? cudaSuccess : failed();
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t) {
  ++runtime().waits;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = runtime().is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  const auto count = [](cudaStreamCaptureMode one) { return one == cudaStreamCaptureModeGlobal ? 0 : 1; };
  std::atomic_ref(runtime().relaxed) += count(current) - count(*mode);  // scopes may lie in each other
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetLastError() {
  return std::exchange(runtime().has_error, false) ? cudaErrorIllegalAddress : cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  static std::byte events[1];  // nobody looks behind the address
  *event = reinterpret_cast<cudaEvent_t>(events);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (!runtime().makes_events) return failed();
  *event = reinterpret_cast<cudaEvent_t>(new std::byte);  // for as long as the process lives
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!runtime().works) return failed();
  ++std::atomic_ref(runtime().events);
  steps().add({Step::Kind::kRecord, stream, event});
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (!runtime().knows_events) return failed();
  steps().add({Step::Kind::kWait, stream, event});
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(new std::byte);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = reinterpret_cast<cudaMemPool_t>(new std::byte);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  ++runtime().trims;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t) { return runtime().is_busy ? cudaErrorNotReady : cudaSuccess; }
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  if (!runtime().has_memory) {
    runtime().has_error = true;
    return cudaErrorMemoryAllocation;
  }
  *memory = std::malloc(bytes);
  steps().add({Step::Kind::kAllocate, stream, *memory});
  ++std::atomic_ref(runtime().held);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(memory, bytes, nullptr, stream);
}
cudaError_t CUDARTAPI cudaFreeAsync(void* memory, cudaStream_t stream) {
  steps().add({Step::Kind::kFree, stream, memory});
  std::free(memory);
  --std::atomic_ref(runtime().held);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event) {
  if (!runtime().events_come) return cudaErrorNotReady;
  steps().add({Step::Kind::kCame, nullptr, event});
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0.5F;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (!runtime().has_pinned_memory) return failed();
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "device of a test");
  return cudaSuccess;
}
const char* CUDARTAPI cudaGetErrorString(cudaError_t) { return "a test says so"; }
}

/// As on an H200, whose rates come with the library.
kizami::Result<bool> kizami::cuda::is_calibrated() { return true; }
