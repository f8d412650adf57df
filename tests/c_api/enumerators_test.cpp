// SPDX-License-Identifier: MIT
// Every number of every enum of kizami.h is taken where it may be given, under a name, and its neighbours are refused.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "api/c_abi.hpp"

namespace kizami::api {
namespace {

using PolicyOwner = std::unique_ptr<kizami_policy, decltype(&kizami_policy_destroy)>;

PolicyOwner new_policy() {
  kizami_policy* made = nullptr;
  EXPECT_EQ(kizami_policy_create(&made), KIZAMI_OK);
  return {made, &kizami_policy_destroy};
}

/// @param give what the C function answers to a number
template <class Enum>
void expect_all_taken(const char* argument, const std::function<kizami_status(int)>& give) {
  const int last = kLastInC<Enum>;
  for (int number = 0; number <= last; ++number) {
    EXPECT_EQ(give(number), KIZAMI_OK) << argument << " = " << number << ": " << kizami_last_error();
  }
  for (const int number : {-1, last + 1}) {
    EXPECT_EQ(give(number), KIZAMI_INVALID_ARGUMENT) << argument << " = " << number;
    EXPECT_EQ(kizami_last_error(),
              std::string(argument) + " = " + std::to_string(number) + ", must be in 0.." + std::to_string(last));
  }
}

TEST(CEnumerators, OfPoliciesAreTaken) {
  const PolicyOwner owner = new_policy();
  kizami_policy* const p = owner.get();
  expect_all_taken<Accuracy::Kind>(
      "kind", [p](int x) { return kizami_policy_set_accuracy(p, x, x == KIZAMI_ACCURACY_BITS ? 30 : 0); });
  expect_all_taken<Gauge>("gauge", [p](int x) { return kizami_policy_set_gauge(p, x); });
  expect_all_taken<Scheme>("scheme", [p](int x) { return kizami_policy_set_scheme(p, x); });
  expect_all_taken<EngineName>("engine", [p](int x) { return kizami_policy_set_engine(p, x); });
  expect_all_taken<Reproducibility>("promise", [p](int x) { return kizami_policy_set_reproducibility(p, x); });
  expect_all_taken<EcVariant>("variant", [p](int x) { return kizami_policy_set_variant(p, x, 0, 0); });
  expect_all_taken<SliceFormat>("format",
                                [p](int x) { return kizami_policy_set_digits(p, x, KIZAMI_SLICE_SPLIT_AUTO, 0, 0); });
  expect_all_taken<SliceSplit>("split",
                               [p](int x) { return kizami_policy_set_digits(p, KIZAMI_SLICE_FORMAT_INT8, x, 0, 0); });
  expect_all_taken<SliceSums>("sums", [p](int x) { return kizami_policy_set_slice_sums(p, x); });
  expect_all_taken<ComplexForm>("form", [p](int x) { return kizami_policy_set_complex_form(p, x); });
}

TEST(CEnumerators, OfProductsAreTaken) {
  const double one[2] = {1, 0};
  const double zero[2] = {0, 0};
  double c[2] = {0, 0};
  const auto gemm = [&](int scalar, int layout, int op_a, int op_b) {
    return kizami_gemm(scalar, layout, op_a, op_b, 1, 1, 1, one, one, 1, one, 1, zero, c, 1, nullptr, nullptr);
  };
  expect_all_taken<Scalar>("scalar", [&](int x) { return gemm(x, 0, 0, 0); });
  expect_all_taken<Layout>("layout", [&](int x) { return gemm(KIZAMI_F64, x, 0, 0); });
  expect_all_taken<Op>("op_a", [&](int x) { return gemm(KIZAMI_F64, 0, x, 0); });
  expect_all_taken<Op>("op_b", [&](int x) { return gemm(KIZAMI_F64, 0, 0, x); });
  kizami_plan* plan = nullptr;
  ASSERT_EQ(kizami_plan_create(&plan, KIZAMI_F64, 1, 1, 1, nullptr), KIZAMI_OK);
  expect_all_taken<Side>("side", [&](int x) {
    kizami_prepared* prepared = nullptr;
    const kizami_status status = kizami_prepare(&prepared, plan, x, KIZAMI_COL_MAJOR, KIZAMI_NONE, one, 1);
    kizami_prepared_destroy(prepared);
    return status;
  });
  kizami_plan_destroy(plan);
}

TEST(CEnumerators, OfEnginesMultiply) {
  for (const EngineName engine :
       {EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kTile}) {  // those that carry the default scheme here
    const PolicyOwner policy = new_policy();
    ASSERT_EQ(kizami_policy_set_engine(policy.get(), static_cast<int>(engine)), KIZAMI_OK);
    const double a[2] = {3, -5};
    const double b[2] = {7, 11};
    double c = 0;
    kizami_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    ASSERT_EQ(kizami_dgemm(KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, 1, 1, 2, 1, a, 1, b, 2, 0, &c, 1, policy.get(),
                           &outcome),
              KIZAMI_OK)
        << kizami_last_error();
    EXPECT_EQ(c, 3 * 7 - 5 * 11);
    EXPECT_EQ(outcome.engine, std::string(to_string(engine)));
  }
}

}  // namespace
}  // namespace kizami::api
