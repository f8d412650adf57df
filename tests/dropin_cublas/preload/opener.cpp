// SPDX-License-Identifier: MIT
// opener [THREADS]: a program that opens cuBLAS by its name and asks for its functions, as JAX and TensorFlow do. It
// prints what they return: a product, one that the fake cuBLAS has and Kizami does not, one that neither has.
#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "dropin_cublas/fake_cublas.hpp"

namespace {

kizami::dropin_test::FakeHandle fake_handle;

template <class Function>
Function find(void* library, const char* name) {
  auto* found = reinterpret_cast<Function>(dlsym(library, name));
  if (found == nullptr) std::printf("%s is not there\n", name);
  return found;
}

void call_all(void* library) {
  const auto gemm = find<decltype(&cublasDgemm_v2)>(library, "cublasDgemm_v2");
  const auto get = find<decltype(&cublasGetMathMode)>(library, "cublasGetMathMode");
  const auto scale = find<decltype(&cublasDscal_v2)>(library, "cublasDscal_v2");
  if (gemm == nullptr || get == nullptr || scale == nullptr) return;
  const double alpha = 2, beta = -1;
  cublasMath_t mode{};
  const int product = gemm(fake_handle.get(), CUBLAS_OP_C, CUBLAS_OP_N, 10, 20, 30, &alpha, nullptr, 30, nullptr, 31,
                           &beta, nullptr, 12);
  const int getter = get(fake_handle.get(), &mode);
  const int missing = scale(fake_handle.get(), 1, &alpha, nullptr, 1);
  std::printf("statuses %d %d %d, math mode %d\n", product, getter, missing, static_cast<int>(mode));
}

}  // namespace

int main(int argc, char** argv) {
  fake_handle.math_mode = CUBLAS_TENSOR_OP_MATH;
  void* library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  std::vector<std::thread> crew;
  for (int i = argc > 1 ? std::atoi(argv[1]) : 1; i > 0; --i) crew.emplace_back(call_all, library);
  for (std::thread& thread : crew) thread.join();
  return 0;
}
