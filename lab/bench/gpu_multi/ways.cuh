// SPDX-License-Identifier: MIT
// Ways to multiply on several devices that take turns, and their matrices: in pieces of columns on devices, or in page-locked
// memory of the host.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "device_bench.cuh"
#include "gpu_multi/options.hpp"
#include "kizami/cuda.hpp"
#include "kizami/multi.hpp"

namespace bench::shared {

using kizami::MatrixView;
using kizami::multi::Piece;
using kizami::multi::Placement;

[[nodiscard]] std::string text_of(const std::vector<int>& devices);

/// Leaves device 0 current.
class OnDevice {
 public:
  explicit OnDevice(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { static_cast<void>(cudaSetDevice(0)); }
};

void wait_for(const std::vector<int>& devices);

/// Host memory, page-locked. Large pages that many threads touch first: one thread of cudaHostAlloc() takes minutes for
/// 100 GB.
class HostPages {
 public:
  explicit HostPages(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    void* pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::runtime_error("host memory: " + std::to_string(bytes_) + " bytes refused");
    data_ = static_cast<std::byte*>(pages);
    static_cast<void>(madvise(data_, bytes_, MADV_HUGEPAGE));
    const std::size_t num_threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 32);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < num_threads; ++t) {
      threads.emplace_back([this, t, num_threads] {
        constexpr std::size_t kSmallestPage = 4096;
        const std::size_t part = bytes_ / num_threads + 1;
        for (std::size_t i = t * part; i < std::min((t + 1) * part, bytes_); i += kSmallestPage)
          data_[i] = std::byte{0};
      });
    }
    threads.clear();  // joins
    const cudaError_t error = cudaHostRegister(data_, bytes_, cudaHostRegisterPortable);
    if (error != cudaSuccess) munmap(data_, bytes_);
    check(error, "page-locked memory");
  }
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;
  ~HostPages() {
    static_cast<void>(cudaHostUnregister(data_));
    munmap(data_, bytes_);
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

/// Memory of a device, or of the host, page-locked.
template <class T>
class Memory {
 public:
  Memory(std::int64_t count, int device) : count_(count), device_(device) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (device < 0) {
      host_.emplace(bytes);
      data_ = reinterpret_cast<T*>(host_->data());
      return;
    }
    const OnDevice current(device);
    check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes), "cudaMalloc");
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (device_ < 0) return;
    const OnDevice current(device_);
    static_cast<void>(cudaFree(data_));
  }
  [[nodiscard]] T* data() const { return data_; }
  void clear() const {
    if (device_ < 0) {
      std::fill_n(data_, count_, T{});
      return;
    }
    const OnDevice current(device_);  // cudaMemset() takes memory of the current device alone
    check(cudaMemset(data_, 0, static_cast<std::size_t>(count_) * sizeof(T)), "clearing a matrix");
    check(cudaDeviceSynchronize(), "clearing a matrix");
  }

 private:
  std::int64_t count_;
  int device_;
  std::optional<HostPages> host_;
  T* data_ = nullptr;
};

/// A column-major matrix in pieces of columns, a copy of one that was filled on the first device.
template <class T>
class Matrix {
 public:
  /// @param devices of the pieces; -1: the host
  Matrix(std::int64_t rows, std::int64_t cols, const std::vector<int>& devices) : rows_(rows), cols_(cols) {
    const auto count = static_cast<std::int64_t>(devices.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = cols * i / count;
      const std::int64_t last = cols * (i + 1) / count;
      memories_.push_back(std::make_unique<Memory<T>>(std::max<std::int64_t>(rows * (last - first), 1),
                                                      devices[static_cast<std::size_t>(i)]));
      pieces_.push_back({0, first, {memories_.back()->data(), rows, last - first, 1, rows}});
    }
  }
  /// In pieces of at most 1 GiB, through the first device.
  void fill(std::uint64_t seed, double phi) {
    using R = kizami::RealOf<T>;
    constexpr std::int64_t kTerms = kizami::kIsComplex<T> ? 2 : 1;
    const std::int64_t most = (std::int64_t{1} << 30) / static_cast<std::int64_t>(sizeof(T));
    for (const Piece<T>& piece : pieces_) {
      const std::int64_t count = piece.view.rows * piece.view.cols;
      const DeviceBuffer<T> part(std::max<std::int64_t>(std::min(count, most), 1));
      for (std::int64_t at = 0; at < count; at += most) {
        const std::int64_t here = std::min(most, count - at);
        bench::fill<R><<<1024, 256>>>(reinterpret_cast<R*>(part.data), here * kTerms, phi, seed++);
        check(cudaGetLastError(), "fill");
        check(
            cudaMemcpy(piece.view.data + at, part.data, static_cast<std::size_t>(here) * sizeof(T), cudaMemcpyDefault),
            "fill");
      }
    }
    check(cudaDeviceSynchronize(), "fill");
  }
  [[nodiscard]] std::vector<Piece<T>> pieces() const { return pieces_; }
  [[nodiscard]] std::vector<Piece<const T>> const_pieces() const {
    std::vector<Piece<const T>> all;
    for (const Piece<T>& piece : pieces_) all.push_back({piece.row, piece.col, piece.view});
    return all;
  }
  /// All of it, column by column.
  void copy_to(T* whole) const {
    for (const Piece<T>& piece : pieces_) {
      check(cudaMemcpy(whole + piece.col * rows_, piece.view.data,
                       static_cast<std::size_t>(piece.view.rows * piece.view.cols) * sizeof(T), cudaMemcpyDefault),
            "copying a matrix");
    }
  }
  /// All of it where another matrix of this shape has it.
  void take(const Matrix& from) {
    for (const Piece<T>& piece : pieces_) {
      check(cudaMemcpy(piece.view.data, from.pieces_[0].view.data + piece.col * rows_,
                       static_cast<std::size_t>(piece.view.rows * piece.view.cols) * sizeof(T), cudaMemcpyDefault),
            "pieces");
    }
  }
  void clear() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) memories_[i]->clear();
  }
  [[nodiscard]] std::int64_t size() const { return rows_ * cols_; }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::vector<std::unique_ptr<Memory<T>>> memories_;
  std::vector<Piece<T>> pieces_;
};

/// 8-byte words of x and y that differ, both on the first device.
[[nodiscard]] unsigned long long count_differing_words(const void* x, const void* y, std::int64_t words);

/// Of C in pieces and a whole one on the first device.
template <class T>
[[nodiscard]] unsigned long long differences_of(const Matrix<T>& c, const T* whole) {
  const DeviceBuffer<T> copy(c.size() + 1);
  c.copy_to(copy.data);
  const std::int64_t words = c.size() * static_cast<std::int64_t>(sizeof(T)) / 8;  // an odd FP32 number is left out
  return count_differing_words(copy.data, whole, words);
}

/// A way to multiply, which begins and ends with its devices idle.
struct Way {
  std::string who;
  std::vector<int> devices;
  int parts = 0;
  std::function<void()> call;
  std::vector<float> milliseconds = {};
  std::string plan = {};
  long long differences = -1;  ///< -1: not compared
};

/// Products of 4096 a second, of each device by itself.
template <class T>
[[nodiscard]] std::vector<double> measured_speeds(const std::vector<int>& devices) {
  constexpr std::int64_t kN = 4096;
  std::vector<double> speeds;
  for (const int device : devices) {
    const OnDevice current(device);
    const DeviceBuffer<T> x(kN * kN);
    const DeviceBuffer<T> z(kN * kN);
    check(cudaMemset(x.data, 0x3f, static_cast<std::size_t>(kN * kN) * sizeof(T)), "speeds");
    constexpr int kCalls = 20;
    double seconds = 0;
    for (int round = 0; round < 2; ++round) {  // the first one warms up
      check(cudaDeviceSynchronize(), "speeds");
      const auto begin = std::chrono::steady_clock::now();
      for (int call = 0; call < kCalls; ++call) {
        check(kizami::cuda::gemm<T>(nullptr, kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, kN, kN,
                                    kN, T{1}, x.data, kN, x.data, kN, T{0}, z.data, kN),
              "speeds");
      }
      check(cudaDeviceSynchronize(), "speeds");
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    speeds.push_back(kCalls / seconds);
    std::fprintf(stderr, "device %d: %.1f products of %lld a second\n", device, speeds.back(),
                 static_cast<long long>(kN));
  }
  return speeds;
}

/// Each way in turn.
void time_all(std::vector<Way>& ways, int rounds);

/// A call more of each way but cuBLAS, behind all that are timed.
void record_timelines(const std::vector<Way>& ways, const std::string& what, const std::string& path);

}  // namespace bench::shared
