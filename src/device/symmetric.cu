// SPDX-License-Identifier: MIT
// A block has a tile of the stored triangle and its mirror image. 3 elements move for each of the two: at 4.3 TB/s 48
// microseconds for FP64 and order 4096, unmeasured.
#include "device/symmetric.hpp"

#include <complex>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/overlapped_launch.hpp"
#include "base/triangular.hpp"
#include "kizami/types.hpp"

namespace kizami::device {
namespace {

constexpr int kTile = 32;
constexpr int kColumnsAtOnce = 8;

/// What stands on the other side of the diagonal.
template <class T>
[[nodiscard]] __device__ T mirrored(const T& x, bool is_hermitian) {
  if constexpr (kIsComplex<T>) {
    if (is_hermitian) return T(x.real(), -x.imag());
  }
  return x;
}

template <class T>
__global__ void __launch_bounds__(kTile* kColumnsAtOnce)
    write_out_kernel(const __grid_constant__ StoredTriangle<T> stored, T* full) {
  __shared__ alignas(16) unsigned char memory[sizeof(T) * kTile * (kTile + 1)];
  auto* const tile = reinterpret_cast<T(*)[kTile + 1]>(memory);  // [column][row]
  base::follow_previous_kernel();
  const std::uint32_t row = base::triangular_root(blockIdx.x);
  const std::uint32_t column = blockIdx.x - base::triangular(row);
  const std::int64_t n = stored.order;
  const std::int64_t i_first = std::int64_t{stored.is_lower ? row : column} * kTile;
  const std::int64_t j_first = std::int64_t{stored.is_lower ? column : row} * kTile;
  const auto x = static_cast<int>(threadIdx.x);
  const auto is_stored = [&](std::int64_t i, std::int64_t j) { return stored.is_lower ? i >= j : i <= j; };
  for (auto y = static_cast<int>(threadIdx.y); y < kTile; y += kColumnsAtOnce) {
    const std::int64_t i = i_first + x;
    const std::int64_t j = j_first + y;
    if (i < n && j < n && is_stored(i, j)) tile[y][x] = stored.data[i + j * stored.ld];
  }
  __syncthreads();
  const bool is_on_diagonal = row == column;
  for (auto y = static_cast<int>(threadIdx.y); y < kTile; y += kColumnsAtOnce) {
    const std::int64_t i = i_first + x;
    const std::int64_t j = j_first + y;
    if (i < n && j < n) {
      T value = is_stored(i, j) ? tile[y][x] : mirrored(tile[x][y], stored.is_hermitian);
      if constexpr (kIsComplex<T>) {
        if (stored.is_hermitian && i == j) value = T(value.real(), 0);
      }
      full[i + j * n] = value;
    }
    if (!is_on_diagonal && j_first + x < n && i_first + y < n)
      full[j_first + x + (i_first + y) * n] = mirrored(tile[x][y], stored.is_hermitian);
  }
}

}  // namespace

template <class T>
Status write_out(const StoredTriangle<T>& stored, T* full, product::Queue queue) {
  const auto tiles = static_cast<std::uint32_t>(base::ceil_div(stored.order, std::int64_t{kTile}));
  return base::launch_overlapped("a symmetric matrix in full", write_out_kernel<T>,
                                 dim3(base::triangular(tiles - 1) + tiles), dim3(kTile, kColumnsAtOnce), 0, queue,
                                 stored, full);
}

#define KIZAMI_INSTANTIATE(T) template Status write_out<T>(const StoredTriangle<T>&, T*, product::Queue)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::device
