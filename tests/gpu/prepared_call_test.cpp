// SPDX-License-Identifier: MIT
// Prepared operands on a device: the bits and the outcome of a call with the matrices, whichever side is prepared and
// wherever the elements take the call, and without the split of that side.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/device_case.hpp"
#include "gpu/planned_call.hpp"
#include "gpu/sm90_test.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::gpu_test {
namespace {

using PreparedCall = DeviceTest;

/// Which sides of a call are prepared.
struct Sides {
  bool has_a;
  bool has_b;
  const char* name;
};
constexpr Sides kSides[] = {{true, false, "A"}, {false, true, "B"}, {true, true, "A and B"}};

/// A prepared operand in memory of the caller.
struct Kept {
  Kept(const Plan& plan, Side side) : memory(cuda::prepared_bytes(plan, side).value()) {}
  DeviceArray<std::byte> memory;
  std::optional<cuda::PreparedOperand> operand;
};

Plan planned_by(const Case& c, const Policy& policy) {
  const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
  if (!plan.ok()) throw std::runtime_error(check::print(c) + ": " + plan.status().reason());
  return plan.value();
}

/// The operands of a case on the device, and what is prepared of them.
template <class T>
class Call {
 public:
  Call(const Case& c, Plan plan, const check::Operands<T>& host)
      : case_(c),
        plan_(std::move(plan)),
        x(host),
        workspace_(plan_.workspace_bytes()),
        a_(plan_, Side::kA),
        b_(plan_, Side::kB) {}

  [[nodiscard]] Status prepare(Side side, cuda::Stream stream = nullptr) {
    Kept& kept = side == Side::kA ? a_ : b_;
    const device::DeviceProblem<T> p = problem();
    Result<cuda::PreparedOperand> made =
        cuda::prepare<T>(plan_, side, side == Side::kA ? p.a : p.b, {kept.memory.data(), kept.memory.size()}, stream);
    if (made.ok()) kept.operand.emplace(std::move(made).value());
    return made.status();
  }
  /// With the matrices.
  [[nodiscard]] Status run(cuda::Stream stream = nullptr) {
    const device::DeviceProblem<T> p = problem();
    return cuda::run<T>(plan_, p.alpha, p.a, p.b, p.beta, p.c, memory(), stream);
  }
  [[nodiscard]] Status run(const Sides& sides, cuda::Stream stream = nullptr) {
    const device::DeviceProblem<T> p = problem();
    const cuda::Operand<T> a = sides.has_a ? cuda::Operand<T>(*a_.operand) : cuda::Operand<T>(p.a);
    const cuda::Operand<T> b = sides.has_b ? cuda::Operand<T>(*b_.operand) : cuda::Operand<T>(p.b);
    return cuda::run_prepared<T>(plan_, p.alpha, a, b, p.beta, p.c, memory(), stream);
  }
  [[nodiscard]] Outcome outcome() const { return cuda::read_outcome(plan_, memory(), nullptr).value(); }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Kept& kept(Side side) const { return side == Side::kA ? a_ : b_; }
  [[nodiscard]] bool guards_are_intact() const {
    return x.a.guards_are_intact() && x.b.guards_are_intact() && x.c.guards_are_intact() &&
           workspace_.guards_are_intact() && a_.memory.guards_are_intact() && b_.memory.guards_are_intact();
  }

 private:
  [[nodiscard]] device::DeviceProblem<T> problem() const {
    return device_problem<T>(case_, x.a.data(), x.b.data(), x.c.data());
  }
  [[nodiscard]] std::span<std::byte> memory() const { return {workspace_.data(), workspace_.size()}; }

  Case case_;
  Plan plan_;

 public:
  DeviceOperands<T> x;

 private:
  DeviceArray<std::byte> workspace_;
  Kept a_;
  Kept b_;
};

/// All sides of a case, beside the call that splits; what is kept is read alone.
template <class T>
Outcome expect_bits_of_fresh(const Case& c, const Plan& plan) {
  const std::string line = check::print(c) + " on " + std::string(plan.engine());
  const check::Operands<T> host(c, api_test::kThreads);
  Call<T> call(c, plan, host);
  const Status fresh = call.run();
  EXPECT_TRUE(fresh.ok()) << line << ": " << fresh.reason();
  const std::vector<T> want = call.x.c.download();
  const Outcome expected = call.outcome();
  for (const Side side : {Side::kA, Side::kB}) {
    const Status status = call.prepare(side);
    EXPECT_TRUE(status.ok()) << line << ": " << status.reason();
    if (!status.ok()) return {};
    EXPECT_EQ(call.kept(side).operand->side(), side);
    EXPECT_EQ(call.kept(side).operand->size_bytes(), call.kept(side).memory.size());
  }
  const std::vector<std::byte> kept_a = call.kept(Side::kA).memory.download();
  const std::vector<std::byte> kept_b = call.kept(Side::kB).memory.download();
  for (const Sides& sides : kSides) {
    const std::string what = line + ", prepared " + sides.name;
    call.x.c.upload(stored(host.c));
    const Status status = call.run(sides);
    EXPECT_TRUE(status.ok()) << what << ": " << status.reason();
    if (!status.ok()) continue;
    expect_same(call.x.c.download(), want, what);
    const Outcome got = call.outcome();
    EXPECT_EQ(got.scheme, expected.scheme) << what;
    EXPECT_EQ(got.variant, expected.variant) << what;
    EXPECT_EQ(got.rung, expected.rung) << what;
    EXPECT_EQ(got.moduli, expected.moduli) << what;
    EXPECT_EQ(got.equilibrated, expected.equilibrated) << what;
    EXPECT_EQ(got.repaired, expected.repaired) << what;
    EXPECT_EQ(got.nonfinite_rows, expected.nonfinite_rows) << what;
    EXPECT_EQ(got.nonfinite_cols, expected.nonfinite_cols) << what;
    EXPECT_EQ(got.bound, expected.bound) << what;
  }
  EXPECT_TRUE(call.guards_are_intact()) << line;
  EXPECT_TRUE(kept_a == call.kept(Side::kA).memory.download()) << line << ": a call wrote what is kept of A";
  EXPECT_TRUE(kept_b == call.kept(Side::kB).memory.download()) << line << ": a call wrote what is kept of B";
  return expected;
}

Outcome expect_bits_of_fresh(const std::string& line, EngineName engine, bool may_sync = false) {
  const Case c = case_of(line);
  Policy policy = device_policy(c, engine);
  policy.may_sync = may_sync;
  return with_scalar(c.scalar, [&]<class T>() { return expect_bits_of_fresh<T>(c, planned_by(c, policy)); });
}

TEST_F(PreparedCall, GivesTheBitsOfAFreshCall) {
  for (const EngineName engine : device_engines()) {
    for (const char* line : {"d nn 130x70x300", "d tn 67x129x1000 a=-2 b=0.5 ld+2", "d nt 40x37x100 layout=row b=1",
                             "d tt 300x260x257 moduli=9", "d nn 200x180x130 gauge=norm", "s nn 131x70x257 a=0.5",
                             "s tt 90x140x64 b=-1 ld+1", "z nc 70x66x150 a=1.5-2i b=0.25+1i",
                             "z rt 67x50x65 a=-2+1i ld+2", "z nn 66x40x130 moduli=18", "c cn 61x70x130 a=1i",
                             "c rr 80x30x64 b=1 layout=row", "d nn 1x1x1", "d nn 5x200x64", "z tn 200x3x40"}) {
      expect_bits_of_fresh(line, engine);
    }
  }
}

// Where the lowest rung is not enough, planes are made of the matrix, with the waiting host and without.
TEST_F(PreparedCall, FollowsTheElementsWhereverTheyLead) {
  for (const bool may_sync : {false, true}) {
    for (const EngineName engine : device_engines()) {
      const auto expect = [&](const std::string& line) { return expect_bits_of_fresh(line, engine, may_sync); };
      const bool has_ladder = engine != EngineName::kCublasLt || may_sync;
      const Outcome higher = expect("d nn 120x110x300 A=exprand:phi=3 B=exprand:phi=3");
      EXPECT_TRUE(!has_ladder || higher.rung > 0);
      EXPECT_TRUE(expect("d nn 200x200x400 A=grade:inner,span=400 B=grade:inner,span=400").equilibrated);
      EXPECT_EQ(expect("d nt 100x90x70 A=exp_rand:a=-500,b=500 B=exp_rand:a=-500,b=500 b=2").rung, -1);
      EXPECT_EQ(expect("d nn 90x80x200 A=randn,nan@middle b=1").nonfinite_rows, 1);
      EXPECT_EQ(expect("z cn 60x80x64 B=randn,inf@2:3").nonfinite_cols, 1);
      const Outcome complex = expect("z nn 60x58x300 A=exprand:phi=3 B=exprand:phi=3 a=1-1i b=0.5i");
      EXPECT_TRUE(!has_ladder || complex.rung != 0);
      expect("s nn 120x118x64 A=evil:span=200 B=evil:span=200");
      expect("c nr 90x80x200 A=exprand:phi=2 B=exprand:phi=2");
    }
  }
  EXPECT_GT(expect_bits_of_fresh("d nn 700x650x900 A=exprand:phi=2.5 B=exprand:phi=2.5", own_engine()).rung, 0);
}

TEST_F(PreparedCall, OfLongLinesAndInChunks) {
  for (const EngineName engine : device_engines()) {
    expect_bits_of_fresh("d tn 20x18x20000", engine);  // one pass does not take such lines
    expect_bits_of_fresh("d nn 33x18x140000", engine);
    expect_bits_of_fresh("z nn 9x8x80000 A=exprand:phi=2", engine);
  }
  for (const char* elements : {"", " A=exprand:phi=3 B=exprand:phi=3"}) {
    for (const char* shape : {"d nn 700x650x900", "z nt 700x650x900"}) {
      Case c = case_of(std::string(shape) + elements);
      c.policy.workspace_limit_bytes = std::size_t{40} << 20;
      with_scalar(c.scalar, [&]<class T>() {
        for (const EngineName engine : device_engines())
          expect_bits_of_fresh<T>(c, planned_by(c, device_policy(c, engine)));
      });
    }
  }
}

Plan ec_plan(const Case& c, EcVariant variant = EcVariant::kAuto, bool takes_profiles = false) {
  Policy policy = c.policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  policy.ec.variant = variant;
  if (!takes_profiles) return planned_by(c, policy);
  plan::Plan plan = planned(c, policy);
  plan::edit_stage<ec::EcStage>(plan).numerics.takes_profiles = true;
  return Plan(std::make_shared<const plan::Plan>(plan));
}
template <class Expect>
void with_single(const Case& c, const Expect& expect) {
  if (c.scalar == Scalar::kF32) expect.template operator()<float>();
  if (c.scalar == Scalar::kC64) expect.template operator()<std::complex<float>>();
}

// Long lines across memory, short ones along it, C in both layouts: then the kernels exchange the operands.
TEST_F(PreparedCall, OfSchemeEcInEveryLayout) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  for (const char scalar : {'s', 'c'}) {
    for (const char* ops : {"nn", "nt", "tn", "tt", "cn", "rc"}) {
      for (const char* rest :
           {" 133x40x129 a=0.5 b=-2 ld+3", " 133x40x129 layout=row b=1", " 20x35x9000", " 1x70x64"}) {
        const Case c = case_of(std::string(1, scalar) + " " + ops + rest);
        with_single(c, [&]<class T>() { expect_bits_of_fresh<T>(c, ec_plan(c)); });
      }
    }
  }
}

TEST_F(PreparedCall, OfSchemeEcInEveryRange) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  const std::pair<const char*, EcVariant> kClasses[] = {
      {"A=randn B=randn", EcVariant::kScaled},
      {"A=exp_rand:a=-15,b=15 B=exp_rand:a=-15,b=15", EcVariant::kScaledTf32},
      {"A=exp_rand:a=-60,b=60 B=randn", EcVariant::kScaledTf32},
      {"A=randn,nan@middle B=randn,inf@edge", EcVariant::kScaled},
      {"A=exp_rand:a=-60,b=60,nan@middle B=exp_rand:a=-60,b=60", EcVariant::kScaledTf32},
      {"A=exp_rand:a=-126,b=120 B=exp_rand:a=-126,b=120", EcVariant::kAuto},
      {"A=randn B=randn a=0", EcVariant::kAuto},
  };
  for (const auto& [classes, variant] : kClasses) {
    for (const char* shape : {"s nn 150x141x300 b=1 ", "s tn 150x141x300 layout=row ", "c nt 50x41x300 b=0.5 "}) {
      const Case c = case_of(std::string(shape) + classes);
      with_single(c, [&]<class T>() {
        EXPECT_EQ(expect_bits_of_fresh<T>(c, ec_plan(c)).variant, variant) << check::print(c);
        expect_bits_of_fresh<T>(c, ec_plan(c, EcVariant::kScaledTf32));
      });
    }
  }
}

// What flags alone leave to TF32 is answered by FP16 with kept planes too.
TEST_F(PreparedCall, OfSchemeEcWithProfiles) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  for (const auto& [classes, variant] : {std::pair{"A=exprand:phi=1.75 B=exprand:phi=1.75", EcVariant::kScaled},
                                         {"A=exprand:phi=4 B=exprand:phi=4", EcVariant::kScaledTf32}}) {
    for (const char* shape : {"s nn 70x65x1024 b=1 ", "s nt 64x64x1024 layout=row ", "c tc 33x40x700 b=1 ld+1 "}) {
      const Case c = case_of(std::string(shape) + classes);
      with_single(c, [&]<class T>() {
        EXPECT_EQ(expect_bits_of_fresh<T>(c, ec_plan(c, EcVariant::kAuto, true)).variant, variant) << check::print(c);
      });
    }
  }
}

TEST_F(PreparedCall, WithFactorsThatLeaveNothingOrAreNotFinite) {
  for (const char* factors : {"a=0 b=2", "a=nan b=1", "a=inf b=0"})
    expect_bits_of_fresh(std::string("d nn 70x60x50 ") + factors, own_engine());
}

// What is prepared serves other plans of equal numerics: the other operand may be of any extent.
TEST_F(PreparedCall, ServesPlansWithOtherLinesOnTheOtherSide) {
  const Case wide = case_of("d nn 150x140x200");
  const Case narrow = case_of("d nn 150x16x200");
  const Policy policy = device_policy(wide, own_engine());
  const std::vector<double> want = multiply<double>(narrow, policy).c;
  const check::Operands<double> host(narrow, api_test::kThreads);
  const DeviceOperands<double> x(host);
  const Plan made_by = cuda::make_plan(wide.scalar, wide.m, wide.n, wide.k, policy).value();
  const Plan plan = cuda::make_plan(narrow.scalar, narrow.m, narrow.n, narrow.k, policy).value();
  const device::DeviceProblem<double> p = device_problem<double>(narrow, x.a.data(), x.b.data(), x.c.data());
  std::optional<cuda::PreparedOperand> kept;
  {
    Result<cuda::PreparedOperand> first = cuda::prepare<double>(made_by, Side::kA, p.a, nullptr);  // in its own memory
    ASSERT_TRUE(first.ok()) << first.status().reason();
    kept.emplace(std::move(first).value());
  }
  const cuda::PreparedOperand copy = *kept;
  kept.reset();  // the copy holds the memory
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  const Status status =
      cuda::run_prepared<double>(plan, p.alpha, copy, p.b, p.beta, p.c, {workspace.data(), workspace.size()}, nullptr);
  ASSERT_TRUE(status.ok()) << status.reason();
  expect_same(x.c.download(), want, "narrow");
}

// What is kept of an operand does not depend on its address: calls that need more read the matrix where it is by then. The
// workspace is the library's.
TEST_F(PreparedCall, ReadsTheMatrixWhereACallSaysThatItIs) {
  for (const char* line : {"d nn 150x90x300", "d nn 200x90x300 A=exprand:phi=3 B=exprand:phi=3",
                           "d nn 60x50x200 A=randn,nan@middle C=randn"}) {
    const Case c = case_of(line);
    const Policy policy = device_policy(c, own_engine());
    const std::vector<double> want = multiply<double>(c, policy).c;
    const check::Operands<double> host(c, api_test::kThreads);
    DeviceOperands<double> before(host);
    const DeviceOperands<double> x(host);
    const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy).value();
    const device::DeviceProblem<double> old =
        device_problem<double>(c, before.a.data(), before.b.data(), before.c.data());
    const device::DeviceProblem<double> p = device_problem<double>(c, x.a.data(), x.b.data(), x.c.data());
    const cuda::PreparedOperand kept = cuda::prepare<double>(plan, Side::kA, old.a, nullptr).value();
    check(cudaDeviceSynchronize(), "prepared");
    before.a.upload(std::vector<double>(stored(host.a).size(), 7.0));
    const Status status =
        cuda::run_prepared<double>(plan, p.alpha, cuda::Operand<double>(kept, p.a), p.b, p.beta, p.c, nullptr);
    ASSERT_TRUE(status.ok()) << line << ": " << status.reason();
    expect_same(x.c.download(), want, line);
  }
}

/// Kernels of a captured call by name, with the blocks of all their launches.
struct Kernels {
  std::map<std::string, std::int64_t> blocks;
  std::size_t count = 0;

  [[nodiscard]] std::int64_t blocks_of(const std::string& part) const {
    std::int64_t sum = 0;
    for (const auto& [name, number] : blocks) {
      if (name.find(part) != std::string::npos) sum += number;
    }
    return sum;
  }
};
template <class Enqueue>
[[nodiscard]] Kernels captured(const Enqueue& enqueue) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = enqueue(stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end of capture");
  EXPECT_TRUE(status.ok()) << status.reason();
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), "nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count), "nodes");
  Kernels kernels;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type), "node");
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams parameters{};
    check(cudaGraphKernelNodeGetParams(node, &parameters), "kernel");
    const char* name = nullptr;
    check(cudaFuncGetName(&name, parameters.func), "name");
    kernels.blocks[name] += parameters.gridDim.x;
    ++kernels.count;
  }
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
  return kernels;
}

TEST_F(PreparedCall, SplitsOnlyWhatIsNotPrepared) {
  for (const char* line : {"d nn 300x140x400", "z nn 300x140x400", "s tn 300x140x400", "c nt 300x140x400",
                           "d nn 300x140x4000", "z nt 300x140x4000", "s nn 300x140x4000", "c tn 300x140x4000"}) {
    const Case c = case_of(line);
    with_scalar(c.scalar, [&]<class T>() {
      const check::Operands<T> host(c, api_test::kThreads);
      Call<T> call(c, planned_by(c, device_policy(c, own_engine())), host);
      const Kernels of_a = captured([&](cudaStream_t stream) { return call.prepare(Side::kA, stream); });
      const Kernels of_b = captured([&](cudaStream_t stream) { return call.prepare(Side::kB, stream); });
      const Kernels fresh = captured([&](cudaStream_t stream) { return call.run(stream); });
      const Kernels with_a = captured([&](cudaStream_t stream) { return call.run({true, false, ""}, stream); });
      const Kernels with_b = captured([&](cudaStream_t stream) { return call.run({false, true, ""}, stream); });
      const Kernels with_both = captured([&](cudaStream_t stream) { return call.run({true, true, ""}, stream); });
      constexpr const char* kSplit = "single_pass";
      EXPECT_GT(of_a.blocks_of(kSplit), of_b.blocks_of(kSplit)) << line;
      EXPECT_GT(of_b.blocks_of(kSplit), 0) << line;
      EXPECT_EQ(fresh.blocks_of(kSplit), of_a.blocks_of(kSplit) + of_b.blocks_of(kSplit)) << line;
      EXPECT_EQ(with_a.blocks_of(kSplit), of_b.blocks_of(kSplit)) << line;
      EXPECT_EQ(with_b.blocks_of(kSplit), of_a.blocks_of(kSplit)) << line;
      EXPECT_EQ(with_both.blocks_of(kSplit), 0) << line;
      // Nobody reads an operand for its statistics alone.
      for (const Kernels* kernels : {&of_a, &of_b, &fresh, &with_a, &with_b, &with_both})
        EXPECT_EQ(kernels->blocks_of("statistics_"), 0) << line;
      // What is kept is adopted by one kernel, and multiplied by one more product than there may be otherwise.
      EXPECT_EQ(with_a.count, fresh.count + 2) << line;
      EXPECT_EQ(with_both.count, fresh.count + 1) << line;
    });
  }
}

TEST_F(PreparedCall, OfSchemeEcSplitsOnlyWhatIsNotPrepared) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  for (const char* line : {"s nn 300x140x400", "c nt 300x140x400"}) {
    const Case c = case_of(line);
    with_single(c, [&]<class T>() {
      const check::Operands<T> host(c, api_test::kThreads);
      Call<T> call(c, ec_plan(c), host);
      const Kernels of_a = captured([&](cudaStream_t stream) { return call.prepare(Side::kA, stream); });
      const Kernels of_b = captured([&](cudaStream_t stream) { return call.prepare(Side::kB, stream); });
      const Kernels fresh = captured([&](cudaStream_t stream) { return call.run(stream); });
      const Kernels with_a = captured([&](cudaStream_t stream) { return call.run({true, false, ""}, stream); });
      const Kernels with_b = captured([&](cudaStream_t stream) { return call.run({false, true, ""}, stream); });
      const Kernels with_both = captured([&](cudaStream_t stream) { return call.run({true, true, ""}, stream); });
      constexpr const char* kSplit = "split_ec";
      EXPECT_GT(of_a.blocks_of(kSplit), 0) << line;
      EXPECT_GT(of_b.blocks_of(kSplit), 0) << line;
      // A complex operand is prepared for either layout of C.
      EXPECT_TRUE(kIsComplex<T> ? with_b.blocks_of(kSplit) < of_a.blocks_of(kSplit)
                                : with_b.blocks_of(kSplit) == of_a.blocks_of(kSplit))
          << line;
      EXPECT_LT(with_a.blocks_of(kSplit), fresh.blocks_of(kSplit)) << line;
      EXPECT_LT(with_b.blocks_of(kSplit), fresh.blocks_of(kSplit)) << line;
      EXPECT_EQ(with_both.blocks_of(kSplit), 0) << line;
      EXPECT_EQ(with_a.count, fresh.count + 2) << line;
      EXPECT_EQ(with_both.count, fresh.count + 1) << line;
    });
  }
}

TEST_F(PreparedCall, IsCapturedAndReplayedWithOtherElements) {
  const std::string shape = "d nn 150x140x300 b=1 ";
  const Case first = case_of(shape + "seed=1");
  const Policy policy = device_policy(first, own_engine());
  const check::Operands<double> host(first, api_test::kThreads);
  Call<double> call(first, planned_by(first, policy), host);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  Status status = call.prepare(Side::kA, stream);  // the graph prepares again at each replay
  if (status.ok()) status = call.run({true, false, ""}, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "end of capture");
  ASSERT_TRUE(status.ok()) << status.reason();
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  for (const char* classes : {"seed=1", "A=exprand:phi=3 B=exprand:phi=3", "A=randn,nan@middle", "seed=2"}) {
    const Case c = case_of(shape + classes);
    const check::Operands<double> other(c, api_test::kThreads);
    call.x.a.upload(stored(other.a));
    call.x.b.upload(stored(other.b));
    call.x.c.upload(stored(other.c));
    check(cudaGraphLaunch(executable, stream), "replay");
    check(cudaStreamSynchronize(stream), "replay");
    expect_same(call.x.c.download(), multiply<double>(c, policy).c, classes);
  }
  check(cudaGraphExecDestroy(executable), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaStreamDestroy(stream), "stream");
}

TEST_F(PreparedCall, OneOperandServesSeveralThreadsAndStreamsAtATime) {
  for (const char* line : {"d nn 320x330x400", "d nn 200x90x300 A=exprand:phi=3 B=exprand:phi=3"}) {
    const Case c = case_of(line);
    const Policy policy = device_policy(c, own_engine());
    const std::vector<double> want = multiply<double>(c, policy).c;
    const check::Operands<double> host(c, api_test::kThreads);
    const DeviceOperands<double> shared(host);
    const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy).value();
    const device::DeviceProblem<double> p =
        device_problem<double>(c, shared.a.data(), shared.b.data(), shared.c.data());
    const cuda::PreparedOperand kept = cuda::prepare<double>(plan, Side::kA, p.a, nullptr).value();
    check(cudaDeviceSynchronize(), "prepared");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
        DeviceOperands<double> x(host);
        const DeviceArray<std::byte> workspace(plan.workspace_bytes());
        for (int round = 0; round < 5; ++round) {
          x.c.upload(stored(host.c));
          const device::DeviceProblem<double> own = device_problem<double>(c, x.a.data(), x.b.data(), x.c.data());
          const Status status = cuda::run_prepared<double>(plan, own.alpha, kept, own.b, own.beta, own.c,
                                                           {workspace.data(), workspace.size()}, stream);
          EXPECT_TRUE(status.ok()) << status.reason();
          check(cudaStreamSynchronize(stream), "stream");
          expect_same(x.c.download(), want, line);
        }
        check(cudaStreamDestroy(stream), "stream");
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(PreparedCall, WaitsWhereItMayAndRejectsNaN) {
  Case c = case_of("d nn 60x50x200 A=randn,nan@middle C=randn");
  c.policy.reject_nonfinite = true;
  Policy policy = device_policy(c, own_engine());
  policy.may_sync = true;
  const check::Operands<double> host(c, api_test::kThreads);
  Call<double> call(c, planned_by(c, policy), host);
  ASSERT_TRUE(call.prepare(Side::kA).ok());  // the call refuses, as with the matrix
  const Status status = call.run({true, false, ""});
  EXPECT_EQ(status.code(), StatusCode::kNonFinite) << status.reason();
  expect_same(call.x.c.download(), stored(host.c), "untouched");
}

TEST_F(PreparedCall, IsRefusedWithTheArgumentTheValueAndTheLimit) {
  const Case c = case_of("d nn 64x48x80 C=randn");
  const Policy policy = device_policy(c, own_engine());
  const check::Operands<double> host(c, api_test::kThreads);
  Call<double> call(c, planned_by(c, policy), host);
  const device::DeviceProblem<double> p = device_problem<double>(c, call.x.a.data(), call.x.b.data(), call.x.c.data());
  const auto expect = [&](const Status& status, StatusCode code, const std::string& words) {
    EXPECT_EQ(status.code(), code) << status.reason();
    EXPECT_NE(status.reason().find(words), std::string::npos) << status.reason();
  };
  const std::span<std::byte> memory(call.kept(Side::kA).memory.data(), call.kept(Side::kA).memory.size());
  expect(cuda::prepare<double>(call.plan(), Side::kA, p.a, memory.subspan(64), nullptr).status(),
         StatusCode::kInvalidArgument, "must be >= " + std::to_string(memory.size()));
  expect(cuda::prepare<double>(call.plan(), Side::kB, p.a, nullptr).status(), StatusCode::kInvalidArgument,
         "B is 64 x 80, must be 80 x 48");
  expect(cuda::prepare<float>(call.plan(), Side::kA, MatrixView<const float>{nullptr, 64, 80, 1, 64}, nullptr).status(),
         StatusCode::kInvalidArgument, "operand is f32, the plan is for f64");
  ASSERT_TRUE(call.prepare(Side::kA).ok());
  const cuda::PreparedOperand& kept = *call.kept(Side::kA).operand;
  const DeviceArray<std::byte> workspace(call.plan().workspace_bytes());
  const auto run = [&](const Plan& plan, const cuda::Operand<double>& a, const cuda::Operand<double>& b) {
    return cuda::run_prepared<double>(plan, p.alpha, a, b, p.beta, p.c, {workspace.data(), workspace.size()}, nullptr);
  };
  expect(run(call.plan(), p.a, kept), StatusCode::kInvalidArgument, "was prepared as operand A, must be as B");
  const Plan other = cuda::make_plan(c.scalar, 63, c.n, c.k, policy).value();
  expect(run(other, kept, p.b), StatusCode::kInvalidArgument, "has 64 lines of 80, must be 63 of 80");
  Policy coarse = policy;
  coarse.accuracy = Accuracy::at_bits(30);
  expect(run(cuda::make_plan(c.scalar, c.m, c.n, c.k, coarse).value(), kept, p.b), StatusCode::kInvalidArgument,
         "by a plan of other numerics");
  for (const Scheme scheme : {Scheme::kNative, Scheme::kOzaki1}) {
    Policy named;
    named.scheme = scheme;
    named.reproducibility = Reproducibility::kNotGuaranteed;
    if (scheme == Scheme::kOzaki1) named.slices.num_slices = 7;
    const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, named);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    expect(cuda::prepared_bytes(plan.value(), Side::kA).status(), StatusCode::kUnsupported,
           "scheme " + std::string(to_string(scheme)));
    expect(run(plan.value(), kept, p.b), StatusCode::kUnsupported, "ask for scheme ozaki2");
  }
  expect_same(call.x.c.download(), stored(host.c), "untouched");
}

}  // namespace
}  // namespace kizami::gpu_test
