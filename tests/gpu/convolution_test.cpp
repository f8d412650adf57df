// SPDX-License-Identifier: MIT
// Convolutions on a device against the same on the host, bit for bit: planes by the split's host code, outputs on the
// software tensor core.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/carver.hpp"
#include "convolution/convolution_case.hpp"
#include "convolution/device_run.hpp"
#include "convolution/device_split.hpp"
#include "convolution/host_planes.hpp"
#include "convolution/host_run.hpp"
#include "gpu/ec_case.hpp"
#include "kizami/cuda_convolution.hpp"

namespace kizami::convolution {
namespace {

using convolution_test::Elements;
using convolution_test::random_shape;
using convolution_test::to_text;
using gpu_test::check;
using gpu_test::DeviceArray;
using ConvolutionDeviceTest = gpu_test::Sm90Test;

std::string format_text(const Plan& plan) {
  return std::string(to_string(plan.format)) +
         (plan.is_split() ? " " + std::string(product::traits_of(plan.form).name) : std::string());
}

/// All plans of a shape: formats, and forms of those that are split.
std::vector<Plan> all_plans(const ConvolutionShape& s) {
  std::vector<Plan> plans;
  for (const ConvolutionFormat format : {ConvolutionFormat::kF16, ConvolutionFormat::kTf32}) {
    for (const product::EcConvolutionFormTraits& traits : product::kEcConvolutionForms) {
      Result<Plan> plan = make_plan(s, format, traits.form);
      if (plan.ok()) plans.push_back(std::move(plan).value());
    }
  }
  Result<Plan> direct = make_plan(s, ConvolutionFormat::kF32);
  if (direct.ok()) plans.push_back(std::move(direct).value());
  return plans;
}

void expect_equal_bits(const std::vector<float>& device, const std::vector<float>& host, const Plan& plan,
                       const std::string& what) {
  ASSERT_EQ(device.size(), host.size());
  std::size_t different = 0;
  std::size_t first = 0;
  for (std::size_t i = host.size(); i-- > 0;) {
    const bool is_equal =
        std::memcmp(&device[i], &host[i], sizeof(float)) == 0 || (std::isnan(device[i]) && std::isnan(host[i]));
    if (is_equal) continue;
    ++different;
    first = i;
  }
  if (different == 0) return;
  const TensorStrides at = plan.y_strides();
  const auto index = static_cast<std::int64_t>(first);
  ADD_FAILURE() << what << ", " << format_text(plan) << ": " << to_text(plan.shape) << ": " << different << " of "
                << host.size() << " differ, first " << first << " (image " << index / at.image << ", in image "
                << index % at.image << "): " << device[first] << ", host " << host[first];
}

struct Call {
  float alpha = 1;
  float beta = 0;
  bool is_prepared = false;
};

std::vector<float> on_device(const Plan& plan, const Elements& e, const Call& call = {}) {
  const DeviceArray<float> x(e.x);
  const DeviceArray<float> w(e.w);
  const DeviceArray<float> y(e.y);
  const DeviceArray<std::byte> workspace(plan.workspace_bytes);
  const DeviceArray<std::byte> prepared(call.is_prepared ? plan.filter_bytes : 0);
  const std::span<std::byte> memory(prepared.data(), prepared.size());
  Status status;
  if (call.is_prepared) status = prepare_on_device(plan, w.data(), memory, nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  status = run_on_device(plan, call.alpha, x.data(), w.data(), memory, call.beta, y.data(),
                         {workspace.data(), workspace.size()}, nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  EXPECT_TRUE(y.guards_are_intact() && workspace.guards_are_intact() && prepared.guards_are_intact());
  EXPECT_EQ(x.download().size(), e.x.size());
  return y.download();
}

std::vector<float> on_host(const Plan& plan, const Elements& e, const Call& call = {}) {
  std::vector<float> y = e.y;
  const Status status = run_on_host(plan, call.alpha, e.x.data(), e.w.data(), call.beta, y.data());
  EXPECT_TRUE(status.ok()) << status.reason();
  return y;
}

/// Every plan of a shape on the device; on the host once for all forms that have the same sums.
void expect_all_plans_equal(const ConvolutionShape& s, const Elements& e, const std::string& what) {
  std::map<std::pair<ConvolutionFormat, int>, std::vector<float>> host;
  for (const Plan& plan : all_plans(s)) {
    const std::pair key(plan.format, plan.is_split() ? product::traits_of(plan.form).columns : 0);
    if (!host.contains(key)) host[key] = on_host(plan, e);
    expect_equal_bits(on_device(plan, e), host[key], plan, what);
  }
}

ConvolutionShape square(std::int64_t images, std::int64_t channels, std::int64_t filters, std::int64_t size,
                        std::int64_t filter, std::int64_t pad, ImageLayout layout = ImageLayout::kNhwc) {
  ConvolutionShape s;
  s.images = images;
  s.channels = channels;
  s.filters = filters;
  s.height = s.width = size;
  s.filter_height = s.filter_width = filter;
  s.pad_h = s.pad_w = pad;
  s.layout = layout;
  return s;
}

TEST_F(ConvolutionDeviceTest, PlanesAreThoseOfTheHost) {
  std::mt19937_64 rng(1);
  std::vector<ConvolutionShape> shapes;
  for (const ImageLayout layout : {ImageLayout::kNhwc, ImageLayout::kNchw}) {
    shapes.push_back(square(2, 64, 64, 20, 3, 1, layout));
    shapes.push_back(square(3, 37, 5, 9, 3, 1, layout));
  }
  for (int round = 0; round < 20; ++round) shapes.push_back(random_shape(rng));
  for (const ConvolutionShape& s : shapes) {
    for (const ConvolutionFormat format : {ConvolutionFormat::kF16, ConvolutionFormat::kTf32}) {
      Result<Plan> made = make_plan(s, format);
      ASSERT_TRUE(made.ok()) << made.status().reason();
      const Plan& plan = made.value();
      if (!plan.is_split()) continue;
      Elements e(plan, rng, 60);
      const std::uint64_t kind = rng() % 4;
      if (kind == 0) e.x[rng() % e.x.size()] = 0x1p20F;  // beyond what a sample tells
      if (kind == 1) std::fill(e.x.begin() + 1, e.x.end(), 0.0F);
      if (rng() % 2 == 0) e.x[rng() % e.x.size()] = std::numeric_limits<float>::infinity();
      if (rng() % 2 == 0) e.w[rng() % e.w.size()] = std::numeric_limits<float>::quiet_NaN();
      const DeviceArray<float> x(e.x);
      const DeviceArray<float> w(e.w);
      const DeviceArray<std::byte> workspace(plan.workspace_bytes);
      base::Carver carver(workspace.data());
      const FilterBuffers filters = carve_filters(plan, carver);
      const ImageBuffers images = carve_images(plan, carver);
      const Status status = device_split(plan, x.data(), images, w.data(), filters, nullptr);
      ASSERT_TRUE(status.ok()) << status.reason();
      const std::vector<std::byte> memory = workspace.download();
      const HostPlanes of_x = split_images_on_host(plan, e.x.data());
      const HostPlanes of_w = split_filters_on_host(plan, e.w.data());
      const auto expect_same = [&](const void* device, const auto& host, const char* what) {
        const auto* const got = memory.data() + (static_cast<const std::byte*>(device) - workspace.data());
        const auto* const wanted = reinterpret_cast<const std::byte*>(host.data());
        const std::size_t bytes = host.size() * sizeof(host[0]);
        const auto [at, other] = std::mismatch(got, got + bytes, wanted);
        EXPECT_EQ(at - got, static_cast<std::ptrdiff_t>(bytes))
            << what << " of " << to_text(s) << ", " << format_text(plan) << ": first different byte of " << bytes;
      };
      expect_same(images.scales, of_x.scales, "scales of images");
      expect_same(images.has_nonfinite, of_x.has_nonfinite, "flags of images");
      expect_same(images.planes, of_x.planes, "planes of images");
      expect_same(filters.scales, of_w.scales, "scales of filters");
      expect_same(filters.planes, of_w.planes, "planes of filters");
      EXPECT_TRUE(workspace.guards_are_intact());
    }
    if (HasFailure()) return;
  }
}

TEST_F(ConvolutionDeviceTest, OneTapIsAProduct) {
  std::mt19937_64 rng(2);
  for (const ConvolutionShape& s :
       {square(1, 32, 64, 8, 1, 0), square(1, 64, 128, 12, 1, 0), square(2, 96, 70, 15, 1, 0)}) {
    expect_all_plans_equal(s, Elements(all_plans(s).front(), rng), "1x1");
  }
}

TEST_F(ConvolutionDeviceTest, ShiftsAreRight) {
  // One channel, ones for weights at one tap: y is x shifted, exactly.
  std::mt19937_64 rng(3);
  for (const std::int64_t stride : {1, 2}) {
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      ConvolutionShape s = square(2, 32, 32, 13, 3, 1);
      s.stride_h = s.stride_w = stride;
      Elements e(all_plans(s).front(), rng);
      std::fill(e.w.begin(), e.w.end(), 0.0F);
      for (std::int64_t k = 0; k < 32; ++k) e.w[static_cast<std::size_t>((k * 9 + tap) * 32 + k)] = 1;
      expect_all_plans_equal(s, e, "tap " + std::to_string(tap));
      if (HasFailure()) return;
    }
  }
}

TEST_F(ConvolutionDeviceTest, ResnetLayersHaveTheBitsOfTheHost) {
  std::mt19937_64 rng(4);
  for (const ImageLayout layout : {ImageLayout::kNhwc, ImageLayout::kNchw}) {
    for (const std::int64_t stride : {1, 2}) {
      ConvolutionShape s = square(1, 64, 64, 28, 3, 1, layout);
      s.stride_h = s.stride_w = stride;
      ConvolutionShape wide = square(2, 128, 200, 14, 3, 1, layout);
      wide.stride_h = wide.stride_w = stride;
      for (const ConvolutionShape& shape : {s, wide}) {
        expect_all_plans_equal(shape, Elements(all_plans(shape).front(), rng), "resnet");
      }
    }
  }
}

TEST_F(ConvolutionDeviceTest, AnyGeometryHasTheBitsOfTheHost) {
  std::mt19937_64 rng(5);
  int failures = 0;
  for (int round = 0; round < 250 && failures < 5; ++round) {
    const ConvolutionShape s = random_shape(rng);
    const std::vector<Plan> plans = all_plans(s);
    const Plan& plan = plans[rng() % plans.size()];
    const Call call{rng() % 2 == 0 ? 1.0F : -1.75F, rng() % 2 == 0 ? 0.0F : 0.5F, plan.is_split() && rng() % 2 == 0};
    const Elements e(plan, rng, rng() % 2 == 0 ? 6 : 40);
    expect_equal_bits(on_device(plan, e, call), on_host(plan, e, call), plan, "round " + std::to_string(round));
    failures += HasFailure() ? 1 : 0;
  }
}

TEST_F(ConvolutionDeviceTest, NanAndInfAreThoseOfTheHost) {
  std::mt19937_64 rng(6);
  for (int round = 0; round < 24; ++round) {
    ConvolutionShape s = random_shape(rng);
    s.images = 3;
    const std::vector<Plan> plans = all_plans(s);
    const Plan& plan = plans[rng() % plans.size()];
    Elements e(plan, rng);
    for (int i = 0; i < 2; ++i) {
      e.x[rng() % e.x.size()] = std::numeric_limits<float>::infinity();
      e.x[rng() % e.x.size()] = std::numeric_limits<float>::quiet_NaN();
    }
    if (round % 3 == 0) e.w[rng() % e.w.size()] = -std::numeric_limits<float>::infinity();
    const Call call{1, round % 2 == 0 ? 0.0F : 2.0F, false};
    expect_equal_bits(on_device(plan, e, call), on_host(plan, e, call), plan, "round " + std::to_string(round));
    if (HasFailure()) return;
  }
}

TEST_F(ConvolutionDeviceTest, ManyTilesAndGroups) {
  std::mt19937_64 rng(7);
  ConvolutionShape grouped = square(2, 96, 192, 17, 3, 1);
  grouped.groups = 3;
  ConvolutionShape many = square(40, 32, 64, 30, 3, 1);  // more tiles than clusters
  for (const ConvolutionShape& s : {grouped, many}) {
    Result<Plan> plan = make_plan(s, ConvolutionFormat::kF16);
    ASSERT_TRUE(plan.ok());
    const Elements e(plan.value(), rng);
    expect_equal_bits(on_device(plan.value(), e), on_host(plan.value(), e), plan.value(), "many");
  }
}

TEST_F(ConvolutionDeviceTest, EmptySumsAndImagesAreAnswered) {
  std::mt19937_64 rng(8);
  ConvolutionShape deaf = square(2, 0, 4, 5, 3, 1);
  ConvolutionShape padding = square(1, 3, 4, 0, 1, 2);
  for (const ConvolutionShape& s : {deaf, padding, square(0, 3, 4, 5, 3, 1), square(2, 3, 4, 1, 3, 0)}) {
    Result<Plan> plan = make_plan(s, ConvolutionFormat::kAuto);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const Elements e(plan.value(), rng);
    const Call call{1, 0.5F, false};
    expect_equal_bits(on_device(plan.value(), e, call), on_host(plan.value(), e, call), plan.value(), "empty");
  }
  Result<Plan> plan = make_plan(square(1, 32, 8, 6, 3, 1), ConvolutionFormat::kF16);
  const Elements e(plan.value(), rng);
  for (const float beta : {0.0F, 2.0F}) {
    const Call call{0, beta, false};
    expect_equal_bits(on_device(plan.value(), e, call), on_host(plan.value(), e, call), plan.value(), "alpha = 0");
  }
}

TEST_F(ConvolutionDeviceTest, RefusesWhatBreaksItsRange) {
  const Result<ConvolutionPlan> made = make_convolution_plan(square(1, 32, 32, 8, 3, 1));
  ASSERT_TRUE(made.ok());
  const ConvolutionPlan& plan = made.value();
  const DeviceArray<float> data(32 * 64 * 9);
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  float* const p = data.data();
  const std::span<std::byte> whole(workspace.data(), workspace.size());
  EXPECT_EQ(cuda::convolve(plan, 1, nullptr, p, 0, p, whole, nullptr).reason(), "x is null");
  EXPECT_EQ(cuda::convolve(plan, 1, p, nullptr, 0, p, whole, nullptr).reason(), "w is null");
  EXPECT_EQ(cuda::convolve(plan, 1, p, p, 0, nullptr, whole, nullptr).reason(), "y is null");
  const Status small = cuda::convolve(plan, 1, p, p, 0, p, whole.first(whole.size() - 1), nullptr);
  EXPECT_EQ(small.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(small.reason(), "the workspace has " + std::to_string(whole.size() - 1) + " bytes, must be at least " +
                                std::to_string(whole.size()));
  EXPECT_EQ(cuda::convolve_prepared(plan, 1, p, p, {}, 0, p, whole, nullptr).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::prepare_filters(plan, p, whole.first(100), nullptr).code(), StatusCode::kInvalidArgument);
}

TEST_F(ConvolutionDeviceTest, GraphsReplayWithOtherElements) {
  const Result<ConvolutionPlan> made = make_convolution_plan(square(2, 64, 64, 14, 3, 1));
  ASSERT_TRUE(made.ok());
  const ConvolutionPlan& plan = made.value();
  std::mt19937_64 rng(9);
  const Elements first(plan.impl(), rng);
  Elements second(plan.impl(), rng);
  second.x[7] = std::numeric_limits<float>::quiet_NaN();
  DeviceArray<float> x(first.x);
  DeviceArray<float> w(first.w);
  DeviceArray<float> y(first.y);
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status =
      cuda::convolve(plan, 1, x.data(), w.data(), 0, y.data(), {workspace.data(), workspace.size()}, stream);
  EXPECT_TRUE(status.ok()) << status.reason();
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&replay, graph, 0), "graph");
  for (const Elements& e : {first, second, first}) {
    x.upload(e.x);
    w.upload(e.w);
    check(cudaGraphLaunch(replay, stream), "replay");
    check(cudaStreamSynchronize(stream), "replay");
    expect_equal_bits(y.download(), on_host(plan.impl(), e), plan.impl(), "replay");
  }
  check(cudaGraphExecDestroy(replay), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
}

}  // namespace
}  // namespace kizami::convolution
