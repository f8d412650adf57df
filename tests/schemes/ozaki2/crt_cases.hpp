// SPDX-License-Identifier: MIT
// Residue planes of integers at which a reconstruction turns, and of any residues at all, in both rings.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "num/crt_table.hpp"
#include "num/modular.hpp"

namespace kizami::tests {

struct SignedInt {
  num::CrtInt magnitude;
  bool is_negative = false;
};

/// Residues of a block as engines store them; see ozaki2::ResiduePlanes.
struct CrtBlock {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t col_stride = 0;
  [[nodiscard]] std::int64_t plane_stride() const { return col_stride * cols; }
};

[[nodiscard]] inline int residue_of(const SignedInt& x, int p) {
  const auto rest = static_cast<int>(num::div_small(x.magnitude, static_cast<std::uint64_t>(p)).remainder);
  return x.is_negative ? -rest : rest;
}

/// Integers of at most (P - 1) / 2 where something turns.
[[nodiscard]] inline SignedInt special_integer(std::mt19937_64& rng, const num::CrtInt& half) {
  using num::CrtInt;
  SignedInt x{half, rng() % 2 == 0};
  const int width = num::bit_width(half);
  const auto below = [&](int count) { return static_cast<int>(rng() % static_cast<unsigned>(count)); };
  switch (rng() % 6) {
    case 0:  // the ends, and what lies within a hair of them
      x.magnitude = num::sub(half, CrtInt(rng() % 3));
      break;
    case 1:
      x.magnitude = num::sub(half, num::shift_right(half, below(width)));
      break;
    case 2:
      x.magnitude = num::shift_right(half, below(width + 1));
      break;
    case 3: {  // ties of the rounding to 53 bits, of many or few ones, and their neighbours near and far
      if (width > 56) {
        const CrtInt tie((rng() >> (rng() % 2 == 0 ? 11 : 60) | std::uint64_t{1} << 52) << 1 | 1);
        const int shift = below(width - 55);
        x.magnitude = num::shift_left(tie, shift);
        const CrtInt beside = num::shift_left(CrtInt(1), rng() % 2 == 0 ? 0 : below(shift + 1));
        if (rng() % 2 == 0)
          x.magnitude = rng() % 2 == 0 ? num::add(x.magnitude, beside) : num::sub(x.magnitude, beside);
        break;
      }
      [[fallthrough]];
    }
    case 4: {  // sums and differences of a few powers of two: pieces that are zero, or cancel the one above
      x.magnitude = num::shift_left(CrtInt(1), below(width));
      for (int left = below(4); left > 0; --left) {
        const CrtInt term = num::shift_left(CrtInt(1), below(width));
        const bool is_sum = rng() % 2 == 0 || num::less(x.magnitude, term);
        x.magnitude = is_sum ? num::add(x.magnitude, term) : num::sub(x.magnitude, term);
      }
      break;
    }
    default:
      x.magnitude = CrtInt(rng() % 100);
      break;
  }
  if (num::less(half, x.magnitude)) x.magnitude = half;
  return x;
}

/// Half of the elements are special_integer(), the others have any residues; padding has any bytes.
[[nodiscard]] inline std::vector<std::int8_t> make_crt_planes(std::mt19937_64& rng, num::Ring ring, int count,
                                                              const CrtBlock& block) {
  const num::CrtTable& table = num::crt_table(ring, count);
  std::vector<std::int8_t> planes(static_cast<std::size_t>(block.plane_stride() * table.num_planes));
  for (std::int8_t& byte : planes) byte = static_cast<std::int8_t>(rng());
  for (std::int64_t j = 0; j < block.cols; ++j) {
    for (std::int64_t i = 0; i < block.rows; ++i) {
      // Of few moduli, residues at random may be those of P / 2, which has no sign.
      if (count > 4 && rng() % 2 == 0) continue;
      const SignedInt re = special_integer(rng, table.half_wide);
      const SignedInt im = special_integer(rng, table.half_wide);
      for (int l = 0; l < count; ++l) {
        const int p = num::modulus(ring, l);
        const int root = num::sqrt_minus_one(p);
        std::int64_t plane[3] = {residue_of(re, p), 0, 0};
        if (ring == num::Ring::kComplex && l < num::kTwoProductModuli) {
          plane[0] = residue_of(re, p) + root * residue_of(im, p);
          plane[1] = residue_of(re, p) - root * residue_of(im, p);
        } else if (ring == num::Ring::kComplex) {
          const auto any = static_cast<std::int64_t>(rng() % 256);
          plane[0] = residue_of(re, p) + any;
          plane[1] = any;
          plane[2] = residue_of(re, p) + residue_of(im, p) + 2 * any;
        }
        for (int q = 0; q < num::planes_of_modulus(ring, l); ++q) {
          const std::int64_t at = (num::num_planes(ring, l) + q) * block.plane_stride() + j * block.col_stride + i;
          planes[static_cast<std::size_t>(at)] = static_cast<std::int8_t>(num::symmetric_residue(plane[q], p));
        }
      }
    }
  }
  return planes;
}

}  // namespace kizami::tests
