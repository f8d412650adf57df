// SPDX-License-Identifier: MIT
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "gpu_soak/slot.hpp"

namespace gpu_soak {

/// A handle of cuBLAS and one of cuBLASLt.
class Handles {
 public:
  explicit Handles(Surroundings& surroundings) : surroundings_(surroundings) { create(); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() { destroy(); }
  void renew() {
    destroy();
    create();
  }
  [[nodiscard]] cublasHandle_t get() const { return handle_; }
  [[nodiscard]] cublasLtHandle_t lt() const { return lt_; }

 private:
  void create() {
    for (;;) {
      {
        const std::unique_lock lock(surroundings_.captures);
        cublasStatus_t status = handle_ == nullptr ? cublasCreate(&handle_) : CUBLAS_STATUS_SUCCESS;
        if (status == CUBLAS_STATUS_SUCCESS) status = cublasLtCreate(&lt_);
        if (status == CUBLAS_STATUS_SUCCESS) return;
        if (!surroundings_.has_pressure)
          throw std::runtime_error(std::string("cublasCreate: ") + cublasGetStatusName(status));
      }
      static_cast<void>(cudaGetLastError());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until there is memory again
    }
  }
  void destroy() {
    const std::unique_lock lock(surroundings_.captures);
    if (lt_ != nullptr) static_cast<void>(cublasLtDestroy(lt_));
    if (handle_ != nullptr) static_cast<void>(cublasDestroy(handle_));
    handle_ = nullptr;
    lt_ = nullptr;
  }

  Surroundings& surroundings_;
  cublasHandle_t handle_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
};

}  // namespace gpu_soak
