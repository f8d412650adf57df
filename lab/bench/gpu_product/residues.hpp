// SPDX-License-Identifier: MIT
// Planes of residues, and what is asked of their products. Everything is enqueued on the default stream.
#pragma once

#include <cstdint>

namespace bench {

/// Residues of p, each equally likely: symmetric ones, or those from 0 to p - 1.
void fill_residues(std::int8_t* to, std::int64_t size, int p, bool is_unsigned, std::uint64_t seed);

/// Adds a hash of every word and its place, so that no two forms that differ anywhere agree.
void add_checksum(const std::uint32_t* from, std::int64_t words, unsigned long long* sum);

/// 512 elements of plane `plane` of C = A B^T, m x n of k, modulo p, by a plain loop, so that a checksum that all
/// forms share is not trusted blindly. Adds how many are wrong.
void check_elements(const std::int8_t* a, const std::int8_t* b, const std::int8_t* c, std::int64_t m, std::int64_t n,
                    std::int64_t k, int plane, int p, bool is_unsigned, std::uint64_t seed, int* num_wrong);

}  // namespace bench
