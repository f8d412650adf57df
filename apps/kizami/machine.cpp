// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <fstream>
#include <sstream>

#include "kizami/kizami.hpp"
#include "kizami/text.hpp"

namespace kizami::cli {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::vector<std::pair<std::string, std::string>> machine_facts() {
  std::vector<std::pair<std::string, std::string>> out;
  std::istringstream report(machine_report());
  for (std::string line; std::getline(report, line);) {
    const std::size_t blank = line.find("  ");
    if (blank == std::string::npos) continue;
    const std::size_t value = line.find_first_not_of(' ', blank);
    out.emplace_back(line.substr(0, blank), value == std::string::npos ? "" : line.substr(value));
  }
  return out;
}

int default_threads() {
  int threads = 1;
  for (const auto& [name, value] : machine_facts()) {
    if (name == "threads") static_cast<void>(parse_integer(value, 1, kMaxThreads, threads));
  }
  return threads;
}

}  // namespace kizami::cli
