// SPDX-License-Identifier: MIT
#include "device_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "device.hpp"
#include "options.hpp"

namespace kizami::cli {
namespace {

constexpr std::string_view kOption = "--device";
constexpr int kMaxDevice = 1023;

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void add_device_option(CLI::App& app, DeviceOption& option, const std::string& help) {
  app.add_flag(fmt::format("{}{{{}}}", kOption, DeviceOption::kCurrent), option.word,
               help + ", or on device N of this machine");
}

std::vector<std::string> with_device_numbers(std::vector<std::string> words) {
  if (words.size() > 1 && words[1] == "predict") return words;  // whose option takes names, too
  for (std::size_t i = 2; i + 1 < words.size() && words[i] != "--"; ++i) {
    if (words[i] != kOption) continue;
    std::size_t numbers = 0;
    while (i + 1 + numbers < words.size() && is_number(words[i + 1 + numbers])) ++numbers;
    if (numbers == 0 || (words[1] == "plan" && numbers == 3)) continue;
    words[i] += "=" + words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return words;
}

void use_device(const DeviceOption& option) {
  const std::string number = option.number();
  if (!number.empty()) use_device(static_cast<int>(integer_option(kOption, number, 0, kMaxDevice)));
}

}  // namespace kizami::cli
