// SPDX-License-Identifier: MIT
#include "dropin/cublas/kept.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <complex>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/fork_safe.hpp"
#include "dropin/cublas/device_failure.hpp"
#include "dropin/cublas/is_done.hpp"
#include "dropin/cublas/relaxed_capture.hpp"
#include "dropin/policy/configuration.hpp"
#include "dropin/policy/kept_operands.hpp"
#include "kizami/cuda.hpp"

namespace kizami::dropin {
namespace cublas {
namespace {

/// What a process has of one device, for as long as it lives.
class Room {
 public:
  /// @return whether CUDA gives it @range once, on the current device
  bool make(int device) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    return is_done(cudaMemPoolCreate(&pool_, &properties)) &&
           is_done(cudaStreamCreateWithFlags(&freeing_, cudaStreamNonBlocking));
  }

  /// Memory in the order of the stream, or null.
  [[nodiscard]] std::byte* allocate(std::size_t bytes, cudaStream_t stream) {
    void* memory = nullptr;
    if (is_done(cudaMallocFromPoolAsync(&memory, bytes, pool_, stream))) return static_cast<std::byte*>(memory);
    pause();
    return nullptr;
  }
  /// Frees what was allocated once the events have come, which are given back. @return whether that is so
  bool free_behind(std::byte* memory, std::vector<cudaEvent_t> events) {
    bool is_behind_all = true;
    for (const cudaEvent_t event : events) is_behind_all &= is_done(cudaStreamWaitEvent(freeing_, event, 0));
    give_back(events);
    return is_behind_all && is_done(cudaFreeAsync(memory, freeing_));
  }

  /// An event of nobody's, or null.
  [[nodiscard]] cudaEvent_t take_event() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const cudaEvent_t event = idle_.back();
        idle_.pop_back();
        return event;
      }
    }
    cudaEvent_t event = nullptr;
    return is_done(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)) ? event : nullptr;
  }
  void give_back(std::span<const cudaEvent_t> events) {
    const std::lock_guard lock(mutex_);
    idle_.insert(idle_.end(), events.begin(), events.end());
  }

  /// After a refusal: whether this call is one that does not ask.
  [[nodiscard]] bool is_pausing() {
    std::uint32_t left = pause_.load(std::memory_order_relaxed);
    while (left > 0 && !pause_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left > 0;
  }
  void pause() { pause_.store(kKeepRetryPeriod - 1, std::memory_order_relaxed); }
  /// What nobody uses any more goes back to the device.
  void trim() { static_cast<void>(is_done(cudaMemPoolTrimTo(pool_, 0))); }

 private:
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t freeing_ = nullptr;
  std::atomic<std::uint32_t> pause_{0};
  std::mutex mutex_;
  std::vector<cudaEvent_t> idle_;
};

/// A split operand in memory of a Room.
class KeptOnDevice {
 public:
  explicit KeptOnDevice(Room& room) : room_(room) {}
  KeptOnDevice(const KeptOnDevice&) = delete;
  KeptOnDevice& operator=(const KeptOnDevice&) = delete;
  /// What cannot be freed behind all that uses it is not freed.
  ~KeptOnDevice() {
    if (memory_ == nullptr || is_lost_ || has_device_failed()) return;
    const RelaxedCapture relaxed;
    try {
      uses_.push_back(ready_);
      static_cast<void>(room_.free_behind(memory_, std::move(uses_)));
    } catch (...) {  // no memory for a list
    }
  }

  /// Enqueues the split. @return whether it is there for calls
  template <class T>
  bool split(const Plan& plan, Side side, MatrixView<const T> view, std::size_t bytes, cudaStream_t stream) {
    ready_ = room_.take_event();
    if (ready_ == nullptr) return false;
    memory_ = room_.allocate(bytes, stream);
    if (memory_ == nullptr) {
      room_.give_back({&ready_, 1});
      return false;
    }
    bytes_ = bytes;
    Result<cuda::PreparedOperand> made = cuda::prepare<T>(plan, side, view, {memory_, bytes}, stream);
    is_lost_ = !is_done(cudaEventRecord(ready_, stream));
    if (!made.ok() || is_lost_) return false;
    prepared_.emplace(std::move(made).value());
    return true;
  }
  [[nodiscard]] const cuda::PreparedOperand& prepared() const { return *prepared_; }
  [[nodiscard]] std::size_t size_bytes() const { return bytes_; }

  /// What the stream gets next begins after the split. False: CUDA does not know it any more (the device was reset)
  [[nodiscard]] bool put_before(cudaStream_t stream) {
    const bool is_before = is_done(cudaStreamWaitEvent(stream, ready_, 0));
    if (!is_before) is_lost_ = true;
    return is_before;
  }
  /// The stream has what uses it.
  void note_use(cudaStream_t stream) noexcept {
    const cudaEvent_t event = room_.take_event();
    if (event == nullptr || !is_done(cudaEventRecord(event, stream))) {
      is_lost_ = true;
      return;
    }
    const std::lock_guard lock(mutex_);
    try {
      drop_some_that_came();
      uses_.push_back(event);
    } catch (...) {  // no memory for a list
      is_lost_ = true;
    }
  }

 private:
  /// More than one call adds, wherever those are that have not come.
  void drop_some_that_came() {
    for (int looks = 2; looks > 0 && !uses_.empty(); --looks) {
      cursor_ = cursor_ + 1 < uses_.size() ? cursor_ + 1 : 0;
      if (!is_done(cudaEventQuery(uses_[cursor_]))) continue;
      room_.give_back({&uses_[cursor_], 1});
      uses_[cursor_] = uses_.back();
      uses_.pop_back();
    }
  }

  Room& room_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::optional<cuda::PreparedOperand> prepared_;
  cudaEvent_t ready_ = nullptr;
  std::atomic<bool> is_lost_{false};
  std::mutex mutex_;
  std::vector<cudaEvent_t> uses_;
  std::size_t cursor_ = 0;
};
using Shared = std::shared_ptr<KeptOnDevice>;

struct Store {
  std::mutex mutex;
  std::map<int, Room> rooms;  ///< whose addresses stay
  bool has_refused_room = false;
  KeptOperands<KeptOnDevice> operands;

  /// Of the current device; null: CUDA refuses it, and is not asked again.
  [[nodiscard]] Room* room_of(int device) {
    const std::lock_guard lock(mutex);
    const auto found = rooms.find(device);
    if (found != rooms.end()) return &found->second;
    if (has_refused_room) return nullptr;
    Room& room = rooms[device];
    if (room.make(device)) return &room;
    rooms.erase(device);
    has_refused_room = true;
    return nullptr;
  }
};
constinit base::PerProcess<Store> process_store;

/// Whether memory may be allocated for the calls of a stream: not for those of a graph, which may be replayed when it is
/// gone.
bool may_keep(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return is_done(cudaStreamIsCapturing(stream, &status)) && status == cudaStreamCaptureStatusNone;
}

/// The operand under that name for that plan, or null.
template <class T>
Shared kept_operand(const OperandName& name, int device, const Plan& plan, Side side, char op, MatrixView<const T> view,
                    cudaStream_t stream) {
  if (view.data == nullptr) return nullptr;
  const KeptKey key{name.id, device, side, kScalarOf<T>, op, view.rows, view.cols, plan.numerics_hash()};
  const std::size_t limit = process_configuration().kept_bytes;
  Store& all = process_store.get();
  if (Shared found = all.operands.find(key, name.version)) {
    if (found->put_before(stream)) return found;
    all.operands.forget(name.id);
    return nullptr;
  }
  const Result<std::size_t> bytes = cuda::prepared_bytes(plan, side);
  if (!bytes.ok() || bytes.value() == 0 || bytes.value() > limit) return nullptr;
  Room* const room = all.room_of(device);
  if (room == nullptr || room->is_pausing()) return nullptr;
  all.operands.make_room(device, bytes.value(), limit);
  auto operand = std::make_shared<KeptOnDevice>(*room);
  if (!operand->split(plan, side, view, bytes.value(), stream)) return nullptr;
  all.operands.keep(key, name.version, operand, limit);
  return operand;
}

template <class T>
std::optional<Status> multiply(const Call& x, const Context& context, const Policy& policy, const EffortNote& note,
                               const CallNames& names) {
  int device = 0;
  if (!is_done(cudaGetDevice(&device))) return std::nullopt;
  const Result<Plan> plan = cuda::make_plan(x.scalar, x.m, x.n, x.k, policy);
  if (!plan.ok()) return std::nullopt;  // as the call without names will say
  const MatrixView<const T> a = Operand<T>{x.op_a, static_cast<const T*>(x.a), x.lda}.view(x.m, x.k);
  const MatrixView<const T> b = Operand<T>{x.op_b, static_cast<const T*>(x.b), x.ldb}.view(x.k, x.n);
  Shared kept_a, kept_b;
  if (names.a) kept_a = kept_operand(*names.a, device, plan.value(), Side::kA, x.op_a, a, context.stream);
  if (names.b) kept_b = kept_operand(*names.b, device, plan.value(), Side::kB, x.op_b, b, context.stream);
  if (kept_a == nullptr && kept_b == nullptr) return std::nullopt;
  const auto operand = [](const Shared& kept, MatrixView<const T> matrix) {
    return kept == nullptr ? cuda::Operand<T>(matrix) : cuda::Operand<T>(kept->prepared(), matrix);
  };
  Status status = cuda::run_prepared<T>(plan.value(), factor_of<T>(x.alpha, context), operand(kept_a, a),
                                        operand(kept_b, b), factor_of<T>(x.beta, context),
                                        blas_view(static_cast<T*>(x.c), x.m, x.n, x.ldc), context.stream, note);
  for (const Shared& kept : {kept_a, kept_b}) {
    if (kept != nullptr) kept->note_use(context.stream);
  }
  const bool is_refused = status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kUnsupported;
  return is_refused ? std::nullopt : std::optional(std::move(status));  // of no use for this plan
}

}  // namespace

std::optional<Status> multiply_kept(const Call& call, const Context& context, const Policy& policy,
                                    const EffortNote& note, const CallNames& names) {
  if (!names.is_any()) return std::nullopt;
  const RelaxedCapture relaxed;
  if (!may_keep(context.stream)) return std::nullopt;
  return with_scalar(call.scalar, [&]<class T>() { return multiply<T>(call, context, policy, note, names); });
}

bool give_kept_back(int device) {
  Store* const all = process_store.known();
  if (all == nullptr) return false;
  const RelaxedCapture relaxed;
  if (!all->operands.forget_all_on(device)) return false;
  Room* const room = all->room_of(device);
  if (room == nullptr) return false;
  room->pause();
  room->trim();
  return true;
}

void forget_all_kept() {
  std::destroy_at(&process_store.get());
  std::construct_at(&process_store.get());
}

}  // namespace cublas

KeptCounts kept_counts() {
  cublas::Store* const all = cublas::process_store.known();
  return all != nullptr ? all->operands.counts() : KeptCounts{};
}

void forget_kept(std::uint64_t id) {
  cublas::Store* const all = cublas::process_store.known();
  if (all != nullptr) all->operands.forget(id);
}

}  // namespace kizami::dropin
