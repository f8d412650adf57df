// SPDX-License-Identifier: MIT
// The product of two split FP32 operands (product/ec_planes.hpp) on the tensor cores of sm_90a: the description, the compiled
// forms, the choice among them, one persistent launch.
//   C <- alpha 2^-(a_i + b_j) sum_k (lo_A hi_B + hi_A lo_B + hi_A hi_B) + beta C
// Sums of 32 to 128 elements of k are made inside the tensor core, which truncates, and added outside, rounded to nearest.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "problem/lines.hpp"
#include "product/ec_engine.hpp"
#include "product/ec_planes.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// Names of the compiled forms: how two consumer warpgroups share a tile, then tile i x j. kCooperative: half of j each.
/// kSplitInner: every other interval of k each, for products of few tiles; C is summed in another order.
enum class EcForm : std::uint8_t {
  kCooperative192x128,
  kCooperative128x128,
  kSplitInner128x64,
};
inline constexpr int kNumEcForms = 3;

struct EcFormTraits {
  std::string_view name;
  EcForm form;
  int tile_i;   ///< lines of A in a tile
  int tile_j;   ///< lines of B in a tile
  int cluster;  ///< CTAs of a cluster: they share the lines of A, each has lines of B of its own
};

[[nodiscard]] std::span<const EcFormTraits, kNumEcForms> ec_forms();

/// One operand: its planes, and its FP32 elements, which are read for lines with NaN or Inf alone. Without them (null data) the
/// elements of C in such lines are left as they are.
struct EcOperand {
  product::EcPlanes planes;
  problem::Lines<float> lines;
};

/// Another split that the same planes may hold.
struct EcSecondSplit {
  product::EcFormat format = product::EcFormat::kTf32;
  std::int64_t a_row_stride = 0;  ///< bytes
  std::int64_t b_row_stride = 0;
};

/// @shape  a.lines: m x k (rows of op(A)); b.lines: n x k (columns of op(B)); c: element (i, j) at
///         c + i * c_row_stride + j * c_col_stride. Complex C: lines 2i and 2i + 1 of A make the real and imaginary parts of
///         row i, at c + i * c_row_stride + j * c_col_stride and after it
/// @range  1 <= m, n, k < 2^30; k the same for both; complex C: m even, no elements of A or B
struct EcProduct {
  product::EcFormat format = product::EcFormat::kF16;
  EcOperand a;
  EcOperand b;
  Factor<float> alpha = 1.0F;
  Factor<float> beta;
  float* c = nullptr;
  std::int64_t c_col_stride = 0;
  std::int64_t c_row_stride = 1;
  bool is_complex = false;
  Factor<std::complex<float>> complex_alpha = std::complex<float>(1.0F);  ///< complex C: in place of alpha
  Factor<std::complex<float>> complex_beta;
  std::optional<EcSecondSplit> second;
  /// Device memory, written by earlier kernels of the queue. 0: the planes are of `format`; 1: of `second`; another number:
  /// nothing is done. Null: 0.
  const std::int32_t* decision = nullptr;
};

/// Predicted seconds of a form on `num_sms` multiprocessors (0: those of an H200), launch included, split not.
[[nodiscard]] double ec_predicted_seconds(std::int64_t m, std::int64_t n, std::int64_t k, product::EcFormat format,
                                          const EcFormTraits& traits, int num_sms);
/// The form that is predicted to be fastest, among those that sum as well as native SGEMM does there.
[[nodiscard]] EcForm ec_form_for(std::int64_t m, std::int64_t n, std::int64_t k, product::EcFormat format, int num_sms);

/// Offers products of the arithmetic of product::ec_arithmetic(), with the seconds of the fastest form. @status pure
[[nodiscard]] const product::EcEngine& hopper_ec_engine();

/// Enqueues the product. beta = 0 does not read C; alpha = 0 gives beta C, and reads nothing of A and B. Elements in lines with NaN or Inf are FP32 sums of
/// a(i, k) b(k, j) in the order of k.
/// @bound  |C - alpha A B| <= |alpha| (ec_relative_bound() |A||B| + ec_floor() (max|a_i| sum|b_j| + max|b_j| sum|a_i|)) without
///         beta, barring overflow and underflow of FP32
/// @status kOk; kInvalidArgument names what breaks its range; kUnsupported without a driver; kInternal with CUDA's words
/// @queue  asynchronous, one kernel whose start overlaps the end of the one before, capturable
[[nodiscard]] Status run_ec_product(const EcProduct& product, EcForm form, product::EcPromotion promotion,
                                    product::Queue queue);

}  // namespace kizami::engines
