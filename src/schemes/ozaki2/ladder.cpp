// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/ladder.hpp"

#include <algorithm>
#include <cmath>

#include "num/bounds.hpp"
#include "num/crt_table.hpp"
#include "num/exponent.hpp"

namespace kizami::ozaki2 {
namespace {

[[nodiscard]] double norm_limit(num::Ring ring, int num_moduli, std::int64_t k) {
  return num::scaled_norm_limit(num::crt_table(ring, num_moduli).half_wide, k);
}

}  // namespace

bool has_rung(num::Ring ring, int num_moduli, std::int64_t k) { return norm_limit(ring, num_moduli, k) >= 1.0; }

num::Rung make_rung(num::Ring ring, int num_moduli, std::int64_t k, double budget) {
  num::Rung rung;
  rung.num_moduli = num_moduli;
  rung.norm_limit = norm_limit(ring, num_moduli, k);
  const num::Decomposed limit = num::decompose(rung.norm_limit * rung.norm_limit * num::kSlackDown);
  rung.limit_mantissa = static_cast<std::uint64_t>(limit.mantissa);
  rung.limit_exponent = limit.exponent;
  rung.allowance = num::certified_allowance(num::pair_allowance(budget, rung.norm_limit, k), k);
  return rung;
}

num::Ladder certified_ladder(num::Ring ring, std::int64_t k, double budget) {
  num::Ladder ladder;
  const double ordinary = 2.0 * std::sqrt(static_cast<double>(k)) * kOrdinarySpread;
  for (int count = num::kMinModuli; count <= num::max_moduli(ring) && ladder.num_rungs <= kRungsAboveBase; ++count) {
    if (!has_rung(ring, count, k)) continue;
    const num::Rung rung = make_rung(ring, count, k, budget);
    if (ladder.num_rungs > 0 || static_cast<double>(rung.allowance) >= ordinary)
      ladder.rungs[ladder.num_rungs++] = rung;
  }
  ladder.may_equilibrate = ladder.num_rungs > 0;
  return ladder;
}

num::Ladder norm_ladder(num::Ring ring, std::int64_t k, double budget) {
  for (int count = num::kMinModuli; count <= num::max_moduli(ring); ++count) {
    if (has_rung(ring, count, k) && num::truncation_norm_bound(norm_limit(ring, count, k), k) <= budget)
      return forced_ladder(ring, count, k);
  }
  return {};
}

num::Ladder correct_ladder(num::Ring ring, std::int64_t k, Scalar scalar) {
  // 2^-14: of results with random bits, about one in 2^13 is too close to a tie.
  constexpr int kGuardBits = 14;
  const num::Ladder base = certified_ladder(ring, k, std::ldexp(1.0, -significand_bits(scalar) - kGuardBits));
  const int last = num::max_moduli(ring);
  const int first = base.num_rungs > 0 ? base.rungs[0].num_moduli : last;
  num::Ladder ladder;
  for (int i = 0; i < num::kMaxRungs; ++i) {
    const int count = first + (last - first) * i / (num::kMaxRungs - 1);
    if (ladder.num_rungs > 0 && ladder.rungs[ladder.num_rungs - 1].num_moduli == count) continue;
    ladder.rungs[ladder.num_rungs++] = make_rung(ring, count, k, 0.0);
  }
  return ladder;
}

num::Ladder forced_ladder(num::Ring ring, int num_moduli, std::int64_t k) {
  num::Ladder ladder;
  ladder.rungs[0] = make_rung(ring, num_moduli, k, 0.0);
  ladder.num_rungs = 1;
  return ladder;
}

}  // namespace kizami::ozaki2
