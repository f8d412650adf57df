// SPDX-License-Identifier: MIT
#include "dropin/cublas/native.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <string>

#include "base/fork_safe.hpp"
#include "dropin/policy/configuration.hpp"
#include "kizami/export.h"

namespace kizami::dropin::cublas {
namespace {

constexpr std::array<const char*, 2> kNames[]{{"libcublas.so.13", "libcublas.so.12"},
                                              {"libcublasLt.so.13", "libcublasLt.so.12"}};

/// What a proxy names.
std::atomic<void*> named[2]{};

void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

/// The function, unless it is one of this library, which then stands before the native one in this search, too.
void* search(void* library, const char* name) {
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) return nullptr;
  const void* const ourselves = library_of(reinterpret_cast<const void*>(&find_native));
  return library_of(found) != ourselves ? found : nullptr;
}

void* configured_library() {
  static constinit base::MadeOnce<void*> library;
  return library.get([] {
    const std::string& path = process_configuration().native_path;
    return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  });
}

}  // namespace

void* find_native(Library library, const char* name) {
  if (void* real = named[static_cast<int>(library)].load(std::memory_order_acquire)) return search(real, name);
  if (void* found = search(RTLD_NEXT, name)) return found;
  if (void* found = search(configured_library(), name)) return found;
  for (const int loaded_only : {RTLD_NOLOAD, 0}) {  // libraries that are opened here stay open
    for (const char* file : kNames[static_cast<int>(library)]) {
      if (void* found = search(dlopen(file, RTLD_LAZY | RTLD_LOCAL | loaded_only), name)) return found;
    }
  }
  return nullptr;
}

}  // namespace kizami::dropin::cublas

/// Called by a proxy when it is loaded: the library that it stands for. @range library: a Library; native: not null
extern "C" KIZAMI_API void kizami_use_native(int library, void* native) {
  if (native != nullptr) kizami::dropin::cublas::named[library].store(native, std::memory_order_release);
}
