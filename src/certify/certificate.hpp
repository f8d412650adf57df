// SPDX-License-Identifier: MIT
// The certificate: which rung is enough for each pair of lines, from proven lower bounds of (|A||B|)_ij made of INT8
// products.
//   sampled: one product of 7-bit digits over every 1st, 2nd, 4th, 8th or 16th element; asks only "is the lowest rung enough?"
//   block:   digits scaled per block of some elements; finds the first sufficient rung of every pair. The exact products of
//            blocks are added in FP32 one after another, so that IEEE 754 fixes the bits of the sum on every engine.
// A pair that the sampled certificate holds enough for has rung 0 by the block certificate as well: whether the sample
// was looked at changes no rung (docs/accuracy/certificate.md, theorem 2).
// A complex pair is certified where both of its parts are: the real part meets the digits of B as they are, the
// imaginary part those with real and imaginary parts exchanged. K below is the number of real terms of a line.
// A pair without a single non-zero term is certified at the lowest rung: its sum is exactly zero in every rung.
#pragma once

#include <cstdint>
#include <functional>

#include "certify/certificate_plan.hpp"
#include "kizami/status.hpp"
#include "num/line_stats.hpp"
#include "num/rung.hpp"
#include "problem/lines.hpp"

namespace kizami::certify {

/// One operand as the certificate sees it.
template <class T>
struct CertifiedLines {
  problem::Lines<T> lines;
  const num::LineStats* stats = nullptr;        ///< [num_lines]
  const num::LineWeight* weights = nullptr;     ///< [num_lines]
  const std::int32_t* inner_shift = nullptr;    ///< [k] or null; the statistics are of the shifted elements
  const std::int8_t* sampled_digits = nullptr;  ///< of a prepared operand, rows of round_up(K, 64); null: made here
};

/// Counts the pairs that the sampled certificate does not certify at the lowest rung of a ladder: that of scheme
/// ozaki2, or of another scheme, with weights to match.
template <class T>
Status count_sampled_failures(const CertificatePlan& plan, const num::Ladder& ladder, const CertificateBuffers& buffers,
                              const CertifiedLines<T>& a, const CertifiedLines<T>& b, std::int64_t& failures);

/// Called for tiles of pairs: rungs[y * ld + x] is the first sufficient rung of pair (i + x, j + y); ladder.num_rungs
/// if none.
using VisitRungs = std::function<void(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                                      const std::uint8_t* rungs, std::int64_t ld)>;

/// Finds the first sufficient rung of every pair by the block certificate.
template <class T>
Status visit_block_rungs(const CertificatePlan& plan, const num::Ladder& ladder, const CertificateBuffers& buffers,
                         const CertifiedLines<T>& a, const CertifiedLines<T>& b, const VisitRungs& visit);

/// visit_block_rungs() as a histogram.
template <class T>
Status block_histogram(const CertificatePlan& plan, const num::Ladder& ladder, const CertificateBuffers& buffers,
                       const CertifiedLines<T>& a, const CertifiedLines<T>& b, num::RungHistogram& histogram);

}  // namespace kizami::certify
