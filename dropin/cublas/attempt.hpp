// SPDX-License-Identifier: MIT
// A product that the planner gave to Kizami, in as much of the device's memory as can be had (workspace_search.hpp).
#pragma once

#include <cstddef>

#include "dropin/cublas/call.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/policy/operand_names.hpp"
#include "dropin/policy/settings.hpp"

namespace kizami::dropin::cublas {

/// What became of it.
struct Attempt {
  const char* why_native = nullptr;  ///< C is as it was, or is not read by the native library; null: answered
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;  ///< of an answered one
  Choice choice{};                                ///< that answered
  std::size_t workspace_limit = 0;  ///< bytes that the choice was left with for lack of memory; 0: as the settings say
  bool is_short_of_memory = false;  ///< native for that reason
};

/// @range  a valid product, gemmt, symm or hemm, with m, n, k, num_products >= 1, its context; chosen() does not leave it to the native library
/// @param  names of its operands (kept.hpp)
/// @queue  asynchronous and capturable; asks for memory, and waits for none
[[nodiscard]] Attempt attempt(const Call& product, const Context& context, const Settings& settings,
                              const CallNames& names = {});

/// As if no device had refused memory: for tests.
void forget_shortages();

}  // namespace kizami::dropin::cublas
