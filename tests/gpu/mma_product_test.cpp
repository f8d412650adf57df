// SPDX-License-Identifier: MIT
// The engine "mma" of signed bytes and every form of its kernel against cpu_ref, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "engines/mma/forms.hpp"
#include "engines/mma/product_i8.hpp"
#include "engines/modulus_constants.hpp"
#include "gpu/product_cases.hpp"
#include "gpu/product_on_device.hpp"

namespace kizami::engines {
namespace {

/// Also needs mma.sync of signed bytes.
class MmaProduct : public gpu_test::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "compute capability");
    if (major < 8) GTEST_SKIP() << "compute capability " << major << ".x is below 8.0";
  }
};

/// Runs every form that the device has the shared memory for, and compares.
void expect_same_bytes(const HostProduct& p, const std::vector<std::uint8_t>& expected,
                       const std::int32_t* num_products = nullptr, int raster_tiles = 0) {
  DeviceProduct device(p);
  int num_run = 0;
  for (const MmaFormTraits& form : kMmaForms) {
    device.c.upload(p.initial_c);
    const Status status = run_mma_product(p.desc, device.pointers(num_products), form.form, nullptr, raster_tiles);
    if (status.code() == StatusCode::kUnsupported) continue;
    ++num_run;
    ASSERT_TRUE(status.ok()) << form.name << ": " << status.reason();
    device.expect_c(expected, std::string(form.name));
    if (::testing::Test::HasFailure()) return;  // one failure says enough
  }
  EXPECT_GE(num_run, 2);
}
void expect_same_bytes(const CaseSpec& spec, int raster_tiles = 0) {
  const HostProduct p(spec);
  expect_same_bytes(p, expected_c(p), nullptr, raster_tiles);
}

constexpr auto kSameBytes = [](const HostProduct& p) { expect_same_bytes(p, expected_c(p)); };

TEST_F(MmaProduct, OneTile) {
  // The simplest case first: if this fails, so does all.
  for (const Epilogue epilogue : kEpilogues) {
    expect_same_bytes({.m = 128, .n = 128, .k = 64, .moduli = {251}, .epilogue = epilogue});
    expect_same_bytes({.m = 256, .n = 256, .k = 128, .moduli = {256, 255}, .epilogue = epilogue});
    expect_same_bytes({.m = 256, .n = 256, .k = 1024, .moduli = {256, 255, 253}, .epilogue = epilogue});
    if (HasFailure()) return;
  }
}

TEST_F(MmaProduct, EveryTileEdge) {
  expect_tile_edges({1, 7, 16, 63, 64, 65, 127, 128, 129, 130, 200, 257}, kSameBytes);
}

TEST_F(MmaProduct, AlignmentOfColumns) { expect_alignments_of_columns(kSameBytes); }

TEST_F(MmaProduct, EveryModulus) { expect_every_modulus(kSameBytes, has_modulus_constants); }

TEST_F(MmaProduct, NumbersOfPlanes) { expect_numbers_of_planes(kSameBytes); }

TEST_F(MmaProduct, DeepSums) {
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
  for (const Epilogue epilogue : kEpilogues)
    expect_same_bytes({.m = 48, .n = 17, .k = 131072, .moduli = {256}, .epilogue = epilogue, .fill = Fill::kLowest});
}

TEST_F(MmaProduct, ManyTilesForEveryBlock) {
  expect_many_tiles(kSameBytes);
  expect_same_bytes({.m = 1024, .n = 1024, .k = 1024, .moduli = first_moduli(14)});
  // Lines of fewer stages than are on their way at a time.
  expect_same_bytes({.m = 2000, .n = 1500, .k = 60, .moduli = first_moduli(14)});
  expect_same_bytes({.m = 2000, .n = 1500, .k = 190, .moduli = first_moduli(9)});
}

TEST_F(MmaProduct, RastersChangeNoBit) {
  for (const int raster : {1, 2, 3, 7, 1000})
    expect_same_bytes({.m = 1300, .n = 700, .k = 130, .moduli = {256, 255, 253}}, raster);
}

TEST_F(MmaProduct, EmptyDimensions) { expect_empty_dimensions(kSameBytes); }

TEST_F(MmaProduct, SharedAndInterleavedOperands) { expect_shared_and_interleaved_operands(kSameBytes); }

TEST_F(MmaProduct, ReadsTheNumberOfPlanesOnTheDevice) {
  for (const Epilogue epilogue : kEpilogues) {
    for (const std::int64_t k : {0, 200}) {
      const HostProduct all({.m = 208, .n = 150, .k = k, .moduli = first_moduli(14), .epilogue = epilogue});
      for (const std::int32_t count : {0, 1, 5, 14, 99, -3}) {
        HostProduct some = all;
        some.desc.num_products = std::clamp(count, 0, 14);
        const DeviceArray<std::int32_t> on_device(std::vector<std::int32_t>{count});
        expect_same_bytes(all, expected_c(some), on_device.data());
      }
    }
  }
}

/// Planes of one window and of several, of any length, against the sums of such products by the processor. The guard
/// between columns and planes stays.
TEST_F(MmaProduct, Windows) {
  for (const std::int64_t m : {160, 77, 600}) {
    HostProduct p({.m = m,
                   .n = 390,
                   .k = 640,
                   .moduli = {256, 256, 256},
                   .epilogue = Epilogue::kStoreAcc,
                   .extra_rows = m == 77 ? 3 : 0});
    // One short window, three in one plane, and a whole row; ends of rows are zero to a multiple of 128.
    p.desc.num_windows = 5;
    p.desc.windows[0] = {0, 2, 0, 128, 64, false};
    p.desc.windows[1] = {1, 0, 256, 0, 384, false};
    p.desc.windows[2] = {2, 2, 128, 512, 128, true};
    p.desc.windows[3] = {0, 1, 512, 128, 65, true};
    p.desc.windows[4] = {2, 1, 0, 0, 640, false};
    for (int l = 0; l < 5; ++l) {  // elements up to a multiple of 128 beyond a window's k are zero
      const product::Window& w = p.desc.windows[static_cast<std::size_t>(l)];
      const auto clear = [&](std::vector<std::int8_t>& lines, std::int64_t plane, std::int64_t first,
                             std::int64_t count, std::int64_t row_stride, std::int64_t plane_stride) {
        const std::int64_t end = (w.k + product::kWindowPad - 1) / product::kWindowPad * product::kWindowPad;
        for (std::int64_t i = 0; i < count; ++i) {
          for (std::int64_t h = w.k; h < end; ++h)
            lines[static_cast<std::size_t>(plane * plane_stride + i * row_stride + first + h)] = 0;
        }
      };
      clear(p.a, w.a_plane, w.a_first, p.desc.m, p.desc.a_row_stride, p.desc.a_plane_stride);
      clear(p.b, w.b_plane, w.b_first, p.desc.n, p.desc.b_row_stride, p.desc.b_plane_stride);
    }
    std::vector<std::uint8_t> expected = p.initial_c;
    int plane = -1;
    for (int l = 0; l < 5; ++l) {
      const product::Window& w = p.desc.windows[static_cast<std::size_t>(l)];
      plane += w.is_added ? 0 : 1;
      for (std::int64_t j = 0; j < p.desc.n; ++j) {
        for (std::int64_t i = 0; i < p.desc.m; ++i) {
          const auto at = static_cast<std::size_t>(plane * p.desc.c_plane_stride + j * p.desc.c_col_stride + i) * 4;
          std::int32_t sum = 0;
          if (w.is_added) std::memcpy(&sum, &expected[p.c_offset + at], 4);
          const auto of = [](const std::vector<std::int8_t>& lines, std::int64_t from, std::int64_t h) {
            return std::int32_t{lines[static_cast<std::size_t>(from + h)]};
          };
          const std::int64_t a = w.a_plane * p.desc.a_plane_stride + i * p.desc.a_row_stride + w.a_first;
          const std::int64_t b = w.b_plane * p.desc.b_plane_stride + j * p.desc.b_row_stride + w.b_first;
          for (std::int64_t h = 0; h < w.k; ++h) sum += of(p.a, a, h) * of(p.b, b, h);
          std::memcpy(&expected[p.c_offset + at], &sum, 4);
        }
      }
    }
    expect_same_bytes(p, expected);
  }
}

TEST_F(MmaProduct, OffersWhatItRuns) {
  EXPECT_EQ(mma_product_engine().name(), "mma");
  EXPECT_EQ(mma_product_engine().space(), product::MemorySpace::kDevice);
  EXPECT_TRUE(mma_product_engine().reads_num_products());
  for (const CaseSpec& spec : {CaseSpec{.m = 700, .n = 500, .k = 300, .moduli = first_moduli(4)},
                               CaseSpec{.m = 500, .n = 100, .k = 300, .moduli = first_moduli(4)},
                               CaseSpec{.m = 2500, .n = 2500, .k = 700, .moduli = first_moduli(14)}}) {
    const HostProduct p(spec);
    const auto answer = mma_product_engine().query(p.desc, sm_90_facts());
    ASSERT_TRUE(std::holds_alternative<Offer>(answer));
    EXPECT_EQ(std::get<Offer>(answer).workspace_bytes, 0U);
    EXPECT_GT(std::get<Offer>(answer).seconds, 0);
    DeviceProduct device(p);
    const Status status = mma_product_engine().run(p.desc, std::get<Offer>(answer), device.pointers(), nullptr);
    ASSERT_TRUE(status.ok()) << status.reason();
    device.expect_c(expected_c(p), "mma");
  }
}

TEST_F(MmaProduct, SeveralThreadsAndStreams) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const HostProduct p({.m = 300 + 16 * t, .n = 250, .k = 333, .moduli = first_moduli(6)});
      DeviceProduct device(p);
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
      for (int round = 0; round < 5; ++round) {
        for (const MmaFormTraits& form : kMmaForms) {
          const Status status = run_mma_product(p.desc, device.pointers(), form.form, stream);
          EXPECT_TRUE(status.ok() || status.code() == StatusCode::kUnsupported) << status.reason();
        }
      }
      check(cudaStreamSynchronize(stream), "stream");
      device.expect_c(expected_c(p), "thread " + std::to_string(t));
      check(cudaStreamDestroy(stream), "stream");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(MmaProduct, CanBeCapturedInAGraph) {
  const HostProduct p({.m = 272, .n = 250, .k = 333, .moduli = first_moduli(6)});
  const std::vector<std::uint8_t> expected = expected_c(p);
  DeviceProduct device(p);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = mma_product_engine().run(p.desc, Offer{}, device.pointers(), nullptr, stream);
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

// Need no device.

std::string refusal_of(const ProductDesc& d, const DeviceFacts& facts) {
  const auto answer = mma_product_engine().query(d, facts);
  const auto* refusal = std::get_if<Refusal>(&answer);
  return refusal != nullptr ? refusal->reason : "";
}

TEST(MmaProductRefusals, SayWhy) {
  const ProductDesc good = ProductCase({.m = 32, .n = 6, .k = 70, .moduli = {256, 255}}).desc();
  EXPECT_EQ(refusal_of(good, sm_90_facts()), "");
  DeviceFacts facts = sm_90_facts();
  facts.space = product::MemorySpace::kHost;
  EXPECT_EQ(refusal_of(good, facts), "the operands are not in device memory");
  facts = sm_90_facts();
  facts.compute_capability = 75;
  EXPECT_EQ(refusal_of(good, facts), "compute_capability = 75, must be at least 80, for mma.sync of signed bytes");
  ProductDesc d = good;
  d.a_row_stride = 64;
  EXPECT_NE(refusal_of(d, sm_90_facts()).find("a_row_stride = 64"), std::string::npos);
  d = good;
  d.m = (std::int64_t{1} << 30) + 1;
  d.c_col_stride = d.m;
  d.c_plane_stride = 8 * d.m;
  EXPECT_EQ(refusal_of(d, sm_90_facts()), "m = 1073741825, must be at most 2^30");
  EXPECT_EQ(run_mma_product(good, {}, MmaForm::k256x128, nullptr).code(), StatusCode::kInvalidArgument);
}

TEST(MmaProductForms, ChunksThatAreReadTogetherLieInDifferentBanks) {
  for (const MmaFormTraits& form : kMmaForms) {
    for (const bool is_permuted : {false, true}) {
      const auto swizzle = [&](int line) { return mma_swizzle(form.block_k, line, is_permuted); };
      for (int group = 0; group < 8; ++group) {
        for (int chunk = 0; chunk < form.block_k / 16; ++chunk) {
          std::set<int> banks;
          for (int r = 0; r < 8; ++r) {
            const int line = is_permuted ? 16 * (r / 2) + 2 * group + r % 2 : 8 * group + r;
            banks.insert((line * form.block_k + (chunk ^ swizzle(line)) * 16) % 128);
          }
          EXPECT_EQ(banks.size(), 8U) << form.name << (is_permuted ? " permuted" : "") << " group " << group;
        }
      }
      // A thread's lines are so many apart.
      const int step = form.threads() / (form.block_k / 16);
      for (int first = 0; first < step; ++first) {
        for (int next = step; next < form.tile_i; next += step)
          EXPECT_EQ(swizzle(first + next), swizzle(first) ^ swizzle(next)) << form.name;
      }
    }
  }
}

TEST(MmaProductForms, FitTheirDevices) {
  base::DeviceLimits device;
  device.num_sms = 100;
  ProductDesc d = ProductCase({.m = 4096, .n = 4096, .k = 64, .moduli = first_moduli(14)}).desc();
  for (const auto& [capability, shared_bytes] :
       {std::pair(80, 163 << 10), {86, 99 << 10}, {89, 99 << 10}, {90, 227 << 10}, {100, 227 << 10}, {120, 99 << 10}}) {
    device.compute_capability = capability;
    device.shared_bytes = shared_bytes;
    for (const std::int64_t k : {64, 512, 8192}) {
      d.k = k;
      for (const std::int64_t m : {64, 300, 4096}) {
        d.m = m;
        const MmaFormTraits& form = traits_of(mma_form_for(d, device));
        EXPECT_LE(form.shared_bytes(), shared_bytes) << capability << " " << form.name;
        // Blocks of one multiprocessor: its memory is 1 KB more than a block of it may have, and each takes 1 KB.
        EXPECT_LE(form.blocks_per_sm * (form.shared_bytes() + 1024), shared_bytes + 1024) << form.name;
        EXPECT_GT(predicted_seconds(d, form, device), 0);
      }
    }
  }
  d.m = 4096;
  d.k = 4096;
  EXPECT_EQ(mma_form_for(d, device), MmaForm::k256x128);
  device.shared_bytes = 163 << 10;
  EXPECT_EQ(mma_form_for(d, device), MmaForm::k256x128Long);
}

}  // namespace
}  // namespace kizami::engines
