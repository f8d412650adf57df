// SPDX-License-Identifier: MIT
#include "engines/cublaslt/library.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

#include "base/fork_safe.hpp"

namespace kizami::engines {
namespace {

struct Loaded {
  CublasLt library;
  bool is_complete = false;
  std::string reason;
};

[[nodiscard]] Loaded load() {
  Loaded loaded;
  void* handle = nullptr;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
    const char* const error = dlerror();
    loaded.reason += std::string(loaded.reason.empty() ? "" : "; ") + (error == nullptr ? name : error);
  }
  if (handle == nullptr) return loaded;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr && loaded.reason.empty()) loaded.reason = std::string("libcublasLt has no ") + name;
    return function != nullptr;
  };
  CublasLt& lt = loaded.library;
  loaded.reason.clear();
  loaded.is_complete = find(lt.create, "cublasLtCreate") && find(lt.matmul, "cublasLtMatmul") &&
                       find(lt.init_desc, "cublasLtMatmulDescInit_internal") &&
                       find(lt.set_desc, "cublasLtMatmulDescSetAttribute") &&
                       find(lt.init_layout, "cublasLtMatrixLayoutInit_internal") &&
                       find(lt.set_layout, "cublasLtMatrixLayoutSetAttribute") &&
                       find(lt.init_preference, "cublasLtMatmulPreferenceInit_internal") &&
                       find(lt.set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
                       find(lt.find_algorithms, "cublasLtMatmulAlgoGetHeuristic");
  return loaded;
}

struct Handles {
  std::mutex mutex;
  std::map<int, Result<cublasLtHandle_t>> by_device;
};

[[nodiscard]] Result<cublasLtHandle_t> make_handle(const CublasLt& lt, int device) {
  int current = 0;
  cublasLtHandle_t handle = nullptr;
  const bool can_switch = cudaGetDevice(&current) == cudaSuccess && cudaSetDevice(device) == cudaSuccess;
  const cublasStatus_t status = can_switch ? lt.create(&handle) : CUBLAS_STATUS_NOT_INITIALIZED;
  if (can_switch) static_cast<void>(cudaSetDevice(current));
  if (status == CUBLAS_STATUS_SUCCESS) return handle;
  static_cast<void>(cudaGetLastError());  // not left for the caller's next check
  return Status(StatusCode::kUnsupported,
                "cublasLtCreate failed with status " + std::to_string(static_cast<int>(status)));
}

}  // namespace

const CublasLt* cublaslt_library(std::string* why) {
  static constinit base::MadeOnce<Loaded> library;
  const Loaded& loaded = library.get(load);
  if (loaded.is_complete) return &loaded.library;
  if (why != nullptr) *why = loaded.reason;
  return nullptr;
}

Result<cublasLtHandle_t> cublaslt_handle(int device) {
  std::string why;
  const CublasLt* const lt = cublaslt_library(&why);
  if (lt == nullptr) return Status(StatusCode::kUnsupported, why);
  static constinit base::PerProcess<Handles> all_handles;
  Handles& handles = all_handles.get();
  const std::lock_guard lock(handles.mutex);
  auto found = handles.by_device.find(device);
  if (found == handles.by_device.end()) found = handles.by_device.emplace(device, make_handle(*lt, device)).first;
  return found->second;
}

}  // namespace kizami::engines
