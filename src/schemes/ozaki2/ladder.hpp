// SPDX-License-Identifier: MIT
// Ladders: which numbers of moduli a call may use, from shape and accuracy alone. k counts real terms: twice the inner
// dimension in Z[i].
#pragma once

#include <cstdint>

#include "kizami/policy.hpp"
#include "kizami/types.hpp"
#include "num/moduli.hpp"
#include "num/rung.hpp"

namespace kizami::ozaki2 {

/// Spread ||a|| ||b|| / (|A||B|) that the lowest rung of a certified ladder is made for. Random data have 1.3 to 3;
/// sampling a quarter of k for the certificate costs up to 10 at k >= 1024 (docs/accuracy/certificate.md). Where a rung allows
/// more, less is sampled: num::sample_stride().
inline constexpr double kOrdinarySpread = 4 * num::kSampledSpread;
/// Rungs above the lowest: 3.8 bits each. Random data of spread phi = 4 at k = 16384 need 5 of them.
inline constexpr int kRungsAboveBase = 10;

/// One rung. @range num_moduli in [kMinModuli, max_moduli(ring)] and norm_limit > 0 (see has_rung)
[[nodiscard]] num::Rung make_rung(num::Ring ring, int num_moduli, std::int64_t k, double budget);
/// True if so few moduli can carry this k at all.
[[nodiscard]] bool has_rung(num::Ring ring, int num_moduli, std::int64_t k);

/// Gauge entry: the smallest count whose allowance covers ordinary data, and up to kRungsAboveBase more. Empty if none
/// can.
[[nodiscard]] num::Ladder certified_ladder(num::Ring ring, std::int64_t k, double budget);
/// Gauge norm: the one smallest count whose a-priori truncation bound is within the budget. Empty if none is.
[[nodiscard]] num::Ladder norm_ladder(num::Ring ring, std::int64_t k, double budget);
/// Accuracy correct: from a count that leaves few results too close to call for data of narrow spread, in equal steps
/// up to all moduli. No rung has an allowance.
[[nodiscard]] num::Ladder correct_ladder(num::Ring ring, std::int64_t k, Scalar scalar);
/// A forced count.
[[nodiscard]] num::Ladder forced_ladder(num::Ring ring, int num_moduli, std::int64_t k);

}  // namespace kizami::ozaki2
