// SPDX-License-Identifier: MIT
// device.hpp by include/kizami/cuda.hpp and the CUDA runtime.
#include <cuda_runtime_api.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device.hpp"
#include "kizami/cuda.hpp"
#include "products.hpp"

namespace kizami::python {
namespace {

void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // a later call must not report it again
  const auto code = error == cudaErrorMemoryAllocation ? StatusCode::kOutOfMemory : StatusCode::kUnsupported;
  throw StatusError({code, std::string(what) + ": " + cudaGetErrorString(error)});
}

/// Makes a device the calling thread's current one, and the old one again at the end.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    int count = 0;
    check_cuda(cudaGetDeviceCount(&count), "looking for CUDA devices");
    if (device < 0 || device >= count) {
      refuse("device = cuda:" + std::to_string(device) + ", must be one of the " + std::to_string(count) +
             " that this process sees");
    }
    check_cuda(cudaGetDevice(&before_), "reading the current device");
    check_cuda(cudaSetDevice(device), "choosing the device");
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

cudaStream_t stream_of(std::uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); }

/// Memory of the current device's pool, in the order of a stream.
class DeviceMemory {
 public:
  DeviceMemory(std::size_t bytes, cudaStream_t stream) : bytes_(bytes), stream_(stream) {
    if (bytes > 0)
      check_cuda(cudaMallocAsync(&data_, bytes, stream), ("allocating " + std::to_string(bytes) + " bytes").c_str());
  }
  ~DeviceMemory() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
  cudaStream_t stream_;
};

/// The outcomes of what is enqueued, if they are wanted.
std::vector<Outcome> finish(const DeviceCall& call, std::span<const std::byte> workspace) {
  const cudaStream_t stream = stream_of(call.stream);
  std::vector<Outcome> outcomes(call.wants_outcomes ? static_cast<std::size_t>(call.plan.num_products()) : 0);
  if (!outcomes.empty()) check(cuda::read_outcomes(call.plan, workspace, stream, outcomes));
  if (call.waits) check_cuda(cudaStreamSynchronize(stream), "waiting for the product");
  return outcomes;
}

template <class T>
std::vector<Outcome> run_as(const DeviceCall& call) {
  const std::span<const std::int64_t> shape = call.c.batch_shape;
  const std::int64_t count = call.c.num_matrices();
  if (count != call.plan.num_products()) {
    refuse(std::to_string(count) + " products in out, must be " + std::to_string(call.plan.num_products()) +
           " as in the plan");
  }
  const cudaStream_t stream = stream_of(call.stream);
  const DeviceMemory workspace(call.plan.workspace_bytes(), stream);
  const bool has_prepared = call.a_prepared != nullptr || call.b_prepared != nullptr;
  if (has_prepared && count == 1) {
    const auto operand = [&](const cuda::PreparedOperand* prepared, const MatrixStack& stack) {
      return prepared != nullptr ? cuda::Operand<T>(*prepared) : cuda::Operand<T>(stack.view<T>(shape, 0));
    };
    check(cuda::run_prepared<T>(call.plan, factor<T>(call.alpha), operand(call.a_prepared, call.a),
                                operand(call.b_prepared, call.b), factor<T>(call.beta), call.c.output<T>(0),
                                workspace.bytes(), stream));
    return finish(call, workspace.bytes());
  }
  if (has_prepared) refuse(std::to_string(count) + " products by an operand that is prepared on a device, must be 1");
  std::vector<MatrixView<const T>> a, b;
  std::vector<MatrixView<T>> c;
  for (std::int64_t i = 0; i < count; ++i) {
    a.push_back(call.a.view<T>(shape, i));
    b.push_back(call.b.view<T>(shape, i));
    c.push_back(call.c.output<T>(i));
  }
  check(
      cuda::run_batched<T>(call.plan, factor<T>(call.alpha), a, b, factor<T>(call.beta), c, workspace.bytes(), stream));
  return finish(call, workspace.bytes());
}

/// What keeps device_array()'s memory; freed on the stream that it was allocated on.
struct OwnedArray {
  OwnedArray(int number, std::size_t bytes, cudaStream_t stream)
      : device(number), memory(std::make_unique<DeviceMemory>(bytes, stream)) {}
  ~OwnedArray() {
    int before = 0;
    if (cudaGetDevice(&before) != cudaSuccess) return;  // the driver is gone: at the end of the process
    cudaSetDevice(device);
    memory.reset();
    cudaSetDevice(before);
  }
  int device;
  std::unique_ptr<DeviceMemory> memory;
};

template <class T>
nb::object array_of(int device, cudaStream_t stream, const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  std::size_t count = 1;
  for (const std::size_t extent : extents) count *= extent;
  auto owned = std::make_unique<OwnedArray>(device, count * sizeof(T), stream);
  void* const data = owned->memory->data();
  const nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<OwnedArray*>(p); });
  return nb::cast(nb::ndarray<T, nb::device::cuda, nb::array_api>(data, extents.size(), extents.data(), owner, nullptr,
                                                                  nb::dtype<T>(), nb::device::cuda::value, device));
}

}  // namespace

Plan plan_on_device(int device, Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                    std::int64_t num_products, const Policy& policy) {
  const CurrentDevice current(device);
  return value_of(cuda::make_plan(scalar, m, n, k, policy, Batch{num_products}));
}

cuda::PreparedOperand prepare_on_device(const Plan& plan, int device, std::uintptr_t stream, Side side,
                                        const MatrixStack& matrix) {
  const CurrentDevice current(device);
  return with_scalar(plan.scalar(), [&]<class T>() {
    return value_of(cuda::prepare<T>(plan, side, matrix.view<T>({}, 0), stream_of(stream)));
  });
}

std::vector<Outcome> run_on_device(const DeviceCall& call) {
  const CurrentDevice current(call.device);
  return with_scalar(call.plan.scalar(), [&]<class T>() { return run_as<T>(call); });
}

nb::object device_array(int device, std::uintptr_t stream, const std::vector<std::int64_t>& shape, Scalar scalar) {
  const CurrentDevice current(device);
  return with_scalar(scalar, [&]<class T>() { return array_of<T>(device, stream_of(stream), shape); });
}

void copy_on_device(int device, std::uintptr_t stream, const OutputArray& target, const InputArray& source) {
  bool is_same = target.ndim() == source.ndim() && target.dtype() == source.dtype();
  std::int64_t expected = 1;
  for (std::size_t axis = source.ndim(); is_same && axis-- > 0;) {
    is_same = target.shape(axis) == source.shape(axis) && (source.shape(axis) <= 1 || source.stride(axis) == expected);
    expected *= static_cast<std::int64_t>(source.shape(axis));
  }
  if (!is_same) refuse("c has another shape or type than out or is not C-contiguous, must be");
  const CurrentDevice current(device);
  check_cuda(
      cudaMemcpyAsync(target.data(), source.data(), source.nbytes(), cudaMemcpyDeviceToDevice, stream_of(stream)),
      "copying c");
}

int num_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

}  // namespace kizami::python
