// SPDX-License-Identifier: MIT
// What earlier calls of a place say of the next one: the table of this process (policy/learned_sites.hpp), and the
// words by which calls on a device tell it their effort.
#pragma once

#include "dropin/cublas/call.hpp"
#include "dropin/cublas/choice.hpp"
#include "dropin/policy/settings.hpp"
#include "kizami/effort.hpp"

namespace kizami::dropin::cublas {

struct Lesson {
  bool is_native = false;
  EffortNote note;  ///< where the call tells its effort, if it is Kizami's
};

/// @range a product that the choice, made without a limit, gives to Kizami  @queue waits for nothing; safe from any thread
[[nodiscard]] Lesson lesson_of(const Call& product, const Settings& settings, const Choice& choice);

/// As if no call had been made: for tests.
void forget_lessons();

}  // namespace kizami::dropin::cublas
