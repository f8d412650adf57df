// SPDX-License-Identifier: MIT
// What of a plan fixes bits, as one number: of products, and of prepared operands.
#include <bit>
#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace kizami::plan {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i, word >>= 8) value_ = (value_ ^ (word & 0xFF)) * 0x100000001B3;  // FNV-1a
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

/// How an operand becomes slices.
void add_digits(const Plan& plan, Hash& hash) {
  const SliceNumerics& slices = plan.numerics.slices;
  hash.add(static_cast<std::uint64_t>(slices.format));
  hash.add(static_cast<std::uint64_t>(slices.rule.kind));
  hash.add(static_cast<std::uint64_t>(slices.rule.step));
  hash.add(static_cast<std::uint64_t>(slices.complex_form));
  hash.add(slices.one_scale ? 1U : 0U);
}

}  // namespace

std::uint64_t numerics_hash(const Plan& plan) {
  const Numerics& numerics = plan.numerics;
  Hash hash;
  hash.add(static_cast<std::uint64_t>(plan.shape.scalar));
  hash.add(static_cast<std::uint64_t>(plan.shape.k));
  hash.add(static_cast<std::uint64_t>(numerics.scheme));
  hash.add((numerics.has_certificate ? 1U : 0U) | (numerics.has_fp64 ? 2U : 0U) |
           (numerics.ladder.may_equilibrate ? 4U : 0U) | (numerics.is_correct ? 8U : 0U));
  if (numerics.has_fp64) hash.add(static_cast<std::uint64_t>(numerics.fp64_summation));
  for (int r = 0; r < numerics.ladder.num_rungs; ++r) {
    const num::Rung& rung = numerics.ladder.rungs[static_cast<std::size_t>(r)];
    hash.add(static_cast<std::uint64_t>(rung.num_moduli));
    hash.add(rung.limit_mantissa);
    hash.add(static_cast<std::uint64_t>(rung.limit_exponent));
    hash.add(std::bit_cast<std::uint32_t>(rung.allowance));
  }
  for (int s = 0; s < numerics.ec.num_stages; ++s) {
    const EcStage& stage = numerics.ec.stages[static_cast<std::size_t>(s)];
    hash.add(static_cast<std::uint64_t>(stage.recipe.variant));
    hash.add(static_cast<std::uint64_t>(stage.recipe.k_interval));
    hash.add(static_cast<std::uint64_t>(stage.recipe.intervals_promoted));
    hash.add(static_cast<std::uint64_t>(stage.recipe.split.remainder_shift));
    hash.add((plan.policy.ec.keep_small_term ? 1U : 0U) | (plan.policy.ec.promote_corrections ? 2U : 0U) |
             (numerics.ec.checks_range ? 4U : 0U) | (numerics.ec.is_karatsuba ? 8U : 0U));
    hash.add(static_cast<std::uint64_t>(plan.policy.ec.tensor_core));
    hash.add(std::bit_cast<std::uint32_t>(stage.allowance));
    hash.add(std::bit_cast<std::uint32_t>(numerics.ec.limits.fine));
    hash.add(std::bit_cast<std::uint32_t>(numerics.ec.limits.dense));
  }
  if (numerics.scheme == Scheme::kOzaki1) {
    add_digits(plan, hash);
    for (int r = 0; r < numerics.slices.num_rungs; ++r) {
      const SliceRung& rung = numerics.slices.rungs[static_cast<std::size_t>(r)];
      hash.add(static_cast<std::uint64_t>(rung.num_slices) << 32 | static_cast<std::uint64_t>(rung.num_diagonals));
      hash.add(std::bit_cast<std::uint32_t>(numerics.slices.ladder.rungs[static_cast<std::size_t>(r)].allowance));
    }
    hash.add((numerics.slices.until_zero ? 1U : 0U) | (numerics.slices.takes_all_pairs ? 2U : 0U));
  }
  if (plan.behind != nullptr) hash.add(numerics_hash(*plan.behind));
  return hash.value();
}

std::uint64_t prepared_hash(const Plan& plan) {
  if (plan.numerics.scheme != Scheme::kOzaki1) return numerics_hash(plan);
  Hash hash;
  hash.add(static_cast<std::uint64_t>(plan.shape.scalar));
  hash.add(static_cast<std::uint64_t>(plan.shape.k));
  add_digits(plan, hash);
  return hash.value();
}

}  // namespace kizami::plan
