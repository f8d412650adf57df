// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/stage.hpp"

#include <bit>
#include <cstdint>
#include <string>

#include "plan/text.hpp"
#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_seconds.hpp"
#include "schemes/ozaki2/plan.hpp"

namespace kizami::ozaki2 {
namespace {

/// What the prediction leaves out: operands that no rung is enough for.
[[nodiscard]] std::string fp64_seconds_text(const plan::Plan& plan) {
  if (!ozaki2_of(plan).has_fp64 || plan.shape.scalar == Scalar::kDD || plan::is_on_device(plan)) return "";
  constexpr double kPairwiseSeconds = 1.1e-9;  // a term, where exponents span all of FP64; docs/perf/cpu_int8.md
  constexpr double kCompensatedSeconds = 1.7e-9;
  const bool is_pairwise = ozaki2_of(plan).fp64_summation == num::Fp64Summation::kPairwise;
  const double terms = static_cast<double>(plan.shape.m) * static_cast<double>(plan.shape.n) *
                       static_cast<double>(plan::num_terms(plan.shape)) * (is_complex(plan.shape.scalar) ? 2.0 : 1.0);
  return "; at most " +
         plan::number(terms * (is_pairwise ? kPairwiseSeconds : kCompensatedSeconds) /
                      plan.schedule.facts.num_threads) +
         " s, where it answers all";
}

}  // namespace

std::string ladder_text(const Ozaki2Stage& stage) {
  std::string text;
  for (int r = 0; r < stage.ladder.num_rungs; ++r) {
    text += (r == 0 ? "" : ", ") + std::to_string(stage.ladder.rungs[static_cast<std::size_t>(r)].num_moduli);
  }
  if (text.empty()) return "no moduli; FP64 arithmetic";
  text += " moduli";
  if (stage.ladder.may_equilibrate) text += "; the same equilibrated along k";
  if (stage.has_fp64) text += "; FP64 arithmetic";
  return text;
}

std::string fp64_text(bool has_fp64, num::Fp64Summation summation, Scalar scalar) {
  if (!has_fp64) return "none";
  if (scalar == Scalar::kDD) return "long accumulator, exact";
  return summation == num::Fp64Summation::kPairwise ? "pairwise chains of 128" : "compensated (Dot2)";
}

certify::CertificatePlan certificate_plan(const plan::Plan& plan) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  return {plan.shape, stage.engine, plan.schedule.facts, stage.certificate, useful_threads(plan)};
}

std::string_view Ozaki2Stage::engine_name() const { return engine == nullptr ? "none" : engine->name(); }

void Ozaki2Stage::add_numerics(const plan::Plan& /*plan*/, plan::Stages /*behind*/, plan::NumericsHash& hash) const {
  hash.add((has_certificate ? 1U : 0U) | (has_fp64 ? 2U : 0U) | (ladder.may_equilibrate ? 4U : 0U) |
           (is_correct ? 8U : 0U));
  if (has_fp64) hash.add(static_cast<std::uint64_t>(fp64_summation));
  if (ladder.repair_shift != num::kRepairShift) hash.add(static_cast<std::uint64_t>(ladder.repair_shift));
  for (int r = 0; r < ladder.num_rungs; ++r) {
    const num::Rung& rung = ladder.rungs[static_cast<std::size_t>(r)];
    hash.add(static_cast<std::uint64_t>(rung.num_moduli));
    hash.add(rung.limit_mantissa);
    hash.add(static_cast<std::uint64_t>(rung.limit_exponent));
    hash.add(std::bit_cast<std::uint32_t>(rung.allowance));
  }
}

void Ozaki2Stage::book_engine_bytes(const plan::Plan& plan) {
  engine_bytes.reset();
  base::Carver counter;
  const Buffers buffers = carve(counter, plan);
  engine_bytes = EngineBytes{buffers.certificate.engine_bytes, buffers.main.engine_bytes};
}

double Ozaki2Stage::seconds_beyond(const plan::Plan& plan, const Effort& effort) const {
  return device_seconds_beyond(plan, effort);
}

void Ozaki2Stage::explain(const plan::Plan& plan, plan::Stages /*behind*/, const plan::TakeFact& fact) const {
  fact("ladder", ladder_text(*this));
  fact("certificate", has_certificate ? "chooses the rung from the data"
                      : is_correct    ? "none: the lowest rung that splits nearly all lines exactly"
                                      : "none needed: the bound holds for any data");
  if (is_correct) {
    fact("last rung", "long accumulator, where a result is too close to a tie");
  } else {
    fact("fp64 rung", fp64_text(has_fp64, fp64_summation, plan.shape.scalar) + fp64_seconds_text(plan));
  }
  fact("k blocks", std::to_string(chunk.kc) + " (exact up to " + std::to_string(product::kBlockMaxI8) + ")");
  fact("chunks", std::to_string(chunk.mc) + " x " + std::to_string(chunk.nc) + " of C; certificate " +
                     std::to_string(certificate.mc) + " x " + std::to_string(certificate.nc));
  fact("engine", std::string(engine_name()));
  if (takes_strassen) {
    fact("product", std::string(strassen_levels == 2 ? "49 of quadrants' quadrants" : "seven of quadrants") +
                        " (Strassen) where the sample certifies the lowest rung");
  }
  if (has_own_phases(plan) || has_device_phases(plan))
    fact("phases", "split and CRT too are the engine's own, where it takes them: the same bits");
}

std::string Ozaki2Stage::brief() const { return "ozaki2, " + ladder_text(*this); }

}  // namespace kizami::ozaki2
