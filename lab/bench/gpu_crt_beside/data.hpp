// SPDX-License-Identifier: MIT
// Operands of bench_gpu_crt_beside, and what is done with its results, on the default stream.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/// Residues modulo p of integers of `bits` bits and a sign, drawn by a seed that planes share; with a root of -1 of
/// re + root im of two such integers.
void fill_plane(std::int8_t* to, std::int64_t size, int p, int root, int bits, std::uint64_t seed);
/// Adds to *count how many words of four bytes differ.
void count_differences(const void* x, const void* y, std::size_t bytes, unsigned long long* count);
/// Keeps the queue busy while the host fills it.
void wait_cycles(long long cycles);

}  // namespace bench
