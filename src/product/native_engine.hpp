// SPDX-License-Identifier: MIT
// Products by a vendor's library, which rounds as it likes: scheme native. On the host num::native_blas_bound() is what
// is guaranteed of one, on a device num::dot_bound().
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "problem/problem.hpp"
#include "product/column_major.hpp"
#include "product/product.hpp"

namespace kizami::product {

class NativeEngine {
 public:
  virtual ~NativeEngine() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Predicted, of one product. @range shape.k counts elements: complex ones are four real products
  [[nodiscard]] virtual double seconds(const problem::Shape& shape, const DeviceFacts& facts) const = 0;

  /// C <- alpha A B + beta C.
  /// @shape  a: m x k, b: k x n, c: m x n; each view is column-major (row_stride 1) or row-major (col_stride 1), and
  ///         may be the transpose of what was stored
  /// @range  threads >= 1, or 0 to leave the library's own number
  /// @status kUnsupported: a view that the library does not take, with the reason; nothing is written then
  [[nodiscard]] virtual Status run(MatrixView<const float> a, MatrixView<const float> b, float alpha, float beta,
                                   MatrixView<float> c, int threads) const = 0;
  [[nodiscard]] virtual Status run(MatrixView<const double> a, MatrixView<const double> b, double alpha, double beta,
                                   MatrixView<double> c, int threads) const = 0;
  [[nodiscard]] virtual Status run(MatrixView<const std::complex<float>> a, MatrixView<const std::complex<float>> b,
                                   std::complex<float> alpha, std::complex<float> beta,
                                   MatrixView<std::complex<float>> c, int threads) const = 0;
  [[nodiscard]] virtual Status run(MatrixView<const std::complex<double>> a, MatrixView<const std::complex<double>> b,
                                   std::complex<double> alpha, std::complex<double> beta,
                                   MatrixView<std::complex<double>> c, int threads) const = 0;
};

/// One product or several, in device memory. Left is A or B as `form` says, and so is right.
template <class T>
struct NativeProducts {
  ColumnMajorForm form;
  const T* alpha = nullptr;
  const T* beta = nullptr;
  bool are_factors_on_device = false;  ///< where alpha and beta are; there they are aligned to their size
  std::int64_t num_products = 1;
  const T* left = nullptr;  ///< of the first product; the others at multiples of the stride
  const T* right = nullptr;
  T* c = nullptr;
  std::int64_t left_stride = 0;
  std::int64_t right_stride = 0;
  std::int64_t c_stride = 0;
  const T* const* left_array = nullptr;  ///< or [num_products] in device memory; null: as above
  const T* const* right_array = nullptr;
  T* const* c_array = nullptr;
};

class NativeDeviceEngine {
 public:
  virtual ~NativeDeviceEngine() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Predicted, of one product or a batch of them in one call.
  [[nodiscard]] virtual double seconds(const problem::Shape& shape, const DeviceFacts& facts,
                                       std::int64_t num_products) const = 0;
  /// Scratch that it takes by itself if it is given none.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;

  /// Enqueues C <- alpha left right + beta C for all products, in one call of the library.
  /// @status kUnsupported: no library, or what it needs once a device is not there while the queue is captured;
  ///         kOutOfMemory; kInternal with the library's status
  /// @queue  asynchronous; capturable but for the first call on a device
  [[nodiscard]] virtual Status run(int device, const NativeProducts<float>& products, std::span<std::byte> scratch,
                                   Queue queue) const = 0;
  [[nodiscard]] virtual Status run(int device, const NativeProducts<double>& products, std::span<std::byte> scratch,
                                   Queue queue) const = 0;
  [[nodiscard]] virtual Status run(int device, const NativeProducts<std::complex<float>>& products,
                                   std::span<std::byte> scratch, Queue queue) const = 0;
  [[nodiscard]] virtual Status run(int device, const NativeProducts<std::complex<double>>& products,
                                   std::span<std::byte> scratch, Queue queue) const = 0;
};

}  // namespace kizami::product
