// SPDX-License-Identifier: MIT
// The engine "tile" in device memory against cpu_ref, byte for byte.
#if defined(KIZAMI_TEST_HAS_TILE)
#include "engines/tile/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/int_math.hpp"
#include "gpu/product_cases.hpp"
#include "gpu/product_on_device.hpp"
#include "num/modular.hpp"

namespace kizami::engines {
namespace {

/// Also has the kernels in the device.
class TileEngine : public gpu_test::Sm90Test {
 protected:
  void SetUp() override {
    Sm90Test::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Status status = prepare_tile_device(0);
    ASSERT_TRUE(status.ok()) << status.reason();
  }
};

void run_and_compare(const HostProduct& p, DeviceProduct& device, const std::int32_t* num_products,
                     const std::vector<std::uint8_t>& expected, const std::string& what) {
  const auto answer = tile_device_engine().query(p.desc, sm_90_facts());
  const auto* const refusal = std::get_if<Refusal>(&answer);
  ASSERT_EQ(refusal, nullptr) << refusal->reason;
  const Offer& offer = std::get<Offer>(answer);
  EXPECT_EQ(offer.workspace_bytes, 0U);
  EXPECT_GT(offer.seconds, 0);
  const Status status = tile_device_engine().run(p.desc, offer, device.pointers(num_products), nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  device.expect_c(expected, what);
}
void expect_same_bytes(const HostProduct& p) {
  DeviceProduct device(p);
  run_and_compare(p, device, nullptr, expected_c(p), "tile");
}
void expect_same_bytes(const CaseSpec& spec) { expect_same_bytes(HostProduct(spec)); }

constexpr auto kSameBytes = [](const HostProduct& p) { expect_same_bytes(p); };

TEST_F(TileEngine, OneTile) {
  for (const Epilogue epilogue : kEpilogues) {
    expect_same_bytes({.m = 128, .n = 128, .k = 128, .moduli = {251}, .epilogue = epilogue});
    expect_same_bytes({.m = 256, .n = 256, .k = 1024, .moduli = {256, 255, 253}, .epilogue = epilogue});
  }
}

TEST_F(TileEngine, EveryTileEdge) { expect_tile_edges({1, 16, 63, 127, 128, 129, 144, 257}, kSameBytes); }

TEST_F(TileEngine, AlignmentOfColumns) { expect_alignments_of_columns(kSameBytes); }

TEST_F(TileEngine, EveryModulus) {
  expect_every_modulus(kSameBytes, [](int) { return true; });
}

TEST_F(TileEngine, NumbersOfPlanes) { expect_numbers_of_planes(kSameBytes); }

TEST_F(TileEngine, DeepSums) {
  // 131072 is the last k there is, where -128 by -128 sums to 2^31: past the end at which tensor cores stop.
  for (const std::int64_t k : {65536, 65537, 131071, 131072}) {
    for (const Fill fill : {Fill::kResidues, Fill::kLowest, Fill::kHighest, Fill::kOpposite}) {
      for (const Epilogue epilogue : kEpilogues) {
        for (const std::int64_t extra_rows : {0, 3}) {
          expect_same_bytes({.m = 48,
                             .n = 17,
                             .k = k,
                             .moduli = {256, 255},
                             .epilogue = epilogue,
                             .fill = fill,
                             .extra_rows = extra_rows});
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(TileEngine, MoreBlocksThanRunAtATime) { expect_many_tiles(kSameBytes); }

TEST_F(TileEngine, EmptyDimensions) { expect_empty_dimensions(kSameBytes); }

TEST_F(TileEngine, SharedAndInterleavedOperands) { expect_shared_and_interleaved_operands(kSameBytes); }

TEST_F(TileEngine, ReadsTheNumberOfPlanesOnTheDevice) {
  for (const Epilogue epilogue : kEpilogues) {
    for (const std::int64_t m : {208, 131}) {  // by TMA, and element by element
      const HostProduct all({.m = m, .n = 150, .k = 200, .moduli = first_moduli(14), .epilogue = epilogue});
      for (const std::int32_t count : {0, 1, 5, 14, 99, -3}) {
        HostProduct some = all;
        some.desc.num_products = std::clamp(count, 0, 14);
        const DeviceArray<std::int32_t> on_device(std::vector<std::int32_t>{count});
        DeviceProduct device(all);
        run_and_compare(all, device, on_device.data(), expected_c(some), "tile, " + std::to_string(count) + " planes");
      }
    }
  }
}

/// Each window is a product of its own for the processor.
TEST_F(TileEngine, Windows) {
  for (const std::int64_t m : {160, 77}) {
    HostProduct p({.m = m, .n = 90, .k = 640, .moduli = {256, 256, 256}, .epilogue = Epilogue::kStoreAcc});
    p.desc.num_windows = 3;
    p.desc.windows[0] = {0, 2, 0, 128, 512};
    p.desc.windows[1] = {1, 0, 256, 0, 384};
    p.desc.windows[2] = {2, 2, 128, 512, 128};
    std::vector<std::uint8_t> expected = p.initial_c;
    for (int l = 0; l < 3; ++l) {
      const product::Window& w = p.desc.windows[static_cast<std::size_t>(l)];
      HostProduct one = p;
      one.desc.num_windows = 0;
      one.desc.num_products = 1;
      one.desc.k = w.k;
      one.a.assign(p.a.begin() + w.a_plane * p.desc.a_plane_stride + w.a_first, p.a.end());
      one.b.assign(p.b.begin() + w.b_plane * p.desc.b_plane_stride + w.b_first, p.b.end());
      const std::vector<std::uint8_t> c = expected_c(one);
      const std::size_t bytes = static_cast<std::size_t>(p.desc.c_plane_stride) * 4;
      const std::size_t to = p.c_offset + static_cast<std::size_t>(l) * bytes;
      std::copy_n(c.begin() + static_cast<std::ptrdiff_t>(p.c_offset), bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(to));
    }
    DeviceProduct device(p);
    run_and_compare(p, device, nullptr, expected, "windows");
  }
}

/// Offsets that no 32 bits hold, in operands and in C: three planes of 1.5 GiB, rows of 256 MiB.
TEST_F(TileEngine, FarApart) {
  constexpr std::int64_t kRow = std::int64_t{1} << 28;
  constexpr std::int64_t kM = 6;
  constexpr std::int64_t kPlane = kM * kRow;
  constexpr std::int64_t kK = 100;
  ProductDesc d;
  d.m = kM;
  d.n = kM;
  d.k = kK;
  d.num_products = 3;
  d.moduli = {256, 255, 253};
  d.a_row_stride = d.b_row_stride = d.c_col_stride = kRow;
  d.a_plane_stride = d.b_plane_stride = d.c_plane_stride = kPlane;
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &all_bytes), "memory");
  constexpr std::size_t kBytes = 3 * kPlane;
  if (free_bytes < 2 * kBytes + (std::size_t{1} << 30)) GTEST_SKIP() << free_bytes << " bytes are free";
  const DeviceArray<std::int8_t> a(kBytes);  // of both operands
  const DeviceArray<std::int8_t> c(kBytes);
  const auto element = [](std::int64_t plane, std::int64_t i, std::int64_t h) {
    return static_cast<std::int8_t>(testing::hash(static_cast<std::uint64_t>((plane * kM + i) * kK + h)));
  };
  for (std::int64_t line = 0; line < 3 * kM; ++line) {
    std::vector<std::int8_t> row(128, 0);
    for (std::int64_t h = 0; h < kK; ++h) row[static_cast<std::size_t>(h)] = element(line / kM, line % kM, h);
    check(cudaMemcpy(a.data() + line * kRow, row.data(), row.size(), cudaMemcpyHostToDevice), "row");
  }
  const auto answer = tile_device_engine().query(d, sm_90_facts());
  ASSERT_TRUE(std::holds_alternative<Offer>(answer));
  const Status status = tile_device_engine().run(d, std::get<Offer>(answer), {a.data(), a.data(), c.data()}, nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  check(cudaDeviceSynchronize(), "product");
  for (std::int64_t plane = 0; plane < 3; ++plane) {
    for (std::int64_t j = 0; j < kM; ++j) {
      std::vector<std::int8_t> column(kM + 1);
      check(cudaMemcpy(column.data(), c.data() + plane * kPlane + j * kRow, column.size(), cudaMemcpyDeviceToHost),
            "C");
      for (std::int64_t i = 0; i < kM; ++i) {
        std::int64_t sum = 0;
        for (std::int64_t h = 0; h < kK; ++h) sum += element(plane, i, h) * element(plane, j, h);
        const int modulus = d.moduli[static_cast<std::size_t>(plane)];
        EXPECT_EQ(column[static_cast<std::size_t>(i)], num::symmetric_residue(sum, modulus))
            << "plane " << plane << " at " << i << ", " << j;
      }
      EXPECT_EQ(static_cast<std::uint8_t>(column[kM]), DeviceArray<std::int8_t>::kPoison) << "beyond the column";
    }
  }
}

TEST_F(TileEngine, SeveralThreadsAndStreams) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const HostProduct p({.m = 300 + 16 * t, .n = 250, .k = 333, .moduli = first_moduli(6)});
      DeviceProduct device(p);
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
      for (int round = 0; round < 5; ++round) {
        const Status status = tile_device_engine().run(p.desc, Offer{}, device.pointers(), nullptr, stream);
        EXPECT_TRUE(status.ok()) << status.reason();
      }
      check(cudaStreamSynchronize(stream), "stream");
      device.expect_c(expected_c(p), "thread " + std::to_string(t));
      check(cudaStreamDestroy(stream), "stream");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TileEngine, CanBeCapturedInAGraph) {
  for (const std::int64_t m : {272, 271}) {
    const HostProduct p({.m = m, .n = 250, .k = 333, .moduli = first_moduli(6)});
    const std::vector<std::uint8_t> expected = expected_c(p);
    DeviceProduct device(p);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    const Status status = tile_device_engine().run(p.desc, Offer{}, device.pointers(), nullptr, stream);
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
}

}  // namespace
}  // namespace kizami::engines
#endif
