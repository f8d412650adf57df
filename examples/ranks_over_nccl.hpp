// SPDX-License-Identifier: MIT
// kizami::multi::Communicator over NCCL: what is in host memory passes through a buffer of the rank's device. A rank that does
// not come is an error after so many seconds, and no hang: the communicator of NCCL is of the kind whose calls return at once, and is
// asked whether they are done. One that is given up is aborted, and of no more use.
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
  /// Called by all ranks, each with its device current, which it keeps during calls.
  /// @param id  one of ncclGetUniqueId(), the same on all; how it gets there is the program's own affair
  NcclRanks(const ncclUniqueId& id, int rank, int size, double seconds = 10)
      : seconds_(seconds), rank_(rank), size_(size) {
    if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMalloc(&buffer_, kBufferBytes) != cudaSuccess) {
      why_not_ = "no stream or buffer on the device";
      return;
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(&communicator_, size, id, rank, &config);
    const kizami::Status status = wait("ncclCommInitRankConfig", result);
    if (!status.ok()) why_not_ = status.reason();
  }
  ~NcclRanks() override {
    if (communicator_ != nullptr) {
      if (wait("ncclCommFinalize", ncclCommFinalize(communicator_)).ok()) ncclCommDestroy(communicator_);
    }
    cudaFree(buffer_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
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
    if (communicator_ == nullptr) return failure(what, why_not_.empty() ? "the communicator was given up" : why_not_);
    for (std::size_t at = 0; at < bytes.size(); at += kBufferBytes) {
      const std::size_t count = std::min(kBufferBytes, bytes.size() - at);
      if (reads && cudaMemcpyAsync(buffer_, bytes.data() + at, count, cudaMemcpyHostToDevice, stream_) != cudaSuccess)
        return failure(what, cudaGetErrorString(cudaGetLastError()));
      if (const kizami::Status status = wait(what, enqueue(count)); !status.ok()) return status;
      if (writes && cudaMemcpy(bytes.data() + at, buffer_, count, cudaMemcpyDeviceToHost) != cudaSuccess)
        return failure(what, cudaGetErrorString(cudaGetLastError()));
    }
    return {};
  }

  /// Until NCCL has begun what it was asked for, and the stream has ended it.
  kizami::Status wait(const char* what, ncclResult_t asked) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      ncclResult_t state = asked;
      if (asked == ncclSuccess || asked == ncclInProgress) {
        const ncclResult_t answer = ncclCommGetAsyncError(communicator_, &state);
        if (answer != ncclSuccess) state = answer;
      }
      std::string why;
      if (state == ncclSuccess) {
        const cudaError_t done = cudaStreamQuery(stream_);
        if (done == cudaSuccess) return {};
        if (done != cudaErrorNotReady) why = cudaGetErrorString(done);
      } else if (state != ncclInProgress) {
        why = ncclGetErrorString(state);
      }
      if (why.empty() && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds_)
        why = "no answer within " + std::to_string(seconds_) + " s";
      if (!why.empty()) {
        if (communicator_ != nullptr) ncclCommAbort(communicator_);  // ends the kernel that waits
        communicator_ = nullptr;
        return failure(what, why);
      }
      std::this_thread::yield();
    }
  }

  ncclComm_t communicator_ = nullptr;
  double seconds_;
  int rank_;
  int size_;
  std::string why_not_;  ///< why there was no communicator from the start
  cudaStream_t stream_ = nullptr;
  void* buffer_ = nullptr;
};
