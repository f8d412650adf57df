// SPDX-License-Identifier: MIT
// Scheme ozaki1 as data: counts of the literature, automatic slices and diagonals, and everything that a plan of it
// refuses.
#include "schemes/ozaki1/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engines/cpu_ref/cpu_ref.hpp"
#include "engines/tc_model/tc_model.hpp"
#include "exec/schemes.hpp"
#include "num/slices.hpp"
#include "num/tensor_core.hpp"

namespace kizami::ozaki1 {
namespace {

using num::DigitKind;

plan::Environment machine() {
  static const std::vector<const product::Engine*> engines = {&engines::cpu_ref_engine()};
  static const std::vector<const product::FloatEngine*> float_engines = {&engines::tc_model_engine()};
  return {.engines = engines, .float_engines = float_engines, .schemes = exec::schemes()};
}

Policy sliced(SliceFormat format = SliceFormat::kInt8, int num_slices = 0) {
  Policy policy;
  policy.scheme = Scheme::kOzaki1;
  policy.slices.format = format;
  policy.slices.num_slices = num_slices;
  return policy;
}

Result<plan::Plan> planned(const Policy& policy, std::int64_t k = 1024, Scalar scalar = Scalar::kF64) {
  return plan::make({scalar, 100, 90, k}, policy, machine());
}

std::string reason(const Policy& policy, std::int64_t k = 1024, Scalar scalar = Scalar::kF64) {
  const Result<plan::Plan> plan = planned(policy, k, scalar);
  return plan.ok() ? "accepted" : plan.status().reason();
}

// 7 slices of either operand with d = 9 to 5, and 14 with 16: the products of the document's tables.
TEST(SliceCounts, ProductsBelowADiagonal) {
  EXPECT_EQ(num::num_slice_products(7, 9), 39);
  EXPECT_EQ(num::num_slice_products(7, 8), 34);
  EXPECT_EQ(num::num_slice_products(7, 7), 28);
  EXPECT_EQ(num::num_slice_products(6, 6), 21);  // 7 slices and d = 6: the last one meets no partner
  EXPECT_EQ(num::num_slice_products(5, 5), 15);
  EXPECT_EQ(num::num_slice_products(14, 16), 130);
  EXPECT_EQ(num::num_slice_products(7, 13), 49);
  Policy policy = sliced(SliceFormat::kBf16, 7);
  for (const auto& [d, products] :
       {std::pair(9, 39), std::pair(8, 34), std::pair(7, 28), std::pair(6, 21), std::pair(5, 15)}) {
    policy.slices.num_diagonals = d;
    const SliceRung rung = ozaki1_of(planned(policy).value()).numerics.rungs[0];
    EXPECT_EQ(num::num_slice_products(rung.num_slices, rung.num_diagonals), products) << d;
  }
}

// rho of the document leaves (24 - log2 k) / 2 bits a slice, and no more than the format has.
TEST(SliceCounts, BitsOfADigit) {
  EXPECT_EQ(num::float_digit_bits(11, 1024), 7);
  EXPECT_EQ(num::float_digit_bits(11, 2048), 6);
  EXPECT_EQ(num::float_digit_bits(11, 16384), 5);
  EXPECT_EQ(num::float_digit_bits(8, 256), 8);
  EXPECT_EQ(num::float_digit_bits(4, 1024), 4);
  EXPECT_EQ(num::float_digit_bits(11, 1 << 24), 0);
  EXPECT_EQ(num::int32_digit_bits(1 << 17), 7);
  EXPECT_EQ(num::int32_digit_bits((1 << 17) + 1), 6);
  // Equation 4 with 2^(31 - 14) would admit 2^17 of the largest bytes, which is one too many.
  EXPECT_EQ(num::int32_block(num::digit_rule(DigitKind::kBytes, 7)), (1 << 17) - 1);
  EXPECT_GE(num::int32_block(num::digit_rule(DigitKind::kTruncated, 7)), 1 << 17);
  EXPECT_GE(num::int32_block(num::digit_rule(DigitKind::kNearest, 6)), (1 << 19) - 1);
}

// The worst sums that the planner allows are exact on the tensor core they are planned for: FP32's 24 bits, and FP8 on
// Hopper, which aligns addends to 13 bits below the largest.
TEST(SliceCounts, WorstSumsAreExactOnTheTensorCore) {
  for (const SliceFormat format : {SliceFormat::kFp16, SliceFormat::kBf16, SliceFormat::kE4m3, SliceFormat::kE5m2}) {
    Slicing wishes;
    wishes.format = format;
    const num::DigitRule rule = slice_rule(wishes);
    const std::int64_t limit = slice_sum_limit(format, rule);
    num::TensorCore core = num::hopper_tensor_core(slice_float_type(format));
    if (slice_accumulator_bits(format) == 14) core.fraction_bits = 13;
    const double most = num::max_digit(rule);
    const auto sum_of = [&](std::int64_t count, double odd) {
      float acc = 0;
      for (std::int64_t h = 0; h < count; h += core.group) {
        double a[16], b[16];
        for (int g = 0; g < core.group; ++g) a[g] = b[g] = most;
        if (h + core.group >= count) a[core.group - 1] = b[core.group - 1] = odd;  // a small product at the very end
        acc = num::tensor_core_step(core, slice_float_type(format), acc, a, b, core.group);
      }
      return static_cast<double>(acc);
    };
    const double square = most * most;
    EXPECT_EQ(sum_of(limit, most), static_cast<double>(limit) * square) << to_string(format);
    EXPECT_EQ(sum_of(limit, 1.0), static_cast<double>(limit - 1) * square + 1.0) << to_string(format);
    EXPECT_NE(sum_of(2 * limit, 1.0), static_cast<double>(2 * limit - 1) * square + 1.0)
        << to_string(format) << ": the limit is tight";
  }
}

TEST(Ozaki1Plan, MoreAccuracyTakesMoreSlices) {
  for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
    int before = 0;
    for (const int bits : {4, 12, 20, 28, 36, 44, 52}) {
      Policy policy = sliced();
      policy.gauge = gauge;
      policy.accuracy = Accuracy::at_bits(bits);
      const plan::Plan plan = planned(policy).value();
      EXPECT_GE(ozaki1_of(plan).numerics.rungs[0].num_slices, before);
      EXPECT_EQ(plan.first().bound, std::ldexp(1.0, -bits));
      EXPECT_EQ(ozaki1_of(plan).numerics.ladder.num_rungs > 0, gauge == Gauge::kEntry);
      before = ozaki1_of(plan).numerics.rungs[0].num_slices;
    }
    EXPECT_GE(before, 7);
  }
}

TEST(Ozaki1Plan, NamedSlicesHaveTheirOwnBound) {
  double before = 1e300;
  for (int l = 1; l <= kMaxSlices; ++l) {
    const plan::Plan plan = planned(sliced(SliceFormat::kInt8, l)).value();
    EXPECT_EQ(plan.first().gauge, Gauge::kNorm);
    EXPECT_LE(plan.first().bound, before) << l;
    before = plan.first().bound;
  }
}

TEST(Ozaki1Plan, AutomaticDiagonalsKeepWhatTheCriterionAllows) {
  for (const std::int64_t k : {16, 1024, 16384}) {
    const SliceRung rung = ozaki1_of(planned(sliced(SliceFormat::kBf16, 7), k).value()).numerics.rungs[0];
    const num::DigitRule rule = slice_rule(sliced(SliceFormat::kBf16).slices);
    const double all = num::dropped_pairs(rule, 7, 13);
    const auto terms = static_cast<double>(k);
    const auto dropped = [&](int d) { return terms * (num::dropped_pairs(rule, 7, d) - all); };
    EXPECT_LE(dropped(rung.num_diagonals), 2.0 * std::sqrt(terms) * 0x1p-53);
    if (rung.num_diagonals > 7) {
      EXPECT_GT(dropped(rung.num_diagonals - 1), 2.0 * std::sqrt(terms) * 0x1p-53);
    }
  }
}

// Sums and blocks are a matter of the schedule: plans of equal hashes give equal bits.
TEST(Ozaki1Plan, TheHashIsOfTheNumericsAlone) {
  const std::uint64_t hash = plan::numerics_hash(planned(sliced(SliceFormat::kInt8, 6)).value());
  for (const SliceSums sums : {SliceSums::kPairs, SliceSums::kGrouped, SliceSums::kBlocked}) {
    Policy policy = sliced(SliceFormat::kInt8, 6);
    policy.slices.sums = sums;
    if (sums == SliceSums::kBlocked) policy.slices.block_lines = policy.slices.num_streams = 5;
    EXPECT_EQ(plan::numerics_hash(planned(policy).value()), hash);
  }
  Policy policy = sliced(SliceFormat::kInt8, 6);
  policy.slices.split = SliceSplit::kNearest;
  EXPECT_NE(plan::numerics_hash(planned(policy).value()), hash);
  policy = sliced(SliceFormat::kInt8, 6);
  policy.slices.sums = SliceSums::kRounded;
  EXPECT_NE(plan::numerics_hash(planned(policy).value()), hash) << "sums that round";
  const plan::Plan five = planned(sliced(SliceFormat::kInt8, 5)).value();
  EXPECT_NE(plan::numerics_hash(five), hash);
  EXPECT_EQ(plan::prepared_hash(five), plan::prepared_hash(planned(sliced(SliceFormat::kInt8, 6)).value()));
}

TEST(Ozaki1Plan, Refusals) {
  const auto with = [](const auto& change) {
    Policy policy = sliced();
    change(policy);
    return policy;
  };
  EXPECT_EQ(
      reason(with([](Policy& p) { p.slices.block_lines = 100; })),
      "scheme ozaki1: slice_block = 100 and slice_streams = 0 with sums = auto, must be pairs, grouped, concatenated "
      "or blocked");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.slices.sums = SliceSums::kPairs;
              p.slices.num_streams = 2;
            })),
            "scheme ozaki1: slice_block = 0 and slice_streams = 2 with sums = pairs, must be blocked, or have a "
            "slice_block: streams take blocks");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.slices.sums = SliceSums::kBlocked;
              p.slices.block_lines = -1;
            })),
            "slice_block = -1, must be in 0..1048576");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.slices.sums = SliceSums::kBlocked;
              p.slices.num_streams = 9;
            })),
            "slice_streams = 9, must be in 0..8");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.scheme = Scheme::kOzaki2;
              p.slices.num_slices = 3;
            })),
            "the settings of slices need scheme ozaki1, got ozaki2");
  EXPECT_EQ(reason(with([](Policy& p) { p.slices.num_slices = 21; })), "slices = 21, must be in -1..20");
  EXPECT_EQ(reason(with([](Policy& p) { p.slices.num_diagonals = 3; })),
            "scheme ozaki1: diagonals = 3 needs slices by name");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.slices.num_slices = 3;
              p.slices.num_diagonals = 6;
            })),
            "diagonals = 6, must be -1, 0 or in 1..5");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.slices.split = SliceSplit::kNearest;
              p.slices.slice_bits = 7;
            })),
            "slice_bits = 7, must be in 0..6 for this format and split");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.slices.format = SliceFormat::kBf16;
              p.slices.split = SliceSplit::kBytes;
            })),
            "scheme ozaki1: split bytes is of format int8, got bf16");
  EXPECT_EQ(reason(with([](Policy& p) { p.slices.one_scale = true; })),
            "scheme ozaki1: slice_scale = matrix needs slices by name");
  EXPECT_EQ(reason(with([](Policy& p) { p.engine = EngineName::kTcModel; })),
            "scheme ozaki1: engine tc_model carries no products of format int8");
  EXPECT_EQ(reason(with([](Policy& p) {
              p.engine = EngineName::kCpuRef;
              p.slices.format = SliceFormat::kFp16;
            })),
            "scheme ozaki1: engine cpu_ref carries no products of format fp16");
  EXPECT_EQ(reason(with([](Policy& p) { p.forced_moduli = 14; })), "moduli = 14 needs scheme ozaki2, got ozaki1");
  EXPECT_EQ(reason(with([](Policy& p) { p.accuracy = Accuracy::correct(); })),
            "scheme ozaki1: drops products, accuracy correct needs ozaki2");
  EXPECT_EQ(reason(with([](Policy& p) { p.slices.complex_form = ComplexForm::kKaratsuba; })),
            "scheme ozaki1: complex_form = karatsuba, must be auto for f64");
  EXPECT_EQ(reason(with([](Policy& p) { p.slices.complex_form = ComplexForm::kKaratsuba; }), 64, Scalar::kC128),
            "scheme ozaki1: complex_form = karatsuba with gauge = entry, must be norm: its imaginary part cancels");
  EXPECT_EQ(reason(with([](Policy& p) {
                     p.slices.complex_form = ComplexForm::kKaratsuba;
                     p.slices.num_slices = 14;
                   }),
                   64, Scalar::kC128),
            "scheme ozaki1: karatsuba: 14 slices, must be at most 13: sums of parts have 108 bits");
  EXPECT_EQ(reason(sliced(), 64, Scalar::kDD), "scheme ozaki1: computes f32, f64, c64 and c128, got dd; use ozaki2");
  const Result<plan::Plan> small = planned(with([](Policy& p) {
    p.workspace_limit_bytes = 64;
    p.slices.num_slices = 3;
  }));
  EXPECT_EQ(small.status().code(), StatusCode::kWorkspaceTooSmall);
  const plan::Environment no_float_engine{.engines = machine().engines, .schemes = exec::schemes()};
  EXPECT_EQ(plan::make({Scalar::kF64, 9, 9, 9}, sliced(SliceFormat::kBf16, 3), no_float_engine).status().reason(),
            "no engine here can multiply for scheme ozaki1");
}

}  // namespace
}  // namespace kizami::ozaki1
