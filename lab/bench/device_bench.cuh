// SPDX-License-Identifier: MIT
// What the programs that time products on a CUDA device share: random numbers, the error against a double-double
// reference, native cuBLAS (opened at run time), buffers and times.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "harness/device.hpp"
#include "harness/facts.hpp"

namespace bench {

// ---- random numbers and reference, on the device --------------------------------------------------------------------

__device__ inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
__device__ inline double unit(std::uint64_t x) { return (static_cast<double>(mix(x) >> 11) + 0.5) * 0x1p-53; }

/// (uniform(0,1) - 0.5) exp(phi normal): the exponents of elements are the wider, the larger phi is.
template <class R>
__global__ void fill(R* x, std::int64_t count, double phi, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::uint64_t at = seed * 0x100000000ull + 3 * static_cast<std::uint64_t>(i);
    const double normal = sqrt(-2.0 * log(unit(at))) * cospi(2.0 * unit(at + 1));
    x[i] = static_cast<R>((unit(at + 2) - 0.5) * exp(phi * normal));
  }
}

/// Strides of a matrix in elements: (i, j) lies at i * row + j * col.
struct Strides {
  std::int64_t row, col;
};

/// A part of an element of AB as a double-double sum, whose error is 2^-90 of the gauge or less, and of |A||B|.
struct ExactElement {
  double high, low, gauge;

  /// got - AB.
  __device__ double error_of(double got) const { return (got - high) - low; }
};

/// Part `part` of the product of a row of A, from `a` on, and a column of B, by a block of at most 256 threads, all of
/// which come here. @return of thread 0 alone
template <class R, int kTerms>
__device__ ExactElement exact_element(const R* a, std::int64_t a_stride, const R* b, std::int64_t b_stride,
                                      std::int64_t k, int part) {
  __shared__ double high[256], low[256], scale[256];
  double s = 0, e = 0, g = 0;
  const auto add = [&](double x, double y) {
    const double p = x * y;
    const double p_error = fma(x, y, -p);
    const double t = s + p;
    const double z = t - s;
    e += ((s - (t - z)) + (p - z)) + p_error;
    s = t;
    g += fabs(p);
  };
  for (std::int64_t h = threadIdx.x; h < k; h += blockDim.x) {
    const R* const x = a + h * a_stride * kTerms;
    const R* const y = b + h * b_stride * kTerms;
    if (kTerms == 1) {
      add(x[0], y[0]);
    } else if (part == 0) {
      add(x[0], y[0]);
      add(-static_cast<double>(x[kTerms - 1]), y[kTerms - 1]);
    } else {
      add(x[0], y[kTerms - 1]);
      add(x[kTerms - 1], y[0]);
    }
  }
  high[threadIdx.x] = s;
  low[threadIdx.x] = e;
  scale[threadIdx.x] = g;
  __syncthreads();
  ExactElement sum{};
  if (threadIdx.x == 0) {
    for (unsigned t = 0; t < blockDim.x; ++t) {
      const double v = sum.high + high[t];
      const double z = v - sum.high;
      sum.low += ((sum.high - (v - z)) + (high[t] - z)) + low[t];
      sum.high = v;
      sum.gauge += scale[t];
    }
  }
  __syncthreads();
  return sum;
}

/// Raises *largest to x >= 0; NaN counts as 1e300.
__device__ inline void raise_to(double* largest, double x) {
  // Not negative: their bits are in their order.
  atomicMax(reinterpret_cast<unsigned long long*>(largest),
            static_cast<unsigned long long>(__double_as_longlong(x == x ? x : 1e300)));
}

/// Largest |C - AB| / (|A||B|) of the parts of one row of C, a column-major matrix of m rows; one block a column. NaN
/// counts as 1e300. To squares, unless it is null, are added those of C - AB and of AB.
template <class R, int kTerms>
__global__ void row_error(const R* a, Strides a_strides, const R* b, Strides b_strides, const R* c, std::int64_t m,
                          std::int64_t k, std::int64_t i, double* worst, double* squares = nullptr) {
  const std::int64_t j = blockIdx.x;
  for (int part = 0; part < kTerms; ++part) {
    const ExactElement exact = exact_element<R, kTerms>(a + i * a_strides.row * kTerms, a_strides.col,
                                                        b + j * b_strides.col * kTerms, b_strides.row, k, part);
    if (threadIdx.x != 0) continue;
    const double difference = exact.error_of(c[(j * m + i) * kTerms + part]);
    raise_to(worst, fabs(difference) / exact.gauge);
    if (squares != nullptr) {
      atomicAdd(&squares[0], difference * difference);
      atomicAdd(&squares[1], exact.high * exact.high);
    }
  }
}

// ---- native ---------------------------------------------------------------------------------------------------------

struct Cublas {
  cublasHandle_t handle = nullptr;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSgemm_v2_64) sgemm = nullptr;
  decltype(&cublasDgemm_v2_64) dgemm = nullptr;
  decltype(&cublasCgemm_v2_64) cgemm = nullptr;
  decltype(&cublasZgemm_v2_64) zgemm = nullptr;
  decltype(&cublasSgemmStridedBatched_64) sgemm_strided = nullptr;
  decltype(&cublasDgemmStridedBatched_64) dgemm_strided = nullptr;
  decltype(&cublasCgemmStridedBatched_64) cgemm_strided = nullptr;
  decltype(&cublasZgemmStridedBatched_64) zgemm_strided = nullptr;
  decltype(&cublasGemmEx_64) gemm_ex = nullptr;
  void* library = nullptr;

  Cublas() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    }
    if (library == nullptr) throw std::runtime_error("no libcublas.so.13 or .12: set LD_LIBRARY_PATH");
    find(create, "cublasCreate_v2");
    find(sgemm, "cublasSgemm_v2_64");
    find(dgemm, "cublasDgemm_v2_64");
    find(cgemm, "cublasCgemm_v2_64");
    find(zgemm, "cublasZgemm_v2_64");
    find(sgemm_strided, "cublasSgemmStridedBatched_64");
    find(dgemm_strided, "cublasDgemmStridedBatched_64");
    find(cgemm_strided, "cublasCgemmStridedBatched_64");
    find(zgemm_strided, "cublasZgemmStridedBatched_64");
    find(gemm_ex, "cublasGemmEx_64");
    if (create(&handle) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasCreate failed");
  }
  /// FP64 products by the vendor's own emulation from now on, whether or not it takes that for quicker.
  /// @param bits of the mantissa; 0: as many as the device finds that the elements need
  /// @param workspace for it, so that it is not held back by the one of cuBLAS
  void emulate(int bits, void* workspace, std::size_t bytes) const {
#if CUBLAS_VERSION >= 130100
    const auto set = [this](auto f, const char* name, auto... values) {
      find(f, name);
      if (f(handle, values...) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(name) + " failed");
    };
    set(decltype(&cublasSetWorkspace_v2){}, "cublasSetWorkspace_v2", workspace, bytes);
    set(decltype(&cublasSetMathMode){}, "cublasSetMathMode", CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
    using Strategy = cublasStatus_t (*)(cublasHandle_t, cublasEmulationStrategy_t);  // C++ has an overload beside it
    set(Strategy{}, "cublasSetEmulationStrategy", CUBLAS_EMULATION_STRATEGY_EAGER);
    set(decltype(&cublasSetFixedPointEmulationMantissaControl){}, "cublasSetFixedPointEmulationMantissaControl",
        bits == 0 ? CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC : CUDA_EMULATION_MANTISSA_CONTROL_FIXED);
    if (bits == 0) return;
    set(decltype(&cublasSetFixedPointEmulationMaxMantissaBitCount){}, "cublasSetFixedPointEmulationMaxMantissaBitCount",
        bits);
#else
    static_cast<void>(bits), static_cast<void>(workspace), static_cast<void>(bytes);
    throw std::runtime_error("emulation of FP64 by cuBLAS needs the headers of CUDA 13.0.2 or newer");
#endif
  }
  [[nodiscard]] int version() const {
    decltype(&cublasGetVersion_v2) get = nullptr;
    find(get, "cublasGetVersion_v2");
    int value = 0;
    if (get(handle, &value) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGetVersion failed");
    return value;
  }
  /// C = A B, or C -= A B, or as many of them as num_products says, each behind the one before it.
  template <class T>
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c,
                bool is_a_transposed = false, bool is_b_transposed = false, std::int64_t num_products = 1,
                bool is_update = false) const {
    cublasStatus_t status;
    alignas(16) const T alpha{is_update ? -1.0F : 1.0F};  // cuBLAS reads its own types
    alignas(16) const T beta{is_update ? 1.0F : 0.0F};
    const auto call = [&](auto f, auto f_strided, auto* x, auto* y, auto* z, const auto* p, const auto* q) {
      const cublasOperation_t op_a = is_a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
      const cublasOperation_t op_b = is_b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
      const std::int64_t lda = is_a_transposed ? k : m;
      const std::int64_t ldb = is_b_transposed ? n : k;
      if (num_products == 1) return f(handle, op_a, op_b, m, n, k, p, x, lda, y, ldb, q, z, m);
      return f_strided(handle, op_a, op_b, m, n, k, p, x, lda, m * k, y, ldb, k * n, q, z, m, m * n, num_products);
    };
    if constexpr (std::is_same_v<T, float>) {
      status = call(sgemm, sgemm_strided, a, b, c, &alpha, &beta);
    } else if constexpr (std::is_same_v<T, double>) {
      status = call(dgemm, dgemm_strided, a, b, c, &alpha, &beta);
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      status = call(cgemm, cgemm_strided, reinterpret_cast<const cuComplex*>(a), reinterpret_cast<const cuComplex*>(b),
                    reinterpret_cast<cuComplex*>(c), reinterpret_cast<const cuComplex*>(&alpha),
                    reinterpret_cast<const cuComplex*>(&beta));
    } else {
      status = call(zgemm, zgemm_strided, reinterpret_cast<const cuDoubleComplex*>(a),
                    reinterpret_cast<const cuDoubleComplex*>(b), reinterpret_cast<cuDoubleComplex*>(c),
                    reinterpret_cast<const cuDoubleComplex*>(&alpha), reinterpret_cast<const cuDoubleComplex*>(&beta));
    }
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS failed");
  }
  /// FP32 C = A B with operands of type `input` and the arithmetic `compute`.
  void multiply_as(cudaDataType input, cublasComputeType_t compute, std::int64_t m, std::int64_t n, std::int64_t k,
                   const void* a, const void* b, float* c, bool is_a_transposed, bool is_b_transposed) const {
    const float one = 1, zero = 0;
    const cublasStatus_t status =
        gemm_ex(handle, is_a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, is_b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, m, n,
                k, &one, a, input, is_a_transposed ? k : m, b, input, is_b_transposed ? n : k, &zero, c, CUDA_R_32F, m,
                compute, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS failed");
  }

 private:
  template <class Function>
  void find(Function& f, const char* name) const {
    f = reinterpret_cast<Function>(dlsym(library, name));
    if (f == nullptr) throw std::runtime_error(std::string("libcublas has no ") + name);
  }
};

template <class T>
struct DeviceBuffer {
  T* data = nullptr;
  explicit DeviceBuffer(std::int64_t count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data), static_cast<std::size_t>(count) * sizeof(T)), "cudaMalloc");
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data); }
};

/// Keeps the queue busy while the host fills it.
[[maybe_unused]] static __global__ void wait_cycles(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

/// Times calls on the default stream by events; a kernel that waits goes ahead of them, so that no launch by the host
/// is timed.
class Timer {
 public:
  Timer() {
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  void start() const { check(cudaEventRecord(begin_), "event"); }
  void stop() const { check(cudaEventRecord(end_), "event"); }
  [[nodiscard]] float milliseconds() const {
    check(cudaEventSynchronize(end_), "timed calls");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "event");
    return ms;
  }
  /// Of `calls` calls back to back, over their number.
  [[nodiscard]] float time(const std::function<void()>& call, int calls) const {
    wait_cycles<<<1, 1>>>(60000 + 15000LL * calls);
    start();
    for (int i = 0; i < calls; ++i) call();
    stop();
    return milliseconds() / static_cast<float>(calls);
  }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace bench
