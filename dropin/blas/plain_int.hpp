// SPDX-License-Identifier: MIT
// The integers behind names without a suffix (dgemm_, cblas_dgemm): int, or int64_t in libkizami_blas64.so, which
// stands before libraries that have wide integers behind the plain names, as libblas64.so.3 of Debian.
#pragma once

#include <cstdint>

namespace kizami::dropin::blas {

#ifdef KIZAMI_BLAS_PLAIN_64
using PlainInt = std::int64_t;
#else
using PlainInt = int;
#endif

}  // namespace kizami::dropin::blas
