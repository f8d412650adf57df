// SPDX-License-Identifier: MIT
#include "multi/rank_agreement.hpp"

#include <algorithm>
#include <array>
#include <cstring>
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
  return {static_cast<StatusCode>(told.code),
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

Status Agreement::gather(std::span<const Rect> mine, RectTable& table) {
  const auto ranks = static_cast<std::size_t>(size());
  const auto me = static_cast<std::size_t>(rank());
  std::vector<std::int64_t> counts(ranks);
  counts[me] = static_cast<std::int64_t>(mine.size());
  KIZAMI_RETURN_IF_ERROR(sum(counts));
  table.first.assign(ranks + 1, 0);
  for (std::size_t r = 0; r < ranks; ++r) table.first[r + 1] = table.first[r] + static_cast<std::size_t>(counts[r]);
  std::vector<std::int64_t> values(4 * table.first[ranks]);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const std::size_t at = 4 * (table.first[me] + i);
    values[at] = mine[i].row;
    values[at + 1] = mine[i].col;
    values[at + 2] = mine[i].rows;
    values[at + 3] = mine[i].cols;
  }
  KIZAMI_RETURN_IF_ERROR(sum(values));
  table.rects.clear();
  for (std::size_t at = 0; at < values.size(); at += 4)
    table.rects.push_back({values[at], values[at + 1], values[at + 2], values[at + 3]});
  return {};
}

}  // namespace kizami::multi
