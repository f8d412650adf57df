// SPDX-License-Identifier: MIT
// A libcublas.so.13 (or libcublasLt.so.13) to be found in place of the real one by programs that open it by its name
// and ask dlsym for its functions, which no preloaded library sees. Every function of the real library is here, as a
// jump to libkizami_cublas.so where that has it, else to the real one.
// The real one is that of the folder KIZAMI_NATIVE (a folder, or the path of a file in it); else the next of this name
// in the order in which the loader searches.
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define KIZAMI_STRING_OF(x) #x
#define KIZAMI_STRING(x) KIZAMI_STRING_OF(x)

namespace {

constexpr const char* kNames[]{
#define KIZAMI_FORWARDED(index, name) #name,
#include KIZAMI_PROXY_FUNCTIONS
#undef KIZAMI_FORWARDED
};
constexpr std::size_t kFunctions = sizeof kNames / sizeof *kNames;

/// Of a function that there is none of: CUBLAS_STATUS_NOT_INITIALIZED.
long missing() { return 1; }

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) void kizami_proxy_resolve();
/// Where each function is, once the first one was called: a program that calls none opens nothing.
__attribute__((visibility("hidden"))) void* kizami_proxy_targets[kFunctions] = {
#define KIZAMI_FORWARDED(index, name) reinterpret_cast<void*>(&kizami_proxy_resolve),
#include KIZAMI_PROXY_FUNCTIONS
#undef KIZAMI_FORWARDED
};
/// Tells a proxy from the real library, which may need the other library's proxy.
__attribute__((visibility("default"))) extern const int KIZAMI_PROXY_MARKER = 1;
}

// A function jumps to its target with all arguments as they came, and its index in a register that no argument is in.
// At first that is kizami_proxy_resolve, which keeps the arguments, has the targets found, and jumps again.
#if defined(__x86_64__)
#define KIZAMI_JUMP(index) "endbr64\n\tmov $" #index ", %r11d\n\tjmp *kizami_proxy_targets+8*" #index "(%rip)\n"
asm(R"(
.text
.hidden kizami_proxy_resolve
.globl kizami_proxy_resolve
.type kizami_proxy_resolve, @function
kizami_proxy_resolve:
  endbr64
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %rax
  push %r11
  sub $136, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  call kizami_proxy_find_targets
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  add $136, %rsp
  pop %r11
  pop %rax
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  lea kizami_proxy_targets(%rip), %r10
  jmp *(%r10,%r11,8)
.size kizami_proxy_resolve, .-kizami_proxy_resolve
)");
#else
#error "proxies of cuBLAS are for x86-64"
#endif
#define KIZAMI_FORWARDED(index, name)                                           \
  asm(".text\n.balign 16\n.globl " #name "\n.type " #name ", @function\n" #name \
      ":\n\t" KIZAMI_JUMP(index) ".size " #name ", .-" #name "\n");
#include KIZAMI_PROXY_FUNCTIONS
#undef KIZAMI_FORWARDED

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string own_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&KIZAMI_PROXY_MARKER), &info) == 0 ? "" : info.dli_fname;
}

/// The library at that path, unless it is a proxy, too. Libraries that are opened here stay open.
void* open_real(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  if (dlsym(library, KIZAMI_STRING(KIZAMI_PROXY_MARKER)) == nullptr) return library;
  dlclose(library);
  return nullptr;
}

std::string configured_folder() {
  const char* value = std::getenv("KIZAMI_NATIVE");
  if (value == nullptr || *value == '\0') return {};
  struct stat status = {};
  const bool is_folder = stat(value, &status) == 0 && S_ISDIR(status.st_mode);
  return is_folder ? value : folder_of(value);
}

/// Where the loader searches: LD_LIBRARY_PATH and the folders of the system.
std::vector<std::string> searched_folders() {
  std::vector<std::string> folders;
  void* ourselves = dlopen(own_path().c_str(), RTLD_LAZY | RTLD_NOLOAD);
  Dl_serinfo size = {};
  if (ourselves == nullptr || dlinfo(ourselves, RTLD_DI_SERINFOSIZE, &size) != 0) return folders;
  std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
  auto* info = reinterpret_cast<Dl_serinfo*>(memory.data());
  info->dls_size = size.dls_size;
  info->dls_cnt = size.dls_cnt;
  if (dlinfo(ourselves, RTLD_DI_SERINFO, info) != 0) return folders;
  for (unsigned i = 0; i < info->dls_cnt; ++i) folders.emplace_back(info->dls_serpath[i].dls_name);
  return folders;
}

void* real_library() {
  const std::string configured = configured_folder();
  if (!configured.empty()) return open_real(configured + "/" KIZAMI_PROXY_OF);
  for (const std::string& folder : searched_folders()) {
    if (void* library = open_real(folder + "/" KIZAMI_PROXY_OF)) return library;
  }
  // What is listed in the loader's cache: by the name without a version, for this one's is taken.
  const std::string name = KIZAMI_PROXY_OF;
  return open_real(name.substr(0, name.find(".so") + 3));
}

void find_targets() {
  void* real = real_library();
  void* kizami = dlopen((folder_of(own_path()) + "/../" KIZAMI_PROXY_FOR).c_str(), RTLD_NOW | RTLD_LOCAL);
  static constinit std::atomic<bool> is_said{false};
  const bool is_first = !is_said.exchange(true, std::memory_order_relaxed);  // threads that come together say it once
  if (real == nullptr && is_first)
    std::fprintf(stderr, "kizami: there is no " KIZAMI_PROXY_OF " but the proxy; KIZAMI_NATIVE may name its folder\n");
  if (kizami == nullptr && is_first)
    std::fprintf(stderr, "kizami: %s; every call is left to " KIZAMI_PROXY_OF "\n", dlerror());
  using Use = void(int, void*);
  auto* use = kizami == nullptr ? nullptr : reinterpret_cast<Use*>(dlsym(kizami, "kizami_use_native"));
  if (use != nullptr) use(KIZAMI_PROXY_LIBRARY, real);
  for (std::size_t i = 0; i < kFunctions; ++i) {
    void* target = use == nullptr || real == nullptr ? nullptr : dlsym(kizami, kNames[i]);
    if (target == nullptr && real != nullptr) target = dlsym(real, kNames[i]);
    if (target == nullptr) target = reinterpret_cast<void*>(&missing);
    __atomic_store_n(&kizami_proxy_targets[i], target, __ATOMIC_RELEASE);
  }
}

}  // namespace

/// Whichever threads call first: several do the same. No lock is held, for the child of a fork would wait for it.
extern "C" __attribute__((visibility("hidden"))) void kizami_proxy_find_targets() {
  static constinit std::atomic<bool> is_done{false};
  if (is_done.load(std::memory_order_acquire)) return;
  find_targets();
  is_done.store(true, std::memory_order_release);
}
