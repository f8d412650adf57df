// SPDX-License-Identifier: MIT
#include "python_literal.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <system_error>

namespace kizami::cli {
namespace {

using Kind = PythonLiteral::Kind;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PythonLiteral> whole() {
    PythonLiteral out;
    KIZAMI_RETURN_IF_ERROR(value(out, 0));
    skip_blanks();
    if (pos_ != text_.size()) return error("unexpected text after the value");
    return out;
  }

 private:
  Status error(std::string_view what) const {
    return {StatusCode::kInvalidArgument, fmt::format("{} at byte {}", what, pos_)};
  }
  void skip_blanks() {
    while (pos_ < text_.size() && is_blank(text_[pos_])) ++pos_;
  }
  /// The next character that is no blank, or '\0' at the end.
  char peek() {
    skip_blanks();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || pos_ == text_.size()) return false;
    ++pos_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(pos_).starts_with(word)) return false;
    pos_ += word.size();
    return true;
  }

  Status value(PythonLiteral& out, int depth) {
    if (depth > kMaxLiteralDepth) return error(fmt::format("values nested deeper than {}", kMaxLiteralDepth));
    const char c = peek();
    if (pos_ == text_.size()) return error("unexpected end");
    if (c == '\'' || c == '"') return string(out);
    if (c == '-' || is_digit(c)) return integer(out);
    if (take('{')) return dict(out, depth);
    if (take('(')) return sequence(out, ')', depth);
    if (take('[')) return sequence(out, ']', depth);
    if (take_word("None")) return {};
    out.kind = Kind::kBool;
    out.boolean = take_word("True");
    if (out.boolean || take_word("False")) return {};
    return error("not a value");
  }

  Status string(PythonLiteral& out) {
    const char quote = text_[pos_++];
    out.kind = Kind::kString;
    while (pos_ < text_.size() && text_[pos_] != quote) {
      if (text_[pos_] == '\\' && pos_ + 1 < text_.size())
        ++pos_;  // kept as it is: no name that matters needs an escape
      out.string += text_[pos_++];
    }
    if (pos_ == text_.size()) return error("unclosed string");
    ++pos_;
    return {};
  }

  Status integer(PythonLiteral& out) {
    const std::size_t start = pos_;
    if (text_[pos_] == '-') ++pos_;
    while (pos_ < text_.size() && is_digit(text_[pos_])) ++pos_;
    const auto [end, errc] = std::from_chars(text_.data() + start, text_.data() + pos_, out.integer);
    if (errc == std::errc::result_out_of_range) return error("integer beyond 64 bits");
    if (errc != std::errc{} || end != text_.data() + pos_) return error("not an integer");
    if (pos_ < text_.size() && text_[pos_] == 'L') ++pos_;  // Python 2 wrote long integers so
    out.kind = Kind::kInt;
    return {};
  }

  /// A tuple or list after its opening bracket. "(x)" is x.
  Status sequence(PythonLiteral& out, char closing, int depth) {
    out.kind = Kind::kSequence;
    bool has_comma = false;
    while (!take(closing)) {
      if (!out.items.empty() && !has_comma) return error("missing comma or closing bracket");
      KIZAMI_RETURN_IF_ERROR(value(out.items.emplace_back(), depth + 1));
      has_comma = take(',');
    }
    if (closing == ')' && out.items.size() == 1 && !has_comma) {
      PythonLiteral inner = std::move(out.items.front());
      out = std::move(inner);
    }
    return {};
  }

  Status dict(PythonLiteral& out, int depth) {
    out.kind = Kind::kDict;
    bool has_comma = false;
    while (!take('}')) {
      if (!out.items.empty() && !has_comma) return error("missing comma or closing brace");
      KIZAMI_RETURN_IF_ERROR(value(out.items.emplace_back(), depth + 1));
      if (!take(':')) return error("missing colon");
      KIZAMI_RETURN_IF_ERROR(value(out.items.emplace_back(), depth + 1));
      has_comma = take(',');
    }
    return {};
  }

  std::string_view text_;
  std::size_t pos_ = 0;
};

}  // namespace

Result<PythonLiteral> parse_python_literal(std::string_view text) { return Parser(text).whole(); }

}  // namespace kizami::cli
