// SPDX-License-Identifier: MIT
// Whole products of scheme ec in device memory: every class within the plan's bound against an exact reference, and the
// stage that answered. What does not change a bit: streams, graphs, the layout of operands.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check/matrix_classes.hpp"
#include "exec/device_batch.hpp"
#include "gpu/device_case.hpp"
#include "gpu/device_problem.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::gpu_test {
namespace {

using api_test::Tally;

Policy ec_policy(EcVariant variant = EcVariant::kAuto) {
  Policy policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.ec.variant = variant;
  return policy;
}

[[nodiscard]] std::string answer_of(const Outcome& outcome) {
  if (outcome.engine == "none") return "none";
  return outcome.scheme == Scheme::kEc ? std::string(to_string(outcome.variant)) : "fp64";
}

/// Runs the case and fails the test unless every element meets the plan's bound.
template <class T>
Outcome expect_within_bound(const Case& c, const Policy& policy, Tally* tally = nullptr) {
  const std::string line = check::print(c);
  const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
  EXPECT_TRUE(plan.ok()) << line << ": " << plan.status().reason();
  if (!plan.ok()) return {};
  const DeviceResult<T> got = multiply<T>(c, policy);
  const check::Operands<T> before(c, api_test::kThreads);
  check::Operands<T> after(c, api_test::kThreads);
  std::memcpy(static_cast<void*>(after.c.data()), got.c.data(), got.c.size() * sizeof(T));
  const check::Verdict padding = std::as_const(after).c.canaries_intact();
  EXPECT_TRUE(padding) << line << ": " << padding.message;
  const check::RatioStats stats = api_test::guaranteed_ratios<T>(c, plan.value(), before.a.view(), before.b.view(),
                                                                 before.c.view(), std::as_const(after).c.view());
  const check::Verdict verdict = check::ratio_at_most_one(stats);
  EXPECT_TRUE(verdict) << line << ": " << verdict.message << " [" << answer_of(got.outcome) << "]";
  if (got.outcome.engine != "none") {
    EXPECT_EQ(got.outcome.bound, plan.value().bound()) << line;
    EXPECT_EQ(got.outcome.gauge, Gauge::kEntry) << line;
    EXPECT_EQ(got.outcome.engine, "hopper") << line;
  }
  if (tally != nullptr) {
    ++tally->cases;
    ++tally->answers[answer_of(got.outcome)];
    if (!(stats.max <= tally->max_ratio)) {
      tally->max_ratio = stats.max;
      tally->worst = line;
    }
  }
  return got.outcome;
}

Outcome expect_within_bound(const std::string& line, const Policy& policy = ec_policy(), Tally* tally = nullptr) {
  const Case c = case_of(line);
  if (c.scalar == Scalar::kF32) return expect_within_bound<float>(c, policy, tally);
  return expect_within_bound<std::complex<float>>(c, policy, tally);
}

using EcCall = Sm90Test;

TEST_F(EcCall, OfEveryClass) {
  constexpr const char* kShapes[] = {"67x45x260", "130x30x129", "13x70x700", "129x40x65"};
  constexpr std::pair<const char*, EcVariant> kVariants[] = {
      {"auto", EcVariant::kAuto}, {"scaled", EcVariant::kScaled}, {"scaled_tf32", EcVariant::kScaledTf32}};
  for (const auto& [name, variant] : kVariants) {
    Tally tally;
    std::size_t turn = 0;
    for (const check::ClassInfo& info : check::class_inventory()) {
      for (const char scalar : {'s', 'c'}) {
        for (const bool is_a_normal : {false, true}) {
          for (const bool is_b_normal : {false, true}) {
            if (is_a_normal && is_b_normal) continue;
            const std::string cls(info.name);
            const char* const extents = kShapes[turn++ % std::size(kShapes)];
            expect_within_bound(std::string(1, scalar) + " nn " + extents + " A=" + (is_a_normal ? "randn" : cls) +
                                    " B=" + (is_b_normal ? "randn" : cls) + " seed=" + std::to_string(turn),
                                ec_policy(variant), &tally);
          }
        }
      }
    }
    api_test::report(name, tally);
    EXPECT_GT(tally.answers[variant == EcVariant::kScaledTf32 ? "scaled_tf32" : "scaled"], tally.cases / 4);
  }
}

TEST_F(EcCall, OfEveryLayoutAndOp) {
  for (const char scalar : {'s', 'c'}) {
    for (const char* ops : {"nn", "nt", "tn", "tt", "cn", "nc", "rc", "cr"}) {
      for (const char* layout : {"col", "row"}) {
        expect_within_bound(std::string(1, scalar) + " " + ops + " 133x40x129 a=0.5 b=-2 ld+3 layout=" + layout);
        expect_within_bound(std::string(1, scalar) + " " + ops + " 128x128x64 a=-1 b=0 layout=" + layout);
      }
    }
  }
}

TEST_F(EcCall, OfOddShapes) {
  for (const char scalar : {'s', 'c'}) {
    for (const char* shape : {"1x1x128", "1x200x64", "200x1x65", "3x5x100", "17x130x2000", "127x129x63", "128x128x128",
                              "129x127x65", "300x131x65", "20x35x9000", "5x7x40000"}) {
      expect_within_bound(std::string(1, scalar) + " nn " + shape);
      expect_within_bound(std::string(1, scalar) + " tt " + shape + " a=2 b=1 ld+1");
    }
  }
}

TEST_F(EcCall, WithAnyFactors) {
  for (const char* factors : {"a=1 b=1", "a=-1 b=0.5", "a=1e-20 b=1", "a=3e38 b=0", "a=1e-38 b=1e-30", "a=0 b=2"}) {
    expect_within_bound(std::string("s nn 140x137x100 A=randn,x2^-60 ") + factors);
    expect_within_bound(std::string("c nn 140x137x100 A=randn,x2^-60 ") + factors);
  }
  for (const char* factors : {"a=1.5-2i b=0.25+1i", "a=-1i b=0", "a=0.5+3e30i b=-1+1i", "a=0 b=1i"}) {
    for (const char* shape : {"40x37x100", "128x64x256"}) {
      expect_within_bound(std::string("c nn ") + shape + " A=randn,x2^-110 " + factors);
    }
  }
}

TEST_F(EcCall, ReadsFactorsFromDeviceMemory) {
  for (const char* factors : {"a=0.5 b=-2", "a=0 b=3", "a=0 b=0", "a=1 b=0"}) {
    Case c = case_of(std::string("s nn 140x37x100 A=randn,nan@middle ") + factors);
    if (c.alpha != 0) c = case_of(std::string("s nn 140x37x100 ") + factors);
    const check::Operands<float> host(c, 1);
    const DeviceOperands<float> x(host);
    const DeviceArray<float> values(std::vector<float>{static_cast<float>(c.alpha), static_cast<float>(c.beta)});
    const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, ec_policy());
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
    ASSERT_TRUE(enqueue<float>(c, plan.value(), x, workspace, Factor<float>::at(values.data()),
                               Factor<float>::at(values.data() + 1), nullptr)
                    .ok());
    expect_same(x.c.download(), multiply<float>(c, ec_policy()).c, factors);
  }
}

// The document's classes [OY2021, figure 8] and wider, and what answers each.
TEST_F(EcCall, AnswersEveryRange) {
  const std::pair<const char*, const char*> kCases[] = {
      {"A=randn B=randn", "scaled"},
      {"A=rand B=rand", "scaled"},
      {"A=exprand:phi=1 B=exprand:phi=1", "scaled"},
      {"A=exp_rand:a=-45,b=-35 B=exp_rand:a=-45,b=-35", "scaled"},
      {"A=exp_rand:a=-15,b=15 B=exp_rand:a=-15,b=15", "scaled_tf32"},
      {"A=exp_rand:a=-35,b=-15 B=exp_rand:a=-35,b=-15", "scaled"},
      {"A=exp_rand:a=-60,b=60 B=exp_rand:a=-60,b=60", "scaled_tf32"},
      {"A=grade:rows,span=120 B=randn", "scaled"},
      {"A=lower B=banded", "scaled"},
      {"A=identity B=randn", "scaled"},
      {"A=randn,x2^-140 B=randn", "scaled"},
      {"A=randn,x2^-146 B=randn,x2^120", "scaled"},
      {"A=exp_rand:a=-126,b=120 B=exp_rand:a=-126,b=120", "fp64"},
      {"A=huge:exp=30 B=randn", "scaled_tf32"},
  };
  for (const auto& [classes, answer] : kCases) {
    for (const char* shape : {"s nn 70x65x1024 ", "c nn 30x40x700 "}) {
      EXPECT_EQ(answer_of(expect_within_bound(std::string(shape) + classes)), answer) << shape << classes;
    }
  }
}

TEST_F(EcCall, WithNonFiniteElements) {
  for (const char* where : {"A=randn,nan@middle B=randn", "A=randn,inf@corner,-inf@last B=randn,inf@edge",
                            "A=randn B=randn,nan@all", "A=zeros,inf@middle B=zeros",
                            "A=randn,inf@middle B=grade:cols,nan@corner", "A=exp_rand:a=-60,b=60,nan@middle B=randn"}) {
    for (const char* shape : {"s nn 150x141x150 b=1 ", "c nt 50x41x150 b=0.5 ", "s tn 150x141x150 layout=row "}) {
      const Case c = case_of(std::string(shape) + where);
      with_scalar(c.scalar, [&]<class T>() {
        if constexpr (sizeof(RealOf<T>) == 4) {
          const Outcome outcome = expect_within_bound<T>(c, ec_policy());
          const Outcome expected = host_result<T>(c, 0).outcome;
          EXPECT_EQ(outcome.nonfinite_rows, expected.nonfinite_rows) << check::print(c);
          EXPECT_EQ(outcome.nonfinite_cols, expected.nonfinite_cols) << check::print(c);
        }
      });
    }
  }
}

/// A plan as that of a large call: where flags refuse FP16, profiles of lines are asked.
plan::Plan with_profiles(const Case& c) {
  plan::Plan plan = planned(c, ec_policy());
  plan::edit_stage<ec::EcStage>(plan).numerics.takes_profiles = true;
  return plan;
}

// What flags alone leave to TF32 is answered by FP16, within the same bound; what profiles refuse is not.
TEST_F(EcCall, ProfilesKeepFp16) {
  const std::pair<const char*, const char*> kCases[] = {
      {"A=exprand:phi=1.75 B=exprand:phi=1.75", "scaled"},
      {"A=exprand:phi=1.75,nan@middle B=exprand:phi=1.75", "scaled"},
      {"A=exprand:phi=3 B=randn", "scaled"},
      {"A=exprand:phi=4 B=exprand:phi=4", "scaled_tf32"},
      {"A=exp_rand:a=-60,b=60 B=exp_rand:a=-60,b=60", "scaled_tf32"},
      {"A=exp_rand:a=-126,b=120 B=exp_rand:a=-126,b=120", "fp64"},
      {"A=randn B=randn", "scaled"},
  };
  for (const auto& [classes, answer] : kCases) {
    for (const char* shape : {"s nn 70x65x1024 b=1 ", "s tt 65x131x1500 ld+3 ", "s nt 64x64x1024 layout=row ",
                              "c nn 40x37x700 ", "c tc 33x40x700 b=1 ld+1 "}) {
      const Case c = case_of(std::string(shape) + classes);
      const std::string line = check::print(c);
      with_scalar(c.scalar, [&]<class T>() {
        if constexpr (sizeof(RealOf<T>) == 4) {
          PlannedCall<T> call(c, with_profiles(c));
          call.run();
          EXPECT_EQ(answer_of(call.outcome()), answer) << line;
          const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, ec_policy()).value();
          const check::Operands<T> before(c, api_test::kThreads);
          check::Operands<T> after(c, api_test::kThreads);
          const std::vector<T> got = call.c();
          std::memcpy(static_cast<void*>(after.c.data()), got.data(), got.size() * sizeof(T));
          const check::RatioStats stats = api_test::guaranteed_ratios<T>(
              c, plan, before.a.view(), before.b.view(), before.c.view(), std::as_const(after).c.view());
          const check::Verdict verdict = check::ratio_at_most_one(stats);
          EXPECT_TRUE(verdict) << line << ": " << verdict.message;
        }
      });
    }
  }
}

// The bits are those of the stage that answers, whoever chose it.
TEST_F(EcCall, ProfilesChangeNoBitOfAStage) {
  const Case tame = case_of("s nn 150x140x1024 b=1");
  PlannedCall<float> call(tame, with_profiles(tame));
  call.run();
  expect_same(call.c(), multiply<float>(tame, ec_policy()).c, "tame");
  const Case wide = case_of("s nn 150x140x1024 A=exprand:phi=1.75 B=exprand:phi=1.75");
  PlannedCall<float> kept(wide, with_profiles(wide));
  kept.run();
  Policy unchecked = ec_policy();
  unchecked.ec.check_range = false;
  expect_same(kept.c(), multiply<float>(wide, unchecked).c, "FP16 whatever comes");
}

/// A graph whose call asks for profiles, replayed: nothing of an earlier replay is left.
TEST_F(EcCall, ProfilesFollowTheElementsOfEachReplay) {
  const std::string shape = "s nt 150x140x1024 ";
  const Case first = case_of(shape + "seed=1");
  const plan::Plan plan = with_profiles(first);
  const check::Operands<float> host(first, 2);
  DeviceOperands<float> x(host);
  const DeviceArray<std::byte> workspace(plan.schedule.workspace_bytes);
  const std::span<std::byte> memory(workspace.data(), workspace.size());
  const device::DeviceProblem<float> problem = device_problem<float>(first, x.a.data(), x.b.data(), x.c.data());
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status =
      exec::run_device<float>(plan, std::span<const device::DeviceProblem<float>>(&problem, 1), memory, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end of capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  const std::string wide = "A=exprand:phi=1.75 B=exprand:phi=1.75 seed=";
  const std::string wider = "A=exprand:phi=4 B=exprand:phi=4 seed=";
  for (const auto& [classes, answer] : std::vector<std::pair<std::string, std::string>>{{wide + "1", "scaled"},
                                                                                        {wider + "2", "scaled_tf32"},
                                                                                        {"seed=3", "scaled"},
                                                                                        {wider + "4", "scaled_tf32"},
                                                                                        {wide + "5", "scaled"}}) {
    const Case c = case_of(shape + classes);
    const check::Operands<float> other(c, 2);
    x.a.upload(stored(other.a));
    x.b.upload(stored(other.b));
    check(cudaGraphLaunch(executable, stream), "replay");
    check(cudaStreamSynchronize(stream), "replay");
    PlannedCall<float> alone(c, with_profiles(c));
    alone.run();
    expect_same(x.c.download(), alone.c(), classes);
    Outcome outcome;
    ASSERT_TRUE(exec::read_device_outcomes(plan, memory, stream, std::span(&outcome, 1)).ok());
    EXPECT_EQ(answer_of(outcome), answer) << classes;
  }
  check(cudaGraphExecDestroy(executable), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
}

/// A graph of one call, replayed with other elements: the stage follows the elements of each replay.
TEST_F(EcCall, IsCapturedAndReplayedWithOtherElements) {
  const std::string shape = "s nn 150x140x300 b=1 ";
  const Case first = case_of(shape + "seed=1");
  const Result<Plan> plan = cuda::make_plan(first.scalar, first.m, first.n, first.k, ec_policy());
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const check::Operands<float> host(first, 2);
  DeviceOperands<float> x(host);
  const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = enqueue<float>(first, plan.value(), x, workspace, 1.0F, 1.0F, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end of capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  for (const auto& [classes, answer] :
       std::vector<std::pair<std::string, std::string>>{{"seed=1", "scaled"},
                                                        {"A=exp_rand:a=-15,b=15 B=exp_rand:a=-60,b=60", "scaled_tf32"},
                                                        {"A=exp_rand:a=-126,b=120 B=exp_rand:a=-126,b=120", "fp64"},
                                                        {"A=randn,nan@middle", "scaled"},
                                                        {"seed=2", "scaled"}}) {
    const Case c = case_of(shape + classes);
    const check::Operands<float> other(c, 2);
    x.a.upload(stored(other.a));
    x.b.upload(stored(other.b));
    x.c.upload(stored(other.c));
    check(cudaGraphLaunch(executable, stream), "replay");
    check(cudaStreamSynchronize(stream), "replay");
    expect_same(x.c.download(), multiply<float>(c, ec_policy()).c, classes);
    const Result<Outcome> outcome = cuda::read_outcome(plan.value(), {workspace.data(), workspace.size()}, stream);
    ASSERT_TRUE(outcome.ok()) << outcome.status().reason();
    EXPECT_EQ(answer_of(outcome.value()), answer) << classes;
  }
  check(cudaGraphExecDestroy(executable), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
}

TEST_F(EcCall, FromSeveralThreadsOnSeveralStreams) {
  const std::vector<std::string> lines = {"s nn 320x330x400", "c tn 70x60x200", "s nt 200x90x300 A=exp_rand:a=-20,b=20",
                                          "s nn 100x100x100 A=exp_rand:a=-126,b=120 B=exp_rand:a=-126,b=120"};
  std::vector<std::thread> threads;
  for (const std::string& line : lines) {
    threads.emplace_back([line] {
      const Case c = case_of(line);
      with_scalar(c.scalar, [&]<class T>() {
        const std::vector<T> want = multiply<T>(c, ec_policy()).c;
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
        const check::Operands<T> host(c, 1);
        for (int round = 0; round < 5; ++round) {
          const DeviceOperands<T> x(host);
          const Status status = cuda::gemm<T>(stream, c.layout, c.op_a, c.op_b, c.m, c.n, c.k, check::alpha_of<T>(c),
                                              x.a.data(), check::stored_shape(c, check::Which::kA).ld, x.b.data(),
                                              check::stored_shape(c, check::Which::kB).ld, check::beta_of<T>(c),
                                              x.c.data(), check::stored_shape(c, check::Which::kC).ld, ec_policy());
          EXPECT_TRUE(status.ok()) << status.reason();
          check(cudaStreamSynchronize(stream), "stream");
          expect_same(x.c.download(), want, line);
        }
        check(cudaStreamDestroy(stream), "stream");
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(EcCall, WithoutTermsOrElementsScalesC) {
  EXPECT_EQ(answer_of(expect_within_bound("s nn 30x20x0 b=3")), "none");
  EXPECT_EQ(answer_of(expect_within_bound("c nn 30x20x0 b=3i layout=row")), "none");
  for (const char* shape : {"0x20x30", "30x0x20", "0x0x0"}) {
    const Case c = case_of(std::string("s nn ") + shape + " b=3");
    EXPECT_EQ(answer_of(multiply<float>(c, ec_policy()).outcome), "none") << shape;
  }
}

// The largest error of long sums of one sign stays far below what a chain without promotion would have (three times k /
// 16 truncations of up to 2^-23 |A||B| each, in one direction).
TEST_F(EcCall, LongSumsOfOneSignDoNotDrift) {
  expect_within_bound("s nn 20x17x65536 A=rand B=rand");
  expect_within_bound("c nn 9x11x30000 A=rand B=rand");
}

TEST_F(EcCall, WithoutRangeCheckTheFirstStageAnswersWhateverComes) {
  Policy policy = ec_policy();
  policy.ec.check_range = false;
  const Case c = case_of("s nn 70x60x300 A=exp_rand:a=-60,b=60 B=exp_rand:a=-60,b=60");
  EXPECT_EQ(answer_of(multiply<float>(c, policy).outcome), "scaled");
}

TEST_F(EcCall, WaitsWhereItMayAndRefusesWhatOnlyTheElementsTell) {
  const auto status_of = [](const std::string& line, const Policy& policy) {
    const Case c = case_of(line);
    const check::Operands<float> host(c, 1);
    const DeviceOperands<float> x(host);
    const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
    EXPECT_TRUE(plan.ok()) << plan.status().reason();
    const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
    const Status status = enqueue<float>(c, plan.value(), x, workspace, 1.0F, 0.0F, nullptr);
    if (!status.ok()) expect_same(x.c.download(), stored(host.c), "C after a refusal");
    return status.code();
  };
  Policy policy = ec_policy();
  policy.may_sync = true;
  policy.reject_nonfinite = true;
  policy.allow_fp64_arithmetic = false;
  EXPECT_EQ(status_of("s nn 60x50x200", policy), StatusCode::kOk);
  EXPECT_EQ(status_of("s nn 60x50x200 A=randn,nan@middle", policy), StatusCode::kNonFinite);
  EXPECT_EQ(status_of("s nn 60x50x200 A=exp_rand:a=-126,b=120 B=exp_rand:a=-126,b=120", policy),
            StatusCode::kAccuracyUnreachable);
}

TEST_F(EcCall, MayBeChosenWhereNoBitsArePromised) {
  Policy policy;
  EXPECT_EQ(cuda::make_plan(Scalar::kF32, 4096, 4096, 4096, policy).value().scheme(), Scheme::kOzaki2);
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const Plan plan = cuda::make_plan(Scalar::kF32, 4096, 4096, 4096, policy).value();
  EXPECT_EQ(plan.scheme(), Scheme::kEc);
  EXPECT_EQ(plan.engine(), "hopper");
  EXPECT_EQ(cuda::make_plan(Scalar::kF32, 100, 100, 100, policy).value().scheme(), Scheme::kNative);
  EXPECT_EQ(cuda::make_plan(Scalar::kF64, 4096, 4096, 4096, policy).value().variant(), EcVariant::kAuto);
}

}  // namespace
}  // namespace kizami::gpu_test
