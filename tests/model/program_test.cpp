// SPDX-License-Identifier: MIT
// What the model knows of programs: tiles, rounds, cuts, and what was measured of libraries.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "kizami/predict.hpp"
#include "model/program.hpp"
#include "model/round_device.hpp"

namespace kizami::model {
namespace {

TEST(Program, SharesAreLinearInTheLogarithm) {
  const std::pair<double, double> points[] = {{1000, 0.2}, {4000, 0.6}};
  EXPECT_DOUBLE_EQ(by_size(points, 2000), 0.4);
  EXPECT_DOUBLE_EQ(by_size(points, 500), 0.1);
  EXPECT_DOUBLE_EQ(by_size(points, 1e6), 0.6);
}

TEST(Program, TilesGoInRounds) {
  const TileForm forms[] = {{100, 100, 1}};
  const ProductModel model{.forms = forms, .uncovered_cycles = 1000};
  const Rates rates = round_rates();
  // 101 tiles on 100 multiprocessors: two rounds of 2 * 100 * 100 * 50 operations at 1 TOPS, and 1 us each.
  const Products p{.m = 100, .n = 100, .k = 50, .num_products = 101, .num_results = 101};
  const double seconds = 2 * (1e6 / 1e12 + 1e-6);
  EXPECT_NEAR(share_reached(model, p, rates, false), 101e6 / 1e14 / seconds, 1e-12);
  // The limit of power: 0.1 of the rate for each factor e beyond cool_seconds, not below `least`.
  ProductModel hot = model;
  hot.cool_seconds = seconds / std::exp(1.0);
  hot.slope = 0.1;
  hot.least = 0.5;
  EXPECT_NEAR(share_reached(hot, p, rates, false) / share_reached(model, p, rates, false), 0.9, 1e-12);
  EXPECT_NEAR(share_reached(hot, p, rates, true) / share_reached(model, p, rates, false), 0.5, 1e-12);
  // It is of all calls one behind another.
  Products of_two = p;
  of_two.num_calls = 2;
  EXPECT_NEAR(share_reached(hot, of_two, rates, false) / share_reached(model, p, rates, false),
              1 - 0.1 * (1 + std::log(2.0)), 1e-12);
}

TEST(Program, ATriangleHasSquaresOfTiles) {
  const TileForm forms[] = {{100, 50, 1}};
  const ProductModel model{.forms = forms, .uncovered_cycles = 1000};
  // Of 3 x 3 squares 6 have an element of the triangle, of 2 tiles each: 60 squares are two rounds of 100 tiles, of
  // 2 * 100 * 50 * 50 operations at 1 TOPS, and 1 us each.
  const Products p{.m = 250, .n = 250, .k = 50, .num_products = 10, .num_results = 10, .is_triangle = true};
  const double seconds = 2 * (5e5 / 1e12 + 1e-6);
  EXPECT_EQ(p.operations(), 250.0 * 250 * 50 * 10);
  EXPECT_NEAR(share_reached(model, p, round_rates(), false), p.operations() / 1e14 / seconds, 1e-12);
}

TEST(Program, TilesOfUnequalSumsEndWithTheLongest) {
  const TileForm forms[] = {{100, 100, 1}};
  const ProductModel model{.forms = forms};
  const Rates rates = round_rates();
  // 4 planes of a tile, of 10 products on 100 multiprocessors: the plane of 7 decides, 1 us a product.
  Products p{.m = 100, .n = 100, .k = 50, .num_products = 10, .num_results = 4, .longest = 7};
  EXPECT_NEAR(10e6 / 1e14 / share_reached(model, p, rates, false), 7e-6, 1e-12);
  // 400 tiles of these: four a multiprocessor, as many products as there are.
  p.m = 10000;
  EXPECT_NEAR(1e9 / 1e14 / share_reached(model, p, rates, false), 10e-6, 1e-12);
}

TEST(Program, KIsCutWhereTilesAreFew) {
  const TileForm forms[] = {{100, 100, 1}};
  ProductModel model{.forms = forms};
  const Rates rates = round_rates();
  const Products p{.m = 100, .n = 100, .k = 6400, .element_bytes = 8};
  const double whole = 2e4 * 6400 / 1e12;
  EXPECT_NEAR(2e4 * 6400 / 1e14 / share_reached(model, p, rates, false), whole, 1e-12);
  // Into 64 parts, the most that 100 multiprocessors take; the parts of C meet in the L2 cache, 2 TB/s here.
  model.cuts_k = true;
  EXPECT_NEAR(2e4 * 6400 / 1e14 / share_reached(model, p, rates, false), whole / 64 + 64 * 8 * 1e4 / 2e12, 1e-12);
  // A library has several forms, and takes the one that ends first: a smaller one here, which needs fewer parts.
  const TileForm two[] = {{100, 100, 1}, {50, 50, 0.9}};
  model.forms = two;
  EXPECT_NEAR(2e4 * 6400 / 1e14 / share_reached(model, p, rates, false), whole / 64 / 0.9 + 16 * 8 * 1e4 / 2e12, 1e-12);
}

// The largest tile of which all multiprocessors, 100 here, have enough, whichever ends first.
TEST(Program, ALibrarysTilesGoByRoundsAndTheLengthOfK) {
  const TileForm forms[] = {{20, 20, 0.9, 0}, {10, 20, 0.8, 100}, {10, 10, 0.5, 0}};
  const ProductModel model{.forms = forms, .least_rounds = 2, .long_k = 5000, .result_bytes = 4};
  const Rates rates = round_rates();  // 1000 operations a cycle of a multiprocessor, 1 GHz
  const auto seconds = [&](double m, double n, double k, bool is_added = false) {
    Products p{.m = m, .n = n, .k = k};
    p.is_added = is_added;
    return p.operations() / rates.of(p.format) / share_reached(model, p, rates, false);
  };
  const auto stored = [](double m, double n) { return 4 * m * n / 2e12; };  // in the cache
  // 200 of 20 x 20: two rounds of 800 operations an element of k.
  EXPECT_NEAR(seconds(400, 200, 1000), 2 * 1000 * 0.8 / 0.9 * 1e-9 + stored(400, 200), 1e-12);
  // 190: too few, but 380 of 10 x 20, in four rounds that end later, with 100 cycles of each tile beside k.
  EXPECT_NEAR(seconds(380, 200, 1000), 4 * (1000 * 0.4 / 0.8 + 100) * 1e-9 + stored(380, 200), 1e-12);
  EXPECT_GT(seconds(380, 200, 1000), seconds(400, 200, 1000));
  // Where k is long one round is enough.
  EXPECT_NEAR(seconds(380, 200, 5001), 2 * 5001 * 0.8 / 0.9 * 1e-9 + stored(380, 200), 1e-12);
  EXPECT_NEAR(seconds(380, 200, 5000), 4 * (5000 * 0.4 / 0.8 + 100) * 1e-9 + stored(380, 200), 1e-12);
  // The last form whatever there is of it.
  EXPECT_NEAR(seconds(100, 100, 1000), 1000 * 0.2 / 0.5 * 1e-9 + stored(100, 100), 1e-12);
  // Added to sums that are read.
  EXPECT_NEAR(seconds(100, 100, 1000, true), 1000 * 0.2 / 0.5 * 1e-9 + 2 * stored(100, 100), 1e-12);
}

TEST(Program, WhatPowerLeavesALibraryIsAsItWasMeasured) {
  const TileForm forms[] = {{128, 128, 0.9}};
  ProductModel model{.forms = forms, .is_library = true, .cool_seconds = 1e-3, .slope = 0.5, .least = 0.3};
  Rates rates = round_rates();
  const auto share = [&](double num_calls, bool is_sustained) {
    return share_reached(model, {.m = 1280, .n = 1280, .k = 1024, .num_calls = num_calls}, rates, is_sustained);
  };
  const double cool = share(1, false);
  EXPECT_NEAR(share(1e6, false) / cool, 0.3, 1e-12);
  rates.sustained_share = 0.8;
  EXPECT_EQ(share(1, false), cool);
  EXPECT_NEAR(share(1e6, false) / cool, 0.8, 1e-12);
  EXPECT_NEAR(share(1, true) / cool, 0.8, 1e-12);
  model.is_library = false;
  EXPECT_NEAR(share(1e6, false) / cool, 0.3, 1e-12);
}

/// Single products of many lines of either operand, where a card's description has them, stand for what tiles say.
TEST(Program, WideProductsOfALibraryAreAsTheyWereMeasured) {
  const TileForm forms[] = {{128, 128, 0.9}};
  const ProductModel model{.forms = forms, .is_library = true, .cool_seconds = 1e-3, .slope = 0.05, .least = 0.1};
  Rates rates = round_rates();
  const auto share = [&](double m, double n, double k, double num_calls = 1, Format format = Format::kInt8) {
    return share_reached(model, {.format = format, .m = m, .n = n, .k = k, .num_calls = num_calls}, rates, false);
  };
  const double of_tiles = share(16384, 16384, 32768);
  const double of_short_k = share(16384, 16384, 8192);
  const double of_few_lines = share(16384, 8192, 32768);
  const double of_calls = share(16384, 16384, 32768, 10);
  const double of_fp16 = share(16384, 16384, 32768, 1, Format::kFp16);
  rates.int8_wide_by_bytes = {{32768.0 * 16384, 60e12}, {32768.0 * 131072, 40e12}};
  EXPECT_GT(of_tiles, 0.6);
  // Four were measured behind one another.
  EXPECT_NEAR(share(16384, 16384, 16384, 4), 0.6, 0.02);
  EXPECT_NEAR(share(16384, 16384, 131072, 4), 0.4, 0.02);
  EXPECT_NEAR(share(32768, 32768, 65536, 4), 0.4, 0.02);  // as many bytes
  EXPECT_LT(share(16384, 16384, 32768), of_tiles);
  EXPECT_NEAR(share(16384, 16384, 32768, 10) / share(16384, 16384, 32768), of_calls / of_tiles, 0.05);
  EXPECT_EQ(share(16384, 16384, 8192), of_short_k);
  EXPECT_EQ(share(16384, 8192, 32768), of_few_lines);
  EXPECT_EQ(share(16384, 16384, 32768, 1, Format::kFp16), of_fp16);
  rates.int8_wide_by_bytes = {{16384, 99e12}};  // never quicker than its tiles
  EXPECT_EQ(share(16384, 16384, 32768), of_tiles);
}

TEST(Program, PartsOfKOfFp32HaveALaunchOfTheirOwn) {
  const TileForm forms[] = {{100, 100, 1}};
  ProductModel model{.forms = forms, .cuts_k = true, .fp32_share = 0.5};
  Rates rates = round_rates();  // 0.1 TFLOPS a multiprocessor
  Products p{.format = Format::kFp32, .m = 1000, .n = 500, .k = 6400, .element_bytes = 4};
  const auto seconds = [&] { return 2e9 * 3.2 / 1e13 / share_reached(model, p, rates, false); };
  const double whole = 2e4 * 6400 / 0.05e12;
  const double in_two = whole / 2 + 2 * 4 * 5e5 / 2e12;
  EXPECT_NEAR(seconds(), in_two, 1e-12);
  model.fp32_parts_launch = true;
  EXPECT_NEAR(seconds(), in_two + 2e-6, 1e-12);
  rates.launch_seconds = 2 * whole;  // longer than what the cut saves
  EXPECT_NEAR(seconds(), whole, 1e-12);
}

TEST(Program, Fp32HasALimitOfPowerOfItsOwn) {
  const TileForm forms[] = {{100, 100, 1}};
  const ProductModel model{.forms = forms, .fp32_slope = 0.1, .cool_seconds = 1e-4, .slope = 0.2, .least = 0.1};
  const Rates rates = round_rates();
  const auto share = [&](Format format, double calls) {
    const Products p{.format = format, .m = 100, .n = 100, .k = 5e5 / 20, .num_calls = calls};
    return share_reached(model, p, rates, false);
  };
  const double e = std::exp(1.0);
  EXPECT_NEAR((share(Format::kFp32, 1) - share(Format::kFp32, e)) / 0.01, 0.1, 1e-9);  // of one multiprocessor of 100
  EXPECT_NEAR((share(Format::kInt8, 1) - share(Format::kInt8, e)) / 0.01, 0.2, 1e-9);
}

TEST(Program, SumsAreStoredBehindTheirTiles) {
  const TileForm forms[] = {{100, 100, 1}};
  const ProductModel model{.forms = forms};
  const Rates rates = round_rates();
  Products p{.m = 100, .n = 100, .k = 50, .num_products = 20, .num_results = 20};
  const auto seconds = [&] { return 20e6 / 1e14 / share_reached(model, p, rates, false); };
  EXPECT_NEAR(seconds(), 1e-6, 1e-12);
  p.stored_bytes = 4;  // 0.8 MB, in the cache of 1 MB at 2 TB/s
  EXPECT_NEAR(seconds(), 1e-6 + 8e5 / 2e12, 1e-12);
  p.num_products = p.num_results = 40;  // 1.6 MB, in memory
  EXPECT_NEAR(2 * seconds(), 1e-6 + 1.6e6 / 0.5e12, 1e-12);
}

TEST(Program, OurOwnFormIsOfARule) {
  const TileForm forms[] = {{200, 100, 1}, {100, 100, 0.5}};
  const ProductModel model{.forms = forms, .few_bytes = 1e6};
  const Rates rates = round_rates();
  const auto seconds = [&](double m, double k) {
    const Products p{.m = m, .n = 200, .k = k};
    return 2 * m * 200 * k / 1e14 / share_reached(model, p, rates, false);
  };
  EXPECT_NEAR(seconds(200, 2000), 2e4 * 2000 / 0.5e12, 1e-12);  // 0.8 MB of lines: the second form
  EXPECT_NEAR(seconds(200, 4000), 4e4 * 4000 / 1e12, 1e-12);
  EXPECT_NEAR(seconds(100, 4000), 2e4 * 4000 / 0.5e12, 1e-12);  // few lines
}

TEST(Program, LongLinesTakeClustersThatLeavePlacesEmpty) {
  const ClusterShares shares = {1, 0.9, 0.8, 0.7, 0.6};
  EXPECT_EQ(cluster_share(shares, 1), 1);
  EXPECT_EQ(cluster_share(shares, 1024), 1);
  EXPECT_EQ(cluster_share(shares, 1025), 0.9);
  EXPECT_EQ(cluster_share(shares, 4096), 0.8);
  EXPECT_EQ(cluster_share(shares, 8192), 0.7);
  EXPECT_EQ(cluster_share(shares, 16384), 0.6);
  EXPECT_EQ(cluster_share(shares, 1e9), 0.6);
  // Nothing else of the split hangs on k.
  Request request = square(Way::kOzaki2, 1024);
  request.may_take_quadrants = false;
  const auto issue = [&](std::int64_t k) {
    request.k = k;
    const PhaseTime split = phase_of(predicted(*find_device("h200"), request), "split");
    return split.of_roof[static_cast<std::size_t>(Roof::kIssue)] / static_cast<double>(k);
  };
  EXPECT_NEAR(issue(8192) / issue(2048), 396.0 / 360, 1e-9);
}

}  // namespace
}  // namespace kizami::model
