// SPDX-License-Identifier: MIT
#include "engines/mma/mma.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "engines/float_desc_check.hpp"
#include "engines/mma/mma_params.hpp"

namespace kizami::engines {
namespace {

using product::DeviceFacts;
using product::FloatPointers;
using product::FloatProductDesc;
using product::Offer;
using product::Refusal;

std::optional<std::string> why_refused(const FloatProductDesc& d) {
  if (auto reason = why_out_of_range(d)) return reason;
  if (d.k >= mma::kMostInner) return limit_broken("k", d.k, "below 2^30");
  const std::int64_t most_tiles = std::numeric_limits<std::int32_t>::max();
  const std::int64_t tiles_i = base::ceil_div(d.m, mma::kTileI);
  const std::int64_t tiles_j = base::ceil_div(d.n, mma::kTileJ);
  if (tiles_i > most_tiles || tiles_j > most_tiles || (tiles_j > 0 && tiles_i > most_tiles / tiles_j))
    return "m x n = " + std::to_string(d.m) + " x " + std::to_string(d.n) + ", must be below 2^31 tiles of 128 x 128";
  const bool is_apart =
      d.type == num::FloatType::kFp16 && (d.core == num::mma_rn_tensor_core() || d.core == num::mma_rz_tensor_core());
  if (d.core != num::hopper_tensor_core(d.type) && !is_apart)
    return "the tensor core must be that of mma.sync on sm_90, or of FP16 mma_rn or mma_rz";
  const std::int64_t interval_bytes = d.k_interval * num::element_bytes(d.type);
  if (interval_bytes != mma::kInstructionBytes && interval_bytes % mma::kStageBytes != 0)
    return limit_broken("k_interval", d.k_interval, "16 or a multiple of 32");
  return std::nullopt;
}

/// Whole tiles of one wave after another, at the rate of one product, and of three promoted ones, of n = 8192 on an H200
/// (lab/results/h200/study_sgemm_documents.jsonl); four in one sum are nearly twice as fast.
double predicted_seconds(const FloatProductDesc& d, int num_sms) {
  constexpr double kLaunch = 4e-6;
  const double products_a_second = d.type == num::FloatType::kTf32 ? 0.22e12 : 0.45e12;  // of a multiprocessor
  const double tile = static_cast<double>(mma::kTileI) * mma::kTileJ * static_cast<double>(d.k) *
                      product::num_plane_products(d) / products_a_second;
  const double tiles =
      std::ceil(static_cast<double>(d.m) / mma::kTileI) * std::ceil(static_cast<double>(d.n) / mma::kTileJ);
  return kLaunch + tile * std::ceil(tiles / std::max(num_sms, 1));
}

class Mma final : public product::FloatEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "mma"; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const FloatProductDesc& d, const DeviceFacts& facts) const override {
    if (facts.compute_capability != 90) {
      return Refusal{
          limit_broken("compute capability", facts.compute_capability, "90: of no other is it recorded how it adds")};
    }
    if (auto reason = why_refused(d)) return Refusal{*std::move(reason)};
    return Offer{.workspace_bytes = 0, .seconds = predicted_seconds(d, facts.num_sms), .threads = 1};
  }

  [[nodiscard]] Status run(const FloatProductDesc& d, const Offer& /*offer*/, const FloatPointers& pointers,
                           std::byte* /*workspace*/, product::Queue queue) const override {
    if (auto reason = why_refused(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    if (d.m == 0 || d.n == 0) return {};
    if (pointers.c == nullptr || (d.k > 0 && (pointers.a == nullptr || pointers.b == nullptr)))
      return {StatusCode::kInvalidArgument, "a pointer of the product is null"};
    mma::Params params;
    params.desc = d;
    params.pointers = pointers;
    for (int q = 0; q < d.num_sums; ++q) {
      const product::FloatSum& sum = d.sums[static_cast<std::size_t>(q)];
      for (int p = 0; p < sum.num_pairs; ++p) {
        const product::PlanePair pair = sum.pairs[static_cast<std::size_t>(p)];
        params.num_a_planes = std::max(params.num_a_planes, pair.a + 1);
        params.num_b_planes = std::max(params.num_b_planes, pair.b + 1);
      }
    }
    params.tiles_i = static_cast<std::int32_t>(base::ceil_div(d.m, mma::kTileI));
    params.tiles_j = static_cast<std::int32_t>(base::ceil_div(d.n, mma::kTileJ));
    return mma::launch(params, queue);
  }
};

}  // namespace

const product::FloatEngine& mma_engine() {
  static constinit base::MadeOnce<Mma> engine;
  return engine.get();
}

}  // namespace kizami::engines
