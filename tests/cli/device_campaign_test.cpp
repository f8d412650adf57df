// SPDX-License-Identifier: MIT
// Campaigns of the cases of devices, as far as they need no device: what is drawn, what is compared, and that a wrong
// bit is found, named and shrunk.
#include "device_campaign.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "campaign.hpp"
#include "device_cases.hpp"
#include "hash_file.hpp"

namespace kizami::cli {
namespace {

using check::BatchForm;
using check::Case;

constexpr std::int64_t kNumDrawn = 6000;

TEST(DeviceCases, AreTheirSeedAndNumber) {
  std::set<std::string> lines;
  for (std::int64_t i = 0; i < 300; ++i) {
    const Case c = random_device_case(5, i);
    EXPECT_TRUE(c == random_device_case(5, i)) << i;
    EXPECT_EQ(check::print(check::parse_case(check::print(c)).value()), check::print(c)) << i;
    EXPECT_EQ(line_hash(c), line_hash(random_device_case(5, i))) << i;
    lines.insert(check::print(c));
  }
  EXPECT_EQ(lines.size(), 300U);
  EXPECT_FALSE(random_device_case(5, 0) == random_device_case(6, 0));
}

TEST(DeviceCases, CoverWhatDevicesDo) {
  std::map<std::string, int> seen;
  int num_promised = 0;
  for (std::int64_t i = 0; i < kNumDrawn; ++i) {
    const Case c = random_device_case(1, i);
    const Policy& p = c.policy;
    const auto see = [&](std::string_view what, std::string_view value) {
      ++seen[std::string(what) + std::string(value)];
    };
    const auto see_if = [&](bool is_so, const char* what) {
      if (is_so) ++seen[what];
    };
    num_promised += may_promise_bits(p) ? 1 : 0;
    EXPECT_FALSE(std::isinf(c.alpha) || std::isinf(c.alpha_imag)) << "no bits are promised: " << check::print(c);
    see_if(may_promise_bits(p) && std::isnan(c.alpha), "alpha NaN");
    see("scalar ", to_string(c.scalar));
    see("op_a ", to_string(c.op_a));
    see("op_b ", to_string(c.op_b));
    see("layout ", to_string(c.layout));
    see("gauge ", to_string(p.gauge));
    see("scheme ", to_string(p.scheme));
    see("engine ", to_string(p.engine));
    see("A ", check::class_info(c.a.cls).name);
    see("B ", check::class_info(c.b.cls).name);
    if (c.num_products > 1) see("batch ", check::to_string(c.batch_form));
    if (p.scheme == Scheme::kOzaki1) {
      see("format ", to_string(p.slices.format));
      see("split ", to_string(p.slices.split));
      see("sums ", to_string(p.slices.sums));
      see("form ", to_string(p.slices.complex_form));
    }
    if (p.scheme == Scheme::kEc) see("variant ", to_string(p.ec.variant));
    see("accuracy ", p.accuracy.kind == Accuracy::Kind::kNative ? "native"
                     : p.accuracy.kind == Accuracy::Kind::kBits ? "bits"
                                                                : "correct");
    see_if(c.k == 0, "k = 0");
    see_if(c.m == 0 || c.n == 0, "no elements");
    see_if(c.m >= 500 && c.n >= 500 && c.k >= 500, "large");
    see_if(c.k >= 2000, "long k");
    see_if(c.m >= 200 && c.n >= 200 && c.k >= 200, "middle");
    see_if(c.ld_pad > 0, "ld");
    see_if(c.offset > 0, "offset");
    see_if(c.alpha == 0, "alpha = 0");
    see_if(c.beta != 0, "beta");
    see_if(c.alpha_imag != 0, "complex alpha");
    see_if(std::isnan(c.alpha), "alpha NaN");
    see_if(std::isinf(c.beta), "beta Inf");
    see_if(c.has_device_factors, "device factors");
    see_if(p.may_sync, "sync");
    see_if(p.forced_moduli > 0, "moduli");
    see_if(p.max_rungs > 0, "rungs");
    see_if(p.workspace_limit_bytes > 0, "workspace");
    see_if(p.reject_nonfinite, "reject");
    see_if(!p.allow_fp64_arithmetic, "no fp64");
    see_if(p.slices.num_slices == kUntilZero, "until zero");
    see_if(p.slices.one_scale, "one scale");
    see_if(p.scheme == Scheme::kAuto && p.reproducibility == Reproducibility::kNotGuaranteed, "free planner");
    see_if(!c.a.placements.empty() || !c.b.placements.empty(), "NaN or Inf");
    see_if(c.a.scale_exp < -300 || c.b.scale_exp > 300, "scaled far");
  }
  EXPECT_GT(num_promised, kNumDrawn * 85 / 100);
  for (const check::ClassInfo& info : check::class_inventory()) {
    EXPECT_GT(seen["A " + std::string(info.name)], 0) << info.name;
    EXPECT_GT(seen["B " + std::string(info.name)], 0) << info.name;
  }
  for (const char* what : {"scalar f32",
                           "scalar f64",
                           "scalar c64",
                           "scalar c128",
                           "op_a n",
                           "op_a t",
                           "op_a c",
                           "op_a r",
                           "op_b n",
                           "op_b t",
                           "op_b c",
                           "op_b r",
                           "layout col",
                           "layout row",
                           "gauge entry",
                           "gauge norm",
                           "scheme auto",
                           "scheme native",
                           "scheme ec",
                           "scheme ozaki1",
                           "engine auto",
                           "engine hopper",
                           "engine cublaslt",
                           "engine tile",
                           "batch strides",
                           "batch pointers",
                           "batch device_pointers",
                           "format int8",
                           "format fp16",
                           "format bf16",
                           "format e4m3",
                           "format e5m2",
                           "split auto",
                           "split truncated",
                           "split nearest",
                           "sums auto",
                           "sums pairs",
                           "sums grouped",
                           "sums blocked",
                           "sums fused",
                           "form auto",
                           "form karatsuba",
                           "form enlarged",
                           "variant auto",
                           "variant scaled",
                           "variant scaled_tf32",
                           "accuracy native",
                           "accuracy bits",
                           "accuracy correct",
                           "k = 0",
                           "no elements",
                           "large",
                           "long k",
                           "middle",
                           "ld",
                           "offset",
                           "alpha = 0",
                           "beta",
                           "complex alpha",
                           "alpha NaN",
                           "beta Inf",
                           "device factors",
                           "sync",
                           "moduli",
                           "rungs",
                           "workspace",
                           "reject",
                           "no fp64",
                           "until zero",
                           "one scale",
                           "free planner",
                           "NaN or Inf",
                           "scaled far"})
    EXPECT_GT(seen[what], 0) << what;
}

Case case_of(const char* line) { return check::parse_case(line).value(); }

TEST(DeviceCases, HostComputesByTheSameNumerics) {
  const Policy cublaslt = host_policy(case_of("d nn 9x9x9 engine=cublaslt workspace=1M"));
  EXPECT_EQ(cublaslt.max_rungs, 1);
  EXPECT_EQ(cublaslt.engine, EngineName::kAuto);
  EXPECT_EQ(cublaslt.workspace_limit_bytes, 0U);
  EXPECT_EQ(host_policy(case_of("d nn 9x9x9 engine=cublaslt sync=allowed")).max_rungs, 0);
  EXPECT_EQ(host_policy(case_of("d nn 9x9x9 engine=hopper rungs=3")).max_rungs, 3);
  const Policy fused = host_policy(case_of("d nn 9x9x9 scheme=ozaki1 slices=3 slice_sums=fused"));
  EXPECT_EQ(fused.slices.sums, SliceSums::kAuto);
  EXPECT_EQ(fused.slices.num_slices, 3);
  const auto plan = [](const char* line) {
    const Case c = case_of(line);
    return make_plan(c.scalar, c.m, c.n, c.k, host_policy(c)).value();
  };
  EXPECT_TRUE(promise_same_bits(plan("d nn 9x9x9"), plan("d nn 5x6x9 engine=cublaslt sync=allowed")));
  EXPECT_FALSE(promise_same_bits(plan("d nn 9x9x9"), plan("d nn 9x9x9 rungs=1")));
  EXPECT_FALSE(promise_same_bits(plan("d nn 9x9x9 scheme=native reproducibility=none"),
                                 plan("d nn 9x9x9 scheme=native reproducibility=none")));
}

TEST(BitsHash, SeesEveryBitButTheKindOfNaN) {
  const auto hash = [](std::vector<double> x, std::int64_t rows) {
    BitsHash h;
    h.add(MatrixView<const double>{x.data(), rows, static_cast<std::int64_t>(x.size()) / rows, 1, rows});
    return h.value();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(hash({1, 2, 3, nan}, 2), hash({1, 2, 3, -nan}, 2));
  EXPECT_NE(hash({1, 2, 3, 4}, 2), hash({1, 2, 3, std::nextafter(4.0, 5.0)}, 2));
  EXPECT_NE(hash({1, 2, 3, 4}, 2), hash({1, 3, 2, 4}, 2));
  EXPECT_NE(hash({1, 2, 3, 4}, 2), hash({1, 2, 3, 4}, 1));
  EXPECT_NE(hash({0.0}, 1), hash({-0.0}, 1));
  EXPECT_NE(hash({0.0}, 1), hash({0.0, 0.0}, 1));
}

TEST(CaseAnswer, TellsWhichFieldsDiffer) {
  Outcome x;
  x.scheme = Scheme::kOzaki2;
  x.engine = "hopper";
  Outcome y = x;
  y.engine = "cpu_simd";
  EXPECT_EQ(outcome_text(x), outcome_text(y)) << "engines may differ";
  y.rung = 2;
  y.repaired = 1;
  EXPECT_EQ(differing_fields(outcome_text(x), outcome_text(y)), (std::vector<std::string>{"repaired", "rung"}));
  EXPECT_EQ(differing_fields(outcome_text(x), outcome_text(x)), std::vector<std::string>{});
  EXPECT_EQ(differing_fields("none;none", "none").size(), 1U);
  EXPECT_EQ(differing_fields("none", outcome_text(x)).size(), 1U);
}

TEST(Judge, IsRedUnlessAllAgrees) {
  const Case c = case_of("d nn 5x6x70 seed=3");
  const CaseAnswer want = answer_on_host(c);
  ASSERT_TRUE(want.status.ok());
  const auto verdict = [&](auto change) {
    SolvedCase got{want, "", true, ""};
    change(got);
    return judge(c, got, want).verdict;
  };
  using V = DeviceVerdict;
  EXPECT_EQ(verdict([](SolvedCase&) {}), V::kEqual);
  EXPECT_EQ(verdict([](SolvedCase& x) { x.answer.bits ^= 1; }), V::kFailed);
  EXPECT_EQ(verdict([](SolvedCase& x) { x.answer.outcome += "0"; }), V::kFailed);
  EXPECT_EQ(verdict([](SolvedCase& x) { x.fault = "A was written"; }), V::kFailed);
  EXPECT_EQ(verdict([](SolvedCase& x) { x.promises_bits = false, x.answer.bits ^= 1; }), V::kWithinBound);
  EXPECT_EQ(verdict([](SolvedCase& x) { x.promises_bits = false, x.fault = "beyond"; }), V::kFailed);
  const auto refused = [&](StatusCode code, bool promises_bits) {
    return verdict([&](SolvedCase& x) { x = {refusal({code, "why"}), "", promises_bits, ""}; });
  };
  EXPECT_EQ(refused(StatusCode::kUnsupported, false), V::kRefused);
  EXPECT_EQ(refused(StatusCode::kWorkspaceTooSmall, false), V::kRefused);
  EXPECT_EQ(refused(StatusCode::kInternal, false), V::kFailed);
  EXPECT_EQ(refused(StatusCode::kInvalidArgument, false), V::kFailed);
  EXPECT_EQ(refused(StatusCode::kNonFinite, true), V::kFailed) << "nobody asked for it";
  EXPECT_EQ(refused(StatusCode::kAccuracyUnreachable, true), V::kFailed) << "the host reached it";
}

std::string temporary(const char* name) { return testing::TempDir() + std::to_string(getpid()) + name; }

TEST(HashFile, ReadsWhatItWrote) {
  const std::string path = temporary("read_back.hashes");
  const HashFile written{7, 100, {{1, 0xffffffffffffffffU, "none;none"}, {0xffffffffU, 0, "refused/unsupported"}}};
  write_hashes(path, written);
  const HashFile read = read_hashes(path);
  EXPECT_EQ(read.seed, 7U);
  EXPECT_EQ(read.first, 100);
  ASSERT_EQ(read.records.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.records[i].line, written.records[i].line);
    EXPECT_EQ(read.records[i].bits, written.records[i].bits);
    EXPECT_EQ(read.records[i].outcome, written.records[i].outcome);
  }
  for (const char* text :
       {"", "kizami-hashes 2 seed=1 first=0 count=0\n", "kizami-hashes 1 seed=1 first=0 count=1\n",
        "kizami-hashes 1 seed=1 first=0 count=1\n1 0 0 none\n", "kizami-hashes 1 seed=1 first=0 count=1\n0 0 0\n",
        "kizami-hashes 1 seed=1 first=0 count=1\n0 0 x none\n"}) {
    std::ofstream(path) << text;
    EXPECT_THROW(static_cast<void>(read_hashes(path)), Failure) << text;
  }
  std::remove(path.c_str());
}

/// The host with one wrong bit in products of k >= 5, in row order, of FP64.
class WrongSolver final : public CaseSolver {
 public:
  SolvedCase solve(const Case& spec) override {
    SolvedCase out{answer_on_host(spec), "wrong", may_promise_bits(spec.policy), ""};
    if (spec.scalar == Scalar::kF64 && spec.k >= 5) out.answer.bits ^= 1;
    return out;
  }
  std::string difference(const Case&) override { return "one bit"; }
};

DeviceCampaign small_campaign() {
  DeviceCampaign campaign;
  campaign.seed = 3;
  campaign.count = 24;
  campaign.jobs = 2;
  campaign.is_quiet = true;
  return campaign;
}

TEST(DeviceCampaignOnTheHost, FindsAndShrinksAWrongBit) {
  DeviceCampaign campaign = small_campaign();
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_device_campaign(campaign), ExitCode::kOk);
  EXPECT_NE(testing::internal::GetCapturedStdout().find(" 0 failed\n"), std::string::npos);
  campaign.make_solver = [] { return std::make_unique<WrongSolver>(); };
  campaign.max_failures = 1;
  campaign.jobs = 1;
  testing::internal::CaptureStdout();
  EXPECT_THROW(run_device_campaign(campaign), Failure);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("repro: kizami check 'd nn 1x1x5 a=1 b=0 A=ones B=ones C=ones seed=1'"), std::string::npos)
      << text;
}

TEST(DeviceCampaignOnTheHost, DrawsAndNamesItselfAsItIsTold) {
  DeviceCampaign campaign = small_campaign();
  campaign.draw = [](std::uint64_t, std::int64_t index) {
    Case c;
    c.k = 5 + index;
    return c;
  };
  campaign.case_command = "somebody_else";
  campaign.make_solver = [] { return std::make_unique<WrongSolver>(); };
  testing::internal::CaptureStdout();
  EXPECT_THROW(run_device_campaign(campaign), Failure);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("repro: somebody_else 'd nn 1x1x5 a=1 b=0 A=ones B=ones C=ones seed=1'"), std::string::npos)
      << text;
}

TEST(DeviceCampaignOnTheHost, ReadsItsFile) {
  const std::string path = temporary("campaign.hashes");
  DeviceCampaign campaign = small_campaign();
  testing::internal::CaptureStdout();
  write_campaign_hashes(campaign, path);
  campaign.hashes_path = path;
  EXPECT_EQ(run_device_campaign(campaign), ExitCode::kOk);
  // One bit of one answer.
  HashFile hashes = read_hashes(path);
  std::size_t wrong = 11;
  while (hashes.records[wrong].outcome.starts_with("refused") || hashes.records[wrong].outcome == "unpromised") ++wrong;
  hashes.records[wrong].bits ^= std::uint64_t{1} << 40;
  write_hashes(path, hashes);
  std::string message;
  try {
    run_device_campaign(campaign);
  } catch (const Failure& failure) {
    message = failure.what();
  }
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(message, "1 of 24 cases of seed 3 failed, case " + std::to_string(wrong) + " among them");
  EXPECT_NE(text.find("FAILED     case " + std::to_string(wrong) + " of seed 3: "), std::string::npos) << text;
  EXPECT_NE(text.find("by itself it does not fail"), std::string::npos) << text;
  campaign.first = 23;
  campaign.count = 2;
  EXPECT_THROW(run_device_campaign(campaign), Failure) << "case 24 is not in the file";
  campaign.count = 1;
  campaign.seed = 4;
  EXPECT_THROW(run_device_campaign(campaign), Failure) << "the file is of another seed";
  hashes.seed = 4;
  write_hashes(path, hashes);
  EXPECT_THROW(run_device_campaign(campaign), Failure) << "the cases of the file are others";
  std::remove(path.c_str());
}

}  // namespace
}  // namespace kizami::cli
