// SPDX-License-Identifier: MIT
// An unmodified user of cuBLAS, as a library. It prints the statuses it gets.
#include <cublas_v2.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "dropin_cublas/fake_cublas.hpp"

namespace {

kizami::dropin_test::FakeHandle fake_handle;
const cublasHandle_t handle = fake_handle.get();

template <class E>
E number(double re, double im) {
  if constexpr (sizeof(E) == 2 * sizeof(E::x))
    return {static_cast<decltype(E::x)>(re), static_cast<decltype(E::x)>(im)};
}
template <>
float number(double re, double) {
  return static_cast<float>(re);
}
template <>
double number(double re, double) {
  return re;
}

void print(cublasStatus_t status) { std::printf("status %d\n", static_cast<int>(status)); }

template <class E, class Int, class Function>
void call(Function function, Int m, Int n, Int k) {
  const E alpha = number<E>(2, 3);
  const E beta = number<E>(-1, 0.5);
  print(function(handle, CUBLAS_OP_C, CUBLAS_OP_N, m, n, k, &alpha, nullptr, k, nullptr, k + 1, &beta, nullptr, m + 2));
}

void all() {
  call<float>(cublasSgemm_v2, 10, 20, 30);
  call<double>(cublasDgemm_v2, 10, 20, 30);
  call<cuComplex>(cublasCgemm_v2, 10, 20, 30);
  call<cuDoubleComplex>(cublasZgemm_v2, 10, 20, 30);
  const std::int64_t large = std::int64_t{5} << 32;
  call<float>(cublasSgemm_v2_64, large, large + 1, large + 2);
  call<double>(cublasDgemm_v2_64, large, large + 1, large + 2);
  call<cuComplex>(cublasCgemm_v2_64, large, large + 1, large + 2);
  call<cuDoubleComplex>(cublasZgemm_v2_64, large, large + 1, large + 2);
}

void device_pointers() {
  fake_handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  fake_handle.stream = reinterpret_cast<cudaStream_t>(0x5000);
  const auto* alpha = reinterpret_cast<const double*>(0xD000);
  const auto* beta = reinterpret_cast<const double*>(0xE000);
  print(cublasDgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_T, 4, 5, 6, alpha, nullptr, 4, nullptr, 5, beta, nullptr, 4));
}

void one() { call<double>(cublasDgemm_v2, 10, 20, 30); }

void strided() {
  const double alpha = 2;
  const double beta = -1;
  print(cublasDgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 10, 20, 30, &alpha, nullptr, 10, 300, nullptr, 30,
                                  600, &beta, nullptr, 10, 200, 7));
}

void bad() {
  call<double>(cublasDgemm_v2, -1, 20, 30);
  const double x = 1;
  print(cublasDgemm_v2(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &x, nullptr, 1, nullptr, 1, &x, nullptr, 1));
  fake_handle.is_destroyed = true;
  one();
}

/// The first calls of a process come from many threads at once.
void threads() {
  std::vector<std::thread> crew;
  for (int i = 0; i < 8; ++i) crew.emplace_back(one);
  for (std::thread& thread : crew) thread.join();
}

/// One call here, and two in a child.
void in_child() {
  one();
  static_cast<void>(std::fflush(stdout));
  const pid_t child = fork();
  one();
  if (child == 0) {
    one();
    return;
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::printf("the child ended with %d\n", status);
}

template <class Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// Operands with names, before two drop-in libraries (named.cpp).
void named() {
  auto* const name = function<int(int, std::uint64_t, std::uint64_t)>("kizami_dropin_name_operand");
  auto* const forget = function<void(std::uint64_t)>("kizami_dropin_forget_operand");
  auto* const kept = function<void(std::uint64_t*, std::uint64_t*, std::size_t*)>("kizami_dropin_kept");
  auto* const call_another = function<int()>("call_another_library");
  const auto multiply = [] {
    static const double a = 0;  // nobody reads it
    const double one = 1;
    print(cublasDgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 10, 20, 30, &one, &a, 10, nullptr, 30, &one, nullptr, 10));
  };
  const auto count = [&] {
    std::uint64_t split = 0;
    std::uint64_t taken = 0;
    std::size_t bytes = 0;
    kept(&split, &taken, &bytes);
    kept(nullptr, nullptr, nullptr);
    std::printf("kept %d %d %d\n", static_cast<int>(split), static_cast<int>(taken), static_cast<int>(bytes));
  };
  name(0, 7, 1);
  multiply();
  std::printf("another %d\n", call_another());
  name(0, 7, 1);
  std::printf("another %d\n", call_another());
  multiply();
  name(0, 7, 1);
  multiply();
  count();
  forget(7);
  count();
}

}  // namespace

extern "C" int make_calls(const char* which) {
  struct {
    const char* name;
    void (*function)();
  } const kinds[]{{"all", all},           {"device_pointers", device_pointers},
                  {"one", one},           {"strided", strided},
                  {"bad", bad},           {"threads", threads},
                  {"in_child", in_child}, {"named", named}};
  for (const auto& kind : kinds) {
    if (std::strcmp(kind.name, which) == 0) {
      kind.function();
      return std::fflush(stdout);
    }
  }
  return 2;
}
