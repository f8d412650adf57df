// SPDX-License-Identifier: MIT
// T4: for every matrix class, scalar type, accuracy and gauge, every element of C meets the bound that the plan states.
// Shapes are small and odd and straddle the blocks of 64 along k; every class meets itself and a normal partner on
// either side. Complex matrices take all ops in turn, and one part alone or scaled away from the other. The maximum
// ratio of each class is printed.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <tuple>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_spec.hpp"

namespace kizami::api_test {
namespace {

using check::Case;
using check::MatrixSpec;

struct Extents {
  std::int64_t m, n, k;
};
constexpr Extents kShapes[] = {{1, 1, 1},   {3, 5, 2},   {7, 2, 7},    {13, 6, 64},
                               {5, 17, 65}, {9, 5, 129}, {7, 11, 300}, {9, 8, 1000}};

/// The spec of each class with its defaults, and others where parameters matter.
std::vector<MatrixSpec> variants(check::MatrixClass id, Scalar scalar) {
  std::vector<MatrixSpec> out = {check::default_spec(id)};
  const auto add = [&](std::initializer_list<double> first_params) {
    for (const double p : first_params) {
      out.push_back(check::default_spec(id));
      out.back().params[0] = p;
    }
  };
  const bool is_f32 = real_of(scalar) == Scalar::kF32;
  using C = check::MatrixClass;
  switch (id) {
    case C::kExprand:
      add({0, 0.5, 2, 4, 8});
      break;
    case C::kGradeRows:
    case C::kGradeCols:
    case C::kGradeInner:
    case C::kGradeShift:
      add({10, is_f32 ? 100.0 : 400.0, is_f32 ? 200.0 : 1500.0});
      break;
    case C::kEvil:
      add({20, is_f32 ? 120.0 : 300.0, is_f32 ? 200.0 : 1900.0});
      break;
    case C::kHuge:
      add({20, is_f32 ? 100.0 : 400.0});
      break;
    case C::kInt:
      add({1, 3, is_f32 ? 24.0 : 30.0, is_f32 ? 20.0 : 53.0});
      break;
    case C::kPow2:
      add({60, is_f32 ? 150.0 : 1000.0});
      break;
    case C::kHalfulp:
      add({2, is_f32 ? 23.0 : 45.0, is_f32 ? 22.0 : 52.0});
      break;
    case C::kBanded:
      add({0, 5});
      break;
    default:
      break;
  }
  return out;
}

std::vector<Accuracy> accuracies(Scalar scalar) {
  if (real_of(scalar) == Scalar::kF32)
    return {Accuracy::native(), Accuracy::at_bits(8), Accuracy::at_bits(20), Accuracy::at_bits(23)};
  return {Accuracy::native(), Accuracy::at_bits(8), Accuracy::at_bits(20), Accuracy::at_bits(40),
          Accuracy::at_bits(52)};
}

/// The ops of a complex case, and which parts of its operands are there and how large.
void vary_complex(std::size_t turn, Case& c) {
  constexpr Op kOps[] = {Op::kNone, Op::kConjTranspose, Op::kConjugate, Op::kTranspose};
  using check::FilledParts;
  constexpr FilledParts kParts[] = {FilledParts::kBoth, FilledParts::kBoth, FilledParts::kReal, FilledParts::kBoth,
                                    FilledParts::kImaginary};
  constexpr int kImagExps[] = {0, -40, 0, -300, 0, 40, 0};
  c.op_a = kOps[turn % 4];
  c.op_b = kOps[turn / 4 % 4];
  c.a.parts = kParts[turn % std::size(kParts)];
  c.b.parts = kParts[turn / 2 % std::size(kParts)];
  c.a.imag_exp = kImagExps[turn % std::size(kImagExps)];
  c.b.imag_exp = kImagExps[turn / 3 % std::size(kImagExps)];
}

class AccuracyOfClass : public ::testing::TestWithParam<std::tuple<int, Scalar>> {};

TEST_P(AccuracyOfClass, MeetsThePlansBound) {
  const check::ClassInfo& info = check::class_inventory()[static_cast<std::size_t>(std::get<0>(GetParam()))];
  const Scalar scalar = std::get<1>(GetParam());
  const MatrixSpec normal = check::default_spec(check::MatrixClass::kRandn);
  Tally tally;
  std::size_t turn = 0;
  for (const MatrixSpec& spec : variants(info.id, scalar)) {
    for (const Accuracy& accuracy : accuracies(scalar)) {
      for (const Gauge gauge : {Gauge::kEntry, Gauge::kNorm}) {
        const bool is_main = accuracy == Accuracy::native() && gauge == Gauge::kEntry;
        // The main accuracy sees every shape, the others one shape and pairing in turn.
        const std::size_t count = is_main ? std::size(kShapes) : 2;
        for (std::size_t s = 0; s < count; ++s, ++turn) {
          Case c;
          c.scalar = scalar;
          const Extents& extents = kShapes[is_main ? s : (turn * 3 + s) % std::size(kShapes)];
          c.m = extents.m;
          c.n = extents.n;
          c.k = extents.k;
          if (kIsSanitized && (c.k > 300 || turn % 5 != 0)) continue;
          c.a = turn % 3 == 2 ? normal : spec;
          c.b = turn % 3 == 1 ? normal : spec;
          c.policy.accuracy = accuracy;
          c.policy.gauge = gauge;
          c.policy.threads = kThreads;
          c.policy.engine = c.k <= 65 && turn % 4 == 0 ? EngineName::kCpuRef : EngineName::kCpuSimd;
          c.seed = turn + 1;
          if (is_complex(scalar)) vary_complex(turn, c);
          expect_guaranteed(c, &tally);
        }
      }
    }
  }
  report(fmt::format("{} {}", check::letter_of(scalar), info.name), tally);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<int, Scalar>>& info) {
  std::string name = fmt::format("{}_", check::letter_of(std::get<1>(info.param)));
  for (const char ch : check::class_inventory()[static_cast<std::size_t>(std::get<0>(info.param))].name) {
    name += std::isalnum(static_cast<unsigned char>(ch)) != 0 ? ch : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, AccuracyOfClass,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(check::class_inventory().size())),
                                            ::testing::Values(Scalar::kF64, Scalar::kF32, Scalar::kC128, Scalar::kC64)),
                         name_of);

}  // namespace
}  // namespace kizami::api_test
