// SPDX-License-Identifier: MIT
#include "gpu_product/residues.hpp"

namespace bench {
namespace {

/// splitmix64, as a hash of a counter.
__device__ std::uint64_t hash(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

__global__ void fill_residues_smxx(std::int8_t* to, std::int64_t size, int p, int least, std::uint64_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < size; e += step) {
    const auto high = static_cast<std::uint32_t>(hash(seed + static_cast<std::uint64_t>(e)) >> 32);
    to[e] = static_cast<std::int8_t>(static_cast<int>(__umulhi(high, static_cast<std::uint32_t>(p))) + least);
  }
}

__global__ void add_checksum_smxx(const std::uint32_t* from, std::int64_t words, unsigned long long* sum) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < words; e += step) {
    mine += hash(static_cast<std::uint64_t>(from[e]) + (static_cast<std::uint64_t>(e) << 32));
  }
  atomicAdd(sum, mine);
}

__global__ void check_elements_smxx(const std::int8_t* a, const std::int8_t* b, const std::int8_t* c, std::int64_t m,
                                    std::int64_t n, std::int64_t k, int plane, int p, bool is_unsigned,
                                    std::uint64_t seed, int* num_wrong) {
  const std::uint64_t h = hash(seed + blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t i = static_cast<std::int64_t>((h >> 32) % static_cast<std::uint64_t>(m));
  const std::int64_t j = static_cast<std::int64_t>((h & 0xFFFFFFFFU) % static_cast<std::uint64_t>(n));
  std::int64_t sum = 0;
  const auto value = [&](std::int8_t byte) { return is_unsigned ? byte & 255 : int{byte}; };
  for (std::int64_t x = 0; x < k; ++x) sum += value(a[(plane * m + i) * k + x]) * value(b[(plane * n + j) * k + x]);
  if ((sum - c[(plane * n + j) * m + i]) % p != 0) atomicAdd(num_wrong, 1);
}

}  // namespace

void fill_residues(std::int8_t* to, std::int64_t size, int p, bool is_unsigned, std::uint64_t seed) {
  fill_residues_smxx<<<1024, 256>>>(to, size, p, is_unsigned ? 0 : -(p / 2), seed);
}

void add_checksum(const std::uint32_t* from, std::int64_t words, unsigned long long* sum) {
  add_checksum_smxx<<<1024, 256>>>(from, words, sum);
}

void check_elements(const std::int8_t* a, const std::int8_t* b, const std::int8_t* c, std::int64_t m, std::int64_t n,
                    std::int64_t k, int plane, int p, bool is_unsigned, std::uint64_t seed, int* num_wrong) {
  check_elements_smxx<<<8, 64>>>(a, b, c, m, n, k, plane, p, is_unsigned, seed, num_wrong);
}

}  // namespace bench
