// SPDX-License-Identifier: MIT
// Another drop-in library, preloaded beside the one under test: it has the functions of kizami/dropin.h, and a call.
#include <cstdio>

#include "dropin/policy/kept_operands.hpp"
#include "dropin/policy/operand_names.hpp"
#include "dropin/policy/runtime_exports.hpp"

namespace kizami::dropin {

KeptCounts kept_counts() { return {100, 200, 4000}; }
void forget_kept(std::uint64_t id) { std::printf("forget %d\n", static_cast<int>(id)); }

}  // namespace kizami::dropin

/// A call that comes to this library. @return whether its A was named
extern "C" KIZAMI_API int call_another_library() { return kizami::dropin::take_names().a ? 1 : 0; }
