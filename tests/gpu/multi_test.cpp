// SPDX-License-Identifier: MIT
// Products shared by devices: the bits and the outcome of the call on one device, wherever the matrices lie. A device
// that is named several times stands for several, so that blocks, panels and counts are tested where there is one.
#include "kizami/multi.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device_case.hpp"
#include "gpu/multi_case.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "multi/plan.hpp"

namespace kizami::gpu_test {
namespace {

template <class T>
struct Shared {
  std::vector<T> c;  ///< dense
  Outcome outcome;
  Status status;
};

/// @param given  a plan for that policy and placement; without one, the library's
template <class T>
Shared<T> share(const Case& c, const Policy& policy, const Placement& placement, Where where,
                const Change<T>& change = {}, const std::optional<multi::Plan>& given = std::nullopt) {
  check::Operands<T> host = changed_operands<T>(c, change);
  Shared<T> result;
  const T alpha = check::alpha_of<T>(c);
  const T beta = check::beta_of<T>(c);
  if (where == Where::kOnHost && !given) {
    result.status =
        multi::gemm<T>(placement, c.layout, c.op_a, c.op_b, c.m, c.n, c.k, alpha, host.a.data(), host.a.ld(),
                       host.b.data(), host.b.ld(), beta, host.c.data(), host.c.ld(), policy, &result.outcome);
    const check::Verdict intact = change ? host.c.canaries_intact() : host.inputs_intact();
    EXPECT_TRUE(intact) << intact.message;
    result.c = dense(host.c.view());
    return result;
  }
  const Result<multi::Plan> plan = given ? *given : multi::make_plan(c.scalar, c.m, c.n, c.k, policy, placement);
  if (!plan.ok()) {
    result.status = plan.status();
    return result;
  }
  if (where == Where::kOnHost) {
    const Piece<const T> a{0, 0, host.a.view()};
    const Piece<const T> b{0, 0, host.b.view()};
    const Piece<T> to{0, 0, host.c.view()};
    result.status = multi::run<T>(plan.value(), alpha, {&a, 1}, {&b, 1}, beta, {&to, 1}, {}, &result.outcome);
    result.c = dense(host.c.view());
    return result;
  }
  if (where == Where::kOnDevice) {
    const DeviceOperands<T> x(host);
    const device::DeviceProblem<T> p = device_problem<T>(c, x.a.data(), x.b.data(), x.c.data());
    const Piece<const T> a{0, 0, p.a};
    const Piece<const T> b{0, 0, p.b};
    const Piece<T> to{0, 0, p.c};
    {
      const Workspaces workspaces(plan.value());
      result.status =
          multi::run<T>(plan.value(), alpha, {&a, 1}, {&b, 1}, beta, {&to, 1}, workspaces.spans(), &result.outcome);
      int current = -1;
      check(cudaGetDevice(&current), "cudaGetDevice");
      EXPECT_EQ(current, 0);
    }
    EXPECT_TRUE(x.a.guards_are_intact() && x.b.guards_are_intact() && x.c.guards_are_intact());
    const std::vector<T> got = x.c.download();
    MatrixView<const T> view = p.c;
    view.data = got.data();
    result.c = dense(view);
    return result;
  }
  const auto a = cut<T>(host.a.view(), 2, 3, placement.devices);
  const auto b = cut<T>(host.b.view(), 3, 1, placement.devices);
  const auto to = cut<T>(MatrixView<const T>(host.c.view()), 2, 2, placement.devices);
  std::vector<Piece<const T>> a_pieces;
  std::vector<Piece<const T>> b_pieces;
  std::vector<Piece<T>> c_pieces;
  for (const auto& piece : a) a_pieces.push_back(piece->const_piece());
  for (const auto& piece : b) b_pieces.push_back(piece->const_piece());
  for (const auto& piece : to) c_pieces.push_back(piece->piece());
  result.status = multi::run<T>(plan.value(), alpha, std::span<const Piece<const T>>(a_pieces),
                                std::span<const Piece<const T>>(b_pieces), beta, std::span<const Piece<T>>(c_pieces),
                                {}, &result.outcome);
  result.c.assign(static_cast<std::size_t>(c.m * c.n), T{});
  for (const auto& piece : to) piece->download_to(result.c, c.m);
  return result;
}

/// C of the call on one device, dense, and its outcome.
template <class T>
Shared<T> alone(const Case& c, const Policy& policy, const Change<T>& change = {}) {
  const DeviceResult<T> got = multiply<T>(c, policy, change);
  const device::DeviceProblem<T> p = device_problem<T>(c, nullptr, nullptr, const_cast<T*>(got.c.data()));
  return {dense(p.c), got.outcome, {}};
}

/// By every placement and from everywhere. @return the outcome
template <class T>
Outcome expect_bits_of_one(const Case& c, const Policy& policy, const Change<T>& change = {}) {
  const Shared<T> want = alone<T>(c, policy, change);
  for (const std::vector<int>& devices : placements()) {
    for (const Where where : kEverywhere) {
      const std::string what = check::print(c) + ", " + text_of(devices) +
                               (where == Where::kOnDevice   ? ", on one"
                                : where == Where::kInPieces ? ", in pieces"
                                                            : ", on the host");
      const Shared<T> got = share<T>(c, policy, {.devices = devices}, where, change);
      EXPECT_TRUE(got.status.ok()) << what << ": " << got.status.reason();
      if (!got.status.ok()) continue;
      expect_same(got.c, want.c, what);
      expect_outcome(got.outcome, want.outcome, what);
    }
  }
  return want.outcome;
}

Outcome expect_bits_of_one(const std::string& line, EngineName engine = own_engine()) {
  const Case c = case_of(line);
  return with_scalar(c.scalar, [&]<class T>() { return expect_bits_of_one<T>(c, device_policy(c, engine)); });
}

using Multi = DeviceTest;

TEST_F(Multi, HasTheBitsOfOneDeviceInEveryLayout) {
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    for (const char* ops : {"nn", "nt", "tn", "cc", "rn"}) {
      for (const char* layout : {"col", "row"}) {
        expect_bits_of_one(std::string(1, scalar) + " " + ops + " 133x170x129 a=0.5 b=-2 ld+3 layout=" + layout);
      }
    }
  }
}

TEST_F(Multi, HasTheBitsOfOneDeviceForOddShapes) {
  for (const char scalar : {'d', 'z'}) {
    for (const char* shape : {"1x1x1", "1x200x64", "200x1x65", "2x3x1", "17x130x2000", "129x257x511", "300x2x4097"})
      expect_bits_of_one(std::string(1, scalar) + " tn " + shape + " b=1");
  }
  expect_bits_of_one("d nn 1100x1300x300");  // blocks of whole tiles
}

TEST_F(Multi, ScalesWhereThereAreNoTerms) {
  for (const char* line : {"d nn 40x37x0 b=0.5", "d nn 40x37x20 a=0 b=-2", "z nn 40x37x20 a=0 b=0"})
    expect_bits_of_one(line);
}

TEST_F(Multi, TakesFactorsThatAreNotFinite) {
  for (const char* factors : {"a=inf b=0", "a=nan b=1", "a=1 b=nan", "a=1e200 b=1e-200"})
    expect_bits_of_one(std::string("d nn 40x37x100 ") + factors);
}

TEST_F(Multi, ClimbsTheLadderTogether) {
  int equilibrated = 0;
  int in_fp64 = 0;
  int with_repairs = 0;
  int climbed = 0;
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    for (const char* classes :
         {"A=exprand:phi=1 B=exprand:phi=1", "A=exprand:phi=2 B=exprand:phi=2", "A=exprand:phi=4 B=exprand:phi=4",
          "A=exprand:phi=8 B=randn", "A=grade:inner B=grade:inner", "A=grade:cols B=grade:rows", "A=lower B=upper",
          "A=banded B=identity", "A=cancel B=cancel", "A=evil B=evil", "A=huge B=randn"}) {
      const Outcome outcome = expect_bits_of_one(std::string(1, scalar) + " nn 150x140x520 b=0.5 " + classes);
      equilibrated += outcome.equilibrated ? 1 : 0;
      in_fp64 += outcome.rung < 0 ? 1 : 0;
      with_repairs += outcome.rung >= 0 && outcome.repaired > 0 ? 1 : 0;
      climbed += outcome.rung > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(equilibrated, 0);
  EXPECT_GT(in_fp64, 0);
  EXPECT_GT(with_repairs, 0);
  EXPECT_GT(climbed, 0);
}

/// Elements of the first rows far apart in size.
template <class T>
void widen_lines(const MatrixView<T>& x, std::int64_t rows, int most_shift) {
  std::mt19937_64 rng(11);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t h = 0; h < x.cols; ++h)
      x(i, h) *= static_cast<RealOf<T>>(std::ldexp(1.0, static_cast<int>(rng() % static_cast<unsigned>(most_shift))));
  }
}

TEST_F(Multi, OneBlockMakesAllClimb) {
  const Case c = case_of("d nn 240x200x400 b=1");
  const Policy policy = device_policy(c, own_engine());
  const Outcome ordinary = alone<double>(c, policy).outcome;
  const Outcome outcome = expect_bits_of_one<double>(c, policy, [](check::Operands<double>& x) {
    widen_lines(x.a.view(), 60, 26);
    widen_lines(x.b.view().transposed(), 50, 26);
  });
  EXPECT_GT(outcome.rung, ordinary.rung);
}

TEST_F(Multi, RepairsOfOneBlockMayBeThoseOfTheWhole) {
  // Of 360000 pairs 1 in 16384 may be repaired: more than 1 in 512 of the only block that has some would not be needed.
  const Case c = case_of("d nn 600x600x256 b=-1");
  const Policy policy = device_policy(c, own_engine());
  std::int64_t most = 0;
  for (const int shift : {28, 32, 36, 40}) {
    const Outcome outcome = expect_bits_of_one<double>(c, policy, [&](check::Operands<double>& x) {
      std::mt19937_64 rng(static_cast<std::uint64_t>(shift));
      const MatrixView<double> a = x.a.view();
      const MatrixView<double> b = x.b.view();
      for (std::int64_t h = 0; h < a.cols; ++h) {  // rows and columns whose large elements do not meet
        for (std::int64_t i = 0; i < 4; ++i) a(i, h) *= h % 2 == 0 ? std::ldexp(1.0, shift) : 1.0;
        for (std::int64_t j = 0; j < 4; ++j) b(h, j) *= h % 2 == 1 ? std::ldexp(1.0, shift) : 1.0;
      }
    });
    if (outcome.rung >= 0) most = std::max(most, outcome.repaired);
  }
  EXPECT_GT(most, 0);
}

TEST_F(Multi, CountsLinesThatAreNotFiniteOnce) {
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    for (const char* where :
         {"A=randn,nan@middle B=randn", "A=randn,inf@corner,-inf@last B=randn,inf@edge", "A=randn B=randn,nan@all",
          "A=zeros,inf@middle B=zeros", "A=randn,inf@middle B=grade:cols,nan@corner"}) {
      expect_bits_of_one(std::string(1, scalar) + " nn 50x41x150 b=1 " + where);
    }
  }
}

TEST_F(Multi, HasTheBitsOfOneDeviceAtAllAccuracies) {
  for (const char* accuracy : {"accuracy=bits=20", "accuracy=bits=40", "accuracy=bits=52",
                               "accuracy=bits=30 gauge=norm", "accuracy=native gauge=norm"}) {
    for (const char* cls : {"randn", "exprand:phi=2", "grade:inner"}) {
      expect_bits_of_one(std::string("d nn 70x60x300 ") + accuracy + " A=" + cls + " B=" + cls);
      expect_bits_of_one(std::string("z nt 40x30x300 ") + accuracy + " A=" + cls + " B=" + cls);
    }
  }
  Case c = case_of("d nn 90x80x300 A=exprand:phi=2 B=randn");
  c.policy.forced_moduli = 9;
  expect_bits_of_one<double>(c, device_policy(c, own_engine()));
}

TEST_F(Multi, HasTheBitsOfOneDeviceByOtherEngines) {
  for (const char* classes : {"A=randn B=randn", "A=exprand:phi=3 B=exprand:phi=3"})
    expect_bits_of_one(std::string("d nn 130x140x300 b=1 ") + classes, EngineName::kCublasLt);
}

TEST_F(Multi, SharesSlicesByName) {
  const Case c = case_of("d nt 90x110x300 b=1");
  Policy policy;
  policy.scheme = Scheme::kOzaki1;
  policy.gauge = Gauge::kNorm;
  for (const int slices : {3, 7}) {
    policy.slices.num_slices = slices;
    expect_bits_of_one<double>(c, policy);
  }
}

TEST_F(Multi, RefusesSlicesThatAllElementsCount) {
  Policy policy;
  policy.scheme = Scheme::kOzaki1;
  policy.may_sync = true;
  policy.slices.num_slices = kUntilZero;
  EXPECT_TRUE(multi::make_plan(Scalar::kF64, 90, 110, 300, policy).ok());
  const Result<multi::Plan> refused = multi::make_plan(Scalar::kF64, 90, 110, 300, policy, {.devices = {0, 0}});
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported) << refused.status().reason();
}

/// A plan whose blocks all take Strassen's products.
[[nodiscard]] multi::Plan plan_by_strassen(const Case& c, const Placement& placement, std::int64_t least_part_bytes) {
  return plan_of(
      multi::make({c.scalar, c.m, c.n, c.k}, device_policy(c, EngineName::kHopper), placement, plans_by_strassen()),
      least_part_bytes, check::print(c));
}

/// Quadrants of blocks, guessed while one operand or some of its parts are still on their way; rungs above the first,
/// which whole products answer; and blocks where a scout or lines that are not finite say that the guess was not all.
TEST_F(Multi, BlocksTakeStrassensProducts) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  int climbed = 0;
  int low = 0;
  std::size_t turn = 0;  // each placement has the matrices in one place
  for (const char* line :
       {"d nn 520x700x777 A=exprand:phi=0.5 B=exprand:phi=0.5", "d tn 301x403x405 a=-1 b=0.5 layout=row",
        "d nt 700x310x300 A=randn,nan@middle B=randn,inf@corner", "d nn 600x610x520 A=exprand:phi=4 B=exprand:phi=4",
        "d nn 400x410x520 b=-1 A=exprand:phi=4 B=exprand:phi=4", "d nt 130x640x16600 A=exprand:phi=0.5 B=randn",
        "d tn 200x310x16600 A=exprand:phi=4 B=exprand:phi=4", "d nn 210x200x17000 b=1 A=randn,nan@middle B=randn"}) {
    const Case c = case_of(line);
    const Shared<double> want = alone<double>(c, device_policy(c, EngineName::kHopper));
    (want.outcome.rung == 0 ? low : climbed) += 1;
    for (const std::vector<int>& devices : placements()) {
      if (devices.size() == 1) continue;
      for (const int parts : {1, 3}) {
        const Placement placement{.devices = devices, .parts = parts};
        const std::int64_t least_part_bytes = turn % 2 == 0 ? std::int64_t{1} << 27 : 1000;
        const multi::Plan plan = plan_by_strassen(c, placement, least_part_bytes);
        const Where where = kEverywhere[turn++ % std::size(kEverywhere)];
        const std::string what = std::string(line) + ", " + text_of(devices) + ", parts " + std::to_string(parts) +
                                 ", place " + std::to_string(static_cast<int>(where)) + ", panels in parts of " +
                                 std::to_string(least_part_bytes) + " bytes";
        const Shared<double> got = share<double>(c, {}, placement, where, {}, plan);
        ASSERT_TRUE(got.status.ok()) << what << ": " << got.status.reason();
        expect_same(got.c, want.c, what);
        expect_outcome(got.outcome, want.outcome, what);
      }
    }
  }
  EXPECT_GT(low, 0);
  EXPECT_GT(climbed, 0);
}

/// Blocks that are large enough for a scout, which finds the sample too weak though the lowest rung answers, or that it
/// does not: when one operand is split already.
TEST_F(Multi, BlocksFollowAScout) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  for (const char* line : {"d nn 3073x6200x3072 A=exprand:phi=0.5 B=exprand:phi=0.5",
                           "d nt 3073x6200x3072 A=exprand:phi=1 B=exprand:phi=1",
                           "d tn 3073x6200x3072 A=exprand:phi=4 B=exprand:phi=4,nan@middle"}) {
    const Case c = case_of(line);
    const Shared<double> want = alone<double>(c, device_policy(c, EngineName::kHopper));
    const Placement placement{.devices = placements().back().size() == 2 ? placements().back() : std::vector{0, 0},
                              .parts = 1};
    for (const bool is_by_strassen : {true, false}) {
      const std::string what = std::string(line) + (is_by_strassen ? ", by Strassen" : "");
      const Shared<double> got =
          is_by_strassen ? share<double>(c, {}, placement, Where::kInPieces, {},
                                         plan_by_strassen(c, placement, std::int64_t{1} << 20))
                         : share<double>(c, device_policy(c, EngineName::kHopper), placement, Where::kInPieces);
      ASSERT_TRUE(got.status.ok()) << what << ": " << got.status.reason();
      expect_same(got.c, want.c, what);
      expect_outcome(got.outcome, want.outcome, what);
    }
  }
}

/// One line of the operand that is split before the scout, or behind it, is wide, and none that the scout looks at. What the
/// first split has counted must outlive the scout: the lowest rung is not enough.
TEST_F(Multi, ScoutForgetsNoOpenLine) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::int64_t kWide = 7;
  const Case c = case_of("d nn 3073x6200x3072 A=exprand:phi=0.5 B=exprand:phi=0.5");
  const Placement placement{.devices = placements().back().size() == 2 ? placements().back() : std::vector{0, 0},
                            .parts = 1};
  for (const bool is_of_a : {true, false}) {
    const Change<double> change = [&](check::Operands<double>& x) {
      (is_of_a ? x.a.view()(kWide, 0) : x.b.view()(0, kWide)) = 0x1p20;
    };
    const Shared<double> want = alone<double>(c, device_policy(c, EngineName::kHopper), change);
    EXPECT_GT(want.outcome.rung, 0);
    for (const bool is_by_strassen : {true, false}) {
      const std::string what =
          std::string(is_of_a ? "a line of A" : "a line of B") + (is_by_strassen ? ", by Strassen" : "");
      const Shared<double> got =
          is_by_strassen ? share<double>(c, {}, placement, Where::kInPieces, change,
                                         plan_by_strassen(c, placement, std::int64_t{1} << 20))
                         : share<double>(c, device_policy(c, EngineName::kHopper), placement, Where::kInPieces, change);
      ASSERT_TRUE(got.status.ok()) << what << ": " << got.status.reason();
      expect_same(got.c, want.c, what);
      expect_outcome(got.outcome, want.outcome, what);
    }
  }
}

/// From page-locked memory, whose copies take longer than the host needs to ask for all kernels: what reads a part before
/// it is there finds what is not finite.
TEST_F(Multi, WaitsForWhatComes) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  for (const char* line : {"d nn 1500x1700x4096 A=exprand:phi=0.5 B=exprand:phi=0.5",
                           "d tt 1700x1500x4096 a=-1 b=2 A=exprand:phi=0.5 B=exprand:phi=0.5",
                           "d nt 700x900x16500 b=1 A=exprand:phi=0.5 B=exprand:phi=0.5"}) {
    const Case c = case_of(line);
    const Policy policy = device_policy(c, EngineName::kHopper);
    const Shared<double> want = alone<double>(c, policy);
    check::Operands<double> host = changed_operands<double>(c, {});
    const std::vector<double> before(host.c.guarded().begin(), host.c.guarded().end());
    const PageLocked a_locked(host.a.guarded());
    const PageLocked b_locked(host.b.guarded());
    const PageLocked c_locked(host.c.guarded());
    const Piece<const double> a{0, 0, host.a.view()};
    const Piece<const double> b{0, 0, host.b.view()};
    const Piece<double> to{0, 0, host.c.view()};
    for (const std::vector<int>& devices : placements()) {
      if (devices.size() == 1) continue;
      for (const int parts : {1, 2}) {
        for (const bool is_by_strassen : {true, false}) {
          const Placement placement{.devices = devices, .parts = parts};
          const std::string what = std::string(line) + ", " + text_of(devices) + ", parts " + std::to_string(parts) +
                                   (is_by_strassen ? ", by Strassen" : "");
          const Result<multi::Plan> plan = is_by_strassen
                                               ? plan_by_strassen(c, placement, std::int64_t{1} << 20)
                                               : multi::make_plan(c.scalar, c.m, c.n, c.k, policy, placement);
          ASSERT_TRUE(plan.ok()) << what << ": " << plan.status().reason();
          std::copy(before.begin(), before.end(), host.c.guarded().begin());
          const Workspaces workspaces(plan.value());
          Outcome outcome;
          const Status status = multi::run<double>(plan.value(), check::alpha_of<double>(c), {&a, 1}, {&b, 1},
                                                   check::beta_of<double>(c), {&to, 1}, workspaces.spans(), &outcome);
          ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
          expect_same(dense(host.c.view()), want.c, what);
          expect_outcome(outcome, want.outcome, what);
        }
      }
    }
  }
}

/// Blocks one after another in little memory, every panel brought again.
TEST_F(Multi, StreamsWhatDoesNotFit) {
  // Making and checking the matrices takes most of the time: each placement has them in one place.
  std::size_t turn = 0;
  for (const auto& [scalar, classes] :
       {std::pair('d', "A=randn B=randn"), std::pair('c', "A=exprand:phi=3 B=exprand:phi=2"),
        std::pair('d', "A=grade:cols B=grade:rows")}) {
    std::string line(1, scalar);
    line.append(" nt 1500x2800x700 b=0.5 ").append(classes);
    const Case c = case_of(line);
    with_scalar(c.scalar, [&]<class T>() {
      Policy policy = device_policy(c, own_engine());
      const Shared<T> want = alone<T>(c, policy);
      policy.workspace_limit_bytes = std::size_t{32} << 20;
      for (const std::vector<int>& devices : placements()) {
        const Placement placement{.devices = devices, .parts = 8};
        const Result<multi::Plan> plan = multi::make_plan(c.scalar, c.m, c.n, c.k, policy, placement);
        ASSERT_TRUE(plan.ok()) << plan.status().reason();
        EXPECT_TRUE(std::any_of(plan.value().impl().shares.begin(), plan.value().impl().shares.end(),
                                [](const multi::Share& x) { return !x.is_resident && x.blocks.size() > 2; }))
            << plan.value().explain();
        for (int i = 0; i < plan.value().num_devices(); ++i)
          EXPECT_LE(plan.value().workspace_bytes(i), policy.workspace_limit_bytes) << plan.value().explain();
        const std::string what = check::print(c) + " streamed, " + text_of(devices);
        const Shared<T> got = share<T>(c, policy, placement, kEverywhere[turn++ % std::size(kEverywhere)]);
        ASSERT_TRUE(got.status.ok()) << what << ": " << got.status.reason();
        expect_same(got.c, want.c, what);
        expect_outcome(got.outcome, want.outcome, what);
      }
    });
  }
}

TEST_F(Multi, PartsAndSpeedsChangeNoBit) {
  const Case c = case_of("d nn 900x1300x400 A=exprand:phi=2 B=exprand:phi=1 b=1");
  const Policy policy = device_policy(c, own_engine());
  const Shared<double> want = alone<double>(c, policy);
  for (const Placement& placement :
       {Placement{.devices = {0, 0}, .speeds = {1.0, 3.0}}, Placement{.devices = {0}, .parts = 5},
        Placement{.devices = {0, 0, 0}, .speeds = {1.0, 1e-9, 1.0}, .parts = 2}}) {
    const Shared<double> got = share<double>(c, policy, placement, Where::kOnDevice);
    ASSERT_TRUE(got.status.ok()) << got.status.reason();
    expect_same(got.c, want.c, "parts and speeds");
    expect_outcome(got.outcome, want.outcome, "parts and speeds");
  }
}

TEST_F(Multi, RejectsNonFiniteBeforeAnythingIsWritten) {
  const Case c = case_of("d nn 150x140x100 b=1 A=randn,nan@last B=randn");
  Policy policy = device_policy(c, own_engine());
  policy.may_sync = true;
  policy.reject_nonfinite = true;
  check::Operands<double> host(c, 1);
  const std::vector<double> before = dense(host.c.view());
  const Status status =
      multi::gemm<double>({.devices = {0, 0, 0}}, c.layout, c.op_a, c.op_b, c.m, c.n, c.k, 1.0, host.a.data(),
                          host.a.ld(), host.b.data(), host.b.ld(), 1.0, host.c.data(), host.c.ld(), policy);
  EXPECT_EQ(status.code(), StatusCode::kNonFinite) << status.reason();
  EXPECT_NE(status.reason().find("1 rows"), std::string::npos) << status.reason();
  expect_same(dense(host.c.view()), before, "C of a refused call");
}

TEST_F(Multi, RefusesWhatIsWrongWithoutADevice) {
  const auto code = [](const Placement& placement) {
    return multi::make_plan(Scalar::kF64, 10, 10, 10, {}, placement).status().code();
  };
  EXPECT_EQ(code({.devices = {}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.devices = {0, 0, 0, 0, 0, 0, 0, 0, 0}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.devices = {0}, .speeds = {1.0, 1.0}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.devices = {0}, .speeds = {std::numeric_limits<double>::quiet_NaN()}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.devices = {0, 1000}}), StatusCode::kUnsupported);
  EXPECT_EQ(code({.devices = {-1}}), StatusCode::kUnsupported);

  const Result<multi::Plan> plan = multi::make_plan(Scalar::kF64, 4, 4, 4, {}, {.devices = {0, 0}});
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const DeviceArray<double> x(std::vector<double>(64, 1.0));
  const Piece<const double> operand{0, 0, {x.data(), 4, 4, 1, 4}};
  const auto run = [&](const Piece<double>& c) {
    return multi::run<double>(plan.value(), 1.0, {&operand, 1}, {&operand, 1}, 0.0, {&c, 1});
  };
  EXPECT_TRUE(run({0, 0, {x.data() + 16, 4, 4, 1, 4}}).ok());
  EXPECT_EQ(run({0, 0, {x.data() + 8, 4, 4, 1, 4}}).code(), StatusCode::kInvalidArgument);   // overlaps
  EXPECT_EQ(run({0, 0, {x.data() + 16, 3, 4, 1, 4}}).code(), StatusCode::kInvalidArgument);  // not all of C
  EXPECT_EQ(run({1, 0, {x.data() + 16, 4, 4, 1, 4}}).code(), StatusCode::kInvalidArgument);  // beyond C
  EXPECT_EQ(run({0, 0, {nullptr, 4, 4, 1, 4}}).code(), StatusCode::kInvalidArgument);
  std::byte small[256];
  const std::span<std::byte> workspaces[] = {small, small};
  const Piece<double> c{0, 0, {x.data() + 16, 4, 4, 1, 4}};
  EXPECT_EQ(multi::run<double>(plan.value(), 1.0, {&operand, 1}, {&operand, 1}, 0.0, {&c, 1}, workspaces).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kizami::gpu_test
