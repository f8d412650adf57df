// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/stage.hpp"

#include <bit>
#include <cstdint>
#include <string>

#include "schemes/ozaki1/plan.hpp"

namespace kizami::ozaki1 {
namespace {

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

}  // namespace

std::string_view Ozaki1Stage::engine_name() const {
  return float_engine != nullptr ? float_engine->name() : engine->name();
}

void Ozaki1Stage::add_numerics(const plan::Plan& plan, plan::Stages behind, plan::NumericsHash& hash) const {
  if (behind.empty()) {
    hash.add(0);  // no certificate, no FP64 rung
  } else {
    behind[0]->add_numerics(plan, behind.subspan(1), hash);
  }
  add_preparation(hash);
  for (int r = 0; r < numerics.num_rungs; ++r) {
    const SliceRung& rung = numerics.rungs[static_cast<std::size_t>(r)];
    hash.add(static_cast<std::uint64_t>(rung.num_slices) << 32 | static_cast<std::uint64_t>(rung.num_diagonals));
    hash.add(std::bit_cast<std::uint32_t>(numerics.ladder.rungs[static_cast<std::size_t>(r)].allowance));
  }
  hash.add((numerics.until_zero ? 1U : 0U) | (numerics.takes_all_pairs ? 2U : 0U) | (numerics.rounds_sums ? 4U : 0U));
}

bool Ozaki1Stage::add_preparation(plan::NumericsHash& hash) const {
  hash.add(static_cast<std::uint64_t>(numerics.format));
  hash.add(static_cast<std::uint64_t>(numerics.rule.kind));
  hash.add(static_cast<std::uint64_t>(numerics.rule.step));
  hash.add(static_cast<std::uint64_t>(numerics.complex_form));
  hash.add(numerics.one_scale ? 1U : 0U);
  return true;
}

void Ozaki1Stage::book_engine_bytes(const plan::Plan& plan) {
  engine_bytes.reset();
  base::Carver counter;
  engine_bytes = carve_slices(counter, plan).engine_bytes;
}

void Ozaki1Stage::explain(const plan::Plan& plan, plan::Stages behind, const plan::TakeFact& fact) const {
  fact("slices", slices_text(numerics));
  if (is_complex(plan.shape.scalar)) fact("complex form", std::string(to_string(numerics.complex_form)));
  fact("certificate", numerics.ladder.num_rungs > 0
                          ? "chooses the slices from the data; beyond them: " + behind[0]->brief()
                          : "none needed: the bound holds for any data" +
                                std::string(numerics.one_scale ? " whose lines are equally large" : ""));
  std::string sums_text(to_string(sums));
  const bool shares_accumulators =
      sums == SliceSums::kGrouped || sums == SliceSums::kConcatenated || sums == SliceSums::kBlocked;
  if (shares_accumulators && (!plan::is_on_device(plan) || numerics.format == SliceFormat::kInt8)) {
    sums_text += ", " + std::to_string(slices_per_sum(plan, chunk.kc)) + " products in one accumulator at most";
  }
  fact("sums", sums_text);
  fact("k blocks", std::to_string(chunk.kc));
  fact("chunks", std::to_string(chunk.mc) + " x " + std::to_string(chunk.nc) + " of C");
  if (blocks.lines > 0) {
    fact("blocks", std::to_string(blocks.lines) + " lines of " + (chunk.mc >= chunk.nc ? "A" : "B") + ", in " +
                       std::to_string(blocks.num_streams) + (blocks.num_streams == 1 ? " stream" : " streams"));
  }
  fact("engine", std::string(engine_name()));
}

}  // namespace kizami::ozaki1
