// SPDX-License-Identifier: MIT
// Who answers a call, by the planner, and what that takes: of a whole call, which Kizami makes of products (emulate.hpp).
#pragma once

#include <cstdint>

#include "dropin/policy/audit.hpp"
#include "dropin/policy/call.hpp"
#include "dropin/policy/settings.hpp"
#include "kizami/policy.hpp"
#include "kizami/types.hpp"

namespace kizami::dropin::blas {

/// Trivial, so that a thread's memory of choices needs no destructor.
struct Choice {
  const Settings* settings;
  Routine routine;
  bool is_left;  ///< of a triangular A
  std::int64_t m, n, k;
  Scalar scalar;
  Scheme scheme;
  const char* why_native;  ///< null: emulated by `scheme`
};

/// The choice for a call under settings that live as long as the process. It stays until the thread asks for another
/// one.
[[nodiscard]] const Choice& chosen(const Settings& settings, Scalar scalar, const Shape& call);

/// What the native library will take, by the model. @units seconds; 0: not known
[[nodiscard]] double predicted_native(Scalar scalar, const Shape& call);

/// The choice for a call of a program that asks for nothing, with what it would take.
[[nodiscard]] Emulation predicted_emulation(Scalar scalar, const Shape& call);

}  // namespace kizami::dropin::blas
