// SPDX-License-Identifier: MIT
// The grammar of cases. The input is one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check/case.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kizami::fuzz::require;
  const kizami::Result<kizami::check::Case> parsed =
      kizami::check::parse_case({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) {
    require(!parsed.status().reason().empty(), "a refusal has a reason");
    return 0;
  }
  const std::string line = kizami::check::print(parsed.value());
  const kizami::Result<kizami::check::Case> again = kizami::check::parse_case(line);
  require(again.ok(), "what is printed parses");
  require(again.value() == parsed.value(), "it parses to the same case");
  require(kizami::check::print(again.value()) == line, "it prints the same line");
  return 0;
}
