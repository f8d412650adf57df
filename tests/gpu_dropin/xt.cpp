// SPDX-License-Identifier: MIT
#include <cublasXt.h>

#include <type_traits>

#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// All devices that there are, at most as many as Kizami shares a product with.
class XtHandle {
 public:
  XtHandle() {
    constexpr int kMostDevices = 8;
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    std::vector<int> devices;
    for (int device = 0; device < std::min(count, kMostDevices); ++device) devices.push_back(device);
    check(cublasXtCreate(&handle_), "cublasXtCreate");
    check(cublasXtDeviceSelect(handle_, static_cast<int>(devices.size()), devices.data()), "cublasXtDeviceSelect");
  }
  XtHandle(const XtHandle&) = delete;
  XtHandle& operator=(const XtHandle&) = delete;
  ~XtHandle() { static_cast<void>(cublasXtDestroy(handle_)); }
  [[nodiscard]] cublasXtHandle_t get() const { return handle_; }

 private:
  cublasXtHandle_t handle_ = nullptr;
};

template <class T>
constexpr auto xt_gemm() {
  if constexpr (std::is_same_v<T, float>)
    return cublasXtSgemm;
  else if constexpr (std::is_same_v<T, double>)
    return cublasXtDgemm;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return cublasXtCgemm;
  else
    return cublasXtZgemm;
}

/// Matrices of the host, beside the same product on one device.
template <class T>
void check_shared(const Handle& handle, const XtHandle& xt, const Shape& shape, T alpha, T beta) {
  const std::string name = name_of<T>("cublasXt, matrices of the host", shape);
  guarded(name, [&] {
    using E = typename Blas<T>::Element;
    OnDevice<T> x(shape, 9);
    std::vector<T> c = x.problem.c();
    const auto size = [](int value) { return static_cast<std::size_t>(value); };
    check(xt_gemm<T>()(xt.get(), shape.op_a, shape.op_b, size(shape.m), size(shape.n), size(shape.k),
                       reinterpret_cast<const E*>(&alpha), reinterpret_cast<const E*>(x.problem.a().data()),
                       size(x.problem.lda()), reinterpret_cast<const E*>(x.problem.b().data()), size(x.problem.ldb()),
                       reinterpret_cast<const E*>(&beta), reinterpret_cast<E*>(c.data()), size(x.problem.ldc())),
          "cublasXt");
    report(name, x.problem.judge(c, alpha, beta));
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(x.multiply(handle.get(), &alpha, &beta), "one device");
    expect_same_bits(name, c, x.c.download());
  });
}

template <class T>
void check_type(const Handle& handle, const XtHandle& xt) {
  const T some = make<T>(-1.7, 0.6), other = make<T>(0.3, -2.1);
  check_shared<T>(handle, xt, {kN, kN, 700, 900, 513}, some, T{});
  check_shared<T>(handle, xt, {kT, kC, 513, 600, 700}, some, other);
}

}  // namespace

void check_xt(const Handle& handle) {
  guarded("cublasXt", [&] {
    const XtHandle xt;
    check_type<float>(handle, xt);
    check_type<double>(handle, xt);
    check_type<std::complex<float>>(handle, xt);
    check_type<std::complex<double>>(handle, xt);
  });
}

}  // namespace preload_check
