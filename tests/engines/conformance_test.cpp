// SPDX-License-Identifier: MIT
// Every engine and every kernel variant against cpu_ref, byte for byte, and cpu_ref against an independent loop. All of
// C's storage is compared, so a canary that changes is a failure like any other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engines/cpu_ref/cpu_ref.hpp"
#include "engines/cpu_simd/cpu_simd.hpp"
#include "engines/product_case.hpp"
#include "engines/tile/tile.hpp"

namespace kizami::engines {
namespace {

using product::DeviceFacts;
using product::Engine;
using product::Epilogue;
using product::Offer;
using product::ProductDesc;
using product::Refusal;
using testing::CaseSpec;
using testing::every_feature;
using testing::Fill;
using testing::kIsSanitized;
using testing::ProductCase;

constexpr std::array kEpilogues = {Epilogue::kStoreAcc, Epilogue::kReduce, Epilogue::kReduceAdd};

/// The engines under test that this processor can run: the default, then every variant of it, then the others.
std::vector<const Engine*> runnable_engines() {
  std::vector<const Engine*> engines = {&cpu_simd_engine()};
  for (const CpuSimdVariant& variant : cpu_simd_variants()) {
    if (variant.is_supported) engines.push_back(variant.engine);
  }
  engines.push_back(&tile_engine());
  return engines;
}

/// C after `engine` ran the case on a poisoned workspace of exactly the size it asked for.
std::vector<std::byte> result_of(const Engine& engine, const ProductCase& c, int threads) {
  std::vector<std::byte> storage = c.initial_c();
  const auto answer = engine.query(c.desc(), every_feature(threads));
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    ADD_FAILURE() << engine.name() << " refuses: " << refusal->reason;
    return storage;
  }
  Offer offer = std::get<Offer>(answer);
  EXPECT_LE(offer.threads, threads);
  EXPECT_GE(offer.threads, 1);
  offer.threads = threads;  // however little work there is
  const testing::AlignedBytes workspace(static_cast<std::int64_t>(offer.workspace_bytes), 0xCD);
  const Status status = engine.run(c.desc(), offer, {c.a(), c.b(), ProductCase::c_begin(storage)}, workspace.data());
  EXPECT_TRUE(status.ok()) << engine.name() << ": " << status.reason();
  EXPECT_TRUE(c.has_intact_operands()) << engine.name();
  return storage;
}

/// Runs all engines on one case with each thread count and compares them with cpu_ref.
void expect_same_bytes(const CaseSpec& spec, const std::vector<int>& thread_counts = {1}) {
  const ProductCase c(spec);
  const std::vector<std::byte> expected = result_of(cpu_ref_engine(), c, 1);
  for (const Engine* engine : runnable_engines()) {
    for (const int threads : thread_counts) {
      const std::vector<std::byte> actual = result_of(*engine, c, threads);
      if (std::memcmp(actual.data(), expected.data(), expected.size()) == 0) continue;
      const auto at = std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin();
      ADD_FAILURE() << engine->name() << " differs from cpu_ref at byte " << at << " of C, threads = " << threads
                    << ", case " << c.name();
    }
  }
}

__extension__ using Int128 = __int128;

/// The residue by its definition: the one r in range with p | x - r.
std::int8_t residue_by_search(Int128 x, int p) {
  for (int r = -(p / 2); r < -(p / 2) + p; ++r) {
    if ((x - r) % p == 0) return static_cast<std::int8_t>(r);
  }
  return 0;
}

TEST(CpuRef, AgreesWithAnIndependentLoop) {
  for (const auto& [epilogue, is_unsigned] : {std::pair{Epilogue::kStoreAcc, false},
                                              {Epilogue::kReduce, false},
                                              {Epilogue::kReduceAdd, false},
                                              {Epilogue::kReduce, true}}) {
    const auto value = [without_sign = is_unsigned](std::int8_t byte) -> Int128 {
      return without_sign ? byte & 255 : byte;
    };
    for (const Fill fill : {Fill::kResidues, Fill::kLowest, Fill::kHighest, Fill::kOpposite, Fill::kBytes}) {
      const ProductCase c({.m = 5,
                           .n = 4,
                           .k = 67,
                           .moduli = {256, 255, 251, 3, 2},
                           .epilogue = epilogue,
                           .fill = fill,
                           .extra_k = 64,
                           .extra_rows = 3,
                           .has_unsigned_bytes = is_unsigned});
      std::vector<std::byte> expected = c.initial_c();
      const ProductDesc& d = c.desc();
      for (std::int64_t l = d.num_products - 1; l >= 0; --l) {
        for (std::int64_t i = 0; i < d.m; ++i) {
          for (std::int64_t j = 0; j < d.n; ++j) {
            Int128 sum = 0;
            for (std::int64_t x = d.k - 1; x >= 0; --x) {
              sum += value(c.a()[l * d.a_plane_stride + i * d.a_row_stride + x]) *
                     value(c.b()[l * d.b_plane_stride + j * d.b_row_stride + x]);
            }
            const std::int64_t at = l * d.c_plane_stride + j * d.c_col_stride + i;
            if (epilogue == Epilogue::kStoreAcc) {
              static_cast<std::int32_t*>(ProductCase::c_begin(expected))[at] = static_cast<std::int32_t>(sum);
            } else {
              auto& to = static_cast<std::int8_t*>(ProductCase::c_begin(expected))[at];
              to = residue_by_search(sum + (epilogue == Epilogue::kReduceAdd ? to : 0),
                                     d.moduli[static_cast<std::size_t>(l)]);
            }
          }
        }
      }
      EXPECT_EQ(result_of(cpu_ref_engine(), c, 1), expected) << c.name();
    }
  }
}

TEST(HostEngines, EveryTileEdge) {
  // Tiles are 64 x 64 (tile), 48 x 8, 16 x 6, 8 x 4, vectors 16, 8 and 4 rows, packing steps 64, 8, 4 and 2 in k.
  std::vector<std::int64_t> ms = {1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 97};
  std::vector<std::int64_t> ns = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17, 65};
  std::vector<std::int64_t> ks = {0, 1, 2, 3, 4, 5, 7, 63, 64, 65, 131};
  if (kIsSanitized) {
    ms = {1, 7, 9, 16, 17, 49};
    ns = {1, 5, 6, 9};
    ks = {0, 1, 3, 65};
  }
  int i_case = 0;
  for (const auto m : ms) {
    for (const auto n : ns) {
      for (const auto k : ks) {
        // The axes that a shape does not decide take turns.
        const int i = i_case++;
        expect_same_bytes({.m = m,
                           .n = n,
                           .k = k,
                           .moduli = i % 2 == 0 ? std::vector<std::int16_t>{256, 255}
                                                : std::vector<std::int16_t>{static_cast<std::int16_t>(2 + i % 255)},
                           .epilogue = kEpilogues[static_cast<std::size_t>(i % 3)],
                           .fill = i % 5 == 0 ? Fill::kBytes : Fill::kResidues,
                           .extra_k = i % 7 == 0 ? 64 : 0,
                           .extra_rows = i % 4,
                           .interleaves_planes = i % 11 == 0},
                          {1 + i % 3});
      }
    }
  }
}

TEST(HostEngines, EmptyDimensions) {
  for (const Epilogue epilogue : kEpilogues) {
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{0, 5, 7}, {5, 0, 7}, {5, 7, 0}, {0, 0, 7}, {0, 0, 0}, {64, 9, 0}}) {
      expect_same_bytes({.m = m, .n = n, .k = k, .moduli = {256, 13}, .epilogue = epilogue, .extra_rows = 2}, {1, 2});
    }
    expect_same_bytes({.m = 3, .n = 4, .k = 5, .moduli = {}, .epilogue = epilogue}, {1, 2});
  }
}

TEST(HostEngines, EveryModulus) {
  int turn = 0;
  for (const Epilogue epilogue : {Epilogue::kReduce, Epilogue::kReduceAdd}) {
    for (const Fill fill : {Fill::kResidues, Fill::kLowest, Fill::kBytes}) {
      for (int first = 2; first <= 256; first += 51) {
        if (testing::is_left_out(turn++, 3)) continue;
        std::vector<std::int16_t> moduli;
        for (int p = first; p < first + 51; ++p) moduli.push_back(static_cast<std::int16_t>(p));
        expect_same_bytes({.m = 9, .n = 7, .k = 129, .moduli = moduli, .epilogue = epilogue, .fill = fill}, {2});
      }
    }
  }
}

TEST(HostEngines, TallWideAndDeep) {
  const std::int64_t scale = kIsSanitized ? 8 : 1;
  for (const Epilogue epilogue : kEpilogues) {
    expect_same_bytes({.m = 4999 / scale, .n = 3, .k = 67, .moduli = {256, 253}, .epilogue = epilogue, .extra_rows = 1},
                      {1, 3});
    expect_same_bytes({.m = 3, .n = 4999 / scale, .k = 67, .moduli = {256, 253}, .epilogue = epilogue, .extra_rows = 1},
                      {1, 3});
    expect_same_bytes({.m = 5, .n = 3, .k = 40009 / scale, .moduli = {256, 253}, .epilogue = epilogue, .extra_rows = 1},
                      {1, 3});
  }
}

TEST(HostEngines, EdgesOfTheCacheBlocks) {
  // Blocks end at multiples of 2304 rows or columns and 2048 (INT16: 1024) in k.
  for (const std::int64_t k : {1023, 1024, 1025, 2047, 2048, 2049, 2113, 4097, 6145}) {
    expect_same_bytes(
        {.m = 50, .n = 9, .k = k, .moduli = {256, 251}, .epilogue = kEpilogues[static_cast<std::size_t>(k % 3)]},
        {1, 2});
  }
  if (kIsSanitized) return;
  for (const std::int64_t length : {2303, 2304, 2305, 4700}) {
    const Epilogue epilogue = kEpilogues[static_cast<std::size_t>(length % 3)];
    expect_same_bytes({.m = length, .n = 5, .k = 70, .moduli = {256, 251}, .epilogue = epilogue}, {2});
    expect_same_bytes({.m = 7, .n = length, .k = 70, .moduli = {256, 251}, .epilogue = epilogue}, {2});
  }
  expect_same_bytes({.m = 2310, .n = 2309, .k = 3, .moduli = {256}, .epilogue = Epilogue::kReduce},
                    {2});  // blocks of A and B reused
  expect_same_bytes({.m = 2310, .n = 9, .k = 1100, .moduli = {239}, .epilogue = Epilogue::kReduceAdd}, {2});
  expect_same_bytes({.m = 9, .n = 2310, .k = 2050, .moduli = {239}, .epilogue = Epilogue::kReduce}, {2});
}

/// One launch of the tile engine takes 2^17 lines of each operand.
TEST(HostEngines, MoreLinesThanOneLaunch) {
  constexpr std::int64_t kLines = (std::int64_t{1} << 17) + 65;
  CaseSpec spec{.m = kLines, .n = 1, .k = 3, .moduli = {239}, .epilogue = Epilogue::kReduceAdd, .extra_rows = 1};
  expect_same_bytes(spec, {2});
  if (kIsSanitized) return;
  std::swap(spec.m, spec.n);
  expect_same_bytes(spec, {2});
}

TEST(HostEngines, ManyPlanesInSeveralChunks) {
  const std::vector<std::int16_t> moduli = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199};
  for (const Epilogue epilogue : kEpilogues) {
    // 500 KiB (INT16: 1 MB) of packed operands per plane, chunks of 1 MiB.
    expect_same_bytes(
        {.m = 250, .n = 5, .k = kIsSanitized ? 200 : 2048, .moduli = moduli, .epilogue = epilogue, .extra_rows = 5},
        {1, 2, 5});
    expect_same_bytes({.m = 33,
                       .n = 12,
                       .k = 100,
                       .moduli = moduli,
                       .epilogue = epilogue,
                       .extra_rows = 5,
                       .interleaves_planes = true},
                      {1, 2, 3, 5});
  }
  std::vector<std::int16_t> most(product::kMaxProducts, 256);
  for (std::size_t l = 1; l < most.size(); ++l) most[l] = static_cast<std::int16_t>(256 - 3 * l);
  expect_same_bytes({.m = 17, .n = 9, .k = 65, .moduli = most}, {1, 2, 3, 5});
}

TEST(HostEngines, ThreadCountsChangeNoBit) {
  for (const int threads : {1, 2, 3, 5}) {
    expect_same_bytes({.m = 301, .n = 203, .k = kIsSanitized ? 65 : 513, .moduli = {256, 227}, .extra_rows = 3},
                      {threads});
    expect_same_bytes({.m = 1, .n = 997, .k = 129, .moduli = {256, 227}}, {threads});
    expect_same_bytes({.m = 997, .n = 1, .k = 129, .moduli = {256, 227}}, {threads});
  }
}

TEST(HostEngines, WorstCasesAtTheLongestK) {
  // All -128: the sum 2^31 wraps, modulo 256 harmlessly; kStoreAcc stores the wrapped value. 127 * 127 and -127 * 127
  // stay inside.
  const std::int64_t first = kIsSanitized ? product::kBlockMaxI8 : product::kBlockMaxI8 - 1;
  int turn = 0;
  for (std::int64_t k = first; k <= product::kBlockMaxI8; ++k) {
    for (const Fill fill : {Fill::kLowest, Fill::kHighest, Fill::kOpposite}) {
      for (const Epilogue epilogue : kEpilogues) {
        if (testing::is_left_out(turn++, 5)) continue;
        expect_same_bytes({.m = 2, .n = 1, .k = k, .moduli = {256, 255}, .epilogue = epilogue, .fill = fill}, {2});
      }
    }
  }
  // Bytes that are no residues of 251: still exact, as long as the sum fits.
  expect_same_bytes({.m = 3,
                     .n = 2,
                     .k = product::kBlockMaxI8,
                     .moduli = {251},
                     .epilogue = Epilogue::kReduceAdd,
                     .fill = Fill::kBytes},
                    {2});
}

/// C t = A (B^T t) modulo 2^32, for products that cpu_ref is too slow for: a wrong tile survives with probability 2^-8
/// or less per row.
TEST(CpuSimd, LargeProductsByAVector) {
  if (kIsSanitized) GTEST_SKIP() << "too slow under a sanitizer; the same code runs in EdgesOfTheCacheBlocks";
  for (const CpuSimdVariant& variant : cpu_simd_variants()) {
    if (!variant.is_supported) continue;
    const std::int64_t k = variant.name == "avx512_vnni" ? 2113 : 1089;  // two blocks of k
    const std::int64_t m = variant.name == "portable" ? 300 : 2310;
    const ProductCase c({.m = m, .n = 2309, .k = k, .moduli = {256}, .epilogue = Epilogue::kStoreAcc});
    const ProductDesc& d = c.desc();
    std::vector<std::byte> storage = result_of(*variant.engine, c, 2);
    const auto* const acc = static_cast<const std::int32_t*>(ProductCase::c_begin(storage));
    std::vector<std::uint32_t> t(static_cast<std::size_t>(d.n));
    for (std::size_t j = 0; j < t.size(); ++j) t[j] = static_cast<std::uint32_t>(testing::hash(j)) | 1U;
    std::vector<std::uint32_t> bt(static_cast<std::size_t>(d.k));
    for (std::int64_t j = 0; j < d.n; ++j) {
      for (std::int64_t x = 0; x < d.k; ++x) {
        bt[static_cast<std::size_t>(x)] +=
            static_cast<std::uint32_t>(c.b()[j * d.b_row_stride + x]) * t[static_cast<std::size_t>(j)];
      }
    }
    int num_wrong = 0;
    for (std::int64_t i = 0; i < d.m; ++i) {
      std::uint32_t by_c = 0;
      std::uint32_t by_vector = 0;
      for (std::int64_t j = 0; j < d.n; ++j)
        by_c += static_cast<std::uint32_t>(acc[j * d.c_col_stride + i]) * t[static_cast<std::size_t>(j)];
      for (std::int64_t x = 0; x < d.k; ++x)
        by_vector += static_cast<std::uint32_t>(c.a()[i * d.a_row_stride + x]) * bt[static_cast<std::size_t>(x)];
      num_wrong += by_c != by_vector ? 1 : 0;
    }
    EXPECT_EQ(num_wrong, 0) << variant.name;
  }
}

TEST(CpuSimd, NamesWhatRuns) {
  const auto variants = cpu_simd_variants();
  ASSERT_FALSE(variants.empty());
  EXPECT_EQ(variants.back().name, "portable");
  EXPECT_TRUE(variants.back().is_supported);
  const auto best =
      std::find_if(variants.begin(), variants.end(), [](const CpuSimdVariant& v) { return v.is_supported; });
  EXPECT_EQ(cpu_simd_kernel_name(), best->name);
  std::string summary;
  for (const CpuSimdVariant& variant : variants) {
    EXPECT_EQ(variant.engine->name(), "cpu_simd/" + std::string(variant.name));
    summary += std::string(variant.name) + (variant.is_supported ? " " : " (not supported here) ");
  }
  RecordProperty("variants", summary);
#if defined(__x86_64__)
  EXPECT_EQ(variants.size(), 4U) << summary;
#endif
}

TEST(CpuSimd, UnsupportedVariantsSaySo) {
  const ProductCase c({.m = 3, .n = 3, .k = 3});
  for (const CpuSimdVariant& variant : cpu_simd_variants()) {
    if (variant.name == "portable") continue;
    DeviceFacts without = every_feature(1);
    without.has_avx2 = without.has_avx512 = without.has_avx512_vnni = without.has_neon = false;
    EXPECT_TRUE(std::holds_alternative<Refusal>(variant.engine->query(c.desc(), without))) << variant.name;
    if (variant.is_supported) continue;
    std::vector<std::byte> storage = c.initial_c();
    const Status status =
        variant.engine->run(c.desc(), Offer{}, {c.a(), c.b(), ProductCase::c_begin(storage)}, nullptr);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_EQ(storage, c.initial_c());
  }
}

}  // namespace
}  // namespace kizami::engines
