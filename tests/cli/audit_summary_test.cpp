// SPDX-License-Identifier: MIT
// What `kizami audit` makes of the lines of processes.
#include "audit_summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "audit_html.hpp"

namespace kizami::cli {
namespace {

using Json = nlohmann::json;

/// One call of 1 s; the native library is predicted to take `native`, Kizami `kizami`.
Json audited(double native, double kizami, const char* scheme, const char* offset = "0x10") {
  return {{"event", "audited"},
          {"routine", "dgemm_"},
          {"stem", "gemm"},
          {"type", "d"},
          {"m", 1000},
          {"n", 1000},
          {"k", 1000},
          {"products", 1},
          {"part", 1.0},
          {"site", "liblapack.so.3:dlarfb_"},
          {"offset", offset},
          {"calls", 1},
          {"seconds", 1.0},
          {"samples", 7},
          {"bits", 44},
          {"predicted_seconds", kizami},
          {"predicted_native_seconds", native},
          {"predicted_scheme", scheme}};
}
Json process() { return {{"event", "process"}, {"pid", 5}, {"native", 1}, {"elapsed", 2.0}, {"complete", true}}; }

AuditSummary summary_of(std::vector<Json> lines) {
  lines.push_back(process());
  return summarize(lines, {"program"}, 2, "exit status 0");
}

TEST(AuditSummary, AGainIsBesideWhatTheLibraryCanDo) {
  const AuditSummary busy = summary_of({audited(0.2, 0.4, "ozaki2")});
  EXPECT_DOUBLE_EQ(gain_of(busy.sites[0]), 0.5) << "not 2.5 times, of a crowded second";
  EXPECT_NE(audit_text(busy).find("its own library took 5 times what it is predicted to"), std::string::npos);
  EXPECT_NE(audit_html(busy).find("its own library took 5 times what it is predicted to"), std::string::npos);
  EXPECT_EQ(audit_rules(busy).find("scheme=ozaki2"), std::string::npos);
  const AuditSummary quick = summary_of({audited(3, 0.4, "ozaki2")});
  EXPECT_DOUBLE_EQ(gain_of(quick.sites[0]), 2.5) << "what was measured is what the library can do, too";
  EXPECT_EQ(audit_text(quick).find("its own library took"), std::string::npos);
  EXPECT_NE(audit_rules(quick).find("scheme=ozaki2  # 1 s, gain 2.50"), std::string::npos) << audit_rules(quick);
  Json unknown = audited(0, 0.4, "ozaki2");
  EXPECT_DOUBLE_EQ(gain_of(summary_of({unknown}).sites[0]), 2.5) << "nothing is predicted of the library";
}

TEST(AuditSummary, NoRuleNamesASchemeWhereThePlannerPrefersNative) {
  const std::string rules = audit_rules(summary_of({audited(3, 0.4, "native")}));
  EXPECT_NE(rules.find("There is no place"), std::string::npos) << rules;
}

TEST(AuditSummary, OtherShapesKeepTheirOperations) {
  Json other = audited(1, 1, "native");
  other["m"] = other["n"] = other["k"] = 0;
  other["multiplications"] = 3e9;
  other["calls"] = 40;
  const AuditSummary summary = summary_of({other});
  EXPECT_DOUBLE_EQ(summary.sites[0].gflop, 6);
  EXPECT_NE(audit_text(summary).find("other shapes"), std::string::npos);
  EXPECT_NE(audit_html(summary).find("other shapes (40)"), std::string::npos);
}

TEST(AuditSummary, CountsAreSaidAsTheyAre) {
  EXPECT_EQ(counted(1, "product"), "1 product");
  EXPECT_EQ(counted(2, "process"), "2 processes");
  const AuditSummary one = summary_of({audited(1, 1, "native")});
  EXPECT_EQ(audit_text(one).find("kizami audit: 1 product in 1 process, "), 0U) << audit_text(one);
  EXPECT_NE(audit_html(one).find("1 product in 1 process; "), std::string::npos);
}

TEST(AuditSummary, TheNumberOfSamplesIsShown) {
  const AuditSummary summary = summary_of({audited(1, 1, "native")});
  EXPECT_NE(audit_text(summary).find("1000x1000x1000           7 "), std::string::npos) << audit_text(summary);
  EXPECT_NE(audit_html(summary).find("<th>samples</th>"), std::string::npos);
}

TEST(AuditSummary, PlacesOfOneFunctionAreToldApart) {
  const std::string page =
      audit_html(summary_of({audited(1, 1, "native", "0x5a1c3"), audited(1, 1, "native", "0x5b2d4")}));
  for (const char* const label : {">dgemm_ liblapack.so.3:dlarfb_+0x5a1c3<", ">dgemm_ liblapack.so.3:dlarfb_+0x5b2d4<"})
    EXPECT_NE(page.find(label), std::string::npos) << label;
}

}  // namespace
}  // namespace kizami::cli
