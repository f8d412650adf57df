// SPDX-License-Identifier: MIT
// A target that fails on one input in many: the test of the driver itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kizami::fuzz::require(text.find("!") == std::string_view::npos || text.find("seed") == std::string_view::npos,
                        "the planted bug is not reached");
  return 0;
}
