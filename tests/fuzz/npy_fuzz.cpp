// SPDX-License-Identifier: MIT
// The reader of .npy headers. The input is a file.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "npy.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kizami::fuzz::require;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const std::string_view start = file.substr(0, kizami::cli::kMaxNpyStartBytes);
  const kizami::Result<kizami::cli::NpyHeader> parsed = kizami::cli::parse_npy_header(start, size);
  if (!parsed.ok()) {
    require(!parsed.status().reason().empty(), "a refusal has a reason");
    return 0;
  }
  const kizami::cli::NpyHeader& header = parsed.value();
  require(header.batch >= 0 && header.rows >= 0 && header.cols >= 0, "no dimension is negative");
  require(header.is_batch || header.batch == 1, "two dimensions are a batch of one");
  require(header.data_offset + header.data_bytes == size, "the data end with the file");
  // No product overflows: the reader compared it with the size of the file.
  const std::int64_t elems = header.rows * header.cols * header.batch;
  require(static_cast<std::uint64_t>(elems * size_bytes(header.scalar)) == header.data_bytes,
          "the shape fills the data");

  const std::array<std::int64_t, 3> shape{header.batch, header.rows, header.cols};
  const std::string text =
      kizami::cli::make_npy_header(header.scalar, std::span(shape).subspan(header.is_batch ? 0 : 1));
  const auto again = kizami::cli::parse_npy_header(text, text.size() + header.data_bytes);
  require(again.ok(), "what is written can be read");
  require(again.value().batch == header.batch && again.value().rows == header.rows &&
              again.value().cols == header.cols && again.value().scalar == header.scalar &&
              again.value().is_batch == header.is_batch,
          "what is written reads as the same shape and type");
  return 0;
}
