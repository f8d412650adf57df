// SPDX-License-Identifier: MIT
// What a factorization has for itself while it is enqueued: handles of cuBLAS, a second stream, device memory.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#include "dropin/cublas/is_done.hpp"

namespace kizami::dropin::cusolver {

using cublas::is_done;

/// Handles and a stream of the thread's current device, lent to one call at a time and kept for the next one.
struct Lane {
  int device = -1;
  cublasHandle_t blas[2] = {};    ///< on the program's stream, and on `beside`
  cudaStream_t beside = nullptr;  ///< of the highest priority, beside the program's
  cudaEvent_t events[2] = {};     ///< how far each of the two has come
};
class LentLane {
 public:
  /// Of the current device, blas[0] on that stream, with nothing left to do on its own stream, if there is such a one.
  explicit LentLane(cudaStream_t stream) noexcept;
  ~LentLane();
  LentLane(const LentLane&) = delete;
  LentLane& operator=(const LentLane&) = delete;
  /// False: CUDA or cuBLAS refused something, or the stream is of another device; then nothing is lent.
  [[nodiscard]] bool is_lent() const { return lane_.device >= 0; }
  [[nodiscard]] const Lane& lane() const { return lane_; }

 private:
  Lane lane_;
};

/// Device memory in the order of a stream, freed in its order, too.
class StreamMemory {
 public:
  StreamMemory(std::size_t bytes, cudaStream_t stream);
  ~StreamMemory();
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  /// Null: there is none. On boundaries of 256 bytes.
  [[nodiscard]] std::byte* get() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
  cudaStream_t stream_;
};

}  // namespace kizami::dropin::cusolver
