// SPDX-License-Identifier: MIT
// What a plan decides of scheme ec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "num/bounds.hpp"
#include "plan/plan.hpp"
#include "product/ec_engine.hpp"
#include "product/float_product.hpp"
#include "schemes/ec/recipe.hpp"

namespace kizami::ec {

struct EcStage final : plan::StageOf<EcStage, Scheme::kEc> {
  EcNumerics numerics;
  bool has_fp64 = false;  ///< on a device, where FP64 arithmetic stands behind its rungs: it may be taken
  num::Fp64Summation fp64_summation = num::Fp64Summation::kPairwise;

  const product::FloatEngine* engine = nullptr;  ///< on the host, and on a device by planes (device_planes_plan.hpp)
  const product::EcEngine* device_engine = nullptr;
  plan::Chunk chunk;                        ///< on the host: lines of one pass; kc = k
  std::optional<std::size_t> engine_bytes;  ///< that the engine asks for on the host, once chunks are final
  /// On a device: products of the batch whose phases are one launch each; plan.schedule.product_bytes is of all these.
  std::int64_t products_together = 1;

  [[nodiscard]] std::string_view engine_name() const override;
  void add_numerics(const plan::Plan& plan, plan::Stages behind, plan::NumericsHash& hash) const override;
  bool add_preparation(plan::NumericsHash& hash) const override;
  void book_engine_bytes(const plan::Plan& plan) override;
  [[nodiscard]] double seconds_beyond(const plan::Plan& plan, const Effort& effort) const override;
  void explain(const plan::Plan& plan, plan::Stages behind, const plan::TakeFact& fact) const override;
};

/// The stage of scheme ec; without rungs where the plan has none.
[[nodiscard]] inline const EcStage& ec_of(const plan::Plan& plan) { return plan::stage_of<EcStage>(plan); }

/// Terms of one floating-point product.
[[nodiscard]] inline std::int64_t ec_terms(const plan::Plan& plan) {
  return ec_of(plan).numerics.is_karatsuba ? plan.shape.k : plan::num_terms(plan.shape);
}
/// Floating-point products that make a block of C.
[[nodiscard]] inline int ec_products(const plan::Plan& plan) {
  return ec_of(plan).numerics.is_karatsuba ? 3 : is_complex(plan.shape.scalar) ? 2 : 1;
}

}  // namespace kizami::ec
