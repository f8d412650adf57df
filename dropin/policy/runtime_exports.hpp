// SPDX-License-Identifier: MIT
// The functions of kizami/dropin.h, for one source of each drop-in library: each has its own, and passes a change on to
// the next library that has them.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "dropin/policy/kept_operands.hpp"
#include "dropin/policy/operand_names.hpp"
#include "dropin/policy/runtime.hpp"
#include "kizami/dropin.h"

namespace kizami::dropin {

/// Of the thread's last failure. Trivial, so that it needs no destructor.
inline thread_local char run_time_error[1024] = "";

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

// A name goes to all libraries, for which of them the next call comes to is not known; whose call it is takes it from all
// (operand_names.hpp).
extern "C" KIZAMI_API int kizami_dropin_name_operand(int side, std::uint64_t id, std::uint64_t version) {
  using namespace kizami::dropin;  // NOLINT(google-build-using-namespace)
  if (side != 0 && side != 1) return 1;
  name_operand(side, {id, version});
  auto* next = next_library<int(int, std::uint64_t, std::uint64_t)>("kizami_dropin_name_operand");
  return next != nullptr ? next(side, id, version) : 0;
}

extern "C" KIZAMI_API void kizami_dropin_unname_operands(void) {
  using namespace kizami::dropin;  // NOLINT(google-build-using-namespace)
  unname_operands();
  auto* next = next_library<void()>("kizami_dropin_unname_operands");
  if (next != nullptr) next();
}

extern "C" KIZAMI_API void kizami_dropin_forget_operand(std::uint64_t id) {
  using namespace kizami::dropin;  // NOLINT(google-build-using-namespace)
  try {
    forget_kept(id);
  } catch (...) {  // no memory: it goes when its turn comes
  }
  auto* next = next_library<void(std::uint64_t)>("kizami_dropin_forget_operand");
  if (next != nullptr) next(id);
}

extern "C" KIZAMI_API void kizami_dropin_kept(std::uint64_t* split, std::uint64_t* taken, std::size_t* bytes) {
  using namespace kizami::dropin;  // NOLINT(google-build-using-namespace)
  KeptCounts counts = kept_counts();
  auto* next = next_library<void(std::uint64_t*, std::uint64_t*, std::size_t*)>("kizami_dropin_kept");
  if (next != nullptr) {
    KeptCounts of_next;
    next(&of_next.split, &of_next.taken, &of_next.bytes);
    counts.split += of_next.split;
    counts.taken += of_next.taken;
    counts.bytes += of_next.bytes;
  }
  if (split != nullptr) *split = counts.split;
  if (taken != nullptr) *taken = counts.taken;
  if (bytes != nullptr) *bytes = counts.bytes;
}

extern "C" KIZAMI_API const char* kizami_dropin_error(void) { return kizami::dropin::run_time_error; }
