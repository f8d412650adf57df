// SPDX-License-Identifier: MIT
// Seconds of products by phase: values worked out by hand, and what has to hold of any device.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kizami/predict.hpp"
#include "model/phases.hpp"
#include "model/program.hpp"
#include "model/roofs.hpp"
#include "model/round_device.hpp"

namespace kizami::model {
namespace {

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
  EXPECT_NEAR(cycles(Scalar::kC128, "split"), 2 * 30 * 0.144, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kC64, "split"), 2 * 14 * 0.144, 1e-9);  // integers of one word, as two of FP64
  EXPECT_NEAR(cycles(Scalar::kC64, "split", 8), 2 * 16 * 0.144, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kC64, "split", 9), 2 * 18 * 0.224, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kF32, "crt"), 7 * 0.188, 1e-9);
  EXPECT_NEAR(cycles(Scalar::kC64, "crt"), 14 * 0.155, 1e-9);
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

/// Two launches, the products at the rate of the sheet, and a kernel that reads their sums: more than this.
TEST(Predict, ALibrarysSampledProductsAreComparedByAKernel) {
  for (const std::int64_t n : {1024, 4096}) {
    Request request = square(Way::kOzaki2, n);
    const double sums = static_cast<double>(n * n);
    const double least = 2 * 4e-6 + sums * 0.36 / (132 * 1.98e9) + 2 * sums * static_cast<double>(n) / 4 / 1979e12;
    for (const PhaseTime& time : predicted(*find_device("h200"), request).phases)
      EXPECT_NE(time.phase, "certificate") << n << ": lines are judged by themselves";
    request.program = ProgramName::kPortable;
    EXPECT_GT(phase_of(predicted(*find_device("h200"), request), "certificate").seconds, least) << n;
  }
}

/// Lines of A are split once, C has half of its elements, and of its tiles those of 43 x 44 / 2 squares of 192, for 43 x 43.
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
