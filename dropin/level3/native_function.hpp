// SPDX-License-Identifier: MIT
// The functions that the program would call without this library, found at run time. The two libraries have these
// places to search in common; each has more of its own (dropin/blas/native.cpp, dropin/cublas/native.cpp).
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "base/fork_safe.hpp"
#include "dropin/policy/configuration.hpp"

namespace kizami::dropin::level3 {

[[nodiscard]] inline void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

/// The function in what dlopen() gave, or RTLD_NEXT, unless it is one of this library, which then stands before the
/// native one in that search, too. @range library: may be null
[[nodiscard]] inline void* search(void* library, const char* name) {
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) return nullptr;
  const void* const ourselves = library_of(reinterpret_cast<const void*>(&library_of));
  return library_of(found) != ourselves ? found : nullptr;
}

/// KIZAMI_NATIVE, or null. It stays open.
[[nodiscard]] inline void* configured_library() {
  static constinit base::MadeOnce<void*> library;
  return library.get([] {
    const std::string& path = process_configuration().native_path;
    return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  });
}

/// The function of the next library in the program's order of loading, else of KIZAMI_NATIVE, or null.
[[nodiscard]] inline void* find_next(const char* name) {
  void* found = search(RTLD_NEXT, name);
  return found != nullptr ? found : search(configured_library(), name);
}

/// A native function, looked up once; while there is none, again at every call. Once known it stays so. Safe to call from
/// any thread.
class NativeFunction {
 public:
  using Find = void*(const char* name);
  constexpr NativeFunction(Find* find, const char* name) : find_(find), name_(name) {}
  [[nodiscard]] const char* name() const { return name_; }
  /// Null: there is none.
  template <class Function>
  [[nodiscard]] Function* as() {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = find_(name_);
      if (found == nullptr) return known<Function>();  // another thread's, which looked later
      found_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<Function*>(found);
  }
  /// Null: it was not looked up, or there is none.
  template <class Function>
  [[nodiscard]] Function* known() const {
    return reinterpret_cast<Function*>(found_.load(std::memory_order_acquire));
  }

 private:
  Find* find_;
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace kizami::dropin::level3
