// SPDX-License-Identifier: MIT
// Gauge entry of scheme ozaki1 in device memory: the rung, the bits and the outcome of the host at every rung of slices
// and beyond the last one, on every engine.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "check/matrix_classes.hpp"
#include "gpu/device_case.hpp"
#include "gpu/sm90_test.hpp"

namespace kizami::gpu_test {
namespace {

[[nodiscard]] Case certified_case(const std::string& line) {
  Case c = case_of(line + " scheme=ozaki1");
  c.policy.may_sync = true;
  return c;
}

/// The case by the host.
template <class T>
[[nodiscard]] DeviceResult<T> by_host(const Case& c) {
  Case on_host = c;
  on_host.policy.workspace_limit_bytes = 0;
  on_host.policy.may_sync = false;
  check::Operands<T> x(on_host, api_test::kThreads);
  DeviceResult<T> result;
  const Status status = api_test::call(on_host, x, result.outcome);
  EXPECT_TRUE(status.ok()) << check::print(c) << ": " << status.reason();
  result.c = stored(x.c);
  return result;
}

/// The case on the device. Fails unless bits and outcome are those of the host.
template <class T>
Outcome expect_bits(const Case& c, EngineName engine, const DeviceResult<T>& host) {
  Policy policy = c.policy;
  policy.engine = engine;
  const std::string what = check::print(c) + " on " + std::string(to_string(engine));
  const DeviceResult<T> got = multiply<T>(c, policy);
  const Outcome& want = host.outcome;
  const bool has_terms = got.outcome.engine != "none";
  EXPECT_EQ(has_terms, want.engine != "none") << what;
  if (has_terms) {
    EXPECT_EQ(got.outcome.engine, to_string(engine)) << what;
  }
  EXPECT_EQ(got.outcome.scheme, want.scheme) << what;
  EXPECT_EQ(got.outcome.slices, want.slices) << what;
  EXPECT_EQ(got.outcome.rung, want.rung) << what;
  EXPECT_EQ(got.outcome.moduli, want.moduli) << what;
  EXPECT_EQ(got.outcome.equilibrated, want.equilibrated) << what;
  EXPECT_EQ(got.outcome.repaired, want.repaired) << what;
  EXPECT_EQ(got.outcome.bound, want.bound) << what;
  EXPECT_EQ(got.outcome.gauge, want.gauge) << what;
  EXPECT_EQ(got.outcome.nonfinite_rows, want.nonfinite_rows) << what;
  EXPECT_EQ(got.outcome.nonfinite_cols, want.nonfinite_cols) << what;
  expect_same(got.c, host.c, what);
  return got.outcome;
}
Outcome expect_bits(const std::string& line, EngineName engine) {
  const Case c = certified_case(line);
  return with_scalar(c.scalar, [&]<class T>() { return expect_bits<T>(c, engine, by_host<T>(c)); });
}
/// @return the outcome of the last engine
Outcome expect_bits_on_all(const std::string& line) {
  const Case c = certified_case(line);
  return with_scalar(c.scalar, [&]<class T>() {
    const DeviceResult<T> host = by_host<T>(c);
    Outcome outcome;
    for (const EngineName engine : device_engines()) outcome = expect_bits<T>(c, engine, host);
    return outcome;
  });
}

using SliceRungs = DeviceTest;

TEST_F(SliceRungs, EveryRungAndScheme2BehindTheLast) {
  struct Wanted {
    const char* line;
    int slices;  ///< 0: scheme ozaki2
  };
  constexpr Wanted kCases[] = {
      {"d nn 60x50x500 A=rand B=rand", 7},
      {"d tn 150x140x500 A=rand B=rand a=2 b=-0.5", 7},
      {"d nn 60x50x500 seed=3", 8},
      {"d nt 260x130x500 seed=3 layout=row", 8},
      {"d nn 60x50x500 A=exprand:phi=3 seed=3", 9},
      {"d nn 60x50x500 A=huge:exp=20 seed=3", 10},
      {"d nn 60x50x500 A=huge:exp=30 seed=3", 11},
      {"d nn 60x50x500 A=huge:exp=40 seed=3", 0},
      {"d nn 60x50x500 A=huge:exp=90 B=huge:exp=90 seed=3", 0},
      {"s nn 60x50x500 seed=3", 4},
      {"s nn 60x50x500 A=huge:exp=20 seed=3", 6},
      {"s nn 60x50x500 A=huge:exp=40 B=huge:exp=40 seed=3", 0},
      {"z nn 40x30x200 seed=3", 8},
      {"z cn 40x30x200 complex_form=enlarged seed=3", 8},
      {"c tn 40x30x200 seed=3", 4},
      {"c nc 40x30x200 complex_form=enlarged seed=3 A=huge:exp=40 B=huge:exp=40", 0},
      {"z nn 40x30x200 A=huge:exp=90 B=huge:exp=90 seed=3", 0},
      {"d nn 60x50x500 accuracy=bits=20 seed=3", 4},
      {"d nn 60x50x500 accuracy=bits=30 A=huge:exp=20 seed=3", 8},
      {"d nn 60x50x500 slice_split=truncated seed=3", 8},
      {"d nn 60x50x500 slice_split=nearest seed=3", 8},
  };
  for (const Wanted& wanted : kCases) {
    const Outcome outcome = expect_bits_on_all(wanted.line);
    EXPECT_EQ(outcome.scheme, wanted.slices == 0 ? Scheme::kOzaki2 : Scheme::kOzaki1) << wanted.line;
    EXPECT_EQ(outcome.slices, wanted.slices) << wanted.line;
  }
}

TEST_F(SliceRungs, OfFloatingSlices) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  for (const char* line :
       {"d nn 60x50x500 slice_format=bf16 seed=3", "d nn 60x50x500 slice_format=fp16 A=huge:exp=20 seed=3",
        "s nt 60x50x300 slice_format=e4m3 accuracy=bits=12 seed=3",
        "z nn 30x20x200 slice_format=bf16 complex_form=enlarged seed=3",
        "d nn 60x50x500 slice_format=bf16 A=huge:exp=90 B=huge:exp=90 seed=3"})
    expect_bits(line, own_engine());
}

TEST_F(SliceRungs, OfEveryClass) {
  constexpr const char* kShapes[] = {"67x45x260", "130x30x129", "13x70x700", "129x40x65"};
  constexpr const char* kSplits[] = {"bytes", "truncated", "nearest"};
  constexpr const char* kForms[] = {"four", "enlarged"};
  std::size_t turn = 0;
  for (const check::ClassInfo& info : check::class_inventory()) {
    for (const char scalar : {'d', 's', 'z', 'c'}) {
      ++turn;
      const std::string cls(info.name);
      std::string line = std::string(1, scalar) + " nn " + kShapes[turn % 4] + " A=" + (turn % 3 == 0 ? "randn" : cls) +
                         " B=" + (turn % 3 == 1 ? "randn" : cls) + " seed=" + std::to_string(turn) +
                         " split=" + kSplits[turn / 3 % 3];
      if (scalar == 'z' || scalar == 'c') line += std::string(" form=") + kForms[turn / 4 % 2];
      expect_bits(line, device_engines()[turn % device_engines().size()]);
    }
  }
}

TEST_F(SliceRungs, LinesOfFewDigitsAreExact) {
  for (const char* line : {"d nn 70x60x300 A=int:bits=8 B=int:bits=8", "d tt 70x60x300 A=int:bits=20 B=int:bits=20",
                           "d nn 70x60x300 A=pow2:span=200 B=ones", "z nn 70x60x300 A=int:bits=30 B=int:bits=30",
                           "d nn 70x60x300 A=zeros", "d nn 70x60x300 A=zerorows B=zerocols",
                           "d nn 90x90x90 A=identity B=permutation", "d nn 70x60x300 A=test2 B=test2"}) {
    expect_bits_on_all(line);
  }
}

TEST_F(SliceRungs, OfOddShapesAndFactors) {
  for (const char* rest : {"1x1x128", "3x5x100", "17x130x700", "20x35x3000", "6x5x1", "0x5x9", "5x9x0",
                           "31x33x200 a=0 b=2", "31x33x200 a=1e-20 b=1", "31x33x200 C=randn,nan@middle b=0"}) {
    for (const char* type : {"d nn ", "z tt ", "s nt ", "c tn "}) expect_bits_on_all(type + std::string(rest));
  }
  for (const char* line : {"d nn 257x260x1025", "s nt 5x7x20000", "d tn 9x8x140000", "z tt 5x4x70000"})
    expect_bits_on_all(line);
}

TEST_F(SliceRungs, AnswersLinesWithNaNAndInf) {
  for (const char* what : {"nan@corner", "inf@middle", "-inf@edge"}) {
    for (const char* rest : {"d nn 70x60x300 a=2 b=1 A=randn,", "z nn 70x60x300 complex_form=enlarged A=randn,",
                             "s tt 70x60x20000 B=randn,", "d nn 70x60x300 B=huge:exp=90 A=huge:exp=90,"}) {
      expect_bits_on_all(rest + std::string(what));
    }
  }
}

TEST_F(SliceRungs, InAWorkspaceThatIsSmall) {
  for (const char* line : {"d nn 700x650x900", "z tn 300x350x700 complex_form=enlarged",
                           "d nt 650x300x17000 A=huge:exp=20", "d nn 700x650x900 A=huge:exp=90 B=huge:exp=90"}) {
    Case c = certified_case(line);
    with_scalar(c.scalar, [&]<class T>() {
      const DeviceResult<T> host = by_host<T>(c);
      for (const EngineName engine : device_engines()) {
        Policy policy = c.policy;
        policy.workspace_limit_bytes = 0;
        policy.engine = engine;
        const std::size_t whole = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy).value().workspace_bytes();
        const std::size_t library = engine == EngineName::kCublasLt ? std::size_t{33} << 20 : 0;  // does not shrink
        c.policy.workspace_limit_bytes = library + (whole - library) / 5;
        expect_bits<T>(c, engine, host);
      }
    });
  }
}

TEST_F(SliceRungs, RefusesWhereTheHostMayNotWait) {
  Case c = certified_case("d nn 60x50x500");
  Policy policy = c.policy;
  policy.may_sync = false;
  const Result<Plan> refused = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(refused.status().reason().find("sync = never, must be allowed"), std::string::npos)
      << refused.status().reason();

  c = certified_case("d nn 60x50x200 A=randn,nan@middle nonfinite=reject");
  const check::Operands<double> host(c, api_test::kThreads);
  const DeviceOperands<double> x(host);
  const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  EXPECT_EQ(enqueue<double>(c, plan, x, workspace, 1.0, 0.0, nullptr).code(), StatusCode::kNonFinite);
}

TEST_F(SliceRungs, FollowFactorsInDeviceMemory) {
  const Case c = certified_case("d nn 60x50x500 A=huge:exp=20 seed=3");
  const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  for (const double alpha : {0.0, 1.0}) {
    const check::Operands<double> host(c, api_test::kThreads);
    const DeviceOperands<double> x(host);
    const DeviceArray<double> factor(std::vector<double>{alpha});
    ASSERT_TRUE(enqueue<double>(c, plan, x, workspace, Factor<double>::at(factor.data()), 0.0, nullptr).ok());
    const Outcome outcome = cuda::read_outcome(plan, {workspace.data(), workspace.size()}, nullptr).value();
    EXPECT_EQ(outcome.slices, alpha == 0.0 ? 0 : 10);
    if (alpha == 0.0) {
      EXPECT_EQ(x.c.download(), std::vector<double>(x.c.size(), 0.0));
    }
  }
}

}  // namespace
}  // namespace kizami::gpu_test
