// SPDX-License-Identifier: MIT
// A quantity over time, and whether it grows: by its peaks, which rare coincidences raise for as long as one waits, and
// by its medians, which only lasting growth raises.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gpu_soak {

struct Growth {
  std::int64_t settled_peak = 0, peak = 0, last = 0;  ///< until the quantity has settled; of all times; at the end
  std::int64_t early_median = 0, late_median = 0;     ///< of a minute from then on, and of the last minute
  double peak_percent = 0;                            ///< by how much `peak` is beyond settled_peak
  double median_percent = 0;                          ///< by how much late_median is beyond early_median
};

class Level {
 public:
  Level() { samples_.reserve(1 << 13); }
  /// @range seconds: rising
  void add(double seconds, std::int64_t value) { samples_.push_back({seconds, value}); }

  /// The minutes are shorter, and do not overlap, where less than two are left. @range seconds >= 0
  [[nodiscard]] Growth after(double settled_after) const {
    Growth growth;
    if (samples_.empty()) return growth;
    const double end = samples_.back().seconds;
    const double span = std::min(60.0, (end - settled_after) / 2);
    std::vector<std::int64_t> early, late;
    for (const Sample& s : samples_) {
      growth.peak = std::max(growth.peak, s.value);
      if (s.seconds <= settled_after) growth.settled_peak = growth.peak;
      if (s.seconds >= settled_after && s.seconds <= settled_after + span) early.push_back(s.value);
      if (s.seconds >= end - span) late.push_back(s.value);
    }
    growth.last = samples_.back().value;
    growth.early_median = median(early);
    growth.late_median = median(late);
    growth.peak_percent = percent(growth.settled_peak, growth.peak);
    growth.median_percent = percent(growth.early_median, growth.late_median);
    return growth;
  }

 private:
  struct Sample {
    double seconds;
    std::int64_t value;
  };
  static std::int64_t median(std::vector<std::int64_t>& values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
  /// What grows from nothing grows without end.
  static double percent(std::int64_t before, std::int64_t after) {
    if (before > 0) return 100.0 * static_cast<double>(after - before) / static_cast<double>(before);
    return after > before ? std::numeric_limits<double>::infinity() : 0;
  }

  std::vector<Sample> samples_;
};

}  // namespace gpu_soak
