// SPDX-License-Identifier: MIT
// Batches of scheme ec, whose products go through each kernel together: the bits of single calls, whatever rung each
// product takes, and no more launches for more products.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/batch_case.hpp"
#include "gpu/device_case.hpp"
#include "gpu/sm90_test.hpp"
#include "plan/plan.hpp"
#include "schemes/ec/stage.hpp"

namespace kizami::gpu_test {
namespace {

[[nodiscard]] Policy ec_policy() {
  Policy policy;
  policy.scheme = Scheme::kEc;
  policy.reproducibility = Reproducibility::kNotGuaranteed;
  return policy;
}

/// Operands of which product p takes kAnswers[p % 3], by the rules of num/ec_range.hpp, whichever operand all share:
///   one operand (A, or B where all have one A) has elements over kSpreads[p % 3] binades below 1,
///   the other over 3, but that the first element of each of its matrices is 2^-140: a line there is neither fine, nor
///   narrow, nor full, and dense still (it misses one element, or two terms, of k >= 60).
/// FP16 holds if all lines are dense: over 3 binades they are (D is below 2^6, the largest above 2^14), over 24 nearly none. It does not
/// hold for fine lines, for the other operand has one that is not. TF32 holds if all lines of one operand are full, within
/// 123 binades of their largest: over 24 binades those of the first are; of 140, a line of k >= 60 has elements further
/// down. FP64 arithmetic has the rest.
constexpr int kSpreads[] = {3, 24, 140};
constexpr const char* kAnswers[] = {"scaled", "scaled_tf32", "ozaki2"};
template <class T>
void spread(std::vector<T>& elements, std::int64_t stride, std::mt19937_64& rng) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t product = static_cast<std::int64_t>(i) / stride;
    elements[i] = random_element<T>(rng, kSpreads[product % 3]);
  }
}
template <class T>
void put_tiny_elements(std::vector<T>& elements, std::int64_t stride, std::int64_t num_products) {
  constexpr auto kTiny = static_cast<RealOf<T>>(0x1p-140);
  for (std::int64_t p = 0; p < num_products; ++p)
    elements[static_cast<std::size_t>(p * stride)] = check::from_parts<T>(kTiny, kIsComplex<T> ? kTiny : RealOf<T>{0});
}
template <class T>
[[nodiscard]] BatchOperands<T> of_all_rungs(const Layouts& l, unsigned seed) {
  BatchOperands<T> host(l, seed);
  std::mt19937_64 rng(seed);
  const bool spreads_a = l.stride_a != 0;
  std::vector<T>& other = spreads_a ? host.b : host.a;
  spread(spreads_a ? host.a : host.b, spreads_a ? l.stride_a : l.stride_b, rng);
  for (T& x : other) x = random_element<T>(rng, 3);
  put_tiny_elements(other, spreads_a ? l.stride_b : l.stride_a, l.num_products);
  return host;
}

/// How the products of a batch were answered: the variant, or scheme ozaki2 for FP64 arithmetic.
[[nodiscard]] std::vector<std::string> answers(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> all;
  for (const Outcome& outcome : outcomes)
    all.emplace_back(outcome.scheme == Scheme::kEc ? to_string(outcome.variant) : to_string(outcome.scheme));
  return all;
}
[[nodiscard]] std::vector<std::string> answers_of_all_rungs(std::int64_t num_products) {
  std::vector<std::string> all;
  for (std::int64_t p = 0; p < num_products; ++p) all.emplace_back(kAnswers[p % 3]);
  return all;
}

template <class T>
[[nodiscard]] Plan plan_of(const Layouts& l, const Policy& policy, bool has_device_arrays = false) {
  const Result<Plan> plan = cuda::make_plan(kScalarOf<T>, l.m, l.n, l.k, policy, {l.num_products, has_device_arrays});
  if (!plan.ok()) throw std::runtime_error(plan.status().reason());
  return plan.value();
}

template <class T>
class EcBatch : public Sm90Test {};
using Types = testing::Types<float, std::complex<float>>;
TYPED_TEST_SUITE(EcBatch, Types);

TYPED_TEST(EcBatch, TakesTheRungOfEachProduct) {
  using T = TypeParam;
  const Way way{"ec", ec_policy()};
  const auto expect = [&](const Layouts& l, Factor<T> alpha, Factor<T> beta) {
    const BatchOperands<T> host = of_all_rungs<T>(l, 17);
    const BatchResult<T> want = one_by_one<T>(host, alpha, beta, way.policy);
    EXPECT_EQ(answers(want.outcomes), answers_of_all_rungs(l.num_products)) << l.text();
    EXPECT_GT(ec::ec_of(plan_of<T>(l, way.policy).impl()).products_together, 1) << l.text();
    expect_products<T>(host, alpha, beta, way, want);
  };
  for (const Layout layout : {Layout::kColMajor, Layout::kRowMajor}) {
    expect(layouts_of(layout, Op::kNone, Op::kNone, 130, 70, 300, 7, 1, 3, 5), T(1), T(0));
    expect(layouts_of(layout, Op::kConjTranspose, Op::kTranspose, 67, 200, 129, 4, 0, 0, 0), T(2), T(-0.5));
    expect(layouts_of(layout, Op::kNone, Op::kTranspose, 96, 160, 256, 6, 1, -1, 0), T(1), T(1));  // B is shared
    expect(layouts_of(layout, Op::kTranspose, Op::kNone, 96, 160, 256, 6, -1, 1, 0), T(1), T(1));  // A is shared
  }
  // Long lines of both operands across memory: a split each, and one decision for both.
  expect(layouts_of(Layout::kColMajor, Op::kNone, Op::kTranspose, 40, 50, 2100, 5, 1, 1, 1), T(1), T(0));
}

TYPED_TEST(EcBatch, HasTheBitsOfSingleCallsInAllForms) {
  using T = TypeParam;
  const Way way{"ec", ec_policy()};
  struct Extents {
    std::int64_t m, n, k;
  };
  // Tiles of each form of the kernel; lines across memory that a cluster of each size holds, and longer ones.
  for (const auto& [m, n, k] : {Extents{512, 512, 512}, Extents{1280, 1280, 300}, Extents{3072, 2048, 64},
                                Extents{100, 90, 1100}, Extents{40, 50, 5000}}) {
    const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kTranspose, m, n, k, 3, 1, 1, 1);
    expect_single_calls<T>(l, T(1), T(0), way);
  }
}

TYPED_TEST(EcBatch, InSeveralPartsHasTheSameBits) {
  using T = TypeParam;
  const Layouts l = layouts_of(Layout::kColMajor, Op::kTranspose, Op::kNone, 80, 70, 90, 11, 1, 1, 1);
  const BatchOperands<T> host = of_all_rungs<T>(l, 5);
  Way way{"ec in parts", ec_policy()};
  const BatchResult<T> want = one_by_one<T>(host, T(1), T(2), way.policy);
  EXPECT_EQ(answers(want.outcomes), answers_of_all_rungs(l.num_products));
  const Plan whole = plan_of<T>(l, way.policy, true);
  EXPECT_EQ(ec::ec_of(whole.impl()).products_together, l.num_products);
  way.policy.workspace_limit_bytes = whole.workspace_bytes() / 2;
  for (const bool has_device_arrays : {false, true}) {
    const std::int64_t together = ec::ec_of(plan_of<T>(l, way.policy, has_device_arrays).impl()).products_together;
    EXPECT_GT(together, 1);
    EXPECT_LT(together, l.num_products);
    EXPECT_NE(l.num_products % together, 0) << "the last part is smaller";
  }
  expect_products<T>(host, T(1), T(2), way, want);

  // Two together, and a last part of one product.
  Layouts odd = l;
  odd.num_products = 3;
  const BatchOperands<T> three = of_all_rungs<T>(odd, 6);
  way.policy.workspace_limit_bytes = 0;
  const BatchResult<T> want_three = one_by_one<T>(three, T(1), T(2), way.policy);
  way.policy.workspace_limit_bytes = plan_of<T>(odd, way.policy, true).workspace_bytes() - 1;
  EXPECT_EQ(ec::ec_of(plan_of<T>(odd, way.policy, true).impl()).products_together, 2);
  expect_products<T>(three, T(1), T(2), way, want_three);
}

/// Pointers of the host at no equal distances, the products in another order.
TYPED_TEST(EcBatch, FindsMatricesAnywhere) {
  using T = TypeParam;
  const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 50, 40, 60, 5, 1, 3, 2);
  const BatchOperands<T> host = of_all_rungs<T>(l, 23);
  const Policy policy = ec_policy();
  const BatchResult<T> want = one_by_one<T>(host, T(1), T(-1), policy);
  EXPECT_EQ(answers(want.outcomes), answers_of_all_rungs(l.num_products));
  const DeviceBatch<T> x(host);
  std::vector<const T*> a, b;
  std::vector<T*> c;
  std::vector<std::size_t> order = {3, 0, 4, 1, 2};
  for (const std::size_t i : order) {
    a.push_back(x.a_at(static_cast<std::int64_t>(i)));
    b.push_back(x.b_at(static_cast<std::int64_t>(i)));
    c.push_back(x.c_at(static_cast<std::int64_t>(i)));
  }
  std::vector<Outcome> outcomes(order.size());
  const Status status = by_pointers<T>(l, a.data(), b.data(), c.data(), T(1), T(-1), policy, outcomes.data());
  ASSERT_TRUE(status.ok()) << status.reason();
  expect_same(written(x, host, "anywhere"), want.c, "anywhere");
  std::vector<Outcome> wanted;
  for (const std::size_t i : order) wanted.push_back(want.outcomes[i]);
  expect_same_outcomes(outcomes, wanted, "anywhere");
}

using EcBatches = Sm90Test;

/// Matrices that begin on 4 bytes only in some products.
TEST_F(EcBatches, FindsMatricesThatAreNotAligned) {
  const Way way{"ec", ec_policy()};
  Layouts l = layouts_of(Layout::kColMajor, Op::kTranspose, Op::kNone, 128, 64, 64, 4, 1, 1, 1);
  l.lda = l.ldb = 64;  // lines of which 16 bytes can be read at a time where the first begins on 16
  l.ldc = 128;
  l.stride_a = l.stored_a() + 1;
  l.stride_b = l.stored_b() + 1;
  l.stride_c = l.stored_c() + 1;
  expect_single_calls<float>(l, 1.0F, 2.0F, way);
}

TYPED_TEST(EcBatch, AnswersNonFiniteFactorsInDeviceMemory) {
  using T = TypeParam;
  const Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 20, 30, 40, 4, 1, 1, 1);
  const BatchOperands<T> host(l, 9);
  using R = RealOf<T>;
  for (const R value : {std::numeric_limits<R>::infinity(), std::numeric_limits<R>::quiet_NaN()}) {
    const DeviceArray<T> values(std::vector<T>{T(value), T(1)});
    const Factor<T> alpha = Factor<T>::at(values.data());
    const Factor<T> beta = Factor<T>::at(values.data() + 1);
    expect_products<T>(host, alpha, beta, {"alpha = " + std::to_string(value), ec_policy()},
                       one_by_one<T>(host, alpha, beta, ec_policy()));
    expect_products<T>(host, T(value), T(1), {"alpha of the host = " + std::to_string(value), ec_policy()},
                       one_by_one<T>(host, T(value), T(1), ec_policy()));
  }
}

/// Split, decision, product and FP64 rung, of many products and of each part of a batch; of one product, the rung comes with the decision.
TYPED_TEST(EcBatch, HasTheLaunchesOfOneProduct) {
  using T = TypeParam;
  constexpr std::size_t kPhases = 4;
  const auto launches = [](std::int64_t num_products, std::size_t workspace_limit, bool has_device_arrays,
                           Factor<T> alpha, std::int64_t k = 70) {
    Layouts l = layouts_of(Layout::kColMajor, Op::kNone, Op::kNone, 60, 50, k, num_products, 1, 1, 1);
    const DeviceBatch<T> x(BatchOperands<T>(l, 3));
    Policy policy = ec_policy();
    policy.workspace_limit_bytes = workspace_limit;
    const Plan plan = plan_of<T>(l, policy, has_device_arrays);
    const DeviceArray<std::byte> workspace(plan.workspace_bytes());
    const std::span<std::byte> memory(workspace.data(), workspace.size());
    std::vector<MatrixView<const T>> a, b;
    std::vector<MatrixView<T>> c;
    for (std::int64_t i = 0; i < num_products; ++i) {
      a.push_back(blas_view(x.a_at(i), l.m, l.k, l.lda));
      b.push_back(blas_view(x.b_at(i), l.k, l.n, l.ldb));
      c.push_back(blas_view(x.c_at(i), l.m, l.n, l.ldc));
    }
    const Pointers<T> p(x);
    const DeviceArray<const T*> a_array(p.a), b_array(p.b);
    const DeviceArray<T*> c_array(p.c);
    const std::size_t count = captured_kernels([&](cuda::Stream stream) {
      return has_device_arrays ? cuda::run_batched<T>(plan, alpha, MatrixArray<const T>{a_array.data(), a[0]},
                                                      MatrixArray<const T>{b_array.data(), b[0]}, T(0),
                                                      MatrixArray<T>{c_array.data(), c[0]}, memory, stream)
                               : cuda::run_batched<T>(plan, alpha, a, b, T(0), c, memory, stream);
    });
    const std::int64_t together = ec::ec_of(plan.impl()).products_together;
    const std::int64_t parts = (num_products + together - 1) / together;
    return std::pair{count, static_cast<std::size_t>(parts)};
  };
  for (const bool has_device_arrays : {false, true}) {
    const std::string what = has_device_arrays ? "arrays" : "views";
    for (const std::int64_t num_products : {2, 3, 300}) {
      EXPECT_EQ(launches(num_products, 0, has_device_arrays, T(1)), std::pair(kPhases, std::size_t{1}))
          << what << " of " << num_products;
    }
    const DeviceArray<T> one(std::vector<T>{T(1)});
    EXPECT_EQ(launches(300, 0, has_device_arrays, Factor<T>::at(one.data())).first, kPhases + 1) << what << ", signs";
    const auto [kernels, parts] = launches(300, std::size_t{8} << 20, has_device_arrays, T(1));
    EXPECT_GT(parts, 1U) << what;
    EXPECT_EQ(kernels, parts * kPhases) << what;
  }
  // Of one product the FP64 rung comes with the decision.
  EXPECT_EQ(launches(1, 0, false, T(1)).first, kPhases - 1);
  // Long rows of A lie across memory: clusters hold them, beside the lines of B. Longer ones have a split of their own, and one decision is
  // made for both operands.
  EXPECT_EQ(launches(1, 0, false, T(1), 2100).first, kPhases - 1) << "of long lines";
  EXPECT_EQ(launches(3, 0, false, T(1), 2100).first, kPhases) << "3 of long lines";
  EXPECT_EQ(launches(1, 0, false, T(1), 8300).first, kPhases) << "of longer lines";
  EXPECT_EQ(launches(3, 0, false, T(1), 8300).first, kPhases + 1) << "3 of longer lines";
}

}  // namespace
}  // namespace kizami::gpu_test
