// SPDX-License-Identifier: MIT
// Seconds by phase: values worked out by hand, and what has to hold of any device.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "kizami/predict.hpp"
#include "model/phases.hpp"
#include "model/program.hpp"
#include "model/roofs.hpp"

namespace kizami::model {
namespace {

/// Round numbers: 100 multiprocessors at 1 GHz, memory at 1 TB/s, 100 TOPS.
Device round_device() {
  Device device;
  device.name = "round";
  device.compute_capability = 80;
  const auto set = [&](Fact fact, double value) {
    Quantity quantity;
    quantity.value = value;
    device.sheet[static_cast<std::size_t>(fact)] = quantity;
  };
  set(Fact::kSms, 100);
  set(Fact::kClockGhz, 1);
  set(Fact::kFp64Tflops, 2);
  set(Fact::kFp32Tflops, 10);
  set(Fact::kFp16Tflops, 50);
  set(Fact::kInt8Tops, 100);
  set(Fact::kBandwidthTbs, 1);
  set(Fact::kL2Mb, 1);
  set(Fact::kPowerW, 300);
  set(Fact::kInt32PerSmCycle, 10);
  return device;
}
void set_sheet(Device& device, Fact fact, double value) { device.sheet[static_cast<std::size_t>(fact)]->value = value; }

Rates round_rates() { return rates_of(round_device(), Basis::kSheet, 0.5, 2e-6); }

TEST(Roofs, RatesComeFromTheSheet) {
  const Rates rates = round_rates();
  EXPECT_EQ(rates.memory, 0.5e12);
  EXPECT_EQ(rates.l2, 20.0 * 100 * 1e9);
  EXPECT_EQ(rates.fp64_instructions, 1e12);
  EXPECT_EQ(rates.int32_instructions, 1e12);
  EXPECT_EQ(rates.of(Format::kFp64), 2e12);  // no tensor cores for FP64
  EXPECT_EQ(rates.of(Format::kFp8), 0);
}

TEST(Roofs, EachRoofHoldsWhatAsksMostOfIt) {
  const Rates rates = round_rates();
  struct Case {
    Work work;
    Roof roof;
    double seconds;
  };
  const Case cases[] = {
      {{.phase = "x", .bytes = 1e9}, Roof::kMemory, 1e9 / 0.5e12},
      {{.phase = "x", .bytes = 1e6}, Roof::kL2, 1e6 / 2e12},
      {{.phase = "x", .launches = 10, .bytes = 1e7}, Roof::kLaunch, 20e-6 + 1e7 / 2e12},  // 1 MB a launch: cached
      {{.phase = "x", .launches = 3}, Roof::kLaunch, 6e-6},
      {{.phase = "x", .operations = 1e12}, Roof::kTensor, 1e-2},
      {{.phase = "x", .operations = 1e12, .reached = 0.5}, Roof::kTensor, 2e-2},
      {{.phase = "x", .fp64_instructions = 1e9}, Roof::kFp64Instructions, 1e-3},
      {{.phase = "x", .int32_instructions = 3e9}, Roof::kInt32Instructions, 3e-3},
      {{.phase = "x", .sm_cycles = 1e8}, Roof::kIssue, 1e-3},
      {{.phase = "x", .launches = 1, .bytes = 1e9, .operations = 1e11, .sm_cycles = 3e8}, Roof::kIssue, 2e-6 + 3e-3},
  };
  for (const Case& c : cases) {
    const PhaseTime time = time_of(c.work, rates);
    EXPECT_EQ(time.roof(), c.roof) << to_string(c.roof);
    EXPECT_DOUBLE_EQ(time.seconds, c.seconds) << to_string(c.roof);
    double held = 0;
    for (const double part : time.held) held += part;
    EXPECT_DOUBLE_EQ(held, time.seconds);
  }
}

TEST(Roofs, AFormatThatIsMissingTakesForever) {
  const PhaseTime time = time_of({.phase = "x", .format = Format::kFp8, .operations = 1}, round_rates());
  EXPECT_TRUE(std::isinf(time.seconds));
  EXPECT_EQ(time.roof(), Roof::kTensor);
}

TEST(Roofs, PhasesAddUp) {
  const Rates rates = round_rates();
  PhaseTime sum = time_of({.phase = "x", .bytes = 1e9}, rates);
  sum.add(time_of({.phase = "x", .sm_cycles = 5e8}, rates));
  EXPECT_DOUBLE_EQ(sum.seconds, 2e-3 + 5e-3);
  EXPECT_EQ(sum.roof(), Roof::kIssue);
}

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

TEST(Predict, AccumulatorsHoldWhatTheEquationSays) {
  EXPECT_EQ(products_of_accumulator(8192, 7), 16);   // 2147483647 / (8192 * 16129) = 16.25
  EXPECT_EQ(products_of_accumulator(16384, 7), 8);   // 8.13
  EXPECT_EQ(products_of_accumulator(133144, 7), 1);  // the largest k of one product
  EXPECT_EQ(products_of_accumulator(133145, 7), 0);
  // l = 7: groups of 1 .. 7 products. r = 2 takes ceil(x / 2) accumulators each.
  EXPECT_EQ(windows_of(Way::kEfS, 7, 16).size(), 7u);
  EXPECT_EQ(windows_of(Way::kEfS, 7, 2), (std::vector<int>{1, 2, 2, 1, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1}));
  EXPECT_EQ(windows_of(Way::kEf, 7, 1).size(), 28u);
  EXPECT_EQ(windows_of(Way::kOzimmu, 7, 16).size(), 28u);
}

Prediction predicted(const Device& device, const Request& request) {
  Result<Prediction> made = predict(device, request);
  EXPECT_TRUE(made.ok()) << made.status().reason();
  return made.ok() ? std::move(made).value() : Prediction{};
}

Request square(Way way, std::int64_t n) {
  Request request;
  request.m = request.n = request.k = n;
  request.way = way;
  request.basis = Basis::kSheet;
  return request;
}

const PhaseTime& phase_of(const Prediction& prediction, const std::string& name) {
  for (const PhaseTime& phase : prediction.phases) {
    if (phase.phase == name) return phase;
  }
  ADD_FAILURE() << "no phase " << name;
  return prediction.phases.front();
}

TEST(Predict, SlicesOfTheDocumentsByHand) {
  Request request = square(Way::kEfS, 8192);
  request.program = ProgramName::kDocuments;
  const Prediction made = predicted(round_device(), request);
  EXPECT_EQ(made.products, 28);
  EXPECT_EQ(made.accumulators, 7);
  const double mn = 8192.0 * 8192;
  const double copy = 0.885e12;
  // (m + n) k (2 * 8 + 7) bytes in two launches; 20 m n G of sums and 16 m n of scaling in 7 + 1 launches.
  EXPECT_NEAR(phase_of(made, "split").seconds, 2 * mn * 23 / copy + 2 * 4e-6, 1e-12);
  EXPECT_NEAR(phase_of(made, "sums").seconds, mn * (20 * 7 + 16) / copy + 8 * 4e-6, 1e-12);
  EXPECT_EQ(phase_of(made, "split").roof(), Roof::kMemory);
  // Seven calls of 1 to 7 products; the share of a call grows with the third root of its k.
  double products = 0;
  for (int g = 1; g <= 7; ++g) {
    const double size = 8192 * std::cbrt(g);
    const double share = size <= 16384 ? 0.74 + 0.06 * std::log2(size / 8192) : 0.80;
    products += 2 * mn * 8192 * g / (1e14 * share);
  }
  EXPECT_NEAR(phase_of(made, "products").seconds, products, 1e-9 * products);
  EXPECT_EQ(phase_of(made, "products").roof(), Roof::kTensor);
  EXPECT_NEAR(made.bound_tflops, 100.0 / 28, 1e-12);
  EXPECT_LT(made.tflops, made.bound_tflops);
}

/// Sums of planes of few elements wait for memory: once for each plane, of all real products of a launch.
TEST(Predict, SumsWaitForEachPlane) {
  const auto waits = [](Scalar scalar, ComplexForm form) {
    Request request = square(Way::kEfS, 1024);  // whose launch hides behind the products, all of it
    request.scalar = scalar;
    request.slices = 7;
    request.complex_form = form;
    const Prediction made = predicted(*find_device("h200"), request);
    return phase_of(made, "sums").of_roof[static_cast<std::size_t>(Roof::kLaunch)];
  };
  constexpr double kWait = 500 / 1.98e9;
  EXPECT_NEAR(waits(Scalar::kF64, ComplexForm::kAuto), 7 * kWait, 1e-12);
  EXPECT_NEAR(waits(Scalar::kC128, ComplexForm::kFour) - waits(Scalar::kF64, ComplexForm::kAuto), 21 * kWait, 1e-12);
  EXPECT_NEAR(waits(Scalar::kC128, ComplexForm::kKaratsuba) - waits(Scalar::kF64, ComplexForm::kAuto), 14 * kWait,
              1e-12);
}

TEST(Predict, Gemmul8ByHand) {
  Request request = square(Way::kOzaki2, 4096);
  request.program = ProgramName::kGemmul8;
  const Device& gh200 = *find_device("gh200");
  const Prediction made = predicted(gh200, request);
  const double mn = 4096.0 * 4096;
  const double cycles = 132 * 1.98e9;
  const double copy = 0.885 * 4e12;
  EXPECT_EQ(made.products, 14);
  EXPECT_NEAR(phase_of(made, "split").seconds, 2 * mn * 3.4 / cycles + 8e-6, 1e-10);
  EXPECT_EQ(phase_of(made, "split").roof(), Roof::kIssue);
  EXPECT_NEAR(phase_of(made, "products").seconds, 14 * 2 * mn * 4096 / (1979e12 * 0.78), 1e-10);
  EXPECT_NEAR(phase_of(made, "residues").seconds, 14 * 5 * mn / copy + 14 * 4e-6, 1e-10);
  EXPECT_NEAR(phase_of(made, "crt").seconds, 157 * mn / 16.75e12 + 4e-6, 1e-10);
  EXPECT_EQ(phase_of(made, "crt").roof(), Roof::kFp64Instructions);
  // Rare FP64 instructions: the other form of the kernels.
  const Prediction weak = predicted(*find_device("rtx5080"), request);
  EXPECT_NEAR(phase_of(weak, "crt").seconds, 55 * mn / 0.44e12 + 4e-6, 1e-10);
  EXPECT_EQ(phase_of(weak, "split").roof(), Roof::kFp64Instructions);
}

TEST(Predict, MeasuredRatesCountWhereTheBasisSaysSo) {
  Request request = square(Way::kOzaki2, 8192);
  request.program = ProgramName::kGemmul8;
  const Device& a100 = *find_device("a100");
  const double pure = phase_of(predicted(a100, request), "products").seconds;
  request.basis = Basis::kCalibrated;
  const double calibrated = phase_of(predicted(a100, request), "products").seconds;
  const double operations = 14 * 2 * std::pow(8192.0, 3);
  EXPECT_NEAR(pure, operations / (624e12 * 0.74), 1e-9);
  EXPECT_NEAR(calibrated, operations / 437e12, 1e-9);
  // One rate that was measured is of n = 8192: others follow the shares.
  request.m = request.n = request.k = 4096;
  const Device& rtx4090 = *find_device("rtx4090");
  EXPECT_NEAR(phase_of(predicted(rtx4090, request), "products").seconds, operations / 8 / (676e12 * 0.78 / 0.74), 1e-9);
}

/// Every way that a device allows, of both real types and a complex one.
template <class Visit>
void for_each_request(const Device& device, const Visit& visit) {
  for (const Way way : {Way::kNative, Way::kOzimmu, Way::kEf, Way::kEfS, Way::kEfL, Way::kOzaki2, Way::kEc}) {
    for (const Scalar scalar : {Scalar::kF64, Scalar::kF32, Scalar::kC128, Scalar::kC64}) {
      for (const std::int64_t n : {256, 2048, 16384}) {
        Request request = square(way, n);
        request.scalar = scalar;
        if (predict(device, request).ok()) visit(request);
      }
    }
  }
}

TEST(Predict, MoreOfAnyRateIsNeverSlower) {
  constexpr Fact kRates[] = {Fact::kFp64Tflops,   Fact::kFp32Tflops,      Fact::kFp16Tflops, Fact::kInt8Tops,
                             Fact::kBandwidthTbs, Fact::kInt32PerSmCycle, Fact::kClockGhz};
  const Device device = round_device();
  int num_faster = 0;
  for_each_request(device, [&](const Request& request) {
    const double seconds = predicted(device, request).seconds;
    for (const Fact fact : kRates) {
      Device better = device;
      set_sheet(better, fact, device.find_sheet(fact)->value * 2);
      // Twice the FP64 rate changes the form of a kernel, never for the worse here.
      const double then = predicted(better, request).seconds;
      EXPECT_LE(then, seconds * (1 + 1e-12)) << to_string(request.way) << " " << to_string(fact) << " " << request.n;
      num_faster += then < 0.999 * seconds ? 1 : 0;
    }
  });
  EXPECT_GT(num_faster, 50);
}

TEST(Predict, PhasesAreTheTotal) {
  const Device& h200 = *find_device("h200");
  int num_requests = 0;
  for_each_request(h200, [&](const Request& request) {
    const Prediction made = predicted(h200, request);
    ++num_requests;
    EXPECT_NEAR(made.seconds_of(Part::kComputation) + made.seconds_of(Part::kDataHandling), made.seconds, 1e-15);
    EXPECT_GT(made.seconds, 0);
    const double flops = (is_complex(request.scalar) ? 8 : 2) * std::pow(static_cast<double>(request.n), 3);
    EXPECT_NEAR(made.tflops, flops / made.seconds * 1e-12, 1e-9 * made.tflops);
    EXPECT_LE(made.tflops, made.bound_tflops);
  });
  EXPECT_EQ(num_requests, 7 * 12 - 6);  // ec has no FP64
}

TEST(Predict, ComplexProductsAreThoseOfTheLibrary) {
  Request request = square(Way::kOzaki2, 2048);
  request.scalar = Scalar::kC128;
  for (const auto& [moduli, products] : {std::pair{15, 30}, {17, 34}, {18, 37}, {20, 43}}) {
    request.moduli = moduli;
    EXPECT_EQ(predicted(*find_device("h200"), request).products, products);
  }
  request.program = ProgramName::kGemmul8;
  request.moduli = 14;
  EXPECT_EQ(predicted(*find_device("h200"), request).products, 42);
}

TEST(Predict, QuadrantsAreTakenWhereTheyAreQuicker) {
  const Device& h200 = *find_device("h200");
  const auto has_quadrants = [&](auto change) {
    Request request = square(Way::kOzaki2, 16384);
    change(request);
    const Prediction made = predicted(h200, request);
    EXPECT_LE(made.tflops, made.bound_tflops);
    const int whole = request.scalar == Scalar::kC128 ? 30 : 14;
    EXPECT_EQ(made.products, made.has_quadrants ? 7 * whole : made.products);
    return made.has_quadrants;
  };
  EXPECT_TRUE(has_quadrants([](Request&) {}));
  EXPECT_FALSE(has_quadrants([](Request& r) { r.m = r.n = r.k = 2048; }));
  EXPECT_FALSE(has_quadrants([](Request& r) { r.may_take_quadrants = false; }));
  EXPECT_TRUE(has_quadrants([](Request& r) { r.k = 32768; }));    // with statistics before
  EXPECT_FALSE(has_quadrants([](Request& r) { r.k = 131073; }));  // two blocks of k
  EXPECT_FALSE(has_quadrants([](Request& r) { r.moduli = 15; }));
  EXPECT_TRUE(has_quadrants([](Request& r) { r.scalar = Scalar::kC128; }));
  EXPECT_TRUE(has_quadrants([](Request& r) { r.scalar = Scalar::kC64; }));
  EXPECT_FALSE(has_quadrants([](Request& r) {
    r.scalar = Scalar::kC64;
    r.moduli = 8;  // integers of two words
  }));
  EXPECT_FALSE(has_quadrants([](Request& r) { r.scalar = Scalar::kF32; }));
  EXPECT_FALSE(has_quadrants([](Request& r) { r.program = ProgramName::kGemmul8; }));
  Request request = square(Way::kOzaki2, 16384);
  const double seconds = predicted(h200, request).seconds;
  request.may_take_quadrants = false;
  EXPECT_LT(seconds, predicted(h200, request).seconds);
  // As many operations as seven products of half the extents.
  EXPECT_NEAR(predicted(h200, square(Way::kOzaki2, 16384)).bound_tflops, predicted(h200, request).bound_tflops * 8 / 7,
              1e-9);
}

TEST(Predict, LongLinesAreReadTwiceBefore) {
  Request request = square(Way::kOzaki2, 1024);
  const Device& h200 = *find_device("h200");
  const auto split = [&](std::int64_t k) {
    request.k = k;
    return phase_of(predicted(h200, request), "split").seconds;
  };
  EXPECT_NEAR(split(16386) - split(16384), 2 * 4e-6 + 2 * 8 * 2048 * 16386 / (0.896 * 4.8e12), 0.1e-6);
}

/// By hand, of an H200: (m + n) k numbers, cycles of 132 multiprocessors at 1.98 GHz, two launches.
TEST(Predict, DigitsThatAreBytesAreMadeAtOnce) {
  Request request = square(Way::kEfS, 4096);
  const Device& h200 = *find_device("h200");
  const auto split = [&](bool has_bytes, int slices) {
    request.has_byte_digits = has_bytes;
    request.slices = slices;
    return phase_of(predicted(h200, request), "split").seconds;
  };
  const double numbers = 2.0 * 4096 * 4096;
  const double cycles = 132 * 1.98e9 * 368 / 396;  // clusters of 4 leave places empty
  EXPECT_NEAR(split(false, 7), 8e-6 + numbers * (1.0 + 7 * 0.136) / cycles, 1e-10);
  EXPECT_NEAR(split(true, 7), 8e-6 + numbers * (1.0 + 7 * 0.0136) / cycles, 1e-10);
  EXPECT_NEAR(split(true, 7) - split(true, 3), numbers * 4 * 0.0136 / cycles, 1e-10);
  // Parts of complex numbers take 1.4 times as long each: four products have both parts of both operands.
  request.scalar = Scalar::kC128;
  request.complex_form = ComplexForm::kFour;
  EXPECT_NEAR(split(false, 7), 8e-6 + 2 * numbers * 1.4 * (1.0 + 7 * 0.136) / cycles, 1e-10);
}

TEST(Predict, LongLinesAreReadTwiceBeforeTheirDigits) {
  Request request = square(Way::kEfS, 256);
  request.has_byte_digits = true;
  const auto bytes = [&](std::int64_t k) {
    request.k = k;
    const PhaseTime split = phase_of(predicted(*find_device("h200"), request), "split");
    return split.of_roof[static_cast<std::size_t>(Roof::kMemory)] * 0.896 * 4.8e12 +
           split.of_roof[static_cast<std::size_t>(Roof::kL2)] * 20 * 132 * 1.98e9;
  };
  EXPECT_NEAR(bytes(16384), 512.0 * 16384 * (8 + 7), 1);
  EXPECT_NEAR(bytes(16385), 512.0 * 16385 * (3 * 8 + 7), 1);
}

TEST(Predict, SplitAndCrtOfFp32AreOtherKernels) {
  const auto cycles = [](Scalar scalar, const std::string& phase, int moduli = 0) {
    Request request = square(Way::kOzaki2, 2048);  // clusters of 2, which leave no place empty
    request.scalar = scalar;
    request.moduli = moduli;
    request.may_take_quadrants = false;
    const PhaseTime time = phase_of(predicted(*find_device("h200"), request), phase);
    return time.of_roof[static_cast<std::size_t>(Roof::kIssue)] * 132 * 1.98e9 / (2048.0 * 2048);
  };
  EXPECT_NEAR(cycles(Scalar::kF64, "split"), 2 * 14 * 0.134, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kF32, "split"), 2 * 7 * 0.207, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kC128, "split"), 2 * 30 * 0.1645, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kC64, "split"), 2 * 14 * 0.1645, 1e-9);  // integers of one word, as two of FP64
  EXPECT_NEAR(cycles(Scalar::kC64, "split", 8), 2 * 16 * 0.1645, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kC64, "split", 9), 2 * 18 * 0.224, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kF32, "crt"), 7 * 0.188, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kC64, "crt"), 14 * 0.168, 1e-9);
}

/// By hand: a launch, the work, and waits of 500 cycles each, of what a block has of a line and of planes.
TEST(Predict, KernelsOfSmallCallsWait) {
  constexpr double kWait = 500 / 1.98e9;
  const auto waits = [](Scalar scalar, std::int64_t k, const std::string& phase) {
    Request request = square(Way::kOzaki2, 512);
    request.scalar = scalar;
    request.k = k;
    const PhaseTime time = phase_of(predicted(*find_device("h200"), request), phase);
    const double work = *std::max_element(time.of_roof.begin() + 1, time.of_roof.end());
    EXPECT_NEAR(time.seconds, time.of_roof[static_cast<std::size_t>(Roof::kLaunch)] + work, 1e-15);
    return (time.seconds - work - 4e-6) / kWait;
  };
  for (const Scalar scalar : {Scalar::kF32, Scalar::kF64, Scalar::kC64, Scalar::kC128}) {
    EXPECT_NEAR(waits(scalar, 1024, "split"), 23.5, 1e-9);
    EXPECT_NEAR(waits(scalar, 4096, "split"), 23.5, 1e-9);
    EXPECT_NEAR(waits(scalar, 256, "split"), 23.5 / 4, 1e-9);
    EXPECT_NEAR(waits(scalar, 1536, "split"), 23.5 * 0.75, 1e-9);  // two blocks a line
    EXPECT_NEAR(waits(scalar, 512, "certificate"), 0, 1e-9) << "lines are judged by themselves";
    EXPECT_NEAR(waits(scalar, 20480, "certificate"), 12.8, 1e-9) << "samples are multiplied";
    EXPECT_NEAR(waits(scalar, 512, "rest"), 0, 1e-9);
  }
  EXPECT_NEAR(waits(Scalar::kF64, 512, "crt"), 14 * 1.3, 1e-9);
  EXPECT_NEAR(waits(Scalar::kF32, 512, "crt"), 7 * 1.3, 1e-9);
  EXPECT_NEAR(waits(Scalar::kC128, 512, "crt"), 30 * 2.17, 1e-9);
}

/// Sums of all parts of complex numbers are made in one pass, by the engines' own products and a library's alike.
TEST(Predict, PartsOfComplexNumbersAreSummedAtOnce) {
  Request request = square(Way::kEfS, 256);
  request.scalar = Scalar::kC128;
  request.program = ProgramName::kPortable;
  const auto launched = [&](ComplexForm form) {
    request.complex_form = form;
    return phase_of(predicted(*find_device("h200"), request), "sums").of_roof[static_cast<std::size_t>(Roof::kLaunch)];
  };
  EXPECT_NEAR(launched(ComplexForm::kFour) - 4 * 7 * 500 / 1.98e9, 4e-6, 1e-15);
  EXPECT_NEAR(launched(ComplexForm::kKaratsuba) - 3 * 7 * 500 / 1.98e9, 4e-6, 1e-15);
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

/// Two launches, the products at the rate of the sheet, and a kernel that reads their sums: more than this.
TEST(Predict, ALibrarysSampledProductsAreComparedByAKernel) {
  for (const std::int64_t n : {1024, 4096}) {
    Request request = square(Way::kOzaki2, n);
    const double sums = static_cast<double>(n * n);
    const double least = 2 * 4e-6 + sums * 0.36 / (132 * 1.98e9) + 2 * sums * static_cast<double>(n) / 4 / 1979e12;
    EXPECT_LT(phase_of(predicted(*find_device("h200"), request), "certificate").seconds, least) << n;
    request.program = ProgramName::kPortable;
    EXPECT_GT(phase_of(predicted(*find_device("h200"), request), "certificate").seconds, least) << n;
  }
}

/// Lines of A are split once, C has half of its elements, and of its tiles those of 32 x 33 / 2 squares of 256.
TEST(Predict, ATriangleIsHalfOfTheProduct) {
  const Device& h200 = *find_device("h200");
  Request request = square(Way::kOzaki2, 8192);
  request.may_take_quadrants = false;
  const Prediction all = predicted(h200, request);
  request.is_triangle = true;
  const Prediction made = predicted(h200, request);
  const auto beyond = [&](const Prediction& of, const char* phase) {  // launches and waits
    return phase_of(of, phase).seconds - phase_of(of, phase).of_roof[static_cast<std::size_t>(Roof::kLaunch)];
  };
  EXPECT_NEAR(beyond(made, "split") / beyond(all, "split"), 0.5, 1e-9);
  EXPECT_NEAR(beyond(made, "crt") / beyond(all, "crt"), 0.5, 1e-9);
  // Rounds of 132 tiles, and a higher clock for half of the time: 1 / (1 - 0.059 ln 2) at most.
  const double tiles = 33.0 / 64 / program_of(ProgramName::kKizami, 90).products.triangle_share;
  Request longer = request;  // than a pass takes, so that samples are multiplied
  longer.k = 20480;
  const Prediction made_longer = predicted(h200, longer);
  longer.is_triangle = false;
  EXPECT_NEAR(beyond(made_longer, "certificate") / beyond(predicted(h200, longer), "certificate"), tiles, 0.03);
  EXPECT_NEAR(beyond(made, "products") / beyond(all, "products"), tiles * 0.96, 0.03);
  EXPECT_EQ(made.products, all.products);
  EXPECT_NEAR(made.tflops, 8192.0 * 8192 * 8192 / made.seconds * 1e-12, 1e-9);
  EXPECT_NEAR(made.bound_tflops, all.bound_tflops, 1e-9);
  EXPECT_FALSE(made.has_quadrants);
}

TEST(Predict, SlicesOfALibraryMayBeMadeInBlocks) {
  Request request = square(Way::kEfS, 16384);
  request.program = ProgramName::kPortable;
  const auto launched = [&] {
    return phase_of(predicted(*find_device("h200"), request), "products")
        .of_roof[static_cast<std::size_t>(Roof::kLaunch)];
  };
  const double whole = launched();
  request.block_lines = 2048;
  EXPECT_NEAR(launched() / whole, 8, 1e-9);
  request.block_lines = 32768;
  EXPECT_NEAR(launched(), whole, 1e-15);
}

TEST(Predict, FewSlicesAreSummedWhereTheyAreMultiplied) {
  Request request = square(Way::kEfS, 512);
  const auto has_sums = [&](int slices, Scalar scalar) {
    request.slices = slices;
    request.scalar = scalar;
    const Prediction made = predicted(*find_device("h200"), request);
    return made.phases.size() == 3;
  };
  EXPECT_FALSE(has_sums(3, Scalar::kF64));
  EXPECT_TRUE(has_sums(5, Scalar::kF64));
  EXPECT_TRUE(has_sums(3, Scalar::kC128));
}

TEST(Predict, StreamsHideTheLesserPart) {
  Request request = square(Way::kEfL, 16384);
  request.program = ProgramName::kDocuments;
  const Prediction made = predicted(*find_device("gh200"), request);
  EXPECT_EQ(made.seconds, std::max(made.seconds_of(Part::kComputation), made.seconds_of(Part::kDataHandling)));
}

TEST(Predict, ConcatenationSavesWhatSmallCallsLose) {
  for (const std::int64_t n : {512, 1024, 2048}) {
    Request request = square(Way::kEf, n);
    request.program = ProgramName::kDocuments;
    const double ef = predicted(*find_device("gh200"), request).seconds;
    request.way = Way::kEfS;
    EXPECT_LT(predicted(*find_device("gh200"), request).seconds, ef) << n;
    request.way = Way::kOzimmu;
    EXPECT_GT(predicted(*find_device("gh200"), request).seconds, ef) << n;
  }
}

TEST(Predict, AComplexFormThatIsLeftOpenIsTheFastest) {
  for (const std::int64_t n : {512, 16384}) {
    Request request = square(Way::kEfS, n);
    request.scalar = Scalar::kC128;
    request.program = ProgramName::kDocuments;
    const Device& device = *find_device("gh200");
    const Prediction best = predicted(device, request);
    for (const ComplexForm form : {ComplexForm::kKaratsuba, ComplexForm::kEnlarged, ComplexForm::kFour}) {
      request.complex_form = form;
      EXPECT_GE(predicted(device, request).seconds, best.seconds) << to_string(form);
    }
  }
}

TEST(Predict, LongSumsAreCut) {
  Request request = square(Way::kEfS, 1024);
  request.k = 133145;  // not one product of all of k fits
  request.program = ProgramName::kDocuments;
  const Prediction cut = predicted(round_device(), request);
  EXPECT_EQ(cut.products, 2 * 28);
  // Halves of 66572: two products an accumulator, so 1, 1, 2, 2, 3, 3, 4 of them for each half.
  EXPECT_EQ(cut.accumulators, 2 * 16);
  request.way = Way::kOzaki2;
  request.program = ProgramName::kGemmul8;
  EXPECT_EQ(predicted(round_device(), request).products, 14);
}

TEST(Predict, TheLargestExtentsHaveATime) {
  for (const Way way : {Way::kNative, Way::kOzimmu, Way::kEf, Way::kEfS, Way::kEfL, Way::kOzaki2}) {
    for (const ProgramName program : {ProgramName::kPortable, ProgramName::kKizami}) {
      Request request = square(way, (std::int64_t{1} << 34) - 1);
      request.program = program;
      const Prediction made = predicted(*find_device("h200"), request);
      EXPECT_TRUE(std::isfinite(made.seconds)) << to_string(way);
      EXPECT_GT(made.accumulators, 0) << to_string(way);
      EXPECT_LE(made.tflops, made.bound_tflops) << to_string(way);
    }
  }
}

TEST(Predict, SustainedIsSlowerAndHasEnergyWhereThatWasMeasured) {
  const Prediction made = predicted(*find_device("h200"), square(Way::kOzaki2, 4096));
  ASSERT_TRUE(made.sustained_seconds.has_value());
  EXPECT_GT(*made.sustained_seconds, made.seconds);
  EXPECT_NEAR(*made.joules, *made.sustained_seconds * 694, 1e-12);
  EXPECT_FALSE(predicted(*find_device("gb200"), square(Way::kOzaki2, 4096)).joules.has_value());
}

TEST(Predict, SaysWhatIsInDoubt) {
  const auto says = [](const Prediction& made, const std::string& text) {
    for (const std::string& doubt : made.doubts) {
      if (doubt.find(text) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(predicted(*find_device("h200"), square(Way::kOzaki2, 4096)).doubts.empty());
  const Prediction made = predicted(*find_device("b300"), square(Way::kOzaki2, 4096));
  EXPECT_TRUE(says(made, "int8_tops = 145 (125 to 165) is uncertain"));
  EXPECT_TRUE(says(made, "Kizami has not run on compute capability 10.3"));
}

TEST(Predict, DoubtsNoRateOfAFormatThatItDoesNotMultiplyIn) {
  const auto doubts = [](Way way, Scalar scalar) {
    Request request = square(way, 4096);
    request.scalar = scalar;
    if (way == Way::kEc) request.format = Format::kFp16;
    std::string all;
    for (const std::string& doubt : predicted(*find_device("rtx4090"), request).doubts) all += doubt + "\n";
    return all;
  };
  for (const Way way : {Way::kNative, Way::kOzaki2})
    EXPECT_EQ(doubts(way, Scalar::kF64).find("tflops"), std::string::npos) << doubts(way, Scalar::kF64);
  const std::string of_fp16 = doubts(Way::kEc, Scalar::kF32);
  EXPECT_NE(of_fp16.find("fp16_tflops"), std::string::npos) << of_fp16;
  EXPECT_EQ(of_fp16.find("tf32_tflops"), std::string::npos) << of_fp16;
}

TEST(Predict, RefusesWhatDoesNotGoTogether) {
  struct Case {
    const char* device;
    void (*change)(Request&);
    const char* says;
  };
  const Case cases[] = {
      {"h200", [](Request& r) { r.m = 0; }, "m = 0, must be in [1, "},
      {"h200", [](Request& r) { r.k = -5; }, "k = -5, must be in [1, "},
      {"h200", [](Request& r) { r.slices = 21; }, "slices = 21, must be in [1, 20]"},
      {"h200", [](Request& r) { r.moduli = 25; }, "moduli = 25, must be in [1, 24]"},
      {"h200", [](Request& r) { r.scalar = Scalar::kDD; }, "type dd"},
      {"h200", [](Request& r) { r.way = Way::kEc; }, "scheme ec is of f32 and c64, not of f64"},
      {"gb200", [](Request& r) { r.program = ProgramName::kKizami; }, "compute capability 9.0, gb200 has 10.0"},
      {"h200", [](Request& r) { r.program = ProgramName::kDocuments; }, "program documents has no scheme ozaki2"},
      {"h200",
       [](Request& r) {
         r.program = ProgramName::kGemmul8;
         r.way = Way::kEf;
       },
       "program gemmul8 has no scheme in slices"},
      {"a100", [](Request& r) { r.format = Format::kFp8; }, "a100 has no products in fp8"},
      {"h200",
       [](Request& r) {
         r.is_triangle = true;
         r.m = 65;
       },
       "m = 65, must be n = 64 for one triangle of C"},
      {"h200",
       [](Request& r) {
         r.is_triangle = true;
         r.way = Way::kNative;
       },
       "way native makes all of C, must be ozaki2 for one triangle"},
      {"a100", [](Request& r) { r.is_triangle = true; }, "program portable makes all of C, must be kizami"},
      {"h200",
       [](Request& r) {
         r.is_triangle = true;
         r.format = Format::kFp8;
       },
       "format fp8 makes all of C, must be int8"},
      {"h200",
       [](Request& r) {
         r.is_triangle = true;
         r.k = 131073;
       },
       "k = 131073, must be at most 131072 for one triangle"},
  };
  for (const Case& c : cases) {
    Request request = square(Way::kOzaki2, 64);
    c.change(request);
    const Result<Prediction> made = predict(*find_device(c.device), request);
    ASSERT_FALSE(made.ok()) << c.says;
    EXPECT_NE(made.status().reason().find(c.says), std::string::npos) << made.status().reason();
  }
}

}  // namespace
}  // namespace kizami::model
