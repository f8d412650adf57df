// SPDX-License-Identifier: MIT
#include "dropin/policy/audit.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/process_begin.hpp"
#include "dropin/policy/report.hpp"

namespace kizami::dropin {
namespace {

using Clock = std::chrono::steady_clock;

AuditKey product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.caller = nullptr, .name = "dgemm_", .shape = {.m = m, .n = n, .k = k}, .type = 'd'};
}

std::vector<nlohmann::json> lines_of(const std::string& text, const char* event) {
  std::istringstream in(text);
  std::vector<nlohmann::json> out;
  for (std::string line; std::getline(in, line);) {
    nlohmann::json parsed = nlohmann::json::parse(line);
    if (parsed["event"] == event) out.push_back(std::move(parsed));
  }
  return out;
}

TEST(Audit, BeyondItsKindsAPlaceKeepsItsRoutineAndItsMultiplications) {
  restart_audit(Clock::now());
  constexpr int kShapes = 5000;
  double multiplications = 0;
  for (int i = 1; i <= kShapes; ++i) {
    note_call(product(i, 3, 2), 1);
    note_time(product(i, 3, 2), 1e-3, nullptr);
    multiplications += 6.0 * i;
  }
  std::int64_t calls = 0;
  double seen = 0;
  for (const nlohmann::json& line : lines_of(audit_json(), "audited")) {
    EXPECT_EQ(line["routine"], "dgemm_");
    EXPECT_EQ(line["type"], "d");
    calls += line["calls"].get<std::int64_t>();
    seen += line.contains("multiplications") ? line["multiplications"].get<double>()
                                             : line["m"].get<double>() * line["calls"].get<double>() * 6;
  }
  EXPECT_EQ(calls, kShapes);
  EXPECT_NEAR(seen, multiplications, 1e-5 * multiplications);  // six digits are written
}

TEST(Audit, PlacesAreBoundedToo) {
  restart_audit(Clock::now());
  constexpr std::size_t kPlaces = 10000;
  const std::vector<char> code(kPlaces);
  for (const char& place : code) {
    AuditKey key = product(5, 5, 5);
    key.caller = &place;
    note_call(key, 1);
  }
  EXPECT_LE(lines_of(audit_json(), "audited").size(), 2 * 4096 + 1U);
}

TEST(Audit, TheFirstCallOfAShortProgramIsSampled) {
  restart_audit(Clock::now());
  EXPECT_EQ(elements_to_sample(product(300, 300, 300), 300, Clock::now()), kMostElements);
}

TEST(Audit, SaysWhyNothingWasSampled) {
  restart_audit(Clock::now());
  const AuditKey long_lines = product(3, 3, 1 << 30);
  EXPECT_EQ(elements_to_sample(long_lines, 1 << 30, Clock::now()), 0);
  note_call(long_lines, 1);
  note_time(long_lines, 1, nullptr);
  ASSERT_EQ(lines_of(audit_json(), "audited").size(), 1U);
  EXPECT_EQ(lines_of(audit_json(), "audited")[0]["why_no_sample"],
            "samples keep to a share of the time, and none was left");
}

TEST(Audit, APredictionIsOfTheBitsThatTheLinesMustKeep) {
  const Emulation emulation{
      .scheme = Scheme::kOzaki2, .seconds = 1, .native_seconds = 2, .base_moduli = 14, .max_moduli = 24};
  EXPECT_EQ(seconds_at_bits(emulation, 0, 500), 1) << "nothing was sampled";
  EXPECT_EQ(seconds_at_bits(emulation, 44, 500), 1);
  EXPECT_GT(seconds_at_bits(emulation, 70, 500), 1.3);
  EXPECT_EQ(seconds_at_bits(emulation, 117, 500), 0) << "no moduli keep them";
  Emulation other = emulation;
  other.scheme = Scheme::kEc;
  EXPECT_EQ(seconds_at_bits(other, 117, 500), 1);
}

TEST(Audit, TheClockOfAChildStartsWithTheFork) {
  const Clock::time_point parents = base::process_begin();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // and only then is anything reported
    const std::vector<nlohmann::json> lines = lines_of(report_text(false), "process");
    const bool is_right = base::process_begin() > parents && lines.size() == 1 && lines[0]["elapsed"] >= 0.05;
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kizami::dropin
