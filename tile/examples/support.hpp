// SPDX-License-Identifier: MIT
// What the examples need beside their kernels: memory that a kernel and the program share, waiting for a launch, and
// counting what was checked. Under nvcc that is page-locked memory, which a GPU reads and writes in place.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "kizami/tile.hpp"

namespace example {

/// n elements, all zero at first, that kernels and the program read and write.
template <class T>
class Array {
 public:
  explicit Array(std::size_t n) : size_(n) {
#if defined(__CUDACC_TILE__)
    const cudaError_t error = cudaMallocHost(&data_, n * sizeof(T));
    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
      std::printf("skipped: %s\n", cudaGetErrorString(error));
      std::exit(77);
    }
    if (error != cudaSuccess) throw std::bad_alloc();
#else
    data_ = static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kAlignment}));
#endif
    for (std::size_t i = 0; i < n; ++i) data_[i] = T{};
  }
  ~Array() {
#if defined(__CUDACC_TILE__)
    cudaFreeHost(data_);
#else
    ::operator delete (data_, std::align_val_t{kAlignment});
#endif
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Indices may be of any integer type.
  template <class I>
  [[nodiscard]] T& operator[](I i) {
    return data_[static_cast<std::size_t>(i)];
  }

 private:
  static constexpr std::size_t kAlignment = 256;  // of CUDA's allocations
  T* data_ = nullptr;
  std::size_t size_;
};

/// Prints why a launch failed, if it did. Returns whether it did not.
inline bool report(const kizami::Status& status) {
  if (!status.ok()) std::printf("FAILED  %s\n", status.reason().c_str());
  return status.ok();
}
/// Waits for the kernel that was launched. Returns whether it ran.
inline bool ran(const kizami::Status& launched) {
#if defined(__CUDACC_TILE__)
  if (launched.ok()) return report(kizami::tile::launch_status("(running)", dim3(1), cudaDeviceSynchronize()));
#endif
  return report(launched);
}

/// ceil(n / size), the number of tiles that cover n elements.
constexpr unsigned tiles(int n, int size) { return static_cast<unsigned>((n + size - 1) / size); }

/// Counts checks that hold and that do not.
class Checks {
 public:
  void expect(bool holds) { ++(holds ? num_held_ : num_broken_); }
  /// Prints the verdict; 0 if something was checked and all of it held, as main() returns it.
  [[nodiscard]] int result() const {
    std::printf("%s  %ld of %ld checks hold\n", num_broken_ == 0 && num_held_ > 0 ? "ok" : "FAILED", num_held_,
                num_held_ + num_broken_);
    return num_broken_ == 0 && num_held_ > 0 ? 0 : 1;
  }

 private:
  long num_held_ = 0;
  long num_broken_ = 0;
};

}  // namespace example
