// SPDX-License-Identifier: MIT
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <fstream>
#include <new>
#include <span>
#include <string_view>

#include "device.hpp"
#include "device_buffers.hpp"
#include "failure.hpp"
#include "kizami/cuda.hpp"

namespace kizami::cli {
namespace {

/// "580.159.04" of the kernel module where the system tells it, else the CUDA version that the driver has.
std::string driver_name() {
  std::ifstream in("/proc/driver/nvidia/version");
  std::string word;
  while (in >> word) {
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  }
  int version = 0;
  check_cuda(cudaDriverGetVersion(&version), "asking for the driver");
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Throws Failure kRefused where this machine has no such device.
void require_device_number(int number) {
  const int count = device_count();
  if (number < count) return;
  throw Failure(ExitCode::kRefused, fmt::format("--device = {}, this machine has {}", number, count));
}

/// At least so many bytes, and not many more: matrices fill devices.
std::byte* reserve(GrowingBuffer<false>& buffer, std::size_t bytes, std::string_view what) {
  try {
    return buffer.reserve_exactly(std::max<std::size_t>(bytes, 1));
  } catch (const std::bad_alloc&) {
    throw Failure(ExitCode::kOutOfMemory, fmt::format("--device: no device memory for {} of {}, {} are free",
                                                      in_bytes(bytes), what, in_bytes(device_room().free_bytes)));
  }
}

/// From the first element of a matrix to behind its last, with what lies between its lines. @units elements
template <class T>
std::size_t extent_of(const MatrixView<T>& x) {
  if (x.rows == 0 || x.cols == 0) return 0;
  return static_cast<std::size_t>((x.rows - 1) * x.row_stride + (x.cols - 1) * x.col_stride + 1);
}

template <class T>
class Product final : public DeviceProduct<T> {
 public:
  Product() {
    require_device();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    for (cudaEvent_t* const event : {&begin_, &end_}) check_cuda(cudaEventCreate(event), "making an event");
  }
  ~Product() override {
    for (cudaEvent_t const event : {begin_, end_}) static_cast<void>(cudaEventDestroy(event));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void load(MatrixView<const T> a, MatrixView<const T> b, MatrixView<const T> c, bool reads_c) override {
    a_ = placed(a, a_memory_, "A");
    b_ = placed(b, b_memory_, "B");
    c_ = placed(c, c_memory_, "C");
    copy(a_, a, "copying A");
    copy(b_, b, "copying B");
    const bool has_gaps = extent_of(c) != static_cast<std::size_t>(c.rows * c.cols);  // which come back as they were
    if (reads_c || has_gaps) copy(c_, c, "copying C");
    wait("copying operands");
  }

  Result<double> run(const Plan& plan, T alpha, T beta, int calls, Outcome& outcome) override {
    const std::size_t bytes = plan.workspace_bytes();
    const std::span<std::byte> workspace(reserve(workspace_, bytes, "workspace"), bytes);
    check_cuda(cudaEventRecord(begin_, stream_), "timing");
    for (int call = 0; call < calls; ++call)
      KIZAMI_RETURN_IF_ERROR(cuda::run<T>(plan, alpha, a_, b_, beta, c_, workspace, stream_));
    check_cuda(cudaEventRecord(end_, stream_), "timing");
    wait("waiting for a product");
    const Result<Outcome> told = cuda::read_outcome(plan, workspace, stream_);
    if (!told.ok()) return told.status();
    outcome = told.value();
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
    return 1e-3 * static_cast<double>(milliseconds) / calls;
  }

  void store(MatrixView<T> c) override {
    check_cuda(cudaMemcpyAsync(c.data, c_.data, extent_of(c) * sizeof(T), cudaMemcpyDeviceToHost, stream_),
               "copying C back");
    wait("copying C back");
  }

 private:
  /// The same matrix in device memory.
  static MatrixView<T> placed(MatrixView<const T> x, GrowingBuffer<false>& memory, std::string_view what) {
    T* const data = reinterpret_cast<T*>(reserve(memory, extent_of(x) * sizeof(T), what));
    return {data, x.rows, x.cols, x.row_stride, x.col_stride, x.is_conjugated};
  }
  void copy(MatrixView<T> to, MatrixView<const T> from, const char* what) {
    check_cuda(cudaMemcpyAsync(to.data, from.data, extent_of(from) * sizeof(T), cudaMemcpyHostToDevice, stream_), what);
  }
  void wait(const char* what) { check_cuda(cudaStreamSynchronize(stream_), what); }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  GrowingBuffer<false> a_memory_, b_memory_, c_memory_, workspace_;
  MatrixView<T> a_, b_, c_;
};

}  // namespace

void require_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return;
  static_cast<void>(cudaGetLastError());
  throw Failure(ExitCode::kRefused, std::string("--device: no CUDA device is found") +
                                        (error == cudaSuccess ? "" : std::string(": ") + cudaGetErrorString(error)));
}

std::string cuda_version() { return fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10); }

int device_count() {
  require_device();
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "asking for devices");
  return count;
}

DeviceNames device_names() {
  require_device();
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the device");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "asking for the device");
  return {properties.name, driver_name()};
}

void use_device(int number) {
  require_device_number(number);
  check_cuda(cudaSetDevice(number), "taking the device");
}

DeviceRoom device_room() {
  DeviceRoom room{device_names().device};
  std::size_t free_bytes = 0, total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for its memory");
  room.free_bytes = free_bytes;
  room.total_bytes = total_bytes;
  return room;
}

std::string device_name(int number) {
  require_device_number(number);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, number), "asking for the device");
  return properties.name;
}

Result<Plan> device_plan(Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k, const Policy& policy) {
  require_device();
  return cuda::make_plan(scalar, m, n, k, policy);
}

template <class T>
std::unique_ptr<DeviceProduct<T>> device_product() {
  return std::make_unique<Product<T>>();
}
template std::unique_ptr<DeviceProduct<float>> device_product();
template std::unique_ptr<DeviceProduct<double>> device_product();
template std::unique_ptr<DeviceProduct<std::complex<float>>> device_product();
template std::unique_ptr<DeviceProduct<std::complex<double>>> device_product();

}  // namespace kizami::cli
