// SPDX-License-Identifier: MIT
// Residue products of engine hopper in the orders of tiles that the library does not have, byte for byte beside the
// order that it has, one launch after another in the same words.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engines/hopper/forms.hpp"
#include "engines/hopper/hopper.hpp"
#include "gpu/product_cases.hpp"
#include "gpu/product_on_device.hpp"
#include "product_orders/product_orders.hpp"

namespace kizami::engines {
namespace {

using bench::DriftWords;
using bench::WalkOrder;

class ProductOrders : public gpu_test::Sm90Test {
 protected:
  /// Zeros, as they are after every launch.
  [[nodiscard]] static const DeviceArray<std::uint32_t>& words() {
    static const DeviceArray<std::uint32_t> words(std::vector<std::uint32_t>(sizeof(DriftWords) / 4));
    return words;
  }
  [[nodiscard]] static DriftWords* drift_words() { return reinterpret_cast<DriftWords*>(words().data()); }
  static void expect_zero_words(const std::string& what) {
    const std::vector<std::uint32_t> values = words().download();
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](std::uint32_t x) { return x == 0; })) << what;
    EXPECT_TRUE(words().guards_are_intact()) << what;
  }

  /// Every form that has orders in each of them, twice, against the form in the static order; that one against the processor where
  /// that is asked for.
  static void expect_static_bytes(const HostProduct& p, bool asks_processor = true, int raster_tiles = 0,
                                  const std::int32_t* num_products = nullptr) {
    std::vector<std::uint8_t> expected;
    if (asks_processor) expected = expected_c(p);
    DeviceProduct device(p);
    for (const HopperFormTraits& form : hopper_forms()) {
      if (form.schedule != HopperSchedule::kCooperative) continue;
      for (const WalkOrder order : bench::kWalkOrders) {
        if (!bench::order_accepts(form, order, p.desc)) continue;
        const std::string what = std::string(form.name) + " " + std::string(bench::to_string(order));
        for (int launch = 0; launch < 2; ++launch) {
          device.c.upload(p.initial_c);
          const Status status = bench::run_ordered_product(p.desc, device.pointers(num_products), form.form, order,
                                                           drift_words(), nullptr, raster_tiles);
          ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
          if (expected.empty()) expected = device.c.download();
          device.expect_c(expected, what + ", launch " + std::to_string(launch));
          expect_zero_words(what);
        }
        if (HasFailure()) return;
      }
    }
  }
  static void expect_static_bytes(const CaseSpec& spec, bool asks_processor = true, int raster_tiles = 0) {
    expect_static_bytes(HostProduct(spec), asks_processor, raster_tiles);
  }
};

TEST_F(ProductOrders, AreCompiledForWhatLargeProductsTake) {
  const ProductDesc d = ProductCase({.m = 32, .n = 6, .k = 70, .moduli = {256, 255}}).desc();
  for (const HopperForm form :
       {HopperForm::kCooperative192x256, HopperForm::kCooperative256x128, HopperForm::kCooperative256x128Permuted}) {
    for (const WalkOrder order : bench::kWalkOrders) EXPECT_TRUE(bench::order_accepts(traits_of(form), order, d));
  }
  EXPECT_FALSE(bench::order_accepts(traits_of(HopperForm::kPingPong128x128), WalkOrder::kCounted, d));
}

TEST_F(ProductOrders, OneTile) {
  expect_static_bytes({.m = 192, .n = 512, .k = 128, .moduli = {251}});
  expect_static_bytes({.m = 256, .n = 256, .k = 128, .moduli = {256}});
  expect_static_bytes({.m = 16, .n = 1, .k = 1, .moduli = {255}});
  expect_static_bytes({.m = 16, .n = 3, .k = 5000, .moduli = {253}});
}

// A tile of 1 to 6 blocks of k: claims and messages come as close as they ever do.
TEST_F(ProductOrders, FewBlocksOfK) {
  for (const std::int64_t k : {1, 128, 129, 300, 512, 640, 700}) {
    expect_static_bytes({.m = 2000, .n = 1500, .k = k, .moduli = first_moduli(6)}, false);
    expect_static_bytes({.m = 272, .n = 257, .k = k, .moduli = first_moduli(3)});
  }
}

TEST_F(ProductOrders, OddShapes) {
  for (const std::int64_t m : {1, 63, 200, 257, 1000}) {
    for (const std::int64_t n : {1, 129, 300, 513}) {
      for (const std::int64_t extra : {std::int64_t{0}, (16 - m % 16) % 16})
        expect_static_bytes({.m = m, .n = n, .k = 333, .moduli = {256, 255, 13}, .extra_rows = extra});
    }
  }
}

// Rounds that are full, short by one, longer by one; and epochs by the dozen, whose counters come round.
TEST_F(ProductOrders, ManyTilesForEveryCluster) {
  expect_static_bytes({.m = 1936, .n = 1600, .k = 384, .moduli = first_moduli(14)});
  for (const std::size_t planes : {1U, 3U, 14U})
    expect_static_bytes({.m = 2304, .n = 2050, .k = 2100, .moduli = first_moduli(planes)}, false);
  for (const int raster : {1, 3, 1000})
    expect_static_bytes({.m = 2304, .n = 1111, .k = 1000, .moduli = first_moduli(5)}, false, raster);
}

// Strassen's seven planes of a modulus, and the two of complex numbers.
TEST_F(ProductOrders, PlanesOfOneModulus) {
  for (const int each : {2, 7}) {
    HostProduct p({.m = 528, .n = 300, .k = 400, .moduli = first_moduli(14)});
    p.desc.planes_of_modulus = each;
    expect_static_bytes(p, false);
  }
}

TEST_F(ProductOrders, ReadTheNumberOfPlanesOnTheDevice) {
  const HostProduct all({.m = 1008, .n = 750, .k = 400, .moduli = first_moduli(14)});
  for (const std::int32_t count : {0, 1, 5, 14, -3}) {
    HostProduct some = all;
    some.desc.num_products = std::clamp(count, 0, 14);
    const std::vector<std::uint8_t> expected = expected_c(some);
    const DeviceArray<std::int32_t> on_device(std::vector<std::int32_t>{count});
    DeviceProduct device(all);
    for (const HopperFormTraits& form : hopper_forms()) {
      for (const WalkOrder order : bench::kWalkOrders) {
        if (!bench::order_accepts(form, order, all.desc)) continue;
        const std::string what = std::string(form.name) + " " + std::string(bench::to_string(order)) + " of " +
                                 std::to_string(count) + " planes";
        device.c.upload(all.initial_c);
        const Status status = bench::run_ordered_product(all.desc, device.pointers(on_device.data()), form.form, order,
                                                         drift_words(), nullptr);
        ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
        device.expect_c(expected, what);
        expect_zero_words(what);
      }
    }
  }
}

// Launches follow one another without their host, so that the next begins while the last clusters of one still work;
// another stream's have words of their own.
TEST_F(ProductOrders, LaunchesOnEndAndSideBySide) {
  const HostProduct p({.m = 1296, .n = 1100, .k = 900, .moduli = first_moduli(5)});
  const std::vector<std::uint8_t> expected = expected_c(p);
  const DeviceArray<std::uint32_t> other(std::vector<std::uint32_t>(sizeof(DriftWords) / 4));
  DeviceProduct device(p);
  DeviceProduct beside(p);
  cudaStream_t streams[2] = {};
  for (cudaStream_t& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (int round = 0; round < 20; ++round) {
    for (const HopperForm form : {HopperForm::kCooperative192x256, HopperForm::kCooperative256x128Permuted}) {
      for (const WalkOrder order : {WalkOrder::kCounted, WalkOrder::kPaced}) {
        ASSERT_TRUE(bench::run_ordered_product(p.desc, device.pointers(), form, order, drift_words(), streams[0]).ok());
        ASSERT_TRUE(bench::run_ordered_product(p.desc, beside.pointers(), form, order,
                                               reinterpret_cast<DriftWords*>(other.data()), streams[1])
                        .ok());
      }
    }
  }
  for (cudaStream_t stream : streams) {
    check(cudaStreamSynchronize(stream), "stream");
    check(cudaStreamDestroy(stream), "stream");
  }
  device.expect_c(expected, "on end");
  beside.expect_c(expected, "side by side");
  expect_zero_words("on end");
  for (const std::uint32_t word : other.download()) EXPECT_EQ(word, 0U);
}

}  // namespace
}  // namespace kizami::engines
