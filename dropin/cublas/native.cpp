// SPDX-License-Identifier: MIT
#include "dropin/cublas/native.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>

#include "kizami/export.h"

namespace kizami::dropin::cublas {
namespace {

constexpr std::array<const char*, 2> kNames[kNumLibraries]{{"libcublas.so.13", "libcublas.so.12"},
                                                           {"libcublasLt.so.13", "libcublasLt.so.12"},
                                                           {"libcusolver.so.12", "libcusolver.so.11"}};

/// What a proxy names.
std::atomic<void*> named[kNumLibraries]{};

}  // namespace

void* find_native(Library library, const char* name) {
  if (void* real = named[static_cast<int>(library)].load(std::memory_order_acquire)) return level3::search(real, name);
  if (void* found = level3::find_next(name)) return found;
  for (const int loaded_only : {RTLD_NOLOAD, 0}) {  // libraries that are opened here stay open
    for (const char* file : kNames[static_cast<int>(library)]) {
      if (void* found = level3::search(dlopen(file, RTLD_LAZY | RTLD_LOCAL | loaded_only), name)) return found;
    }
  }
  return nullptr;
}

}  // namespace kizami::dropin::cublas

/// Called by a proxy when it is loaded: the library that it stands for. @range library: a Library; native: not null
extern "C" KIZAMI_API void kizami_use_native(int library, void* native) {
  if (native != nullptr) kizami::dropin::cublas::named[library].store(native, std::memory_order_release);
}
