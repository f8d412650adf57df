// SPDX-License-Identifier: MIT
// A call answered by products of Kizami, in the order of its stream.
#pragma once

#include "dropin/cublas/call.hpp"
#include "dropin/policy/operand_names.hpp"
#include "kizami/effort.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin::cublas {

/// @range  a valid product, gemmt, symm or hemm, with m, n, k, num_products >= 1, and its context
/// @param  note where it tells its effort
/// @param  names of the operands of a single product (kept.hpp)
/// @status as kizami::cuda::gemm(), gemmt() and batched kin: C is as it was, unless cuda::last_call_writes_c()
/// @queue  asynchronous and capturable
[[nodiscard]] Status emulate(const Call& call, const Context& context, const Policy& policy, const EffortNote& note,
                             const CallNames& names = {});

}  // namespace kizami::dropin::cublas
