// SPDX-License-Identifier: MIT
// T4 and T6 beyond one tile of the certificate (512 and 256 lines), one block of exact INT32 sums (131072 elements of
// k) and one repair (4096 pairs): elements are judged by sample, the others by the bits of another schedule.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_classes.hpp"

namespace kizami::api_test {
namespace {

using check::Case;

struct Matrices {
  std::int64_t m, n, k;
  std::vector<double> a, b;

  Matrices(const Case& c)
      : m(c.m), n(c.n), k(c.k), a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)) {
    check::fill(c.a, c.seed, check::Which::kA, dense(a, m, k), kThreads);
    check::fill(c.b, c.seed, check::Which::kB, dense(b, k, n), kThreads);
  }
  [[nodiscard]] MatrixView<const double> view_a() const { return dense(a, m, k); }
  [[nodiscard]] MatrixView<const double> view_b() const { return dense(b, k, n); }
  [[nodiscard]] std::vector<double> multiply(const Policy& policy, Outcome& outcome) const {
    std::vector<double> c(static_cast<std::size_t>(m * n));
    const Status status = gemm<double>(1.0, view_a(), view_b(), 0.0, dense(c, m, n), policy, &outcome);
    EXPECT_TRUE(status.ok()) << status.reason();
    return c;
  }
  void expect_guaranteed(const std::vector<double>& c, const Outcome& outcome, std::vector<std::int64_t> rows,
                         const std::vector<std::int64_t>& cols) const {
    const check::Reference<double> reference(1, view_a(), view_b(), 0, {});
    for (const std::int64_t i : rows) {
      for (const std::int64_t j : cols) {
        const double ratio = reference.ratio(reference.element(i, j), dense(c, m, n)(i, j),
                                             {check::against(outcome.gauge), outcome.bound, 0x1p-1074}, i, j);
        EXPECT_TRUE(check::ratio_at_most_one(ratio)) << "ratio " << ratio << " at (" << i << ", " << j << ")";
      }
    }
  }
};

class BeyondOneTile : public ::testing::TestWithParam<const char*> {};

// Structured data, so that tiles differ: some certified at once, some by block digits, some by counting terms.
TEST_P(BeyondOneTile, EveryScheduleGivesTheSameBits) {
  Case c = case_of(std::string(kIsSanitized ? "d nn 520x270x20 " : "d nn 600x530x40 ") + GetParam());
  const Matrices x(c);
  Outcome outcome;
  Policy policy;
  policy.threads = kThreads;
  const std::vector<double> want = x.multiply(policy, outcome);
  x.expect_guaranteed(want, outcome, {0, 255, 256, 300, 511, 512, x.m - 1}, {0, 1, 255, 256, 269, x.n - 1});
  const std::size_t most = make_plan(c.scalar, c.m, c.n, c.k, policy).value().workspace_bytes();
  policy.threads = 1;
  policy.workspace_limit_bytes = 1;
  const std::string reason = make_plan(c.scalar, c.m, c.n, c.k, policy).status().reason();
  const std::size_t least = std::stoull(reason.substr(reason.find(">= ") + 3));
  for (const std::size_t limit : {least + (most - least) / 16, least + (most - least) / 3}) {
    policy.workspace_limit_bytes = limit;
    Outcome other;
    expect_same_bits(x.multiply(policy, other), want, x.m, x.n,
                     check::print(c) + " in " + std::to_string(limit) + " bytes");
    EXPECT_EQ(other.rung, outcome.rung);
    EXPECT_EQ(other.repaired, outcome.repaired);
    EXPECT_EQ(other.equilibrated, outcome.equilibrated);
  }
  fmt::print("[ rung     ] {:<8} {:>2} moduli, repaired {:>4}  {}\n", Tally::answer(outcome), outcome.moduli,
             outcome.repaired, check::print(c));
}
INSTANTIATE_TEST_SUITE_P(All, BeyondOneTile,
                         ::testing::Values("A=lower B=upper", "A=banded:w=2 B=randn", "A=exprand:phi=2 B=exprand:phi=2",
                                           "A=grade:shift,span=30 B=randn", "A=evil:span=70 B=evil:span=70"),
                         [](const auto& test) { return "case" + std::to_string(test.index); });

// Pairs whose large elements meet zeros, one in each corner tile: as many repairs as a rung may leave, then one more;
// and as many as one may leave where no rung leaves fewer, then one more.
TEST(BeyondOneTile, RepairsGoWhereTheyBelong) {
  const Case c = case_of("d nn 600x530x40 A=rand B=rand");  // 318000 pairs: 77 repairs, or 621
  struct Bad {
    int num_rows, num_cols;
  };
  for (const Bad bad : {Bad{1, 1}, Bad{4, 4}, Bad{1, 77}, Bad{1, 78}, Bad{2, 310}, Bad{2, 311}}) {
    if (kIsSanitized && bad.num_rows != 4) continue;
    Matrices x(c);
    std::vector<std::int64_t> rows, cols;  // rows are huge where the columns are zero, and nowhere else
    for (int t = 0; t < bad.num_rows; ++t) rows.push_back((t * 37 + 599 * (t % 2)) % 600);
    for (int t = 0; t < bad.num_cols; ++t) cols.push_back((t * 59 + 529 * (t / 2 % 2)) % 530);
    std::sort(cols.begin(), cols.end());
    cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
    for (std::int64_t j = 0; cols.size() < static_cast<std::size_t>(bad.num_cols); ++j) {
      if (!std::binary_search(cols.begin(), cols.end(), j))
        cols.insert(std::upper_bound(cols.begin(), cols.end(), j), j);
    }
    for (const std::int64_t i : rows) {
      for (std::int64_t l = 0; l < 5; ++l) dense(x.a, x.m, x.k)(i, l) *= 0x1p200;
    }
    for (const std::int64_t j : cols) {
      for (std::int64_t l = 0; l < 5; ++l) dense(x.b, x.k, x.n)(l, j) = 0;
    }
    Outcome outcome;
    Policy policy;
    policy.threads = kThreads;
    const std::vector<double> got = x.multiply(policy, outcome);
    const auto num_bad = static_cast<std::int64_t>(rows.size() * cols.size());
    if (num_bad <= 621) {
      EXPECT_EQ(outcome.repaired, num_bad);
      EXPECT_EQ(outcome.rung, 0);
    } else {
      EXPECT_LT(outcome.rung, 0) << outcome.repaired;
    }
    rows.insert(rows.end(), {0, 256, 599});
    cols.insert(cols.end(), {0, 256, 529});
    x.expect_guaranteed(got, outcome, rows, cols);
  }
}

// More than one block of k, in the product and in the certificate, whose sampled rows hold every fourth element, or every 16th.
TEST(InnerIndex, PastOneBlock) {
  if (kIsSanitized) GTEST_SKIP() << "too long under a sanitizer";
  Tally tally;
  for (const char* line :
       {"d nn 3x4x131072 A=randn B=randn", "d nn 3x4x131073 A=rand B=rand", "d nn 4x3x200000 A=int:bits=8 B=int:bits=8",
        "d nn 2x3x300001 A=exprand:phi=4 B=exprand:phi=2", "d nn 2x2x540000 A=randn B=rand",
        "d nn 2x3x150000 A=grade:inner,span=200 B=grade:inner,span=200", "s nn 3x3x270000 A=rand B=randn",
        "d nn 2x3x140000 A=halfulp B=halfulp gauge=norm"}) {
    expect_guaranteed(case_of(std::string(line) + " threads=2"), &tally);
  }
  report("k past a block", tally);
}

// Integers at the ends of their range: every sum of INT8 products is as large as it gets, and C is exact.
TEST(InnerIndex, LargestSumsAreExact) {
  for (const std::int64_t k :
       {std::int64_t{64}, std::int64_t{4096}, kIsSanitized ? std::int64_t{5000} : std::int64_t{131073}}) {
    for (const double x : {127.0, 128.0, -128.0, 255.0, 8388607.0}) {
      const std::vector<double> a(static_cast<std::size_t>(2 * k), x), b(static_cast<std::size_t>(k), 128.0);
      std::vector<double> c(2);
      ASSERT_TRUE(gemm<double>(1.0, dense(a, 2, k), dense(b, k, 1), 0.0, dense(c, 2, 1)).ok());
      EXPECT_EQ(c[0], x * 128.0 * static_cast<double>(k));
      EXPECT_EQ(c[1], c[0]);
    }
  }
}

// Beyond the default limit: named with what it needs, before anything of the operands is read or memory is taken.
TEST(InnerIndex, BeyondTheLimitIsRefusedBeforeItIsRead) {
  constexpr std::int64_t kLength = 200'000'000;
  constexpr std::size_t kBytes = kLength * sizeof(double);
  void* const nobody = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(nobody, MAP_FAILED);
  const auto* const operand = static_cast<const double*>(nobody);  // reading it ends the process
  const auto peak_bytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return 1024 * usage.ru_maxrss;
  };
  const long before = peak_bytes();
  double c = 7;
  for (const Scheme scheme : {Scheme::kAuto, Scheme::kOzaki2, Scheme::kOzaki1}) {
    Policy policy;
    policy.scheme = scheme;
    const Status status = gemm<double>(Layout::kColMajor, Op::kTranspose, Op::kNone, 1, 1, kLength, 1.0, operand,
                                       kLength, operand, kLength, 0.0, &c, 1, policy);
    EXPECT_EQ(status.code(), StatusCode::kWorkspaceTooSmall);
    EXPECT_EQ(status.reason().find("workspace limit = 1073741824 bytes (the default), must be >= 20"), 0U)
        << status.reason();
  }
  EXPECT_LT(peak_bytes() - before, 100 << 20);
  EXPECT_EQ(c, 7);
  munmap(nobody, kBytes);
}

// Shapes at the end of the range can be planned: nothing overflows on the way.
TEST(Planning, ExtremeShapes) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 34) - 1, kRoot = std::int64_t{1} << 31;
  const struct {
    std::int64_t m, n, k;
  } shapes[] = {{1, 1, kMost},     {kMost, 1, 1},         {1, kMost, 1}, {kRoot, kRoot, 1},
                {kRoot, 1, kRoot}, {kRoot, kRoot, kRoot}, {0, kMost, 0}};
  Policy policy;
  policy.workspace_limit_bytes = std::size_t{1} << 60;
  for (const auto& s : shapes) {
    const Result<Plan> plan = make_plan(Scalar::kF64, s.m, s.n, s.k, policy);
    ASSERT_TRUE(plan.ok()) << plan.status().reason();
    EXPECT_GT(plan.value().workspace_bytes(), 0U);
    EXPECT_FALSE(plan.value().explain().empty());
  }
}

}  // namespace
}  // namespace kizami::api_test
