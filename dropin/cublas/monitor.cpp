// SPDX-License-Identifier: MIT
#include "dropin/cublas/monitor.hpp"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

namespace kizami::dropin::cublas {
namespace {

constexpr const char* kCaptured = "the stream is captured into a graph";

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // not left for the next check of Kizami's
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// Within it the thread may wait for a stream that is not captured while another one is.
class RelaxedCapture {
 public:
  RelaxedCapture() { check(cudaThreadExchangeStreamCaptureMode(&mode_), "the capture mode"); }
  ~RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

bool is_captured(cudaStream_t stream) {
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
T* matrix_of(const Call& call, const Context& context, Address first, std::int64_t stride, std::int64_t i) {
  if (first == nullptr) return nullptr;
  if (call.form != Form::kPointers) return static_cast<T*>(first) + i * stride;
  return ReadThroughStream<T*>{context.stream}.one(static_cast<T* const*>(first) + i);
}

template <class T>
TypedCall<T> typed(const Call& call, const Context& context, std::int64_t product) {
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

template <class T>
class SamplesOf : public Monitor::Samples {
 public:
  SamplesOf(const Call& call, const Context& context) : read_{context.stream} {
    constexpr std::int64_t kLast = Sample<T>::kElements - 1;
    const std::int64_t last = call.num_products - 1;
    for (int e = 0; e <= kLast; ++e) {
      const std::int64_t product = last / kLast * e + last % kLast * e / kLast;  // spread over the batch
      sample_.add(typed<T>(call, context, product), e, read_);
    }
  }
  [[nodiscard]] double worst_ratio(
      const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance) const override {
    return sample_.worst_ratio(read_, allowance);
  }

 private:
  ReadThroughStream<T> read_;
  Sample<T> sample_;
};

}  // namespace

Monitor::Monitor(const Call& call, const Context& context) noexcept {
  try {
    if (is_captured(context.stream)) {
      why_none_ = kCaptured;
      return;
    }
    const RelaxedCapture relaxed;
    samples_ = with_scalar(call.scalar, [&]<class T>() -> std::unique_ptr<Samples> {
      return std::make_unique<SamplesOf<T>>(call, context);
    });
  } catch (const std::exception& e) {
    why_none_ = e.what();
  }
}

void Monitor::judge(const std::function<Allowance(std::int64_t i, std::int64_t j)>& allowance,
                    CallReport& report) noexcept {
  try {
    report.why_no_sample = why_none_;
    if (samples_ == nullptr) return;
    const RelaxedCapture relaxed;
    report.worst_ratio = samples_->worst_ratio(allowance);
  } catch (const std::exception& e) {
    report.why_no_sample = e.what();
  }
}

}  // namespace kizami::dropin::cublas
