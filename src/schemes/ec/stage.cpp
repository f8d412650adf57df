// SPDX-License-Identifier: MIT
#include "schemes/ec/stage.hpp"

#include <bit>
#include <cstdint>
#include <string>

#include "plan/text.hpp"
#include "schemes/ec/device_plan.hpp"
#include "schemes/ec/device_planes_plan.hpp"
#include "schemes/ec/plan.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ec {
namespace {

[[nodiscard]] std::string format_text(num::FloatType type) {
  switch (type) {
    case num::FloatType::kFp16:
      return "FP16";
    case num::FloatType::kBf16:
      return "BF16";
    case num::FloatType::kTf32:
      return "TF32";
  }
  return "unknown";
}

[[nodiscard]] std::string tensor_core_text(const plan::Plan& plan) {
  const num::TensorCore& core = ec_of(plan).numerics.rungs[0].core;
  return std::string(to_string(plan.policy.ec.tensor_core)) + " (groups of " + std::to_string(core.group) +
         " aligned to " + std::to_string(core.fraction_bits) + " fraction bits" +
         (core.is_fused ? ", with the accumulator)" : ", the accumulator apart)");
}

/// For instance "scaled: 2 parts of FP16, 3 products in 1 sum, promoted every 64 of k; error 3.1e-06 |A||B|".
[[nodiscard]] std::string rung_text(const EcRung& rung) {
  const EcRecipe& recipe = rung.recipe;
  int num_pairs = 0;
  int num_promoted = 0;
  for (int q = 0; q < recipe.num_sums; ++q) {
    const product::FloatSum& sum = recipe.sums[static_cast<std::size_t>(q)];
    num_pairs += sum.num_pairs;
    num_promoted += sum.promotes ? 1 : 0;
  }
  std::string text = std::string(to_string(recipe.variant)) + ": " + std::to_string(recipe.split.num_parts) +
                     " parts of " + format_text(recipe.type) + (recipe.scales_lines ? ", lines scaled" : "");
  if (recipe.split.rounding == RoundingMode::kTowardZero) text += ", cut";
  if (recipe.split.remainder_shift > 0) text += ", remainders times 2^" + std::to_string(recipe.split.remainder_shift);
  text += "; " + std::to_string(num_pairs) + " products in " + std::to_string(recipe.num_sums) +
          (recipe.num_sums == 1 ? " sum, " : " sums, ");
  text += num_promoted == 0 ? "none promoted"
                            : std::to_string(num_promoted) + " promoted every " +
                                  std::to_string(recipe.intervals_promoted * recipe.k_interval) + " of k";
  return text + "; error " + plan::number(rung.error);
}

[[nodiscard]] std::string range_text(const EcStage& stage, plan::Stages behind) {
  if (stage.numerics.is_karatsuba) return "a part of the bound, for any data";
  if (!stage.numerics.checks_range) return "not checked: the bound holds for operands within it";
  if (stage.device_engine != nullptr)
    return "by the split, line by line; beyond all variants: " +
           std::string(stage.has_fp64 ? "FP64 arithmetic" : "refused");
  return "certified from the data; beyond all variants: " + behind[0]->brief();
}

}  // namespace

std::string_view EcStage::engine_name() const {
  return device_engine != nullptr ? device_engine->name() : engine->name();
}

void EcStage::add_numerics(const plan::Plan& plan, plan::Stages behind, plan::NumericsHash& hash) const {
  if (behind.empty()) {
    hash.add(has_fp64 ? 2U : 0U);
    if (has_fp64) hash.add(static_cast<std::uint64_t>(fp64_summation));
  } else {
    behind[0]->add_numerics(plan, behind.subspan(1), hash);
  }
  const ErrorCorrection& wishes = plan.policy.ec;
  for (int r = 0; r < numerics.num_rungs; ++r) {
    const EcRung& rung = numerics.rungs[static_cast<std::size_t>(r)];
    hash.add(static_cast<std::uint64_t>(rung.recipe.variant));
    hash.add(static_cast<std::uint64_t>(rung.recipe.k_interval));
    hash.add(static_cast<std::uint64_t>(rung.recipe.intervals_promoted));
    hash.add(static_cast<std::uint64_t>(rung.recipe.split.remainder_shift));
    hash.add((wishes.keep_small_term ? 1U : 0U) | (wishes.promote_corrections ? 2U : 0U) |
             (numerics.checks_range ? 4U : 0U) | (numerics.is_karatsuba ? 8U : 0U) |
             (rung.recipe.split.rounding == RoundingMode::kTowardZero ? 16U : 0U));
    hash.add(static_cast<std::uint64_t>(wishes.tensor_core));
    hash.add(std::bit_cast<std::uint32_t>(rung.allowance));
    hash.add(std::bit_cast<std::uint32_t>(numerics.limits.fine));
    hash.add(std::bit_cast<std::uint32_t>(numerics.limits.dense));
  }
}

bool EcStage::add_preparation(plan::NumericsHash& hash) const {
  if (device_engine == nullptr) return false;
  hash.add(static_cast<std::uint64_t>(Scheme::kEc));
  hash.add(static_cast<std::uint64_t>(numerics.rungs[0].recipe.type));
  hash.add(std::bit_cast<std::uint32_t>(numerics.limits.fine));  // what reports are made of
  hash.add(std::bit_cast<std::uint32_t>(numerics.limits.dense));
  return true;
}

void EcStage::book_engine_bytes(const plan::Plan& plan) {
  engine_bytes.reset();
  base::Carver counter;
  engine_bytes = carve_ec(counter, plan).engine_bytes;
}

double EcStage::seconds_beyond(const plan::Plan& plan, const Effort& effort) const {
  return device_ec_seconds_beyond(plan, effort);
}

void EcStage::explain(const plan::Plan& plan, plan::Stages behind, const plan::TakeFact& fact) const {
  const Scalar scalar = plan.shape.scalar;
  fact("bound is", "deterministic, for a tensor core that adds as " + tensor_core_text(plan));
  for (int r = 0; r < numerics.num_rungs; ++r)
    fact(r == 0 ? "variant" : "beyond range", rung_text(numerics.rungs[static_cast<std::size_t>(r)]));
  if (is_complex(scalar))
    fact("complex form", numerics.is_karatsuba ? "Karatsuba: three real products" : "four real products");
  fact("range", range_text(*this, behind));
  if (has_device_planes(plan)) {
    fact("engine", std::string(engine_name()) + ", planes of all lines");
  } else if (device_engine != nullptr) {
    fact("fp64 rung", ozaki2::fp64_text(has_fp64, fp64_summation, scalar));
    fact("engine", std::string(engine_name()));
  } else {
    fact("chunks", std::to_string(chunk.mc) + " x " + std::to_string(chunk.nc) + " of C");
    fact("engine", std::string(engine_name()) + ", certificate by " + std::string(behind[0]->engine_name()));
  }
}

}  // namespace kizami::ec
