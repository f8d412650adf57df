// SPDX-License-Identifier: MIT
// What a program's file says of how it is linked: enough to tell why a preloaded library is not heard of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kizami::cli {

struct ElfFile {
  bool is_native = false;   ///< 64 bits, of this processor
  bool is_dynamic = false;  ///< the loader starts it, and preloads
  std::vector<std::string> needed;
  std::vector<std::string> defined;    ///< functions, of both tables of symbols
  std::vector<std::string> undefined;  ///< that it asks others for
};

/// Reads at most 1 GiB. @return nothing if there is no such file, or it is none of that format, or is damaged
[[nodiscard]] std::optional<ElfFile> read_elf(const std::string& path);

}  // namespace kizami::cli
