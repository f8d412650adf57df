// SPDX-License-Identifier: MIT
#include "engines/tile/tile.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "engines/desc_check.hpp"
#include "engines/tile/launches.hpp"
#include "engines/tile/phases.hpp"
#include "tile_kernels/product_i8.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using base::round_up;
using product::DeviceFacts;
using product::Epilogue;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;
using tile_engines::Part;
using tile_engines::planes_together;
using tile_engines::why_tile_refuses;
using tile_kernels::PlaneEpilogue;

constexpr int kTileN = 64;
constexpr int kTileM = 64;
constexpr int kTileK = 64;
constexpr int kGroup = 8;  ///< rows of tiles that blocks walk together
/// Lines of A and of B in one launch: its (2^17 / 64)^2 blocks are within the 2^24 of a grid.
constexpr std::int64_t kMostLines = std::int64_t{1} << 17;
static_assert((kMostLines / kTileN) * (kMostLines / kTileM) < std::int64_t{1} << 24);

/// What a block and each of its steps along k takes, orders of magnitude: the planner prefers cpu_simd
/// (docs/perf/tile_host.md).
[[nodiscard]] double predicted_seconds(const ProductDesc& d, const DeviceFacts& facts, int threads) {
  constexpr double kStartSeconds = 1e-6;
  constexpr double kBlockSeconds = 15e-6;
  const double step_seconds = facts.has_avx512 ? 12e-6 : facts.has_avx2 ? 14e-6 : 100e-6;
  const double blocks =
      static_cast<double>(ceil_div(d.m, kTileM)) * static_cast<double>(ceil_div(d.n, kTileN)) * d.num_products;
  const auto steps = static_cast<double>(ceil_div(d.k, kTileK));
  return kStartSeconds + blocks * (kBlockSeconds + steps * step_seconds) / (threads * facts.processor.tile);
}

[[nodiscard]] int useful_threads(const ProductDesc& d, const DeviceFacts& facts) {
  constexpr double kSecondsPerThread =
      50e-6;  // a block or two: they are not shared, and waking a thread takes 5 to 10 us
  const double limit = predicted_seconds(d, facts, 1) / kSecondsPerThread;
  return static_cast<int>(std::clamp(limit, 1.0, static_cast<double>(std::max(1, facts.num_threads))));
}

template <PlaneEpilogue kEpilogue, class Result>
[[nodiscard]] Status multiply(const ProductDesc& d, const Pointers& pointers, const Part& part,
                              const tile::LaunchOptions& options) {
  const dim3 grid(static_cast<unsigned>(ceil_div(part.cols, kTileN) * ceil_div(part.rows, kTileM)), 1,
                  static_cast<unsigned>(part.planes));
  return KIZAMI_TILE_LAUNCH(
      (tile_kernels::product_i8_block<kEpilogue, Result, kTileN, kTileM, kTileK, false>), grid, &options,
      pointers.a + part.plane * d.a_plane_stride + part.row * d.a_row_stride,
      static_cast<std::uint32_t>(d.a_plane_stride), static_cast<int>(d.a_row_stride),
      pointers.b + part.plane * d.b_plane_stride + part.col * d.b_row_stride,
      static_cast<std::uint32_t>(d.b_plane_stride), static_cast<int>(d.b_row_stride),
      static_cast<Result*>(pointers.c) + part.plane * d.c_plane_stride + part.col * d.c_col_stride + part.row,
      static_cast<std::uint32_t>(d.c_plane_stride), static_cast<int>(d.c_col_stride), d.moduli.data(), part.plane,
      nullptr, part.planes, static_cast<int>(part.rows), static_cast<int>(part.cols),
      static_cast<int>(round_up(d.k, product::kPadBytes)),
      kGroup);  // what pads a row is zero, and whole tiles are faster
}

[[nodiscard]] Status multiply(const ProductDesc& d, const Pointers& pointers, const Part& part,
                              const tile::LaunchOptions& options) {
  switch (d.epilogue) {
    case Epilogue::kStoreAcc:
      return multiply<PlaneEpilogue::kStoreAcc, std::int32_t>(d, pointers, part, options);
    case Epilogue::kReduce:
      return multiply<PlaneEpilogue::kReduce, std::int8_t>(d, pointers, part, options);
    default:
      return multiply<PlaneEpilogue::kReduceAdd, std::int8_t>(d, pointers, part, options);
  }
}

class TileEngine final : public product::Engine, public product::PhaseBodies {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "tile"; }
  [[nodiscard]] bool needs_workspace() const noexcept override { return false; }
  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_tile_refuses(d)) return Refusal{*std::move(reason)};
    const int threads = useful_threads(d, facts);
    return Offer{.workspace_bytes = 0, .seconds = predicted_seconds(d, facts, threads), .threads = threads};
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& offer, const Pointers& pointers, std::byte* /*workspace*/,
                           product::Queue /*queue*/) const override {
    if (auto reason = why_tile_refuses(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    if (auto reason = engines::why_refused(d, pointers)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    if (d.m == 0 || d.n == 0 || d.num_products == 0) return {};
    tile::LaunchOptions options;
    options.max_threads = std::max(1, offer.threads);
    Pointers used = pointers;
    if (d.k == 0) used.a = used.b = static_cast<const std::int8_t*>(pointers.c);  // may be null, and are not looked at
    const int together = planes_together(d);
    for (int plane = 0; plane < d.num_products; plane += together) {
      for (std::int64_t j = 0; j < d.n; j += kMostLines) {
        for (std::int64_t i = 0; i < d.m; i += kMostLines) {
          const Part part{i, std::min(kMostLines, d.m - i), j, std::min(kMostLines, d.n - j), plane, together};
          KIZAMI_RETURN_IF_ERROR(multiply(d, used, part, options));
        }
      }
    }
    return {};
  }

  [[nodiscard]] std::optional<std::string> why_refused(const product::SplitDesc& d) const override {
    return tile_phases().why_refused(d);
  }
  [[nodiscard]] std::optional<std::string> why_refused(const product::ReconstructionDesc& d) const override {
    return tile_phases().why_refused(d);
  }
  [[nodiscard]] Status split(const product::SplitDesc& d) const override { return tile_phases().split(d); }
  [[nodiscard]] Status reconstruct(const product::ReconstructionDesc& d) const override {
    return tile_phases().reconstruct(d);
  }
};

}  // namespace

const product::Engine& tile_engine() {
  static constinit base::MadeOnce<TileEngine> engine;
  return engine.get();
}

}  // namespace kizami::engines
