// SPDX-License-Identifier: MIT
// Operands of the tensor cores from shared memory (ldmatrix), for devices from sm_75 on.
#pragma once

#include <cstdint>

namespace kizami::base {

/// Four matrices of 8 rows of 16 bytes: lane l names row l % 8 of matrix l / 8, and gets bytes 4 (l % 4) to 4 (l % 4) + 3 of
/// row l / 4 of each. By all lanes of a warp.
/// @param row  its address in shared memory, a multiple of 16
__device__ __forceinline__ void load_matrices(std::uint32_t (&x)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(row)
               : "memory");
}

}  // namespace kizami::base
