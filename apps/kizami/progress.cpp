// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <system_error>

#include "interrupt.hpp"

namespace kizami::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kBarWidth = 24;
constexpr auto kDelay = std::chrono::seconds(2);
constexpr auto kInterval = std::chrono::milliseconds(200);
/// The bar stops here when the prediction was too short: it never claims to be done.
constexpr double kMaxFraction = 0.99;

bool is_wide_terminal(int fd) {
  winsize size{};
  return ::isatty(fd) == 1 &&
         (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_col >= kWipeLine.size());
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  if (seconds < 3600)
    return fmt::format("{:.0f} min {:02.0f} s", std::floor(seconds / 60), std::floor(std::fmod(seconds, 60)));
  return fmt::format("{:.1f} h", std::min(seconds / 3600, 99999.0));
}

}  // namespace

std::string progress_text(double elapsed, double predicted_seconds) {
  if (!(predicted_seconds > 1)) return fmt::format("kizami: {}", duration(elapsed));
  const double fraction = std::min(elapsed / predicted_seconds, kMaxFraction);
  const auto filled = static_cast<std::size_t>(fraction * kBarWidth);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  return fmt::format("kizami: [{}] {:3.0f} %  {}, predicted {}", bar, 100 * fraction, duration(elapsed),
                     duration(predicted_seconds));
}

ProgressBar::ProgressBar(bool is_wanted, double predicted_seconds) {
  if (!is_wanted || !is_wide_terminal(STDERR_FILENO)) return;
  try {
    thread_ = std::thread([this, predicted_seconds] { show(predicted_seconds); });
  } catch (const std::system_error&) {
    // no thread, no bar
  }
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProgressBar::show(double predicted_seconds) {
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, kDelay, [this] { return is_done_; })) return;
  set_progress_visible(true);
  do {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    print(std::string(kWipeLine) + progress_text(elapsed, predicted_seconds));
  } while (!wake_.wait_for(lock, kInterval, [this] { return is_done_; }));
  print(kWipeLine);
  set_progress_visible(false);
}

}  // namespace kizami::cli
