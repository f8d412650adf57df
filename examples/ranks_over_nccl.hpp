// SPDX-License-Identifier: MIT
// kizami::multi::Communicator over NCCL: what is in host memory passes through a buffer of the rank's device. A rank that does
// not come is an error after so many seconds; the communicator of NCCL is then aborted and of no more use.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "kizami/ranks.hpp"

class NcclRanks final : public kizami::multi::Communicator {
 public:
  /// @param communicator  of the current device, of this object from now on until it is destroyed, and used by nobody else
  ///        during a call
  explicit NcclRanks(ncclComm_t communicator, double seconds = 10) : communicator_(communicator), seconds_(seconds) {
    ncclCommUserRank(communicator, &rank_);
    ncclCommCount(communicator, &size_);
    is_ready_ = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess &&
                cudaMalloc(&buffer_, kBufferBytes) == cudaSuccess;
  }
  ~NcclRanks() override {
    if (communicator_ != nullptr) ncclCommDestroy(communicator_);
    cudaFree(buffer_);
    cudaStreamDestroy(stream_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  kizami::Status all_reduce(kizami::multi::Reduction reduction, std::span<std::int64_t> values) override {
    const ncclRedOp_t op = reduction == kizami::multi::Reduction::kSum ? ncclSum : ncclMax;
    return in_pieces("ncclAllReduce", std::as_writable_bytes(values), true, true, [&](std::size_t bytes) {
      return ncclAllReduce(buffer_, buffer_, bytes / sizeof(std::int64_t), ncclInt64, op, communicator_, stream_);
    });
  }
  kizami::Status broadcast(std::span<std::byte> bytes, int root) override {
    return in_pieces("ncclBroadcast", bytes, rank_ == root, true, [&](std::size_t count) {
      return ncclBroadcast(buffer_, buffer_, count, ncclInt8, root, communicator_, stream_);
    });
  }
  kizami::Status send(std::span<const std::byte> bytes, int to) override {
    const std::span<std::byte> read_only(const_cast<std::byte*>(bytes.data()), bytes.size());
    return in_pieces("ncclSend", read_only, true, false,
                     [&](std::size_t count) { return ncclSend(buffer_, count, ncclInt8, to, communicator_, stream_); });
  }
  kizami::Status receive(std::span<std::byte> bytes, int from) override {
    return in_pieces("ncclRecv", bytes, false, true, [&](std::size_t count) {
      return ncclRecv(buffer_, count, ncclInt8, from, communicator_, stream_);
    });
  }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{64} << 20;

  [[nodiscard]] kizami::Status failure(const char* what, const std::string& why) const {
    return {kizami::StatusCode::kInternal, std::string(what) + " on rank " + std::to_string(rank_) + ": " + why};
  }

  /// To the buffer, through enqueue(bytes), and back.
  template <class Enqueue>
  kizami::Status in_pieces(const char* what, std::span<std::byte> bytes, bool reads, bool writes,
                           const Enqueue& enqueue) {
    if (!is_ready_) return failure(what, "no stream or buffer on the device");
    if (communicator_ == nullptr) return failure(what, "the communicator was given up");
    for (std::size_t at = 0; at < bytes.size(); at += kBufferBytes) {
      const std::size_t count = std::min(kBufferBytes, bytes.size() - at);
      if (reads && cudaMemcpyAsync(buffer_, bytes.data() + at, count, cudaMemcpyHostToDevice, stream_) != cudaSuccess)
        return failure(what, cudaGetErrorString(cudaGetLastError()));
      const ncclResult_t result = enqueue(count);
      if (result != ncclSuccess && result != ncclInProgress) return failure(what, ncclGetErrorString(result));
      if (const kizami::Status status = wait(what); !status.ok()) return status;
      if (writes && cudaMemcpy(bytes.data() + at, buffer_, count, cudaMemcpyDeviceToHost) != cudaSuccess)
        return failure(what, cudaGetErrorString(cudaGetLastError()));
    }
    return {};
  }

  kizami::Status wait(const char* what) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      const cudaError_t done = cudaStreamQuery(stream_);
      if (done == cudaSuccess) return {};
      ncclResult_t error = ncclSuccess;
      ncclCommGetAsyncError(communicator_, &error);
      const bool is_late = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds_;
      const bool is_wrong = error != ncclSuccess && error != ncclInProgress;
      if (done != cudaErrorNotReady) return failure(what, cudaGetErrorString(done));
      if (is_late || is_wrong) {
        ncclCommAbort(communicator_);  // ends the kernel that waits
        communicator_ = nullptr;
        return failure(what,
                       is_wrong ? ncclGetErrorString(error) : "no answer within " + std::to_string(seconds_) + " s");
      }
      std::this_thread::yield();
    }
  }

  ncclComm_t communicator_;
  double seconds_;
  int rank_ = 0;
  int size_ = 1;
  bool is_ready_ = false;
  cudaStream_t stream_ = nullptr;
  void* buffer_ = nullptr;
};
