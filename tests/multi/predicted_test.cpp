// SPDX-License-Identifier: MIT
// What shared products are predicted to take: what travels, worked out by hand, and what has to hold of any cluster.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kizami/predict.hpp"

namespace kizami::model {
namespace {

const Device& h200() { return *find_device("h200"); }

Request square(std::int64_t n) {
  Request request;
  request.m = request.n = request.k = n;
  return request;
}
double seconds_of(const SharedPrediction& p, Limit limit) { return p.seconds_of[static_cast<std::size_t>(limit)]; }

SharedPrediction shared(const Request& request, const Cluster& cluster) {
  Result<SharedPrediction> made = predict_shared(h200(), request, cluster);
  EXPECT_TRUE(made.ok()) << made.status().reason();
  return made.ok() ? made.value() : SharedPrediction{};
}

TEST(Shared, OneDeviceIsThatDevice) {
  const SharedPrediction p = shared(square(8192), {});
  EXPECT_EQ(p.seconds, predict(h200(), square(8192)).value().seconds);
  EXPECT_DOUBLE_EQ(p.efficiency, 1);
  EXPECT_EQ(p.bytes_in, 0);
  EXPECT_EQ(p.limit(), Limit::kProducts);
}

TEST(Shared, HalfOfOneOperandTravelsBetweenTwo) {
  Cluster two{.devices = 2, .link_gbs = 100, .parts = 1};
  const SharedPrediction p = shared(square(8192), two);
  EXPECT_EQ(p.grid_rows * p.grid_cols, 2);
  EXPECT_EQ(p.bytes_in, 8192.0 * 8192 * 8 / 2);
  EXPECT_DOUBLE_EQ(seconds_of(p, Limit::kLinks), p.bytes_in / 100e9);
  // In four parts all but a quarter of it travels beside products.
  two.parts = 4;
  EXPECT_DOUBLE_EQ(seconds_of(shared(square(8192), two), Limit::kLinks), p.bytes_in / 100e9 / 4);
}

TEST(Shared, OneDeviceSendsToAllOthers) {
  const Cluster four{.devices = 4, .link_gbs = 100, .home = Home::kDevice, .parts = 1};
  const SharedPrediction p = shared(square(8192), four);
  const double panel = 4096.0 * 8192 * 8;
  EXPECT_EQ(p.bytes_in, 3 * 2 * panel);                                                 // of its link
  EXPECT_DOUBLE_EQ(seconds_of(p, Limit::kLinks), 3 * (2 * panel + panel / 2) / 100e9);  // and C back
}

TEST(Shared, ANodeKeepsTrafficFromTheNetwork) {
  const Cluster nodes{.devices = 64, .devices_of_node = 8, .network_gbs = 10, .latency_us = 2};
  const SharedPrediction p = shared(square(65536), nodes);
  EXPECT_EQ(p.grid_rows, 8);
  EXPECT_EQ(p.grid_cols, 8);
  EXPECT_EQ(p.parts, 1);
  // A node has 4 x 2 or 2 x 4 of the grid: of the 8 devices that hold a panel 4, or 6, are elsewhere.
  const double panel = 8192.0 * 65536 * 8;
  EXPECT_DOUBLE_EQ(p.of_limit[static_cast<std::size_t>(Limit::kNetwork)], panel * (4.0 / 8 + 6.0 / 8) / 10e9);
  EXPECT_EQ(p.bytes_in, panel * 7 / 8 * 2);
  EXPECT_DOUBLE_EQ(seconds_of(p, Limit::kAgreement), kReductions * 2 * 6 * 2e-6);
  EXPECT_EQ(p.limit(), Limit::kNetwork);
}

TEST(Shared, FasterRoadsAreNeverSlower) {
  for (const int devices : {2, 4, 8, 16, 64, 1024}) {
    Cluster slow{.devices = devices, .link_gbs = 50, .network_gbs = 10, .latency_us = 20};
    Cluster fast = slow;
    fast.link_gbs = 400;
    fast.network_gbs = 100;
    fast.latency_us = 1;
    const SharedPrediction x = shared(square(32768), slow);
    const SharedPrediction y = shared(square(32768), fast);
    EXPECT_LT(y.seconds, x.seconds);
    EXPECT_EQ(y.one.seconds, x.one.seconds);
    EXPECT_LE(y.efficiency, 1.05);
    double sum = 0;
    for (const double part : x.seconds_of) sum += part;
    EXPECT_DOUBLE_EQ(sum, x.seconds);
  }
}

TEST(Shared, RefusesWhatIsNoCluster) {
  const auto reason = [](const Cluster& cluster) {
    return predict_shared(h200(), square(4096), cluster).status().reason();
  };
  EXPECT_EQ(reason({.devices = 0}), "devices = 0, must be in [1, 1048576]");
  EXPECT_EQ(reason({.devices_of_node = 0}), "devices of a node = 0, must be at least 1");
  EXPECT_EQ(reason({.parts = 65}), "parts = 65, must be in [0, 64]");
  EXPECT_EQ(reason({.network_gbs = 0}), "the rate of the network = 0 GB/s, must be above 0");
  EXPECT_EQ(reason({.link_gbs = std::nan("")}), "the rate of the link = nan GB/s, must be above 0");
  EXPECT_EQ(reason({.latency_us = -1}), "the latency = -1 us, must not be negative");
  EXPECT_EQ(reason({.devices = 16, .home = Home::kHost}),
            "16 devices of nodes of 8 share matrices in pieces, not from one device or host");
  Request small = square(2);
  small.m = 1;
  EXPECT_EQ(predict_shared(h200(), small, {.devices = 4}).status().reason(), "devices = 4, must be at most m n = 2");
}

// ---- one triangle ----

Request triangle(std::int64_t n) {
  Request request = square(n);
  request.is_triangle = true;
  return request;
}
/// Of one block, as a device makes it by itself.
double seconds_of_block(std::int64_t rows, std::int64_t cols, std::int64_t k, bool is_triangle) {
  Request request;
  request.m = rows;
  request.n = cols;
  request.k = k;
  request.is_triangle = is_triangle;
  request.may_take_quadrants = false;
  return predict(h200(), request).value().seconds;
}

TEST(SharedTriangle, OneDeviceIsThatDevice) {
  const SharedPrediction p = shared(triangle(8192), {});
  EXPECT_EQ(p.seconds, predict(h200(), triangle(8192)).value().seconds);
  EXPECT_DOUBLE_EQ(p.efficiency, 1);
  EXPECT_EQ(p.bytes_in, 0);
  EXPECT_EQ(p.grid_rows, 0);
  EXPECT_EQ(p.block_rows, 8192);
  EXPECT_EQ(p.parts, 1);
}

/// Of two devices one has the triangle of 11648 lines, the other those of 4736 and then the rows below the first.
TEST(SharedTriangle, BlocksWaitForTheirOwnLines) {
  const double n = 16384;
  const double line = n * 8;
  const double first = seconds_of_block(11648, 11648, 16384, true);
  const double second = seconds_of_block(4736, 4736, 16384, true);
  const double third = seconds_of_block(4736, 11648, 16384, false);
  const double c_bytes = 4736.0 * 11648 * 8;
  const auto from_first = [&](double rate) {
    return shared(triangle(16384), {.devices = 2, .link_gbs = rate * 1e-9, .home = Home::kDevice});
  };
  // The device that has the matrices waits for nothing, and ends last where the road is quick.
  const SharedPrediction by_quick = from_first(1e14);
  EXPECT_GT(first, second + third);
  EXPECT_NEAR(seconds_of(by_quick, Limit::kProducts), first, 1e-12);
  EXPECT_EQ(seconds_of(by_quick, Limit::kLinks), 0);
  EXPECT_EQ(by_quick.parts, 1);
  EXPECT_EQ(by_quick.block_rows, 11648);
  // The other one waits for 4736 lines alone, if all others come beside the products of its triangle.
  const double middling = 400e9;
  ASSERT_LT(n * line / middling, 4736 * line / middling + second);
  const SharedPrediction by_middling = from_first(middling);
  EXPECT_NEAR(seconds_of(by_middling, Limit::kProducts), second + third, 1e-12);
  EXPECT_NEAR(seconds_of(by_middling, Limit::kLinks), (4736 * line + c_bytes) / middling, 1e-12);
  EXPECT_EQ(by_middling.parts, 2);
  EXPECT_EQ(by_middling.block_rows, 4736);
  EXPECT_EQ(by_middling.block_cols, 11648);
  EXPECT_EQ(by_middling.bytes_in, n * line);
  // Or the rows below wait for all lines.
  const double slow = 100e9;
  EXPECT_NEAR(seconds_of(from_first(slow), Limit::kLinks), (n * line + c_bytes) / slow - second, 1e-12);
}

TEST(SharedTriangle, OfPiecesADeviceLacksWhatOthersHave) {
  const SharedPrediction p = shared(triangle(16384), {.devices = 4, .link_gbs = 100, .parts = 1});
  // The square's halves: 4096 rows, 8192 lines across, three of four elements of A and of C on other devices.
  EXPECT_EQ(p.block_rows, 4096);
  EXPECT_EQ(p.block_cols, 8192);
  EXPECT_EQ(p.bytes_in, 12288.0 * 16384 * 8 * 3 / 4);
  EXPECT_NEAR(seconds_of(p, Limit::kLinks), (p.bytes_in + 4096.0 * 8192 * 8 * 3 / 4) / 100e9, 1e-12);
  EXPECT_NEAR(seconds_of(p, Limit::kProducts), seconds_of_block(4096, 8192, 16384, false), 1e-12);
  // Of halves in two parts, as the planner cuts them, 4096 lines come beside products, and a triangle ends last.
  const SharedPrediction usual = shared(triangle(16384), {.devices = 4, .link_gbs = 100});
  EXPECT_EQ(usual.parts, 1);
  EXPECT_EQ(usual.block_cols, 8192);
  EXPECT_EQ(usual.bytes_in, 8192.0 * 16384 * 8 * 3 / 4);
  EXPECT_NEAR(seconds_of(usual, Limit::kLinks), (usual.bytes_in + 8192.0 * 8192 / 2 * 8 * 3 / 4) / 100e9, 1e-12);
  EXPECT_LT(usual.seconds, p.seconds);
}

TEST(SharedTriangle, FasterRoadsAndMoreDevicesAreNeverSlower) {
  for (const Home home : {Home::kPieces, Home::kDevice, Home::kHost}) {
    double before = 1e9;
    for (const int devices : {1, 2, 4, 8}) {
      const Cluster fast{.devices = devices, .home = home};
      Cluster slow = fast;
      slow.link_gbs = slow.host_gbs = 20;
      const SharedPrediction x = shared(triangle(32768), slow);
      const SharedPrediction y = shared(triangle(32768), fast);
      EXPECT_LE(y.seconds, x.seconds);
      EXPECT_LT(y.seconds, before) << devices;
      before = y.seconds;
      EXPECT_LE(y.efficiency, 1.05);
      double sum = 0;
      for (const double part : x.seconds_of) sum += part;
      EXPECT_DOUBLE_EQ(sum, x.seconds);
    }
  }
}

TEST(SharedTriangle, RefusesWhatKizamiDoesNotShare) {
  const auto status = [](const Request& request, const Cluster& cluster) {
    return predict_shared(h200(), request, cluster).status();
  };
  EXPECT_EQ(status(triangle(4096), {.devices = 9, .devices_of_node = 16}).reason(),
            "9 devices, must be at most 8 of one node for one triangle");
  EXPECT_EQ(status(triangle(4096), {.devices = 4, .devices_of_node = 2}).reason(),
            "4 devices, must be at most 2 of one node for one triangle");
  EXPECT_EQ(status(triangle(4096), {.devices = 9}).code(), StatusCode::kUnsupported);
  Request wide = triangle(4096);
  wide.m = 4095;
  EXPECT_EQ(status(wide, {.devices = 2}).reason(), "m = 4095, must be n = 4096 for one triangle of C");
}

}  // namespace
}  // namespace kizami::model
