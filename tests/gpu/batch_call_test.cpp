// SPDX-License-Identifier: MIT
// Batches in device memory: every product has the bits and the outcome that it has alone, however its matrices are
// found, and nothing else is written.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/batch_buffers.hpp"
#include "device/side_streams.hpp"
#include "device/state.hpp"
#include "gpu/batch_case.hpp"
#include "gpu/device_case.hpp"
#include "gpu/sm90_test.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::gpu_test {
namespace {

Way ozaki2_way(EngineName engine) {
  Way way{"ozaki2 on " + std::string(to_string(engine)), {}};
  way.policy.scheme = Scheme::kOzaki2;
  way.policy.engine = engine;
  return way;
}
Way ozaki1_way(EngineName engine) {
  Way way{"ozaki1 on " + std::string(to_string(engine)), {}};
  way.policy.scheme = Scheme::kOzaki1;
  way.policy.engine = engine;
  way.policy.slices.num_slices = 4;
  return way;
}
Way native_way() {
  Way way{"native", {}};
  way.policy.scheme = Scheme::kNative;
  return way;
}
/// @param is_short k is below about 20, where scheme ec guarantees less than accuracy native: a variant that is named
///        is taken
Way ec_way(bool is_short = false) {
  Way way{"ec", {}};
  if (is_short) way.policy.ec.variant = EcVariant::kScaled;
  way.policy.scheme = Scheme::kEc;
  way.policy.reproducibility = Reproducibility::kNotGuaranteed;
  return way;
}
template <class T>
[[nodiscard]] std::vector<Way> all_ways(bool is_short = false) {
  std::vector<Way> ways;
  for (const EngineName engine : device_engines()) ways.push_back(ozaki2_way(engine));
  ways.push_back(ozaki1_way(own_engine()));
  if (std::is_same_v<RealOf<T>, float> && has_hopper()) ways.push_back(ec_way(is_short));
  return ways;
}

/// Products of integers by cuBLAS against those by ozaki2.
template <class T>
void expect_native(const Layouts& l, Factor<T> alpha, Factor<T> beta) {
  const BatchOperands<T> host = BatchOperands<T>::of_integers(l, 15);
  BatchResult<T> want = one_by_one<T>(host, alpha, beta, ozaki2_way(own_engine()).policy);
  const Result<Plan> plan = cuda::make_plan(kScalarOf<T>, l.m, l.n, l.k, native_way().policy);
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  Outcome native;
  native.engine = "cublas";
  native.bound = plan.value().bound();
  std::fill(want.outcomes.begin(), want.outcomes.end(), native);
  expect_products<T>(host, alpha, beta, native_way(), want);
  expect_same(one_by_one<T>(host, alpha, beta, native_way().policy).c, want.c, "native, one by one, " + l.text());
}

template <class T>
class BatchCall : public DeviceTest {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BatchCall, Types);

TYPED_TEST(BatchCall, HasTheBitsOfSingleCalls) {
  using T = TypeParam;
  for (const Way& way : all_ways<T>()) {
    for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
      const auto make = [&](Op op_a, Op op_b, std::int64_t gap_a, std::int64_t gap_b) {
        return layouts_of(layout, op_a, op_b, 37, 29, 70, 4, gap_a, gap_b, 5);
      };
      expect_single_calls<T>(make(Op::kNone, Op::kTranspose, 1, 3), T(2), T(-0.5), way);
      expect_single_calls<T>(make(Op::kConjTranspose, Op::kNone, 0, -1), T(1), T(0), way);  // B is shared
    }
    expect_single_calls<T>(layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 130, 140, 260, 3, -1, 7, 0), T(-1), T(1),
                           way);  // A is shared
  }
}

TYPED_TEST(BatchCall, OfThinProductsHasTheBitsOfSingleCalls) {
  using T = TypeParam;
  struct Extents {
    std::int64_t m, n, k;
  };
  for (const Way& way : all_ways<T>(true)) {
    for (const auto& [m, n, k] : {Extents{1, 1, 1}, Extents{1, 40, 65}, Extents{40, 1, 65}, Extents{3, 5, 1}}) {
      for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
        expect_single_calls<T>(layouts_of(layout, Op::kNone, Op::kNone, m, n, k, 3, 1, 1, 1), T(1), T(1), way);
      }
    }
  }
}

TYPED_TEST(BatchCall, ByCublasHasTheSameProducts) {
  using T = TypeParam;
  for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
    for (const auto& [op_a, op_b] : {std::pair{Op::kNone, Op::kTranspose}, std::pair{Op::kConjTranspose, Op::kNone}}) {
      expect_native<T>(layouts_of(layout, op_a, op_b, 37, 29, 70, 5, 1, 3, 5), T(2), T(-1));
      expect_native<T>(layouts_of(layout, op_a, op_b, 1, 29, 7, 4, 0, -1, 0), T(1), T(0));  // B is shared
      expect_native<T>(layouts_of(layout, op_a, op_b, 37, 1, 7, 1, 0, 0, 0), T(1), T(1));
    }
  }
  // More pointers than one launch carries.
  expect_native<T>(layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 3, 4, 5, 500, 1, 1, 1), T(1), T(0));
  // Factors in device memory, or one of them.
  const Layouts l = layouts_of(Layout::kRowMajor, Op::kNone, Op::kTranspose, 20, 30, 40, 3, 1, 1, 1);
  const DeviceArray<T> values(std::vector<T>{T(2), T(3)});
  expect_native<T>(l, Factor<T>::at(values.data()), Factor<T>::at(values.data() + 1));
  expect_native<T>(l, T(2), Factor<T>::at(values.data() + 1));
  expect_native<T>(l, Factor<T>::at(values.data()), T(3));
  using R = RealOf<T>;
  const DeviceArray<R> parts(std::vector<R>{R(0), R(2), R(0), R(3), R(0)});
  if (kIsComplex<T>) {  // factors that do not begin on their size
    const T* const first = reinterpret_cast<const T*>(parts.data() + 1);
    expect_native<T>(l, Factor<T>::at(first), Factor<T>::at(first + 1));
  }
}

TYPED_TEST(BatchCall, ReadsFactorsFromDeviceMemory) {
  using T = TypeParam;
  const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 20, 30, 40, 3, 1, 1, 1);
  for (const auto& [alpha, beta] : {std::pair{T(2), T(3)}, std::pair{T(0), T(3)}, std::pair{T(2), T(0)}}) {
    const DeviceArray<T> values(std::vector<T>{alpha, beta});
    for (const Way& way : all_ways<T>()) {
      BatchOperands<T> host(l, 9);
      if (beta == T(0)) std::fill(host.c.begin(), host.c.end(), T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
      const BatchResult<T> want = one_by_one<T>(host, alpha, beta, way.policy);
      const auto at_alpha = Factor<T>::at(values.data());
      const auto at_beta = Factor<T>::at(values.data() + 1);
      const DeviceBatch<T> x(host);
      ASSERT_TRUE(strided<T>(x, at_alpha, at_beta, way.policy, nullptr).ok()) << way.name;
      expect_same(written(x, host, way.name), want.c, "strided, " + way.name);
      const DeviceBatch<T> y(host);
      const Pointers<T> p(y);
      const DeviceArray<const T*> a(p.a), b(p.b);
      const DeviceArray<T*> c(p.c);
      const Status status = by_pointers<T>(l, PointerArray<const T>::at(a.data()), PointerArray<const T>::at(b.data()),
                                           PointerArray<T>::at(c.data()), at_alpha, at_beta, way.policy, nullptr);
      ASSERT_TRUE(status.ok()) << way.name << ": " << status.reason();
      expect_same(written(y, host, way.name), want.c, "pointers on the device, " + way.name);
    }
  }
}

/// Graphs of batches, replayed with other elements; arrays in device memory also with other pointers in them.
TYPED_TEST(BatchCall, IsCapturedAndReplayed) {
  using T = TypeParam;
  const Layouts l = layouts_of(Layout::kColMajor, Op::kTranspose, Op::kNone, 50, 41, 100, 3, 1, 0, 1);
  std::vector<Way> ways = all_ways<T>();
  ways.push_back(native_way());
  for (const Way& way : ways) {
    const bool is_native = way.policy.scheme == Scheme::kNative;
    const auto operands = [&](unsigned seed) {
      return is_native ? BatchOperands<T>::of_integers(l, seed) : BatchOperands<T>(l, seed);
    };
    const BatchOperands<T> first = operands(11);
    if (is_native) static_cast<void>(one_by_one<T>(first, T(1), T(2), way.policy));  // makes the handle
    DeviceBatch<T> x(first), y(first);
    const Pointers<T> p(y);
    DeviceArray<const T*> a(p.a), b(p.b);
    DeviceArray<T*> c(p.c);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    const Status of_strides = strided<T>(x, T(1), T(2), way.policy, nullptr, stream);
    const Status of_arrays = by_pointers<T>(l, PointerArray<const T>::at(a.data()), PointerArray<const T>::at(b.data()),
                                            PointerArray<T>::at(c.data()), T(1), T(2), way.policy, nullptr, stream);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "end of capture");
    ASSERT_TRUE(of_strides.ok()) << way.name << ": " << of_strides.reason();
    ASSERT_TRUE(of_arrays.ok()) << way.name << ": " << of_arrays.reason();
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    for (const unsigned seed : {11U, 12U, 13U}) {
      const BatchOperands<T> host = operands(seed);
      for (DeviceBatch<T>* batch : {&x, &y}) {
        batch->a.upload(host.a);
        batch->b.upload(host.b);
        batch->c.upload(host.c);
      }
      std::vector<const T*> a_turned = p.a, b_turned = p.b;
      std::vector<T*> c_turned = p.c;
      std::rotate(a_turned.begin(), a_turned.begin() + seed % 3, a_turned.end());
      std::rotate(b_turned.begin(), b_turned.begin() + seed % 3, b_turned.end());
      std::rotate(c_turned.begin(), c_turned.begin() + seed % 3, c_turned.end());
      a.upload(a_turned);
      b.upload(b_turned);
      c.upload(c_turned);
      check(cudaGraphLaunch(executable, stream), "replay");
      check(cudaStreamSynchronize(stream), "replay");
      const BatchResult<T> want = one_by_one<T>(host, T(1), T(2), way.policy);
      const std::string what = way.name + ", seed " + std::to_string(seed);
      expect_same(written(x, host, what), want.c, "strided, " + what);
      expect_same(written(y, host, what), want.c, "arrays, " + what);
    }
    check(cudaGraphExecDestroy(executable), "graph");
    check(cudaGraphDestroy(graph), "graph");
    check(cudaStreamDestroy(stream), "stream");
  }
}

/// What a call does not take from the views, it takes from the plan: the workspace is exactly what the plan says.
TYPED_TEST(BatchCall, RunsInThePlannedWorkspace) {
  using T = TypeParam;
  const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 60, 50, 70, 5, 1, 1, 1);
  const BatchOperands<T> host(l, 21);
  for (const Way& way : all_ways<T>()) {
    const BatchResult<T> want = one_by_one<T>(host, T(1), T(0), way.policy);
    for (const bool has_device_arrays : {false, true}) {
      const Result<Plan> plan =
          cuda::make_plan(kScalarOf<T>, l.m, l.n, l.k, way.policy, {l.num_products, has_device_arrays});
      ASSERT_TRUE(plan.ok()) << plan.status().reason();
      EXPECT_EQ(plan.value().num_products(), l.num_products);
      const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
      const std::span<std::byte> memory(workspace.data(), workspace.size());
      const DeviceBatch<T> x(host);
      std::vector<MatrixView<const T>> a, b;
      std::vector<MatrixView<T>> c;
      for (std::int64_t i = 0; i < l.num_products; ++i) {
        a.push_back(blas_view(x.a_at(i), l.m, l.k, l.lda));
        b.push_back(blas_view(x.b_at(i), l.k, l.n, l.ldb));
        c.push_back(blas_view(x.c_at(i), l.m, l.n, l.ldc));
      }
      const Pointers<T> p(x);
      const DeviceArray<const T*> a_array(p.a), b_array(p.b);
      const DeviceArray<T*> c_array(p.c);
      const Status status = has_device_arrays
                                ? cuda::run_batched<T>(plan.value(), T(1), MatrixArray<const T>{a_array.data(), a[0]},
                                                       MatrixArray<const T>{b_array.data(), b[0]}, T(0),
                                                       MatrixArray<T>{c_array.data(), c[0]}, memory, nullptr)
                                : cuda::run_batched<T>(plan.value(), T(1), a, b, T(0), c, memory, nullptr);
      ASSERT_TRUE(status.ok()) << way.name << ": " << status.reason();
      const std::string what = way.name + (has_device_arrays ? ", arrays" : ", views");
      expect_same(written(x, host, what), want.c, what);
      EXPECT_TRUE(workspace.guards_are_intact()) << what;

      std::vector<Outcome> each(static_cast<std::size_t>(l.num_products));
      ASSERT_TRUE(cuda::read_outcomes(plan.value(), memory, nullptr, each).ok());
      if (has_device_arrays) std::reverse(each.begin(), each.end());
      expect_same_outcomes(each, want.outcomes, what);
      const Result<Outcome> all = cuda::read_outcome(plan.value(), memory, nullptr);
      ASSERT_TRUE(all.ok()) << all.status().reason();
      std::int64_t repaired = 0, nonfinite_cols = 0;
      int rung = -1, moduli = 0;
      double bound = 0;
      for (const Outcome& one : want.outcomes) {
        repaired += one.repaired;
        nonfinite_cols += one.nonfinite_cols;
        rung = std::max(rung, one.rung);
        moduli = std::max(moduli, one.moduli);
        bound = std::max(bound, one.bound);
      }
      EXPECT_EQ(nonfinite_cols, 1) << what;
      EXPECT_EQ(all.value().nonfinite_cols, nonfinite_cols) << what;
      EXPECT_EQ(all.value().nonfinite_rows, 0) << what;
      EXPECT_EQ(all.value().repaired, repaired) << what;
      EXPECT_EQ(all.value().rung, rung) << what;
      EXPECT_EQ(all.value().moduli, moduli) << what;
      EXPECT_EQ(all.value().bound, bound) << what;
      EXPECT_EQ(all.value().engine, plan.value().engine()) << what;
    }
  }
}

using Batches = DeviceTest;

TEST_F(Batches, OfNothing) {
  std::vector<Way> ways = all_ways<float>(true);
  ways.push_back(native_way());
  for (const Way& way : ways) {
    Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 8, 9, 10, 0, 1, 1, 1);
    const auto strided_null = [&](Factor<float> alpha, Factor<float> beta, float* c, Outcome* outcomes) {
      return cuda::gemm_strided_batched<float>(nullptr, l.layout, l.op_a, l.op_b, l.m, l.n, l.k, alpha, nullptr, l.lda,
                                               l.stride_a, nullptr, l.ldb, l.stride_b, beta, c, l.ldc, l.stride_c,
                                               l.num_products, way.policy, outcomes);
    };
    EXPECT_TRUE(strided_null(1.0F, 0.0F, nullptr, nullptr).ok()) << way.name;  // no products
    EXPECT_TRUE(by_pointers<float>(l, nullptr, nullptr, nullptr, 1.0F, 0.0F, way.policy, nullptr).ok()) << way.name;
    const Result<Plan> none = cuda::make_plan(Scalar::kF32, 8, 9, 10, way.policy, {0, false});
    ASSERT_TRUE(none.ok()) << none.status().reason();
    const Result<Outcome> outcome = cuda::read_outcome(none.value(), {}, nullptr);
    ASSERT_TRUE(outcome.ok()) << outcome.status().reason();
    EXPECT_EQ(outcome.value().engine, "none");

    // Without terms C is scaled, and A and B are not looked at.
    l.num_products = 3;
    for (const std::int64_t k : {std::int64_t{0}, std::int64_t{10}}) {
      l.k = k;
      BatchOperands<float> host(layouts_of(l.layout, l.op_a, l.op_b, 8, 9, 10, 3, 1, 1, 1), 3);
      DeviceBatch<float> x(host);
      std::vector<Outcome> outcomes(3);
      const float alpha = k == 0 ? 2.0F : 0.0F;
      ASSERT_TRUE(strided_null(alpha, -0.5F, x.c.data(), outcomes.data()).ok()) << way.name;
      std::vector<float> want = host.c;
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < l.n; ++j) {
          for (std::int64_t r = 0; r < l.m; ++r)
            want[static_cast<std::size_t>(i * l.stride_c + j * l.ldc + r)] *= -0.5F;
        }
      }
      expect_same(x.c.download(), want, way.name + ", k = " + std::to_string(k));
      const bool is_native = way.policy.scheme == Scheme::kNative;
      for (const Outcome& one : outcomes) EXPECT_EQ(one.engine, is_native ? "cublas" : "none") << way.name;
      x.c.upload(host.c);
      const Pointers<float> p(x);
      const DeviceArray<float*> c(p.c);
      const Status status =
          by_pointers<float>(l, {}, {}, PointerArray<float>::at(c.data()), alpha, -0.5F, way.policy, outcomes.data());
      ASSERT_TRUE(status.ok()) << way.name << ": " << status.reason();
      expect_same(x.c.download(), want, way.name + ", arrays, k = " + std::to_string(k));
    }
  }
}

TEST_F(Batches, OfVeryManyTinyProducts) {
  constexpr std::int64_t kProducts = 65536;
  constexpr std::int64_t kPeriod = 64;
  std::vector<Way> ways = {ozaki2_way(own_engine())};
  if (has_hopper()) ways.push_back(ec_way(true));
  for (const Way& way : ways) {
    const Layouts all{Layout::kColMajor, Op::kNone, Op::kNone, 4, 3, 5, 4, 5, 4, 20, 15, 12, kProducts};
    Layouts few = all;
    few.num_products = kPeriod;
    const BatchOperands<float> period(few, 5);
    const BatchResult<float> want = one_by_one<float>(period, 1.0F, 2.0F, way.policy);
    BatchOperands<float> host(all, 5);
    const auto repeat = [](std::vector<float>& x, const std::vector<float>& from) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = from[i % from.size()];
    };
    repeat(host.a, period.a);
    repeat(host.b, period.b);
    repeat(host.c, period.c);
    std::vector<float> repeated(host.c.size());
    repeat(repeated, want.c);
    const DeviceBatch<float> x(host);
    std::vector<Outcome> outcomes(kProducts);
    const Status status = strided<float>(x, 1.0F, 2.0F, way.policy, outcomes.data());
    ASSERT_TRUE(status.ok()) << way.name << ": " << status.reason();
    expect_same(written(x, host, way.name), repeated, way.name);
    for (std::size_t i = 0; i < outcomes.size(); i += 4095) {
      EXPECT_EQ(outcomes[i].repaired, want.outcomes[i % kPeriod].repaired) << way.name << ", product " << i;
      EXPECT_EQ(outcomes[i].nonfinite_cols, want.outcomes[i % kPeriod].nonfinite_cols) << way.name << ", product " << i;
    }
    const Result<Plan> one = cuda::make_plan(Scalar::kF32, all.m, all.n, all.k, way.policy);
    const Result<Plan> many = cuda::make_plan(Scalar::kF32, all.m, all.n, all.k, way.policy, {kProducts, false});
    ASSERT_TRUE(one.ok() && many.ok());
    const std::int64_t at_once =
        std::max<std::int64_t>(device::kMostBatchLanes, ec::ec_of(many.value().impl()).products_together);
    EXPECT_LE(many.value().workspace_bytes(),
              static_cast<std::size_t>(at_once) * (one.value().workspace_bytes() + device::kWorkspaceAlignment) +
                  kProducts * sizeof(device::DeviceState) + 64);
  }
}

TEST_F(Batches, AreRefusedWithoutTouchingC) {
  const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 30, 30, 30, 4, 1, 1, 1);
  const BatchOperands<std::complex<double>> host(l, 2);
  using T = std::complex<double>;
  const Way way = ozaki2_way(EngineName::kAuto);
  const DeviceBatch<T> x(host);
  const Pointers<T> good(x);
  const auto expect = [&](const Status& status, StatusCode code, const std::string& part) {
    EXPECT_EQ(to_string(status.code()), to_string(code)) << status.reason();
    EXPECT_NE(status.reason().find(part), std::string::npos) << status.reason();
    expect_same(x.c.download(), host.c, "C after: " + part);
  };
  const auto call = [&](const Pointers<T>& p) {
    return by_pointers<T>(l, p.a.data(), p.b.data(), p.c.data(), T(1), T(0), way.policy, nullptr);
  };
  Pointers<T> bad = good;
  bad.b[2] = bad.c[2] + 5;
  expect(call(bad), StatusCode::kInvalidArgument, "product 2 of the batch: C overlaps an operand");
  bad = good;
  bad.a[3] = nullptr;
  expect(call(bad), StatusCode::kInvalidArgument, "product 3 of the batch: A is null");
  bad = good;
  bad.c[1] = reinterpret_cast<T*>(reinterpret_cast<double*>(bad.c[1]) + 1);
  expect(call(bad), StatusCode::kInvalidArgument, "product 1 of the batch: A, B or C does not begin on a 16-byte");

  const Result<Plan> plan = cuda::make_plan(Scalar::kC128, l.m, l.n, l.k, way.policy, {4, false});
  const Result<Plan> single = cuda::make_plan(Scalar::kC128, l.m, l.n, l.k, way.policy);
  ASSERT_TRUE(plan.ok() && single.ok());
  const DeviceArray<std::byte> workspace(plan.value().workspace_bytes());
  const std::span<std::byte> memory(workspace.data(), workspace.size());
  std::vector<MatrixView<const T>> a, b;
  std::vector<MatrixView<T>> c;
  for (std::int64_t i = 0; i < 4; ++i) {
    a.push_back(blas_view(x.a_at(i), l.m, l.k, l.lda));
    b.push_back(blas_view(x.b_at(i), l.k, l.n, l.ldb));
    c.push_back(blas_view(x.c_at(i), l.m, l.n, l.ldc));
  }
  const auto run = [&](const Plan& p, std::size_t num_c, std::span<std::byte> scratch) {
    return cuda::run_batched<T>(p, T(1), a, b, T(0), std::span<const MatrixView<T>>(c).first(num_c), scratch, nullptr);
  };
  expect(run(plan.value(), 3, memory), StatusCode::kInvalidArgument, "4 matrices B and 3 matrices C");
  expect(run(single.value(), 4, memory), StatusCode::kInvalidArgument, "the call has 4 products, must be as many");
  expect(run(plan.value(), 4, memory.first(memory.size() - 1)), StatusCode::kInvalidArgument, "workspace = ");
  expect(cuda::run<T>(plan.value(), T(1), a[0], b[0], T(0), c[0], memory, nullptr), StatusCode::kInvalidArgument,
         "the call has 1 products, must be as many as the plan is for = 4");
  const DeviceArray<const T*> array(good.a);
  const DeviceArray<T*> c_array(good.c);
  const MatrixArray<const T> at_a{array.data(), a[0]};
  expect(
      cuda::run_batched<T>(plan.value(), T(1), at_a, at_a, T(0), MatrixArray<T>{c_array.data(), c[0]}, memory, nullptr),
      StatusCode::kInvalidArgument, "Batch::has_device_arrays");
  const Result<Plan> of_arrays = cuda::make_plan(Scalar::kC128, l.m, l.n, l.k, way.policy, {4, true});
  ASSERT_TRUE(of_arrays.ok());
  const DeviceArray<std::byte> room(of_arrays.value().workspace_bytes());
  const auto run_arrays = [&](const MatrixArray<const T>& at_b, const MatrixArray<T>& at_c) {
    return cuda::run_batched<T>(of_arrays.value(), T(1), at_a, at_b, T(0), at_c, {room.data(), room.size()}, nullptr);
  };
  expect(run_arrays(at_a, {nullptr, c[0]}), StatusCode::kInvalidArgument, "matrices C is null");
  expect(run_arrays({nullptr, b[0]}, {c_array.data(), c[0]}), StatusCode::kInvalidArgument, "matrices B is null");
  expect(run_arrays({array.data(), b[0].block(0, 0, 30, 29)}, {c_array.data(), c[0]}), StatusCode::kInvalidArgument,
         "B is 30 x 29, must be 30 x 30");
  expect(run_arrays(at_a, {c_array.data(), {nullptr, 30, 30, 1, 29}}), StatusCode::kInvalidArgument,
         "elements of a 30 x 30 matrix must not overlap");
  std::vector<Outcome> outcomes(3);
  EXPECT_EQ(cuda::read_outcomes(plan.value(), memory, nullptr, outcomes).code(), StatusCode::kInvalidArgument);
}

/// No call of this process has more streams than the batch that had most.
TEST_F(Batches, HaveAStreamForEachLane) {
  const Way way = ozaki2_way(own_engine());
  for (const std::int64_t num_products : {1, 3, 9}) {
    const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 100, 90, 80, num_products, 1, 1, 1);
    const Result<Plan> plan = cuda::make_plan(Scalar::kF64, l.m, l.n, l.k, way.policy, {num_products, false});
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    const plan::Plan& planned = plan.value().impl();
    const int lanes = device::batch_lanes(planned.shape, planned.schedule.batch, planned.schedule.product_bytes,
                                          planned.schedule.workspace_bytes);
    EXPECT_EQ(lanes, std::min<std::int64_t>(num_products, device::kMostBatchLanes));
    const BatchOperands<double> host(l, 6);
    const DeviceBatch<double> x(host);
    const int before = device::num_idle_side_streams(planned.schedule.facts.device);
    ASSERT_TRUE(strided<double>(x, 1.0, 0.0, way.policy, nullptr).ok());
    expect_same(written(x, host, way.name), one_by_one<double>(host, 1.0, 0.0, way.policy).c, way.name);
    EXPECT_EQ(device::num_idle_side_streams(planned.schedule.facts.device), std::max(before, lanes == 1 ? 0 : lanes));
  }
}

TEST_F(Batches, WaitWhereTheyMayAndNameTheProductThatIsRefused) {
  const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 40, 30, 50, 4, 1, 1, 1);
  const BatchOperands<float> host(l, 4);  // the third product has a NaN
  for (Way way : all_ways<float>()) {
    const BatchResult<float> want = one_by_one<float>(host, 1.0F, 0.0F, way.policy);
    way.policy.may_sync = true;
    way.policy.reject_nonfinite = true;
    const DeviceBatch<float> x(host);
    const Status status = strided<float>(x, 1.0F, 0.0F, way.policy, nullptr);
    EXPECT_EQ(status.code(), StatusCode::kNonFinite) << way.name;
    EXPECT_NE(status.reason().find("product 2 of the batch: NaN or Inf"), std::string::npos) << status.reason();
    const std::vector<float> got = written(x, host, way.name);
    const auto from = static_cast<std::ptrdiff_t>(2 * l.stride_c);
    expect_same(std::vector<float>(got.begin() + from, got.end()),
                std::vector<float>(host.c.begin() + from, host.c.end()), way.name + ": from the third C on");
    if (way.policy.engine == EngineName::kCublasLt) continue;  // a plan that may wait has other rungs there
    expect_same(std::vector<float>(got.begin(), got.begin() + from),
                std::vector<float>(want.c.begin(), want.c.begin() + from), way.name + ": before it");
  }
}

TEST_F(Batches, GoToCublasWhereThatIsPredictedFaster) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  Policy policy;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  const auto scheme_of = [&](Scalar scalar, std::int64_t n, std::int64_t num_products) {
    return cuda::make_plan(scalar, n, n, n, policy, {num_products, false}).value().scheme();
  };
  EXPECT_EQ(scheme_of(Scalar::kF32, 32, 65536), Scheme::kNative);
  EXPECT_EQ(scheme_of(Scalar::kF64, 64, 1000), Scheme::kNative);
  EXPECT_EQ(scheme_of(Scalar::kF32, 4096, 8), Scheme::kEc);
  const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 32, 32, 32, 200, 0, 0, 0);
  const auto host = BatchOperands<float>::of_integers(l, 1);
  const DeviceBatch<float> x(host);
  std::vector<Outcome> outcomes(200);
  ASSERT_TRUE(strided<float>(x, 1.0F, 0.0F, policy, outcomes.data()).ok());
  EXPECT_EQ(outcomes[199].engine, "cublas");
  const Policy exact = ozaki2_way(own_engine()).policy;
  expect_same(written(x, host, "left to cuBLAS"), one_by_one<float>(host, 1.0F, 0.0F, exact).c, "left to cuBLAS");
}

// ---- without a device
// ------------------------------------------------------------------------------------------------------

TEST(BatchArguments, AreRefusedBeforeADeviceIsLookedFor) {
  const auto strided = [](std::int64_t lda, std::int64_t stride_a, std::int64_t stride_c, std::int64_t num_products) {
    return cuda::gemm_strided_batched<double>(nullptr, Layout::kColMajor, Op::kNone, Op::kNone, 4, 5, 6, 1.0, nullptr,
                                              lda, stride_a, nullptr, 6, 30, 0.0, nullptr, 4, stride_c, num_products);
  };
  const auto expect = [](const Status& status, const std::string& part) {
    EXPECT_EQ(to_string(status.code()), to_string(StatusCode::kInvalidArgument)) << status.reason();
    EXPECT_NE(status.reason().find(part), std::string::npos) << status.reason();
  };
  expect(strided(3, 24, 20, 2), "lda = 3, must be >= max(1, m) = 4");
  expect(strided(4, 24, 20, -1), "num_products = -1, must be >= 0");
  expect(strided(4, -1, 20, 2), "stride_a = -1, must be >= 0");
  expect(strided(4, 24, 0, 2), "stride_c = 0 lets two matrices C of the batch overlap");
  expect(strided(4, 24, 19, 2), "stride_c = 19 lets two matrices C of the batch overlap");
  expect(strided(4, std::int64_t{1} << 60, 20, 3), "for 3 products leads beyond 2^58 elements");
  const double* a = nullptr;
  double* c = nullptr;
  const auto mixed = [&](PointerArray<const double> a_array, PointerArray<double> c_array) {
    return cuda::gemm_batched<double>(nullptr, Layout::kColMajor, Op::kNone, Op::kNone, 4, 5, 6, 1.0, a_array, 4,
                                      a_array, 6, 0.0, c_array, 4, 1);
  };
  expect(mixed(&a, PointerArray<double>::at(&c)), "those to A and B must be there too");
  expect(mixed(PointerArray<const double>::at(&a), &c), "those to A and B must not be either");
}

}  // namespace
}  // namespace kizami::gpu_test
