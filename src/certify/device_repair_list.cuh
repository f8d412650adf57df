// SPDX-License-Identifier: MIT
// The list of repairs, and a bit of each pair in it, by whole warps: which of neighbouring rungs, a byte each, lie
// above a rung, and places for the pairs of all lanes by one addition to the list's counter.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "certify/device_second_look.hpp"
#include "certify/device_second_look_grid.cuh"
#include "num/rung.hpp"

namespace kizami::certify::second_look {

/// Pairs that the list has room for.
template <class T>
[[nodiscard]] __device__ __forceinline__ std::uint64_t list_capacity(const SecondLook<T>& look) {
  return static_cast<std::uint64_t>(look.repair_capacity);
}

/// Which of four rungs, a byte each, lie above a rung.
class RungsAbove {
 public:
  static constexpr int kNever = 127;  ///< a rung that none lies above

  __device__ explicit RungsAbove(int rung) : distance_(static_cast<std::uint32_t>(kNever - rung) * 0x01010101u) {}
  /// The highest bit of each byte that does. @range rungs of at most 15, so that no sum leaves its byte
  [[nodiscard]] __device__ __forceinline__ std::uint32_t among(std::uint32_t rungs) const {
    return (rungs + distance_) & 0x80808080u;
  }

 private:
  std::uint32_t distance_;
};

/// Places for `count` entries of each lane behind those that are counted. By all lanes of a warp. @return the first of
/// this lane's
[[nodiscard]] __device__ __forceinline__ std::uint64_t places_of_lane(std::uint64_t& counter, int count) {
  int up_to_here = count;  // of this lane and those below it
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int of_others = __shfl_up_sync(kFullWarp, up_to_here, static_cast<unsigned>(distance));
    if (lane() >= distance) up_to_here += of_others;
  }
  unsigned long long first = 0;
  if (lane() == 31) first = atomicAdd(as_counter(&counter), static_cast<unsigned long long>(up_to_here));
  return __shfl_sync(kFullWarp, first, 31) + static_cast<std::uint64_t>(up_to_here - count);
}

/// An entry of the list, if it has room, and the pair's bit.
template <class T>
__device__ __forceinline__ void put_repair(const SecondLook<T>& look, std::uint64_t place, std::int64_t row,
                                           std::int64_t col) {
  if (place < list_capacity(look)) look.repairs[place] = {row, col};
  atomicOr(look.repair_bits + col * ceil_div(look.a.num_lines, std::int64_t{32}) + row / 32, 1u << row % 32);
}

}  // namespace kizami::certify::second_look
