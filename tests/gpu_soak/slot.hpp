// SPDX-License-Identifier: MIT
// A place for one case at a time: a stream and all memory that cases need, got once. Cases are issued without waiting,
// so that a thread with two slots has two cases under way.
#pragma once

#include <atomic>
#include <shared_mutex>
#include <string>

#include "gpu_soak/calls.hpp"
#include "gpu_soak/device.hpp"

namespace gpu_soak {

/// What all threads agree on beside a device.
struct Surroundings {
  /// Shared by whoever captures; alone for what synchronises the device and would break a capture: handles, cudaMalloc,
  /// cudaFree.
  std::shared_mutex captures;
  std::atomic<bool> has_pressure = false;  ///< device memory may be lacking: calls and graphs may be refused
};

struct Wishes {
  Limits limits;
  Standard standard;
  /// a product has the same bits by another entry point, on another stream, stored in another way
  bool wants_same_bits = false;
};

struct Outcome {
  std::string error;  ///< what is wrong, or nothing
  Findings findings;
  bool is_supported = true;  ///< by cublasLtMatmul
  bool is_refused = false;   ///< for lack of memory, while most of it is taken
};

class Slot {
 public:
  Slot(const Wishes& wishes, Surroundings& surroundings);
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot();

  [[nodiscard]] bool is_busy() const { return is_busy_; }
  [[nodiscard]] const Case& current() const { return case_; }
  /// Nothing of it begins before `gate`, an event, where one is given. @range not busy @throws CudaError
  void issue(const Case& x, cublasHandle_t handle, cublasLtHandle_t lt, cudaEvent_t gate = nullptr);
  /// Waits. @range busy @throws CudaError
  [[nodiscard]] Outcome finish();

 private:
  struct Control;

  void stage();
  void prepare(int replay);
  /// The call, or what makes `graph_` of it.
  [[nodiscard]] cublasStatus_t make_call(const Case& x, cudaStream_t stream, void* c);
  [[nodiscard]] cublasStatus_t capture();
  void compare_again();
  void look();
  void run_replay(int replay);
  [[nodiscard]] bool is_asked_again() const;
  [[nodiscard]] unsigned long long num_elements() const;

  const Wishes& wishes_;
  Surroundings& surroundings_;
  cudaStream_t stream_ = nullptr, other_stream_ = nullptr;
  cudaEvent_t ready_ = nullptr, again_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *c0_ = nullptr, *x_ = nullptr, *workspace_ = nullptr;
  Control *control_ = nullptr, *control_on_device_ = nullptr;  // in pinned and in device memory
  Findings *findings_ = nullptr, *findings_on_device_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;

  bool is_busy_ = false;
  Case case_;
  cublasHandle_t handle_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
  cudaError_t left_behind_ = cudaSuccess;  ///< cudaGetLastError() after the call
  bool had_pressure_ = false;
};

}  // namespace gpu_soak
