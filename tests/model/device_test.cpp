// SPDX-License-Identifier: MIT
// Descriptions of devices: the embedded ones, and what the reader refuses.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kizami/predict.hpp"
#include "model/embedded.hpp"
#include "model/h200.hpp"

namespace kizami::model {
namespace {

/// The least description that is accepted.
const std::string kLeast = R"({
  "format": 1, "name": "card", "title": "A card", "compute_capability": "8.6",
  "sheet": {
    "sms": {"value": 10, "source": "a"}, "clock_ghz": {"value": 2, "source": "a"},
    "fp64_tflops": {"value": 0.5, "source": "a"}, "fp32_tflops": {"value": 20, "source": "a"},
    "int8_tops": {"value": 100, "source": "a+b", "uncertain": true, "range": [90, 110]},
    "bandwidth_tbs": {"value": 1, "source": "a"}, "l2_mb": {"value": 8, "source": "a"},
    "power_w": {"value": 300, "source": "a"}, "int32_per_sm_cycle": {"value": 64, "source": "a"}
  },
  "sources": {"a": "its sheet", "b": "another"}
})";

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string out = kLeast;
  const std::size_t at = out.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return out.replace(at, old_text.size(), new_text);
}

TEST(Device, AllEmbeddedFilesAreRead) {
  std::set<std::string> names;
  for (const EmbeddedFile& file : embedded_devices()) {
    const Result<Device> device = parse_device(file.text, file.name);
    ASSERT_TRUE(device.ok()) << device.status().reason();
    EXPECT_EQ(device.value().name + ".json", file.name);
    names.insert(device.value().name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"a100", "b200", "b300", "gb200", "gh200", "h100", "h200", "l40s", "rtx4090",
                                          "rtx4090_laptop", "rtx5080", "rtx5090", "rtxpro6000"}));
  EXPECT_EQ(known_devices().size(), names.size());
}

TEST(Device, NumbersAreThoseOfTheSheets) {
  const auto value = [](const char* name, Fact fact) { return find_device(name)->find_sheet(fact)->value; };
  EXPECT_EQ(value("h200", Fact::kBandwidthTbs), 4.8);
  EXPECT_EQ(value("h200", Fact::kInt8Tops), 1979);
  EXPECT_EQ(value("gb200", Fact::kInt8Tops), 5000);
  EXPECT_EQ(value("rtx5080", Fact::kFp64Tflops), 0.88);
  EXPECT_EQ(find_device("a100")->find_sheet(Fact::kFp8Tflops), nullptr);
  EXPECT_EQ(find_device("h200")->find_measured(Fact::kCopyTbs)->value, 4.3);
  EXPECT_EQ(find_device("gb200")->find_measured(Fact::kInt8Tops), nullptr);
}

/// Cost functions of engines take these.
TEST(Device, ConstantsOfTheH200AreThoseOfItsDescription) {
  const Device& card = *find_device("h200");
  EXPECT_EQ(card.find_sheet(Fact::kSms)->value, h200::kSms);
  EXPECT_EQ(card.find_measured(Fact::kLongProductClockGhz)->value * 1e9, h200::kLongProductHz);
  // The rate of the sheet is at 1.83 GHz, says the note of its clock on the H100's.
  const double macs = card.find_sheet(Fact::kInt8Tops)->value * 1e12 / 2 / h200::kSms / 1.83e9;
  EXPECT_NEAR(macs, h200::kInt8MacsPerSmCycle, 1e-3 * macs);
  EXPECT_EQ(h200::sms_or_own(0), h200::kSms);
  EXPECT_EQ(h200::sms_or_own(78), 78);
}

TEST(Device, IsFoundByItsNameAndByItsDriversName) {
  EXPECT_EQ(find_device("NVIDIA H200"), find_device("h200"));
  EXPECT_EQ(find_device("NVIDIA GeForce RTX 5090")->name, "rtx5090");
  EXPECT_EQ(find_device("NVIDIA H2000"), nullptr);
  EXPECT_EQ(find_device(""), nullptr);
}

TEST(Device, QuantitiesKeepWhatIsSaidOfThem) {
  const Result<Device> device = parse_device(kLeast, "card.json");
  ASSERT_TRUE(device.ok()) << device.status().reason();
  EXPECT_EQ(device.value().compute_capability, 86);
  const Quantity& int8 = *device.value().find_sheet(Fact::kInt8Tops);
  EXPECT_TRUE(int8.is_uncertain);
  EXPECT_EQ(int8.source, "a+b");
  EXPECT_EQ(int8.range, (std::pair<double, double>{90, 110}));
}

TEST(Device, RefusesByFileKeyValueAndLimit) {
  struct Case {
    std::string text;
    std::string says;
  };
  const Case cases[] = {
      {"{", "card.json: no JSON: "},
      {"[]", "card.json: description is no object"},
      {with("\"format\": 1", "\"format\": 2"), "card.json: format = 2, must be 1"},
      {with("\"name\": \"card\"", "\"name\": \"A Card\""), "name = \"A Card\", must be a word"},
      {with("\"8.6\"", "\"86\""), "compute_capability = \"86\", must be as \"9.0\""},
      {with("\"value\": 10,", "\"value\": -3,"), "sheet.sms.value = -3, must be a number above 0, at most 1000000"},
      {with("\"value\": 10,", "\"value\": \"10\","), "sheet.sms.value = \"10\", must be a number"},
      {with("\"value\": 10,", "\"value\": 1e9,"), "sheet.sms.value = 1000000000.0, must be a number above 0, at most"},
      {with("\"sms\"", "\"smz\""), "sheet.smz is unknown; allowed: sms, clock_ghz, "},
      {with("\"sms\": {\"value\": 10, \"source\": \"a\"},", ""), "sheet.sms is missing"},
      {with("\"value\": 10, \"source\": \"a\"", "\"value\": 10"), "sheet.sms.source is missing"},
      {with("\"a+b\"", "\"a+c\""), "sheet.int8_tops.source = \"a+c\": sources has no \"c\""},
      {with("[90, 110]", "[110, 120]"), "sheet.int8_tops.range = [110,120], must hold value = 100"},
      {with("\"uncertain\": true", "\"uncertain\": 1"), "sheet.int8_tops.uncertain = 1 is not understood"},
      {with("\"sources\"", "\"source\""), "source is unknown; allowed: format, name"},
      {with("\"range\": [90, 110]", "\"by_size\": [[2048, 5], [1024, 6]]"),
       "by_size = [[2048,5],[1024,6]], sizes must ascend"},
  };
  for (const Case& c : cases) {
    const Result<Device> device = parse_device(c.text, "card.json");
    ASSERT_FALSE(device.ok()) << c.says;
    EXPECT_EQ(device.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(device.status().reason().find(c.says), std::string::npos) << device.status().reason();
  }
}

}  // namespace
}  // namespace kizami::model
