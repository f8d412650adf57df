// SPDX-License-Identifier: MIT
// The CRT kernel. A thread takes four neighbouring elements of a column: one word of each residue plane. Bytes are
// transposed, so that the residues of an element lie in words of four; then, two elements at a time and limb by limb of
// 32 bits,
//   X = sum_b 2^(8b) (sum_q r_q byte_b(W_q)) - Q P,   Q = rint(X / P) from the leading 64 bits,
// where the inner sums are dot products of bytes (dp4a). Q is within 1/2 + 2^-18 of X / P, so one comparison with
// (P - 1) / 2 and at most one further P settle the sign. The integer is rounded once, to 53 bits.
#pragma once

#include <algorithm>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "num/line_stats.hpp"
#include "num/scaled.hpp"
#include "reconstruct/device.hpp"

namespace kizami::reconstruct::device {

inline constexpr int kThreads = 256;

/// Signed bytes of x times unsigned bytes of y, added to sum.
[[nodiscard]] __device__ inline int dot_bytes(std::uint32_t x, std::uint32_t y, int sum) {
  int result;
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
  return result;
}

/// Bytes i of four words become word i.
__device__ inline void transpose_bytes(std::uint32_t (&w)[4]) {
  const std::uint32_t low01 = __byte_perm(w[0], w[1], 0x5140);
  const std::uint32_t low23 = __byte_perm(w[2], w[3], 0x5140);
  const std::uint32_t high01 = __byte_perm(w[0], w[1], 0x7362);
  const std::uint32_t high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

/// Rounds (-1)^is_negative magnitude to 53 bits.
template <int kLimbs>
[[nodiscard]] __device__ num::Scaled round_limbs(bool is_negative, const std::uint32_t (&magnitude)[kLimbs]) {
  // The three limbs from the highest that is not zero, and whether anything lies below them.
  std::uint32_t a = 0, b = 0, c = 0, below = 0, rest = 0;
  int top = 0;
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {
    if (limb >= 3) rest |= magnitude[limb - 3];
    if (magnitude[limb] == 0) continue;
    top = limb;
    a = magnitude[limb];
    b = limb >= 1 ? magnitude[limb - 1] : 0;
    c = limb >= 2 ? magnitude[limb - 2] : 0;
    below = rest;
  }
  if (a == 0) return {};
  const int zeros = __clz(static_cast<int>(a));
  const std::uint32_t high = __funnelshift_l(b, a, zeros);
  std::uint32_t low = __funnelshift_l(c, b, zeros);
  if (((c << zeros) | below) != 0) low |= 1;  // 64 bits, the last one sticky: eleven more than are kept
  const double value = __ull2double_rn(static_cast<std::uint64_t>(high) << 32 | low) * 0x1p-11;
  return {is_negative ? -value : value, 32 * (top - 1) - zeros + 11};
}

/// The integers of the first kTogether elements of residues r[element][word], rounded.
inline constexpr int kTogether = 2;
template <int kLimbs, int kWords>
__device__ void rebuild(const std::uint32_t (&r)[4][kWords], const std::uint32_t* weight, const DeviceCrtTable& table,
                        num::Scaled (&p)[kTogether]) {
  std::uint32_t x[kTogether][kLimbs];
  std::int64_t carry[kTogether] = {};
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb) {
    int sum[kTogether][4] = {};
#pragma unroll
    for (int byte = 0; byte < 4; ++byte) {
      if (4 * limb + byte >= table.num_bytes) continue;
      const std::uint32_t* const w = weight + (4 * limb + byte) * kWords;
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        const std::uint32_t bytes = w[word];
#pragma unroll
        for (int e = 0; e < kTogether; ++e) sum[e][byte] = dot_bytes(r[e][word], bytes, sum[e][byte]);
      }
    }
#pragma unroll
    for (int e = 0; e < kTogether; ++e) {
      const int low = sum[e][0] + sum[e][1] * 256;
      const int high = sum[e][2] + sum[e][3] * 256;
      carry[e] += static_cast<std::int64_t>(high) * 65536 + low;
      x[e][limb] = static_cast<std::uint32_t>(carry[e]);
      carry[e] >>= 32;
    }
  }
#pragma unroll
  for (int e = 0; e < kTogether; ++e) {
    const auto leading = static_cast<std::int64_t>(static_cast<std::uint64_t>(x[e][kLimbs - 1]) << 32 | x[e][kLimbs - 2]);
    const int q = __double2int_rn(__ll2double_rn(leading) * table.quotient);
    std::int64_t rest = 0;
#pragma unroll
    for (int limb = 0; limb < kLimbs; ++limb) {
      rest += static_cast<std::int64_t>(x[e][limb]) - static_cast<std::int64_t>(q) * table.product[limb];
      x[e][limb] = static_cast<std::uint32_t>(rest);
      rest >>= 32;
    }
    bool is_negative = (x[e][kLimbs - 1] >> 31) != 0;
    // Negated where negative; then half - magnitude < 0 asks for P - magnitude.
    std::int64_t borrow = 0;
    std::uint64_t plus = is_negative ? 1 : 0;
    const std::uint32_t flip = is_negative ? ~0u : 0u;
#pragma unroll
    for (int limb = 0; limb < kLimbs; ++limb) {
      plus += x[e][limb] ^ flip;
      x[e][limb] = static_cast<std::uint32_t>(plus);
      plus >>= 32;
      borrow += static_cast<std::int64_t>(table.half[limb]) - x[e][limb];
      borrow >>= 32;
    }
    if (borrow < 0) {
      std::int64_t difference = 0;
#pragma unroll
      for (int limb = 0; limb < kLimbs; ++limb) {
        difference += static_cast<std::int64_t>(table.product[limb]) - x[e][limb];
        x[e][limb] = static_cast<std::uint32_t>(difference);
        difference >>= 32;
      }
      is_negative = !is_negative;
    }
    p[e] = round_limbs<kLimbs>(is_negative, x[e]);
  }
}

/// Residues of four elements from `at`, transposed.
template <int kWords>
__device__ void load_residues(const std::int8_t* at, std::int64_t plane_stride, int num_planes,
                              std::uint32_t (&r)[4][kWords]) {
  std::uint32_t words[4 * kWords];
#pragma unroll
  for (int q = 0; q < 4 * kWords; ++q) {
    words[q] = q < num_planes ? *reinterpret_cast<const std::uint32_t*>(at + q * plane_stride) : 0;
  }
#pragma unroll
  for (int word = 0; word < kWords; ++word) {
    std::uint32_t w[4] = {words[4 * word], words[4 * word + 1], words[4 * word + 2], words[4 * word + 3]};
    transpose_bytes(w);
    for (int e = 0; e < 4; ++e) r[e][word] = w[e];
  }
}

/// Stores four neighbouring elements; those not wanted keep what they are.
template <class T>
__device__ void store(const MatrixView<T>& c, std::int64_t i, std::int64_t j, const T (&value)[4], unsigned wanted) {
  T* const out = c.data + i * c.row_stride + j * c.col_stride;
  if constexpr (sizeof(T) == 8) {
    if (wanted == 15u && c.row_stride == 1 && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
      double2 pair[2];
      for (int e = 0; e < 2; ++e) {
        pair[e].x = bit_cast<double>(value[2 * e]);
        pair[e].y = bit_cast<double>(value[2 * e + 1]);
        reinterpret_cast<double2*>(out)[e] = pair[e];
      }
      return;
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if ((wanted >> e & 1) != 0) out[e * c.row_stride] = value[e];
  }
}

/// The rounded integers of four elements; `weight` holds the weights of the parts one after another.
template <int kParts, int kLimbs>
__device__ void rebuild_quad(const std::int8_t* at, std::int64_t plane_stride, const DeviceCrtTable* tables,
                             const std::uint32_t* weight, num::Scaled (&p)[kParts][4]) {
  constexpr int kWords = device_words(kParts == 2, kLimbs);
  std::uint32_t r[4][kWords];
  load_residues<kWords>(at, plane_stride, tables[0].num_planes, r);
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {  // a loop for the sake of registers and code: what it reads and writes moves
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      num::Scaled rebuilt[kTogether];
      rebuild<kLimbs, kWords>(r, weight + part * 4 * kLimbs * kWords, tables[part], rebuilt);
      for (int e = 0; e < 2; ++e) {
        p[part][e] = p[part][e + 2];
        p[part][e + 2] = rebuilt[e];
      }
    }
    for (int word = 0; word < kWords; ++word) {
      r[0][word] = r[2][word];
      r[1][word] = r[3][word];
    }
  }
}

/// kMostLimbs: what the rungs of the ladder need at most.
template <class T, int kMostLimbs>
__device__ void reconstruct_block(const DeviceReconstruction<T>& task, const DeviceCrtTable* tables,
                                  std::uint32_t* shared) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  const int limbs = tables->num_limbs;
  const int words = device_words(kIsComplex<T>, limbs);
  const int part_words = 4 * limbs * words;
  for (int at = static_cast<int>(threadIdx.x); at < kParts * part_words; at += kThreads)
    shared[at] = tables[at / part_words].weight[at % part_words / words][at % words];
  __syncthreads();
  const T alpha = task.alpha.load();
  const T beta = task.beta.load();
  const bool has_repairs = task.state->num_repairs != 0;
  const std::int64_t quads = base::ceil_div(task.c.rows, 4);
  const std::int64_t total = quads * task.c.cols;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; at < total; at += step) {
    const std::int64_t j = at / quads;
    const std::int64_t i = (at - j * quads) * 4;
    const int col_scale = task.col_scale[j];
    if (col_scale == num::kSkipLine) continue;
    num::Scaled p[kParts][4];
    const std::int8_t* const residues = task.planes.data + j * task.planes.col_stride + i;
    const auto rebuild_with = [&](auto num_limbs) {
      if constexpr (num_limbs.value <= kMostLimbs)
        rebuild_quad<kParts, num_limbs.value>(residues, task.planes.plane_stride, tables, shared, p);
    };
    switch (limbs) {
      case 2:
        rebuild_with(std::integral_constant<int, 2>{});
        break;
      case 3:
        rebuild_with(std::integral_constant<int, 3>{});
        break;
      case 4:
        rebuild_with(std::integral_constant<int, 4>{});
        break;
      case 5:
        rebuild_with(std::integral_constant<int, 5>{});
        break;
      case 6:
        rebuild_with(std::integral_constant<int, 6>{});
        break;
      case 7:
        rebuild_with(std::integral_constant<int, 7>{});
        break;
      default:
        rebuild_with(std::integral_constant<int, kDeviceLimbs>{});
    }
    unsigned wanted = 0;
    T value[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const std::int64_t row = i + e;
      const int row_scale = row < task.c.rows ? task.row_scale[row] : num::kSkipLine;
      bool is_wanted = row_scale != num::kSkipLine;
      if (has_repairs && is_wanted) {
        const std::int64_t bit = task.first_row + row;
        is_wanted = (task.repair_bits[(task.first_col + j) * task.bits_stride + bit / 32] >> (bit % 32) & 1) == 0;
      }
      value[e] = T{0};
      if (!is_wanted) continue;
      wanted |= 1u << e;
      const T old = beta == T{0} ? T{0} : task.c(row, j);
      for (int part = 0; part < kParts; ++part) p[part][e].exponent -= row_scale + col_scale;
      if constexpr (kIsComplex<T>) {
        value[e] = num::finish(num::ScaledComplex{p[0][e], p[1][e]}, alpha, beta, old);
      } else {
        value[e] = num::finish(p[0][e], alpha, beta, old);
      }
    }
    store(task.c, i, j, value, wanted);
  }
}

template <class T>
__device__ void scale_all(const MatrixView<T>& c, T beta) {
  const std::int64_t total = c.rows * c.cols;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; at < total; at += step) {
    const std::int64_t j = at / c.rows;
    T& out = c(at - j * c.rows, j);
    out = beta == T{0} ? T{0} : num::scale_by(beta, out);
  }
}

template <class T>
__global__ void scale_kernel(MatrixView<T> c, Factor<T> beta) {
  scale_all(c, beta.load());
}

template <class T, int kMostLimbs>
__global__ void __launch_bounds__(kThreads) reconstruct_kernel(const __grid_constant__ DeviceReconstruction<T> task) {
  constexpr int kParts = kIsComplex<T> ? 2 : 1;
  __shared__ __align__(16) std::uint32_t shared[kParts * 4 * kMostLimbs * device_words(kIsComplex<T>, kMostLimbs)];
  if (task.state->is_scaling_only != 0) {
    scale_all(task.c, task.beta.load());
    return;
  }
  const int rung = task.state->selection.rung;
  if (rung < 0) return;
  const int count = task.ladder.rungs[rung].num_moduli - num::kMinModuli;
  reconstruct_block<T, kMostLimbs>(task, task.tables + kParts * count, shared);
}

}  // namespace kizami::reconstruct::device

namespace kizami::reconstruct {

template <class T>
Status reconstruct_device(const DeviceReconstruction<T>& task, int num_sms, product::Queue queue) {
  if (task.c.rows == 0 || task.c.cols == 0) return {};
  const std::int64_t blocks = base::ceil_div(base::ceil_div(task.c.rows, 4) * task.c.cols, device::kThreads);
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks, 16 * std::int64_t{num_sms}));
  const int most = task.ladder.rungs[task.ladder.num_rungs - 1].num_moduli;
  const auto launch = [&](auto limbs) {
    device::reconstruct_kernel<T, limbs.value><<<grid, device::kThreads, 0, queue>>>(task);
  };
  // Most moduli of so many limbs; device_tables_test.cpp checks them.
  if (most <= (kIsComplex<T> ? 15 : 14)) {
    launch(std::integral_constant<int, 4>{});
  } else if (kIsComplex<T> || most <= 26) {
    launch(std::integral_constant<int, 7>{});
  } else if constexpr (!kIsComplex<T>) {
    launch(std::integral_constant<int, kDeviceLimbs>{});
  }
  return base::launch_status("reconstruct_kernel");
}

template <class T>
Status scale_device(Factor<T> beta, MatrixView<T> c, product::Queue queue) {
  const std::int64_t blocks = base::ceil_div(c.rows * c.cols, device::kThreads);
  if (blocks == 0) return {};
  device::scale_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 4096)), device::kThreads, 0, queue>>>(c,
                                                                                                                 beta);
  return base::launch_status("scale_kernel");
}

}  // namespace kizami::reconstruct

/// In one file for each type: together they take a minute to compile.
#define KIZAMI_INSTANTIATE_DEVICE_CRT(T)                                                                          \
  template ::kizami::Status kizami::reconstruct::reconstruct_device<T>(const DeviceReconstruction<T>&, int,      \
                                                                       ::kizami::product::Queue);                \
  template ::kizami::Status kizami::reconstruct::scale_device<T>(::kizami::Factor<T>, ::kizami::MatrixView<T>,   \
                                                                 ::kizami::product::Queue)
