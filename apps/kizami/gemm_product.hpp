// SPDX-License-Identifier: MIT
// One product of `kizami gemm`, and who multiplies it: this host, or a CUDA device.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>

#include "device.hpp"
#include "kizami/plan.hpp"
#include "matrix_file.hpp"

namespace kizami::cli {

/// One product of the batch, in host memory. c holds C0 if beta is not 0.
template <class T>
struct Product {
  T alpha;
  MatrixView<const T> a, b;
  T beta;
  MatrixView<T> c;
};

/// Multiplies. @return seconds of the product alone
template <class T>
using Multiply = std::function<Result<double>(const Product<T>&, Outcome&)>;

template <class T>
[[nodiscard]] Multiply<T> multiply_on_host(const Plan& plan) {
  const auto workspace = std::make_shared<Buffer>(plan.workspace_bytes(), "workspace");
  return [plan, workspace](const Product<T>& x, Outcome& outcome) -> Result<double> {
    const auto start = std::chrono::steady_clock::now();
    KIZAMI_RETURN_IF_ERROR(
        run<T>(plan, x.alpha, x.a, x.b, x.beta, x.c, {workspace->data(), workspace->size()}, &outcome));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
}

/// Throws Failure as device.hpp says.
template <class T>
[[nodiscard]] Multiply<T> multiply_on_device(const Plan& plan) {
  const std::shared_ptr<DeviceProduct<T>> there = device_product<T>();
  return [plan, there](const Product<T>& x, Outcome& outcome) -> Result<double> {
    there->load(x.a, x.b, x.c, x.beta != T{});
    Result<double> seconds = there->run(plan, x.alpha, x.beta, 1, outcome);
    if (seconds.ok()) there->store(x.c);
    return seconds;
  };
}

template <class T>
[[nodiscard]] bool is_finite(const T& x) {
  if constexpr (kIsComplex<T>) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  } else {
    return std::isfinite(x);
  }
}

template <class T>
[[nodiscard]] std::int64_t count_nonfinite_rows(MatrixView<const T> x) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    bool is_row_finite = true;
    for (std::int64_t j = 0; is_row_finite && j < x.cols; ++j) is_row_finite = is_finite(x(i, j));
    count += is_row_finite ? 0 : 1;
  }
  return count;
}

/// Scheme native does not look at the elements.
template <class T>
void add_what_native_ignores(const Product<T>& x, Outcome& outcome) {
  if (outcome.scheme != Scheme::kNative || outcome.engine == "none" || x.alpha == T{}) return;
  outcome.nonfinite_rows = count_nonfinite_rows(x.a);
  outcome.nonfinite_cols = count_nonfinite_rows(x.b.transposed());
}

}  // namespace kizami::cli
