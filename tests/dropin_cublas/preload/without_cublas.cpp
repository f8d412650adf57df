// SPDX-License-Identifier: MIT
// without_cublas: calls what the preloaded library exports where there is no cuBLAS at all, and prints the status.
#include <dlfcn.h>

#include <cstdio>

int main() {
  using Product = int (*)(void*, int, int, int, int, int, const double*, const double*, int, const double*, int,
                          const double*, double*, int);
  const auto product = reinterpret_cast<Product>(dlsym(RTLD_DEFAULT, "cublasDgemm_v2"));
  if (product == nullptr) return 2;
  const double one = 1;
  std::printf("status %d\n", product(nullptr, 0, 0, 1, 1, 1, &one, nullptr, 1, nullptr, 1, &one, nullptr, 1));
  return 0;
}
