// SPDX-License-Identifier: MIT
// T6: what may not change a bit of C: the engine, the number of threads, the size and former contents of the workspace,
// the number of calls before, other threads, a fork, and the floating-point modes of the caller.
#include <fenv.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api_case.hpp"
#include "kizami/kizami.hpp"
#include "tests/sanitized.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kizami::api_test {
namespace {

using check::Case;

// Lowest rung, higher rung, equilibrated, repaired or FP64 arithmetic, NaN, gauge norm, bits, FP32, alpha and beta.
constexpr const char* kLines[] = {"d nt 33x29x130 a=1 b=0 A=randn B=randn",
                                  "d nn 40x37x97 a=-2.5 b=0.3 A=exprand:phi=3 B=exprand:phi=3 C=randn",
                                  "d tn 21x34x150 a=1 b=1 A=grade:inner,span=300 B=grade:inner,span=300 C=randn ld+3",
                                  "d nn 23x17x70 a=1 b=0.5 A=evil:span=300 B=evil:span=300 C=randn",
                                  "d tt 19x26x257 a=1 b=0 A=randn,nan@3:4 B=randn,inf@7:8,-inf@8:8",
                                  "d nn 30x30x300 a=1 b=0 A=subnormal B=rand gauge=norm",
                                  "d nn 31x30x65 a=0.1 b=-3 A=underflow B=underflow C=subnormal accuracy=bits=30",
                                  "s nt 35x31x600 a=1 b=0 A=randn B=rand",
                                  "s nn 20x31x64 a=3 b=0.1 A=exprand:phi=4 B=lower C=tiny",
                                  "z nc 23x29x130 a=1 b=0 A=randn B=randn",
                                  "z rt 20x17x97 a=1-2i b=0.3i A=exprand:phi=3,im2^-40 B=exprand:phi=3 C=randn ld+3",
                                  "z cr 21x17x60 a=1 b=1 A=grade:inner,span=300 B=evil:span=300 C=randn",
                                  "z tn 19x16x70 a=2i b=-1 A=randn,nani@3:4 B=randn,inf@7:8,-infi@8:8 C=randn",
                                  "c cn 25x31x300 a=1 b=0 A=randn B=gram",
                                  "c nt 20x21x64 a=3 b=0.1+1e10i A=exprand:phi=4 B=lower C=tiny gauge=norm"};

template <class Change>
void expect_no_bit_changed(const Change& change) {
  for (const char* line : kLines) {
    Case c = case_of(line);
    with_scalar(c.scalar, [&]<class T>() {
      c.policy.threads = kThreads;
      const std::vector<T> want = product_of<T>(c);
      change(c, [&](const Case& changed, const std::string& what) {
        expect_same_bits(product_of<T>(changed), want, c.m, c.n, check::print(changed) + " (" + what + ")");
      });
    });
  }
}

TEST(NoBitChanges, ByEngine) {
  expect_no_bit_changed([](Case c, const auto& compare) {
    for (const EngineName engine : {EngineName::kCpuRef, EngineName::kCpuSimd, EngineName::kTile}) {
      c.policy.engine = engine;
      const Plan plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
      EXPECT_EQ(plan.engine(), to_string(engine));
      compare(c, "engine");
    }
  });
}

TEST(NoBitChanges, ByThreads) {
  expect_no_bit_changed([](Case c, const auto& compare) {
    for (const int threads : {1, 2, 3, 7}) {
      c.policy.threads = threads;
      compare(c, "threads");
    }
  });
}

std::size_t least_workspace(const Case& c) {
  Policy policy = c.policy;
  policy.workspace_limit_bytes = 1;
  const Status status = make_plan(c.scalar, c.m, c.n, c.k, policy).status();
  EXPECT_EQ(status.code(), StatusCode::kWorkspaceTooSmall);
  const std::string key = "must be >= ";
  return std::stoull(status.reason().substr(status.reason().find(key) + key.size()));
}

// From the least workspace, where every chunk is one line by 64 elements, to one chunk for all.
TEST(NoBitChanges, ByWorkspaceLimit) {
  expect_no_bit_changed([](Case c, const auto& compare) {
    const std::size_t least = least_workspace(c);
    Policy generous = c.policy;
    const std::size_t most = make_plan(c.scalar, c.m, c.n, c.k, generous).value().workspace_bytes();
    EXPECT_LT(least, most) << check::print(c);
    const std::size_t step = (most - least) / 4 + 1;
    for (const std::size_t limit : {least, least + 5000, least + 60000, least + step, least + 2 * step, most}) {
      c.policy.workspace_limit_bytes = limit;
      EXPECT_LE(make_plan(c.scalar, c.m, c.n, c.k, c.policy).value().workspace_bytes(), limit) << check::print(c);
      compare(c, "workspace limit");
    }
  });
}

TEST(NoBitChanges, ByBlocksOfTheInnerIndex) {
  for (const char* line : {"d nn 5x6x20000 a=1 b=0 A=randn B=exprand:phi=1", "s nn 5x6x70000 a=1 b=0 A=rand B=randn"}) {
    if (kIsSanitized) continue;
    Case c = case_of(line);
    c.policy.threads = kThreads;
    with_scalar(c.scalar, [&]<class T>() {
      const std::vector<T> want = product_of<T>(c);
      const std::size_t least = least_workspace(c);
      for (const std::size_t limit : {least, 2 * least, 8 * least}) {
        c.policy.workspace_limit_bytes = limit;
        expect_same_bits(product_of<T>(c), want, c.m, c.n, check::print(c));
      }
    });
  }
}

// The caller's workspace: exactly as large as promised, full of ones, and not a byte beyond is touched.
TEST(NoBitChanges, ByContentsOfTheWorkspace) {
  for (const char* line : kLines) {
    const Case c = case_of(line);
    with_scalar(c.scalar, [&]<class T>() {
      const std::vector<T> want = product_of<T>(c);
      for (const bool is_least : {false, true}) {
        Policy policy = c.policy;
        if (is_least) policy.workspace_limit_bytes = least_workspace(c);
        const Plan plan = make_plan(c.scalar, c.m, c.n, c.k, policy).value();
        constexpr std::size_t kGuard = 256;
        const std::size_t bytes = plan.workspace_bytes();
        const auto memory = std::make_unique<std::byte[]>(bytes + 64 + 2 * kGuard);
        std::byte* const begin =
            memory.get() + kGuard + (64 - reinterpret_cast<std::uintptr_t>(memory.get() + kGuard) % 64) % 64;
        for (const int poison : {0xFF, 0x7F}) {
          std::memset(memory.get(), 0xA5, bytes + 64 + 2 * kGuard);
          std::memset(begin, poison, bytes);
          check::Operands<T> x(c, kThreads);
          const Status status = run<T>(plan, check::alpha_of<T>(c), std::as_const(x.a).view(),
                                       std::as_const(x.b).view(), check::beta_of<T>(c), x.c.view(), {begin, bytes});
          ASSERT_TRUE(status.ok()) << line << ": " << status.reason();
          const check::Verdict verdict = check::bits_equal<T>(x.c.view(), dense(want, c.m, c.n));
          EXPECT_TRUE(verdict) << line << ": " << verdict.message;
          for (std::size_t t = 0; t < kGuard; ++t) {
            ASSERT_EQ(begin[bytes + t], std::byte{0xA5}) << line << ": " << t << " bytes beyond the workspace";
            ASSERT_EQ(*(begin - 1 - t), std::byte{0xA5}) << line << ": " << t << " bytes before the workspace";
          }
        }
      }
    });
  }
}

TEST(NoBitChanges, ByRepetition) {
  expect_no_bit_changed([](const Case& c, const auto& compare) {
    for (int call = 0; call < 4; ++call) compare(c, "repeated call");
  });
}

TEST(NoBitChanges, ByConcurrentCalls) {
  const auto bytes_of = [](const Case& c) {
    return with_scalar(c.scalar, [&]<class T>() {
      const std::vector<T> product = product_of<T>(c);
      const auto* const begin = reinterpret_cast<const std::byte*>(product.data());
      return std::vector<std::byte>(begin, begin + product.size() * sizeof(T));
    });
  };
  std::vector<std::vector<std::byte>> want;
  for (const char* line : kLines) want.push_back(bytes_of(case_of(line)));
  std::atomic<int> differences{0};
  std::vector<std::thread> callers;
  for (std::size_t t = 0; t < 5; ++t) {
    callers.emplace_back([&, t] {
      for (std::size_t turn = 0; turn < 2 * std::size(kLines); ++turn) {
        const std::size_t i = (turn * (t + 1) + t) % std::size(kLines);
        Case c = case_of(kLines[i]);
        c.policy.threads = static_cast<int>(t % 3);
        differences += bytes_of(c) == want[i] ? 0 : 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(differences, 0);
}

TEST(NoBitChanges, InAForkedChild) {
  if constexpr (tests::kHasThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer does not follow a fork of several threads";
  const Case c = case_of("d nt 65x70x300 a=1 b=0 A=randn B=exprand:phi=2 threads=3");
  const std::vector<double> want = product_of<double>(c);  // the pool has threads now
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      const std::vector<double> got = product_of<double>(c);
      _exit(std::memcmp(got.data(), want.data(), want.size() * sizeof(double)) == 0 ? 0 : 1);
    }
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, 0), child);
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << "the child hung, crashed or saw other bits";
    expect_same_bits(product_of<double>(c), want, c.m, c.n, "parent after fork");
  }
}

/// Sets the floating-point modes of a caller, and checks on leaving that they are still those.
class Modes {
 public:
  explicit Modes(int rounding, bool flushes) {
    fegetenv(&saved_);
    fesetround(rounding);
#if defined(__x86_64__)
    if (flushes) _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
    expected_ = _mm_getcsr();
#else
    static_cast<void>(flushes);
#endif
    rounding_ = rounding;
  }
  ~Modes() {
    const int rounding = fegetround();
#if defined(__x86_64__)
    const unsigned modes = _mm_getcsr();
#endif
    fesetenv(&saved_);
    EXPECT_EQ(rounding, rounding_) << "the caller's rounding mode was not restored";
#if defined(__x86_64__)
    EXPECT_EQ(modes, expected_) << "the caller's MXCSR was not restored";
#endif
  }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;

 private:
  fenv_t saved_;
  int rounding_;
#if defined(__x86_64__)
  unsigned expected_ = 0;
#endif
};

// Planning, preparing and running, each for the first time under the caller's modes: a shape of its own per mode keeps
// the plan cache out of it.
TEST(NoBitChanges, ByFloatingPointModes) {
  std::int64_t extra = 0;
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const bool flushes : {false, true}) {
      for (const char* line : kLines) {
        Case c = case_of(line);
        c.m += ++extra;
        if (is_left_out(extra, 4)) continue;
        c.policy.threads = kThreads;
        with_scalar(c.scalar, [&]<class T>() {
          const auto alpha = check::alpha_of<T>(c), beta = check::beta_of<T>(c);
          check::Operands<T> x(c), y(c), z(c);
          Outcome outcome_x, outcome_y;
          std::uint64_t hash = 0;
          double bound = 0;
          std::string explanation;
          Status status, prepared_status;
          {
            const Modes modes(rounding, flushes);
            status = call(c, x, outcome_x);
            const Result<Plan> plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy);
            hash = plan.value().numerics_hash();
            bound = plan.value().bound();
            const Result<PreparedOperand> prepared = prepare<T>(plan.value(), Side::kA, std::as_const(z.a).view());
            prepared_status = prepared.ok()
                                  ? run<T>(plan.value(), alpha, Operand<T>(prepared.value(), std::as_const(z.a).view()),
                                           std::as_const(z.b).view(), beta, z.c.view())
                                  : prepared.status();
          }
          const std::string what =
              check::print(c) + " rounding " + std::to_string(rounding) + (flushes ? " FTZ DAZ" : "");
          ASSERT_TRUE(status.ok()) << what << ": " << status.reason();
          ASSERT_TRUE(prepared_status.ok()) << what << ": " << prepared_status.reason();
          // Other threads and another workspace, so another entry of the plan cache, in ordinary modes.
          c.policy.threads = 1;
          ASSERT_TRUE(call(c, y, outcome_y).ok());
          const Plan plan = make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
          EXPECT_EQ(plan.numerics_hash(), hash) << what;
          EXPECT_EQ(plan.bound(), bound) << what;
          EXPECT_EQ(outcome_x.rung, outcome_y.rung) << what;
          const check::Verdict same = check::bits_equal<T>(x.c.view(), y.c.view());
          EXPECT_TRUE(same) << what << ": " << same.message;
          const check::Verdict prepared_same = check::bits_equal<T>(z.c.view(), y.c.view());
          EXPECT_TRUE(prepared_same) << "prepared, " << what << ": " << prepared_same.message;
        });
      }
    }
  }
}

TEST(PlanCache, HitsAndMissesGiveEqualPlans) {
  Policy policy;
  policy.threads = 2;
  const Plan first = make_plan(Scalar::kF64, 100, 90, 80, policy).value();
  const Plan hit = make_plan(Scalar::kF64, 100, 90, 80, policy).value();
  EXPECT_EQ(hit.explain(), first.explain());
  for (std::int64_t n = 1; n <= 150; ++n) ASSERT_TRUE(make_plan(Scalar::kF32, n, 3, 5, policy).ok());  // evicts
  const Plan again = make_plan(Scalar::kF64, 100, 90, 80, policy).value();
  for (const Plan& plan : {hit, again}) {
    EXPECT_EQ(plan.explain(), first.explain());
    EXPECT_EQ(plan.numerics_hash(), first.numerics_hash());
    EXPECT_EQ(plan.workspace_bytes(), first.workspace_bytes());
    EXPECT_EQ(plan.bound(), first.bound());
  }
  // The schedule is no part of the numerics, the accuracy is; another scalar type is another plan.
  Policy other = policy;
  other.engine = EngineName::kCpuRef;
  other.threads = 1;
  other.workspace_limit_bytes = 40 << 20;
  EXPECT_EQ(make_plan(Scalar::kF64, 100, 90, 80, other).value().numerics_hash(), first.numerics_hash());
  EXPECT_EQ(make_plan(Scalar::kF64, 7, 8, 80, other).value().numerics_hash(), first.numerics_hash());
  other.accuracy = Accuracy::at_bits(30);
  EXPECT_NE(make_plan(Scalar::kF64, 100, 90, 80, other).value().numerics_hash(), first.numerics_hash());
  EXPECT_NE(make_plan(Scalar::kF32, 100, 90, 80, policy).value().numerics_hash(), first.numerics_hash());
  EXPECT_NE(make_plan(Scalar::kC128, 100, 90, 80, policy).value().numerics_hash(), first.numerics_hash());
  EXPECT_NE(make_plan(Scalar::kC128, 100, 90, 40, policy).value().numerics_hash(), first.numerics_hash());
  EXPECT_NE(make_plan(Scalar::kF64, 100, 90, 81, policy).value().numerics_hash(), first.numerics_hash());
}

TEST(MachineReport, NamesEnginesAndVersion) {
  EXPECT_STREQ(version(), "0.1.0");
  EXPECT_NE(machine_report().find("cpu_ref"), std::string::npos);
  EXPECT_NE(machine_report().find("cpu_simd"), std::string::npos);
  EXPECT_NE(machine_report().find("tile"), std::string::npos);
  EXPECT_TRUE(machine_report().starts_with("threads        " + std::to_string(default_threads()) + "\n"));
}

}  // namespace
}  // namespace kizami::api_test
