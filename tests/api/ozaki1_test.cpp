// SPDX-License-Identifier: MIT
// Scheme ozaki1 through the front door: every matrix class within the plan's bound, the same bits on every engine,
// thread count, grouping and workspace, complex forms, BLAS semantics, prepared operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_spec.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

Policy sliced(SliceFormat format = SliceFormat::kInt8, SliceSplit split = SliceSplit::kAuto, int num_slices = 0) {
  Policy policy;
  policy.scheme = Scheme::kOzaki1;
  policy.slices.format = format;
  policy.slices.split = split;
  policy.slices.num_slices = num_slices;
  policy.threads = kThreads;
  return policy;
}

/// As expect_guaranteed(), but scheme ozaki2 may have answered.
Outcome expect_within_bound(const Case& c, Tally* tally = nullptr) {
  const auto answer = [](const Outcome& outcome) {
    return outcome.scheme == Scheme::kOzaki1 ? fmt::format("{} slices", outcome.slices)
                                             : std::string(to_string(outcome.scheme));
  };
  const auto held =
      with_scalar(c.scalar, [&]<class T>() { return api_test::expect_within_bound<T>(c, tally, answer); });
  if (!held.has_value()) return {};
  if (held->outcome.engine != "none") {
    EXPECT_EQ(held->outcome.bound, held->plan.bound()) << check::print(c);
  }
  return held->outcome;
}

struct Setting {
  const char* name;
  Slicing slices;
  Gauge gauge;
};
Slicing slicing(SliceFormat format, SliceSplit split, int num_slices, int num_diagonals = 0,
                ComplexForm form = ComplexForm::kAuto) {
  return {format, split, num_slices, num_diagonals, 0, SliceSums::kAuto, form, false};
}
const Setting kSettings[] = {
    {"bytes", slicing(SliceFormat::kInt8, SliceSplit::kBytes, 0), Gauge::kEntry},
    {"truncated", slicing(SliceFormat::kInt8, SliceSplit::kTruncated, 0), Gauge::kEntry},
    {"nearest", slicing(SliceFormat::kInt8, SliceSplit::kNearest, 0), Gauge::kEntry},
    {"bytes_norm", slicing(SliceFormat::kInt8, SliceSplit::kBytes, 0), Gauge::kNorm},
    {"bytes_3", slicing(SliceFormat::kInt8, SliceSplit::kBytes, 3), Gauge::kNorm},
    {"truncated_5_of_7", slicing(SliceFormat::kInt8, SliceSplit::kTruncated, 7, 5), Gauge::kNorm},
    {"nearest_all_pairs", slicing(SliceFormat::kInt8, SliceSplit::kNearest, 4, kAllPairs), Gauge::kNorm},
    {"bytes_until_zero", slicing(SliceFormat::kInt8, SliceSplit::kBytes, kUntilZero), Gauge::kNorm},
    {"fp16", slicing(SliceFormat::kFp16, SliceSplit::kAuto, 0), Gauge::kEntry},
    {"bf16_norm", slicing(SliceFormat::kBf16, SliceSplit::kAuto, 0), Gauge::kNorm},
    {"bf16_7", slicing(SliceFormat::kBf16, SliceSplit::kAuto, 7), Gauge::kNorm},
    {"fp16_until_zero", slicing(SliceFormat::kFp16, SliceSplit::kAuto, kUntilZero), Gauge::kNorm},
    {"e4m3_4", slicing(SliceFormat::kE4m3, SliceSplit::kAuto, 4), Gauge::kNorm},
    {"e5m2_3", slicing(SliceFormat::kE5m2, SliceSplit::kAuto, 3), Gauge::kNorm},
};

class SlicedClasses : public ::testing::TestWithParam<Setting> {};

TEST_P(SlicedClasses, EveryClassMeetsThePlansBound) {
  struct Extents {
    std::int64_t m, n, k;
  };
  constexpr Extents kShapes[] = {{9, 5, 1}, {13, 6, 33}, {5, 17, 129}, {7, 11, 300}};
  constexpr ComplexForm kForms[] = {ComplexForm::kFourProducts, ComplexForm::kKaratsuba, ComplexForm::kEnlarged};
  const bool is_int8 = GetParam().slices.format == SliceFormat::kInt8;
  Tally tally;
  std::size_t turn = 0;
  for (const check::ClassInfo& info : check::class_inventory()) {
    for (const Scalar scalar : {Scalar::kF64, Scalar::kC128, Scalar::kF32, Scalar::kC64}) {
      for (int pairing = 0; pairing < 3; ++pairing, ++turn) {
        if (turn % (kIsSanitized ? 13 : is_int8 ? 1 : 5) != 0) continue;
        Case c;
        c.scalar = scalar;
        const Extents& extents = kShapes[turn % std::size(kShapes)];
        c.m = extents.m;
        c.n = extents.n;
        c.k = extents.k;
        const check::MatrixSpec normal = check::default_spec(check::MatrixClass::kRandn);
        c.a = pairing == 2 ? normal : check::default_spec(info.id);
        c.b = pairing == 1 ? normal : check::default_spec(info.id);
        c.policy = sliced();
        c.policy.slices = GetParam().slices;
        c.policy.gauge = GetParam().gauge;
        const bool is_norm = GetParam().gauge == Gauge::kNorm;  // what Karatsuba needs
        if (is_complex(scalar)) c.policy.slices.complex_form = kForms[is_norm ? turn % 3 : turn % 2 * 2];
        c.seed = turn + 1;
        expect_within_bound(c, &tally);
      }
    }
  }
  EXPECT_GT(tally.cases, 20);
  report(GetParam().name, tally);
}

INSTANTIATE_TEST_SUITE_P(All, SlicedClasses, ::testing::ValuesIn(kSettings),
                         [](const auto& setting) { return std::string(setting.param.name); });

TEST(Ozaki1, OpsLayoutsScalarsAndStrides) {
  Tally tally;
  const std::string lines[] = {"d nt 33x17x200 a=-1 b=0 ld+3",
                               "d tn 33x17x200 a=1.5 b=-0.5 ld+3",
                               "d tt 8x9x130 a=0 b=2",
                               "d nn 8x9x130 a=1 b=1 layout=row",
                               "z cn 9x12x160 a=1-2i b=0.5i ld+1",
                               "z rt 9x12x160 a=-1 b=0",
                               "c nr 5x7x150 a=0.5 b=1+1i",
                               "z tc 5x7x150 a=2i b=-1 layout=row",
                               "s nn 5x7x0 a=1 b=2",
                               "d nn 7x6x5 a=1 b=0 C=randn,nan@all",
                               "s tn 1x1x1 a=1 b=0"};
  for (const std::string& line : lines) {
    Case c = case_of(line + " A=randn B=randn seed=11");
    c.policy = sliced();
    expect_within_bound(c, &tally);
    if (!is_complex(c.scalar)) continue;
    for (const ComplexForm form : {ComplexForm::kKaratsuba, ComplexForm::kEnlarged}) {
      c.policy.slices.complex_form = form;
      c.policy.gauge = Gauge::kNorm;
      expect_within_bound(c, &tally);
    }
  }
}

TEST(Ozaki1, PlacesNaNAndInfAsOzaki2Does) {
  for (const char* line : {"d tn 7x6x5 A=randn,nan@corner B=randn", "d nn 7x6x5 A=randn,inf@1:2 B=randn,-inf@2:3",
                           "z cn 7x6x9 A=ones,inf@1:2 B=zeros", "s nn 7x6x5 a=2 b=1 A=randn B=randn,nan@all"}) {
    Case c = case_of(line);
    with_scalar(c.scalar, [&]<class T>() {
      c.policy = {};
      const std::vector<T> want = product_of<T>(c);
      c.policy = sliced();
      const std::vector<T> got = product_of<T>(c);
      for (std::size_t x = 0; x < want.size(); ++x) {
        for (const check::Part part : check::kPartsOf<T>) {
          const auto w = check::part_of(want[x], part), g = check::part_of(got[x], part);
          EXPECT_EQ(std::isnan(w), std::isnan(g)) << line;
          if (std::isinf(w) || std::isinf(g)) {
            EXPECT_EQ(w, g) << line;
          }
        }
      }
    });
    c.policy = sliced();
    c.policy.reject_nonfinite = true;
    Outcome outcome;
    check::Operands<double> x(case_of("d nn 7x6x5 A=randn,nan@corner B=randn"));
    Case d = case_of("d nn 7x6x5 A=randn,nan@corner B=randn");
    d.policy = c.policy;
    EXPECT_EQ(call(d, x, outcome).code(), StatusCode::kNonFinite);
    EXPECT_TRUE(x.c.unchanged());
  }
}

// Sums are exact: how products share accumulators, which engine makes them and in which blocks never changes a bit.
TEST(Ozaki1, EnginesGroupingsThreadsAndWorkspaceChangeNoBit) {
  const char* const lines[] = {"d nt 70x50x500 A=randn B=randn seed=3",
                               "d nn 17x90x1000 A=exprand:phi=1 B=randn seed=4",
                               "z cn 40x37x300 A=randn B=randn seed=4", "s tn 33x20x77 A=rands B=randn seed=5"};
  int turn = 0;
  for (const char* line : lines) {
    for (const SliceSplit split : {SliceSplit::kBytes, SliceSplit::kTruncated, SliceSplit::kNearest}) {
      for (const ComplexForm form : {ComplexForm::kFourProducts, ComplexForm::kKaratsuba, ComplexForm::kEnlarged}) {
        Case c = case_of(line);
        if (!is_complex(c.scalar) && form != ComplexForm::kFourProducts) continue;
        if (is_left_out(turn++, 5)) continue;  // each line comes, each split and two forms
        c.policy = sliced(SliceFormat::kInt8, split, 5);
        if (is_complex(c.scalar)) c.policy.slices.complex_form = form;
        with_scalar(c.scalar, [&]<class T>() {
          const std::vector<T> want = product_of<T>(c);
          const auto expect_same = [&](const Policy& policy, const char* what) {
            Case other = c;
            other.policy = policy;
            expect_same_bits(product_of<T>(other), want, c.m, c.n, std::string(line) + ", " + what);
          };
          Policy policy = c.policy;
          policy.engine = EngineName::kCpuRef;
          policy.threads = 1;
          expect_same(policy, "cpu_ref");
          for (const SliceSums sums :
               {SliceSums::kPairs, SliceSums::kGrouped, SliceSums::kConcatenated, SliceSums::kBlocked}) {
            policy.slices.sums = sums;
            expect_same(policy, "cpu_ref, grouped otherwise");
            policy.engine = EngineName::kCpuSimd;
            policy.threads = 3;
            const std::size_t bytes = make_plan(c.scalar, c.m, c.n, c.k, policy).value().workspace_bytes();
            policy.workspace_limit_bytes = bytes / 3;
            EXPECT_TRUE(make_plan(c.scalar, c.m, c.n, c.k, policy).ok());
            expect_same(policy, "cpu_simd, grouped otherwise, a third of the workspace");
            policy.workspace_limit_bytes = 0;
          }
          if (split != SliceSplit::kBytes || form != ComplexForm::kFourProducts) return;  // slow, and like the others
          policy.engine = EngineName::kTile;
          expect_same(policy, "tile");
        });
      }
    }
  }
}

// Slices of different formats are the same numbers cut at other places: with all pairs until nothing is left, the exact
// product rounded once, whatever they are held in.
TEST(Ozaki1, UntilZeroWithAllPairsIsTheExactProductRoundedOnce) {
  const char* const lines[] = {"d nn 9x8x64 A=randn B=randn seed=3", "d nt 9x8x300 A=rands B=exprand:phi=0.5 seed=4",
                               "z nn 6x5x40 A=randn B=randn seed=7", "s nn 8x9x200 A=randn B=randn seed=5"};
  for (const char* line : lines) {
    Case c = case_of(line);
    with_scalar(c.scalar, [&]<class T>() {
      const check::Operands<T> x(c);
      const check::Reference<T> reference(T{1}, x.a.view(), x.b.view(), T{0}, {});
      for (const SliceFormat format : {SliceFormat::kInt8, SliceFormat::kFp16, SliceFormat::kBf16}) {
        for (const bool one_scale : {false, true}) {
          c.policy = sliced(format, SliceSplit::kAuto, kUntilZero);
          c.policy.slices.one_scale = one_scale;
          Outcome outcome;
          const std::vector<T> got = product_of<T>(c, &outcome);
          if (format == SliceFormat::kInt8) {
            EXPECT_LT(outcome.slices, kMaxSlices) << line;
          }
          for (std::int64_t j = 0; j < c.n; ++j) {
            for (std::int64_t i = 0; i < c.m; ++i) {
              for (const check::Part part : check::kPartsOf<T>) {
                const double exact = reference.element(i, j, part).value.template rounded<double>();
                ASSERT_EQ(check::part_of(got[static_cast<std::size_t>(j * c.m + i)], part),
                          static_cast<RealOf<T>>(exact))
                    << line << ' ' << to_string(format) << ' ' << i << ", " << j;
              }
            }
          }
        }
      }
    });
  }
}

TEST(Ozaki1, ScaleInvariance) {
  for (const SliceFormat format : {SliceFormat::kInt8, SliceFormat::kBf16}) {
    Case c = case_of("d nn 9x8x64 A=randn B=randn seed=3");
    c.policy = sliced(format, SliceSplit::kAuto, 6);
    std::vector<double> plain = product_of<double>(c);
    c.a.scale_exp = 300;
    c.b.scale_exp = -280;
    for (double& x : plain) x = std::ldexp(x, 20);
    expect_same_bits(product_of<double>(c), plain, c.m, c.n, "scaled by 2^20");
  }
}

// One scale for a matrix whose rows differ by 2^s: the outcome's bound says what that costs.
TEST(Ozaki1, OneScaleForAMatrixReportsItsBound) {
  Case c = case_of("d nn 9x8x64 A=grade:rows B=randn seed=3");
  c.policy = sliced(SliceFormat::kInt8, SliceSplit::kAuto, 8);
  Outcome lines, matrix;
  (void)product_of<double>(c, &lines);
  c.policy.slices.one_scale = true;
  (void)product_of<double>(c, &matrix);
  EXPECT_GT(matrix.bound, lines.bound);
}

// A prepared operand of more slices serves plans of fewer, with the bits of a fresh split.
TEST(Ozaki1, PreparedOperandsServeLowerAccuracies) {
  for (const char* line : {"d nt 20x15x130 A=randn B=randn seed=9", "z cn 12x9x70 A=randn B=randn seed=9"}) {
    Case c = case_of(line);
    with_scalar(c.scalar, [&]<class T>() {
      for (const ComplexForm form : {ComplexForm::kFourProducts, ComplexForm::kKaratsuba, ComplexForm::kEnlarged}) {
        for (const SliceSplit split : {SliceSplit::kBytes, SliceSplit::kTruncated, SliceSplit::kNearest}) {
          if (!kIsComplex<T> && form != ComplexForm::kFourProducts) continue;
          const auto policy_of = [&](int slices) {
            Policy policy = sliced(SliceFormat::kInt8, split, slices);
            if (kIsComplex<T>) policy.slices.complex_form = form;
            return policy;
          };
          const auto plan_of = [&](const Policy& policy) { return make_plan(c.scalar, c.m, c.n, c.k, policy).value(); };
          const check::Operands<T> x(c);
          const Plan most = plan_of(policy_of(8));
          const PreparedOperand a = prepare<T>(most, Side::kA, x.a.view()).value();
          const PreparedOperand b = prepare<T>(most, Side::kB, x.b.view()).value();
          for (const int count : {8, 5, 2}) {
            c.policy = policy_of(count);
            const std::vector<T> want = product_of<T>(c);
            std::vector<T> got(want.size());
            for (const SliceSums sums : {SliceSums::kConcatenated, SliceSums::kGrouped}) {
              Policy policy = c.policy;
              policy.slices.sums = sums;
              ASSERT_TRUE(run<T>(plan_of(policy), T{1}, a, b, T{0}, dense(got, c.m, c.n)).ok());
              expect_same_bits(got, want, c.m, c.n, "both prepared");
              ASSERT_TRUE(run<T>(plan_of(policy), T{1}, x.a.view(), b, T{0}, dense(got, c.m, c.n)).ok());
              expect_same_bits(got, want, c.m, c.n, "B prepared");
            }
          }
          const Plan more = plan_of(policy_of(9));
          std::vector<T> got(static_cast<std::size_t>(c.m * c.n));
          const Status refused = run<T>(more, T{1}, a, b, T{0}, dense(got, c.m, c.n));
          EXPECT_EQ(refused.code(), StatusCode::kAccuracyUnreachable);
          EXPECT_EQ(refused.reason(), "prepared operand: has 8 slices, 9 are needed; pass the original matrix with it");
          EXPECT_TRUE(run<T>(more, T{1}, {a, x.a.view()}, {b, x.b.view()}, T{0}, dense(got, c.m, c.n)).ok());
        }
      }
    });
  }
}

TEST(Ozaki1, PreparedWithACertificate) {
  Case c = case_of("d nn 25x10x200 A=randn B=randn seed=2");
  c.policy = sliced();
  const Plan plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
  const check::Operands<double> x(c);
  const PreparedOperand a = prepare<double>(plan, Side::kA, x.a.view()).value();
  std::vector<double> got(250);
  Policy fewer = c.policy;
  fewer.accuracy = Accuracy::at_bits(20);
  for (const Policy& policy : {c.policy, fewer}) {
    c.policy = policy;
    const Plan served = make_plan(c.scalar, c.m, c.n, c.k, policy).value();
    ASSERT_TRUE(run<double>(served, 1.0, {a, x.a.view()}, x.b.view(), 0.0, dense(got, 25, 10)).ok());
    expect_same_bits(got, product_of<double>(c), 25, 10, "prepared A");
  }
}

}  // namespace
}  // namespace kizami::api_test
