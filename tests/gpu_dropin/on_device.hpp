// SPDX-License-Identifier: MIT
// cuBLAS by type of element, handles, and problems with their matrices in device memory.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <complex>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_dropin/problem.hpp"
#include "gpu_dropin/report.hpp"

namespace preload_check {

/// What one type is called in cuBLAS.
template <class T>
struct Blas;
#define PRELOAD_CHECK_FUNCTION(name) [](auto... x) { return name(x...); }
#define PRELOAD_CHECK_BLAS(T, E, Letter, ...)                                                    \
  template <>                                                                                    \
  struct Blas<T> {                                                                               \
    using Element = E;                                                                           \
    static constexpr const char* kName = #Letter;                                                \
    static constexpr const char* kFunction = "cublas" #Letter "gemm_v2";                         \
    static constexpr auto kGemm = PRELOAD_CHECK_FUNCTION(cublas##Letter##gemm_v2);               \
    static constexpr auto kGemm64 = PRELOAD_CHECK_FUNCTION(cublas##Letter##gemm_v2_64);          \
    static constexpr auto kStrided = PRELOAD_CHECK_FUNCTION(cublas##Letter##gemmStridedBatched); \
    static constexpr auto kBatched = PRELOAD_CHECK_FUNCTION(cublas##Letter##gemmBatched);        \
    __VA_ARGS__                                                                                  \
  };
PRELOAD_CHECK_BLAS(float, float, S, static constexpr auto kGrouped = PRELOAD_CHECK_FUNCTION(cublasSgemmGroupedBatched);
                   static constexpr auto kEx = PRELOAD_CHECK_FUNCTION(cublasSgemmEx);)
PRELOAD_CHECK_BLAS(double, double, D,
                   static constexpr auto kGrouped = PRELOAD_CHECK_FUNCTION(cublasDgemmGroupedBatched);)
PRELOAD_CHECK_BLAS(std::complex<float>, cuComplex, C, static constexpr auto k3m = PRELOAD_CHECK_FUNCTION(cublasCgemm3m);
                   static constexpr auto kEx = PRELOAD_CHECK_FUNCTION(cublasCgemmEx);)
PRELOAD_CHECK_BLAS(std::complex<double>, cuDoubleComplex, Z,
                   static constexpr auto k3m = PRELOAD_CHECK_FUNCTION(cublasZgemm3m);)
#undef PRELOAD_CHECK_BLAS
#undef PRELOAD_CHECK_FUNCTION

template <class T>
using Function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                    const typename Blas<T>::Element*, const typename Blas<T>::Element*, int,
                                    const typename Blas<T>::Element*, int, const typename Blas<T>::Element*,
                                    typename Blas<T>::Element*, int);

/// A function of cuBLAS itself, whatever stands before it.
inline void* native_function(const char* name) {
  for (const char* file : {"libcublas.so.13", "libcublas.so.12"}) {
    void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) return dlsym(library, name);
  }
  throw std::runtime_error("libcublas.so is not loaded");
}
template <class T>
Function<T> native_gemm() {
  return reinterpret_cast<Function<T>>(native_function(Blas<T>::kFunction));
}
template <class T>
Function<T> linked_gemm() {
  return [](cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
            const typename Blas<T>::Element* alpha, const typename Blas<T>::Element* a, int lda,
            const typename Blas<T>::Element* b, int ldb, const typename Blas<T>::Element* beta,
            typename Blas<T>::Element* c,
            int ldc) { return Blas<T>::kGemm(h, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); };
}

/// A handle with a stream of its own.
class Handle {
 public:
  Handle() {
    check(cublasCreate(&handle_), "cublasCreate");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cublasSetStream(handle_, stream_), "cublasSetStream");
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    static_cast<void>(cublasDestroy(handle_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  [[nodiscard]] cublasHandle_t get() const { return handle_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void set(cublasPointerMode_t mode) const { check(cublasSetPointerMode(handle_, mode), "cublasSetPointerMode"); }

 private:
  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// A problem with its matrices on the device.
template <class T>
struct OnDevice {
  Problem<T> problem;
  DeviceArray<T> a, b, c;

  OnDevice(const Shape& shape, std::uint64_t seed)
      : problem(shape, seed), a(problem.a()), b(problem.b()), c(problem.c()) {}

  /// alpha, beta: as the handle's pointer mode says.
  cublasStatus_t multiply(cublasHandle_t handle, const T* alpha, const T* beta, Function<T> gemm = linked_gemm<T>()) {
    return call(gemm, handle, alpha, beta);
  }
  template <class Gemm>
  cublasStatus_t call(const Gemm& gemm, cublasHandle_t handle, const T* alpha, const T* beta) {
    using E = typename Blas<T>::Element;
    const Shape& s = problem.shape();
    return gemm(handle, s.op_a, s.op_b, s.m, s.n, s.k, reinterpret_cast<const E*>(alpha),
                reinterpret_cast<const E*>(a.data()), problem.lda(), reinterpret_cast<const E*>(b.data()),
                problem.ldb(), reinterpret_cast<const E*>(beta), reinterpret_cast<E*>(c.data()), problem.ldc());
  }
  void reset_c() { c.upload(problem.c()); }
};

/// Waits, within a stream, until it may go on, but not for ever.
struct Gate {
  std::atomic<bool> is_open{false};
  static void wait(void* gate) {
    const auto begin = std::chrono::steady_clock::now();
    while (!static_cast<Gate*>(gate)->is_open && std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
    }
  }
};

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

// Where kizami multiplies, equal calls have equal bits. cuBLAS alone promises that for one stream only.
template <class T>
void expect_same_bits(const std::string& name, const std::vector<T>& x, const std::vector<T>& y) {
  if (expects_kizami) report(name + ", same bits", same_bits(x, y) ? "" : "the bits differ");
}

template <class T>
std::string name_of(const char* what, const Shape& shape) {
  return std::string(Blas<T>::kName) + " " + preload_check::name_of(shape) + " " + what;
}

inline constexpr auto kN = CUBLAS_OP_N;
inline constexpr auto kT = CUBLAS_OP_T;
inline constexpr auto kC = CUBLAS_OP_C;

}  // namespace preload_check
