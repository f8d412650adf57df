// SPDX-License-Identifier: MIT
// What a plan decides of scheme ozaki2.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "certify/certificate_plan.hpp"
#include "num/bounds.hpp"
#include "num/rung.hpp"
#include "plan/plan.hpp"
#include "product/product.hpp"

namespace kizami::ozaki2 {

struct Ozaki2Stage final : plan::StageOf<Ozaki2Stage, Scheme::kOzaki2> {
  num::Ladder ladder;
  bool has_certificate = false;  ///< gauge entry: the rung is chosen by the data
  bool has_fp64 = false;         ///< the FP64 rung may be taken
  num::Fp64Summation fp64_summation = num::Fp64Summation::kPairwise;

  const product::Engine* engine = nullptr;
  plan::Chunk chunk;            ///< main pass
  plan::Chunk certificate;      ///< lines of one certificate pass; kc = k
  bool takes_strassen = false;  ///< on a device, where the sample certifies the lowest rung: strassen.hpp
  int strassen_levels = 1;      ///< then, steps one within the other
  /// What the engine asks for on the host, over all products that the plan may launch; once chunks are final.
  struct EngineBytes {
    std::size_t certificate = 0;
    std::size_t main = 0;
  };
  std::optional<EngineBytes> engine_bytes;

  [[nodiscard]] std::string_view engine_name() const override;
  void add_numerics(const plan::Plan& plan, plan::Stages behind, plan::NumericsHash& hash) const override;
  void book_engine_bytes(const plan::Plan& plan) override;
  [[nodiscard]] double seconds_beyond(const plan::Plan& plan, const Effort& effort) const override;
  void explain(const plan::Plan& plan, plan::Stages behind, const plan::TakeFact& fact) const override;
  [[nodiscard]] std::string brief() const override;
};

/// The stage of scheme ozaki2; without rungs and certificate where the plan has none.
[[nodiscard]] inline const Ozaki2Stage& ozaki2_of(const plan::Plan& plan) { return plan::stage_of<Ozaki2Stage>(plan); }

/// The rungs in words.
[[nodiscard]] std::string ladder_text(const Ozaki2Stage& stage);
/// The FP64 rung in words.
[[nodiscard]] std::string fp64_text(bool has_fp64, num::Fp64Summation summation, Scalar scalar);

/// The certificate that chooses its rung, or that of what stands before it.
[[nodiscard]] certify::CertificatePlan certificate_plan(const plan::Plan& plan);

}  // namespace kizami::ozaki2
