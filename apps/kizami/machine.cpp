// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <fstream>

namespace kizami::cli {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace kizami::cli
