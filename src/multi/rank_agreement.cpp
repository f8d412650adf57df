// SPDX-License-Identifier: MIT
#include "multi/rank_agreement.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace kizami::multi {
namespace {

/// A status as bytes that all ranks have.
struct ToldStatus {
  std::int32_t code = 0;
  std::int32_t length = 0;
  std::array<char, 1016> reason{};
};

}  // namespace

Status Agreement::known(Status status) {
  if (!status.ok()) is_over_ = true;
  return status;
}

Status Agreement::agree(const Status& mine) {
  // The first rank that failed has the largest number.
  std::int64_t failed = mine.ok() ? 0 : size() - rank();
  KIZAMI_RETURN_IF_ERROR(known(ranks_.all_reduce(Reduction::kMax, {&failed, 1})));
  if (failed == 0) return {};
  is_over_ = true;
  const int root = size() - static_cast<int>(failed);
  ToldStatus told;
  if (rank() == root) {
    told.code = static_cast<std::int32_t>(mine.code());
    const std::size_t length = std::min(mine.reason().size(), told.reason.size());
    told.length = static_cast<std::int32_t>(length);
    std::copy_n(mine.reason().begin(), length, told.reason.begin());
  }
  KIZAMI_RETURN_IF_ERROR(ranks_.broadcast(std::as_writable_bytes(std::span(&told, 1)), root));
  return {
      static_cast<StatusCode>(told.code),
      "rank " + std::to_string(root) + ": " + std::string(told.reason.data(), static_cast<std::size_t>(told.length))};
}

Status Agreement::close(const Status& mine) { return is_over_ ? mine : agree(mine); }

Status Agreement::reduce(Reduction reduction, std::span<std::int64_t> values) {
  KIZAMI_RETURN_IF_ERROR(agree({}));
  if (values.empty()) return {};
  return known(ranks_.all_reduce(reduction, values));
}

Status Agreement::require_equal(std::span<const Fact> facts) {
  std::vector<std::int64_t> bounds;  // the largest, and the complement of the smallest
  for (const Fact& fact : facts) {
    bounds.push_back(fact.value);
    bounds.push_back(~fact.value);
  }
  KIZAMI_RETURN_IF_ERROR(max(bounds));
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::int64_t most = bounds[2 * i];
    const std::int64_t least = ~bounds[2 * i + 1];
    if (most == least) continue;
    const std::string range =
        facts[i].is_shown ? ", from " + std::to_string(least) + " to " + std::to_string(most) : std::string();
    return known({StatusCode::kInvalidArgument,
                  std::string(facts[i].name) + " differs between ranks" + range + ", must be equal on all"});
  }
  return {};
}

Status Agreement::gather(std::span<const std::vector<Rect>> mine, std::span<RectTable> tables) {
  const auto ranks = static_cast<std::size_t>(size());
  const auto me = static_cast<std::size_t>(rank());
  std::vector<std::int64_t> counts(ranks * mine.size());
  for (std::size_t list = 0; list < mine.size(); ++list)
    counts[list * ranks + me] = static_cast<std::int64_t>(mine[list].size());
  KIZAMI_RETURN_IF_ERROR(sum(counts));
  // One list behind another, in each the rectangles of one rank behind those of another.
  std::vector<std::int64_t> values(
      4 * static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
  std::size_t at = 0;
  for (std::size_t list = 0; list < mine.size(); ++list) {
    std::vector<std::size_t>& first = tables[list].first;
    first = {0};
    for (std::size_t r = 0; r < ranks; ++r)
      first.push_back(first.back() + static_cast<std::size_t>(counts[list * ranks + r]));
    std::size_t here = at + 4 * first[me];
    for (const Rect& rect : mine[list]) {
      for (const std::int64_t number : {rect.row, rect.col, rect.rows, rect.cols}) values[here++] = number;
    }
    at += 4 * first.back();
  }
  KIZAMI_RETURN_IF_ERROR(sum(values));
  at = 0;
  for (RectTable& table : tables) {
    table.rects.clear();
    for (std::size_t i = 0; i < table.first.back(); ++i, at += 4)
      table.rects.push_back({values[at], values[at + 1], values[at + 2], values[at + 3]});
  }
  return {};
}

}  // namespace kizami::multi
