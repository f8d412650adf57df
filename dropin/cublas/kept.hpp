// SPDX-License-Identifier: MIT
// Operands that stay split in the memory of a device, from call to call, under the names that a program gives them
// (kizami_dropin_name_operand). Their memory is allocated in the order of the stream that splits them, and freed in that
// of a stream of this library, behind all calls that use it: no call waits on the host, and no stream for another one but
// for a split that it uses.
#pragma once

#include <optional>

#include "dropin/cublas/call.hpp"
#include "dropin/policy/operand_names.hpp"
#include "kizami/effort.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin::cublas {

/// Of named calls that find no memory to keep an operand, one in so many asks again.
inline constexpr std::uint32_t kKeepRetryPeriod = 64;

/// The product with operands that are kept under their names, or that are split now, to be kept.
/// @range  a valid single product, as emulate()
/// @return as emulate(); nothing: no operand is kept (nobody has named it; the stream is captured; the plan's scheme keeps
///         nothing; no memory), and nothing is enqueued that C or the call depends on
/// @queue  asynchronous; waits for nothing
[[nodiscard]] std::optional<Status> multiply_kept(const Call& call, const Context& context, const Policy& policy,
                                                  const EffortNote& note, const CallNames& names);

/// Gives back what is kept on a device, for a call that finds no memory there, in the order of what uses it.
/// @return whether there was anything
[[nodiscard]] bool give_kept_back(int device);

/// As if nothing had been kept: for tests.
void forget_all_kept();

}  // namespace kizami::dropin::cublas
