// SPDX-License-Identifier: MIT
#include "matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

#include "check/text.hpp"

namespace kizami::cli {
namespace {

using check::invalid;

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int64_t>::max();
/// "row col real imag"; a line with more is refused, however long it is.
constexpr std::size_t kMaxTokens = 5;
/// A digit and the end of its line: what any number takes at least. The last line may lack its end.
constexpr std::size_t kLeastNumberBytes = 2;

constexpr std::array<std::string_view, 2> kFormats{"array", "coordinate"};
constexpr std::array<std::string_view, 3> kFields{"real", "integer", "complex"};
constexpr std::array<std::string_view, 4> kSymmetries{"general", "symmetric", "skew-symmetric", "hermitian"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same_word(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](char p, char q) { return lower(p) == lower(q); });
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

struct Tokens {
  std::array<std::string_view, kMaxTokens> word;
  std::size_t count = 0;  ///< at most kMaxTokens, although the line may hold more
};

Tokens tokens_of(std::string_view line) {
  Tokens out;
  std::size_t at = 0;
  while (out.count < kMaxTokens) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size()) break;
    const std::size_t begin = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    out.word[out.count++] = line.substr(begin, at - begin);
  }
  return out;
}

/// Walks through a text line by line.
class Lines {
 public:
  Lines(std::string_view text, std::size_t offset, std::int64_t first_line)
      : text_(text), next_(offset), next_line_(first_line) {}

  /// The tokens of the next line that is neither blank nor a comment; none at the end of the text.
  Tokens next() {
    while (next_ < text_.size()) {
      const std::size_t length = std::min(text_.find('\n', next_), text_.size()) - next_;
      const Tokens tokens = tokens_of(text_.substr(next_, length));
      next_ = std::min(next_ + length + 1, text_.size());
      line_ = next_line_++;
      if (tokens.count > 0 && tokens.word[0].front() != '%') return tokens;
    }
    return {};
  }
  [[nodiscard]] std::size_t offset() const { return next_; }
  [[nodiscard]] std::int64_t next_line() const { return next_line_; }
  [[nodiscard]] Status error(std::string_view what) const { return invalid(fmt::format("line {}: {}", line_, what)); }

 private:
  std::string_view text_;
  std::size_t next_;
  std::int64_t next_line_;
  std::int64_t line_ = 1;
};

/// The place of `word` in a list of names, which are the enumerators of E.
template <class E, std::size_t N>
Status named(std::string_view what, std::string_view word, const std::array<std::string_view, N>& names, E& out) {
  for (std::size_t i = 0; i < N; ++i) {
    if (is_same_word(word, names[i])) return out = static_cast<E>(i), Status{};
  }
  return invalid(fmt::format("line 1: {} = {}, must be {}", what, in_quotes(word), fmt::join(names, ", ")));
}

Status parse_banner(const Tokens& tokens, MarketHeader& out) {
  if (tokens.count != 5) {
    return invalid("line 1: the banner must be %%MatrixMarket matrix, then format, field and symmetry");
  }
  if (!is_same_word(tokens.word[0], kMarketMagic)) {
    return invalid(
        fmt::format("line 1: the banner begins with {}, must be {}", in_quotes(tokens.word[0]), kMarketMagic));
  }
  if (!is_same_word(tokens.word[1], "matrix")) {
    return invalid(fmt::format("line 1: object = {}, must be matrix", in_quotes(tokens.word[1])));
  }
  KIZAMI_RETURN_IF_ERROR(named("format", tokens.word[2], kFormats, out.format));
  if (is_same_word(tokens.word[3], "pattern")) {
    return invalid("line 1: field = pattern: the file holds places, but no values to multiply");
  }
  KIZAMI_RETURN_IF_ERROR(named("field", tokens.word[3], kFields, out.field));
  KIZAMI_RETURN_IF_ERROR(named("symmetry", tokens.word[4], kSymmetries, out.symmetry));
  if (out.symmetry == MarketSymmetry::kHermitian && !out.is_complex()) {
    return invalid("line 1: symmetry = hermitian, but the field is not complex: must be symmetric");
  }
  return {};
}

std::string_view symmetry_name(const MarketHeader& header) {
  return kSymmetries[static_cast<std::size_t>(header.symmetry)];
}

/// Values of an array file: those on and below the diagonal, unless it is general. @range rows * cols fits
std::int64_t num_stored(const MarketHeader& header) {
  const std::int64_t n = header.rows;
  switch (header.symmetry) {
    case MarketSymmetry::kGeneral:
      return n * header.cols;
    case MarketSymmetry::kSkewSymmetric:
      return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    default:
      return n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
  }
}

Status parse_size(const Lines& lines, const Tokens& tokens, MarketHeader& out) {
  const bool is_array = out.format == MarketFormat::kArray;
  const std::size_t expected = is_array ? 2 : 3;
  if (tokens.count == 0) return invalid("the file ends before the size line");
  if (tokens.count != expected) {
    return lines.error(fmt::format("the size line must be \"rows cols{}\"", is_array ? "" : " entries"));
  }
  const std::array<std::int64_t*, 3> targets{&out.rows, &out.cols, &out.entries};
  for (std::size_t i = 0; i < expected; ++i) {
    const Result<std::int64_t> value = check::parse_integer(tokens.word[i], 0, kMaxIndex);
    if (!value.ok()) return lines.error(value.status().reason());
    *targets[i] = value.value();
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(out.rows, out.cols, &bytes) ||
      __builtin_mul_overflow(bytes, out.is_complex() ? 16 : 8, &bytes)) {
    return lines.error(fmt::format("{} x {} elements are more than memory has addresses", out.rows, out.cols));
  }
  if (out.symmetry != MarketSymmetry::kGeneral && out.rows != out.cols) {
    return lines.error(fmt::format("{} x {}, but a {} matrix must be square", out.rows, out.cols, symmetry_name(out)));
  }
  if (is_array) out.entries = num_stored(out);
  return {};
}

/// Refuses more entries than the rest of the text can hold: the guard of every later allocation.
Status check_length(const Lines& lines, std::size_t num_bytes, const MarketHeader& header) {
  const std::size_t numbers = (header.is_complex() ? 2U : 1U) + (header.format == MarketFormat::kCoordinate ? 2U : 0U);
  const std::size_t most = (num_bytes - lines.offset() + 1) / (kLeastNumberBytes * numbers);
  if (static_cast<std::uint64_t>(header.entries) <= most) return {};
  return lines.error(fmt::format("truncated: {} entries are announced, but the {} bytes that follow hold at most {}",
                                 header.entries, num_bytes - lines.offset(), most));
}

/// std::from_chars() knows no plus sign.
std::string_view without_plus(std::string_view text) {
  return text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
}

Status read_real(std::string_view text, double& out) {
  const std::string_view digits = without_plus(text);
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, out);
  if (error == std::errc::invalid_argument || stop != end)
    return invalid(fmt::format("{} is not a number", in_quotes(text)));
  if (error == std::errc::result_out_of_range)
    return invalid(fmt::format("{} is outside the range of FP64", in_quotes(text)));
  return {};
}

/// An integer that FP64 holds exactly.
Status read_integer(std::string_view text, double& out) {
  const std::string_view digits = without_plus(text);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end)
    return invalid(fmt::format("{} is not an integer, as the field says", in_quotes(text)));
  out = static_cast<double>(value);
  // 2^63 itself has no std::int64_t to compare with.
  if (error == std::errc::result_out_of_range || out >= 0x1p63 || static_cast<std::int64_t>(out) != value) {
    return invalid(fmt::format("{} is not exact in FP64; integers to 2^53 are", in_quotes(text)));
  }
  return {};
}

struct Entry {
  std::int64_t row = 0;  ///< from 0
  std::int64_t col = 0;
  double real = 0;
  double imag = 0;
};

/// Reads the values behind the header, and puts them where they belong.
class Reader {
 public:
  Reader(std::string_view text, const MarketHeader& header, std::span<double> out)
      : header_(header), lines_(text, header.data_offset, header.data_line), out_(out) {}

  Status run() {
    const bool is_array = header_.format == MarketFormat::kArray;
    Entry entry{first_row(0), 0, 0, 0};
    for (std::int64_t i = 0; i < header_.entries; ++i) {
      const Tokens tokens = lines_.next();
      if (tokens.count == 0) {
        return invalid(fmt::format("truncated: the file ends after {} of {} entries", i, header_.entries));
      }
      if (is_array) {
        if (i > 0) advance(entry);
      } else {
        KIZAMI_RETURN_IF_ERROR(read_place(tokens, entry));
      }
      KIZAMI_RETURN_IF_ERROR(read_value(tokens, is_array ? 0 : 2, entry));
      KIZAMI_RETURN_IF_ERROR(check_diagonal(entry));
      store(entry);
    }
    if (lines_.next().count == 0) return {};
    return lines_.error(fmt::format("unexpected text behind the last of {} entries", header_.entries));
  }

 private:
  [[nodiscard]] std::int64_t first_row(std::int64_t col) const {
    if (header_.symmetry == MarketSymmetry::kGeneral) return 0;
    return header_.symmetry == MarketSymmetry::kSkewSymmetric ? col + 1 : col;
  }

  void advance(Entry& entry) const {
    if (++entry.row < header_.rows) return;
    entry.row = first_row(++entry.col);
  }

  Status read_place(const Tokens& tokens, Entry& entry) const {
    if (tokens.count < 2) return lines_.error("no place: must be \"row col value\"");
    KIZAMI_RETURN_IF_ERROR(read_index("row", tokens.word[0], header_.rows, entry.row));
    KIZAMI_RETURN_IF_ERROR(read_index("column", tokens.word[1], header_.cols, entry.col));
    if (header_.symmetry == MarketSymmetry::kGeneral || entry.row >= first_row(entry.col)) return {};
    const bool is_skew = header_.symmetry == MarketSymmetry::kSkewSymmetric;
    return lines_.error(fmt::format("({}, {}) is {} the diagonal: a {} file holds the lower triangle only",
                                    entry.row + 1, entry.col + 1, is_skew ? "not below" : "above",
                                    symmetry_name(header_)));
  }

  Status read_index(std::string_view what, std::string_view text, std::int64_t limit, std::int64_t& out) const {
    const Result<std::int64_t> index = check::parse_integer(text, 1, limit);
    if (!index.ok()) return lines_.error(fmt::format("{} {}", what, index.status().reason()));
    out = index.value() - 1;
    return {};
  }

  Status read_value(const Tokens& tokens, std::size_t at, Entry& entry) const {
    const std::size_t expected = at + (header_.is_complex() ? 2 : 1);
    if (tokens.count != expected) {
      return lines_.error(fmt::format("{} than the {} an entry has", tokens.count < expected ? "fewer" : "more",
                                      expected == 1 ? "one number" : fmt::format("{} numbers", expected)));
    }
    Status status = header_.field == MarketField::kInteger ? read_integer(tokens.word[at], entry.real)
                                                           : read_real(tokens.word[at], entry.real);
    if (status.ok() && header_.is_complex()) status = read_real(tokens.word[at + 1], entry.imag);
    return status.ok() ? status : lines_.error(status.reason());
  }

  [[nodiscard]] Status check_diagonal(const Entry& entry) const {
    if (header_.symmetry != MarketSymmetry::kHermitian || entry.row != entry.col || entry.imag == 0) return {};
    return lines_.error(fmt::format("({}, {}) has the imaginary part {}, must be 0: the matrix is hermitian",
                                    entry.row + 1, entry.col + 1, check::print_real(entry.imag)));
  }

  void store(const Entry& entry) {
    add(entry.row, entry.col, entry.real, entry.imag);
    if (header_.symmetry == MarketSymmetry::kGeneral || entry.row == entry.col) return;
    const bool is_skew = header_.symmetry == MarketSymmetry::kSkewSymmetric;
    const bool is_hermitian = header_.symmetry == MarketSymmetry::kHermitian;
    add(entry.col, entry.row, is_skew ? -entry.real : entry.real, is_skew || is_hermitian ? -entry.imag : entry.imag);
  }

  void add(std::int64_t row, std::int64_t col, double real, double imag) {
    const auto at = static_cast<std::size_t>(col * header_.rows + row);
    if (header_.is_complex()) {
      accumulate(out_[2 * at], real);
      accumulate(out_[2 * at + 1], imag);
    } else {
      accumulate(out_[at], real);
    }
  }

  /// The first value of a place keeps the sign of its zero.
  static void accumulate(double& sum, double value) { sum = sum == 0 ? value : sum + value; }

  MarketHeader header_;
  Lines lines_;
  std::span<double> out_;
};

}  // namespace

bool is_matrix_market(std::string_view start) noexcept {
  return is_same_word(start.substr(0, kMarketMagic.size()), kMarketMagic);
}

Result<MarketHeader> parse_market_header(std::string_view text) {
  if (!is_matrix_market(text)) return invalid("not a Matrix Market file: it does not begin with %%MatrixMarket");
  MarketHeader out;
  const std::size_t banner_end = std::min(text.find('\n'), text.size());
  KIZAMI_RETURN_IF_ERROR(parse_banner(tokens_of(text.substr(0, banner_end)), out));
  Lines lines(text, std::min(banner_end + 1, text.size()), 2);
  KIZAMI_RETURN_IF_ERROR(parse_size(lines, lines.next(), out));
  KIZAMI_RETURN_IF_ERROR(check_length(lines, text.size(), out));
  out.data_offset = lines.offset();
  out.data_line = lines.next_line();
  return out;
}

Status read_market_values(std::string_view text, const MarketHeader& header, std::span<double> out) {
  return Reader(text, header, out).run();
}

std::string make_market_header(bool is_complex, std::int64_t rows, std::int64_t cols) {
  return fmt::format("{} matrix array {} general\n{} {}\n", kMarketMagic, is_complex ? "complex" : "real", rows, cols);
}

void append_market_value(std::string& text, double value) { (text += check::print_real(value)) += '\n'; }

void append_market_value(std::string& text, double real, double imag) {
  ((text += check::print_real(real)) += ' ') += check::print_real(imag);
  text += '\n';
}

}  // namespace kizami::cli
