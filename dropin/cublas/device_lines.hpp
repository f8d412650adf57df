// SPDX-License-Identifier: MIT
// What samples read of calls on a device: whether their stream may be waited for, lines of matrices, addresses and
// factors in its memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "dropin/cublas/call.hpp"
#include "dropin/cublas/relaxed_capture.hpp"

namespace kizami::dropin::cublas {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // not left for the next check of Kizami's
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

[[nodiscard]] inline bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &status);
  if (error == cudaErrorStreamCaptureImplicit) {  // the legacy stream, and another one is captured
    static_cast<void>(cudaGetLastError());
    return true;
  }
  check(error, "the stream");
  return status != cudaStreamCaptureStatusNone;
}

/// Reads whatever the address space of the device holds, in the order of the stream, and waits for it.
template <class T>
struct ReadThroughStream {
  cudaStream_t stream;

  std::vector<T> operator()(const T* first, std::int64_t count, std::int64_t stride) const {
    constexpr const char* kWhat = "a line is not copied";
    constexpr std::size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be an address
    std::vector<T> line(static_cast<std::size_t>(count));
    const std::size_t length = line.size();
    if (stride == 1) {
      check(cudaMemcpyAsync(line.data(), first, length * kBytes, cudaMemcpyDefault, stream), kWhat);
    } else {
      check(cudaMemcpy2DAsync(line.data(), kBytes, first, static_cast<std::size_t>(stride) * kBytes, kBytes, length,
                              cudaMemcpyDefault, stream),
            kWhat);
    }
    check(cudaStreamSynchronize(stream), kWhat);
    return line;
  }
  [[nodiscard]] T one(const T* address) const { return (*this)(address, 1, 1).front(); }
};

/// The i-th matrix of a batch.
template <class T, class Address>
[[nodiscard]] T* matrix_of(const Call& call, const Context& context, Address first, std::int64_t stride,
                           std::int64_t i) {
  if (first == nullptr) return nullptr;
  if (call.form != Form::kPointers) return static_cast<T*>(first) + i * stride;
  return ReadThroughStream<T*>{context.stream}.one(static_cast<T* const*>(first) + i);
}

template <class T>
[[nodiscard]] TypedCall<T> typed(const Call& call, const Context& context, std::int64_t product) {
  const ReadThroughStream<T> read{context.stream};
  const auto factor = [&](const void* address, bool is_real) {
    return context.has_device_factors ? read.one(static_cast<const T*>(address)) : factor_at<T>(address, is_real);
  };
  TypedCall<T> x;
  static_cast<Shape&>(x) = call;
  x.alpha = factor(call.alpha, has_real_alpha(call));
  x.a = matrix_of<const T>(call, context, call.a, call.stride_a, product);
  x.lda = call.lda;
  x.b = matrix_of<const T>(call, context, call.b, call.stride_b, product);
  x.ldb = call.ldb;
  x.beta = factor(call.beta, has_real_beta(call));
  x.c = matrix_of<T>(call, context, call.c, call.stride_c, product);
  x.ldc = call.ldc;
  return x;
}

/// Which product of a batch the e-th of so many elements is of: spread over the batch, to its ends.
[[nodiscard]] constexpr std::int64_t product_of(std::int64_t e, std::int64_t last_element, std::int64_t num_products) {
  const std::int64_t last = num_products - 1;
  return last / last_element * e + last % last_element * e / last_element;
}

}  // namespace kizami::dropin::cublas
