// SPDX-License-Identifier: MIT
// The functions of kizami/dropin.h, for one source of each drop-in library: each has its own, and passes a change on to
// the next library that has them.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "dropin/policy/runtime.hpp"
#include "kizami/dropin.h"

namespace kizami::dropin {

/// Of the thread's last failure. Trivial, so that it needs no destructor.
inline thread_local char run_time_error[512] = "";

inline int say_run_time_error(const std::string& reason) {
  const std::size_t length = std::min(reason.size(), sizeof run_time_error - 1);
  std::memcpy(run_time_error, reason.data(), length);
  run_time_error[length] = '\0';
  return 1;
}

template <class Function>
Function* next_library(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace kizami::dropin

extern "C" KIZAMI_API int kizami_dropin_set(int scope, const char* key, const char* value) {
  using namespace kizami::dropin;  // NOLINT(google-build-using-namespace)
  try {
    if (scope != KIZAMI_DROPIN_PROCESS && scope != KIZAMI_DROPIN_THREAD)
      return say_run_time_error("scope = " + std::to_string(scope) + ", must be 0 (process) or 1 (thread)");
    if (key == nullptr) return say_run_time_error("key must not be null");
    const kizami::Status status = value == nullptr
                                      ? forget_at_run_time(static_cast<Scope>(scope), key, process_configuration())
                                      : set_at_run_time(static_cast<Scope>(scope), key, value, process_configuration());
    if (!status.ok()) return say_run_time_error(status.reason());
    auto* next = next_library<int(int, const char*, const char*)>("kizami_dropin_set");
    return next != nullptr ? next(scope, key, value) : 0;
  } catch (...) {
    return say_run_time_error("no memory");
  }
}

extern "C" KIZAMI_API int kizami_dropin_reset(int scope) {
  using namespace kizami::dropin;  // NOLINT(google-build-using-namespace)
  if (scope != KIZAMI_DROPIN_PROCESS && scope != KIZAMI_DROPIN_THREAD)
    return say_run_time_error("scope = " + std::to_string(scope) + ", must be 0 (process) or 1 (thread)");
  reset_at_run_time(static_cast<Scope>(scope));
  auto* next = next_library<int(int)>("kizami_dropin_reset");
  return next != nullptr ? next(scope) : 0;
}

extern "C" KIZAMI_API int kizami_dropin_get(const char* key, char* value, std::size_t room) {
  using namespace kizami::dropin;  // NOLINT(google-build-using-namespace)
  try {
    if (key == nullptr) return say_run_time_error("key must not be null"), -1;
    const kizami::Result<std::string> found = value_of(with_run_time(process_configuration().settings), key);
    if (!found.ok()) return say_run_time_error(found.status().reason()), -1;
    const std::string& text = found.value();
    if (room > 0 && value != nullptr) {
      const std::size_t length = std::min(text.size(), room - 1);
      std::memcpy(value, text.data(), length);
      value[length] = '\0';
    }
    return static_cast<int>(text.size());
  } catch (...) {
    return say_run_time_error("no memory"), -1;
  }
}

extern "C" KIZAMI_API const char* kizami_dropin_error(void) { return kizami::dropin::run_time_error; }
