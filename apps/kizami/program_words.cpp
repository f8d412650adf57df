// SPDX-License-Identifier: MIT
#include "program_words.hpp"

#include <string_view>

namespace kizami::cli {
namespace {

std::vector<std::string>& words() {
  static std::vector<std::string> taken;
  return taken;
}

}  // namespace

const std::vector<std::string>& program_words() { return words(); }

int take_program_words(int argc, char** argv) {
  words().clear();
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command != "run" && command != "audit") return argc;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    words().assign(argv + i + 1, argv + argc);
    return i;
  }
  return argc;
}

}  // namespace kizami::cli
