// SPDX-License-Identifier: MIT
// Random cases for operands in the memory of a CUDA device, and the same cases for the host, whose bits the device must
// have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/case.hpp"
#include "draw.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"

namespace kizami::cli {

/// Case number `index` of a campaign on a device: as random_case(), and engines of devices, workspaces that make
/// chunks, batches in all forms, factors in device memory, calls that may wait, ladders cut short; shapes mostly below
/// 130, one in 50 to 600, one in 100 longer in one direction or in all.
/// @exact print() of it parses to the same case on every machine
[[nodiscard]] check::Case random_device_case(std::uint64_t seed, std::int64_t index);

/// A workspace limit from what barely holds one chunk to nearly all that the product would like. @units bytes
[[nodiscard]] std::size_t random_workspace(Draw& draw, const check::Case& c);

/// How the host computes the bits of a case of a device: by the same scheme and ladder, on any engine, in any
/// workspace, on one thread.
[[nodiscard]] Policy host_policy(const check::Case& spec);

/// Whether a device may be held to the host's bits, before plans are made: schemes native and ec round as their
/// hardware does.
[[nodiscard]] bool may_promise_bits(const Policy& policy);
/// Whether two plans promise the same bits.
[[nodiscard]] bool promise_same_bits(const Plan& x, const Plan& y);

}  // namespace kizami::cli
