// SPDX-License-Identifier: MIT
#include "hash_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "check/text.hpp"
#include "failure.hpp"
#include "output_file.hpp"

namespace kizami::cli {
namespace {

constexpr std::string_view kMagic = "kizami-hashes 1 ";

/// The next word of a line, which it is taken from.
std::string_view word_of(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <class N>
bool parse_number(std::string_view text, int base, N& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

template <class N>
bool parse_field(std::string_view word, std::string_view key, N& out) {
  return word.starts_with(key) && parse_number(word.substr(key.size()), 10, out);
}

}  // namespace

void write_hashes(const std::string& path, const HashFile& hashes) {
  std::string text =
      fmt::format("{}seed={} first={} count={}\n", kMagic, hashes.seed, hashes.first, hashes.records.size());
  std::int64_t index = hashes.first;
  for (const HashRecord& record : hashes.records) {
    fmt::format_to(std::back_inserter(text), "{} {:08x} {:016x} {}\n", index++, record.line, record.bits,
                   record.outcome);
  }
  OutputFile file(path, text.size());
  file.write(text);
  file.commit();
}

HashFile read_hashes(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Failure(ExitCode::kBadInput, fmt::format("--hashes = {} cannot be opened", in_quotes(path)));
  const auto refuse = [&](std::int64_t line, const char* what) {
    throw Failure(ExitCode::kBadInput, fmt::format("--hashes = {}, line {}: is not {}", in_quotes(path), line, what));
  };
  HashFile hashes;
  std::string text;
  std::getline(in, text);
  std::int64_t count = 0;
  std::string_view head = text;
  if (!head.starts_with(kMagic)) refuse(1, "'kizami-hashes 1 seed=S first=F count=N'");
  head.remove_prefix(kMagic.size());
  const bool is_head = parse_field(word_of(head), "seed=", hashes.seed) &&
                       parse_field(word_of(head), "first=", hashes.first) &&
                       parse_field(word_of(head), "count=", count);
  if (!is_head) refuse(1, "'kizami-hashes 1 seed=S first=F count=N'");
  while (std::getline(in, text)) {
    const auto number = static_cast<std::int64_t>(hashes.records.size());
    std::string_view rest = text;
    std::int64_t index = -1;
    HashRecord record;
    const bool is_record = parse_number(word_of(rest), 10, index) && index == hashes.first + number &&
                           parse_number(word_of(rest), 16, record.line) &&
                           parse_number(word_of(rest), 16, record.bits) && !rest.empty();
    if (!is_record) refuse(number + 2, "'INDEX HASH HASH OUTCOME' of the next case");
    record.outcome = rest;
    hashes.records.push_back(std::move(record));
  }
  if (in.bad() || static_cast<std::int64_t>(hashes.records.size()) != count)
    refuse(static_cast<std::int64_t>(hashes.records.size()) + 2, "the next case: the file is cut short or too long");
  return hashes;
}

}  // namespace kizami::cli
