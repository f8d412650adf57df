// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdio>
#include <string>

#include "num/crt_table.hpp"
#include "plan/buffers.hpp"
#include "plan/device_buffers.hpp"
#include "plan/native.hpp"
#include "plan/ozaki1.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

[[nodiscard]] std::string accuracy_text(const Policy& policy) {
  if (policy.slices.num_slices != 0) {
    return policy.slices.num_slices == kUntilZero ? "slices until zero (forced)"
                                                  : "slices=" + std::to_string(policy.slices.num_slices) + " (forced)";
  }
  if (policy.forced_moduli != 0) return "moduli=" + std::to_string(policy.forced_moduli) + " (forced)";
  switch (policy.accuracy.kind) {
    case Accuracy::Kind::kNative:
      return "native";
    case Accuracy::Kind::kBits:
      return "bits=" + std::to_string(policy.accuracy.bits);
    case Accuracy::Kind::kCorrect:
      return "correct";
  }
  return "unknown";
}

[[nodiscard]] std::string gauge_text(Gauge gauge, Scalar scalar) {
  const std::string parts = is_complex(scalar) ? " of each part" : "";
  return (gauge == Gauge::kEntry ? "|A||B|" : "||a_i|| ||b_j||") + parts;
}

[[nodiscard]] std::string fp64_text(const Numerics& numerics, Scalar scalar) {
  if (!numerics.has_fp64) return "none";
  if (scalar == Scalar::kDD) return "long accumulator, exact";
  return numerics.fp64_summation == num::Fp64Summation::kPairwise ? "pairwise chains of 128" : "compensated (Dot2)";
}

/// What the prediction leaves out: operands that no rung is enough for.
[[nodiscard]] std::string fp64_seconds_text(const Plan& plan) {
  if (!plan.numerics.has_fp64 || plan.shape.scalar == Scalar::kDD || is_on_device(plan)) return "";
  constexpr double kPairwiseSeconds = 1.1e-9;  // a term, where exponents span all of FP64; docs/perf/cpu_int8.md
  constexpr double kCompensatedSeconds = 1.7e-9;
  const bool is_pairwise = plan.numerics.fp64_summation == num::Fp64Summation::kPairwise;
  const double terms = static_cast<double>(plan.shape.m) * static_cast<double>(plan.shape.n) *
                       static_cast<double>(num_terms(plan.shape)) * (is_complex(plan.shape.scalar) ? 2.0 : 1.0);
  return "; at most " +
         number(terms * (is_pairwise ? kPairwiseSeconds : kCompensatedSeconds) / plan.schedule.facts.num_threads) +
         " s, where it answers all";
}

[[nodiscard]] std::string ladder_text(const Numerics& numerics) {
  std::string text;
  for (int r = 0; r < numerics.ladder.num_rungs; ++r) {
    text += (r == 0 ? "" : ", ") + std::to_string(numerics.ladder.rungs[static_cast<std::size_t>(r)].num_moduli);
  }
  if (text.empty()) return "no moduli; FP64 arithmetic";
  text += " moduli";
  if (numerics.ladder.may_equilibrate) text += "; the same equilibrated along k";
  if (numerics.has_fp64) text += "; FP64 arithmetic";
  return text;
}

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

[[nodiscard]] std::string tensor_core_text(const Plan& plan) {
  const num::TensorCore& core = plan.numerics.ec.stages[0].core;
  return std::string(to_string(plan.policy.ec.tensor_core)) + " (groups of " + std::to_string(core.group) +
         " aligned to " + std::to_string(core.fraction_bits) + " fraction bits" +
         (core.is_fused ? ", with the accumulator)" : ", the accumulator apart)");
}

/// For instance "scaled: 2 parts of FP16, 3 products in 1 sum, promoted every 64 of k; error 3.1e-06 |A||B|".
[[nodiscard]] std::string stage_text(const EcStage& stage) {
  const EcRecipe& recipe = stage.recipe;
  int num_pairs = 0;
  int num_promoted = 0;
  for (int q = 0; q < recipe.num_sums; ++q) {
    const product::FloatSum& sum = recipe.sums[static_cast<std::size_t>(q)];
    num_pairs += sum.num_pairs;
    num_promoted += sum.promotes ? 1 : 0;
  }
  std::string text = std::string(to_string(recipe.variant)) + ": " + std::to_string(recipe.split.num_parts) +
                     " parts of " + format_text(recipe.type) + (recipe.scales_lines ? ", lines scaled" : "");
  if (recipe.split.remainder_shift > 0) text += ", remainders times 2^" + std::to_string(recipe.split.remainder_shift);
  text += "; " + std::to_string(num_pairs) + " products in " + std::to_string(recipe.num_sums) +
          (recipe.num_sums == 1 ? " sum, " : " sums, ");
  text += num_promoted == 0 ? "none promoted"
                            : std::to_string(num_promoted) + " promoted every " +
                                  std::to_string(recipe.intervals_promoted * recipe.k_interval) + " of k";
  return text + "; error " + number(stage.error);
}

[[nodiscard]] std::string range_text(const Numerics& numerics, bool is_on_device) {
  if (numerics.ec.is_karatsuba) return "a part of the bound, for any data";
  if (!numerics.ec.checks_range) return "not checked: the bound holds for operands within it";
  if (is_on_device)
    return "by the split, line by line; beyond all variants: " +
           std::string(numerics.has_fp64 ? "FP64 arithmetic" : "refused");
  return "certified from the data; beyond all variants: ozaki2, " + ladder_text(numerics);
}

/// For instance "7 slices of int8 (bytes, 8 bits each), 28 products".
[[nodiscard]] std::string slices_text(const SliceNumerics& slices) {
  constexpr std::string_view kKinds[] = {"truncated", "nearest", "bytes"};
  std::string counts;
  for (int r = 0; r < slices.num_rungs; ++r)
    counts += (r == 0 ? "" : ", ") + std::to_string(slices.rungs[static_cast<std::size_t>(r)].num_slices);
  const SliceRung& first = slices.rungs[0];
  std::string text = (slices.until_zero ? "until zero, at most " : "") + counts + " slices of " +
                     std::string(to_string(slices.format)) + " (" +
                     std::string(kKinds[static_cast<std::size_t>(slices.rule.kind)]) + ", " +
                     std::to_string(slices.rule.step) + " bits each" + (slices.one_scale ? ", one scale a matrix" : "");
  return text + "); products i + j < " + (slices.takes_all_pairs ? "2 l - 1" : std::to_string(first.num_diagonals)) +
         (slices.num_rungs > 1 ? ", ..." : "") + ": " +
         std::to_string(num::num_slice_products(first.num_slices, first.num_diagonals));
}

/// What becomes of operands that the bound of scheme native is not certain for.
[[nodiscard]] std::string beyond_native_text(const Plan& plan) {
  if (is_on_device(plan)) return "nobody looks at the elements";
  if (plan.behind != nullptr) {
    const Numerics& numerics = plan.behind->numerics;
    return "other operands: ozaki2, " + ladder_text(numerics) + ", bound " + number(numerics.bound);
  }
  return is_native_by_name(plan.policy) ? "the outcome says whether that is certain" : "other operands: refused";
}

}  // namespace

std::string explain(const Plan& plan) {
  const problem::Shape& shape = plan.shape;
  const Numerics& numerics = plan.numerics;
  const Schedule& schedule = plan.schedule;
  std::string text;
  const auto line = [&text](const char* name, const std::string& value) {
    text += name;
    text.append(14 - std::string_view(name).size(), ' ');
    text += value + '\n';
  };
  line("problem", std::string(to_string(shape.scalar)) + "  m = " + std::to_string(shape.m) +
                      ", n = " + std::to_string(shape.n) + ", k = " + std::to_string(shape.k));
  if (schedule.batch != Batch{}) {
    line("batch", std::to_string(schedule.batch.num_products) + " products, one after another" +
                      (schedule.batch.has_device_arrays ? ", found by arrays in device memory" : ""));
  }
  line("accuracy", accuracy_text(plan.policy));
  line("scheme", std::string(to_string(numerics.scheme)));
  line("bound", number(numerics.bound) + " " + gauge_text(numerics.gauge, shape.scalar) + "  (2^" +
                    number(std::log2(numerics.bound)) + ")");
  line("gauge", numerics.is_correct ? "none: correctly rounded" : std::string(to_string(numerics.gauge)));
  if (numerics.scheme == Scheme::kEc) {
    line("bound is", "deterministic, for a tensor core that adds as " + tensor_core_text(plan));
    for (int s = 0; s < numerics.ec.num_stages; ++s)
      line(s == 0 ? "variant" : "beyond range", stage_text(numerics.ec.stages[static_cast<std::size_t>(s)]));
    if (is_complex(shape.scalar))
      line("complex form", numerics.ec.is_karatsuba ? "Karatsuba: three real products" : "four real products");
    const bool is_on_device = schedule.ec_engine != nullptr;
    line("range", range_text(numerics, is_on_device));
    if (is_on_device) {
      line("fp64 rung", fp64_text(numerics, shape.scalar));
      line("engine", std::string(schedule.ec_engine->name()));
    } else {
      line("chunks", std::to_string(schedule.ec_chunk.mc) + " x " + std::to_string(schedule.ec_chunk.nc) + " of C");
      line("engine", std::string(schedule.float_engine->name()) + ", certificate by " +
                         (schedule.engine == nullptr ? "none" : std::string(schedule.engine->name())));
    }
  } else if (numerics.scheme == Scheme::kOzaki1) {
    line("slices", slices_text(numerics.slices));
    if (is_complex(shape.scalar)) line("complex form", std::string(to_string(numerics.slices.complex_form)));
    line("certificate", numerics.slices.ladder.num_rungs > 0
                            ? "chooses the slices from the data; beyond them: ozaki2, " + ladder_text(numerics)
                            : "none needed: the bound holds for any data" +
                                  std::string(numerics.slices.one_scale ? " whose lines are equally large" : ""));
    std::string sums(to_string(schedule.slice_sums));
    if (schedule.facts.space == product::MemorySpace::kHost) {
      sums +=
          ", " + std::to_string(slices_per_sum(plan, schedule.slice_chunk.kc)) + " products in one accumulator at most";
    }
    line("sums", sums);
    line("k blocks", std::to_string(schedule.slice_chunk.kc));
    line("chunks", std::to_string(schedule.slice_chunk.mc) + " x " + std::to_string(schedule.slice_chunk.nc) + " of C");
    line("engine",
         std::string(schedule.float_engine != nullptr ? schedule.float_engine->name() : schedule.engine->name()));
  } else if (numerics.scheme == Scheme::kOzaki2) {
    line("ladder", ladder_text(numerics));
    line("certificate", numerics.has_certificate ? "chooses the rung from the data"
                        : numerics.is_correct    ? "none: the lowest rung that splits nearly all lines exactly"
                                                 : "none needed: the bound holds for any data");
    line(numerics.is_correct ? "last rung" : "fp64 rung",
         numerics.is_correct ? "long accumulator, where a result is too close to a tie"
                             : fp64_text(numerics, shape.scalar) + fp64_seconds_text(plan));
    line("k blocks", std::to_string(schedule.chunk.kc) + " (exact up to " + std::to_string(product::kBlockMaxI8) + ")");
    line("chunks", std::to_string(schedule.chunk.mc) + " x " + std::to_string(schedule.chunk.nc) +
                       " of C; certificate " + std::to_string(schedule.certificate.mc) + " x " +
                       std::to_string(schedule.certificate.nc));
    line("engine", schedule.engine == nullptr ? "none" : std::string(schedule.engine->name()));
    if (has_own_phases(plan) || has_device_phases(plan))
      line("phases", "split and CRT too are the engine's own, where it takes them: the same bits");
  } else {
    line("bound holds", "where nothing overflows or underflows on the way; " + beyond_native_text(plan));
    line("k blocks", std::to_string(schedule.native_k_block));
    line("engine", schedule.facts.space == product::MemorySpace::kDevice ? "cublas" : "native_blas");
  }
  if (schedule.facts.space == product::MemorySpace::kDevice) {
    line("device", std::to_string(schedule.facts.device) + ", compute capability " +
                       std::to_string(schedule.facts.compute_capability / 10) + "." +
                       std::to_string(schedule.facts.compute_capability % 10) + ", " +
                       std::to_string(schedule.facts.num_sms) + " multiprocessors");
  } else {
    line("threads", std::to_string(schedule.facts.num_threads));
  }
  line("workspace", std::to_string(schedule.workspace_bytes) + " bytes");
  line("predicted", number(schedule.seconds) + " s");
  for (const std::string& refusal : plan.refusals) line("refused", refusal);
  return text;
}

}  // namespace kizami::plan
