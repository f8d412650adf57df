// SPDX-License-Identifier: MIT
// How ranks come to know the same: an error of one is the error of all, arguments are compared, rectangles are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kizami/ranks.hpp"
#include "kizami/status.hpp"
#include "multi/decision.hpp"
#include "multi/rect.hpp"

namespace kizami::multi {

/// An argument, which must be equal on all ranks.
struct Fact {
  const char* name;
  std::int64_t value;
  bool is_shown = true;  ///< its value says something to people
};

/// Rectangles of all ranks: those of rank r are number first[r] to first[r + 1].
struct RectTable {
  std::vector<Rect> rects;
  std::vector<std::size_t> first;

  [[nodiscard]] std::span<const Rect> of(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return std::span(rects).subspan(first[r], first[r + 1] - first[r]);
  }
};

/// Functions that all ranks call, in the same order, or close(): one that has failed calls that at once, and the others
/// learn of it in whatever function they have come to.
class Agreement final : public Others {
 public:
  explicit Agreement(Communicator& ranks) : ranks_(ranks) {}

  [[nodiscard]] int rank() const { return ranks_.rank(); }
  [[nodiscard]] int size() const { return ranks_.size(); }

  /// @return the status of the first rank whose is not ok, with its number
  Status agree(const Status& mine);
  /// The end of a call: @param mine  an error of this rank, or one that all know   @return the same for all ranks
  Status close(const Status& mine);

  /// @status kInvalidArgument names what differs
  Status require_equal(std::span<const Fact> facts);
  /// Lists of rectangles, a table of each.
  Status gather(std::span<const std::vector<Rect>> mine, std::span<RectTable> tables);
  Status sum(std::span<std::int64_t> values) override { return reduce(Reduction::kSum, values); }
  Status max(std::span<std::int64_t> values) override { return reduce(Reduction::kMax, values); }

  /// Memory of this rank that send() and receive() met with, in a call that all ranks make between two others.
  Status send(std::span<const std::byte> bytes, int to) { return known(ranks_.send(bytes, to)); }
  Status receive(std::span<std::byte> bytes, int from) { return known(ranks_.receive(bytes, from)); }
  /// An error that all ranks find by themselves.
  Status known(Status status);

 private:
  Status reduce(Reduction reduction, std::span<std::int64_t> values);

  Communicator& ranks_;
  bool is_over_ = false;  ///< an error is known to all, or the communicator has failed
};

}  // namespace kizami::multi
