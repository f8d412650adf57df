// SPDX-License-Identifier: MIT
#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// The arguments of a call that is refused.
template <class T>
struct BadCall {
  const char* what;
  cublasHandle_t handle;
  cublasOperation_t op_a, op_b;
  int m, n, k;
  const T *alpha, *beta;
  int lda, ldb, ldc;
};

template <class T>
void check_bad_arguments(const Handle& handle) {
  const std::string name = std::string(Blas<T>::kName) + " bad arguments";
  guarded(name, [&] {
    OnDevice<T> x({kN, kN, 256, 256, 256}, 6);
    const T one = make<T>(1, 0);
    const cublasHandle_t h = handle.get();
    const auto bad_op = static_cast<cublasOperation_t>(17);
    const std::vector<BadCall<T>> calls{
        {"handle null", nullptr, kN, kN, 256, 256, 256, &one, &one, 256, 256, 256},
        {"op_a 17", h, bad_op, kN, 256, 256, 256, &one, &one, 256, 256, 256},
        {"op_b 17", h, kN, bad_op, 256, 256, 256, &one, &one, 256, 256, 256},
        {"m -1", h, kN, kN, -1, 256, 256, &one, &one, 256, 256, 256},
        {"n -1", h, kN, kN, 256, -1, 256, &one, &one, 256, 256, 256},
        {"k -1", h, kN, kN, 256, 256, -1, &one, &one, 256, 256, 256},
        {"lda 255", h, kN, kN, 256, 256, 256, &one, &one, 255, 256, 256},
        {"lda 255 of a transpose", h, kT, kN, 128, 256, 256, &one, &one, 255, 256, 256},
        {"ldb 255", h, kN, kN, 256, 256, 256, &one, &one, 256, 255, 256},
        {"ldc 255", h, kN, kN, 256, 256, 256, &one, &one, 256, 256, 255},
        {"ldc 0", h, kN, kN, 256, 256, 256, &one, &one, 256, 256, 0},
        {"alpha null", h, kN, kN, 256, 256, 256, nullptr, &one, 256, 256, 256},
        {"beta null", h, kN, kN, 256, 256, 256, &one, nullptr, 256, 256, 256},
        {"m 0", h, kN, kN, 0, 256, 256, &one, &one, 256, 256, 256},
        {"m 0, ldc 0", h, kN, kN, 0, 256, 256, &one, &one, 256, 256, 0},
        {"n 0", h, kN, kN, 256, 0, 256, &one, &one, 256, 256, 256},
    };
    handle.set(CUBLAS_POINTER_MODE_HOST);
    using E = typename Blas<T>::Element;
    const auto e = [](const T* p) { return reinterpret_cast<const E*>(p); };
    for (const BadCall<T>& c : calls) {
      const auto status_of = [&](Function<T> gemm) {
        return gemm(c.handle, c.op_a, c.op_b, c.m, c.n, c.k, e(c.alpha), e(x.a.data()), c.lda, e(x.b.data()), c.ldb,
                    e(c.beta), reinterpret_cast<E*>(x.c.data()), c.ldc);
      };
      const cublasStatus_t linked = status_of(linked_gemm<T>());
      const bool is_untouched = same_bits(x.c.download(), x.problem.c());
      const cublasStatus_t native = status_of(native_gemm<T>());
      const std::string detail = "status " + std::to_string(linked) + ", of cuBLAS " + std::to_string(native);
      report(name + ", " + c.what, linked != native ? detail : is_untouched ? "" : "C is written", detail);
      x.reset_c();
    }
  });
}

/// Products whose arithmetic the handle asks for have the bits of cuBLAS; the handle stays as it was.
template <class T>
void check_math_mode(const Handle& handle, cublasMath_t mode, const char* what) {
  const std::string name = std::string(Blas<T>::kName) + " math mode " + what;
  guarded(name, [&] {
    OnDevice<T> x({kN, kN, 768, 768, 768}, 7);
    const T one = make<T>(1, 0), zero{};
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(cublasSetMathMode(handle.get(), mode), "cublasSetMathMode");
    check(x.multiply(handle.get(), &one, &zero), "linked product");
    const std::vector<T> linked = x.c.download();
    cublasMath_t left{};
    check(cublasGetMathMode(handle.get(), &left), "cublasGetMathMode");
    x.reset_c();
    check(x.multiply(handle.get(), &one, &zero, native_gemm<T>()), "native product");
    report(name, left != mode ? "the mode changed" : same_bits(linked, x.c.download()) ? "" : "other bits than cuBLAS");
    check(cublasSetMathMode(handle.get(), CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  });
}

void check_that_it_stays(const Handle& handle) {
  guarded("handle", [&] {
    OnDevice<double> x({kN, kN, 900, 900, 900}, 8);
    const DeviceArray<double> factors(std::vector<double>{2, 0});
    handle.set(CUBLAS_POINTER_MODE_DEVICE);
    check(cublasSetAtomicsMode(handle.get(), CUBLAS_ATOMICS_ALLOWED), "cublasSetAtomicsMode");
    check(x.multiply(handle.get(), factors.data(), factors.data() + 1), "product");
    cudaStream_t stream{};
    cublasPointerMode_t pointer_mode{};
    cublasAtomicsMode_t atomics_mode{};
    cublasMath_t math_mode{};
    int device = -1, device_before = -1;
    check(cudaGetDevice(&device_before), "cudaGetDevice");
    check(cublasGetStream(handle.get(), &stream), "cublasGetStream");
    check(cublasGetPointerMode(handle.get(), &pointer_mode), "cublasGetPointerMode");
    check(cublasGetAtomicsMode(handle.get(), &atomics_mode), "cublasGetAtomicsMode");
    check(cublasGetMathMode(handle.get(), &math_mode), "cublasGetMathMode");
    check(cudaGetDevice(&device), "cudaGetDevice");
    const bool is_kept = stream == handle.stream() && pointer_mode == CUBLAS_POINTER_MODE_DEVICE &&
                         atomics_mode == CUBLAS_ATOMICS_ALLOWED && math_mode == CUBLAS_DEFAULT_MATH &&
                         device == device_before;
    report("handle and device stay as they were", is_kept ? "" : "something changed");
    report("no error is left behind",
           cudaPeekAtLastError() == cudaSuccess ? "" : cudaGetErrorString(cudaGetLastError()));
    check(cublasSetAtomicsMode(handle.get(), CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode");
  });
}

}  // namespace

void check_handles(const Handle& handle) {
  check_bad_arguments<float>(handle);
  check_bad_arguments<double>(handle);
  check_bad_arguments<std::complex<float>>(handle);
  check_bad_arguments<std::complex<double>>(handle);
  check_math_mode<float>(handle, CUBLAS_PEDANTIC_MATH, "pedantic");
  check_math_mode<double>(handle, CUBLAS_PEDANTIC_MATH, "pedantic");
  check_math_mode<std::complex<float>>(handle, CUBLAS_PEDANTIC_MATH, "pedantic");
  check_math_mode<std::complex<double>>(handle, CUBLAS_PEDANTIC_MATH, "pedantic");
  check_math_mode<float>(handle, CUBLAS_TF32_TENSOR_OP_MATH, "tf32");
  check_math_mode<std::complex<float>>(handle, CUBLAS_TF32_TENSOR_OP_MATH, "tf32");
  check_that_it_stays(handle);
}

}  // namespace preload_check
