// SPDX-License-Identifier: MIT
// alpha = NaN or Inf in host or device memory: every element has the sign of the exact product, as on the host, also
// where it cancels far below every bound, and beta C counts as it was before the call.
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/device_case.hpp"

namespace kizami::gpu_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kM = 33, kN = 18, kK = 70;

template <class T>
[[nodiscard]] T element(double re, double im) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<RealOf<T>>(re), static_cast<RealOf<T>>(im));
  } else {
    return static_cast<T>(re);
  }
}

/// Rows that cancel but for a tiny number of either sign, or for nothing; every seventh row and ninth column is not
/// finite.
template <class T>
struct Matrices {
  std::vector<T> a = std::vector<T>(kM * kK);
  std::vector<T> b = std::vector<T>(kK * kN, element<T>(1, 0));
  std::vector<T> c = std::vector<T>(kM * kN);

  Matrices() {
    constexpr bool kIsSingle = std::is_same_v<RealOf<T>, float>;
    const double large = 0x1p60, tiny = kIsSingle ? 0x1p-100 : 0x1p-300;
    const double rests[] = {tiny, -tiny, 0.0};
    for (std::int64_t i = 0; i < kM; ++i) {
      const auto at = [&](std::int64_t h) -> T& { return a[static_cast<std::size_t>(i + h * kM)]; };
      at(i % 5) = element<T>(large, -large);
      at(kK - 1 - i % 7) = element<T>(-large, large);
      at(20) = element<T>(rests[i % 3], rests[(i + 1) % 3]);
      if (i % 7 == 6) at(30) = element<T>(i % 2 == 0 ? kInf : kNan, 1);
    }
    for (std::int64_t j = 0; j < kN; ++j) {
      if (j % 9 == 8) b[static_cast<std::size_t>(3 + j * kK)] = element<T>(-kInf, 0);
    }
    const double old[] = {1, kInf, -kInf, kNan, -3};
    for (std::size_t x = 0; x < c.size(); ++x) c[x] = element<T>(old[x % 5], old[x / 5 % 5]);
  }
};

template <class T>
void expect_host_bits(const Policy& on_device, const std::string& what) {
  const Matrices<T> x;
  const DeviceArray<T> a(x.a), b(x.b);
  Policy on_host;
  on_host.scheme = Scheme::kOzaki2;
  std::vector<T> alphas = {element<T>(kInf, 0), element<T>(-kInf, 0), element<T>(kNan, 0)};
  if (kIsComplex<T>) alphas.insert(alphas.end(), {element<T>(0, kInf), element<T>(-kInf, kInf), element<T>(2, kNan)});
  for (const T alpha : alphas) {
    for (const T beta : {element<T>(0, 0), element<T>(2, 0), element<T>(-kInf, 0)}) {
      std::vector<T> want = x.c;
      ASSERT_TRUE(gemm<T>(Layout::kColMajor, Op::kNone, Op::kNone, kM, kN, kK, alpha, x.a.data(), kM, x.b.data(), kK,
                          beta, want.data(), kM, on_host)
                      .ok());
      const DeviceArray<T> factors(std::vector<T>{alpha, beta});
      for (const bool is_told : {true, false}) {
        const Factor<T> alpha_at = is_told ? Factor<T>(alpha) : Factor<T>::at(factors.data());
        const Factor<T> beta_at = is_told ? Factor<T>(beta) : Factor<T>::at(factors.data() + 1);
        const std::string where = what + (is_told ? ", alpha in host memory" : ", alpha in device memory");
        const DeviceArray<T> c(x.c);
        Outcome outcome;
        const Status status = cuda::gemm<T>(nullptr, Layout::kColMajor, Op::kNone, Op::kNone, kM, kN, kK, alpha_at,
                                            a.data(), kM, b.data(), kK, beta_at, c.data(), kM, on_device, &outcome);
        ASSERT_TRUE(status.ok()) << where << ": " << status.reason();
        EXPECT_EQ(outcome.nonfinite_rows, 4) << where;
        EXPECT_EQ(outcome.nonfinite_cols, 2) << where;
        expect_same(c.download(), want, where);
        EXPECT_TRUE(c.guards_are_intact()) << where;
      }
    }
  }
}

class NonFiniteAlphaOnDevice : public DeviceTest {};

template <class T>
void expect_all_schemes(const std::string& type) {
  for (const EngineName engine : device_engines()) {
    for (const bool may_sync : {false, true}) {
      Policy policy;
      policy.scheme = Scheme::kOzaki2;
      policy.engine = engine;
      policy.may_sync = may_sync;
      expect_host_bits<T>(policy, type + ", ozaki2 on " + std::string(to_string(engine)));
    }
  }
  Policy sliced;
  sliced.scheme = Scheme::kOzaki1;
  sliced.slices.num_slices = 3;
  for (const EngineName engine : {own_engine(), EngineName::kCublasLt}) {
    sliced.engine = engine;
    expect_host_bits<T>(sliced, type + ", ozaki1 on " + std::string(to_string(engine)));
  }
  if (!kIsComplex<T> && has_hopper()) {
    sliced.engine = EngineName::kHopper;
    sliced.slices.sums = SliceSums::kFused;
    expect_host_bits<T>(sliced, type + ", ozaki1, fused");
  }
  if (std::is_same_v<RealOf<T>, float> && has_hopper()) {
    Policy ec;
    ec.scheme = Scheme::kEc;
    ec.reproducibility = Reproducibility::kNotGuaranteed;
    expect_host_bits<T>(ec, type + ", ec");
  }
}
TEST_F(NonFiniteAlphaOnDevice, TakesTheSignOfTheExactProduct32) { expect_all_schemes<float>("f32"); }
TEST_F(NonFiniteAlphaOnDevice, TakesTheSignOfTheExactProduct64) { expect_all_schemes<double>("f64"); }
TEST_F(NonFiniteAlphaOnDevice, TakesTheSignOfTheExactProductComplex32) {
  expect_all_schemes<std::complex<float>>("c64");
}
TEST_F(NonFiniteAlphaOnDevice, TakesTheSignOfTheExactProductComplex64) {
  expect_all_schemes<std::complex<double>>("c128");
}

/// The device decides at each run: one graph, whose alpha is now finite and now not.
TEST_F(NonFiniteAlphaOnDevice, IsReadAtEachRunOfAGraph) {
  const Matrices<double> x;
  const DeviceArray<double> a(x.a), b(x.b), c(x.c);
  DeviceArray<double> alpha(1);
  Policy policy;
  policy.scheme = Scheme::kOzaki2;
  const auto multiply = [&](cudaStream_t stream) {
    return cuda::gemm<double>(stream, Layout::kColMajor, Op::kNone, Op::kNone, kM, kN, kK,
                              Factor<double>::at(alpha.data()), a.data(), kM, b.data(), kK, 2.0, c.data(), kM, policy);
  };
  alpha.upload({1});
  ASSERT_TRUE(multiply(nullptr).ok());  // kernels and tables are loaded
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  const Status captured = multiply(stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  ASSERT_TRUE(captured.ok()) << captured.reason();
  cudaGraphExec_t instance = nullptr;
  check(cudaGraphInstantiate(&instance, graph, 0), "cudaGraphInstantiate");
  const DeviceArray<double> before(x.c);
  for (const double value : {kInf, 2.0, -kInf, 0.0, kNan, -1.0}) {
    std::vector<double> want = x.c;
    ASSERT_TRUE(gemm<double>(Layout::kColMajor, Op::kNone, Op::kNone, kM, kN, kK, value, x.a.data(), kM, x.b.data(), kK,
                             2.0, want.data(), kM, policy)
                    .ok());
    alpha.upload({value});
    check(cudaMemcpy(c.data(), before.data(), x.c.size() * sizeof(double), cudaMemcpyDeviceToDevice), "C as before");
    check(cudaDeviceSynchronize(), "C as before");
    check(cudaGraphLaunch(instance, stream), "cudaGraphLaunch");
    expect_same(c.download(), want, "alpha = " + std::to_string(value));
  }
  EXPECT_TRUE(c.guards_are_intact());
  check(cudaGraphExecDestroy(instance), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

/// By the grammar, where rungs and repairs are those of the host too.
TEST_F(NonFiniteAlphaOnDevice, HasTheOutcomeOfTheHost) {
  for (const EngineName engine : device_engines()) {
    for (const char* line :
         {"d nn 70x65x300 a=inf b=0.5 A=exprand:phi=3 B=exprand:phi=3", "z tn 40x37x100 a=-inf b=1 A=cancel B=cancel",
          "d nn 1x1x1 a=inf b=0", "s nt 130x3x2000 a=nan b=1", "d nn 60x61x90 a=inf b=0 A=exp_rand B=exp_rand"})
      expect_bits_of_host(line, engine);
  }
}

}  // namespace
}  // namespace kizami::gpu_test
