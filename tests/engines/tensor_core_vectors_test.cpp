// SPDX-License-Identifier: MIT
// The software tensor core against recorded hardware, bit for bit (tests/data/tensor_core), and the checker against
// texts that must be red.
#include "engines/tensor_core_vectors.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kizami::engines {
namespace {

using testing::check_vectors;
using testing::VectorReport;

VectorReport report_of(const std::string& text) {
  std::istringstream stream(text);
  return check_vectors(stream);
}

// 1 + 2^-12 2^-13 four times: with 2 extra bits the four quarters of a last place survive and make a whole one.
const std::string kQuarters =
    "fp16 3f800000 3f800001 0c00 0c00 0c00 0c00 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 "
    "0800 0800 0800 0800 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000\n";

TEST(TensorCoreVectors, CheckerAcceptsWhatTheModelGives) {
  const VectorReport report = report_of("# core hopper\n# any words\n\n" + kQuarters);
  EXPECT_EQ(report.error, "");
  EXPECT_EQ(report.num_vectors, 1);
  EXPECT_EQ(report.num_types, 1);
  EXPECT_TRUE(report.mismatches.empty());
}

TEST(TensorCoreVectors, CheckerSeesAFlippedBitAndAnotherCore) {
  std::string flipped = kQuarters;
  flipped[flipped.find("3f800001") + 7] = '0';
  EXPECT_EQ(report_of("# core hopper\n" + flipped).mismatches,
            std::vector<std::string>{"line 2, fp16: model 3f800001, hardware 3f800000"});
  EXPECT_EQ(report_of("# core ampere\n" + kQuarters).mismatches.size(), 1U);  // 1 extra bit: each quarter is cut
}

TEST(TensorCoreVectors, CheckerRefusesWhatIsNoVector) {
  EXPECT_EQ(report_of(kQuarters).error, "line 1: no core is named above");
  EXPECT_EQ(report_of("# core hopper\nfp8 0 0\n").error, "line 2: unknown type fp8");
  EXPECT_EQ(report_of("# core hopper\nfp16 0 0 1 2\n").error, "line 2: has 4 numbers, must be 34");
  EXPECT_EQ(report_of("# core hopper\ntf32 0 0 zz\n").error, "line 2: has 2 numbers, must be 18");
}

TEST(TensorCoreVectors, ModelEqualsRecordedHardware) {
  const std::filesystem::path folder(KIZAMI_TEST_DATA "/tensor_core");
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    ++num_files;
    std::ifstream file(entry.path());
    const VectorReport report = check_vectors(file);
    EXPECT_EQ(report.error, "") << entry.path().filename();
    EXPECT_GT(report.num_vectors, 0) << entry.path().filename();
    for (const std::string& mismatch : report.mismatches) ADD_FAILURE() << entry.path().filename() << " " << mismatch;
  }
  if (num_files == 0) GTEST_SKIP() << "tests/data/tensor_core holds no recorded vectors; see its README";
}

}  // namespace
}  // namespace kizami::engines
