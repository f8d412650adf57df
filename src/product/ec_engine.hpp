// SPDX-License-Identifier: MIT
// Engines that take FP32 operands as ec_planes.hpp lays them out, and whose epilogue writes C:
//   C <- alpha 2^-(a_i + b_j) sum_k (lo_A hi_B + hi_A lo_B + hi_A hi_B) + beta C
// Planners describe what they compute by a FloatProductDesc of that layout; operands and C are those of the call.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "problem/lines.hpp"
#include "product/ec_planes.hpp"
#include "product/float_product.hpp"
#include "product/product.hpp"

namespace kizami::product {

/// One operand: its planes, and its FP32 elements, which are read for lines with NaN or Inf alone. Without them (null
/// data) the elements of C in such lines are left as they are.
struct EcOperand {
  EcPlanes planes;
  problem::Lines<float> lines;
};

/// Another split of the operands, whose planes may lie where those of the first do. Of one product both splits have the
/// same scales.
struct EcSecondSplit {
  EcFormat format = EcFormat::kTf32;
  EcPlanes a;
  EcPlanes b;
};

/// Products of one launch: a.planes.product_stride and its like lead from one to the next.
inline constexpr std::int64_t kMostEcProducts = 1024;

/// @shape  a.lines: m x k (rows of op(A)); b.lines: n x k (columns of op(B)); c: element (i, j) at
///         c + i * c_row_stride + j * c_col_stride. Complex C: lines 2i and 2i + 1 of A make the real and imaginary
///         parts of row i, at c + i * c_row_stride + j * c_col_stride and after it. Product p of a batch: in place of
///         c its c_array[p], or c + p * c_product_stride
/// @range  1 <= m, n, k < 2^30; k the same for both; complex C: m even, no elements of A or B; 1 <= num_products <=
///         kMostEcProducts; batches: takes_ec_batches(), no elements of A or B
struct EcProduct {
  EcFormat format = EcFormat::kF16;
  EcOperand a;
  EcOperand b;
  Factor<float> alpha = 1.0F;
  Factor<float> beta;
  float* c = nullptr;
  std::int64_t c_col_stride = 0;
  std::int64_t c_row_stride = 1;
  std::int64_t c_product_stride = 0;  ///< FP32 numbers
  float* const* c_array = nullptr;    ///< [num_products] in device memory, or null
  std::int32_t num_products = 1;
  bool is_complex = false;
  Factor<std::complex<float>> complex_alpha = std::complex<float>(1.0F);  ///< complex C: in place of alpha
  Factor<std::complex<float>> complex_beta;
  std::optional<EcSecondSplit> second;
  /// Device memory, written by earlier kernels of the queue. 0: the planes are of `format`; 1: of `second`; another
  /// number: nothing is done. Null: 0. Of product p: decision[p * decision_stride].
  const std::int32_t* decision = nullptr;
  std::int64_t decision_stride = 0;

  /// Also of one product that an array finds.
  [[nodiscard]] bool is_batch() const { return num_products > 1 || c_array != nullptr; }
};

class EcEngine {
 public:
  virtual ~EcEngine() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Accepts or refuses extents and arithmetic with a reason; strides are not looked at. Seconds are those of all
  /// num_products. Pure.
  [[nodiscard]] virtual std::variant<Offer, Refusal> query(const FloatProductDesc& desc,
                                                           const DeviceFacts& facts) const = 0;
  /// Enqueues the product. beta = 0 does not read C; alpha = 0 gives beta C, and reads nothing of A and B. Elements in
  /// lines with NaN or Inf are FP32 sums of a(i, k) b(k, j) in the order of k.
  /// @bound  |C - alpha A B| <= |alpha| (ec_relative_bound() |A||B| + ec_floor() (max|a_i| sum|b_j| + max|b_j|
  ///         sum|a_i|)) without beta, barring overflow and underflow of FP32
  /// @status kOk; kInvalidArgument names what breaks its range; kUnsupported without a driver; kInternal with CUDA's
  ///         words
  /// @queue  asynchronous, one kernel whose start overlaps the end of the one before, capturable
  virtual Status run(const EcProduct& product, EcPromotion promotion, const DeviceFacts& facts, Queue queue) const = 0;
};

/// The optional interface of an EcEngine that can leave one triangle of a real, square C out: elements (i, j) with i >= j
/// are made, or those with i <= j, and the others neither read nor written. Half of the tiles are then multiplied.
class EcTriangleEngine {
 public:
  virtual ~EcTriangleEngine() = default;
  /// As EcEngine::query() and EcEngine::run().
  /// @range m = n; one product, real C, no elements of A or B; takes_ec_triangles(promotion)
  [[nodiscard]] virtual std::variant<Offer, Refusal> query_triangle(const FloatProductDesc& desc,
                                                                    const DeviceFacts& facts) const = 0;
  virtual Status run_triangle(const EcProduct& product, bool is_lower, EcPromotion promotion, Queue queue) const = 0;
};

/// The interface of an engine that has it; null of one that has not.
[[nodiscard]] inline const EcTriangleEngine* triangles_of(const EcEngine* engine) {
  return dynamic_cast<const EcTriangleEngine*>(engine);
}

/// Whether two descriptions have the same arithmetic, whatever their extents.
[[nodiscard]] constexpr bool has_equal_arithmetic(const FloatProductDesc& x, const FloatProductDesc& y) {
  return x.type == y.type && x.core == y.core && x.k_interval == y.k_interval &&
         x.intervals_promoted == y.intervals_promoted && x.num_sums == y.num_sums && x.sums == y.sums &&
         (x.num_sums == 1 || x.remainder_shift == y.remainder_shift);
}

}  // namespace kizami::product
