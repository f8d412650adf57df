// SPDX-License-Identifier: MIT
// The harness of the programs of lab/bench/: what is parsed and refused, what a median is, and a record to the letter.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/bench/harness/facts.hpp"
#include "lab/bench/harness/options.hpp"
#include "lab/bench/harness/records.hpp"
#include "lab/bench/harness/spread.hpp"

namespace {

using bench::Shape;

constexpr int kMeasured = 42;

/// Exit code, and what stands on stderr.
struct Ended {
  int code;
  std::string said;
};

Ended run(bench::Program& program, std::vector<const char*> words) {
  words.insert(words.begin(), "bench_x");
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();  // --help
  const int code = program.run(static_cast<int>(words.size()), words.data(), [] { return kMeasured; });
  return {code, testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr()};
}

/// A program with an option of each kind.
struct Wishes {
  std::vector<Shape> shapes = {{8, 8, 8}};
  std::vector<char> types = {'d'};
  std::vector<double> phis = {0.5};
  int repeats = 7;
  bool checks = true;
  std::string commit = "unknown";
  std::string json;
  bench::Program program{"bench_x", "What is timed"};

  Wishes() {
    bench::add_shapes(program, shapes);
    bench::add_types(program, types);
    program.add_option("--phi", phis, "widths of exponents")->check(bench::between(0, 32));
    program.add_option("--repeats", repeats, "timed calls of each")->check(CLI::Range(1, 1000));
    program.add_flag("--no-check{false}", checks, "leaves errors out");
    bench::add_commit(program, commit);
    bench::add_json(program, json);
  }
};

TEST(Options, StandAsTheyAreWithoutAny) {
  Wishes x;
  EXPECT_EQ(run(x.program, {}).code, kMeasured);
  EXPECT_EQ(x.shapes, (std::vector<Shape>{{8, 8, 8}}));
  EXPECT_EQ(x.types, std::vector<char>{'d'});
  EXPECT_EQ(x.phis, std::vector<double>{0.5});
  EXPECT_EQ(x.commit, "unknown");
  EXPECT_TRUE(x.checks);
}

TEST(Options, TakeEveryValueInItsOrder) {
  Wishes x;
  const Ended ended = run(x.program, {"--n", "64", "--shape", "3x4x5", "--n", "128", "256", "--phi", "0.5", "--phi",
                                      "4", "--type", "sd", "--type", "z", "--repeats=9", "--no-check"});
  EXPECT_EQ(ended.code, kMeasured) << ended.said;
  EXPECT_EQ(x.shapes, (std::vector<Shape>{{64, 64, 64}, {3, 4, 5}, {128, 128, 128}, {256, 256, 256}}));
  EXPECT_EQ(x.phis, (std::vector<double>{0.5, 4}));
  EXPECT_EQ(x.types, (std::vector<char>{'s', 'd', 'z'}));
  EXPECT_EQ(x.repeats, 9);
  EXPECT_FALSE(x.checks);
}

TEST(Options, OfTwoCommitsTheLastCounts) {
  Wishes x;
  EXPECT_EQ(run(x.program, {"--commit", "a", "--n", "4", "--commit", "b"}).code, kMeasured);
  EXPECT_EQ(x.commit, "b");
}

/// Refused with the code of CLI11, and `said` in the message.
void expect_refused(const std::vector<const char*>& words, CLI::ExitCodes code, const std::string& said) {
  Wishes x;
  const Ended ended = run(x.program, words);
  EXPECT_EQ(ended.code, static_cast<int>(code)) << words[0];
  EXPECT_NE(ended.said.find(said), std::string::npos) << ended.said;
  EXPECT_NE(ended.said.find("--help"), std::string::npos) << ended.said;
}

TEST(Options, AreRefusedWithAReason) {
  using CLI::ExitCodes;
  expect_refused({"--sizes", "4"}, ExitCodes::ExtrasError, "--sizes");
  expect_refused({"--n"}, ExitCodes::ArgumentMismatch, "--n");
  expect_refused({"--repeats", "0"}, ExitCodes::ValidationError, "--repeats: Value 0 not in range 1 to 1000");
  expect_refused({"--repeats", "many"}, ExitCodes::ValidationError, "many");
  for (const char* phi : {"nan", "-1", "33", "0.5x", "wide"}) {
    expect_refused({"--phi", phi}, ExitCodes::ValidationError, std::string(phi) + ", must be a number from 0 to 32");
  }
  expect_refused({"--type", "dx"}, ExitCodes::ValidationError, "--type: dx, must be letters of sdcz");
  for (const char* shape : {"0", "-4", "4x4", "4x4x", "4x4x4x4", "4x4x4 ", "1e3", "x", "99999999999999999999"}) {
    expect_refused({"--shape", shape}, ExitCodes::ValidationError, std::string(shape) + ", must be N or MxNxK");
  }
}

TEST(Options, SayWhatTheyAre) {
  Wishes x;
  const Ended ended = run(x.program, {"--help"});
  EXPECT_EQ(ended.code, 0);
  for (const char* text : {"What is timed", "--n,--shape", "[8x8x8]", "--type", "letters of sdcz", "--phi", "[0.5]",
                           "widths of exponents", "--repeats", "--no-check", "--commit", "--json"}) {
    EXPECT_NE(ended.said.find(text), std::string::npos) << text << " in\n" << ended.said;
  }
}

TEST(Options, OfMultiples) {
  const auto check = bench::multiple_of(16);
  EXPECT_EQ(check("32"), "");
  EXPECT_EQ(check("24"), "24, must be a multiple of 16");
  EXPECT_NE(check("0"), "");
  EXPECT_NE(check("16.0"), "");
}

TEST(Program, EndsWithTheReasonOfWhatItMeasures) {
  bench::Program program("bench_x", "");
  const char* words[] = {"bench_x"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(program.run(1, words, []() -> int { throw std::runtime_error("no device"); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "bench_x: no device\n");
}

TEST(Shapes, AreSaidAsTheyAreParsed) {
  EXPECT_EQ(bench::parse_shape("7"), (Shape{7, 7, 7}));
  EXPECT_EQ(to_string(bench::parse_shape("4096x1x512")), "4096x1x512");
}

TEST(Text, OfANumberIsShort) {
  EXPECT_EQ(bench::to_text(0.5), "0.5");
  EXPECT_EQ(bench::to_text(4), "4");
  EXPECT_EQ(bench::to_text(1e-7), "1e-07");
}

TEST(Spread, IsOfWhatWasMeasured) {
  const bench::Spread odd = bench::spread(std::vector<double>{3, 1, 2});
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(bench::median(std::vector<float>{4, 1, 3, 2}), 3);  // the upper one of 2 and 3
  EXPECT_EQ(bench::median(std::vector<double>{5}), 5);
  EXPECT_THROW(static_cast<void>(bench::spread(std::vector<double>{})), std::invalid_argument);
}

/// A file that is gone with it.
class File {
 public:
  File() : path_(testing::TempDir() + "harness_test_" + std::to_string(getpid()) + ".jsonl") {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

TEST(Records, AreLinesWithFieldsInTheirOrder) {
  const File file;
  const bench::Json record{{"date", "2026-11-23"}, {"commit", "unknown"}, {"case", "d nn 8x8x8 phi=0.5"},
                           {"ms_median", 0.1},     {"error", 1.25e-16},   {"sm_mhz", 1980U},
                           {"correct", true},      {"plan", ""}};
  const std::string line =
      R"({"date":"2026-11-23","commit":"unknown","case":"d nn 8x8x8 phi=0.5","ms_median":0.1,"error":1.25e-16,)"
      R"("sm_mhz":1980,"correct":true,"plan":""})"
      "\n";
  bench::Records(file.path()).append(record);
  EXPECT_EQ(file.text(), line);
  bench::Records(file.path()).append(record);  // behind what is there
  EXPECT_EQ(file.text(), line + line);
}

TEST(Records, LoseNoDigitAndAreJsonWhateverTheySay) {
  const File file;
  const double third = 1.0 / 3;
  bench::Records(file.path())
      .append(bench::Json{{"x", third}, {"nan", std::numeric_limits<double>::quiet_NaN()}, {"text", "\"\xff"}});
  const bench::Json read = bench::Json::parse(file.text());
  EXPECT_EQ(read["x"].get<double>(), third);
  EXPECT_TRUE(read["nan"].is_null());
}

TEST(Records, ArePrintedWithoutAFile) {
  testing::internal::CaptureStdout();
  bench::Records().append(bench::Json{{"n", 1}});
  bench::Records("", nullptr).append(bench::Json{{"n", 2}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\"n\":1}\n");
}

TEST(Records, SayThatAFileCannotBeOpened) {
  EXPECT_THROW(bench::Records("/no such folder/records.jsonl"), std::runtime_error);
}

TEST(Facts, AreSaid) {
  EXPECT_TRUE(std::regex_match(bench::today(), std::regex("20[0-9]{2}-[01][0-9]-[0-3][0-9]")));
  EXPECT_FALSE(bench::processor_name().empty());
  EXPECT_FALSE(bench::answering_library().empty());
  EXPECT_FALSE(bench::Gauges().driver.empty());
  ::setenv("KIZAMI_HARNESS_TEST", "a=b", 1);
  ::setenv("KIZAMI_REQUIRE_HARNESS_TEST", "1", 1);
  const nlohmann::json settings = bench::settings();
  EXPECT_EQ(settings.at("KIZAMI_HARNESS_TEST"), "a=b");
  EXPECT_FALSE(settings.contains("KIZAMI_REQUIRE_HARNESS_TEST"));
}

}  // namespace
