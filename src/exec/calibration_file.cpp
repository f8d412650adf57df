// SPDX-License-Identifier: MIT
#include "exec/calibration_file.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

namespace kizami::exec {

std::string calibration_file(const std::string& name) {
  std::string folder;
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    folder = cache;
  } else if (const char* const home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    folder = std::string(home) + "/.cache";
  }
  return folder.empty() ? folder : folder + "/kizami/" + name;
}

std::string calibration_path_of(const std::string& key) {
  constexpr const char* kVersion = ".v1.json";
  return calibration_file("device-" + key + kVersion);
}

std::optional<model::Device> read_calibration(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Result<model::Device> device = model::parse_device(text, path);
  if (!device.ok()) return std::nullopt;
  return std::move(device).value();
}

}  // namespace kizami::exec
