// SPDX-License-Identifier: MIT
#include "gpu_soak/slot.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <mutex>

namespace gpu_soak {
namespace {

using kizami::Scalar;

constexpr std::int64_t kLargestWorkspace = 32 << 20;
constexpr int kMaxSections = 4;

/// As the type of the case has it, of herk its real part alone.
void write_factor(const Case& x, std::complex<double> value, std::byte* to) {
  const double parts[2]{value.real(), value.imag()};
  const int num_parts = kizami::is_complex(x.scalar) && x.routine != Routine::kHerk ? 2 : 1;
  for (int i = 0; i < num_parts; ++i) {
    if (kizami::real_of(x.scalar) == Scalar::kF32) {
      const auto part = static_cast<float>(parts[i]);
      std::memcpy(to + std::size_t(i) * sizeof part, &part, sizeof part);
    } else {
      std::memcpy(to + std::size_t(i) * sizeof parts[i], &parts[i], sizeof parts[i]);
    }
  }
}

std::string place_of(unsigned long long packed) {
  constexpr unsigned long long kMask = (1ULL << 28) - 1;
  return "C(" + std::to_string(packed & kMask) + ", " + std::to_string(packed >> 28 & kMask) + ") of product " +
         std::to_string(packed >> 56);
}

}  // namespace

/// What a call reads by pointers beside matrices.
struct Slot::Control {
  alignas(16) std::byte alpha[16 * kMaxSections];
  alignas(16) std::byte beta[16 * kMaxSections];
  void* pointers[3][kMaxProducts];
};

Slot::Slot(const Wishes& wishes, Surroundings& surroundings) : wishes_(wishes), surroundings_(surroundings) {
  const auto bytes = static_cast<std::size_t>(wishes.limits.buffer_bytes());
  for (void** buffer : {&a_, &b_, &c_, &c0_, &x_}) check(cudaMalloc(buffer, bytes), "cudaMalloc of a buffer for cases");
  if (wishes.limits.features.has(Feature::kWorkspaces)) check(cudaMalloc(&workspace_, kLargestWorkspace), "cudaMalloc");
  check(cudaMalloc(reinterpret_cast<void**>(&control_on_device_), sizeof(Control)), "cudaMalloc");
  check(cudaMalloc(reinterpret_cast<void**>(&findings_on_device_), sizeof(Findings)), "cudaMalloc");
  check(cudaMallocHost(reinterpret_cast<void**>(&control_), sizeof(Control)), "cudaMallocHost");
  check(cudaMallocHost(reinterpret_cast<void**>(&findings_), 2 * sizeof(Findings)), "cudaMallocHost");
  findings_[1] = Findings{};  // what each case begins with
  for (cudaStream_t* stream : {&stream_, &other_stream_})
    check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreate");
  for (cudaEvent_t* event : {&ready_, &again_})
    check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
}

Slot::~Slot() {
  for (cudaEvent_t event : {ready_, again_}) static_cast<void>(cudaEventDestroy(event));
  for (cudaStream_t stream : {stream_, other_stream_}) static_cast<void>(cudaStreamDestroy(stream));
  for (void* buffer : {a_, b_, c_, c0_, x_, workspace_, static_cast<void*>(control_on_device_),
                       static_cast<void*>(findings_on_device_)})
    static_cast<void>(cudaFree(buffer));
  static_cast<void>(cudaFreeHost(control_));
  static_cast<void>(cudaFreeHost(findings_));
}

bool Slot::is_asked_again() const { return wishes_.wants_same_bits && case_.is_single() && case_.exceptions.empty(); }

unsigned long long Slot::num_elements() const {
  unsigned long long sum = 0;
  for (const Section& s : case_.sections) {
    const std::int64_t of_one = is_rank_update(case_.routine) ? s.n * (s.n + 1) / 2 : s.m * s.n;
    sum += static_cast<unsigned long long>(of_one * s.num_products);
  }
  return sum * static_cast<unsigned long long>(std::max(case_.num_replays, 1));
}

void Slot::stage() {
  const std::int64_t bytes = element_bytes(case_.scalar);
  const std::size_t factor_bytes = static_cast<std::size_t>(bytes);
  std::size_t section = 0, product = 0;
  for (const Section& s : case_.sections) {
    write_factor(case_, s.alpha, control_->alpha + section * factor_bytes);
    write_factor(case_, s.beta, control_->beta + section * factor_bytes);
    ++section;
    for (int p = 0; p < s.num_products; ++p, ++product) {
      const auto at = [&](void* buffer, const Matrix& matrix) {
        return static_cast<void*>(static_cast<std::byte*>(buffer) + matrix.start(p, s.num_products) * bytes);
      };
      control_->pointers[0][product] = at(a_, s.a);
      control_->pointers[1][product] = at(b_, s.b);
      control_->pointers[2][product] = at(c_, s.c);
    }
  }
  check(cudaMemcpyAsync(control_on_device_, control_, sizeof(Control), cudaMemcpyHostToDevice, stream_), "copy");
  check(cudaMemcpyAsync(findings_on_device_, &findings_[1], sizeof(Findings), cudaMemcpyHostToDevice, stream_), "copy");
}

void Slot::prepare(int replay) {
  const Section& s = case_.first();
  const std::uint64_t seed = case_.seed + 0x1000003ULL * static_cast<std::uint64_t>(replay);
  const std::int64_t bytes = element_bytes(case_.scalar);
  const bool is_solved = case_.routine == Routine::kTrsm;
  fill(case_.scalar, a_, case_.used_a(), {seed, case_.a, s.a.ld, s.a.offset, is_solved, false}, stream_);
  fill(case_.scalar, b_, case_.used_b(), {seed ^ 0xb0b0b0b0ULL << 20, case_.b, s.b.ld, s.b.offset, false, false},
       stream_);
  for (const Exception& e : case_.exceptions) place(case_.scalar, e.is_in_a ? a_ : b_, e, stream_);
  Elements of_c;
  of_c.phi = 0.5;
  const bool is_operand = is_solved || case_.is_in_place;
  fill(case_.scalar, c0_, case_.used_c(),
       {seed ^ 0xc0c0c0c0ULL << 20, is_operand ? case_.b : of_c, s.c.ld, s.c.offset, false, case_.has_untouchable_c},
       stream_);
  check(cudaMemcpyAsync(c_, c0_, static_cast<std::size_t>(case_.used_c() * bytes), cudaMemcpyDeviceToDevice, stream_),
        "copy");
  add_sum(a_, case_.used_a() * bytes, &findings_on_device_->operands_before, stream_);
  add_sum(b_, case_.used_b() * bytes, &findings_on_device_->operands_before, stream_);
}

cublasStatus_t Slot::make_call(const Case& x, cudaStream_t stream, void* c) {
  Arguments arguments;
  arguments.handle = handle_;
  arguments.lt = lt_;
  arguments.stream = stream;
  arguments.a = a_;
  arguments.b = b_;
  arguments.c = c;
  const Control* factors = x.has_device_factors ? control_on_device_ : control_;
  arguments.alpha = factors->alpha;
  arguments.beta = factors->beta;
  Control* arrays = x.has_host_arrays ? control_ : control_on_device_;
  arguments.as = arrays->pointers[0];
  arguments.bs = arrays->pointers[1];
  arguments.cs = arrays->pointers[2];
  return call(x, arguments);
}

cublasStatus_t Slot::capture() {
  const std::shared_lock lock(surroundings_.captures);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  const cublasStatus_t status = make_call(case_, stream_, c_);
  const cudaError_t end = cudaStreamEndCapture(stream_, &graph);
  if (status == CUBLAS_STATUS_SUCCESS) {
    check(end, "cudaStreamEndCapture");
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    if (error == cudaErrorMemoryAllocation && had_pressure_) {
      static_cast<void>(cudaGraphDestroy(graph));
      return CUBLAS_STATUS_ALLOC_FAILED;
    }
    check(error, "cudaGraphInstantiate");
  }
  if (graph != nullptr) check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return status;
}

/// The product once more, beside the first one: stored in another way, by another entry point, on another stream.
void Slot::compare_again() {
  Case x = case_;
  Section& s = x.sections.front();
  x.routine = case_.again;
  s.c.ld += 1;
  s.c.offset = kGuard + (s.c.offset + 1) % 4;
  copy_elements(x.scalar, c0_, case_.first().c, x_, s.c, other_stream_);
  if (cublasSetStream(handle_, other_stream_) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasSetStream");
  const cublasStatus_t status = make_call(x, other_stream_, x_);
  if (status_ == CUBLAS_STATUS_SUCCESS) status_ = status;
  check(cudaEventRecord(again_, other_stream_), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream_, again_, 0), "cudaStreamWaitEvent");
  if (status == CUBLAS_STATUS_SUCCESS)
    expect_same_bits(x.scalar, c_, case_.first().c, x_, s.c, findings_on_device_, stream_);
}

void Slot::look() {
  const std::int64_t bytes = element_bytes(case_.scalar);
  if (case_.routine == Routine::kTrsm) {
    check(cudaMemcpyAsync(x_, c_, static_cast<std::size_t>(case_.used_c() * bytes), cudaMemcpyDeviceToDevice, stream_),
          "copy");
  }
  if (status_ == CUBLAS_STATUS_SUCCESS) {
    for (const Judged& judged : judged_of(case_, {a_, b_, c0_, x_, c_}, wishes_.standard))
      judge(case_.scalar, judged, findings_on_device_, stream_);
  }
  expect_equal(c_, c0_, case_.used_c() * bytes, findings_on_device_, stream_);
  add_sum(a_, case_.used_a() * bytes, &findings_on_device_->operands_after, stream_);
  add_sum(b_, case_.used_b() * bytes, &findings_on_device_->operands_after, stream_);
}

void Slot::run_replay(int replay) {
  prepare(replay);
  const bool is_again = is_asked_again() && replay == 0;
  if (is_again) {
    check(cudaEventRecord(ready_, stream_), "cudaEventRecord");
    check(cudaStreamWaitEvent(other_stream_, ready_, 0), "cudaStreamWaitEvent");
  }
  if (case_.num_replays == 0) {
    status_ = make_call(case_, stream_, c_);
  } else {
    if (replay == 0) status_ = capture();
    if (graph_ != nullptr) {
      const cudaError_t error = cudaGraphLaunch(graph_, stream_);
      if (error == cudaErrorMemoryAllocation && had_pressure_) status_ = CUBLAS_STATUS_ALLOC_FAILED;
      if (status_ == CUBLAS_STATUS_SUCCESS) check(error, "cudaGraphLaunch");
    }
  }
  // What failed of itself shows up again; what the call has left behind is not for the launches here.
  const auto note = [&] {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) left_behind_ = error;
  };
  note();
  if (is_again && status_ == CUBLAS_STATUS_SUCCESS) {
    compare_again();
    note();
  }
  look();
}

void Slot::issue(const Case& x, cublasHandle_t handle, cublasLtHandle_t lt, cudaEvent_t gate) {
  case_ = x;
  handle_ = handle;
  lt_ = lt;
  status_ = CUBLAS_STATUS_SUCCESS;
  left_behind_ = cudaSuccess;
  had_pressure_ = surroundings_.has_pressure;
  const auto set = [](cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error(std::string(what) + ": status " + std::to_string(status));
  };
  set(cublasSetStream(handle, stream_), "cublasSetStream");  // which takes a workspace of the program's away
  if (x.workspace_bytes > 0)
    set(cublasSetWorkspace(handle, workspace_, static_cast<std::size_t>(x.workspace_bytes)), "cublasSetWorkspace");
  set(cublasSetPointerMode(handle, x.has_device_factors ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST),
      "cublasSetPointerMode");
  if (gate != nullptr) check(cudaStreamWaitEvent(stream_, gate, 0), "cudaStreamWaitEvent");
  stage();
  for (int replay = 0; replay < std::max(x.num_replays, 1) && status_ == CUBLAS_STATUS_SUCCESS; ++replay)
    run_replay(replay);
  check(cudaMemcpyAsync(findings_, findings_on_device_, sizeof(Findings), cudaMemcpyDeviceToHost, stream_), "copy");
  had_pressure_ = had_pressure_ || surroundings_.has_pressure;
  is_busy_ = true;
}

Outcome Slot::finish() {
  check(cudaStreamSynchronize(stream_), "a case");
  is_busy_ = false;
  if (graph_ != nullptr) check(cudaGraphExecDestroy(graph_), "cudaGraphExecDestroy");
  graph_ = nullptr;
  Outcome outcome;
  const Findings& f = outcome.findings = findings_[0];
  const auto add = [&](const std::string& text) { outcome.error += (outcome.error.empty() ? "" : "; ") + text; };
  outcome.is_supported = !(case_.routine == Routine::kLt && status_ == CUBLAS_STATUS_NOT_SUPPORTED);
  outcome.is_refused = status_ != CUBLAS_STATUS_SUCCESS && outcome.is_supported && had_pressure_;
  if (status_ != CUBLAS_STATUS_SUCCESS && outcome.is_supported && !outcome.is_refused)
    add(std::string("status ") + cublasGetStatusName(status_));
  if (left_behind_ != cudaSuccess && status_ == CUBLAS_STATUS_SUCCESS && !had_pressure_)
    add(std::string("the call leaves the CUDA error ") + cudaGetErrorName(left_behind_) + " behind");
  if (f.num_wrong != 0)
    add(std::to_string(f.num_wrong) + " elements beyond the bound, the first " + place_of(f.first_wrong));
  if (f.num_misplaced != 0)
    add(std::to_string(f.num_misplaced) + " elements NaN or infinite, or not, where they should not be, the first " +
        place_of(f.first_misplaced));
  if (f.num_written != 0 && !outcome.is_refused)
    add(std::to_string(f.num_written) + " words written outside of the results, the first " +
        std::to_string(f.first_written));
  if (f.num_other_bits != 0)
    add(std::to_string(f.num_other_bits) + " words of other bits by " + name_of(case_.again) + ", the first in " +
        place_of(f.first_other_bits));
  if (f.operands_before != f.operands_after) add("A or B has changed");
  if (status_ == CUBLAS_STATUS_SUCCESS && f.num_judged != num_elements())
    add(std::to_string(f.num_judged) + " of " + std::to_string(num_elements()) + " elements judged");
  return outcome;
}

}  // namespace gpu_soak
