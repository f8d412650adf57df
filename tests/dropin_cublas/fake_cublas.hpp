// SPDX-License-Identifier: MIT
// A libcublas.so.13 for machines without a device: every entry point of the headers' products (entry_points.py) tells
// what it was called with, and returns what it is told. A handle is a FakeHandle.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace kizami::dropin_test {

struct FakeHandle {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  bool is_destroyed = false;

  [[nodiscard]] cublasHandle_t get() { return reinterpret_cast<cublasHandle_t>(this); }
};

/// What descriptors of cuBLASLt point to: attributes by number. What is not there, this cuBLASLt does not know.
struct FakeDescriptor {
  std::map<int, std::int64_t> values;

  template <class Descriptor>
  [[nodiscard]] Descriptor as() {
    return reinterpret_cast<Descriptor>(this);
  }
};

/// Sizes and leading dimensions by their values, options by their numbers, addresses as such.
struct Argument {
  std::int64_t value;
  bool is_address;
  friend bool operator==(const Argument&, const Argument&) = default;
};

template <class T>
Argument argument_of(T x) {
  if constexpr (std::is_pointer_v<T>) {
    return {static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x)), true};
  } else {
    return {static_cast<std::int64_t>(x), false};
  }
}

struct NativeCall {
  std::string name;
  std::vector<Argument> arguments;
};

/// What a product of the fake cuBLAS does. By default it prints a line without addresses, and returns
/// FAKE_CUBLAS_STATUS. FAKE_CUBLAS_NESTED: one product calls another by its name.
using OnNativeCall = std::function<cublasStatus_t(const NativeCall&)>;
__attribute__((visibility("default"))) OnNativeCall& on_native_call();

/// How many handles the library has made for itself, and not destroyed.
__attribute__((visibility("default"))) int created_handles();

}  // namespace kizami::dropin_test
