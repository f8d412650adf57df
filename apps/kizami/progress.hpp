// SPDX-License-Identifier: MIT
// A bar on the terminal while one blocking call runs, from the time that its plan predicts:
//   kizami: [#########...............]  38 %  4 s, predicted 11 s
// It appears after two seconds, only if stderr is a terminal, and leaves an empty line behind. The call is never cut
// into pieces for it: the rung is chosen per call, so pieces could have other bits.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace kizami::cli {

/// Wipes the line that the bar is on; wide enough for every bar.
inline constexpr std::string_view kWipeLine =
    "\r                                                                      \r";

class ProgressBar {
 public:
  /// @range predicted_seconds >= 0; 0 or a value too small shows the elapsed time only
  ProgressBar(bool is_wanted, double predicted_seconds);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void show(double predicted_seconds);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_done_ = false;
  std::thread thread_;
};

/// The text of the bar after `elapsed` seconds.
[[nodiscard]] std::string progress_text(double elapsed, double predicted_seconds);

}  // namespace kizami::cli
