// SPDX-License-Identifier: MIT
// Scheme ozaki1 in device memory: the bits of the host for every split, grouping, engine, operation, complex form and
// class, in one pass and in chunks; and what does not change a bit.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "check/matrix_classes.hpp"
#include "gpu/ozaki1_case.hpp"
#include "gpu/sm90_test.hpp"

namespace kizami::gpu_test {
namespace {

using Ozaki1Call = DeviceTest;

TEST_F(Ozaki1Call, OfEverySplitAndCount) {
  for (const char* split : {"bytes", "truncated", "nearest", "truncated slice_bits=3", "nearest slice_bits=2"}) {
    for (const char* slices : {"slices=1", "slices=3", "slices=7", "slices=7 diagonals=9", "slices=5 diagonals=-1",
                               "slices=20 diagonals=39", "slices=12"}) {
      for (const char* shape : {"d nn 67x45x260", "s nn 130x30x129"})
        expect_bits_on_all(std::string(shape) + " split=" + split + " " + slices);
    }
  }
}

TEST_F(Ozaki1Call, OfEveryClass) {
  constexpr const char* kShapes[] = {"67x45x260", "130x30x129", "13x70x700", "129x40x65"};
  constexpr const char* kSplits[] = {"bytes", "truncated", "nearest"};
  constexpr const char* kForms[] = {"four", "karatsuba", "enlarged"};
  std::size_t turn = 0;
  for (const check::ClassInfo& info : check::class_inventory()) {
    for (const char scalar : {'d', 's', 'z', 'c'}) {
      ++turn;
      const std::string cls(info.name);
      std::string line = std::string(1, scalar) + " nn " + kShapes[turn % 4] + " A=" + (turn % 3 == 0 ? "randn" : cls) +
                         " B=" + (turn % 3 == 1 ? "randn" : cls) + " seed=" + std::to_string(turn) +
                         " split=" + kSplits[turn % 3] + " slices=" + std::to_string(2 + turn % 7);
      if (scalar == 'z' || scalar == 'c') line += std::string(" gauge=norm form=") + kForms[turn / 4 % 3];
      expect_bits(line, device_engines()[turn % device_engines().size()]);
    }
  }
}

TEST_F(Ozaki1Call, OfEveryOpAndLayout) {
  for (const char scalar : {'d', 's', 'z', 'c'}) {
    const bool is_complex = scalar == 'z' || scalar == 'c';
    for (const char* ops : {"nn", "nt", "tn", "tt", "cn", "nc", "rc", "cr"}) {
      for (const char* layout : {"col", "row"}) {
        for (const char* form : {"four", "karatsuba", "enlarged"}) {
          std::string line =
              std::string(1, scalar) + " " + ops + " 133x40x129 a=0.5 b=-2 ld+3 slices=4 layout=" + layout;
          if (is_complex) line += std::string(" gauge=norm form=") + form;
          expect_bits(line, own_engine());
          if (!is_complex) break;
        }
        expect_bits(std::string(1, scalar) + " " + ops + " 128x128x64 a=-1 b=0 slices=3 layout=" + layout,
                    EngineName::kCublasLt);
#if defined(KIZAMI_TEST_HAS_TILE)
        expect_bits(std::string(1, scalar) + " " + ops + " 140x128x65 a=-1 b=1 slices=3 layout=" + layout,
                    EngineName::kTile);
#endif
      }
    }
  }
}

TEST_F(Ozaki1Call, OfOddShapes) {
  for (const char* shape : {"1x1x128", "1x200x64", "200x1x65", "3x5x100", "17x130x2000", "127x129x63", "257x260x1025",
                            "300x131x65", "20x35x9000", "5x7x20000", "40x30x140000", "6x5x1", "0x5x9", "5x9x0"}) {
    for (const char* rest : {"d nn ", "z tt ", "s nt ", "c tn "})
      expect_bits_on_all(rest + std::string(shape) + " slices=4");
  }
}

TEST_F(Ozaki1Call, OfEveryGrouping) {
  for (const char* sums : {"pairs", "grouped", "concatenated", "blocked", "rounded"}) {
    for (const char* line : {"d nn 150x140x700 slices=7", "z nn 70x140x300 slices=9", "d nn 40x50x66000 slices=7",
                             "d nn 4200x20x300 slices=5"})
      expect_bits_on_all(std::string(line) + " sums=" + sums);
  }
}

TEST_F(Ozaki1Call, InBlocksOfLinesByStreams) {
  for (const char* blocks : {"slice_block=64 slice_streams=1", "slice_block=100 slice_streams=2",
                             "slice_block=33 slice_streams=8", "slice_block=1000 slice_streams=3"}) {
    for (const char* line : {"d nn 150x440x700 slices=7", "z tn 370x140x300 slices=9", "s nt 40x250x66000 slices=7",
                             "d nn 700x20x300 slices=5 a=2 b=-1 layout=row", "d nn 90x333x200 slices=-1",
                             "c nn 300x41x70 slices=4 gauge=norm form=enlarged A=randn,nan@middle"})
      expect_bits_on_all(std::string(line) + " sums=blocked " + blocks);
  }
}

std::size_t count_kernels(const std::string& line, EngineName engine) {
  Case c = sliced_case(line);
  c.policy.engine = engine;
  const check::Operands<double> host(c, api_test::kThreads);
  const DeviceOperands<double> x(host);
  const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  return captured_kernels(
      [&](cuda::Stream stream) { return enqueue<double>(c, plan, x, workspace, 1.0, 0.0, stream); });
}

// Sums are the same bits, so launches tell the ways apart: of 28 products, the library makes each in one, and in 7 those
// of anti-diagonals side by side; engine hopper makes all in one. An FP64 sum has each product, and its addition, by
// itself.
TEST_F(Ozaki1Call, LaunchesWhatItsSumsSay) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  const auto count = [](const char* sums, EngineName engine) {
    return count_kernels(std::string("d nn 1024x1024x1024 slices=7 slice_split=truncated sums=") + sums, engine);
  };
  constexpr auto kLt = EngineName::kCublasLt;
  const std::size_t pairs = count("pairs", kLt);
  EXPECT_EQ(count("grouped", kLt), pairs);
  EXPECT_EQ(count("concatenated", kLt), pairs - 21);
  EXPECT_EQ(count("rounded", kLt), pairs + 27);
  EXPECT_EQ(count("blocked slice_block=512", kLt), pairs + 28 + 1);
  constexpr auto kHopper = EngineName::kHopper;
  const std::size_t one = count("pairs", kHopper);
  EXPECT_EQ(one, pairs - 27);
  EXPECT_EQ(count("grouped", kHopper), one);
  EXPECT_EQ(count("concatenated", kHopper), one);
  EXPECT_EQ(count("blocked slice_block=512", kHopper), one + 2);
  EXPECT_EQ(count("rounded", kHopper), one + 2 * 27);
}

TEST_F(Ozaki1Call, FusedInOneLaunch) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  // Tiles of both kernels of each count, whole and cut, in one stage of k and in many.
  for (const char* slices : {"slices=2", "slices=3", "slices=4"}) {
    for (const char* shape :
         {"d nn 1x1x1", "d nn 70x130x127", "s tn 193x257x129", "d nt 1500x1400x200", "s tt 800x2100x130",
          "d nn 64x256x30000", "d nn 130x70x500 a=-1 b=0.5", "s nn 130x70x500 a=2 b=1", "d nn 97x129x300 a=0 b=2",
          "s nn 97x129x300 a=0 b=0", "d nn 97x129x300 A=randn,x2^-600 B=randn,x2^-500",
          "d nn 97x129x300 A=randn,x2^500 B=randn,x2^480", "s nn 97x129x300 A=randn,x2^-80 B=randn,x2^-60",
          "d nn 140x137x100 a=0 b=1 C=randn,nan@middle", "d nn 140x137x100 a=1 b=1 C=randn,inf@middle",
          "d nn 70x60x300 A=randn,nan@corner B=randn,inf@edge", "d nn 70x60x300 A=exprand",
          "d nn 133x40x129 ld+3 layout=row", "d nn 129x131x100 ld+1"}) {
      for (const char* split : {"bytes", "truncated", "nearest"})
        expect_bits(std::string(shape) + " " + slices + " slice_sums=fused split=" + split, EngineName::kHopper);
    }
    Case chunked = sliced_case(std::string("d nn 900x850x900 slice_sums=fused ") + slices);
    limit_workspace(chunked, EngineName::kHopper, 3);
    expect_bits(chunked, EngineName::kHopper);
  }
}

TEST_F(Ozaki1Call, RefusesToFuseWhatNoKernelFuses) {
  if (const std::string why = gpu_test::why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  const auto reason = [](const std::string& line, EngineName engine = EngineName::kHopper) {
    Case c = sliced_case(line + " slice_sums=fused");
    c.policy.engine = engine;
    const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, c.policy);
    return plan.ok() ? std::string("accepted") : plan.status().reason();
  };
  const auto expect_reason = [](const std::string& got, const char* part) {
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  expect_reason(reason("d nn 10x10x10 slices=5"), "num_slices = 5, must be in 2..4");
  expect_reason(reason("d nn 10x10x10 slices=1"), "num_slices = 1, must be in 2..4");
  expect_reason(reason("d nn 10x10x10 slices=3 diagonals=5"), "as many diagonals as slices, got 5 of 3");
  expect_reason(reason("d nn 10x10x70000 slices=2"), "k = 70000, must be in 1..65535");
  expect_reason(reason("z nn 10x10x10 slices=3"), "of real types");
  expect_reason(reason("d nn 10x10x10 slices=-1 diagonals=3"), "sums = fused takes a named number of slices");
  expect_reason(reason("d nn 10x10x10 slices=3", EngineName::kCublasLt), "no kernel for sums = fused");
  EXPECT_EQ(reason("d nn 10x10x10 slices=3"), "accepted");
}

TEST_F(Ozaki1Call, WithAnyFactors) {
  for (const char* factors :
       {"a=1 b=1", "a=-1 b=0.5", "a=1e-20 b=1", "a=3e38 b=0", "a=0 b=2", "a=1 b=0 C=randn,nan@middle"}) {
    for (const char* shape : {"d nn 140x137x100 A=randn,x2^-600 B=randn,x2^-500", "s nn 140x137x100 A=randn,x2^-60"})
      expect_bits_on_all(std::string(shape) + " slices=7 " + factors);
  }
  for (const char* factors : {"a=1.5-2i b=0.25+1i", "a=-1i b=0", "a=0.5+3e30i b=-1+1i", "a=0 b=1i"}) {
    for (const char* form : {"four", "karatsuba", "enlarged"})
      expect_bits_on_all(std::string("c nn 40x37x100 A=randn,x2^-110 slices=5 gauge=norm form=") + form + " " +
                         factors);
  }
}

TEST_F(Ozaki1Call, WithoutNamedSlices) {
  for (const char* accuracy : {"accuracy=native", "accuracy=bits=20", "accuracy=bits=50"})
    expect_bits_on_all(std::string("d nn 100x90x500 gauge=norm ") + accuracy);
}

// Lines of one size, of many, of few digits, of none, and of more than there may be.
constexpr const char* kLines[] = {"A=randn B=randn",          "A=grade:rows B=grade:cols",
                                  "A=zerorows B=int:bits=20", "A=pow2 B=evil:span=90",
                                  "A=subnormal B=randn",      "A=randn,nan@middle B=evil,inf@edge"};

TEST_F(Ozaki1Call, WithOneScaleForAMatrix) {
  for (const char* lines : kLines) {
    for (const char* rest :
         {"d nn 67x45x260 slice_split=bytes slices=7", "s tt 30x140x2100 slice_split=truncated slices=4",
          "z cn 40x33x130 gauge=norm complex_form=karatsuba slices=5 a=0.5-1i b=1i",
          "c nt 40x33x130 gauge=norm complex_form=enlarged slices=3 slice_split=nearest"})
      expect_bits_on_all(std::string(rest) + " slice_scale=matrix " + lines);
    if (has_hopper())
      expect_bits(
          std::string("d nn 133x70x300 slice_split=bytes slices=4 slice_sums=fused slice_scale=matrix ") + lines,
          own_engine());
  }
  const Outcome equal = expect_bits("d nn 50x40x100 slices=4 slice_scale=matrix A=ones B=ones", own_engine());
  const Outcome graded = expect_bits("d nn 50x40x100 slices=4 slice_scale=matrix A=grade:rows B=ones", own_engine());
  EXPECT_GT(graded.bound, equal.bound) << "lines of different size";
}

TEST_F(Ozaki1Call, UntilNothingIsLeft) {
  for (const char* lines : kLines) {
    for (const char* rest :
         {"d nn 67x45x260 slice_split=bytes", "s tt 30x140x2100 slice_split=truncated slice_scale=matrix",
          "d nt 33x40x700 slice_split=nearest diagonals=9", "z nn 40x33x130 complex_form=karatsuba a=-1 b=1",
          "c nc 40x33x130 complex_form=enlarged slice_scale=matrix"})
      expect_bits_on_all(std::string(rest) + " slices=-1 " + lines);
  }
  const auto slices = [](const std::string& line) {
    return expect_bits("d nn 50x40x100 slices=-1 " + line, own_engine()).slices;
  };
  EXPECT_EQ(slices("A=zeros B=zeros"), 1);
  EXPECT_EQ(slices("A=ones B=ones"), 1);
  EXPECT_EQ(slices("A=ones B=evil:span=300"), kMaxSlices);
  const int most = slices("A=randn B=randn");
  EXPECT_TRUE(most > 1 && most < kMaxSlices) << most;
}

TEST_F(Ozaki1Call, UntilNothingIsLeftInAWorkspaceThatIsSmall) {
  for (const char* line : {"d nn 500x450x900 slices=-1", "z tn 200x250x700 slices=-1 slice_scale=matrix"}) {
    Case c = sliced_case(line);
    for (const EngineName engine : device_engines()) {
      limit_workspace(c, engine, 5);
      expect_bits(c, engine);
    }
  }
}

TEST_F(Ozaki1Call, UntilNothingIsLeftIsNotCaptured) {
  const Case c = sliced_case("d nn 60x50x200 slices=-1");
  const check::Operands<double> host(c, api_test::kThreads);
  const DeviceOperands<double> x(host);
  const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  cudaStream_t stream = nullptr;
  gpu_test::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  gpu_test::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  const Status status = enqueue<double>(c, plan, x, workspace, 1.0, 0.0, stream);
  cudaGraph_t graph = nullptr;
  gpu_test::check(cudaStreamEndCapture(stream, &graph), "end of capture");
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.reason(), "sync: a captured stream cannot wait for what the elements decide");
  gpu_test::check(cudaGraphDestroy(graph), "graph");
  gpu_test::check(cudaStreamDestroy(stream), "stream");
}

/// alpha in device memory, and zero there: nothing is surveyed, and C <- beta C.
TEST_F(Ozaki1Call, UntilNothingIsLeftOfNothing) {
  const Case c = sliced_case("d nn 60x50x200 slices=-1 slice_scale=matrix A=randn,nan@middle nonfinite=reject");
  const check::Operands<double> host(c, api_test::kThreads);
  const DeviceOperands<double> x(host);
  const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, c.policy).value();
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  const DeviceArray<double> alpha(std::vector<double>{0.0});
  const Status status =
      enqueue<double>(c, plan, x, workspace, Factor<double>::at(alpha.data()), Factor<double>(-2.0), nullptr);
  EXPECT_TRUE(status.ok()) << status.reason();
  std::vector<double> want = stored(host.c);
  for (std::int64_t j = 0; j < c.n; ++j) {
    for (std::int64_t i = 0; i < c.m; ++i) want[static_cast<std::size_t>(j * host.c.ld() + i)] *= -2.0;
  }
  expect_same(x.c.download(), want, check::print(c));
  const Outcome outcome = cuda::read_outcome(plan, {workspace.data(), workspace.size()}, nullptr).value();
  EXPECT_EQ(outcome.engine, "none");
  EXPECT_EQ(outcome.slices, 0);
}

TEST_F(Ozaki1Call, AnswersLinesWithNaNAndInf) {
  for (const char* what : {"nan@corner", "inf@middle", "-inf@edge", "nan@edge"}) {
    for (const char* rest :
         {"d nn 70x60x300 slices=4 a=2 b=1 A=randn,",
          "z nn 70x60x300 slices=4 gauge=norm complex_form=karatsuba A=randn,", "s tt 70x60x20000 slices=3 B=randn,"})
      expect_bits_on_all(std::string(rest) + what);
  }
}

TEST_F(Ozaki1Call, InAWorkspaceThatIsSmall) {
  for (const char* line : {"d nn 700x650x900 slices=7", "z tn 300x350x700 slices=5", "d nt 650x300x17000 slices=3"}) {
    Case c = sliced_case(line);
    for (const EngineName engine : device_engines()) {
      limit_workspace(c, engine, 5);
      expect_bits(c, engine);
    }
  }
}

TEST_F(Ozaki1Call, RefusesWhatItCannot) {
  const auto reason = [](const char* line, auto change) {
    Case c = sliced_case(line);
    change(c.policy);
    const Result<Plan> plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, c.policy);
    return plan.ok() ? std::string("accepted") : plan.status().reason();
  };
  EXPECT_NE(
      reason("d nn 10x10x10 slices=-1", [](Policy& p) { p.may_sync = false; })
          .find("with sync = never, must be allowed: the host waits for the count, for operands in device memory"),
      std::string::npos);
  EXPECT_EQ(reason("d nn 10x10x10 slices=3 nonfinite=reject", [](Policy& p) { p.may_sync = true; }), "accepted");
}

TEST_F(Ozaki1Call, RejectsNaNWhereItMayWait) {
  const Case c = sliced_case("d nn 60x50x200 A=randn,nan@middle slices=4 nonfinite=reject");
  Policy policy = c.policy;
  policy.may_sync = true;
  const check::Operands<double> host(c, api_test::kThreads);
  const DeviceOperands<double> x(host);
  const Plan plan = cuda::make_plan(c.scalar, c.m, c.n, c.k, policy).value();
  const DeviceArray<std::byte> workspace(plan.workspace_bytes());
  EXPECT_EQ(enqueue<double>(c, plan, x, workspace, 1.0, 0.0, nullptr).code(), StatusCode::kNonFinite);
}

}  // namespace
}  // namespace kizami::gpu_test
