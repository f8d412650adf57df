// SPDX-License-Identifier: MIT
#include "engines/cublas/cublas.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <complex>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/fork_safe.hpp"
#include "engines/cublas/cublas_seconds.hpp"

namespace kizami::engines {
namespace {

/// The functions of one element type.
template <class Gemm, class Strided, class Arrays>
struct Functions {
  Gemm gemm = nullptr;
  Strided strided = nullptr;
  Arrays arrays = nullptr;
};

struct Cublas {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetPointerMode_v2) set_pointer_mode = nullptr;
  Functions<decltype(&cublasSgemm_v2_64), decltype(&cublasSgemmStridedBatched_64), decltype(&cublasSgemmBatched_64)> s;
  Functions<decltype(&cublasDgemm_v2_64), decltype(&cublasDgemmStridedBatched_64), decltype(&cublasDgemmBatched_64)> d;
  Functions<decltype(&cublasCgemm_v2_64), decltype(&cublasCgemmStridedBatched_64), decltype(&cublasCgemmBatched_64)> c;
  Functions<decltype(&cublasZgemm_v2_64), decltype(&cublasZgemmStridedBatched_64), decltype(&cublasZgemmBatched_64)> z;
};

struct Loaded {
  Cublas library;
  std::string why_not;  ///< empty: everything was found
};

[[nodiscard]] Loaded load() {
  Loaded loaded;
  void* library = nullptr;
  std::string reason;
  for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* const error = dlerror();
    reason += std::string(reason.empty() ? "" : "; ") + (error == nullptr ? name : error);
  }
  if (library == nullptr) {
    loaded.why_not = reason;
    return loaded;
  }
  const auto find = [&](auto& function, const std::string& name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name.c_str()));
    if (function == nullptr && loaded.why_not.empty()) loaded.why_not = "libcublas has no " + name;
  };
  const auto find_functions = [&](auto& functions, const std::string& prefix) {
    find(functions.gemm, prefix + "gemm_v2_64");
    find(functions.strided, prefix + "gemmStridedBatched_64");
    find(functions.arrays, prefix + "gemmBatched_64");
  };
  Cublas& cublas = loaded.library;
  find(cublas.create, "cublasCreate_v2");
  find(cublas.set_stream, "cublasSetStream_v2");
  find(cublas.set_workspace, "cublasSetWorkspace_v2");
  find(cublas.set_pointer_mode, "cublasSetPointerMode_v2");
  find_functions(cublas.s, "cublasS");
  find_functions(cublas.d, "cublasD");
  find_functions(cublas.c, "cublasC");
  find_functions(cublas.z, "cublasZ");
  return loaded;
}

/// cuBLAS's name for a type, and its functions.
template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  using Element = float;
  static const auto& functions(const Cublas& cublas) { return cublas.s; }
};
template <>
struct TypeOf<double> {
  using Element = double;
  static const auto& functions(const Cublas& cublas) { return cublas.d; }
};
template <>
struct TypeOf<std::complex<float>> {
  using Element = cuComplex;
  static const auto& functions(const Cublas& cublas) { return cublas.c; }
};
template <>
struct TypeOf<std::complex<double>> {
  using Element = cuDoubleComplex;
  static const auto& functions(const Cublas& cublas) { return cublas.z; }
};

/// Handles by device, never destroyed: a BLAS may be called by destructors of static objects. The mutex is held from
/// the setting of a handle's stream to the end of the call.
struct Handles {
  std::mutex mutex;
  std::map<int, cublasHandle_t> by_device;
};
constinit base::PerProcess<Handles> all_handles;
constinit base::MadeOnce<Loaded> loaded_library;

Status cublas_status(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  static_cast<void>(cudaGetLastError());  // not left for the caller's next check
  const StatusCode code = status == CUBLAS_STATUS_ALLOC_FAILED ? StatusCode::kOutOfMemory : StatusCode::kInternal;
  return {code, std::string(what) + " of cuBLAS failed with status " + std::to_string(static_cast<int>(status))};
}

/// @range the device is the current one; the mutex is held
Status find_handle(const Cublas& cublas, Handles& handles, int device, product::Queue queue, cublasHandle_t& handle) {
  const auto found = handles.by_device.find(device);
  if (found != handles.by_device.end()) {
    handle = found->second;
    return {};
  }
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaStreamIsCapturing(queue, &capture), "cudaStreamIsCapturing"));
  if (capture != cudaStreamCaptureStatusNone) {
    return {StatusCode::kUnsupported,
            "scheme native: the first product by cuBLAS on a device makes a handle, which a captured stream cannot: "
            "run one before"};
  }
  KIZAMI_RETURN_IF_ERROR(cublas_status(cublas.create(&handle), "cublasCreate"));
  handles.by_device.emplace(device, handle);
  return {};
}

[[nodiscard]] cublasOperation_t operation(Op op) {
  return op == Op::kNone ? CUBLAS_OP_N : op == Op::kTranspose ? CUBLAS_OP_T : CUBLAS_OP_C;
}

template <class T>
Status multiply(int device, const product::NativeProducts<T>& p, std::span<std::byte> scratch, product::Queue queue) {
  const Loaded& loaded = loaded_library.get(load);
  if (!loaded.why_not.empty()) return {StatusCode::kUnsupported, "scheme native: " + loaded.why_not};
  const Cublas& cublas = loaded.library;
  Handles& handles = all_handles.get();
  const std::lock_guard lock(handles.mutex);
  cublasHandle_t handle = nullptr;
  KIZAMI_RETURN_IF_ERROR(find_handle(cublas, handles, device, queue, handle));
  KIZAMI_RETURN_IF_ERROR(cublas_status(cublas.set_stream(handle, queue), "cublasSetStream"));
  if (!scratch.empty())  // after the stream, which takes the workspace away
    KIZAMI_RETURN_IF_ERROR(
        cublas_status(cublas.set_workspace(handle, scratch.data(), scratch.size()), "cublasSetWorkspace"));
  const cublasPointerMode_t mode = p.are_factors_on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
  KIZAMI_RETURN_IF_ERROR(cublas_status(cublas.set_pointer_mode(handle, mode), "cublasSetPointerMode"));

  using E = typename TypeOf<T>::Element;
  const auto& functions = TypeOf<T>::functions(cublas);
  const product::ColumnMajorForm& f = p.form;
  const cublasOperation_t op_left = operation(f.op_left);
  const cublasOperation_t op_right = operation(f.op_right);
  // cuBLAS reads factors on the host as its own types, which are aligned to their size; std::complex is not.
  E host_factors[2];
  const auto* alpha = reinterpret_cast<const E*>(p.alpha);
  const auto* beta = reinterpret_cast<const E*>(p.beta);
  if (!p.are_factors_on_device) {
    std::memcpy(&host_factors[0], p.alpha, sizeof(E));
    std::memcpy(&host_factors[1], p.beta, sizeof(E));
    alpha = &host_factors[0];
    beta = &host_factors[1];
  }
  if (p.c_array != nullptr) {
    return cublas_status(functions.arrays(handle, op_left, op_right, f.m, f.n, f.k, alpha,
                                          reinterpret_cast<const E* const*>(p.left_array), f.ld_left,
                                          reinterpret_cast<const E* const*>(p.right_array), f.ld_right, beta,
                                          reinterpret_cast<E* const*>(p.c_array), f.ld_c, p.num_products),
                         "gemmBatched");
  }
  const auto* const left = reinterpret_cast<const E*>(p.left);
  const auto* const right = reinterpret_cast<const E*>(p.right);
  auto* const c = reinterpret_cast<E*>(p.c);
  if (p.num_products == 1) {
    return cublas_status(functions.gemm(handle, op_left, op_right, f.m, f.n, f.k, alpha, left, f.ld_left, right,
                                        f.ld_right, beta, c, f.ld_c),
                         "gemm");
  }
  return cublas_status(
      functions.strided(handle, op_left, op_right, f.m, f.n, f.k, alpha, left, f.ld_left, p.left_stride, right,
                        f.ld_right, p.right_stride, beta, c, f.ld_c, p.c_stride, p.num_products),
      "gemmStridedBatched");
}

class CublasEngine final : public product::NativeDeviceEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cublas"; }
  [[nodiscard]] double seconds(const problem::Shape& shape, const product::DeviceFacts& facts,
                               std::int64_t num_products) const override {
    return cublas_seconds(shape, num_products, facts.rates);
  }
  [[nodiscard]] std::size_t scratch_bytes() const override { return kCublasScratchBytes; }

  [[nodiscard]] Status run(int device, const product::NativeProducts<float>& products, std::span<std::byte> scratch,
                           product::Queue queue) const override {
    return multiply(device, products, scratch, queue);
  }
  [[nodiscard]] Status run(int device, const product::NativeProducts<double>& products, std::span<std::byte> scratch,
                           product::Queue queue) const override {
    return multiply(device, products, scratch, queue);
  }
  [[nodiscard]] Status run(int device, const product::NativeProducts<std::complex<float>>& products,
                           std::span<std::byte> scratch, product::Queue queue) const override {
    return multiply(device, products, scratch, queue);
  }
  [[nodiscard]] Status run(int device, const product::NativeProducts<std::complex<double>>& products,
                           std::span<std::byte> scratch, product::Queue queue) const override {
    return multiply(device, products, scratch, queue);
  }
};

}  // namespace

const product::NativeDeviceEngine& cublas_engine() {
  static constinit base::MadeOnce<CublasEngine> engine;
  return engine.get();
}

}  // namespace kizami::engines
