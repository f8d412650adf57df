// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>

#include "num/crt_table.hpp"
#include "plan/plan.hpp"

namespace kizami::plan {
namespace {

[[nodiscard]] std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

[[nodiscard]] std::string accuracy_text(const Policy& policy) {
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

class Hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i, word >>= 8) value_ = (value_ ^ (word & 0xFF)) * 0x100000001B3;  // FNV-1a
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

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
  line("accuracy", accuracy_text(plan.policy));
  line("scheme", std::string(to_string(numerics.scheme)));
  line("bound", number(numerics.bound) + " " + gauge_text(numerics.gauge, shape.scalar) + "  (2^" +
                    number(std::log2(numerics.bound)) + ")");
  line("gauge", numerics.is_correct ? "none: correctly rounded" : std::string(to_string(numerics.gauge)));
  if (numerics.scheme == Scheme::kOzaki2) {
    line("ladder", ladder_text(numerics));
    line("certificate", numerics.has_certificate ? "chooses the rung from the data"
                        : numerics.is_correct    ? "none: the lowest rung that splits nearly all lines exactly"
                                                 : "none needed: the bound holds for any data");
    line(numerics.is_correct ? "last rung" : "fp64 rung", numerics.is_correct
                                                              ? "long accumulator, where a result is too close to a tie"
                                                              : fp64_text(numerics, shape.scalar));
    line("k blocks", std::to_string(schedule.chunk.kc) + " (exact up to " + std::to_string(product::kBlockMaxI8) + ")");
    line("chunks", std::to_string(schedule.chunk.mc) + " x " + std::to_string(schedule.chunk.nc) +
                       " of C; certificate " + std::to_string(schedule.certificate.mc) + " x " +
                       std::to_string(schedule.certificate.nc));
    line("engine", schedule.engine == nullptr ? "none" : std::string(schedule.engine->name()));
  } else {
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
  return hash.value();
}

}  // namespace kizami::plan
