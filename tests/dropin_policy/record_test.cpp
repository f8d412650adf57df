// SPDX-License-Identifier: MIT
#include "dropin/policy/record.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <thread>
#include <vector>

namespace kizami::dropin {
namespace {

CallReport emulated(std::int64_t m, double bound, double seconds) {
  CallReport report;
  report.name = "dgemm_";
  report.options = "nt";
  report.m = m;
  report.n = 20;
  report.k = 30;
  report.outcome.scheme = Scheme::kOzaki2;
  report.outcome.engine = "cpu_simd";
  report.outcome.moduli = 14;
  report.outcome.bound = bound;
  report.seconds = seconds;
  report.native_seconds = seconds / 2;
  return report;
}

CallReport native(const char* reason) {
  CallReport report = emulated(1, 0, 0.5);
  report.why_native = reason;
  return report;
}

TEST(Record, LogLinesSayWhatAnswered) {
  EXPECT_EQ(log_line(emulated(10, 0x1p-50, 0.25)),
            "kizami: dgemm_ nt 10x20x30: ozaki2 on cpu_simd, 14 moduli, bound 8.9e-16 entry, 0.25 s [unknown]");
  EXPECT_EQ(log_line(native("nothing is multiplied")),
            "kizami: dgemm_ nt 1x20x30: native: nothing is multiplied, 0.5 s [unknown]");
}

TEST(Record, ACallThatGoesOnHasPredictedTimesAndTheFewestModuli) {
  CallReport report = emulated(10, 0x1p-50, 0.25);
  report.is_predicted = true;
  report.num_products = 7;
  EXPECT_EQ(
      log_line(report),
      "kizami: dgemm_ nt 10x20x30, 7 products: ozaki2 on cpu_simd, 14 or more moduli, bound 8.9e-16 entry, 0.25 s "
      "predicted [unknown]");
  Record record;
  record.add(report);
  report.num_products = 8;
  record.add(report);
  const std::string text = record.text();
  EXPECT_NE(text.find("2 calls emulated, predicted to take 0.5 s (native: 0.25 s), 0 calls native\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("10x20x30, 7 products"), std::string::npos) << text;
  EXPECT_NE(text.find("10x20x30, 8 products"), std::string::npos) << text;
  CallReport unknown = native("no device");
  unknown.is_predicted = true;
  unknown.seconds = 0;
  EXPECT_EQ(log_line(unknown), "kizami: dgemm_ nt 1x20x30: native: no device [unknown]");
}

TEST(Record, CallsThatLackedMemoryAreCounted) {
  Record record;
  record.add(emulated(10, 1e-15, 0.25));
  EXPECT_EQ(record.text().find("memory"), std::string::npos) << record.text();
  CallReport smaller = emulated(10, 1e-15, 0.25);
  smaller.workspace_limit = std::size_t{1} << 31;
  EXPECT_EQ(log_line(smaller),
            "kizami: dgemm_ nt 10x20x30: ozaki2 on cpu_simd, 14 moduli, bound 1e-15 entry, within 2147483648 bytes for "
            "lack of memory, 0.25 s [unknown]");
  record.add(smaller);
  smaller.workspace_limit = std::size_t{1} << 26;
  record.add(smaller);
  record.add(emulated(11, 1e-15, 0.25));
  CallReport left = native("no memory");
  left.is_short_of_memory = true;
  for (int i = 0; i < 3; ++i) record.add(left);
  record.add(native("the scheme is native"));
  record.note_workspaces(5000);
  record.note_workspaces(4000);
  const std::string text = record.text();
  EXPECT_NE(
      text.find("        workspaces held at most 5000 bytes of a device\n"
                "        for lack of memory 2 calls ran in a smaller workspace, 3 were left to the native library\n"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("         3 x dgemm_ nt 10x20x30: ozaki2 on cpu_simd, 14 moduli, bound 1e-15 entry, within 67108864 "
                "bytes for lack of memory, 2 calls in a smaller workspace, 0.75 s"),
      std::string::npos)
      << text;
}

TEST(Record, CallsOfOneShapeAreOneLineWithTheWorstOfThem) {
  Record record;
  EXPECT_EQ(record.text(), "");
  record.add(emulated(10, 1e-15, 0.25));
  CallReport worst = emulated(10, 2e-15, 0.5);
  worst.worst_ratio = 0.125;
  record.add(worst);
  record.add(emulated(11, 1e-15, 8));
  record.add(native("the scheme is native"));
  const std::string text = record.text();
  EXPECT_NE(text.find("3 calls emulated in 8.75 s (native, as predicted: 4.38 s), 1 call native\n"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find("         2 x dgemm_ nt 10x20x30: ozaki2 on cpu_simd, 14 moduli, bound 2e-15 entry, sample error / "
                "bound 0.12, 0.75 s (native 0.375 s) [unknown]\n"),
      std::string::npos)
      << text;
  EXPECT_LT(text.find("11x20x30"), text.find("10x20x30")) << "the longest time comes first";
}

TEST(Record, ASampleThatIsNaNStays) {
  Record record;
  for (const double ratio : {0.5, std::nan(""), 0.25}) {
    CallReport report = emulated(10, 1e-15, 1);
    report.worst_ratio = ratio;
    record.add(report);
  }
  EXPECT_NE(record.text().find("error / bound nan"), std::string::npos) << record.text();
}

TEST(Record, SamplesThatWereNotTakenAreCountedAndSaid) {
  CallReport report = emulated(10, 1e-15, 0.25);
  report.why_no_sample = "the stream is captured";
  EXPECT_EQ(log_line(report),
            "kizami: dgemm_ nt 10x20x30: ozaki2 on cpu_simd, 14 moduli, bound 1e-15 entry, no sample: the stream is "
            "captured, 0.25 s [unknown]");
  Record record;
  record.add(emulated(10, 1e-15, 0.25));
  record.add(report);
  record.add(report);
  EXPECT_NE(record.text().find("bound 1e-15 entry, 2 samples skipped: the stream is captured, 0.75 s"),
            std::string::npos)
      << record.text();
}

TEST(Record, WhatIsNotWithinItsBoundIsBeyondIt) {
  CallReport report = emulated(10, 1e-15, 1);
  for (const double within : {-1.0, 0.0, 0.5, 1.0}) {
    report.worst_ratio = within;
    EXPECT_FALSE(is_beyond_bound(report)) << within;
  }
  for (const double beyond : {1.0000001, HUGE_VAL, std::nan("")}) {
    report.worst_ratio = beyond;
    EXPECT_TRUE(is_beyond_bound(report)) << beyond;
  }
}

TEST(Record, NoNumberOfShapesIsTooMany) {
  Record record;
  for (std::int64_t m = 0; m < 5000; ++m) record.add(emulated(m, 1e-15, 0.001));
  const std::string text = record.text();
  EXPECT_NE(text.find("5000 calls emulated"), std::string::npos);
  EXPECT_NE(text.find("904 x (other shapes)"), std::string::npos);  // 5000 - 4096
}

TEST(Record, ThreadsAddTogether) {
  Record record;
  std::vector<std::thread> crew;
  for (int t = 0; t < 4; ++t) {
    crew.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) record.add(emulated(i % 3, 1e-15, 0.001));
    });
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_NE(record.text().find("4000 calls emulated"), std::string::npos);
}

// tests/base/fork_safe_test.cpp has what a lock of the parent does not do to the child.
TEST(Record, TheChildOfAForkBeginsAnew) {
  process_record().add(emulated(3, 1e-15, 0.001));
  const pid_t child = fork();
  if (child == 0) _exit(process_record().text().empty() ? 42 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  EXPECT_NE(process_record().text().find("1 call emulated"), std::string::npos);
}

}  // namespace
}  // namespace kizami::dropin
