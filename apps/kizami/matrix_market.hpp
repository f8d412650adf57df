// SPDX-License-Identifier: MIT
// The Matrix Market format: text <-> a dense matrix of FP64 or complex FP64.
//   %%MatrixMarket matrix array|coordinate real|integer|complex general|symmetric|skew-symmetric|hermitian
//   % comments, blank lines
//   rows cols                        array: then one value a line, column by column
//   rows cols entries                coordinate: then one "row col value" a line, from 1
// All but general hold the lower triangle only, skew-symmetric without the diagonal. Coordinate entries of one place
// are added in FP64 in the order of the file. A complex value is two numbers.
// Input is hostile: nothing is read beyond the text, and what a file claims is compared with its length before anything
// is allocated. Refusals name line, value and limit. Format: NIST, "The Matrix Market Exchange Formats".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kizami/status.hpp"

namespace kizami::cli {

/// What every file begins with, in upper or lower case.
inline constexpr std::string_view kMarketMagic = "%%MatrixMarket";
[[nodiscard]] bool is_matrix_market(std::string_view start) noexcept;

enum class MarketFormat : std::uint8_t { kArray, kCoordinate };
enum class MarketField : std::uint8_t { kReal, kInteger, kComplex };
enum class MarketSymmetry : std::uint8_t { kGeneral, kSymmetric, kSkewSymmetric, kHermitian };

/// What the banner and the size line say.
struct MarketHeader {
  MarketFormat format = MarketFormat::kArray;
  MarketField field = MarketField::kReal;
  MarketSymmetry symmetry = MarketSymmetry::kGeneral;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;     ///< lines of values
  std::size_t data_offset = 0;  ///< of the first byte behind the size line
  std::int64_t data_line = 1;   ///< number of the line that begins there, from 1

  [[nodiscard]] constexpr bool is_complex() const noexcept { return field == MarketField::kComplex; }
};

/// Parses the banner and the size line.
/// @range  text: the whole file
/// @status kInvalidArgument: malformed, pattern, more elements than memory has addresses, or more entries than the rest
///         of the text can hold. The dense matrix of a coordinate file may be larger than any memory: that is left to
///         the caller.
[[nodiscard]] Result<MarketHeader> parse_market_header(std::string_view text);

/// Reads the values behind the header into a dense matrix.
/// @shape  out: rows x cols, column by column; complex values as two doubles
/// @range  out: all +0 on entry; text: as given to parse_market_header()
/// @exact  decimals are rounded to nearest, integers that are no FP64 number are refused
/// @status kInvalidArgument: malformed, an index out of range, too few or too many values
[[nodiscard]] Status read_market_values(std::string_view text, const MarketHeader& header, std::span<double> out);

/// Banner and size line of a general array file.
[[nodiscard]] std::string make_market_header(bool is_complex, std::int64_t rows, std::int64_t cols);
/// Appends one line of an array file: the shortest decimals that read back as the same bits; every NaN is "nan".
void append_market_value(std::string& text, double value);
void append_market_value(std::string& text, double real, double imag);

}  // namespace kizami::cli
