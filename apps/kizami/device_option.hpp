// SPDX-License-Identifier: MIT
// --device [N], as gemm, plan, check and bench have it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kizami::cli {

/// Whether a device was asked for, and which one of this machine.
struct DeviceOption {
  static constexpr const char* kCurrent = "N";  // what the help shows: --device{N}
  std::string word;                             ///< empty: not given

  [[nodiscard]] bool is_given() const { return !word.empty(); }
  /// Empty: the current one.
  [[nodiscard]] std::string number() const { return word == kCurrent ? "" : word; }
};

/// Adds the option. @range `option` outlives the parse
void add_device_option(CLI::App& app, DeviceOption& option, const std::string& help);

/// The words of a command line, "--device" and the number behind it as one: CLI11 would take the number for the next
/// positional argument, or the next positional argument for the number. Three numbers behind --device are plan's M N K.
[[nodiscard]] std::vector<std::string> with_device_numbers(std::vector<std::string> words);

/// Makes it the current device of this thread, where a number is given. Throws Failure kUsage: no number of a device;
/// else as device.hpp says.
void use_device(const DeviceOption& option);

}  // namespace kizami::cli
