// SPDX-License-Identifier: MIT
// The reader of Matrix Market files, and its writer. The input is a file.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "matrix_market.hpp"
#include "require.hpp"

namespace {

using kizami::cli::MarketHeader;
using kizami::fuzz::require;

/// Sparse files may claim any shape; larger ones than this are not filled.
constexpr std::int64_t kMaxElems = 1 << 14;

std::string written(const MarketHeader& header, const std::vector<double>& values) {
  std::string text = kizami::cli::make_market_header(header.is_complex(), header.rows, header.cols);
  for (std::size_t i = 0; i < values.size(); i += header.is_complex() ? 2 : 1) {
    if (header.is_complex()) {
      kizami::cli::append_market_value(text, values[i], values[i + 1]);
    } else {
      kizami::cli::append_market_value(text, values[i]);
    }
  }
  return text;
}

bool is_same(double x, double y) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const kizami::Result<MarketHeader> parsed = kizami::cli::parse_market_header(file);
  if (!parsed.ok()) {
    require(!parsed.status().reason().empty(), "a refusal has a reason");
    return 0;
  }
  const MarketHeader& header = parsed.value();
  require(header.rows >= 0 && header.cols >= 0 && header.entries >= 0, "no dimension is negative");
  require(header.data_offset <= size, "the header ends within the file");
  require(static_cast<std::uint64_t>(header.entries) <= size, "the file can hold the entries");
  const std::int64_t elems = header.rows * header.cols;  // does not overflow: the reader has looked
  if (elems > kMaxElems) return 0;

  std::vector<double> values(static_cast<std::size_t>(elems * (header.is_complex() ? 2 : 1)));
  const kizami::Status status = kizami::cli::read_market_values(file, header, values);
  if (!status.ok()) {
    require(!status.reason().empty(), "a refusal has a reason");
    return 0;
  }
  const std::string text = written(header, values);
  const kizami::Result<MarketHeader> again = kizami::cli::parse_market_header(text);
  require(again.ok(), "what is written can be read");
  require(again.value().rows == header.rows && again.value().cols == header.cols, "it has the same shape");
  std::vector<double> copy(values.size());
  require(kizami::cli::read_market_values(text, again.value(), copy).ok(), "its values can be read");
  for (std::size_t i = 0; i < values.size(); ++i) require(is_same(copy[i], values[i]), "they are the same bits");
  return 0;
}
