// SPDX-License-Identifier: MIT
// plugin_host LIBRARY WHICH [VARIABLE=VALUE]: a program that knows nothing of cuBLAS and loads a library that does, as
// Python loads its extensions: cuBLAS is then not in the order in which the program searches for names.
#include <dlfcn.h>

#include <stdlib.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (argc > 3) putenv(argv[3]);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const auto make_calls = reinterpret_cast<int (*)(const char*)>(dlsym(library, "make_calls"));
  return make_calls == nullptr ? 2 : make_calls(argv[2]);
}
