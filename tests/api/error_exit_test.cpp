// SPDX-License-Identifier: MIT
// T5: every error exit through the front door, with its code and the whole message: argument, value, limit. On every
// error C keeps its bits, also where the data had to be looked at first.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "api_case.hpp"
#include "check/matrix_classes.hpp"

namespace kizami::api_test {
namespace {

void expect_error(const Status& status, StatusCode code, const std::string& reason) {
  EXPECT_EQ(to_string(status.code()), to_string(code)) << status.reason();
  EXPECT_EQ(status.reason(), reason);
}

/// A call of gemm() that is right but for what a test changes: 4 x 5 x 3, all leading dimensions least.
struct Call {
  Layout layout = Layout::kColMajor;
  Op op_a = Op::kNone, op_b = Op::kNone;
  std::int64_t m = 4, n = 5, k = 3, lda = 4, ldb = 3, ldc = 4;
  Policy policy;
  std::vector<double> a = std::vector<double>(64, 1.0), b = a, c = std::vector<double>(64, -7.0);
  bool has_a = true, has_b = true, has_c = true;

  Status operator()(double alpha = 1, double beta = 0.5) {
    const std::vector<double> a_before = a, b_before = b, c_before = c;
    Status status = gemm<double>(layout, op_a, op_b, m, n, k, alpha, has_a ? a.data() : nullptr, lda,
                                 has_b ? b.data() : nullptr, ldb, beta, has_c ? c.data() : nullptr, ldc, policy);
    EXPECT_EQ(a, a_before);
    EXPECT_EQ(b, b_before);
    if (!status.ok()) {
      EXPECT_EQ(c, c_before) << "C was touched: " << status.reason();
    }
    return status;
  }
};

constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;

TEST(ErrorExit, Dimensions) {
  EXPECT_TRUE(Call{}().ok());
  const struct {
    std::int64_t Call::*extent;
    const char* name;
  } extents[] = {{&Call::m, "m"}, {&Call::n, "n"}, {&Call::k, "k"}};
  for (const auto& extent : extents) {
    Call negative;
    negative.*extent.extent = -1;
    expect_error(negative(), kInvalid, std::string(extent.name) + " = -1, must be >= 0");
    Call large;
    large.*extent.extent = std::int64_t{1} << 34;
    expect_error(large(), kInvalid, std::string(extent.name) + " = 17179869184, must be <= 17179869183");
  }
  const std::int64_t big = std::int64_t{1} << 33;
  const auto planned = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return make_plan(Scalar::kF64, m, n, k).status();
  };
  const std::string tail = " = 8589934592 x 8589934592 elements, must be <= 2^62";
  expect_error(planned(big, 1, big), kInvalid, "m * k" + tail);
  expect_error(planned(1, big, big), kInvalid, "k * n" + tail);
  expect_error(planned(big, big, 1), kInvalid, "m * n" + tail);
}

TEST(ErrorExit, LeadingDimensions) {
  const struct {
    Layout layout;
    Op op_a, op_b;
    const char *a_extent, *b_extent, *c_extent;
  } calls[] = {{Layout::kColMajor, Op::kNone, Op::kNone, "m", "k", "m"},
               {Layout::kColMajor, Op::kTranspose, Op::kTranspose, "k", "n", "m"},
               {Layout::kRowMajor, Op::kNone, Op::kNone, "k", "n", "n"},
               {Layout::kRowMajor, Op::kTranspose, Op::kTranspose, "m", "k", "n"}};
  const auto value = [](const std::string& extent) { return extent == "m" ? 4 : extent == "n" ? 5 : 3; };
  for (const auto& t : calls) {
    Call base;
    base.layout = t.layout;
    base.op_a = t.op_a;
    base.op_b = t.op_b;
    base.lda = value(t.a_extent);
    base.ldb = value(t.b_extent);
    base.ldc = value(t.c_extent);
    EXPECT_TRUE(Call(base)().ok());
    const auto message = [&](const char* name, std::int64_t ld, const char* extent) {
      return std::string(name) + " = " + std::to_string(ld) + ", must be >= max(1, " + extent +
             ") = " + std::to_string(value(extent));
    };
    for (const std::int64_t less : {1, 100}) {
      Call a = base, b = base, c = base;
      a.lda -= less;
      b.ldb -= less;
      c.ldc -= less;
      expect_error(a(), kInvalid, message("lda", a.lda, t.a_extent));
      expect_error(b(), kInvalid, message("ldb", b.ldb, t.b_extent));
      expect_error(c(), kInvalid, message("ldc", c.ldc, t.c_extent));
    }
  }
  Call empty;
  empty.m = 0;
  empty.lda = 0;
  expect_error(empty(), kInvalid, "lda = 0, must be >= max(1, m) = 1");
}

TEST(ErrorExit, NullPointers) {
  Call a, b, c;
  a.has_a = b.has_b = c.has_c = false;
  expect_error(a(), kInvalid, "A is null, must point to 4 x 3 elements");
  expect_error(b(), kInvalid, "B is null, must point to 3 x 5 elements");
  expect_error(c(), kInvalid, "C is null, must point to 4 x 5 elements");
  expect_error(c(0, 1), kInvalid, "C is null, must point to 4 x 5 elements");
}

TEST(ErrorExit, Views) {
  std::vector<double> x(400, 1.0), y(400, -7.0);
  const std::vector<double> before = y;
  const Plan plan = make_plan(Scalar::kF64, 4, 5, 3).value();
  const MatrixView<const double> a = blas_view<const double>(x.data(), 4, 3, 4),
                                 b = blas_view<const double>(x.data() + 100, 3, 5, 3);
  const MatrixView<double> c = blas_view(y.data(), 4, 5, 4);
  EXPECT_TRUE(run<double>(plan, 1.0, a, b, 1.0, blas_view(y.data(), 4, 5, 4)).ok());
  y = before;
  expect_error(run<double>(plan, 1.0, a.transposed(), b, 1.0, c), kInvalid, "A is 3 x 4, must be 4 x 3");
  expect_error(run<double>(plan, 1.0, a, a, 1.0, c), kInvalid, "B is 4 x 3, must be 3 x 5");
  expect_error(run<double>(plan, 1.0, a, b, 1.0, c.transposed()), kInvalid, "C is 5 x 4, must be 4 x 5");
  expect_error(gemm<double>(1.0, a, a, 0.0, c), kInvalid, "B has 4 rows, must be the columns of A = 3");
  expect_error(run<double>(plan, 1.0, MatrixView<const double>{x.data() + 50, 4, 3, -1, 4}, b, 1.0, c), kInvalid,
               "A has strides -1 and 4, must be >= 0");
  expect_error(run<double>(plan, 1.0, a, MatrixView<const double>{x.data() + 50, 3, 5, 1, -3}, 1.0, c), kInvalid,
               "B has strides 1 and -3, must be >= 0");
  expect_error(run<double>(plan, 1.0, a, b, 1.0, MatrixView<double>{y.data(), 4, 5, 1, 3}), kInvalid,
               "C has strides 1 and 3, elements of a 4 x 5 matrix must not overlap");
  expect_error(run<double>(plan, 1.0, a, b, 1.0, MatrixView<double>{y.data(), 4, 5, 0, 0}), kInvalid,
               "C has strides 0 and 0, elements of a 4 x 5 matrix must not overlap");
  std::vector<float> f(400, 1.0F);
  expect_error(run<float>(plan, 1.0F, blas_view<const float>(f.data(), 4, 3, 4),
                          blas_view<const float>(f.data(), 3, 5, 3), 1.0F, blas_view(f.data() + 100, 4, 5, 4)),
               kInvalid, "C is f32, the plan is for f64");
  expect_error(prepare<float>(plan, Side::kA, blas_view<const float>(f.data(), 4, 3, 4)).status(), kInvalid,
               "operand is f32, the plan is for f64");
  EXPECT_EQ(y, before);
}

TEST(ErrorExit, Policies) {
  Call call;
  const auto with = [&](const Policy& policy) {
    Call changed = call;
    changed.policy = policy;
    return changed();
  };
  Policy p;
  for (const int bits : {0, -1, 53}) {
    p.accuracy = Accuracy::at_bits(bits);
    expect_error(with(p), kInvalid, "bits = " + std::to_string(bits) + ", must be in 1..52 for f64");
  }
  p.accuracy = Accuracy::at_bits(24);
  expect_error(make_plan(Scalar::kF32, 1, 1, 1, p).status(), kInvalid, "bits = 24, must be in 1..23 for f32");
  p = {};
  p.threads = -2;
  expect_error(with(p), kInvalid, "threads = -2, must be in 0..32767");
  p = {};
  for (const int moduli : {-1, 1, 50}) {
    p.forced_moduli = moduli;
    expect_error(with(p), kInvalid, "moduli = " + std::to_string(moduli) + ", must be 0 or in 2..49 for f64");
  }
  p.forced_moduli = 14;
  p.scheme = Scheme::kNative;
  expect_error(with(p), StatusCode::kUnsupported, "moduli = 14 needs scheme ozaki2, got native");
  p = {};
  p.forced_moduli = 2;
  expect_error(make_plan(Scalar::kF64, 1, 1, 200000, p).status(), StatusCode::kUnsupported,
               "moduli = 2 cannot carry k = 200000");
  p = {};
  p.scheme = Scheme::kNative;
  p.engine = EngineName::kCpuSimd;
  expect_error(with(p), StatusCode::kUnsupported, "engine cpu_simd carries scheme ozaki2 only, not native");
  p.engine = EngineName::kCpuRef;
  expect_error(with(p), StatusCode::kUnsupported, "engine cpu_ref carries scheme ozaki2 only, not native");
  p.engine = EngineName::kNativeBlas;
  p.scheme = Scheme::kOzaki2;
  expect_error(with(p), StatusCode::kUnsupported, "engine native_blas carries scheme native only, not ozaki2");
  p = {};
  p.scheme = Scheme::kNative;
  p.accuracy = Accuracy::at_bits(52);
  expect_error(make_plan(Scalar::kF64, 8, 8, 300, p).status(), StatusCode::kAccuracyUnreachable,
               "scheme native: guarantees 1.45e-14 |A||B| at k = 300, wanted 2.22e-16");
}

TEST(ErrorExit, Workspace) {
  Policy p;
  p.workspace_limit_bytes = 1;
  const Status status = make_plan(Scalar::kF64, 30, 30, 30, p).status();
  EXPECT_EQ(status.code(), StatusCode::kWorkspaceTooSmall);
  const std::string head = "workspace limit = 1 bytes, must be >= ", tail = " bytes for this shape";
  ASSERT_EQ(status.reason().substr(0, head.size()), head);
  const std::size_t least = std::stoull(status.reason().substr(head.size()));
  EXPECT_EQ(status.reason(), head + std::to_string(least) + tail.substr(6)) << status.reason();
  p.workspace_limit_bytes = least - 1;
  EXPECT_EQ(make_plan(Scalar::kF64, 30, 30, 30, p).status().code(), StatusCode::kWorkspaceTooSmall);
  p.workspace_limit_bytes = least;
  const Result<Plan> plan = make_plan(Scalar::kF64, 30, 30, 30, p);
  ASSERT_TRUE(plan.ok()) << plan.status().reason();
  EXPECT_LE(plan.value().workspace_bytes(), least);

  std::vector<double> x(900, 1.0), y(900, -7.0);
  const std::vector<double> before = y;
  const std::size_t needed = plan.value().workspace_bytes();
  std::vector<std::byte> memory(needed + 128);
  const auto misalignment = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  std::byte* const aligned = memory.data() + (64 - misalignment) % 64;
  const auto run_with = [&](std::span<std::byte> workspace) {
    return run<double>(plan.value(), 1.0, dense(std::as_const(x), 30, 30), dense(std::as_const(x), 30, 30), 0.0,
                       dense(y, 30, 30), workspace);
  };
  const auto message = [&](std::size_t bytes) {
    return "workspace = " + std::to_string(bytes) + " bytes, must be >= " + std::to_string(needed) +
           " and begin on a 64-byte boundary";
  };
  expect_error(run_with({aligned, needed - 1}), kInvalid, message(needed - 1));
  expect_error(run_with({aligned + 8, needed}), kInvalid, message(needed));
  EXPECT_EQ(y, before);
  EXPECT_TRUE(run_with({aligned, needed}).ok());
  EXPECT_EQ(y[0], 30.0);
}

TEST(ErrorExit, RejectedNonFinite) {
  for (const Scheme scheme : {Scheme::kOzaki2, Scheme::kNative}) {
    Call call;
    call.policy.scheme = scheme;
    call.policy.reject_nonfinite = true;
    EXPECT_TRUE(Call(call)().ok());
    Call a = call, b = call, c = call;
    a.a[4 * 1 + 2] = std::numeric_limits<double>::infinity();
    expect_error(a(), StatusCode::kNonFinite,
                 "NaN or Inf in 1 rows of op(A), the first is 2; must be finite (nonfinite = reject)");
    b.b[3 * 1 + 2] = b.b[3 * 4] = -std::numeric_limits<double>::infinity();
    expect_error(b(), StatusCode::kNonFinite,
                 "NaN or Inf in 2 columns of op(B), the first is 1; must be finite (nonfinite = reject)");
    // What is not read is not rejected.
    c.a[0] = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(c(0, 0.5).ok());
    // C may hold anything.
    call.c[0] = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(call().ok());
  }
}

// The decision falls after the data were seen, and still before C is written.
TEST(ErrorExit, Fp64ArithmeticForbidden) {
  for (const char* beta : {"0", "0.5"}) {
    const check::Case c = case_of(std::string("d nt 9x7x65 a=1 b=") + beta +
                                  " A=evil:span=1900 B=evil:span=1900 C=randn fp64=refuse ld+2");
    check::Operands<double> x(c);
    Outcome outcome;
    expect_error(
        call(c, x, outcome), StatusCode::kAccuracyUnreachable,
        "63 of 63 elements need FP64 arithmetic, which the policy forbids or which cannot guarantee the accuracy");
    const check::Verdict unchanged = x.c.unchanged(), intact = x.inputs_intact();
    EXPECT_TRUE(unchanged) << unchanged.message;
    EXPECT_TRUE(intact) << intact.message;
  }
}

}  // namespace
}  // namespace kizami::api_test
