// SPDX-License-Identifier: MIT
// Residue planes on the device, in integer arithmetic. An element becomes a two's complement integer of some words, biased
// so that all its bytes are unsigned; a residue is a dot product of those bytes with the residues of 256^i (dp4a), reduced
// once:
//   X = sum_i byte_i 256^i - 2^(32 words - 1),   X mod p = reduce(sum_i byte_i (256^i mod p) - (2^(32 words - 1) mod p)).
// The sums are below 2^22 in magnitude, so they are formed as the fraction of a float, 1.5 2^23 + x, and the quotient
// rint(x / p) takes two FP32 operations. See residue_byte().
#include <algorithm>
#include <array>

#include "base/cuda_status.hpp"
#include "base/int_math.hpp"
#include "num/modular.hpp"
#include "num/moduli.hpp"
#include "num/scaling.hpp"
#include "split/device.hpp"
#include "split/device_line.cuh"
#include "split/residues.hpp"

namespace kizami::split {
namespace {

using device::Element;

constexpr int kMaxWords = 6;  // 191 bits and a sign: more than kMaxIntegerBits

/// The bits of the float 1.5 2^23 + x are kMagicBits + x for integers |x| < 2^22.
constexpr std::int32_t kMagicBits = 0x4B400000;
constexpr float kMagic = 12582912.0F;

/// What one modulus needs: packed residues of 256^i, of root times 256^i for complex moduli, and the reduction.
struct ModulusRow {
  std::int32_t p = 0;
  float inverse = 0;
  std::int32_t bias[kMaxWords + 1] = {};       ///< -(2^(32 words - 1)) mod p, by number of words
  std::int32_t root_bias[kMaxWords + 1] = {};  ///< the same times root
  std::uint32_t radix[kMaxWords] = {};         ///< 256^i mod p, four to a word
  std::uint32_t root_radix[kMaxWords] = {};    ///< root 256^i mod p
};

[[nodiscard]] constexpr std::uint32_t packed_radix(int word, int factor, int p) {
  std::uint32_t packed = 0;
  for (int i = 0; i < 4; ++i) {
    const int r =
        num::symmetric_residue(static_cast<std::int64_t>(num::power_of_two_residue(8 * (4 * word + i), p)) * factor, p);
    packed |= (static_cast<std::uint32_t>(r) & 255u) << (8 * i);
  }
  return packed;
}

[[nodiscard]] constexpr ModulusRow modulus_row(int p, int root) {
  ModulusRow row;
  row.p = p;
  row.inverse = 1.0F / static_cast<float>(p);
  for (int words = 1; words <= kMaxWords; ++words) {
    const int top = num::power_of_two_residue(32 * words - 1, p);
    row.bias[words] = num::symmetric_residue(-top, p);
    row.root_bias[words] = num::symmetric_residue(static_cast<std::int64_t>(-top) * root, p);
  }
  for (int word = 0; word < kMaxWords; ++word) {
    row.radix[word] = packed_radix(word, 1, p);
    row.root_radix[word] = packed_radix(word, root, p);
  }
  return row;
}

template <std::size_t N>
[[nodiscard]] constexpr std::array<ModulusRow, N> modulus_rows(const std::array<std::int16_t, N>& moduli) {
  std::array<ModulusRow, N> rows{};
  for (std::size_t l = 0; l < N; ++l) rows[l] = modulus_row(moduli[l], num::sqrt_minus_one(moduli[l]));
  return rows;
}

__constant__ constexpr auto kRealRows = modulus_rows(num::kRealModuli);
__constant__ constexpr auto kComplexRows = modulus_rows(num::kComplexModuli);

/// Unsigned bytes of x times signed bytes of y, added to sum.
[[nodiscard]] __device__ int dot_bytes(std::uint32_t x, std::uint32_t y, int sum) {
  int result;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
  return result;
}

/// The symmetric residue of x in the low byte, from kMagicBits + x. q = rint(x / p (1 + d)) with |d| < 2^-23: for odd p
/// the error |x d / p| < 2^21 / p 2^-23 is less than the 1 / (2p) that x / p keeps from every half, so x - p q is the
/// symmetric residue; p = 256: it is its low byte, whatever q. The magic numbers leave the low bytes alone.
[[nodiscard]] __device__ std::uint32_t residue_byte(int magic_x, const ModulusRow& row) {
  const float q = __fmaf_rn(__int_as_float(magic_x) - kMagic, row.inverse, kMagic);
  return static_cast<std::uint32_t>(magic_x) - static_cast<std::uint32_t>(row.p) * __float_as_uint(q);
}

/// The biased integer rint(+-m 2^shift) + 2^(32 kWords - 1). @range |m 2^shift| < 2^(32 kWords - 1)
template <int kWords>
struct Integer {
  std::uint32_t word[kWords];

  __device__ Integer(bool is_negative, std::uint64_t m, int shift) {
    if (shift < 0) {  // to nearest, ties to even
      const int drop = -shift;
      if (drop > 63) {
        m = 0;
      } else {
        const std::uint64_t kept = m >> drop;
        const std::uint64_t rest = m << (64 - drop);
        constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
        m = kept + (rest > kHalf || (rest == kHalf && (kept & 1) != 0) ? 1 : 0);
      }
      shift = 0;
    }
    for (int w = 0; w < kWords; ++w) word[w] = 0;
    if constexpr (kWords == 2) {
      m <<= shift;
      word[0] = static_cast<std::uint32_t>(m);
      word[1] = static_cast<std::uint32_t>(m >> 32);
    } else {
      const int first = shift / 32;
      const int bits = shift % 32;
      const std::uint64_t low = m << bits;
      const auto high = static_cast<std::uint32_t>(bits == 0 ? 0 : m >> (64 - bits));
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        if (w == first) word[w] = static_cast<std::uint32_t>(low);
        if (w == first + 1) word[w] = static_cast<std::uint32_t>(low >> 32);
        if (w == first + 2) word[w] = high;
      }
    }
    if (is_negative) {
      std::uint64_t carry = 1;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        carry += static_cast<std::uint32_t>(~word[w]);
        word[w] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    word[kWords - 1] ^= 0x80000000u;
  }

  /// Of x itself. @range |x| < 2^62
  __device__ explicit Integer(double x) requires(kWords == 2) {
    const auto whole = static_cast<std::uint64_t>(__double2ll_rn(x));
    word[0] = static_cast<std::uint32_t>(whole);
    word[1] = static_cast<std::uint32_t>(whole >> 32) ^ 0x80000000u;
  }

  [[nodiscard]] __device__ int dot(const std::uint32_t* radix, int sum) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) sum = dot_bytes(word[w], radix[w], sum);
    return sum;
  }
};

[[nodiscard]] __device__ std::uint32_t pack_bytes(const std::uint32_t (&r)[4]) {
  return __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410);
}

/// Bytes of four elements modulo one real modulus.
template <int kWords>
__device__ void write_real(const Integer<kWords> (&x)[4], const ModulusRow& row, std::int8_t* out) {
  std::uint32_t r[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) r[i] = residue_byte(x[i].dot(row.radix, kMagicBits + row.bias[kWords]), row);
  *reinterpret_cast<std::uint32_t*>(out) = pack_bytes(r);
}

/// Modulo one complex modulus: two planes with a root of -1, three without.
template <int kWords, bool kHasRoot>
__device__ void write_complex(const Integer<kWords> (&re)[4], const Integer<kWords> (&im)[4], const ModulusRow& row,
                              std::int8_t* out, std::int64_t plane_stride) {
  std::uint32_t r[3][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int real = re[i].dot(row.radix, kMagicBits + row.bias[kWords]);
    const int imag =
        kHasRoot ? im[i].dot(row.root_radix, row.root_bias[kWords]) : im[i].dot(row.radix, row.bias[kWords]);
    r[0][i] = residue_byte(kHasRoot ? real + imag : real, row);
    r[1][i] = residue_byte(kHasRoot ? real - imag : kMagicBits + imag, row);
    r[2][i] = kHasRoot ? 0 : residue_byte(real + imag, row);
  }
#pragma unroll
  for (int plane = 0; plane < (kHasRoot ? 2 : 3); ++plane)
    *reinterpret_cast<std::uint32_t*>(out + plane * plane_stride) = pack_bytes(r[plane]);
}

/// What a block knows besides its elements.
template <class T>
struct Task {
  problem::Lines<T> lines;
  plan::DeviceLineBuffers line_buffers;
  std::int64_t first;
  std::int64_t length;
  num::Ladder ladder;
  const plan::DeviceState* state;
  DevicePlanes planes;
};

/// How the elements of a line become integers.
struct LineScaling {
  int scale = 0;
  bool is_live = false;  ///< false: zero, or not finite
  double unit = 0;       ///< 2^scale if that is far from the ends of the range and the line is live, else 0

  LineScaling() = default;
  __device__ LineScaling(int line_scale, bool is_line_live) : scale(line_scale), is_live(is_line_live) {
    if (is_live && abs(scale) <= 1000) unit = num::power_of_two(scale);
  }
};

/// Writes the bytes of four neighbouring elements to every plane.
template <class T, int kWords>
__device__ void write_planes(const Element<T> (&elements)[4], bool is_conjugated, const LineScaling& scaling,
                             const std::int32_t* inner_shift, int num_moduli, std::int8_t* out,
                             std::int64_t plane_stride) {
  [[maybe_unused]] const bool is_one_product = inner_shift == nullptr && scaling.unit != 0.0;
  const auto integer = [&](int i, int t) {
    double x = elements[i].term[t];
    if (t == 1 && is_conjugated) x = -x;
    if constexpr (kWords == 2) {
      // A product that underflows is rounded to zero either way.
      if (is_one_product) return Integer<2>(__dmul_rn(x, scaling.unit));
    }
    const device::Term term = device::term_of(scaling.is_live ? device::magnitude_bits(x) : 0);
    if (term.mantissa == 0) return Integer<kWords>(false, 0, 0);
    const int shift = inner_shift == nullptr ? 0 : inner_shift[i];
    return Integer<kWords>(__double_as_longlong(x) < 0, term.mantissa, term.ulp + scaling.scale + shift);
  };
  if constexpr (kIsComplex<T>) {
    const Integer<kWords> re[4] = {integer(0, 0), integer(1, 0), integer(2, 0), integer(3, 0)};
    const Integer<kWords> im[4] = {integer(0, 1), integer(1, 1), integer(2, 1), integer(3, 1)};
    // Unrolled, so that constants are operands; the count is the same for all threads.
#pragma unroll
    for (int l = 0; l < num::kTwoProductModuli; ++l) {
      if (l >= num_moduli) return;
      write_complex<kWords, true>(re, im, kComplexRows[l], out, plane_stride);
      out += 2 * plane_stride;
    }
#pragma unroll 1
    for (int l = num::kTwoProductModuli; l < num_moduli; ++l) {
      write_complex<kWords, false>(re, im, kComplexRows[l], out, plane_stride);
      out += 3 * plane_stride;
    }
  } else {
    const Integer<kWords> x[4] = {integer(0, 0), integer(1, 0), integer(2, 0), integer(3, 0)};
    constexpr int kUnrolled = kWords == kMaxWords ? 0 : 20;
#pragma unroll
    for (int l = 0; l < kUnrolled; ++l) {
      if (l >= num_moduli) return;
      write_real(x, kRealRows[l], out);
      out += plane_stride;
    }
#pragma unroll 1
    for (int l = kUnrolled; l < num_moduli; ++l) {
      write_real(x, kRealRows[l], out);
      out += plane_stride;
    }
  }
}

/// A tile of a strided operand in shared memory: element h of line i at [h][i ^ (h / 4)], so that lanes that read the same
/// line at elements 4 apart meet different banks, and a warp writes whole rows of 128 bytes.
template <class T>
struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kLength = 128;
  static constexpr int kLines = sizeof(T) == 16 ? 16 : 32;
  static constexpr int kBytes = kLength * kLines * static_cast<int>(sizeof(T));

  [[nodiscard]] __device__ static int at(int h, int i) { return h * kLines + (i ^ (h / 4 % kLines)); }
};

constexpr int kGroupTiles = 8;

/// kIsAcross: neighbouring lines are neighbours in memory, and elements go through shared memory.
template <class T, int kWords, bool kIsAcross>
__device__ void split_block(const Task<T>& task, const num::Rung& rung, bool is_equilibrated) {
  using Shape = Tile<T>;
  const problem::Lines<T>& lines = task.lines;
  const std::int32_t* const inner_shift = is_equilibrated ? task.line_buffers.inner_shift + task.first : nullptr;
  // The first block of a line publishes its scale.
  const auto scaling_of = [&](std::int64_t line, bool is_first) {
    const num::LineStats s = (is_equilibrated ? task.line_buffers.equilibrated : task.line_buffers.stats)[line];
    const LineScaling scaling{line_scale(rung, s), !s.is_zero()};
    if (is_first) task.line_buffers.scales[line] = s.is_finite ? scaling.scale : num::kSkipLine;
    return scaling;
  };
  const auto write = [&](const Element<T>(&elements)[4], const LineScaling& scaling, std::int64_t line,
                         std::int64_t h) {
    write_planes<T, kWords>(elements, lines.is_conjugated, scaling, inner_shift == nullptr ? nullptr : inner_shift + h,
                            rung.num_moduli, task.planes.data + line * task.planes.row_stride + h,
                            task.planes.plane_stride);
  };
  if constexpr (kIsAcross) {
    __shared__ LineScaling scalings[Shape::kLines];
    extern __shared__ __align__(16) unsigned char memory[];
    T* const tile = reinterpret_cast<T*>(memory);
    // Blocks that run at the same time take long pieces of memory together, both of the operand and of a plane: some tiles
    // side by side, all of their lines' length.
    const std::int64_t tiles_i = base::ceil_div(lines.num_lines, static_cast<std::int64_t>(Shape::kLines));
    const std::int64_t tiles_h = base::ceil_div(task.planes.row_stride, static_cast<std::int64_t>(Shape::kLength));
    const std::int64_t group = blockIdx.x / (kGroupTiles * tiles_h);
    const std::int64_t width = min(static_cast<std::int64_t>(kGroupTiles), tiles_i - group * kGroupTiles);
    const std::int64_t place = blockIdx.x - group * kGroupTiles * tiles_h;
    const std::int64_t tile_h = place / width;
    const std::int64_t first_line = (group * kGroupTiles + place % width) * Shape::kLines;
    const std::int64_t h0 = tile_h * Shape::kLength;
    if (threadIdx.x < Shape::kLines && first_line + threadIdx.x < lines.num_lines)
      scalings[threadIdx.x] = scaling_of(first_line + threadIdx.x, tile_h == 0);
    const int i0 = static_cast<int>(threadIdx.x) % Shape::kLines;
    const int first_h = static_cast<int>(threadIdx.x) / Shape::kLines;
    constexpr int kRows = Shape::kThreads / Shape::kLines;
    // Rows of this tile that are there, for a line that is there.
    const std::int64_t rest = task.length - h0;
    const int rows = first_line + i0 >= lines.num_lines || rest <= 0
                         ? 0
                         : static_cast<int>(min(rest, static_cast<std::int64_t>(Shape::kLength)));
    const T* element =
        lines.data + (first_line + i0) * lines.line_stride + (task.first + h0 + first_h) * lines.inner_stride;
    const std::int64_t step = kRows * lines.inner_stride;
#pragma unroll 8
    for (int h = first_h; h < Shape::kLength; h += kRows, element += step) {
      T x{};
      if (h < rows) x = *element;
      tile[Shape::at(h, i0)] = x;
    }
    __syncthreads();
    const int quad = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t h = h0 + 4 * quad;
    for (int i = static_cast<int>(threadIdx.x) / 32; i < Shape::kLines; i += Shape::kThreads / 32) {
      if (first_line + i >= lines.num_lines || h >= task.planes.row_stride) continue;
      Element<T> elements[4];
      for (int e = 0; e < 4; ++e) elements[e] = device::load_element(tile + Shape::at(4 * quad + e, i));
      write(elements, scalings[i], first_line + i, h);
    }
  } else {
    __shared__ LineScaling block_scaling;
    const std::int64_t line = blockIdx.y + static_cast<std::int64_t>(blockIdx.z) * gridDim.y;
    const std::int64_t h = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) * 4;
    if (line >= lines.num_lines) return;
    Element<T> elements[4];
    const T* const data = lines.data + line * lines.line_stride + (task.first + h) * lines.inner_stride;
    if (std::is_same_v<T, double> && lines.inner_stride == 1 && h + 4 <= task.length &&
        reinterpret_cast<std::uintptr_t>(data) % 16 == 0) {
      const double2 low = reinterpret_cast<const double2*>(data)[0];
      const double2 high = reinterpret_cast<const double2*>(data)[1];
      elements[0].term[0] = low.x;
      elements[1].term[0] = low.y;
      elements[2].term[0] = high.x;
      elements[3].term[0] = high.y;
    } else {
      for (int e = 0; e < 4; ++e) {
        elements[e] = Element<T>{};
        if (h + e < task.length) elements[e] = device::load_element(data + e * lines.inner_stride);
      }
    }
    if (threadIdx.x == 0) block_scaling = scaling_of(line, blockIdx.x == 0);
    __syncthreads();
    if (h < task.planes.row_stride) write(elements, block_scaling, line, h);
  }
}

template <class T, bool kIsAcross>
__global__ void __launch_bounds__(256, kIsAcross && !kIsComplex<T> ? 6 : 1)
    split_residues(const __grid_constant__ Task<T> task) {
  const num::Selection selection = task.state->selection;
  if (selection.rung < 0 || task.state->is_scaling_only != 0) return;
  const num::Rung& rung = task.ladder.rungs[selection.rung];
  // |X| < 2^(bits + 1) with 2^bits <= norm_limit, because the largest element of a line counts at least 1.
  const int bits = num::floor_log2(rung.norm_limit) + 2;
  if (bits <= 63) {
    split_block<T, 2, kIsAcross>(task, rung, selection.equilibrated);
  } else if (bits <= 95) {
    split_block<T, 3, kIsAcross>(task, rung, selection.equilibrated);
  } else {
    split_block<T, kMaxWords, kIsAcross>(task, rung, selection.equilibrated);
  }
}

}  // namespace

template <class T>
Status device_residue_planes(const problem::Lines<T>& lines, const plan::DeviceLineBuffers& line_buffers,
                             std::int64_t first, std::int64_t length, const num::Ladder& ladder,
                             const plan::DeviceState* state, const DevicePlanes& planes, product::Queue queue) {
  if (lines.num_lines == 0) return {};
  const Task<T> task{lines, line_buffers, first, length, ladder, state, planes};
  using Shape = Tile<T>;
  if (lines.inner_stride > lines.line_stride && lines.num_lines > 1) {
    const std::int64_t tiles = base::ceil_div(lines.num_lines, static_cast<std::int64_t>(Shape::kLines)) *
                               base::ceil_div(planes.row_stride, static_cast<std::int64_t>(Shape::kLength));
    split_residues<T, true><<<static_cast<unsigned>(tiles), Shape::kThreads, Shape::kBytes, queue>>>(task);
  } else {
    const std::int64_t quads = base::ceil_div(planes.row_stride, 4);
    const int threads = quads >= 256 ? 256 : quads > 64 ? 128 : 64;
    constexpr std::int64_t kMaxGridY = 65535;
    const std::int64_t z = base::ceil_div(lines.num_lines, kMaxGridY);
    const dim3 grid(static_cast<unsigned>(base::ceil_div(quads, threads)),
                    static_cast<unsigned>(base::ceil_div(lines.num_lines, z)), static_cast<unsigned>(z));
    split_residues<T, false><<<grid, static_cast<unsigned>(threads), 0, queue>>>(task);
  }
  return base::launch_status("split_residues");
}

#define KIZAMI_INSTANTIATE(T)                                                                                      \
  template Status device_residue_planes<T>(const problem::Lines<T>&, const plan::DeviceLineBuffers&, std::int64_t, \
                                           std::int64_t, const num::Ladder&, const plan::DeviceState*,             \
                                           const DevicePlanes&, product::Queue)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::split
