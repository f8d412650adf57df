// SPDX-License-Identifier: MIT
// What a plan decides of scheme ozaki1.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "plan/plan.hpp"
#include "product/float_product.hpp"
#include "product/product.hpp"
#include "schemes/ozaki1/numerics.hpp"

namespace kizami::ozaki1 {

/// On a device: a chunk's products and sums, block by block of lines of its larger operand, whose slices all stay.
struct SliceBlocks {
  std::int64_t lines = 0;  ///< of a block; 0: a chunk is one
  int num_streams = 1;     ///< that take the blocks in turn, each with planes of its own
};

struct Ozaki1Stage final : plan::StageOf<Ozaki1Stage, Scheme::kOzaki1> {
  SliceNumerics numerics;

  const product::Engine* engine = nullptr;             ///< but on the host, for slices in floating point
  const product::FloatEngine* float_engine = nullptr;  ///< of those
  plan::Chunk chunk;                                   ///< kc as far as sums are exact
  SliceBlocks blocks;
  SliceSums sums = SliceSums::kConcatenated;
  std::optional<std::size_t> engine_bytes;  ///< that the engine asks for on the host, once chunks are final

  [[nodiscard]] std::string_view engine_name() const override;
  void add_numerics(const plan::Plan& plan, plan::Stages behind, plan::NumericsHash& hash) const override;
  /// Slices are nested: their number is no part of it.
  bool add_preparation(plan::NumericsHash& hash) const override;
  void book_engine_bytes(const plan::Plan& plan) override;
  void explain(const plan::Plan& plan, plan::Stages behind, const plan::TakeFact& fact) const override;
};

/// The stage of scheme ozaki1; without rungs where the plan has none.
[[nodiscard]] inline const Ozaki1Stage& ozaki1_of(const plan::Plan& plan) { return plan::stage_of<Ozaki1Stage>(plan); }

}  // namespace kizami::ozaki1
