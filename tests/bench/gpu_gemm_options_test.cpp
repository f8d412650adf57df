// SPDX-License-Identifier: MIT
// The command line of bench_gpu_gemm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lab/bench/gpu_gemm/options.hpp"

namespace {

using bench::GemmOptions;
using kizami::EngineName;
using kizami::Scheme;

/// The exit code; 0: understood.
int parse(GemmOptions& options, std::vector<const char*> words) {
  bench::Program program("bench_gpu_gemm", "");
  bench::add_options(program, options);
  words.insert(words.begin(), "bench_gpu_gemm");
  testing::internal::CaptureStderr();
  const int code = program.run(static_cast<int>(words.size()), words.data(), [] { return 0; });
  static_cast<void>(testing::internal::GetCapturedStderr());
  return code;
}

TEST(GpuGemmOptions, EveryPhiIsACase) {
  GemmOptions options;
  EXPECT_EQ(parse(options, {"--phi", "0.5", "--phi", "4", "--phi", "1e1"}), 0);
  EXPECT_EQ(options.phis, (std::vector<double>{0.5, 4, 10}));
}

TEST(GpuGemmOptions, OperandsOfBatchesAreNotPrepared) {
  GemmOptions options;
  EXPECT_EQ(parse(options, {"--prepared", "AB"}), 0);
  EXPECT_EQ(options.prepared, "AB");
  EXPECT_NE(parse(options, {"--prepared", "C"}), 0);
  EXPECT_NE(parse(options, {"--prepared", "A", "--batch", "2"}), 0);
}

TEST(GpuGemmOptions, UpdatesAreOfWaysThatKnowThem) {
  GemmOptions options;
  EXPECT_EQ(parse(options, {"--update", "--engine", "hopper", "--engine", "cublas/dynamic"}), 0);
  EXPECT_TRUE(options.is_update);
  EXPECT_NE(parse(options, {"--update", "--engine", "ff32"}), 0);
  EXPECT_NE(parse(options, {"--update", "--prepared", "A"}), 0);
}

TEST(GpuGemmOptions, AreWhatTheyWere) {
  GemmOptions options;
  EXPECT_EQ(
      parse(options, {"--type",      "sdcz",       "--n",         "512",         "--shape",
                      "64x32x16",    "--engine",   "ec",          "--engine",    "ozaki1/7/truncated/grouped/cublaslt",
                      "--engine",    "auto",       "--op",        "nt",          "--batch",
                      "3",           "--repeats",  "5",           "--sustained", "0.5",
                      "--commit",    "abc",        "--bits",      "30",          "--no-check",
                      "--no-native", "--may-sync", "--workspace", "64"}),
      0);
  EXPECT_EQ(std::string(options.types.begin(), options.types.end()), "sdcz");
  EXPECT_EQ(options.shapes, (std::vector<bench::Shape>{{512, 512, 512}, {64, 32, 16}}));
  ASSERT_EQ(options.ways.size(), 3U);
  EXPECT_EQ(options.ways[0].engine, EngineName::kHopper);
  EXPECT_EQ(options.ways[0].scheme, Scheme::kEc);
  EXPECT_EQ(options.ways[1].engine, EngineName::kCublasLt);
  EXPECT_EQ(options.ways[1].slices.num_slices, 7);
  EXPECT_EQ(options.ways[2].scheme, Scheme::kAuto);
  EXPECT_FALSE(options.is_a_transposed());
  EXPECT_TRUE(options.is_b_transposed());
  EXPECT_EQ(options.batch, 3);
  EXPECT_EQ(options.repeats, 5);
  EXPECT_EQ(options.sustained, 0.5);
  EXPECT_EQ(options.commit, "abc");
  EXPECT_EQ(options.policy.accuracy, kizami::Accuracy::at_bits(30));
  EXPECT_FALSE(options.checks);
  EXPECT_FALSE(options.has_native);
  EXPECT_TRUE(options.policy.may_sync);
  EXPECT_EQ(options.policy.workspace_limit_bytes, std::size_t{64} << 20);
}

TEST(GpuGemmOptions, TheVendorsOwnEmulationIsAWay) {
  GemmOptions options;
  EXPECT_EQ(
      parse(options, {"--type", "dz", "--engine", "cublas/dynamic", "--engine", "cublas/52", "--engine", "hopper"}), 0);
  ASSERT_EQ(options.ways.size(), 3U);
  EXPECT_EQ(options.ways[0].vendor_bits, 0);
  EXPECT_EQ(options.ways[1].vendor_bits, 52);
  EXPECT_EQ(options.ways[2].vendor_bits, std::nullopt);
}

TEST(GpuGemmOptions, WithoutAny) {
  GemmOptions options;
  EXPECT_EQ(parse(options, {}), 0);
  EXPECT_EQ(options.types, std::vector<char>{'d'});
  EXPECT_EQ(options.shapes.size(), 3U);
  ASSERT_EQ(options.ways.size(), 2U);
  EXPECT_EQ(options.ways[0].name, "hopper");
  EXPECT_EQ(options.ways[1].engine, EngineName::kCublasLt);
}

TEST(GpuGemmOptions, BadOnesAreRefusedBeforeTheDevice) {
  const std::vector<std::vector<const char*>> bad = {{"--engine", "fast"},
                                                     {"--engine", "ozaki1"},
                                                     {"--engine", "ozaki1/7/streamed2"},
                                                     {"--op", "xy"},
                                                     {"--batch", "0"},
                                                     {"--phi", "wide"},
                                                     {"--bits", "many"},
                                                     {"--type", "q"},
                                                     {"--engine", "ff32", "--batch", "2"},
                                                     {"--engine", "ff32", "--type", "ds"},
                                                     {"--engine", "cublas/"},
                                                     {"--engine", "cublas/0"},
                                                     {"--engine", "cublas/201"},
                                                     {"--engine", "cublas/5x"},
                                                     {"--engine", "cublas/52", "--batch", "2"},
                                                     {"--engine", "cublas/dynamic", "--type", "zs"},
                                                     {"--unknown"},
                                                     {"--repeats", "0"},
                                                     {"--sustained", "-1"}};
  for (const auto& words : bad) {
    GemmOptions options;
    EXPECT_GT(parse(options, words), 100) << words[0] << " " << words.back();  // CLI11's exit codes
  }
  GemmOptions options;
  EXPECT_EQ(parse(options, {"--engine", "ff32"}), 0);
}

}  // namespace
