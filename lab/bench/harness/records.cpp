// SPDX-License-Identifier: MIT
#include "harness/records.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace bench {

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

Records::Records(const std::string& path, std::FILE* otherwise)
    : path_(path), file_(path.empty() ? otherwise : std::fopen(path.c_str(), "a")) {
  if (file_ == nullptr && !path.empty())
    throw std::runtime_error("the file of records " + path + " cannot be opened: " + std::strerror(errno));
}

Records::~Records() {
  if (file_ != nullptr && !path_.empty()) std::fclose(file_);
}

void Records::write(const std::string& line) const {
  if (file_ == nullptr) return;
  const std::string text = line + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
    throw std::runtime_error("a record cannot be written: " + std::string(std::strerror(errno)));
}

}  // namespace bench
