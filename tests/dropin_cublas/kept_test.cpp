// SPDX-License-Identifier: MIT
// Operands that stay split on a device under the names that a program gives them: how often they are split, who takes
// them, and that no stream reads what another one has not made yet, or frees what another one reads.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>

#include "dropin_cublas/process.hpp"
#include "kizami/dropin.h"

namespace kizami::dropin_test {
namespace {

constexpr int kA = 0, kB = 1;
constexpr std::size_t kBytes = 512;  // of an operand, as the fake has it

struct Counts {
  std::uint64_t split = 0, taken = 0;
  std::size_t bytes = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};
Counts kept() {
  Counts counts;
  kizami_dropin_kept(&counts.split, &counts.taken, &counts.bytes);
  return counts;
}
std::string print(const Counts& x) {
  return std::to_string(x.split) + " split, " + std::to_string(x.taken) + " taken, " + std::to_string(x.bytes) +
         " bytes";
}
void expect_kept(std::uint64_t split, std::uint64_t taken, std::size_t operands) {
  EXPECT_EQ(kept(), (Counts{split, taken, operands * kBytes})) << print(kept());
}

/// What is wrong in an order of steps, or nothing. A step comes before another one if it is before it in its stream, or
/// before an event that the other one's stream has waited for, or that the host has seen come by then.
class Order {
 public:
  [[nodiscard]] std::string check(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      ++clocks_[step.stream][step.stream];
      const std::string error = take(step);
      if (!error.empty()) return error;
    }
    return "";
  }
  [[nodiscard]] std::size_t num_allocated() const { return memories_.size(); }

 private:
  using Clock = std::map<const void*, std::uint64_t>;  ///< steps of each stream that come before
  struct At {
    const void* stream;
    std::uint64_t number;
  };
  struct Memory {
    std::vector<At> splits, uses;
  };

  std::string take(const Step& step) {
    Clock& clock = clocks_[step.stream];
    const At now{step.stream, clock[step.stream]};
    const auto is_before = [&](const At& at) { return std::max(clock[at.stream], come_[at.stream]) >= at.number; };
    const auto add = [](const Clock& more, Clock& to) {
      for (const auto& [stream, number] : more) to[stream] = std::max(to[stream], number);
    };
    if (step.kind == Step::Kind::kRecord) {
      events_[step.what] = clock;
      return "";
    }
    if (step.kind == Step::Kind::kWait) {
      if (!events_.contains(step.what)) return "a stream waits for an event that was not recorded";
      add(events_[step.what], clock);
      return "";
    }
    if (step.kind == Step::Kind::kCame) {
      add(events_[step.what], come_);
      return "";
    }
    if (step.kind == Step::Kind::kAllocate) {
      return memories_.try_emplace(step.what).second ? "" : "memory is allocated twice";
    }
    const auto found = memories_.find(step.what);
    if (found == memories_.end()) return "memory is used that is not allocated";
    Memory& memory = found->second;
    if (step.kind == Step::Kind::kSplit) memory.splits.push_back(now);
    if (step.kind == Step::Kind::kUse) {
      if (memory.splits.size() != 1 || !std::ranges::all_of(memory.splits, is_before))
        return "an operand is used before it is split";
      memory.uses.push_back(now);
    }
    if (step.kind == Step::Kind::kFree) {
      if (!std::ranges::all_of(memory.splits, is_before)) return "memory is freed before the split has ended";
      if (!std::ranges::all_of(memory.uses, is_before)) return "memory is freed before a call has used it";
      memories_.erase(found);
    }
    return "";
  }

  std::map<const void*, Clock> clocks_;
  std::map<const void*, Clock> events_;
  Clock come_;
  std::map<const void*, Memory> memories_;
};

/// A product, with what is named before it.
struct Product {
  struct Name {
    int side;
    std::uint64_t id;
    std::uint64_t version;
  };
  std::vector<Name> names;
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  int m = 10, n = 20, k = 30;
  std::uintptr_t a = 0xA000;
  std::uintptr_t b = 0xB000;
};

class Kept : public Interposer {
 protected:
  void SetUp() override {
    Interposer::SetUp();
    handle.stream = address<CUstream_st>(0x5000);
  }
  void TearDown() override {
    configuration() = dropin::Configuration{};
    EXPECT_EQ(Order().check(steps().all()), "");
    EXPECT_EQ(runtime().relaxed, 0);
    EXPECT_FALSE(runtime().has_error) << "an error of CUDA is left";
  }

  static cublasStatus_t multiply(cublasHandle_t handle, const Product& x) {
    for (const Product::Name& name : x.names)
      EXPECT_EQ(kizami_dropin_name_operand(name.side, name.id, name.version), 0);
    const double one = 1;
    return cublasDgemm_v2(handle, x.op_a, x.op_b, x.m, x.n, x.k, &one, address<const double>(x.a), 40,
                          address<const double>(x.b), 50, &one, address<double>(0xC000), 60);
  }
  /// One call, which Kizami answers, with operands that are kept or without.
  const KizamiCall& expect_product(const Product& x) {
    expect_emulated([&] { return multiply(handle.get(), x); });
    EXPECT_EQ(kizami.at(0).m, x.m);
    EXPECT_EQ(kizami.at(0).n, x.n);
    EXPECT_EQ(kizami.at(0).k, x.k);
    return kizami.at(0);
  }
  void expect_plain(const Product& x) { EXPECT_EQ(expect_product(x).kind, Kind::kOne); }
  /// The memory of what is kept of A.
  const void* expect_kept_a(const Product& x) {
    const KizamiCall& call = expect_product(x);
    EXPECT_EQ(call.kind, Kind::kPrepared);
    EXPECT_NE(call.kept_a, nullptr);
    return call.kept_a;
  }
};

TEST_F(Kept, AnOperandIsSplitOnceAndTakenAgain) {
  const void* const first = expect_kept_a({.names = {{kA, 7, 1}}});
  expect_kept(1, 0, 1);
  EXPECT_EQ(kizami[0].kept_b, nullptr);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(expect_kept_a({.names = {{kA, 7, 1}}}), first);
    expect_kept(1, static_cast<std::uint64_t>(i), 1);
  }
  EXPECT_EQ(steps().count(Step::Kind::kAllocate), 1U);
  EXPECT_EQ(steps().count(Step::Kind::kSplit), 1U);
  EXPECT_EQ(steps().count(Step::Kind::kUse), 4U);
  EXPECT_EQ(steps().count(Step::Kind::kFree), 0U);
}

TEST_F(Kept, ThePreparedCallHasTheArgumentsOfTheCall) {
  const KizamiCall& call =
      expect_product({.names = {{kB, 7, 1}}, .op_a = CUBLAS_OP_T, .op_b = CUBLAS_OP_N, .m = 11, .n = 12, .k = 13});
  EXPECT_EQ(call.kind, Kind::kPrepared);
  EXPECT_EQ(call.kept_a, nullptr);
  EXPECT_NE(call.kept_b, nullptr);
  EXPECT_EQ(call.op_a, Op::kTranspose);
  EXPECT_EQ(call.op_b, Op::kNone);
  EXPECT_EQ((std::vector{call.lda, call.ldb, call.ldc}), (std::vector<std::int64_t>{40, 50, 60}));
  EXPECT_EQ(call.a, address<void>(0xA000));
  EXPECT_EQ(call.b, address<void>(0xB000));
  EXPECT_EQ(call.c, address<void>(0xC000));
  EXPECT_EQ(call.stream, handle.stream);
  EXPECT_EQ(call.alpha, 1.0);
  EXPECT_EQ(call.beta, 1.0);
}

TEST_F(Kept, FactorsInDeviceMemoryStayThere) {
  handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  expect_emulated([&] {
    EXPECT_EQ(kizami_dropin_name_operand(kA, 7, 1), 0);
    return cublasZgemm_v2(handle.get(), CUBLAS_OP_C, CUBLAS_OP_N, 10, 20, 30, address<const cuDoubleComplex>(0xF000),
                          address<const cuDoubleComplex>(0xA000), 30, address<const cuDoubleComplex>(0xB000), 30,
                          address<const cuDoubleComplex>(0xF100), address<cuDoubleComplex>(0xC000), 10);
  });
  EXPECT_EQ(kizami[0].kind, Kind::kPrepared);
  EXPECT_EQ(kizami[0].scalar, Scalar::kC128);
  EXPECT_EQ(kizami[0].op_a, Op::kConjTranspose);
  EXPECT_EQ(kizami[0].device_alpha, address<void>(0xF000));
  EXPECT_EQ(kizami[0].device_beta, address<void>(0xF100));
}

TEST_F(Kept, BothSidesHaveNamesOfTheirOwn) {
  const Product both{.names = {{kA, 7, 1}, {kB, 7, 1}}};  // one matrix may be both
  const KizamiCall first = expect_product(both);
  EXPECT_NE(first.kept_a, nullptr);
  EXPECT_NE(first.kept_b, nullptr);
  EXPECT_NE(first.kept_a, first.kept_b);
  expect_kept(2, 0, 2);
  const KizamiCall& second = expect_product(both);
  EXPECT_EQ(second.kept_a, first.kept_a);
  EXPECT_EQ(second.kept_b, first.kept_b);
  expect_kept(2, 2, 2);
}

TEST_F(Kept, ANameIsForOneCall) {
  expect_emulated([&] {
    EXPECT_EQ(multiply(handle.get(), {.names = {{kA, 7, 1}}}), CUBLAS_STATUS_SUCCESS);
    kizami.clear();
    return multiply(handle.get(), {});
  });
  EXPECT_EQ(kizami[0].kind, Kind::kOne);
  expect_kept(1, 0, 1);
}

TEST_F(Kept, ACallOfCublasUsesUpItsNames) {
  planner().scheme = Scheme::kNative;
  EXPECT_EQ(call([&] {
              EXPECT_EQ(multiply(handle.get(), {.names = {{kA, 7, 1}}}), CUBLAS_STATUS_SUCCESS);
              planner().scheme = Scheme::kOzaki2;
              return multiply(handle.get(), {.names = {}, .m = 11});
            }),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(native.size(), 1U);
  ASSERT_EQ(kizami.size(), 1U);
  EXPECT_EQ(kizami[0].kind, Kind::kOne);
  expect_kept(0, 0, 0);
}

TEST_F(Kept, ANameCanBeTakenBack) {
  expect_emulated([&] {
    EXPECT_EQ(kizami_dropin_name_operand(kA, 7, 1), 0);
    EXPECT_EQ(kizami_dropin_name_operand(kB, 7, 1), 0);
    kizami_dropin_unname_operands();
    return multiply(handle.get(), {});
  });
  EXPECT_EQ(kizami[0].kind, Kind::kOne);
  EXPECT_EQ(kizami_dropin_name_operand(2, 7, 1), 1);
  EXPECT_EQ(kizami_dropin_name_operand(-1, 7, 1), 1);
}

TEST_F(Kept, NothingIsKnownByAddresses) {
  const void* const first = expect_kept_a({.names = {{kA, 7, 1}}});
  EXPECT_EQ(expect_kept_a({.names = {{kA, 7, 1}}, .a = 0xA800}), first) << "by name, wherever the matrix is now";
  EXPECT_EQ(kizami[0].a, address<void>(0xA800)) << "elements that need more are read where they are";
  expect_kept(1, 1, 1);
  expect_kept_a({.names = {{kA, 8, 1}}});  // at the address of the first
  expect_kept(2, 1, 2);
}

TEST_F(Kept, AnotherVersionReplacesAllOfItsId) {
  expect_kept_a({.names = {{kA, 7, 1}}});
  expect_kept_a({.names = {{kA, 7, 1}}, .m = 11});
  expect_kept_a({.names = {{kA, 8, 1}}});
  expect_kept(3, 0, 3);
  expect_kept_a({.names = {{kA, 7, 2}}});
  expect_kept(4, 0, 2);
  EXPECT_EQ(steps().count(Step::Kind::kFree), 2U);
  expect_kept_a({.names = {{kA, 7, 1}}});
  expect_kept(5, 0, 2);
}

TEST_F(Kept, WhatIsOfAnotherKindIsSplitAnew) {
  const Product product{.names = {{kA, 7, 1}}};
  expect_kept_a(product);
  Product other = product;
  other.op_a = CUBLAS_OP_T;
  expect_kept_a(other);
  expect_kept(2, 0, 2);
  other = product;
  other.k = 31;
  expect_kept_a(other);
  expect_kept(3, 0, 3);
  planner().numerics = 2;  // another accuracy, say
  expect_kept_a(product);
  expect_kept(4, 0, 4);
  runtime().device = 1;
  expect_kept_a(product);
  expect_kept(5, 0, 5);
  planner().numerics = 1;
  runtime().device = 0;
  other = product;
  other.n = 21;  // which A does not know of
  expect_kept_a(other);
  expect_kept(5, 1, 5);
}

TEST_F(Kept, AllEntryPointsOfOneProductKeep) {
  const double one = 1;
  const float single = 1;
  const cuComplex unit{1, 0};
  const auto a = [] { return address<const void>(0xA000); };
  const auto b = [] { return address<const void>(0xB000); };
  const auto c = [] { return address<void>(0xC000); };
  const cublasHandle_t h = handle.get();
  constexpr auto kNone = CUBLAS_OP_N;
  const std::vector<std::function<cublasStatus_t()>> calls{
      [&] {
        return cublasSgemm_v2(h, kNone, kNone, 10, 20, 30, &single, address<const float>(0xA000), 10,
                              address<const float>(0xB000), 30, &single, address<float>(0xC000), 10);
      },
      [&] {
        return cublasDgemm_v2_64(h, kNone, kNone, 10, 20, 30, &one, address<const double>(0xA000), 10,
                                 address<const double>(0xB000), 30, &one, address<double>(0xC000), 10);
      },
      [&] {
        return cublasCgemm3m(h, kNone, kNone, 10, 20, 30, &unit, address<const cuComplex>(0xA000), 10,
                             address<const cuComplex>(0xB000), 30, &unit, address<cuComplex>(0xC000), 10);
      },
      [&] {
        return cublasSgemmEx(h, kNone, kNone, 10, 20, 31, &single, a(), CUDA_R_32F, 10, b(), CUDA_R_32F, 31, &single,
                             c(), CUDA_R_32F, 10);
      },
      [&] {
        return cublasGemmEx(h, kNone, kNone, 10, 20, 32, &one, a(), CUDA_R_64F, 10, b(), CUDA_R_64F, 32, &one, c(),
                            CUDA_R_64F, 10, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
      },
      [&] {
        return cublasGemmEx_64(h, kNone, kNone, 10, 20, 33, &one, a(), CUDA_R_64F, 10, b(), CUDA_R_64F, 33, &one, c(),
                               CUDA_R_64F, 10, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
      }};
  std::uint64_t number = 0;
  for (const auto& function : calls) {
    for (int again = 0; again < 2; ++again) {
      expect_emulated([&] {
        EXPECT_EQ(kizami_dropin_name_operand(kA, 7, 1), 0);
        return function();
      });
      EXPECT_EQ(kizami[0].kind, Kind::kPrepared) << number;
    }
    ++number;
    expect_kept(number, number, number);
  }
}

TEST_F(Kept, BatchesAndTrianglesUseUpNamesAndKeepNothing) {
  const double one = 1;
  expect_emulated([&] {
    EXPECT_EQ(kizami_dropin_name_operand(kA, 7, 1), 0);
    return cublasDgemmStridedBatched(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, 10, 20, 30, &one,
                                     address<const double>(0xA000), 10, 300, address<const double>(0xB000), 30, 600,
                                     &one, address<double>(0xC000), 10, 200, 3);
  });
  EXPECT_EQ(kizami[0].kind, Kind::kStrided);
  configuration().settings.min_size = 0;
  EXPECT_EQ(call([&] {
              EXPECT_EQ(kizami_dropin_name_operand(kA, 7, 1), 0);
              EXPECT_EQ(cublasDsyrk_v2(handle.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 8, 20, &one,
                                       address<const double>(0xA000), 8, &one, address<double>(0xC000), 8),
                        CUBLAS_STATUS_SUCCESS);
              return multiply(handle.get(), {});
            }),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_FALSE(kizami.empty());
  for (const KizamiCall& one_call : kizami) EXPECT_EQ(one_call.kind, Kind::kOne);
  expect_kept(0, 0, 0);
}

TEST_F(Kept, ACapturedCallAllocatesNothingAndTakesNothing) {
  expect_kept_a({.names = {{kA, 7, 1}}});
  const std::size_t before = steps().all().size();
  runtime().is_capturing = true;
  expect_plain({.names = {{kA, 7, 1}, {kB, 8, 1}}});
  EXPECT_EQ(steps().all().size(), before) << "a graph may be replayed when what is kept is gone";
  runtime().is_capturing = false;
  expect_kept_a({.names = {{kA, 7, 1}}});
  expect_kept(1, 1, 1);
}

TEST_F(Kept, WhatASchemeDoesNotKeepIsMultipliedAsEver) {
  planner().prepared_bytes = 0;
  expect_plain({.names = {{kA, 7, 1}}});
  EXPECT_TRUE(steps().all().empty());
  expect_kept(0, 0, 0);
}

TEST_F(Kept, ARefusedAllocationIsAskedForAgainAfterSomeCalls) {
  runtime().has_memory = false;
  expect_plain({.names = {{kA, 7, 1}}});
  EXPECT_FALSE(runtime().has_error);
  runtime().has_memory = true;
  for (std::uint32_t i = 1; i < dropin::cublas::kKeepRetryPeriod; ++i) expect_plain({.names = {{kA, 7, 1}}});
  EXPECT_EQ(steps().count(Step::Kind::kAllocate), 0U);
  expect_kept_a({.names = {{kA, 7, 1}}});
  expect_kept(1, 0, 1);
}

TEST_F(Kept, ACallThatFindsNoWorkspaceGivesBackWhatIsKept) {
  expect_kept_a({.names = {{kA, 7, 1}}});
  expect_kept_a({.names = {{kA, 8, 1}}});
  bool is_full = true;
  on_kizami_call() = [&](const KizamiCall& call) {
    kizami.push_back(call);
    return is_full && runtime().held > 0 ? Status(StatusCode::kOutOfMemory, "workspace: out of memory") : Status();
  };
  const int trims = runtime().trims;
  EXPECT_EQ(call([&] { return multiply(handle.get(), {.names = {{kA, 7, 1}}}); }), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(native.empty());
  ASSERT_EQ(kizami.size(), 2U);
  EXPECT_EQ(kizami[0].kind, Kind::kPrepared);
  EXPECT_EQ(kizami[1].kind, Kind::kOne);
  EXPECT_EQ(kizami[1].policy.workspace_limit_bytes, 0U) << "in the workspace that the planner wishes";
  EXPECT_EQ(runtime().held, 0);
  EXPECT_EQ(runtime().trims, trims + 1);
  EXPECT_EQ(kept().bytes, 0U);
  is_full = false;
  expect_plain({.names = {{kA, 7, 1}}});  // and does not take it again at once
}

TEST_F(Kept, ACallWithoutNamesGivesItBackToo) {
  expect_kept_a({.names = {{kA, 7, 1}}});
  on_kizami_call() = [&](const KizamiCall& call) {
    kizami.push_back(call);
    return runtime().held > 0 ? Status(StatusCode::kOutOfMemory, "workspace: out of memory") : Status();
  };
  EXPECT_EQ(call([&] { return multiply(handle.get(), {}); }), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kizami.size(), 2U);
  EXPECT_EQ(runtime().held, 0);
}

TEST_F(Kept, AFailedSplitLeavesTheCallAlone) {
  planner().preparation = {StatusCode::kInternal, "the test says so"};
  expect_plain({.names = {{kA, 7, 1}}});
  EXPECT_EQ(steps().count(Step::Kind::kSplit), 1U);
  EXPECT_EQ(steps().count(Step::Kind::kFree), 1U) << "of what was begun in it, in its order";
  expect_kept(0, 0, 0);
}

TEST_F(Kept, WithoutEventsNothingIsKept) {
  runtime().makes_events = false;
  expect_plain({.names = {{kA, 7, 1}}});
  EXPECT_EQ(steps().count(Step::Kind::kAllocate), 0U);
}

TEST_F(Kept, WhatCudaDoesNotKnowAnyMoreIsForgottenAndNotFreed) {
  expect_kept_a({.names = {{kA, 7, 1}}});
  runtime().knows_events = false;  // the device was reset
  expect_plain({.names = {{kA, 7, 1}}});
  EXPECT_EQ(steps().count(Step::Kind::kFree), 0U);
  EXPECT_EQ(kept().bytes, 0U);
  runtime().knows_events = true;
  expect_kept_a({.names = {{kA, 7, 1}}});
}

TEST_F(Kept, AnOperandThatIsOfNoUseForThePlanLeavesTheCallToOneWithout) {
  on_kizami_call() = [&](const KizamiCall& call) {
    kizami.push_back(call);
    return call.kind == Kind::kPrepared ? Status(StatusCode::kInvalidArgument, "of other numerics") : Status();
  };
  EXPECT_EQ(call([&] { return multiply(handle.get(), {.names = {{kA, 7, 1}}}); }), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(native.empty());
  ASSERT_EQ(kizami.size(), 2U);
  EXPECT_EQ(kizami[1].kind, Kind::kOne);
}

TEST_F(Kept, AfterAFailureCudaIsAskedForNothing) {
  expect_kept_a({.names = {{kA, 7, 1}}});
  kizami_status = {StatusCode::kInternal, "the test says so"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(call([&] { return multiply(handle.get(), {.names = {{kA, 7, 1}}}); }), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  kizami_status = {};
  const std::size_t before = steps().all().size();
  kizami_dropin_forget_operand(7);
  expect_kept(1, 1, 0);
  EXPECT_EQ(steps().all().size(), before);
}

TEST_F(Kept, WhatWasNotUsedForLongestGoesFirst) {
  configuration().kept_bytes = 3 * kBytes;
  for (std::uint64_t id : {1, 2, 3}) expect_kept_a({.names = {{kA, id, 1}}});
  expect_kept_a({.names = {{kA, 1, 1}}});
  expect_kept(3, 1, 3);
  expect_kept_a({.names = {{kA, 4, 1}}});  // in place of 2
  expect_kept(4, 1, 3);
  for (std::uint64_t id : {1, 3, 4}) expect_kept_a({.names = {{kA, id, 1}}});
  expect_kept(4, 4, 3);
  runtime().device = 1;  // whose memory is its own
  for (std::uint64_t id : {1, 2, 3}) expect_kept_a({.names = {{kA, id, 1}}});
  expect_kept(7, 4, 6);
  EXPECT_EQ(runtime().held, 6);
}

TEST_F(Kept, RoomIsMadeBeforeMemoryIsTaken) {
  configuration().kept_bytes = kBytes;
  expect_kept_a({.names = {{kA, 1, 1}}});
  expect_kept_a({.names = {{kA, 2, 1}}});
  const std::vector<Step> all = steps().all();
  const auto freed = std::ranges::find(all, Step::Kind::kFree, &Step::kind);
  ASSERT_NE(freed, all.end());
  EXPECT_EQ(std::count_if(all.begin(), freed, [](const Step& x) { return x.kind == Step::Kind::kAllocate; }), 1);
}

TEST_F(Kept, AnOperandBeyondTheLimitIsNotSplitToBeKept) {
  configuration().kept_bytes = kBytes - 1;
  expect_plain({.names = {{kA, 7, 1}}});
  EXPECT_TRUE(steps().all().empty());
}

TEST_F(Kept, OneCallMayUseWhatGoesInItsMidst) {
  configuration().kept_bytes = kBytes;  // A goes when B comes
  const KizamiCall& both = expect_product({.names = {{kA, 1, 1}, {kB, 2, 1}}});
  EXPECT_NE(both.kept_a, nullptr);
  EXPECT_NE(both.kept_b, nullptr);
  expect_kept(2, 0, 1);
  EXPECT_EQ(runtime().held, 1);
}

TEST_F(Kept, AnotherStreamWaitsForTheSplitAndFreesWaitForBoth) {
  expect_kept_a({.names = {{kA, 7, 1}}});
  handle.stream = address<CUstream_st>(0x6000);
  expect_kept_a({.names = {{kA, 7, 1}}});
  const std::vector<Step> all = steps().all();
  const auto is_wait = [&](const Step& x) { return x.kind == Step::Kind::kWait && x.stream == handle.stream; };
  EXPECT_EQ(std::ranges::count_if(all, is_wait), 1);
  runtime().events_come = false;
  kizami_dropin_forget_operand(7);
  expect_kept(1, 1, 0);
  EXPECT_EQ(runtime().held, 0);
  const Step freed = steps().all().back();
  EXPECT_EQ(freed.kind, Step::Kind::kFree);
  EXPECT_NE(freed.stream, address<CUstream_st>(0x5000)) << "no stream of the program waits for another one";
  EXPECT_NE(freed.stream, address<CUstream_st>(0x6000));
}

TEST_F(Kept, EventsThatHaveComeAreUsedAgain) {
  const auto num_events = [] {
    std::set<const void*> events;
    for (const Step& step : steps().all()) {
      if (step.kind == Step::Kind::kRecord) events.insert(step.what);
    }
    return events.size();
  };
  for (int i = 0; i < 20; ++i) expect_kept_a({.names = {{kA, 7, 1}}});
  EXPECT_LE(num_events(), 3U);
  runtime().events_come = false;  // and while they do not, each call has its own
  for (int i = 0; i < 20; ++i) expect_kept_a({.names = {{kA, 7, 1}}});
  EXPECT_GE(num_events(), 20U);
  runtime().events_come = true;
  const std::size_t before = num_events();
  for (int i = 0; i < 40; ++i) expect_kept_a({.names = {{kA, 7, 1}}});
  EXPECT_LE(num_events(), before + 1);  // a call takes its own before it looks
  kizami_dropin_forget_operand(7);
  EXPECT_EQ(runtime().held, 0);
}

TEST_F(Kept, TheOrderOfTestsSeesWhatIsWrong) {
  int memory = 0;
  int event = 0;
  const char streams[2]{};
  const auto step = [&](Step::Kind kind, int stream) {
    const bool is_event = kind == Step::Kind::kRecord || kind == Step::Kind::kWait;
    return Step{kind, &streams[stream], is_event ? static_cast<void*>(&event) : &memory};
  };
  using enum Step::Kind;
  std::vector<Step> good{step(kAllocate, 0), step(kSplit, 0),  step(kRecord, 0), step(kWait, 1),
                         step(kUse, 1),      step(kRecord, 1), step(kWait, 0),   step(kFree, 0)};
  EXPECT_EQ(Order().check(good), "");
  for (std::size_t left_out : {1U, 3U, 5U, 6U}) {
    std::vector<Step> bad = good;
    bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(left_out));
    EXPECT_NE(Order().check(bad), "") << left_out;
  }
  good.push_back(step(kUse, 0));
  EXPECT_NE(Order().check(good), "");
}

TEST_F(Kept, ThreadsAndStreamsShareWhatIsKept) {
  constexpr int kThreads = 4, kCalls = 400;
  configuration().kept_bytes = 5 * kBytes;
  std::vector<std::thread> crew;
  for (int t = 0; t < kThreads; ++t) {
    crew.emplace_back([t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      for (int i = 0; i < kCalls; ++i) {
        FakeHandle own{.stream = address<CUstream_st>(0x10000 + 0x1000 * (random() % 3))};
        const std::uint64_t id = random() % 8;
        const std::uint64_t version = static_cast<std::uint64_t>(i) / 100;
        EXPECT_EQ(multiply(own.get(), {.names = {{static_cast<int>(random() % 2), id, version}}}),
                  CUBLAS_STATUS_SUCCESS);
        if (random() % 50 == 0) kizami_dropin_forget_operand(random() % 8);
      }
    });
  }
  for (std::thread& one : crew) one.join();
  EXPECT_EQ(kizami.size(), std::size_t{kThreads} * kCalls);
  EXPECT_TRUE(native.empty());
  const Counts counts = kept();
  EXPECT_EQ(counts.split + counts.taken, std::uint64_t{kThreads} * kCalls);
  EXPECT_GT(counts.taken, 0U);
  EXPECT_LE(counts.bytes, 5 * kBytes);
  EXPECT_EQ(counts.bytes, static_cast<std::size_t>(runtime().held) * kBytes);
  Order order;
  EXPECT_EQ(order.check(steps().all()), "");
  EXPECT_EQ(order.num_allocated(), static_cast<std::size_t>(runtime().held));
  for (std::uint64_t id = 0; id < 8; ++id) kizami_dropin_forget_operand(id);
  EXPECT_EQ(runtime().held, 0);
}

}  // namespace
}  // namespace kizami::dropin_test
