// SPDX-License-Identifier: MIT
// The cuBLAS that the program would call without this library, found at run time: this library is linked to none.
#pragma once

#include <atomic>
#include <cstdint>

namespace kizami::dropin::cublas {

enum class Library : std::uint8_t { kCublas, kCublasLt };

/// The function of that name: of the library that a proxy names (proxy/proxy.cpp); else of the next one in the program's order
/// of loading; else of KIZAMI_NATIVE; else of a
/// libcublas.so that is loaded out of that order (by a Python extension, say); else of one that the system finds. Never one of
/// this library. Null: there is none yet. Safe to call from any thread.
[[nodiscard]] void* find_native(Library library, const char* name);

/// A native function, looked up once.
class NativeFunction {
 public:
  constexpr NativeFunction(Library library, const char* name) : library_(library), name_(name) {}
  [[nodiscard]] const char* name() const { return name_; }
  /// Null: there is none.
  template <class Function>
  [[nodiscard]] Function* as() {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = find_native(library_, name_);
      found_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<Function*>(found);
  }

 private:
  Library library_;
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace kizami::dropin::cublas
