// SPDX-License-Identifier: MIT
// A call on several devices. One thread enqueues everything; devices never wait for one another, so that one that fails
// holds up nobody: what blocks must know of one another goes through the host, between passes.
#pragma once

#include <cstddef>
#include <span>

#include "kizami/outcome.hpp"
#include "kizami/status.hpp"
#include "multi/located.hpp"
#include "multi/plan.hpp"

namespace kizami::multi {

/// @param workspaces  one a share, of share_bytes()   @param travels  of find_travels(), one a share
/// @status, @queue  as kizami::multi::run()
template <class T>
Status run_shares(const MultiPlan& plan, const LocatedProblem<T>& problem, std::span<const Travels> travels,
                  std::span<const std::span<std::byte>> workspaces, Outcome& outcome);

}  // namespace kizami::multi
