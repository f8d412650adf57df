// SPDX-License-Identifier: MIT
// What `kizami gemm` says of who multiplied: this host with threads, or a device.
#include "gemm_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kizami::cli {
namespace {

GemmReport report_of_small_product() {
  GemmReport report{make_plan(Scalar::kF64, 2, 3, 4).value(), {}};
  report.threads = 5;
  report.seconds = 0.25;
  report.add(0, Outcome{.engine = "cpu_ref"});
  return report;
}

TEST(GemmReport, NamesThreadsOfThisHost) {
  const GemmReport report = report_of_small_product();
  const auto json = nlohmann::json::parse(as_json(report));
  EXPECT_TRUE(json.at("device").is_null());
  EXPECT_EQ(json.at("threads"), 5);
  EXPECT_NE(as_text(report).find("; 0.25 s, at most 5 threads\n"), std::string::npos) << as_text(report);
}

TEST(GemmReport, NamesTheDeviceAndNoThreads) {
  GemmReport report = report_of_small_product();
  report.device = "Some GPU";
  const auto json = nlohmann::json::parse(as_json(report));
  EXPECT_EQ(json.at("device"), "Some GPU");
  EXPECT_TRUE(json.at("threads").is_null());
  EXPECT_NE(as_text(report).find("; 0.25 s on Some GPU\n"), std::string::npos) << as_text(report);
}

}  // namespace
}  // namespace kizami::cli
