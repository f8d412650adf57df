// SPDX-License-Identifier: MIT
// The files of devices/, as the build found them (CMakeLists.txt writes the source).
#pragma once

#include <span>
#include <string_view>

namespace kizami::model {

struct EmbeddedFile {
  std::string_view name;  ///< "h200.json"
  std::string_view text;
};
[[nodiscard]] std::span<const EmbeddedFile> embedded_devices();

}  // namespace kizami::model
