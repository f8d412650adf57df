// SPDX-License-Identifier: MIT
#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

/// The product, by host and device pointers and by the 64-bit twin.
template <class T>
void check_product(const Handle& handle, const Shape& shape, T alpha, T beta, const char* what) {
  const std::string name = name_of<T>(what, shape);
  guarded(name, [&] {
    OnDevice<T> x(shape, 1);
    const bool is_c_unread = beta == T{};
    if (is_c_unread) {  // NaN must not come through
      for (int j = 0; j < shape.n; ++j) {
        for (int i = 0; i < shape.m; ++i)
          x.problem.c()[static_cast<std::size_t>(i) + std::size_t(j) * std::size_t(x.problem.ldc())] =
              make<T>(NAN, NAN);
      }
      x.reset_c();
    }
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(x.multiply(handle.get(), &alpha, &beta), "host pointers");
    const std::vector<T> by_host = x.c.download();
    report(name, x.problem.judge(by_host, alpha, beta));

    x.reset_c();
    const DeviceArray<T> factors(std::vector<T>{alpha, beta});
    handle.set(CUBLAS_POINTER_MODE_DEVICE);
    check(x.multiply(handle.get(), factors.data(), factors.data() + 1), "device pointers");
    const std::vector<T> by_device = x.c.download();
    report(name + ", device pointers", x.problem.judge(by_device, alpha, beta));
    expect_same_bits(name + ", device pointers", by_host, by_device);

    x.reset_c();
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(x.call(Blas<T>::kGemm64, handle.get(), &alpha, &beta), "64-bit twin");
    const std::vector<T> by_twin = x.c.download();
    report(name + ", _64", x.problem.judge(by_twin, alpha, beta));
    expect_same_bits(name + ", _64", by_host, by_twin);
    report(name + ", A and B untouched",
           same_bits(x.a.download(), x.problem.a()) && same_bits(x.b.download(), x.problem.b()) ? "" : "they changed");
  });
}

template <class T>
void check_products_of(const Handle& handle) {
  const T one = make<T>(1, 0), minus_one = make<T>(-1, 0), zero{};
  const T some = make<T>(-1.7, 0.6), other = make<T>(0.3, -2.1);
  for (const auto op_a : {kN, kT, kC}) {
    for (const auto op_b : {kN, kT, kC}) check_product<T>(handle, {op_a, op_b, 130, 71, 257}, some, other, "products");
  }
  check_product<T>(handle, {kN, kN, 1024, 768, 1280}, one, zero, "alpha 1 beta 0");
  check_product<T>(handle, {kT, kN, 1000, 1001, 999}, minus_one, one, "alpha -1 beta 1");
  check_product<T>(handle, {kN, kC, 513, 1025, 2050}, some, other, "alpha, beta");
  check_product<T>(handle, {kC, kT, 512, 512, 512}, zero, other, "alpha 0");
  check_product<T>(handle, {kN, kN, 640, 1, 5000}, one, zero, "one column");
  check_product<T>(handle, {kN, kT, 700, 700, 1}, some, one, "one rank");
  check_product<T>(handle, {kN, kN, 1, 1, 1}, some, other, "one element");
}

/// Whose product it is: only where it is said that it must not be cuBLAS'.
template <class T>
void check_origin(const Handle& handle) {
  const Shape shape{kN, kN, 1024, 1024, 1024};
  const std::string name = name_of<T>("origin", shape);
  guarded(name, [&] {
    Dl_info info{};
    if (dladdr(dlsym(RTLD_DEFAULT, Blas<T>::kFunction), &info) == 0) throw std::runtime_error("dladdr");
    const T one = make<T>(1, 0), zero{};
    OnDevice<T> x(shape, 2);
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(x.multiply(handle.get(), &one, &zero), "linked product");
    const std::vector<T> linked = x.c.download();
    x.reset_c();
    check(x.multiply(handle.get(), &one, &zero, native_gemm<T>()), "native product");
    const bool is_native = same_bits(linked, x.c.download());
    const std::string detail =
        std::string(info.dli_fname) + (is_native ? ", bits of cuBLAS" : ", other bits than cuBLAS");
    report(name, expects_kizami && is_native ? detail : "", detail);
  });
}

/// C = A B, then in the same stream D = C B2, with nothing between that waits.
template <class T>
void check_chain(const Handle& handle) {
  const Shape shape{kN, kN, 600, 600, 600};
  const std::string name = name_of<T>("chain of two", shape);
  guarded(name, [&] {
    OnDevice<T> first(shape, 3), second(shape, 4);
    const T one = make<T>(1, 0), zero{};
    using E = typename Blas<T>::Element;
    const auto e = [](const T* x) { return reinterpret_cast<const E*>(x); };
    handle.set(CUBLAS_POINTER_MODE_HOST);
    check(first.multiply(handle.get(), &one, &zero), "first");
    check(Blas<T>::kGemm(handle.get(), kN, kN, 600, 600, 600, e(&one), e(first.c.data()), first.problem.ldc(),
                         e(second.b.data()), second.problem.ldb(), e(&zero), reinterpret_cast<E*>(second.c.data()),
                         second.problem.ldc()),
          "second");
    const std::vector<T> c = first.c.download();
    for (int j = 0; j < 600; ++j) {
      for (int i = 0; i < 600; ++i) {
        second.problem.a()[std::size_t(i + j * second.problem.lda())] = c[std::size_t(i + j * first.problem.ldc())];
      }
    }
    report(name, second.problem.judge(second.c.download(), one, zero));
  });
}

}  // namespace

void check_products(const Handle& handle) {
  check_products_of<float>(handle);
  check_products_of<double>(handle);
  check_products_of<std::complex<float>>(handle);
  check_products_of<std::complex<double>>(handle);
  check_origin<float>(handle);
  check_origin<double>(handle);
  check_origin<std::complex<float>>(handle);
  check_origin<std::complex<double>>(handle);
  check_chain<float>(handle);
  check_chain<double>(handle);
  check_chain<std::complex<float>>(handle);
  check_chain<std::complex<double>>(handle);
}

}  // namespace preload_check
