// SPDX-License-Identifier: MIT
// The product of two split FP32 operands (product/ec_planes.hpp) on the tensor cores of sm_90a: the description, the
// compiled forms, the choice among them, one persistent launch.
//   C <- alpha 2^-(a_i + b_j) sum_k (lo_A hi_B + hi_A lo_B + hi_A hi_B) + beta C
// Sums of 32 to 128 elements of k are made inside the tensor core, which truncates, and added outside, rounded to
// nearest.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kizami/status.hpp"
#include "product/ec_engine.hpp"
#include "product/ec_planes.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// Names of the compiled forms: how two consumer warpgroups share a tile, then tile i x j. kCooperative: half of j
/// each. kSplitInner: every other interval of k each, for products of few tiles; C is summed in another order.
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

/// The form of one triangle of C, whatever that of all of C would be. 66 clusters of 192 x 256 make the lower one of
/// 8192 x 8192 in 11 rounds, 725 tiles of 726; clusters of 128 x 256 take 16 rounds of two thirds, and reach 3 % less.
/// At n = 4096 it is 3 rounds, 197 tiles of 198, for 5.
inline constexpr EcForm kEcTriangleForm = EcForm::kCooperative192x128;

using product::EcOperand;
using product::EcProduct;
using product::EcSecondSplit;

/// Predicted seconds of a form on `num_sms` multiprocessors (0: those of an H200), launch included, split not; of
/// num_products in one launch.
[[nodiscard]] double ec_predicted_seconds(std::int64_t m, std::int64_t n, std::int64_t k, product::EcFormat format,
                                          const EcFormTraits& traits, int num_sms, std::int64_t num_products = 1);
/// The same of one triangle of an n x n C.
[[nodiscard]] double ec_triangle_seconds(std::int64_t n, std::int64_t k, product::EcFormat format, int num_sms);
/// The form that is predicted to be fastest, among those that sum as well as native SGEMM does there.
[[nodiscard]] EcForm ec_form_for(std::int64_t m, std::int64_t n, std::int64_t k, product::EcFormat format, int num_sms);

/// Offers products of the arithmetic of product::ec_arithmetic(), with the seconds of the fastest form, which run()
/// takes. Has product::EcTriangleEngine.
[[nodiscard]] const product::EcEngine& hopper_ec_engine();

/// EcEngine::run() in a form of the caller's.
[[nodiscard]] Status run_ec_product(const EcProduct& product, EcForm form, product::EcPromotion promotion,
                                    product::Queue queue);

}  // namespace kizami::engines
