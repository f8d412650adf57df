// SPDX-License-Identifier: MIT
#include "gpu_crt_beside/data.hpp"

#include "num/modular.hpp"

namespace bench {
namespace {

__device__ std::uint64_t hash(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

__global__ void fill_plane_smxx(std::int8_t* to, std::int64_t size, int p, int root, int bits, std::uint64_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < size; e += step) {
    const std::uint64_t at = seed + 2 * static_cast<std::uint64_t>(e);
    const auto draw = [&](std::uint64_t which) {
      const auto magnitude = static_cast<std::int64_t>(hash(at + which) >> (64 - bits));
      return (hash(at + which + (1ULL << 60)) & 1) != 0 ? -magnitude : magnitude;
    };
    std::int64_t x = draw(0) % p;
    if (root != 0) x += root * (draw(1) % p);
    to[e] = static_cast<std::int8_t>(kizami::num::symmetric_residue(x, p));
  }
}

__global__ void count_differences_smxx(const std::uint32_t* x, const std::uint32_t* y, std::size_t words,
                                       unsigned long long* count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t e = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; e < words; e += step)
    mine += x[e] != y[e] ? 1 : 0;
  if (mine != 0) atomicAdd(count, mine);
}

__global__ void wait_smxx(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

}  // namespace

void fill_plane(std::int8_t* to, std::int64_t size, int p, int root, int bits, std::uint64_t seed) {
  fill_plane_smxx<<<2048, 256>>>(to, size, p, root, bits, seed);
}
void count_differences(const void* x, const void* y, std::size_t bytes, unsigned long long* count) {
  count_differences_smxx<<<1024, 256>>>(static_cast<const std::uint32_t*>(x), static_cast<const std::uint32_t*>(y),
                                        bytes / 4, count);
}
void wait_cycles(long long cycles) { wait_smxx<<<1, 1>>>(cycles); }

}  // namespace bench
