// SPDX-License-Identifier: MIT
// Whole products in device memory against the same products on the host: equal bits, equal outcomes.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "check/matrix_classes.hpp"
#include "gpu/device_case.hpp"
#include "gpu/sm90_test.hpp"
#include "schemes/ozaki2/device_buffers.hpp"

namespace kizami::gpu_test {
namespace {

class Product : public DeviceTest, public testing::WithParamInterface<EngineName> {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure() || GetParam() != EngineName::kHopper) return;
    if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(Product, OfEveryClass) {
  ASSERT_GE(check::class_inventory().size(), 38U);
  for (const check::ClassInfo& info : check::class_inventory()) {
    const std::string name(info.name);
    for (const char scalar : {'d', 's', 'z', 'c'}) {
      for (const char* other : {"randn", "same"}) {
        if (scalar != 'd' && other[0] == 's') continue;
        expect_bits_of_host(std::string(1, scalar) + " nn 67x45x260 A=" + name +
                                " B=" + (other[0] == 's' ? name : std::string(other)) + " seed=3",
                            GetParam());
      }
    }
  }
}

TEST_P(Product, OfEveryLayoutAndOp) {
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    for (const char* ops : {"nn", "nt", "tn", "tt", "cn", "nc", "rc", "cr"}) {
      for (const char* layout : {"col", "row"}) {
        expect_bits_of_host(std::string(1, scalar) + " " + ops + " 33x70x129 a=0.5 b=-2 ld+3 layout=" + layout,
                            GetParam());
      }
    }
  }
}

TEST_P(Product, OfOddShapes) {
  for (const char scalar : {'d', 'z'}) {
    for (const char* shape : {"1x1x1", "1x200x64", "200x1x65", "3x5x1", "17x130x2000", "127x129x63", "128x128x128",
                              "129x257x511", "300x2x4097", "2x300x1023", "65x64x3000"}) {
      expect_bits_of_host(std::string(1, scalar) + " tn " + shape, GetParam());
      expect_bits_of_host(std::string(1, scalar) + " nt " + shape + " b=1", GetParam());
    }
  }
}

TEST_P(Product, OfFactors) {
  int num_refused = 0;
  for (const char* factors : {"a=1 b=0", "a=-1 b=0", "a=1 b=1", "a=0.3 b=0", "a=1e200 b=1e-200", "a=0 b=2", "a=0 b=0",
                              "a=1 b=nan", "a=inf b=0", "a=-3 b=0.125"}) {
    for (const char scalar : {'d', 's', 'z', 'c'}) {
      const std::string line = std::string(1, scalar) + " nn 40x37x100 " + factors;
      if (!check::parse_case(line).ok()) {
        EXPECT_TRUE(scalar == 's' || scalar == 'c') << line;
        ++num_refused;
        continue;
      }
      expect_bits_of_host(line, GetParam());
    }
  }
  EXPECT_EQ(num_refused, 2);  // 1e200 is no factor in FP32
  expect_bits_of_host("z nn 40x37x100 a=1.5-2i b=0.25+1i", GetParam());
  expect_bits_of_host("c nn 40x37x100 a=0.5+3i b=-1+1i", GetParam());
}

TEST_P(Product, WithNonFiniteElements) {
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    for (const char* where :
         {"A=randn,nan@middle B=randn", "A=randn,inf@corner,-inf@last B=randn,inf@edge", "A=randn B=randn,nan@all",
          "A=zeros,inf@middle B=zeros", "A=randn,inf@middle B=grade:cols,nan@corner"}) {
      expect_bits_of_host(std::string(1, scalar) + " nn 50x41x150 b=1 " + where, GetParam());
    }
  }
}

TEST_P(Product, AtStatedAccuracies) {
  for (const char* accuracy : {"accuracy=bits=20", "accuracy=bits=40", "accuracy=bits=52",
                               "accuracy=bits=30 gauge=norm", "accuracy=native gauge=norm"}) {
    for (const char* cls : {"randn", "exprand:phi=2", "grade:inner"}) {
      expect_bits_of_host(std::string("d nn 70x60x300 ") + accuracy + " A=" + cls + " B=" + cls, GetParam());
      expect_bits_of_host(std::string("z nt 40x30x300 ") + accuracy + " A=" + cls + " B=" + cls, GetParam());
    }
  }
}

TEST_P(Product, AtEveryCountOfModuli) {
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    const int most = scalar == 'd' || scalar == 's' ? 49 : 27;
    for (int count = 6; count <= most; ++count) {
      Case c = case_of(std::string(1, scalar) + " nt 37x66x150 A=exprand:phi=1 B=randn");
      c.policy.forced_moduli = count;
      with_scalar(c.scalar, [&]<class T>() { expect_bits_of_host<T>(c, GetParam(), false); });
    }
  }
}

TEST_P(Product, ClimbsTheLadderAsTheHostDoes) {
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    for (const char* classes :
         {"A=exprand:phi=1 B=exprand:phi=1", "A=exprand:phi=2 B=exprand:phi=2", "A=exprand:phi=4 B=exprand:phi=4",
          "A=exprand:phi=8 B=randn", "A=grade:inner B=grade:inner", "A=grade:cols B=grade:rows", "A=lower B=upper",
          "A=banded B=identity", "A=cancel B=cancel", "A=evil B=evil", "A=huge B=randn"}) {
      const std::string line = std::string(1, scalar) + " nn 150x140x520 b=0.5 " + classes;
      expect_bits_of_host(line, GetParam(), true);
      expect_bits_of_host(line, GetParam(), false);
    }
  }
}

TEST_P(Product, WithinAnyWorkspace) {
  for (const char scalar : {'d', 'z'}) {
    for (const char* classes : {"A=randn B=randn", "A=exprand:phi=3 B=exprand:phi=2"}) {
      Case c = case_of(std::string(1, scalar) + " nn 700x650x900 " + classes);
      with_scalar(c.scalar, [&]<class T>() {
        const DeviceResult<T> whole = multiply<T>(c, device_policy(c, GetParam()));
        for (const std::size_t megabytes : {64, 40, 32}) {
          Policy policy = device_policy(c, GetParam());
          policy.workspace_limit_bytes = megabytes << 20;
          const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
          const std::string what = check::print(c) + " in " + std::to_string(megabytes) + " MB";
          if (GetParam() == EngineName::kCublasLt && megabytes == 32) {  // all of it is scratch of the vendor's product
            EXPECT_EQ(plan.status().code(), StatusCode::kWorkspaceTooSmall) << what;
            continue;
          }
          ASSERT_TRUE(plan.ok()) << what << ": " << plan.status().reason();
          EXPECT_LE(plan.value().workspace_bytes(), policy.workspace_limit_bytes);
          expect_same(multiply<T>(c, policy).c, whole.c, what);
        }
      });
    }
  }
}

TEST_P(Product, PastOneBlockOfK) {
  expect_bits_of_host("d tn 20x18x140000", GetParam());
  expect_bits_of_host("d nt 5x7x600000 A=int:bits=20 B=int:bits=20", GetParam());
  expect_bits_of_host("z nn 9x8x80000", GetParam());
}

TEST_P(Product, ScaledByPowersOfTwoHasTheSameSignificands) {
  const Case c = case_of("d nn 60x50x300");
  const std::vector<double> plain = multiply<double>(c, device_policy(c, GetParam())).c;
  for (const char* power : {"300", "-300"}) {
    const Case scaled = case_of(std::string("d nn 60x50x300 A=randn,x2^") + power);
    std::vector<double> got = multiply<double>(scaled, device_policy(scaled, GetParam())).c;
    for (double& x : got) x = std::ldexp(x, -std::stoi(power));
    expect_same(got, plain, std::string("A times 2^") + power);
  }
}

INSTANTIATE_TEST_SUITE_P(, Product, testing::ValuesIn(kDeviceEngines),
                         [](const auto& engine) { return std::string(to_string(engine.param)); });

INSTANTIATE_TEST_SUITE_P(Portable, Product, testing::Values(EngineName::kMma),
                         [](const auto& engine) { return std::string(to_string(engine.param)); });

using Call = DeviceTest;

TEST_F(Call, GradedOperandsStayOutOfFp64) {
  for (const EngineName engine : device_engines()) {
    const Outcome outcome =
        expect_bits_of_host("d nn 200x200x400 A=grade:inner,span=400 B=grade:inner,span=400", engine);
    EXPECT_GE(outcome.rung, 0);
    EXPECT_TRUE(outcome.equilibrated);
  }
}

/// Some lines of op(A) and op(B) become zeros, others get a NaN.
template <class T>
void change_lines(check::Operands<T>& x) {
  constexpr auto kNaN = std::numeric_limits<RealOf<T>>::quiet_NaN();
  const MatrixView<T> a = x.a.view();
  const MatrixView<T> b = x.b.view();
  for (std::int64_t h = 0; h < a.cols; ++h) {
    for (std::int64_t i = 0; i < a.rows; i += 97) a(i, h) = T{0};
    for (std::int64_t j = 30; j < b.cols; j += 89) b(h, j) = T{0};
  }
  for (std::int64_t i = 50; i < a.rows; i += 401) a(i, i % a.cols) = T(kNaN);
  for (std::int64_t j = 7; j < b.cols; j += 503) b(j % b.rows, j) = T(kNaN);
}

/// Of large products repairs have a kernel of their own: lists that go by bands of lines of either operand, and one
/// that is longer than four times its lines.
TEST_F(Call, RepairsOfLargeProducts) {
  for (const char* line :
       {"z cr 2113x2001x301 a=1.5-2i b=0.25+1i ld+2 A=exprand:phi=3 B=exprand:phi=3 accuracy=bits=45",
        "z cr 2113x2001x101 a=1.5-2i b=0.25+1i ld+2 A=exprand:phi=2 B=exprand:phi=2 accuracy=bits=45",
        "c cc 2201x1931x401 a=0.5+3i b=-1+1i ld+2 A=exprand:phi=2 B=exprand:phi=2 accuracy=bits=15",
        "d nn 2213x1931x301 a=0.5 b=-1 ld+2 A=exprand:phi=3 B=exprand:phi=3 accuracy=bits=45"}) {
    const Case c = case_of(line);
    ASSERT_GE(c.m * c.n, ozaki2::kOwnRepairElements);
    const Outcome outcome = with_scalar(
        c.scalar, [&]<class T>() { return expect_bits_of_host<T>(c, own_engine(), false, change_lines<T>); });
    EXPECT_GE(outcome.rung, 0) << line;
    EXPECT_GT(outcome.repaired, 100) << line;
    EXPECT_GT(outcome.nonfinite_rows, 0) << line;
    EXPECT_GT(outcome.nonfinite_cols, 0) << line;
  }
}

TEST_F(Call, ReadsFactorsFromDeviceMemory) {
  for (const char* factors : {"a=0.5 b=-2", "a=0 b=3", "a=0 b=0", "a=1 b=0"}) {
    const Case c = case_of(std::string("d nn 40x37x100 ") + factors);
    const check::Operands<double> host(c, 1);
    const DeviceOperands<double> x(host);
    const DeviceArray<double> values(std::vector<double>{c.alpha, c.beta});
    const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, device_policy(c, EngineName::kAuto));
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
    ASSERT_TRUE(enqueue<double>(c, plan.value(), x, workspace, Factor<double>::at(values.data()),
                                Factor<double>::at(values.data() + 1), nullptr)
                    .ok());
    expect_same(x.c.download(), host_result<double>(c, 0).c, factors);
  }
}

/// A graph of one call, replayed with other elements: the rung follows the elements of each replay.
TEST_F(Call, IsCapturedAndReplayedWithOtherElements) {
  for (const EngineName engine : device_engines()) {
    const std::string shape = "d nn 150x140x300 b=1 ";
    const Case first = case_of(shape + "seed=1");
    const Result<Plan> plan = cuda::make_plan(first.scalar, first.m, first.n, first.k, device_policy(first, engine));
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const check::Operands<double> host(first, 2);
    DeviceOperands<double> x(host);
    const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    const Status status = enqueue<double>(first, plan.value(), x, workspace, 1.0, 1.0, stream);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "end of capture");
    ASSERT_TRUE(status.ok()) << status.reason();
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    for (const char* classes : {"seed=1", "seed=2", "A=exprand:phi=4 B=exprand:phi=4", "A=grade:inner B=grade:inner",
                                "A=randn,nan@middle", "seed=1"}) {
      const Case c = case_of(shape + classes);
      const check::Operands<double> other(c, 2);
      x.a.upload(stored(other.a));
      x.b.upload(stored(other.b));
      x.c.upload(stored(other.c));
      check(cudaGraphLaunch(executable, stream), "replay");
      check(cudaStreamSynchronize(stream), "replay");
      expect_same(x.c.download(), host_result<double>(c, engine == EngineName::kCublasLt ? 1 : 0).c, classes);
    }
    check(cudaGraphExecDestroy(executable), "graph");
    check(cudaGraphDestroy(graph), "graph");
    check(cudaStreamDestroy(stream), "stream");
  }
}

TEST_F(Call, FromSeveralThreadsOnSeveralStreams) {
  const std::vector<std::string> lines = {"d nn 120x130x400", "z tn 70x60x200", "s nt 200x90x300", "c nn 64x64x64",
                                          "d nn 100x100x100 A=exprand:phi=4 B=exprand:phi=4"};
  std::vector<std::thread> threads;
  for (const std::string& line : lines) {
    threads.emplace_back([line] {
      const Case c = case_of(line);
      with_scalar(c.scalar, [&]<class T>() {
        const std::vector<T> want = host_result<T>(c, 0).c;
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
        const check::Operands<T> host(c, 1);
        for (int round = 0; round < 5; ++round) {
          const DeviceOperands<T> x(host);
          const check::StoredShape a = check::stored_shape(c, check::Which::kA);
          const check::StoredShape b = check::stored_shape(c, check::Which::kB);
          const Status status =
              cuda::gemm<T>(stream, c.layout, c.op_a, c.op_b, c.m, c.n, c.k, check::alpha_of<T>(c), x.a.data(), a.ld,
                            x.b.data(), b.ld, check::beta_of<T>(c), x.c.data(),
                            check::stored_shape(c, check::Which::kC).ld, device_policy(c, EngineName::kAuto));
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

TEST_F(Call, WithoutTermsOrElementsScalesC) {
  struct Extents {
    std::int64_t m, n, k;
  };
  for (const EngineName engine : device_engines()) {
    for (const auto& [m, n, k] : {Extents{30, 20, 0}, Extents{0, 20, 30}, Extents{30, 0, 20}, Extents{0, 0, 0}}) {
      Policy policy;
      policy.scheme = Scheme::kOzaki2;
      policy.engine = engine;
      const std::string what = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
      std::vector<double> values(static_cast<std::size_t>(m * n));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0 + static_cast<double>(i);
      std::vector<double> want = values;
      for (double& x : want) x *= -0.5;
      const auto ld = [](std::int64_t rows) { return std::max<std::int64_t>(rows, 1); };
      const DeviceArray<double> a(static_cast<std::size_t>(m * k));
      const DeviceArray<double> b(static_cast<std::size_t>(k * n));

      const Result<Plan> plan = cuda::make_plan(Scalar::kF64, m, n, k, policy);
      ASSERT_TRUE(plan.ok()) << what << ": " << plan.status().reason();
      const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
      const std::span<std::byte> memory(workspace.data(), workspace.size());
      const DeviceArray<double> by_run(values);
      Status status = cuda::run<double>(plan.value(), 3.0, MatrixView<const double>{a.data(), m, k, 1, ld(m)},
                                        MatrixView<const double>{b.data(), k, n, 1, ld(k)}, -0.5,
                                        MatrixView<double>{by_run.data(), m, n, 1, ld(m)}, memory, nullptr);
      EXPECT_TRUE(status.ok()) << what << ": " << status.reason();
      const Result<Outcome> seen = cuda::read_outcome(plan.value(), memory, nullptr);
      ASSERT_TRUE(seen.ok()) << what << ": " << seen.status().reason();
      EXPECT_EQ(seen.value().engine, "none") << what;
      expect_same(by_run.download(), want, what + " by run");
      EXPECT_TRUE(by_run.guards_are_intact() && workspace.guards_are_intact()) << what;

      const DeviceArray<double> by_gemm(values);
      Outcome outcome;
      status = cuda::gemm<double>(nullptr, Layout::kColMajor, Op::kNone, Op::kNone, m, n, k, 3.0, a.data(), ld(m),
                                  b.data(), ld(k), -0.5, by_gemm.data(), ld(m), policy, &outcome);
      EXPECT_TRUE(status.ok()) << what << ": " << status.reason();
      EXPECT_EQ(outcome.nonfinite_rows, 0) << what;
      expect_same(by_gemm.download(), want, what + " by gemm");
      EXPECT_TRUE(by_gemm.guards_are_intact()) << what;
    }
  }
}

TEST_F(Call, RefusesWithoutTouchingC) {
  const Case c = case_of("d nn 30x30x30");
  const check::Operands<double> host(c, 1);
  const DeviceOperands<double> x(host);
  const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, device_policy(c, EngineName::kAuto));
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const DeviceArray<std::byte> small(plan.value().workspace_bytes() - 1);
  EXPECT_EQ(enqueue<double>(c, plan.value(), x, small, 1.0, 0.0, nullptr).code(), StatusCode::kInvalidArgument);
  const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
  const MatrixView<const double> a{x.a.data(), 30, 30, 1, 30};
  const std::span<std::byte> memory(workspace.data(), workspace.size());
  EXPECT_EQ(
      cuda::run<double>(plan.value(), 1.0, a, a, 0.0, MatrixView<double>{x.a.data(), 30, 30, 1, 30}, memory, nullptr)
          .code(),
      StatusCode::kInvalidArgument);
  EXPECT_EQ(
      cuda::run<double>(plan.value(), 1.0, a, a, 0.0, MatrixView<double>{x.c.data(), 29, 30, 1, 30}, memory, nullptr)
          .code(),
      StatusCode::kInvalidArgument);
  expect_same(x.c.download(), stored(host.c), "C after refusals");
  for (const auto& change : std::vector<void (*)(Policy&)>{
           [](Policy& p) { p.accuracy = Accuracy::correct(); }, [](Policy& p) { p.reject_nonfinite = true; },
           [](Policy& p) { p.allow_fp64_arithmetic = false; }, [](Policy& p) { p.engine = EngineName::kCpuSimd; }}) {
    Policy policy = device_policy(c, EngineName::kAuto);
    change(policy);
    const Result<Plan> refused = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
    EXPECT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported) << refused.status().reason();
  }
}

TEST_F(Call, WaitsWhereItMayAndRefusesWhatOnlyTheElementsTell) {
  const Case c = case_of("d nn 60x50x200 A=randn,nan@middle");
  Policy policy = device_policy(c, EngineName::kAuto);
  policy.may_sync = true;
  policy.reject_nonfinite = true;
  const check::Operands<double> host(c, 1);
  const DeviceOperands<double> x(host);
  const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy);
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
  EXPECT_EQ(enqueue<double>(c, plan.value(), x, workspace, 1.0, 0.0, nullptr).code(), StatusCode::kNonFinite);
  expect_same(x.c.download(), stored(host.c), "C after a refusal");
}

}  // namespace
}  // namespace kizami::gpu_test
