// SPDX-License-Identifier: MIT
#include "interrupt.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "progress.hpp"

namespace kizami::cli {
namespace {

// Handler and hold exclude each other as in Dekker's algorithm: each sets its own flag before it reads the other's, so
// at least one of them sees both, and whoever does removes the file and exits.
std::atomic<int> pending_signal{0};
std::atomic<bool> is_held{false};
std::atomic<bool> is_progress_visible{false};
std::array<char, PATH_MAX> file_to_remove{};  // changed under a hold only
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "used in a signal handler");

[[noreturn]] void clean_up_and_exit(int signal) noexcept {
  if (file_to_remove[0] != '\0') ::unlink(file_to_remove.data());
  if (is_progress_visible) [[maybe_unused]]
    const auto ignored = ::write(STDERR_FILENO, kWipeLine.data(), kWipeLine.size());
  ::_exit(128 + signal);
}

extern "C" void on_signal(int signal) {
  pending_signal = signal;
  if (!is_held) clean_up_and_exit(signal);
}

struct Installed {
  int signal;
  void (*handler)(int);
  struct sigaction before {};
};
std::array<Installed, 5> installed{
    {{SIGINT, on_signal}, {SIGTERM, on_signal}, {SIGHUP, on_signal}, {SIGXFSZ, SIG_IGN}, {SIGPIPE, SIG_IGN}}};

}  // namespace

void install_interrupt_handlers() {
  for (Installed& one : installed) {
    ::sigaction(one.signal, nullptr, &one.before);
    if (one.before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = one.handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(one.signal, &action, nullptr);
  }
}

void uninstall_interrupt_handlers() noexcept {
  for (const Installed& one : installed) ::sigaction(one.signal, &one.before, nullptr);
}

InterruptHold::InterruptHold() noexcept {
  is_held = true;
  if (const int signal = pending_signal; signal != 0) clean_up_and_exit(signal);
}

InterruptHold::~InterruptHold() {
  is_held = false;
  if (const int signal = pending_signal; signal != 0) clean_up_and_exit(signal);
}

bool set_file_to_remove(const std::string& path) noexcept {
  if (path.size() >= file_to_remove.size()) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(file_to_remove.data(), path.c_str(), path.size() + 1);
  return true;
}

void set_progress_visible(bool is_visible) noexcept { is_progress_visible = is_visible; }

}  // namespace kizami::cli
