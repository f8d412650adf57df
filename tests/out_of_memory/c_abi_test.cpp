// SPDX-License-Identifier: MIT
// Each allocation of a call of the C ABI fails in turn, by itself and with all after it: no exception leaves the
// library, on whichever thread it was thrown, the status says that memory is out, and the next call is answered as if
// nothing had been.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "kizami/kizami.h"
#include "out_of_memory/failing_allocations.hpp"
#include "tests/sanitized.hpp"

namespace kizami::out_of_memory {
namespace {

constexpr int kM = 18, kN = 9, kK = 35, kBatch = 6;
constexpr std::int64_t kMostAllocations = 100000;
constexpr int kMostMisses = 20;
constexpr std::int64_t kRetries = 5;  // one call of so many that failed is made again

/// What a call sets, as bytes: C, where it has one.
using Bytes = std::vector<unsigned char>;

struct Answer {
  kizami_status status = KIZAMI_OK;
  std::string reason;
  Bytes out;
  bool has_failed = false;  ///< whether there was such an allocation
};

/// The call on a thread of its own, which has no memory left from earlier calls.
Answer answer_of(const std::function<kizami_status(Bytes& out)>& call, const Bytes& before, std::int64_t number,
                 Failing which) {
  Answer answer;
  answer.out = before;
  std::thread([&] {
    {
      const FailingAllocations failing(number, which);
      answer.status = call(answer.out);
      answer.has_failed = FailingAllocations::has_failed();
    }
    answer.reason = kizami_last_error();
  }).join();
  return answer;
}

/// `call` writes to `out`, which is as `before` when it begins. @param is_one_product then C is untouched by a call
/// that failed
/// @return how many allocations failed
std::int64_t expect_no_harm(const std::string& name, const Bytes& before, bool is_one_product, Failing which,
                            const std::function<kizami_status(Bytes& out)>& call) {
  const Answer expected = answer_of(call, before, kMostAllocations, Failing::kOne);
  std::int64_t number = 0;
  // Whether other threads come in time is chance.
  const int most_misses = which == Failing::kOneElsewhere ? kMostMisses : 1;
  for (int misses = 0; misses < most_misses && number < kMostAllocations;) {
    Answer answer = answer_of(call, before, number, which);
    const bool has_failed = answer.has_failed;
    misses = has_failed ? 0 : misses + 1;
    number += has_failed ? 1 : 0;
    const std::string where = name + ", allocation " + std::to_string(number);
    if (has_failed && answer.status == KIZAMI_OUT_OF_MEMORY) {
      EXPECT_NE(answer.reason, "") << where;
      if (is_one_product) {
        EXPECT_EQ(answer.out, before) << where << ": C is not as it was";
      }
      if (number % kRetries != 0) continue;
      answer = answer_of(call, before, kMostAllocations, Failing::kOne);  // nothing of what failed is left
    }
    EXPECT_EQ(answer.status, expected.status) << where << ": " << answer.reason;
    if (answer.status == KIZAMI_OK || is_one_product) {
      EXPECT_EQ(answer.out, expected.out) << where;
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_LT(number, kMostAllocations) << name << " does not end";
  return number;
}
std::int64_t expect_no_harm(const std::string& name, const Bytes& before, bool is_one_product,
                            const std::function<kizami_status(Bytes& out)>& call) {
  return expect_no_harm(name, before, is_one_product, Failing::kOne, call) +
         expect_no_harm(name + ", for good", before, is_one_product, Failing::kAllFrom, call);
}

struct Policy {
  kizami_policy* handle = nullptr;
  Policy() { EXPECT_EQ(kizami_policy_create(&handle), KIZAMI_OK); }
  ~Policy() { kizami_policy_destroy(handle); }
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  /// Equal for results, and unknown to all memories of plans.
  void renew() {
    static std::size_t limit = std::size_t{1} << 30;
    EXPECT_EQ(kizami_policy_set_workspace_limit(handle, limit -= 64), KIZAMI_OK);
  }
};

std::size_t bytes_of(kizami_scalar scalar) { return scalar == KIZAMI_F32 ? 4 : scalar == KIZAMI_C128 ? 16 : 8; }
bool is_complex(kizami_scalar scalar) { return scalar == KIZAMI_C64 || scalar == KIZAMI_C128; }

/// Numbers of exponents up to +-spread, one NaN if asked for.
Bytes matrix(kizami_scalar scalar, int count, int seed, int spread = 0, bool has_nan = false) {
  const int parts = is_complex(scalar) ? 2 : 1;
  const bool is_single = scalar == KIZAMI_F32 || scalar == KIZAMI_C64;
  Bytes out(static_cast<std::size_t>(count) * bytes_of(scalar));
  for (int i = 0; i < count * parts; ++i) {
    const int exponent = spread == 0 ? 0 : (i * 37 + seed * 11) % (2 * spread) - spread;
    double x = std::ldexp(static_cast<double>((i * 7919 + seed * 104729) % 1999 - 999), exponent - 10);
    if (has_nan && i == count / 2) x = std::numeric_limits<double>::quiet_NaN();
    const auto single = static_cast<float>(x);
    const std::size_t size = is_single ? sizeof single : sizeof x;
    std::memcpy(out.data() + static_cast<std::size_t>(i) * size, is_single ? static_cast<const void*>(&single) : &x,
                size);
  }
  return out;
}

/// One, of any type: real and imaginary part.
struct Factors {
  alignas(16) unsigned char one[16] = {};
  alignas(16) unsigned char zero[16] = {};
  explicit Factors(kizami_scalar scalar) {
    const float single = 1;
    const double full = 1;
    const bool is_single = scalar == KIZAMI_F32 || scalar == KIZAMI_C64;
    std::memcpy(one, is_single ? static_cast<const void*>(&single) : &full, is_single ? 4 : 8);
  }
};

struct Case {
  std::string name;
  kizami_scalar scalar = KIZAMI_F64;
  std::function<void(kizami_policy*)> set = [](kizami_policy*) {};
  int spread = 0;
  bool has_nan = false;
  bool can_prepare = true;
  bool may_allocate_nothing = false;
};

void require(kizami_status status) { EXPECT_EQ(status, KIZAMI_OK) << kizami_last_error(); }

std::vector<Case> cases() {
  const auto scheme = [](kizami_scheme x) {
    return [x](kizami_policy* p) { require(kizami_policy_set_scheme(p, x)); };
  };
  const auto any_bits = [](kizami_scheme x) {
    return [x](kizami_policy* p) {
      require(kizami_policy_set_reproducibility(p, KIZAMI_REPRODUCIBILITY_NONE));
      require(kizami_policy_set_scheme(p, x));
    };
  };
  const auto engine = [](kizami_engine x) {
    return [x](kizami_policy* p) { require(kizami_policy_set_engine(p, x)); };
  };
  const auto accuracy = [](kizami_accuracy kind, int bits) {
    return [kind, bits](kizami_policy* p) { require(kizami_policy_set_accuracy(p, kind, bits)); };
  };
  const auto slices = [](int count, kizami_slice_format format, kizami_complex_form form) {
    return [=](kizami_policy* p) {
      require(kizami_policy_set_scheme(p, KIZAMI_SCHEME_OZAKI1));
      require(kizami_policy_set_slices(p, count, 0));
      require(kizami_policy_set_digits(p, format, KIZAMI_SLICE_SPLIT_AUTO, 0, 0));
      require(kizami_policy_set_complex_form(p, form));
    };
  };
  std::vector<Case> all = {
      {"f32", KIZAMI_F32},
      {"f64", KIZAMI_F64},
      {"c64", KIZAMI_C64},
      {"c128", KIZAMI_C128},
      {"wide exponents", KIZAMI_F64, scheme(KIZAMI_SCHEME_OZAKI2), 300},
      {"wide exponents, c128", KIZAMI_C128, scheme(KIZAMI_SCHEME_OZAKI2), 60},
      {"NaN", KIZAMI_F64, scheme(KIZAMI_SCHEME_OZAKI2), 0, true},
      {"rejected NaN", KIZAMI_F64, [](kizami_policy* p) { require(kizami_policy_set_reject_nonfinite(p, 1)); }, 0, true,
       false},
      {"correct", KIZAMI_F64, accuracy(KIZAMI_ACCURACY_CORRECT, 0), 20},
      {"correct, c64", KIZAMI_C64, accuracy(KIZAMI_ACCURACY_CORRECT, 0)},
      {"bits=40", KIZAMI_F64, accuracy(KIZAMI_ACCURACY_BITS, 40)},
      {"cpu_ref", KIZAMI_F64, engine(KIZAMI_ENGINE_CPU_REF)},
      {"ozaki1", KIZAMI_F64, scheme(KIZAMI_SCHEME_OZAKI1)},
      {"ozaki1, wide exponents", KIZAMI_F64, scheme(KIZAMI_SCHEME_OZAKI1), 300},
      {"ozaki1, 4 slices", KIZAMI_F64, slices(4, KIZAMI_SLICE_FORMAT_INT8, KIZAMI_COMPLEX_FORM_AUTO)},
      {"ozaki1, Karatsuba", KIZAMI_C128, slices(3, KIZAMI_SLICE_FORMAT_INT8, KIZAMI_COMPLEX_FORM_KARATSUBA), 0, true},
      {"ozaki1, fp16", KIZAMI_F64, slices(3, KIZAMI_SLICE_FORMAT_FP16, KIZAMI_COMPLEX_FORM_AUTO)},
      {"ec", KIZAMI_F32, any_bits(KIZAMI_SCHEME_EC), 0, false, false},
      {"ec, wide exponents", KIZAMI_C64, any_bits(KIZAMI_SCHEME_EC), 50, false, false},
      {"native", KIZAMI_F64, any_bits(KIZAMI_SCHEME_NATIVE), 0, false, false, true},
  };
  if (!tests::kHasAddressSanitizer) {  // which leaves marks of unwound frames on a stack as large as tile kernels'
    all.push_back({"tile", KIZAMI_F64, engine(KIZAMI_ENGINE_TILE)});
    all.push_back({"tile, c64", KIZAMI_C64, engine(KIZAMI_ENGINE_TILE)});
  }
  return all;
}

struct Threads {
  int count;
  bool is_plan_known;
};

/// Runs `body(name, case, policy)` for every case in every setting.
/// @param body returns how many allocations failed
template <class Body>
void for_all_cases(const std::vector<Threads>& settings, const Body& body) {
  for (const Case& c : cases()) {
    for (const Threads& threads : settings) {
      Policy policy;
      c.set(policy.handle);
      require(kizami_policy_set_threads(policy.handle, threads.count));
      const std::string name = c.name + ", " + std::to_string(threads.count) + " threads" +
                               (threads.is_plan_known ? "" : ", the plan is new");
      const std::int64_t failures = body(name, c, [&]() -> const kizami_policy* {
        if (!threads.is_plan_known) policy.renew();
        return policy.handle;
      });
      if (testing::Test::HasFailure()) return;
      EXPECT_TRUE(failures > 0 || (threads.is_plan_known && c.may_allocate_nothing)) << name << ": nothing was tested";
    }
  }
}

TEST(OutOfMemory, OneProduct) {
  for_all_cases({{1, true}, {2, true}, {2, false}}, [](const std::string& name, const Case& c, const auto& policy) {
    const Bytes a = matrix(c.scalar, kM * kK, 1, c.spread, c.has_nan), b = matrix(c.scalar, kK * kN, 2, c.spread);
    const Factors f(c.scalar);
    return expect_no_harm(name, matrix(c.scalar, kM * kN, 3), true, [&](Bytes& out) {
      const kizami_policy* const p = policy();
      return kizami_gemm(c.scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, f.one, a.data(), kM,
                         b.data(), kK, f.zero, out.data(), kM, p, nullptr);
    });
  });
}

TEST(OutOfMemory, StridedBatches) {
  for_all_cases({{1, true}, {2, true}}, [](const std::string& name, const Case& c, const auto& policy) {
    const Bytes a = matrix(c.scalar, kBatch * kM * kK, 1, c.spread, c.has_nan);
    const Bytes b = matrix(c.scalar, kBatch * kK * kN, 2, c.spread);
    const Factors f(c.scalar);
    return expect_no_harm(name, matrix(c.scalar, kBatch * kM * kN, 3), false, [&](Bytes& out) {
      const kizami_policy* const p = policy();
      return kizami_gemm_strided_batched(c.scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, f.one,
                                         a.data(), kM, kM * kK, b.data(), kK, kK * kN, f.zero, out.data(), kM, kM * kN,
                                         kBatch, p, nullptr);
    });
  });
}

// What the threads of the pool allocate, products of a batch side by side.
TEST(OutOfMemory, OtherThreads) {
  std::int64_t failures = 0;
  for_all_cases({{2, true}}, [&](const std::string& name, const Case& c, const auto& policy) {
    const Bytes a = matrix(c.scalar, kBatch * kM * kK, 1, c.spread, c.has_nan);
    const Bytes b = matrix(c.scalar, kBatch * kK * kN, 2, c.spread);
    const Factors f(c.scalar);
    failures +=
        expect_no_harm(name, matrix(c.scalar, kBatch * kM * kN, 3), false, Failing::kOneElsewhere, [&](Bytes& out) {
          return kizami_gemm_strided_batched(c.scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, f.one,
                                             a.data(), kM, kM * kK, b.data(), kK, kK * kN, f.zero, out.data(), kM,
                                             kM * kN, kBatch, policy(), nullptr);
        });
    return std::int64_t{1};  // by chance no other thread may have come in time
  });
  EXPECT_GT(failures, 0);
}

TEST(OutOfMemory, Batches) {
  for_all_cases({{2, true}}, [](const std::string& name, const Case& c, const auto& policy) {
    const std::size_t size = bytes_of(c.scalar);
    const Bytes a = matrix(c.scalar, kBatch * kM * kK, 1, c.spread, c.has_nan);
    const Bytes b = matrix(c.scalar, kBatch * kK * kN, 2, c.spread);
    const Factors f(c.scalar);
    return expect_no_harm(name, matrix(c.scalar, kBatch * kM * kN, 3), false, [&](Bytes& out) {
      const kizami_policy* const p = policy();
      const void* as[kBatch];
      const void* bs[kBatch];
      void* cs[kBatch];
      for (std::size_t i = 0; i < kBatch; ++i) {
        as[i] = a.data() + i * kM * kK * size;
        bs[i] = b.data() + i * kK * kN * size;
        cs[i] = out.data() + i * kM * kN * size;
      }
      return kizami_gemm_batched(c.scalar, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, kM, kN, kK, f.one, as, kM, bs,
                                 kK, f.zero, cs, kM, kBatch, p, nullptr);
    });
  });
}

/// A plan, what is asked of it, both operands prepared, and the product.
kizami_status prepare_and_run(const Case& c, const kizami_policy* policy, const Bytes& a, const Bytes& b, Bytes& out) {
  const Factors f(c.scalar);
  kizami_plan* plan = nullptr;
  kizami_prepared* prepared[2] = {};
  char text[64];
  kizami_plan_info info;
  info.struct_size = sizeof info;
  kizami_status status = kizami_plan_create(&plan, c.scalar, kM, kN, kK, policy);
  if (status == KIZAMI_OK) status = kizami_plan_query(plan, &info);
  if (status == KIZAMI_OK) status = kizami_plan_explain(plan, text, sizeof text, nullptr);
  if (status == KIZAMI_OK)
    status = kizami_prepare(&prepared[0], plan, KIZAMI_SIDE_A, KIZAMI_COL_MAJOR, KIZAMI_NONE, a.data(), kM);
  if (status == KIZAMI_OK)
    status = kizami_prepare(&prepared[1], plan, KIZAMI_SIDE_B, KIZAMI_COL_MAJOR, KIZAMI_NONE, b.data(), kK);
  if (status == KIZAMI_OK)
    status = kizami_run_prepared(plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, f.one, prepared[0], a.data(), kM,
                                 prepared[1], b.data(), kK, f.zero, out.data(), kM, nullptr, 0, nullptr);
  if (status == KIZAMI_OK)  // again, as planned
    status = kizami_run(plan, KIZAMI_COL_MAJOR, KIZAMI_NONE, KIZAMI_NONE, f.one, a.data(), kM, b.data(), kK, f.zero,
                        out.data(), kM, nullptr, 0, nullptr);
  for (kizami_prepared* one : prepared) kizami_prepared_destroy(one);
  kizami_plan_destroy(plan);
  return status;
}

TEST(OutOfMemory, PlansAndPreparedOperands) {
  for_all_cases({{2, true}}, [](const std::string& name, const Case& c, const auto& policy) {
    if (!c.can_prepare) return std::int64_t{1};  // scheme native or ec, or an error
    const Bytes a = matrix(c.scalar, kM * kK, 1, c.spread, c.has_nan), b = matrix(c.scalar, kK * kN, 2, c.spread);
    return expect_no_harm(name, matrix(c.scalar, kM * kN, 3), false,
                          [&](Bytes& out) { return prepare_and_run(c, policy(), a, b, out); });
  });
}

TEST(OutOfMemory, PoliciesAndReports) {
  std::int64_t failures = 0;
  failures +=
      expect_no_harm("machine report", {}, false, [](Bytes&) { return kizami_machine_report(nullptr, 0, nullptr); });
  failures += expect_no_harm("a policy", {}, false, [](Bytes&) {
    kizami_policy* policy = nullptr;
    const kizami_status status = kizami_policy_create(&policy);
    kizami_policy_destroy(policy);
    return status;
  });
  const Policy policy;
  failures += expect_no_harm("a refused setting", {}, false,
                             [&](Bytes&) { return kizami_policy_set_engine(policy.handle, 1000000000); });
  failures += expect_no_harm("a refused shape", {}, false, [&](Bytes&) {
    kizami_plan* plan = nullptr;
    return kizami_plan_create(&plan, KIZAMI_F64, -1, 1, 1, policy.handle);
  });
  EXPECT_GE(failures, 2 * 4);  // each of them, twice
}

}  // namespace
}  // namespace kizami::out_of_memory
