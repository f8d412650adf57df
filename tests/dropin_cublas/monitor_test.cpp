// SPDX-License-Identifier: MIT
// The monitor mode: what it copies, when it waits, what it says. Products are of small integers, and so without error.
#include <cmath>
#include <limits>

#include "dropin_cublas/computing.hpp"
#include "dropin_cublas/process.hpp"

namespace kizami::dropin_test {
namespace {

using Complex = std::complex<float>;

template <class T>
T number(double re, double im) {
  using R = RealOf<T>;
  if constexpr (kIsComplex<T>) {
    return {static_cast<R>(re), static_cast<R>(im)};
  } else {
    return static_cast<R>(re);
  }
}

/// What Kizami would do, in the memory of the host.
template <class T>
void multiply(const KizamiCall& call) {
  Arguments<T> x;
  x.routine = "gemm";
  x.op_a = static_cast<int>(call.op_a);
  x.op_b = static_cast<int>(call.op_b);
  x.m = call.m;
  x.n = call.n;
  x.k = call.k;
  const auto factor = [](const void* device, std::complex<double> host) {
    return device != nullptr ? *static_cast<const T*>(device) : number<T>(host.real(), host.imag());
  };
  x.alpha = factor(call.device_alpha, call.alpha);
  x.beta = factor(call.device_beta, call.beta);
  for (std::int64_t i = 0; i < call.num_products; ++i) {
    const auto matrix = [&](const void* first, std::int64_t stride, std::int64_t ld) {
      const T* data = call.kind == Kind::kPointers ? static_cast<const T* const*>(first)[i]
                                                   : static_cast<const T*>(first) + i * stride;
      return Matrix<T>{const_cast<T*>(data), ld};
    };
    x.a = matrix(call.a, call.stride_a, call.lda);
    x.b = matrix(call.b, call.stride_b, call.ldb);
    x.c = matrix(call.c, call.stride_c, call.ldc);
    compute(x);
  }
}

/// C (9 x 10) <- alpha A^T B + beta C, inner size 11, of two types; several of them one after the other.
class Monitor : public Interposer {
 protected:
  static constexpr int kM = 9, kN = 10, kK = 11, kLda = 12, kLdb = 13, kLdc = 14;
  static constexpr int kStride = 14 * 10;

  void SetUp() override {
    Interposer::SetUp();
    configuration().monitor_period = 1;
    multiply_with([](const KizamiCall&) {});
  }

  /// The product, and then something else.
  void multiply_with(std::function<void(const KizamiCall&)> after) {
    on_kizami_call() = [this, after = std::move(after)](const KizamiCall& call) {
      kizami.push_back(call);
      if (!kizami_status.ok()) return kizami_status;
      call.scalar == Scalar::kF64 ? multiply<double>(call) : multiply<Complex>(call);
      after(call);
      return Status();
    };
  }

  template <class T>
  struct Matrices {
    std::vector<T> a, b, c;
    T alpha = number<T>(2, -1), beta = number<T>(-3, 2);
    explicit Matrices(int count) : a(kStride * std::size_t(count)), b(a.size()), c(a.size()) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = number<T>(static_cast<double>(i % 7) - 3, static_cast<double>(i % 5) - 2);
        b[i] = number<T>(static_cast<double>(i % 5) + 1, static_cast<double>(i % 3));
        c[i] = number<T>(static_cast<double>(i % 3) + 1, 1);
      }
    }
  };
  std::function<cublasStatus_t()> dgemm(Matrices<double>& x) {
    return [&] {
      return cublasDgemm_v2(handle.get(), CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &x.alpha, x.a.data(), kLda, x.b.data(),
                            kLdb, &x.beta, x.c.data(), kLdc);
    };
  }
  std::function<cublasStatus_t()> cgemm_strided(Matrices<Complex>& x, int count) {
    return [&, count] {
      const auto e = [](const auto* p) { return reinterpret_cast<const cuComplex*>(p); };
      return cublasCgemmStridedBatched(handle.get(), CUBLAS_OP_C, CUBLAS_OP_N, kM, kN, kK, e(&x.alpha), e(x.a.data()),
                                       kLda, kStride, e(x.b.data()), kLdb, kStride, e(&x.beta),
                                       reinterpret_cast<cuComplex*>(x.c.data()), kLdc, kStride, count);
    };
  }

  void expect_ratio_0(const std::function<cublasStatus_t()>& function) {
    expect_emulated(function);
    EXPECT_NE(logged.find(", sample error / bound 0,"), std::string::npos) << logged;
    EXPECT_EQ(logged.find("beyond"), std::string::npos) << logged;
    EXPECT_GT(runtime().waits, 0);
    EXPECT_EQ(runtime().relaxed, 0) << "the thread's capture mode is not as it was";
  }
};

TEST_F(Monitor, ExactProductsHaveNoError) {
  Matrices<double> x(1);
  expect_ratio_0(dgemm(x));
  EXPECT_NE(x.c, Matrices<double>(1).c);
  handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  expect_ratio_0(dgemm(x));
  handle.pointer_mode = CUBLAS_POINTER_MODE_HOST;
  configuration().settings.policy.gauge = Gauge::kNorm;
  expect_ratio_0(dgemm(x));
}

TEST_F(Monitor, CIsNotReadForABetaOf0) {
  Matrices<double> x(1);
  x.beta = 0;
  for (double& c : x.c) c = std::numeric_limits<double>::quiet_NaN();
  expect_ratio_0(dgemm(x));
}

TEST_F(Monitor, BatchesAreSampledToTheirEnds) {
  for (const int count : {1, 2, 7, 8, 9, 100}) {
    Matrices<Complex> x(count);
    expect_ratio_0(cgemm_strided(x, count));
    // The last element of the last product is one of the sample.
    multiply_with(
        [&](const KizamiCall&) { x.c[std::size_t((count - 1) * kStride + kM - 1 + (kN - 1) * kLdc)] = 1e9F; });
    for (const int product : {0, count - 1}) {
      Matrices<Complex> fresh(count);
      x = fresh;
      multiply_with([&](const KizamiCall&) {
        for (std::size_t i = 0; i < kStride; ++i) x.c[std::size_t(product * kStride) + i] += 100;
      });
      expect_emulated(cgemm_strided(x, count));
      EXPECT_NE(logged.find("kizami: beyond its bound: kizami: cublasCgemmStridedBatched cn 9x10x11"),
                std::string::npos)
          << logged;
    }
    multiply_with([](const KizamiCall&) {});
  }
}

TEST_F(Monitor, ArraysOfPointersAreFollowed) {
  Matrices<double> x(3);
  std::vector<const double*> a, b;
  std::vector<double*> c;
  for (const int i : {2, 0, 1}) {
    a.push_back(x.a.data() + i * kStride);
    b.push_back(x.b.data() + (2 - i) * kStride);
    c.push_back(x.c.data() + i * kStride);
  }
  expect_ratio_0([&] {
    return cublasDgemmBatched(handle.get(), CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &x.alpha, a.data(), kLda, b.data(),
                              kLdb, &x.beta, c.data(), kLdc, 3);
  });
}

TEST_F(Monitor, WrongElementsAreBeyondTheBound) {
  Matrices<double> x(1);
  const std::vector<std::function<void(double&)>> spoil{[](double& c) { c += std::abs(c) * 0x1p-40; },
                                                        [](double& c) { c = -c; },
                                                        [](double& c) { c = std::numeric_limits<double>::quiet_NaN(); },
                                                        [](double& c) { c = std::numeric_limits<double>::infinity(); }};
  for (const auto& function : spoil) {
    multiply_with([&](const KizamiCall&) { function(x.c[0]); });
    expect_emulated(dgemm(x));
    EXPECT_NE(logged.find("kizami: beyond its bound: "), std::string::npos) << logged;
    x = Matrices<double>(1);
  }
}

TEST_F(Monitor, OneOfSoManyCallsIsSampledAndTheOthersWaitForNothing) {
  Matrices<double> x(1);
  configuration().monitor_period = 3;
  int sampled = 0;
  for (int i = 0; i < 9; ++i) {
    runtime() = Runtime{};
    expect_emulated(dgemm(x));
    const bool is_sampled = logged.find("sample") != std::string::npos;
    sampled += is_sampled ? 1 : 0;
    EXPECT_EQ(runtime().waits > 0, is_sampled);
    EXPECT_EQ(runtime().copies > 0, is_sampled);
    x = Matrices<double>(1);
  }
  EXPECT_EQ(sampled, 3);
  configuration().monitor_period = 0;
  runtime() = Runtime{};
  expect_emulated(dgemm(x));
  EXPECT_EQ(runtime().waits + runtime().copies, 0);
}

TEST_F(Monitor, ACaptureIsLeftAlone) {
  Matrices<double> x(1);
  runtime().is_capturing = true;
  expect_emulated(dgemm(x));
  EXPECT_EQ(runtime().waits + runtime().copies, 0);
  EXPECT_NE(logged.find(", no sample: the stream is captured into a graph, "), std::string::npos) << logged;
}

TEST_F(Monitor, WhatCannotBeCopiedIsSaid) {
  Matrices<double> x(1);
  runtime().can_copy = false;
  expect_emulated(dgemm(x));
  EXPECT_NE(logged.find(", no sample: a line is not copied: a test says so, "), std::string::npos) << logged;
  EXPECT_FALSE(runtime().has_error) << "the error is left for the next check";
  EXPECT_EQ(runtime().relaxed, 0);
  runtime().can_copy = true;
  multiply_with([](const KizamiCall&) { runtime().can_copy = false; });
  expect_emulated(dgemm(x));
  EXPECT_NE(logged.find(", no sample: a line is not copied: a test says so, "), std::string::npos) << logged;
}

TEST_F(Monitor, WhatIsLeftToCublasIsNotSampled) {
  Matrices<double> x(1);
  kizami_status = {StatusCode::kUnsupported, "no memory"};
  expect_forwarded(dgemm(x), 1);
  EXPECT_EQ(logged.find("sample"), std::string::npos) << logged;
}

}  // namespace
}  // namespace kizami::dropin_test
