// SPDX-License-Identifier: MIT
#include "dropin_cublas/fake_cublas.hpp"

#include <cublasLt.h>
#include <cublasXt.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kizami::dropin_test {
namespace {

void call_another() {
  static bool is_nested = std::getenv("FAKE_CUBLAS_NESTED") == nullptr;
  if (is_nested) return;
  is_nested = true;
  FakeHandle handle;
  const double one = 1;
  static_cast<void>(
      cublasDgemm_v2(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nullptr, 1, nullptr, 1, &one, nullptr, 1));
}

cublasStatus_t print(const NativeCall& call) {
  std::string line = "cublas " + call.name;
  for (const Argument& argument : call.arguments) {
    if (!argument.is_address) line.append(" ").append(std::to_string(argument.value));
  }
  std::puts(line.c_str());
  call_another();
  const char* status = std::getenv("FAKE_CUBLAS_STATUS");
  return static_cast<cublasStatus_t>(status == nullptr ? 0 : std::atoi(status));
}

template <class... Arguments>
cublasStatus_t tell(const char* name, Arguments... arguments) {
  return on_native_call()({name, {argument_of(arguments)...}});
}

/// What the getters answer of a handle.
template <class Value>
cublasStatus_t answer(cublasHandle_t handle, Value FakeHandle::*member, Value* out) {
  const FakeHandle* fake = reinterpret_cast<const FakeHandle*>(handle);
  if (fake == nullptr || fake->is_destroyed) return CUBLAS_STATUS_NOT_INITIALIZED;
  *out = fake->*member;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t attribute_of(const void* descriptor, int attribute, void* out, std::size_t bytes, std::size_t* written) {
  const auto& values = static_cast<const FakeDescriptor*>(descriptor)->values;
  const auto found = values.find(attribute);
  if (found == values.end() || bytes > sizeof found->second) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(out, &found->second, bytes);
  if (written != nullptr) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

namespace {
std::atomic<int> handles{0};
}  // namespace

int created_handles() { return handles; }

OnNativeCall& on_native_call() {
  static auto* const function = new OnNativeCall(print);  // programs call cuBLAS to their very end
  return *function;
}

}  // namespace kizami::dropin_test

// NOLINTNEXTLINE(bugprone-macro-parentheses): lists with parentheses of their own
#define ENTRY_POINT(name, parameters, arguments)                                            \
  extern "C" cublasStatus_t name parameters {                                               \
    const auto tell_all = [](auto... x) { return kizami::dropin_test::tell(#name, x...); }; \
    return tell_all arguments;                                                              \
  }
#include "entry_points.inc"

using namespace kizami::dropin_test;  // NOLINT(google-build-using-namespace)

extern "C" cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = (new FakeHandle)->get();  // for as long as the process lives
  ++handles;
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete reinterpret_cast<FakeHandle*>(handle);
  --handles;
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<FakeHandle*>(handle)->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return answer(handle, &FakeHandle::stream, stream);
}
extern "C" cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return answer(handle, &FakeHandle::pointer_mode, mode);
}
extern "C" cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return answer(handle, &FakeHandle::math_mode, mode);
}
extern "C" cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t descriptor,
                                                         cublasLtMatmulDescAttributes_t attribute, void* out,
                                                         std::size_t bytes, std::size_t* written) {
  return attribute_of(descriptor, attribute, out, bytes, written);
}
extern "C" cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t descriptor,
                                                           cublasLtMatrixLayoutAttribute_t attribute, void* out,
                                                           std::size_t bytes, std::size_t* written) {
  return attribute_of(descriptor, attribute, out, bytes, written);
}
