// SPDX-License-Identifier: MIT
// What the program prints: one line for each check.
#pragma once

#include <cstdio>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>

#include "gpu_dropin/problem.hpp"

namespace preload_check {

/// Whether the products must come from another library than cuBLAS.
inline bool expects_kizami = false;
inline int num_failed = 0;
inline std::mutex report_mutex;

inline void report(const std::string& name, const std::string& error, const std::string& detail = "") {
  const std::lock_guard lock(report_mutex);
  if (!error.empty()) ++num_failed;
  std::printf("%s %s%s%s\n", error.empty() ? "OK  " : "FAIL", name.c_str(), error.empty() && detail.empty() ? "" : ": ",
              (error.empty() ? detail : error).c_str());
  static_cast<void>(std::fflush(stdout));
}
inline void report(const std::string& name, const Judgement& judgement) {
  const std::string ratio = "error / allowed = " + std::to_string(judgement.ratio);
  report(name, judgement.error.empty() ? "" : judgement.error + ": " + ratio, ratio);
}
/// `action` may throw.
inline void guarded(const std::string& name, const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& e) {
    report(name, e.what());
  }
}

}  // namespace preload_check
