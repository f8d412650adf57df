// SPDX-License-Identifier: MIT
// A user's program in C++: a product known exactly. The argument says how the library must have come in.
#include <link.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kizami/kizami.h"
#include "kizami/kizami.hpp"

namespace {

/// Whether libkizami.so is loaded.
bool is_shared() {
  const auto look = [](dl_phdr_info* info, std::size_t, void* found) {
    if (std::strstr(info->dlpi_name, "libkizami.so") != nullptr) *static_cast<bool*>(found) = true;
    return 0;
  };
  bool found = false;
  dl_iterate_phdr(look, &found);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || is_shared() != (std::string(argv[1]) == "shared")) {
    std::puts("linked to the wrong library");
    return 1;
  }
  const std::vector<double> a = {1, 2, 3, 4}, b = {5, 6, 7, 8}, wanted = {23, 34, 31, 46};  // column-major
  std::vector<double> c(4);
  kizami::Outcome outcome;
  const kizami::Status status =
      kizami::gemm<double>(kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, 2, 2, 2, 1.0, a.data(), 2,
                           b.data(), 2, 0.0, c.data(), 2, kizami::Policy{}, &outcome);
  if (!status.ok() || c != wanted) {
    std::printf("wrong: %s\n", status.reason().c_str());
    return 1;
  }
  // The platform BLAS is linked too.
  kizami::Policy native;
  native.scheme = kizami::Scheme::kNative;
  c.assign(4, 0);
  const kizami::Status native_status =
      kizami::gemm<double>(kizami::Layout::kColMajor, kizami::Op::kNone, kizami::Op::kNone, 2, 2, 2, 1.0, a.data(), 2,
                           b.data(), 2, 0.0, c.data(), 2, native);
  const bool is_right = native_status.ok() && c == wanted && std::string(kizami::version()) == kizami_version();
  std::printf("%s %s, engine %s: %s\n", argv[1], kizami::version(), std::string(outcome.engine).c_str(),
              is_right ? "right" : "wrong");
  return is_right ? 0 : 1;
}
