// SPDX-License-Identifier: MIT
#include "certify/certificate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "certify/digits.hpp"
#include "product/launch.hpp"

namespace kizami::certify {
namespace {

using base::ceil_div;
using base::round_up;
using problem::kTerms;

constexpr std::int64_t kStripes = 16;

/// Sums products of digit rows of one tile into buffers.sums[y * kSampledTile + x], pieces of k at a time.
Status sum_digit_products(const CertificatePlan& plan, const CertificateBuffers& buffers, const std::int8_t* a,
                          const std::int8_t* b, std::int64_t num_i, std::int64_t num_j, std::int64_t length) {
  const int threads = plan.threads;
  for (std::int64_t h = 0; h < length; h += product::kBlockMaxI8) {
    const product::ProductDesc desc =
        sampled_product(plan.shape, num_i, num_j, std::min(product::kBlockMaxI8, length - h));
    KIZAMI_RETURN_IF_ERROR(product::launch(*plan.engine, plan.facts, desc, {a + h, b + h, buffers.acc},
                                           {buffers.engine, buffers.engine_bytes}));
    base::parallel_for(num_j, threads, [&](std::int64_t y, int) {
      std::uint64_t* const sums = buffers.sums + y * kSampledTile;
      const std::int32_t* const acc = buffers.acc + y * kSampledTile;
      for (std::int64_t x = 0; x < num_i; ++x) {
        const auto term = static_cast<std::uint32_t>(acc[x]);
        sums[x] = (h == 0 ? 0 : sums[x]) + term;
      }
    });
  }
  return {};
}

/// Sums the block products of one tile into buffers.block_sums[y * kBlockTile + x], in units of 2^(exponents of the
/// lines). A segment at a time: each begins at zero, and is added to those before it.
template <class T>
Status sum_block_products(const CertificatePlan& plan, const CertificateBuffers& buffers, const std::int8_t* b_digits,
                          std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j) {
  const std::int64_t row = digit_row(plan.shape);
  const std::int64_t num_blocks = row / kBlockTerms<T>;
  const plan::Chunk& chunk = plan.chunk;
  const int blocks_of_term = blocks_of_scale(plan.shape.k, kTerms<T>);
  static_assert(num::kSegmentBlocks % kBlocksPerLaunch == 0 && kBlocksPerLaunch % 2 == 0);
  constexpr std::int64_t kTile = kBlockTile * kBlockTile;
  for (std::int64_t first = 0; first < num_blocks; first += kBlocksPerLaunch) {
    const std::int64_t count = std::min(kBlocksPerLaunch, num_blocks - first);
    const bool begins = first % num::kSegmentBlocks == 0;
    const product::ProductDesc desc = block_product(plan.shape, num_i, num_j, count);
    const product::Pointers pointers{buffers.a_digits + i * row + first * kBlockTerms<T>,
                                     b_digits + j * row + first * kBlockTerms<T>, buffers.acc};
    KIZAMI_RETURN_IF_ERROR(
        product::launch(*plan.engine, plan.facts, desc, pointers, {buffers.engine, buffers.engine_bytes}));
    base::parallel_for(num_j, plan.threads, [&](std::int64_t y, int) {
      float* const total = buffers.block_sums + y * kBlockTile;
      float* const sums = first < num::kSegmentBlocks ? total : total + kTile;
      if (begins) std::fill_n(sums, num_i, 0.0F);
      for (std::int64_t block = 0; block < count; block += blocks_of_term) {
        std::int32_t* const acc = buffers.acc + block * kTile + y * kBlockTile;
        if (blocks_of_term == 2 && block + 1 < count) {
          for (std::int64_t x = 0; x < num_i; ++x) acc[x] += acc[kTile + x];
        }
        const float* const a_scales = buffers.a_scales + (first + block) * chunk.mc + i;
        const float b_scale = buffers.b_scales[(first + block) * chunk.nc + j + y];
        // Products below 2^22 times powers of two not below 2^-116: exact, so that each term is rounded once, in the
        // sum.
        for (std::int64_t x = 0; x < num_i; ++x) sums[x] += static_cast<float>(acc[x]) * (a_scales[x] * b_scale);
      }
      const std::int64_t end = first + count;
      if (sums == total || (end % num::kSegmentBlocks != 0 && end < num_blocks)) return;
      for (std::int64_t x = 0; x < num_i; ++x) total[x] += sums[x];
    });
  }
  return {};
}

/// Walks the digit chunks of the plan: prepares both operands' digits, then visits tiles of at most `side` lines each.
template <class MakeA, class MakeB, class VisitTile>
Status for_each_tile(const CertificatePlan& plan, std::int64_t side, const MakeA& make_a, const MakeB& make_b,
                     const VisitTile& visit) {
  const plan::Chunk& chunk = plan.chunk;
  const bool has_one_b_chunk = chunk.nc >= plan.shape.n;
  for (std::int64_t i = 0; i < plan.shape.m; i += chunk.mc) {
    const std::int64_t num_i = std::min(chunk.mc, plan.shape.m - i);
    make_a(i, num_i);
    for (std::int64_t j = 0; j < plan.shape.n; j += chunk.nc) {
      const std::int64_t num_j = std::min(chunk.nc, plan.shape.n - j);
      if (i == 0 || !has_one_b_chunk) make_b(j, num_j);
      for (std::int64_t y = 0; y < num_j; y += side) {
        for (std::int64_t x = 0; x < num_i; x += side) {
          KIZAMI_RETURN_IF_ERROR(visit(i, x, std::min(side, num_i - x), j, y, std::min(side, num_j - y)));
        }
      }
    }
  }
  return {};
}

}  // namespace

template <class T>
Status count_sampled_failures(const CertificatePlan& plan, const num::Ladder& ladder, const CertificateBuffers& buffers,
                              const CertifiedLines<T>& a, const CertifiedLines<T>& b, std::int64_t& failures) {
  const int threads = plan.threads;
  const std::int64_t row = digit_row(plan.shape);
  const std::int64_t prepared_row = round_up(plan::num_terms(plan.shape), kDigitBlock);
  const std::int64_t num_terms = plan::num_terms(plan.shape);
  const float allowance = num::sampled_allowance(ladder.rungs[0].allowance, num_terms);
  const std::int64_t stride = sample_stride(ladder.rungs[0].allowance, num_terms);
  const std::int64_t length = num_sampled_terms(plan.shape.k, kTerms<T>, stride);
  const auto make = [&](const CertifiedLines<T>& side, std::int64_t first, std::int64_t count, std::int8_t* digits) {
    if (side.sampled_digits != nullptr) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(digits + i * row, side.sampled_digits + (first + i) * prepared_row,
                    static_cast<std::size_t>(prepared_row));
      }
    } else {
      make_sampled_digits(side.lines.subset(first, count), side.stats + first, stride, threads, digits, row);
    }
  };
  const auto make_b = [&](std::int64_t j, std::int64_t count) {
    make(b, j, count, buffers.b_digits);
    if (kTerms<T> == 2) swap_parts(buffers.b_digits, count, row, threads, buffers.b_swapped);
  };
  failures = 0;
  return for_each_tile(
      plan, kSampledTile, [&](std::int64_t i, std::int64_t count) { make(a, i, count, buffers.a_digits); }, make_b,
      [&](std::int64_t i, std::int64_t x0, std::int64_t num_x, std::int64_t j, std::int64_t y0,
          std::int64_t num_y) -> Status {
        for (int part = 0; part < kTerms<T>; ++part) {
          const std::int8_t* const b_digits = part == 0 ? buffers.b_digits : buffers.b_swapped;
          KIZAMI_RETURN_IF_ERROR(sum_digit_products(plan, buffers, buffers.a_digits + x0 * row, b_digits + y0 * row,
                                                    num_x, num_y, length));
          std::array<std::int64_t, kStripes> failed{};
          base::parallel_for(kStripes, threads, [&](std::int64_t stripe, int) {
            std::int64_t count = 0;
            for (std::int64_t y = stripe; y < num_y; y += kStripes) {
              const num::RungWeight weight_b = num::weight_at(b.weights[j + y0 + y], 0);
              for (std::int64_t x = 0; x < num_x; ++x) {
                const float product_floor = static_cast<float>(buffers.sums[y * kSampledTile + x]) * 0x1p-12F;
                std::uint8_t& rung = buffers.rungs[y * kSampledTile + x];
                const bool has_failed =
                    !num::is_certified(allowance, num::weight_at(a.weights[i + x0 + x], 0), weight_b, product_floor);
                count += has_failed && (part == 0 || rung == 0) ? 1 : 0;
                rung = has_failed ? 1 : 0;
              }
            }
            failed[static_cast<std::size_t>(stripe)] = count;
          });
          for (const std::int64_t count : failed) failures += count;
        }
        return {};
      });
}

template <class T>
Status visit_block_rungs(const CertificatePlan& plan, const num::Ladder& ladder, const CertificateBuffers& buffers,
                         const CertifiedLines<T>& a, const CertifiedLines<T>& b, const VisitRungs& visit) {
  const int threads = plan.threads;
  const std::int64_t num_terms = plan::num_terms(plan.shape);
  const std::int64_t row = digit_row(plan.shape);
  const plan::Chunk& chunk = plan.chunk;
  // Lines [first, first + count) to rows [at, at + count) of the digit buffers.
  const auto make_a = [&](std::int64_t first, std::int64_t at, std::int64_t count) {
    make_block_digits(a.lines.subset(first, count), a.stats + first, a.inner_shift, threads,
                      buffers.a_digits + at * row, row, buffers.a_scales + at, chunk.mc);
  };
  const auto swap_b = [&](std::int64_t at, std::int64_t count) {
    if (kTerms<T> == 2) {
      swap_parts(buffers.b_digits + at * row, count, row, threads, buffers.b_swapped + at * row);
    }
  };
  const auto make_b = [&](std::int64_t first, std::int64_t at, std::int64_t count) {
    make_block_digits(b.lines.subset(first, count), b.stats + first, b.inner_shift, threads,
                      buffers.b_digits + at * row, row, buffers.b_scales + at, chunk.nc);
    swap_b(at, count);
  };
  // A pair whose digits are all zero may have no non-zero term at all. Indicators settle that, but they need the digit
  // buffers: the tile's rows are rebuilt afterwards.
  const auto settle_zeros = [&](int part, std::int64_t i, std::int64_t x0, std::int64_t num_x, std::int64_t j,
                                std::int64_t y0, std::int64_t num_y) -> Status {
    make_indicators(a.lines.subset(i + x0, num_x), a.stats + i + x0, threads, buffers.a_digits + x0 * row, row);
    make_indicators(b.lines.subset(j + y0, num_y), b.stats + j + y0, threads, buffers.b_digits + y0 * row, row);
    swap_b(y0, num_y);
    const std::int8_t* const b_digits = part == 0 ? buffers.b_digits : buffers.b_swapped;
    KIZAMI_RETURN_IF_ERROR(
        sum_digit_products(plan, buffers, buffers.a_digits + x0 * row, b_digits + y0 * row, num_x, num_y, num_terms));
    for (std::int64_t y = 0; y < num_y; ++y) {
      for (std::int64_t x = 0; x < num_x; ++x) {
        if (buffers.sums[y * kSampledTile + x] == 0) buffers.part_rungs[y * kSampledTile + x] = 0;
      }
    }
    make_a(i + x0, x0, num_x);
    make_b(j + y0, y0, num_y);
    return {};
  };
  // The first certified rung of one part of every pair of a tile, in buffers.part_rungs.
  const auto find_part_rungs = [&](int part, std::int64_t i, std::int64_t x0, std::int64_t num_x, std::int64_t j,
                                   std::int64_t y0, std::int64_t num_y) -> Status {
    const std::int8_t* const b_digits = part == 0 ? buffers.b_digits : buffers.b_swapped;
    KIZAMI_RETURN_IF_ERROR(sum_block_products<T>(plan, buffers, b_digits, x0, num_x, y0, num_y));
    std::array<bool, kStripes> has_unsettled_zero{};
    base::parallel_for(kStripes, threads, [&](std::int64_t stripe, int) {
      for (std::int64_t y = stripe; y < num_y; y += kStripes) {
        for (std::int64_t x = 0; x < num_x; ++x) {
          const float sum = buffers.block_sums[y * kBlockTile + x];
          const int rung = num::first_certified_rung(ladder, a.weights[i + x0 + x], b.weights[j + y0 + y], sum);
          buffers.part_rungs[y * kSampledTile + x] = static_cast<std::uint8_t>(rung);
          if (sum == 0.0F && rung > 0) has_unsettled_zero[static_cast<std::size_t>(stripe)] = true;
        }
      }
    });
    if (std::find(has_unsettled_zero.begin(), has_unsettled_zero.end(), true) == has_unsettled_zero.end()) return {};
    return settle_zeros(part, i, x0, num_x, j, y0, num_y);
  };
  return for_each_tile(
      plan, kBlockTile, [&](std::int64_t i, std::int64_t count) { make_a(i, 0, count); },
      [&](std::int64_t j, std::int64_t count) { make_b(j, 0, count); },
      [&](std::int64_t i, std::int64_t x0, std::int64_t num_x, std::int64_t j, std::int64_t y0,
          std::int64_t num_y) -> Status {
        for (int part = 0; part < kTerms<T>; ++part) {
          KIZAMI_RETURN_IF_ERROR(find_part_rungs(part, i, x0, num_x, j, y0, num_y));
          for (std::int64_t y = 0; y < num_y; ++y) {
            for (std::int64_t x = y * kSampledTile; x < y * kSampledTile + num_x; ++x) {
              buffers.rungs[x] = part == 0 ? buffers.part_rungs[x] : std::max(buffers.rungs[x], buffers.part_rungs[x]);
            }
          }
        }
        visit(i + x0, num_x, j + y0, num_y, buffers.rungs, kSampledTile);
        return {};
      });
}

template <class T>
Status block_histogram(const CertificatePlan& plan, const num::Ladder& ladder, const CertificateBuffers& buffers,
                       const CertifiedLines<T>& a, const CertifiedLines<T>& b, num::RungHistogram& histogram) {
  histogram = {};
  return visit_block_rungs(plan, ladder, buffers, a, b,
                           [&](std::int64_t, std::int64_t num_i, std::int64_t, std::int64_t num_j,
                               const std::uint8_t* rungs, std::int64_t ld) {
                             for (std::int64_t y = 0; y < num_j; ++y) {
                               for (std::int64_t x = 0; x < num_i; ++x) ++histogram.pairs[rungs[y * ld + x]];
                             }
                           });
}

#define KIZAMI_INSTANTIATE(T)                                                                                      \
  template Status count_sampled_failures<T>(const CertificatePlan&, const num::Ladder&, const CertificateBuffers&, \
                                            const CertifiedLines<T>&, const CertifiedLines<T>&, std::int64_t&);    \
  template Status visit_block_rungs<T>(const CertificatePlan&, const num::Ladder&, const CertificateBuffers&,      \
                                       const CertifiedLines<T>&, const CertifiedLines<T>&, const VisitRungs&);     \
  template Status block_histogram<T>(const CertificatePlan&, const num::Ladder&, const CertificateBuffers&,        \
                                     const CertifiedLines<T>&, const CertifiedLines<T>&, num::RungHistogram&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
KIZAMI_INSTANTIATE(DoubleDouble);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::certify
