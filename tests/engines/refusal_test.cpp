// SPDX-License-Identifier: MIT
// What engines refuse, why, and that run() checks what query() checks.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "engines/cpu_ref/cpu_ref.hpp"
#include "engines/cpu_simd/cpu_simd.hpp"
#include "engines/product_case.hpp"
#include "engines/tile/tile.hpp"

namespace kizami::engines {
namespace {

using product::Engine;
using product::Epilogue;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;
using testing::every_feature;
using testing::ProductCase;

std::vector<const Engine*> all_engines() {
  std::vector<const Engine*> engines = {&cpu_ref_engine(), &cpu_simd_engine(), &tile_engine()};
  for (const CpuSimdVariant& variant : cpu_simd_variants()) engines.push_back(variant.engine);
  return engines;
}

ProductDesc good_desc() {
  ProductDesc d;
  d.m = 10;
  d.n = 6;
  d.k = 70;
  d.num_products = 2;
  d.moduli = {256, 255};
  d.a_row_stride = d.b_row_stride = 128;
  d.a_plane_stride = 1280;
  d.b_plane_stride = 768;
  d.c_col_stride = 10;
  d.c_plane_stride = 60;
  return d;
}

/// Every engine refuses the changed description, in query() and in run(), and the reason has `part`.
void expect_refused(const std::function<void(ProductDesc&)>& change, const std::string& part) {
  ProductDesc d = good_desc();
  change(d);
  for (const Engine* engine : all_engines()) {
    const auto answer = engine->query(d, every_feature(2));
    const auto* refusal = std::get_if<Refusal>(&answer);
    ASSERT_NE(refusal, nullptr) << engine->name() << " accepts what should be refused for " << part;
    EXPECT_NE(refusal->reason.find(part), std::string::npos) << engine->name() << ": " << refusal->reason;
    const Status status = engine->run(d, Offer{}, Pointers{}, nullptr);
    EXPECT_FALSE(status.ok()) << engine->name();
  }
}

TEST(Refusals, TheGoodCaseIsAccepted) {
  for (const Engine* engine : all_engines()) {
    EXPECT_TRUE(std::holds_alternative<Offer>(engine->query(good_desc(), every_feature(2)))) << engine->name();
  }
}

TEST(Refusals, Dimensions) {
  expect_refused([](auto& d) { d.m = -1; }, "m = -1");
  expect_refused([](auto& d) { d.n = -7; }, "n = -7");
  expect_refused([](auto& d) { d.k = -1; }, "k = -1");
  expect_refused(
      [](auto& d) {
        d.k = product::kBlockMaxI8 + 1;
        d.a_row_stride = d.b_row_stride = product::kBlockMaxI8 + 64;
        d.a_plane_stride = d.b_plane_stride = 10 * d.a_row_stride;
      },
      "131072");
  expect_refused([](auto& d) { d.num_products = -1; }, "num_products = -1");
  expect_refused([](auto& d) { d.num_products = product::kMaxProducts + 1; }, "64");
}

TEST(Refusals, ModuliAndEpilogue) {
  for (const int p : {-3, 0, 1, 257, 32767}) {
    expect_refused([p](auto& d) { d.moduli[1] = static_cast<std::int16_t>(p); }, "moduli[1] = " + std::to_string(p));
  }
  expect_refused([](auto& d) { d.epilogue = static_cast<Epilogue>(17); }, "epilogue = 17");
  ProductDesc d = good_desc();
  d.epilogue = Epilogue::kStoreAcc;
  d.moduli = {};  // not read
  for (const Engine* engine : all_engines())
    EXPECT_TRUE(std::holds_alternative<Offer>(engine->query(d, every_feature(2))));
}

TEST(Refusals, BytesWithoutSign) {
  expect_refused(
      [](ProductDesc& d) {
        d.has_unsigned_bytes = true;
        d.epilogue = Epilogue::kReduceAdd;
      },
      "has_unsigned_bytes = true, must be false");
  ProductDesc d = good_desc();
  d.has_unsigned_bytes = true;
  const auto takes = [&](const Engine& engine) {
    return std::holds_alternative<Offer>(engine.query(d, every_feature(2)));
  };
  EXPECT_TRUE(takes(cpu_ref_engine()));
  EXPECT_FALSE(takes(cpu_simd_engine()));
  EXPECT_FALSE(takes(tile_engine()));
  static_assert(product::kBlockMaxU8 == 33025);
  d.a_row_stride = d.b_row_stride = 1 << 16;
  d.a_plane_stride = d.b_plane_stride = 10 << 16;
  d.k = product::kBlockMaxU8;
  EXPECT_TRUE(takes(cpu_ref_engine()));
  ++d.k;
  const auto answer = cpu_ref_engine().query(d, every_feature(2));
  ASSERT_TRUE(std::holds_alternative<Refusal>(answer));
  EXPECT_EQ(std::get<Refusal>(answer).reason,
            "k = 33026, must be at most 33025 (kBlockMaxU8): beyond it a sum of bytes without sign leaves INT32");
}

TEST(Refusals, Strides) {
  expect_refused([](auto& d) { d.a_row_stride = 64; }, "a_row_stride = 64");
  expect_refused([](auto& d) { d.b_row_stride = 129; }, "b_row_stride = 129");
  expect_refused([](auto& d) { d.a_row_stride = -128; }, "a_row_stride = -128");
  expect_refused([](auto& d) { d.a_plane_stride = 1281; }, "a_plane_stride = 1281");
  expect_refused([](auto& d) { d.b_plane_stride = -64; }, "b_plane_stride = -64");
  expect_refused([](auto& d) { d.c_col_stride = 9; }, "c_col_stride = 9");
  expect_refused([](auto& d) { d.c_plane_stride = 59; }, "c_plane_stride = 59");
  expect_refused([](auto& d) { d.c_plane_stride = -60; }, "c_plane_stride = -60");
  expect_refused([](auto& d) { d.a_row_stride = std::numeric_limits<std::int64_t>::max() / 64 * 64; }, "64-bit");
  expect_refused([](auto& d) { d.c_col_stride = std::numeric_limits<std::int64_t>::max() / 2; }, "64-bit");
}

/// Tile kernels index by int, the others by std::int64_t.
TEST(Refusals, StridesThatNoIntHolds) {
  constexpr std::int64_t kStride = std::int64_t{1} << 31;
  const auto with_stride = [](std::int64_t ProductDesc::*member) {
    ProductDesc d = good_desc();
    d.*member = kStride;
    d.c_plane_stride = 6 * kStride;
    return d;
  };
  for (const auto& [member, name] : {std::pair{&ProductDesc::a_row_stride, "a_row_stride"},
                                     {&ProductDesc::b_row_stride, "b_row_stride"},
                                     {&ProductDesc::c_col_stride, "c_col_stride"}}) {
    const ProductDesc d = with_stride(member);
    EXPECT_TRUE(std::holds_alternative<Offer>(cpu_ref_engine().query(d, every_feature(2)))) << name;
    const auto answer = tile_engine().query(d, every_feature(2));
    ASSERT_TRUE(std::holds_alternative<Refusal>(answer)) << name;
    EXPECT_EQ(std::get<Refusal>(answer).reason,
              std::string(name) + " = 2147483648, must be below 2^31: tile kernels index by int");
    EXPECT_EQ(tile_engine().run(d, Offer{}, Pointers{}, nullptr).code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST(Refusals, PointersAndWorkspace) {
  const ProductCase c({.m = 10, .n = 6, .k = 70});
  for (const Engine* engine : all_engines()) {
    std::vector<std::byte> storage = c.initial_c();
    void* const to = ProductCase::c_begin(storage);
    const auto answer = engine->query(c.desc(), every_feature(1));
    ASSERT_TRUE(std::holds_alternative<Offer>(answer));
    const Offer offer = std::get<Offer>(answer);
    const testing::AlignedBytes workspace(static_cast<std::int64_t>(offer.workspace_bytes) + 64, 0);
    EXPECT_FALSE(engine->run(c.desc(), offer, {nullptr, c.b(), to}, workspace.data()).ok()) << engine->name();
    EXPECT_FALSE(engine->run(c.desc(), offer, {c.a(), nullptr, to}, workspace.data()).ok()) << engine->name();
    EXPECT_FALSE(engine->run(c.desc(), offer, {c.a(), c.b(), nullptr}, workspace.data()).ok()) << engine->name();
    EXPECT_FALSE(engine->run(c.desc(), offer, {c.a() + 1, c.b(), to}, workspace.data()).ok()) << engine->name();
    if (offer.workspace_bytes == 0) continue;
    EXPECT_FALSE(engine->run(c.desc(), offer, {c.a(), c.b(), to}, nullptr).ok()) << engine->name();
    EXPECT_FALSE(engine->run(c.desc(), offer, {c.a(), c.b(), to}, workspace.data() + 1).ok()) << engine->name();
    EXPECT_FALSE(engine->run(c.desc(), Offer{}, {c.a(), c.b(), to}, workspace.data()).ok()) << engine->name();
    EXPECT_EQ(storage, c.initial_c()) << engine->name();
  }
}

TEST(Offers, AreBoundedAndPure) {
  ProductDesc d = good_desc();
  d.m = d.n = 100000;
  d.k = product::kBlockMaxI8;
  d.num_products = 20;
  d.moduli.fill(251);
  d.a_row_stride = d.b_row_stride = product::kBlockMaxI8;
  d.a_plane_stride = d.b_plane_stride = d.m * d.a_row_stride;
  d.c_col_stride = d.m;
  d.c_plane_stride = d.m * d.n;
  for (const Engine* engine : all_engines()) {
    const auto first = std::get<Offer>(engine->query(d, every_feature(8)));
    const auto second = std::get<Offer>(engine->query(d, every_feature(8)));
    EXPECT_EQ(first.workspace_bytes, second.workspace_bytes);
    EXPECT_EQ(first.seconds, second.seconds);
    EXPECT_LE(first.workspace_bytes, std::size_t{64} << 20) << engine->name();
    EXPECT_EQ(engine->needs_workspace(), first.workspace_bytes > 0) << engine->name();
    EXPECT_GT(first.seconds, 0);
    EXPECT_EQ(std::get<Offer>(engine->query(good_desc(), every_feature(8))).threads, 1) << "too small to share";
    EXPECT_EQ(std::get<Offer>(engine->query(d, every_feature(0))).threads, 1);
  }
}

}  // namespace
}  // namespace kizami::engines
