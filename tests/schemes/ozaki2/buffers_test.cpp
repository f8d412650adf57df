// SPDX-License-Identifier: MIT
// The workspace: counting equals carving, pieces are aligned, large enough for what they are for, and disjoint.
#include "schemes/ozaki2/buffers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/int_math.hpp"
#include "engines/desc_check.hpp"
#include "num/moduli.hpp"
#include "tests/plan/fake_engine.hpp"

namespace kizami::ozaki2 {
namespace {

struct Piece {
  std::string name;
  const std::byte* begin;
  std::size_t bytes;
  enum Life : std::uint8_t { kAlways, kCertificate, kMain } life;
};
template <class T>
Piece piece(const char* name, const T* begin, std::int64_t count, Piece::Life life = Piece::kAlways) {
  return {name, reinterpret_cast<const std::byte*>(begin), static_cast<std::size_t>(count) * sizeof(T), life};
}

/// Every piece with the size that its documentation states.
std::vector<Piece> pieces_of(const Buffers& b, const plan::Plan& plan, std::size_t engine_bytes) {
  std::vector<Piece> pieces;
  const problem::Shape& s = plan.shape;
  const auto lines = [&](const LineBuffers& side, std::int64_t count) {
    pieces.push_back(piece("stats", side.stats, count));
    pieces.push_back(piece("scales", side.scales, count));
    if (ozaki2_of(plan).has_certificate) pieces.push_back(piece("weights", side.weights, count));
    if (ozaki2_of(plan).ladder.may_equilibrate) {
      pieces.push_back(piece("equilibrated", side.equilibrated, count));
      pieces.push_back(piece("inner_shift", side.inner_shift, s.k));
    }
  };
  lines(b.a, s.m);
  lines(b.b, s.n);
  const plan::Chunk& chunk = ozaki2_of(plan).chunk;
  const plan::Chunk& digits = ozaki2_of(plan).certificate;
  if (ozaki2_of(plan).has_certificate) {
    const std::int64_t row = base::round_up(s.k, 64);
    const std::int64_t blocks = base::ceil_div(s.k, 64);
    const auto life = Piece::kCertificate;
    pieces.push_back(piece("repairs", b.repairs, s.m * s.n / 512));
    pieces.push_back(piece("a_digits", b.certificate.a_digits, digits.mc * row, life));
    pieces.push_back(piece("b_digits", b.certificate.b_digits, digits.nc * row, life));
    pieces.push_back(piece("a_scales", b.certificate.a_scales, digits.mc * blocks, life));
    pieces.push_back(piece("b_scales", b.certificate.b_scales, digits.nc * blocks, life));
    pieces.push_back(piece("acc", b.certificate.acc,
                           std::max(certify::kSampledTile * certify::kSampledTile,
                                    certify::kBlocksPerLaunch * certify::kBlockTile * certify::kBlockTile),
                           life));
    pieces.push_back(piece("sums", b.certificate.sums, certify::kSampledTile * certify::kSampledTile, life));
    EXPECT_EQ(static_cast<const void*>(b.certificate.block_sums), static_cast<const void*>(b.certificate.sums));
    pieces.push_back(piece("rungs", b.certificate.rungs, certify::kSampledTile * certify::kSampledTile, life));
    pieces.push_back(
        piece("engine (certificate)", b.certificate.engine, static_cast<std::int64_t>(engine_bytes), life));
  }
  if (ozaki2_of(plan).ladder.num_rungs > 0) {
    const std::int64_t moduli =
        ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(ozaki2_of(plan).ladder.num_rungs - 1)].num_moduli;
    const auto life = Piece::kMain;
    pieces.push_back(piece("a_planes", b.main.a_planes, moduli * chunk.mc * chunk.kc, life));
    pieces.push_back(piece("b_planes", b.main.b_planes, moduli * chunk.nc * chunk.kc, life));
    pieces.push_back(piece("residues", b.main.residues, moduli * chunk.nc * base::round_up(chunk.mc, 64), life));
    pieces.push_back(piece("engine (main)", b.main.engine, static_cast<std::int64_t>(engine_bytes), life));
  }
  return pieces;
}

void expect_sound(const problem::Shape& shape, const Policy& policy) {
  constexpr std::size_t kEngineBytes = 1000;
  const plan::FakeEngine engine("cpu_simd", plan::offering(1.0, kEngineBytes));
  const Result<plan::Plan> made = plan::make(shape, policy, plan::FakeMachine({&engine}).environment());
  ASSERT_TRUE(made.ok()) << made.status().reason();
  const plan::Plan& plan = made.value();

  base::Carver counter;
  const Buffers counted = carve(counter, plan);
  EXPECT_EQ(counter.bytes(), plan.schedule.workspace_bytes);
  for (const Piece& p : pieces_of(counted, plan, kEngineBytes)) EXPECT_EQ(p.begin, nullptr) << p.name;

  const base::AlignedBuffer memory(plan.schedule.workspace_bytes);
  ASSERT_TRUE(memory.ok());
  base::Carver carver(memory.data());
  const Buffers buffers = carve(carver, plan);
  EXPECT_EQ(carver.bytes(), counter.bytes());
  const auto pieces = pieces_of(buffers, plan, kEngineBytes);
  for (const Piece& p : pieces) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.begin) % 64, 0U) << p.name;
    ASSERT_GE(p.begin, memory.data()) << p.name;
    ASSERT_LE(p.begin + p.bytes, memory.data() + plan.schedule.workspace_bytes) << p.name;
    for (const Piece& q : pieces) {
      if (&p == &q || p.bytes == 0 || q.bytes == 0) continue;
      // The certificate and the main pass are never alive together.
      if (p.life != Piece::kAlways && q.life != Piece::kAlways && p.life != q.life) continue;
      ASSERT_TRUE(p.begin + p.bytes <= q.begin || q.begin + q.bytes <= p.begin) << p.name << " and " << q.name;
    }
  }

  if (ozaki2_of(plan).has_certificate) {
    EXPECT_EQ(static_cast<const void*>(buffers.certificate.a_digits), static_cast<const void*>(buffers.main.a_planes));
  }

  // What is launched on them is well formed.
  for (int r = 0; r < ozaki2_of(plan).ladder.num_rungs; ++r) {
    const product::ProductDesc desc =
        main_product(plan, ozaki2_of(plan).chunk, ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(r)].num_moduli);
    EXPECT_EQ(engines::why_refused(desc).value_or("fine"), "fine");
    EXPECT_EQ(desc.epilogue, product::Epilogue::kReduce);
    for (int l = 0; l < desc.num_products; ++l) {
      EXPECT_EQ(desc.moduli[static_cast<std::size_t>(l)], num::kRealModuli[static_cast<std::size_t>(l)]);
    }
  }
  if (shape.k == 0) return;  // nothing is launched
  EXPECT_EQ(engines::why_refused(certify::sampled_product(shape, certify::kSampledTile, certify::kSampledTile,
                                                          std::min(shape.k, product::kBlockMaxI8)))
                .value_or("fine"),
            "fine");
  EXPECT_EQ(engines::why_refused(
                certify::block_product(shape, certify::kBlockTile, certify::kBlockTile, certify::kBlocksPerLaunch))
                .value_or("fine"),
            "fine");
}

TEST(Buffers, CountingIsCarving) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64}) {
    for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
      for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                            {64, 64, 64},
                                                                            {65, 63, 129},
                                                                            {1000, 3, 20},
                                                                            {2, 700, 5000},
                                                                            {300, 300, 200000},
                                                                            {0, 5, 5},
                                                                            {5, 0, 5},
                                                                            {5, 5, 0}}) {
        for (const std::size_t limit : {std::size_t{0}, std::size_t{40} << 20}) {
          Policy policy;
          policy.gauge = gauge;
          policy.workspace_limit_bytes = limit;
          expect_sound({scalar, m, n, k}, policy);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Buffers, ForcedModuli) {
  for (const int n : {2, 14, 28}) {
    Policy policy;
    policy.forced_moduli = n;
    expect_sound({Scalar::kF64, 100, 90, 80}, policy);
  }
}

}  // namespace
}  // namespace kizami::ozaki2
