// SPDX-License-Identifier: MIT
// The engine "hopper" and every form of its kernel against cpu_ref, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "engines/hopper/forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "engines/modulus_constants.hpp"
#include "gpu/product_cases.hpp"
#include "gpu/product_on_device.hpp"

namespace kizami::engines {
namespace {

using HopperEngine = gpu_test::Sm90Test;

/// Runs every form that accepts the product, and compares.
void expect_same_bytes(const HostProduct& p, int raster_tiles = 0) {
  const std::vector<std::uint8_t> expected = expected_c(p);
  DeviceProduct device(p);
  for (const HopperFormTraits& form : hopper_forms()) {
    if (!form_accepts(form, p.desc)) continue;
    device.c.upload(p.initial_c);
    const Status status = run_hopper_product(p.desc, device.pointers(), form.form, nullptr, raster_tiles);
    ASSERT_TRUE(status.ok()) << form.name << ": " << status.reason();
    device.expect_c(expected, std::string(form.name));
    if (::testing::Test::HasFailure()) return;  // one failure says enough
  }
}
void expect_same_bytes(const CaseSpec& spec, int raster_tiles = 0) {
  expect_same_bytes(HostProduct(spec), raster_tiles);
}

constexpr auto kSameBytes = [](const HostProduct& p) { expect_same_bytes(p); };

TEST_F(HopperEngine, OneTile) {
  // The simplest case first: if this fails, so does all.
  for (const Epilogue epilogue : kEpilogues) {
    expect_same_bytes({.m = 128, .n = 128, .k = 128, .moduli = {251}, .epilogue = epilogue});
    expect_same_bytes({.m = 256, .n = 256, .k = 128, .moduli = {256, 255}, .epilogue = epilogue});
    expect_same_bytes({.m = 256, .n = 256, .k = 1024, .moduli = {256, 255, 253}, .epilogue = epilogue});
    if (HasFailure()) return;
  }
}

TEST_F(HopperEngine, EveryTileEdge) {
  // Of permuted lines those that are multiples of 16: both halves of a box of 64, one tile of 192 lines, a little more, and two.
  expect_tile_edges({1, 7, 16, 63, 64, 65, 96, 112, 127, 128, 129, 130, 192, 200, 208, 257, 384}, kSameBytes);
}

TEST_F(HopperEngine, AlignmentOfColumns) { expect_alignments_of_columns(kSameBytes); }

TEST_F(HopperEngine, EveryModulus) { expect_every_modulus(kSameBytes, has_modulus_constants); }

TEST_F(HopperEngine, NumbersOfPlanes) { expect_numbers_of_planes(kSameBytes); }

TEST_F(HopperEngine, DeepSums) {
  // Sums of up to 2^31; 131072 is the last k there is.
  std::size_t turn = 0;
  for (const std::int64_t k : {4096, 65535, 65536, 65537, 131071, 131072}) {
    for (const Fill fill : {Fill::kResidues, Fill::kLowest, Fill::kHighest, Fill::kOpposite}) {
      expect_same_bytes({.m = 80,
                         .n = 33,
                         .k = k,
                         .moduli = {256, 255},
                         .epilogue = kEpilogues[turn++ % 3],
                         .fill = fill,
                         .extra_rows = 16});
      if (HasFailure()) return;
    }
  }
  for (const Epilogue epilogue : kEpilogues) {
    expect_same_bytes({.m = 48, .n = 17, .k = 131072, .moduli = {256}, .epilogue = epilogue, .fill = Fill::kLowest});
    expect_same_bytes(
        {.m = 48, .n = 17, .k = 65536, .moduli = {255, 29}, .epilogue = epilogue, .fill = Fill::kOpposite});
  }
}

TEST_F(HopperEngine, BytesWithoutSign) {
  for (const std::int64_t m : {16, 80, 96, 144, 192, 208, 257, 384}) {
    for (const std::int64_t n : {7, 130, 257}) {
      expect_same_bytes({.m = m, .n = n, .k = 129, .moduli = {256, 255, 253}, .has_unsigned_bytes = true});
      if (HasFailure()) return;
    }
  }
  for (const Fill fill : {Fill::kResidues, Fill::kHighest, Fill::kOpposite, Fill::kBytes}) {
    for_every_modulus(has_modulus_constants, [&](const std::vector<std::int16_t>& moduli) {
      expect_same_bytes({.m = 80, .n = 33, .k = 201, .moduli = moduli, .fill = fill, .has_unsigned_bytes = true});
    });
    if (HasFailure()) return;
  }
  // Sums of up to 2^31.
  for (const std::int64_t k : {std::int64_t{16513}, product::kBlockMaxU8}) {
    for (const Fill fill : {Fill::kHighest, Fill::kResidues}) {
      expect_same_bytes(
          {.m = 80, .n = 33, .k = k, .moduli = {256, 255, 251}, .fill = fill, .has_unsigned_bytes = true});
      if (HasFailure()) return;
    }
  }
  expect_same_bytes({.m = 1024, .n = 600, .k = 300, .moduli = first_moduli(3), .has_unsigned_bytes = true});
  expect_same_bytes({.m = 64, .n = 9, .k = 0, .moduli = {256, 13}, .has_unsigned_bytes = true});
}

TEST_F(HopperEngine, ManyTilesForEveryCta) {
  expect_many_tiles(kSameBytes);
  expect_same_bytes({.m = 1024, .n = 1024, .k = 1024, .moduli = first_moduli(14)});
}

TEST_F(HopperEngine, RastersChangeNoBit) {
  for (const int raster : {1, 2, 3, 7, 1000}) {
    expect_same_bytes({.m = 1300, .n = 700, .k = 130, .moduli = {256, 255, 253}}, raster);
  }
}

TEST_F(HopperEngine, EmptyDimensions) { expect_empty_dimensions(kSameBytes); }

TEST_F(HopperEngine, SharedAndInterleavedOperands) { expect_shared_and_interleaved_operands(kSameBytes); }

TEST_F(HopperEngine, ReadsTheNumberOfPlanesOnTheDevice) {
  for (const Epilogue epilogue : kEpilogues) {
    for (const std::int64_t k : {0, 200}) {
      const HostProduct all({.m = 208, .n = 150, .k = k, .moduli = first_moduli(14), .epilogue = epilogue});
      for (const std::int32_t count : {0, 1, 5, 14, 99, -3}) {
        HostProduct some = all;
        some.desc.num_products = std::clamp(count, 0, 14);
        const std::vector<std::uint8_t> expected = expected_c(some);
        const DeviceArray<std::int32_t> on_device(std::vector<std::int32_t>{count});
        DeviceProduct device(all);
        for (const HopperFormTraits& form : hopper_forms()) {
          if (!form_accepts(form, all.desc)) continue;
          device.c.upload(all.initial_c);
          const Status status = run_hopper_product(all.desc, device.pointers(on_device.data()), form.form, nullptr);
          ASSERT_TRUE(status.ok()) << form.name << ": " << status.reason();
          device.expect_c(expected, std::string(form.name) + " of " + std::to_string(count) + " planes");
        }
      }
    }
  }
}

TEST_F(HopperEngine, OffersWhatItRuns) {
  EXPECT_EQ(hopper_engine().name(), "hopper");
  EXPECT_EQ(hopper_engine().space(), product::MemorySpace::kDevice);
  EXPECT_TRUE(hopper_engine().reads_num_products());
  for (const CaseSpec& spec : {CaseSpec{.m = 700, .n = 500, .k = 300, .moduli = first_moduli(4)},
                               CaseSpec{.m = 500, .n = 100, .k = 300, .moduli = first_moduli(4)},
                               CaseSpec{.m = 500, .n = 500, .k = 100000, .moduli = first_moduli(2)}}) {
    const HostProduct p(spec);
    const auto answer = hopper_engine().query(p.desc, sm_90_facts());
    ASSERT_TRUE(std::holds_alternative<Offer>(answer));
    EXPECT_EQ(std::get<Offer>(answer).workspace_bytes, 0U);
    EXPECT_GT(std::get<Offer>(answer).seconds, 0);
    DeviceProduct device(p);
    const Status status = hopper_engine().run(p.desc, std::get<Offer>(answer), device.pointers(), nullptr);
    ASSERT_TRUE(status.ok()) << status.reason();
    device.expect_c(expected_c(p), "hopper");
  }
}

TEST_F(HopperEngine, SeveralThreadsAndStreams) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      const HostProduct p({.m = 300 + 16 * t, .n = 250, .k = 333, .moduli = first_moduli(6)});
      const std::vector<std::uint8_t> expected = expected_c(p);
      DeviceProduct device(p);
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
      for (int round = 0; round < kRounds; ++round) {
        for (const HopperFormTraits& form : hopper_forms()) {
          if (!form_accepts(form, p.desc)) continue;
          const Status status = run_hopper_product(p.desc, device.pointers(), form.form, stream);
          EXPECT_TRUE(status.ok()) << status.reason();
        }
      }
      check(cudaStreamSynchronize(stream), "stream");
      device.expect_c(expected, "thread " + std::to_string(t));
      check(cudaStreamDestroy(stream), "stream");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(HopperEngine, CanBeCapturedInAGraph) {
  const HostProduct p({.m = 272, .n = 250, .k = 333, .moduli = first_moduli(6)});
  const std::vector<std::uint8_t> expected = expected_c(p);
  DeviceProduct device(p);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = hopper_engine().run(p.desc, Offer{}, device.pointers(), nullptr, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "graph");
  for (int round = 0; round < 3; ++round) {
    device.c.upload(p.initial_c);
    check(cudaGraphLaunch(exec, stream), "graph");
    check(cudaStreamSynchronize(stream), "graph");
    device.expect_c(expected, "graph");
  }
  check(cudaGraphExecDestroy(exec), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
}

ProductDesc good_desc() { return ProductCase({.m = 32, .n = 6, .k = 70, .moduli = {256, 255}}).desc(); }

std::string refusal_of(const ProductDesc& d, const DeviceFacts& facts) {
  const auto answer = hopper_engine().query(d, facts);
  const auto* refusal = std::get_if<Refusal>(&answer);
  return refusal != nullptr ? refusal->reason : "";
}

// Needs no device.
TEST(HopperRefusals, SayWhy) {
  EXPECT_EQ(refusal_of(good_desc(), sm_90_facts()), "");
  DeviceFacts facts = sm_90_facts();
  facts.space = product::MemorySpace::kHost;
  EXPECT_NE(refusal_of(good_desc(), facts).find("device memory"), std::string::npos);
  facts = sm_90_facts();
  facts.compute_capability = 80;
  EXPECT_EQ(refusal_of(good_desc(), facts).find("compute_capability = 80"), 0U);  // the planner names the engine
  ProductDesc d = good_desc();
  d.a_row_stride = 64;
  EXPECT_NE(refusal_of(d, sm_90_facts()).find("a_row_stride = 64"), std::string::npos);
  d = good_desc();
  d.a_row_stride = std::int64_t{1} << 37;
  d.a_plane_stride = std::int64_t{1} << 43;
  EXPECT_NE(refusal_of(d, sm_90_facts()).find("2^36"), std::string::npos);
  d = good_desc();
  d.m = (std::int64_t{1} << 30) + 1;
  d.c_col_stride = d.m;
  d.c_plane_stride = 8 * d.m;
  EXPECT_NE(refusal_of(d, sm_90_facts()).find("2^30"), std::string::npos);
  EXPECT_EQ(run_hopper_product(d, {}, HopperForm::kPingPong128x128, nullptr).code(), StatusCode::kInvalidArgument);
  d = good_desc();
  EXPECT_EQ(run_hopper_product(d, {}, HopperForm::kPingPong128x128, nullptr).code(), StatusCode::kInvalidArgument);
  d.epilogue = Epilogue::kStoreAcc;
  EXPECT_EQ(run_hopper_product(d,
                               {reinterpret_cast<const std::int8_t*>(64), reinterpret_cast<const std::int8_t*>(64),
                                reinterpret_cast<void*>(64)},
                               HopperForm::kPingPong128x128Permuted, nullptr)
                .code(),
            StatusCode::kUnsupported);
}

}  // namespace
}  // namespace kizami::engines
