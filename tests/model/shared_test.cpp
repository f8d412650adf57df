// SPDX-License-Identifier: MIT
// Shared products: what travels, worked out by hand, and what has to hold of any cluster.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kizami::model
