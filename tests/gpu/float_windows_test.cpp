// SPDX-License-Identifier: MIT
// Every engine that takes windows of floating-point formats, against integer sums of the host, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/int_math.hpp"
#include "engines/cublaslt/cublaslt.hpp"
#include "engines/desc_check.hpp"
#include "engines/hopper/hopper.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/float_windows.hpp"
#include "gpu/product_on_device.hpp"
#if defined(KIZAMI_TEST_HAS_TILE)
#include "engines/tile/device.hpp"
#endif

namespace kizami::engines {
namespace {

/// An engine and the columns of C that it wants: a multiple of so many rows, of which it may write those beyond m too.
struct FloatEngine {
  const Engine* engine;
  std::int64_t row_pad = 1;
  std::vector<SliceFormat> formats;
};

std::vector<FloatEngine> float_engines() {
  std::vector<FloatEngine> engines = {
      {&hopper_engine(), 1, {kFloatFormats.begin(), kFloatFormats.end()}},
      {&cublaslt_engine(), 16, {SliceFormat::kFp16, SliceFormat::kBf16}},
  };
#if defined(KIZAMI_TEST_HAS_TILE)
  engines.push_back({&tile_device_engine(), 1, {kFloatFormats.begin(), kFloatFormats.end()}});
#endif
  return engines;
}

struct Param {
  FloatEngine of;
  SliceFormat format;
};
std::vector<Param> params() {
  std::vector<Param> all;
  for (const FloatEngine& of : float_engines()) {
    for (const SliceFormat format : of.formats) all.push_back({of, format});
  }
  return all;
}
std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  return std::string(info.param.of.engine->name()) + "_" + std::string(to_string(info.param.format));
}

class FloatWindowsOf : public gpu_test::Sm90Test, public ::testing::WithParamInterface<Param> {
 protected:
  void SetUp() override {
    Sm90Test::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Status status;
    if (engine().name() == "cublaslt") status = prepare_cublaslt(0);
#if defined(KIZAMI_TEST_HAS_TILE)
    if (engine().name() == "tile") status = prepare_tile_device(0);
#endif
    ASSERT_TRUE(status.ok()) << status.reason();
  }

 public:
  [[nodiscard]] static const Engine& engine() { return *GetParam().of.engine; }

  static void expect_sums(const FloatWindows& windows) {
    const HostProduct& p = windows.product();
    const ProductDesc& d = p.desc;
    const std::int64_t written = base::round_up(d.m, GetParam().of.row_pad);
    const auto answer = engine().query(d, sm_90_facts());
    const auto* const refusal = std::get_if<Refusal>(&answer);
    const std::int64_t quad =
        std::min<std::int64_t>(GetParam().of.row_pad, 4);  // elements that C's addresses are multiples of
    const bool has_odd_columns = d.c_col_stride % quad != 0 || d.c_col_stride < written;
    if (has_odd_columns || (d.num_windows > 1 && d.c_plane_stride % quad != 0)) {
      ASSERT_NE(refusal, nullptr) << p.name;
      EXPECT_EQ(refusal->reason.find(has_odd_columns ? "c_col_stride" : "c_plane_stride"), 0U) << refusal->reason;
      return;
    }
    if (d.num_windows > 1 && d.c_plane_stride < written) return;  // rows beyond m would be those of the next plane
    ASSERT_EQ(refusal, nullptr) << refusal->reason << ", case " << p.name;
    const Offer& offer = std::get<Offer>(answer);
    EXPECT_GT(offer.seconds, 0);
    const gpu_test::DeviceArray<std::uint8_t> workspace(offer.workspace_bytes + 64);
    DeviceProduct device(p);
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    auto* const scratch = reinterpret_cast<std::byte*>(workspace.data() + (64 - address % 64) % 64);
    const Status status = engine().run(d, offer, device.pointers(), scratch);
    if (p.c_offset % (4 * static_cast<std::size_t>(quad)) != 0 && d.m > 0 && d.n > 0) {
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.reason() << ", case " << p.name;
      return;
    }
    ASSERT_TRUE(status.ok()) << status.reason() << ", case " << p.name;
    std::vector<std::uint8_t> expected = windows.expected();
    if (written > d.m) {  // rows beyond m are the engine's
      const std::vector<std::uint8_t> actual = device.c.download();
      for (int l = 0; l < d.num_windows; ++l) {
        for (std::int64_t j = 0; j < d.n; ++j) {
          const auto at = static_cast<std::ptrdiff_t>(p.c_offset) + 4 * (l * d.c_plane_stride + j * d.c_col_stride);
          std::copy(actual.begin() + at + 4 * d.m, actual.begin() + at + 4 * written, expected.begin() + at + 4 * d.m);
        }
      }
    }
    device.expect_c(expected, std::string(engine().name()));
  }
};

constexpr auto kSums = [](const FloatWindows& windows) { FloatWindowsOf::expect_sums(windows); };

TEST_P(FloatWindowsOf, OneTile) {
  const SliceFormat format = GetParam().format;
  const int bits = usual_bits(format);
  const std::int64_t k = longest_window(format, bits, false);
  expect_sums(FloatWindows({.format = format, .bits = bits, .m = 128, .n = 128, .numbers = k}));
  if (engine().promotes_sums())
    expect_sums(FloatWindows({.format = format, .bits = bits, .m = 256, .n = 256, .numbers = 1024}));
}

TEST_P(FloatWindowsOf, EveryTileEdge) {
  expect_float_tile_edges(GetParam().format, engine().promotes_sums(), {1, 16, 63, 127, 128, 129, 144, 257}, kSums);
}

TEST_P(FloatWindowsOf, Extremes) { expect_float_extremes(GetParam().format, engine().promotes_sums(), kSums); }

TEST_P(FloatWindowsOf, ManyWindows) { expect_many_float_windows(GetParam().format, engine().promotes_sums(), kSums); }

TEST_P(FloatWindowsOf, EmptyDimensions) { expect_float_empty_dimensions(GetParam().format, kSums); }

TEST_P(FloatWindowsOf, CanBeCapturedInAGraph) {
  const SliceFormat format = GetParam().format;
  const int bits = usual_bits(format);
  const FloatWindows windows({.format = format,
                              .bits = bits,
                              .m = 272,
                              .n = 250,
                              .numbers = longest_window(format, bits, false),
                              .slices = 2,
                              .num_windows = 3,
                              .most_k = longest_window(format, bits, false)});
  const HostProduct& p = windows.product();
  const Offer offer = std::get<Offer>(engine().query(p.desc, sm_90_facts()));
  const gpu_test::DeviceArray<std::uint8_t> workspace(offer.workspace_bytes + 64);
  DeviceProduct device(p);
  // What the first run looks up or loads does not happen in a capture.
  auto* const scratch = reinterpret_cast<std::byte*>(workspace.data());
  ASSERT_TRUE(engine().run(p.desc, offer, device.pointers(), scratch).ok());
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = engine().run(p.desc, offer, device.pointers(), scratch, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "graph");
  for (int round = 0; round < 3; ++round) {
    device.c.upload(p.initial_c);
    check(cudaGraphLaunch(exec, stream), "graph");
    check(cudaStreamSynchronize(stream), "graph");
    device.expect_c(windows.expected(), "graph");
  }
  check(cudaGraphExecDestroy(exec), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
}

/// Needs no device.
TEST(FloatWindowCases, AreWhatTheContractAllows) {
  for (const SliceFormat format : kFloatFormats) {
    for (const bool promotes : {false, true}) {
      const Abilities abilities{.takes_windows = true, .takes_floats = true, .promotes_sums = promotes};
      std::int64_t longest = 0;
      const auto expect_in_range = [&](const FloatWindows& windows) {
        EXPECT_EQ(why_refused(windows.product().desc, abilities).value_or(""), "") << windows.product().name;
        longest = std::max(longest, windows.product().desc.k);
      };
      expect_float_tile_edges(format, promotes, {1, 129}, expect_in_range);
      expect_float_extremes(format, promotes, expect_in_range);
      EXPECT_EQ(longest, promotes ? longest_window(format, usual_bits(format), true)
                                  : longest_window(format, usual_bits(format) - 2, false));
    }
  }
}

ProductDesc good_desc(SliceFormat format) {
  return FloatWindows({.format = format, .bits = usual_bits(format), .m = 32, .n = 6, .numbers = 60}).product().desc;
}
std::string refusal_of(const ProductDesc& d, const DeviceFacts& facts) {
  const auto answer = cublaslt_engine().query(d, facts);
  const auto* const refusal = std::get_if<Refusal>(&answer);
  return refusal != nullptr ? refusal->reason : "";
}

/// Needs no device.
TEST(CublasLtRefusals, SayWhy) {
  for (const SliceFormat format : {SliceFormat::kE4m3, SliceFormat::kE5m2}) {
    const ProductDesc d = good_desc(format);
    const std::string reason = "format = " + std::string(to_string(format)) + ", must be int8, fp16 or bf16";
    EXPECT_EQ(refusal_of(d, sm_90_facts()).find(reason), 0U) << refusal_of(d, sm_90_facts());
    EXPECT_EQ(cublaslt_engine().run(d, Offer{}, {}, nullptr).code(), StatusCode::kInvalidArgument);
  }
  ProductDesc d = good_desc(SliceFormat::kFp16);
  d.k = d.windows[0].k = 65;
  d.a_row_stride = d.b_row_stride = 128;
  EXPECT_EQ(refusal_of(d, sm_90_facts()).find("k = 65, must be at most exact_k = 64"), 0U);
  d = good_desc(SliceFormat::kBf16);
  d.c_col_stride = 34;
  EXPECT_EQ(refusal_of(d, sm_90_facts()).find("c_col_stride = 34"), 0U);
  d = good_desc(SliceFormat::kBf16);
  d.num_products = d.num_windows = 2;
  d.windows[1] = d.windows[0];
  d.c_plane_stride = 6 * 32 + 1;
  EXPECT_EQ(refusal_of(d, sm_90_facts()).find("c_plane_stride = 193"), 0U);
  d = good_desc(SliceFormat::kBf16);
  d.num_windows = 0;
  EXPECT_EQ(refusal_of(d, sm_90_facts()), "format = bf16 needs windows");
  DeviceFacts facts = sm_90_facts();
  facts.compute_capability = 75;
  EXPECT_EQ(refusal_of(good_desc(SliceFormat::kBf16), facts),
            "compute capability 75, needs 90 for floating-point planes: of no other is it recorded how it adds");
}

INSTANTIATE_TEST_SUITE_P(Engines, FloatWindowsOf, ::testing::ValuesIn(params()), name_of);

}  // namespace
}  // namespace kizami::engines
