// SPDX-License-Identifier: MIT
// Which of some names somebody meant who typed another one.
#pragma once

#include "kizami/cxx20.hpp"  // before all else

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace kizami {

/// The fewest insertions, deletions, replacements and exchanges of neighbours that make one text the other (the optimal
/// string alignment distance).
[[nodiscard]] inline std::size_t edit_distance(std::string_view x, std::string_view y) {
  std::vector<std::size_t> before_last(y.size() + 1);
  std::vector<std::size_t> last(y.size() + 1);
  std::vector<std::size_t> row(y.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= x.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= y.size(); ++j) {
      const std::size_t other = x[i - 1] == y[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + other});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[y.size()];
}

/// The first of the nearest names; empty if more than a third of the text would have to change.
template <class Names>
[[nodiscard]] std::string_view nearest_name(std::string_view text, const Names& names) {
  std::string_view nearest;
  std::size_t least = text.size() / 3 + 1;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(text, name);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

/// For the end of a message that has said what is allowed: "; did you mean correct?", or nothing where no name is near.
/// @param allowed  names with commas between: "native, correct"
[[nodiscard]] inline std::string did_you_mean(std::string_view text, std::string_view allowed) {
  std::vector<std::string_view> names;
  while (!allowed.empty()) {
    const std::size_t end = std::min(allowed.find(','), allowed.size());
    const std::string_view name = allowed.substr(0, end);
    names.push_back(name.substr(std::min(name.find_first_not_of(' '), name.size())));
    allowed.remove_prefix(std::min(end + 1, allowed.size()));
  }
  const std::string_view nearest = nearest_name(text, names);
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

}  // namespace kizami
