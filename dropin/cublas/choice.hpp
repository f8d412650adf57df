// SPDX-License-Identifier: MIT
// What the planner says of a call on the thread's current device, remembered: a program repeats few shapes.
#pragma once

#include <cstdint>
#include <string_view>

#include "dropin/cublas/call.hpp"
#include "dropin/policy/settings.hpp"

namespace kizami::dropin::cublas {

/// Trivial, so that a thread's memory of choices needs no destructor. All texts live as long as the process.
struct Choice {
  // What was asked.
  const Settings* settings;
  int device;
  Scalar scalar;
  bool has_device_arrays;
  std::int64_t m, n, k, num_products;
  // What the planner says.
  const char* why_native;  ///< null: emulated, as follows
  Scheme scheme;
  std::string_view engine;
  int moduli;  ///< of the lowest rung
  double bound;
  Gauge gauge;
  double seconds;  ///< as predicted
};

/// The choice for a call with m, n, k, num_products >= 1 under settings that live as long as the process.
/// Where nothing can be emulated on the current device (no driver, no device, no engine), that is said in one line on stderr,
/// once for each device.
[[nodiscard]] const Choice& chosen(const Settings& settings, const Call& call);

/// What the native library will take, by the model. @units seconds; 0: not known
[[nodiscard]] double predicted_native(const Call& call);

}  // namespace kizami::dropin::cublas
