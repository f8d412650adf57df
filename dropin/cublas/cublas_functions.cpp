// SPDX-License-Identifier: MIT
#include "cublas_functions.hpp"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

namespace kizami::dropin {
namespace {

/// What dlsym() searches for cuBLAS, or null. Libraries that are opened here stay open.
void* cublas_library() {
  if (dlsym(RTLD_NEXT, "cublasGetStream_v2") != nullptr) return RTLD_NEXT;
  constexpr const char* kNames[]{"libcublas.so.13", "libcublas.so.12"};
  for (const int loaded_only : {RTLD_NOLOAD, 0}) {
    for (const char* name : kNames) {
      void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | loaded_only);
      if (library != nullptr) return library;
    }
  }
  return nullptr;
}

template <class Function>
void find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
}

void find_gemms(void* library, CublasFunctions& out) {
  auto& [s, d, c, z, s64, d64, c64, z64] = out.gemms;
  find(library, "cublasSgemm_v2", s);
  find(library, "cublasDgemm_v2", d);
  find(library, "cublasCgemm_v2", c);
  find(library, "cublasZgemm_v2", z);
  find(library, "cublasSgemm_v2_64", s64);
  find(library, "cublasDgemm_v2_64", d64);
  find(library, "cublasCgemm_v2_64", c64);
  find(library, "cublasZgemm_v2_64", z64);
}

}  // namespace

const CublasFunctions* find_cublas() {
  static std::atomic<const CublasFunctions*> found{nullptr};
  static std::mutex mutex;
  static CublasFunctions functions;
  if (const CublasFunctions* known = found.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(mutex);
  if (found.load(std::memory_order_relaxed) == nullptr) {
    void* library = cublas_library();
    if (library == nullptr) return nullptr;  // it may be loaded later
    find_gemms(library, functions);
    find(library, "cublasGetStream_v2", functions.get_stream);
    find(library, "cublasGetPointerMode_v2", functions.get_pointer_mode);
    find(library, "cublasGetMathMode", functions.get_math_mode);
    found.store(&functions, std::memory_order_release);
  }
  return &functions;
}

}  // namespace kizami::dropin
