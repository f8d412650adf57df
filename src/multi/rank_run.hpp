// SPDX-License-Identifier: MIT
// A rank's part of a product: what the ranks must know alike, the panels of its rows and columns from the ranks that hold
// them, its block of C at the rung of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kizami/outcome.hpp"
#include "kizami/policy.hpp"
#include "kizami/ranks.hpp"
#include "kizami/status.hpp"
#include "multi/decision.hpp"
#include "multi/rank_agreement.hpp"
#include "plan/plan.hpp"
#include "problem/problem.hpp"
#include "schemes/ozaki2/whole.hpp"

namespace kizami::multi {

/// A call as a rank makes it.
template <class T>
struct RankProblem {
  problem::Shape shape;
  T alpha{};
  std::span<const Piece<const T>> a;
  std::span<const Piece<const T>> b;
  T beta{};
  std::span<const Piece<T>> c;
  Policy policy;
};

/// Runs this rank's part in host memory. @status as kizami::multi::run() of ranks
template <class T>
Status run_rank(Communicator& ranks, const RankProblem<T>& problem, Outcome& outcome);

}  // namespace kizami::multi
