// SPDX-License-Identifier: MIT
// What is printed of a description is read as the same one.
#include "model/print.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace kizami::model {
namespace {

TEST(PrintDevice, IsReadAsTheSame) {
  for (const Device& device : known_devices()) {
    const std::string text = print_device(device);
    const Result<Device> again = parse_device(text, device.name);
    ASSERT_TRUE(again.ok()) << again.status().reason();
    EXPECT_EQ(print_device(again.value()), text);
    EXPECT_EQ(again.value().title, device.title);
    EXPECT_EQ(again.value().driver_names, device.driver_names);
    for (std::size_t f = 0; f < kNumFacts; ++f) {
      for (const auto& [was, is] :
           {std::pair(device.sheet[f], again.value().sheet[f]), {device.measured[f], again.value().measured[f]}}) {
        ASSERT_EQ(was.has_value(), is.has_value()) << device.name << " " << Names<Fact>::kAll[f];
        if (!was) continue;
        EXPECT_EQ(was->value, is->value);
        EXPECT_EQ(was->by_size, is->by_size);
        EXPECT_EQ(was->range, is->range);
        EXPECT_EQ(was->is_uncertain, is->is_uncertain);
      }
    }
  }
}

}  // namespace
}  // namespace kizami::model
