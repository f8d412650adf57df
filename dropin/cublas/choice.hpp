// SPDX-License-Identifier: MIT
// What the planner says of a call on the thread's current device, remembered: a program repeats few shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dropin/cublas/call.hpp"
#include "dropin/policy/settings.hpp"
#include "kizami/plan.hpp"
#include "kizami/status.hpp"

namespace kizami::dropin::cublas {

/// Why a call is native where the device has no room for what Kizami keeps there; compared by its address, as kByPlan is.
inline constexpr char kNoMemoryOnDevice[] = "there is no memory for the constants on the device";

/// Trivial, so that a thread's memory of choices needs no destructor. All texts live as long as the process.
struct Choice {
  // What was asked.
  const Settings* settings;  ///< null: the device had no memory to say, and another call asks again
  int device;
  Scalar scalar;
  bool has_device_arrays;
  bool is_triangle;  ///< gemmt
  std::int64_t m, n, k, num_products;
  std::size_t workspace_limit;  ///< bytes; 0: as the settings say
  // What the planner says.
  const char* why_native;  ///< null: emulated, as follows
  Scheme scheme;
  std::string_view engine;
  int moduli;  ///< of the lowest rung
  double bound;
  Gauge gauge;
  double seconds;         ///< as predicted
  double native_seconds;  ///< likewise, of the native library; 0: it must not answer, or nothing is to be learned
  std::size_t workspace_bytes;
};

/// The thread's current device; -1: there is none.
[[nodiscard]] int current_device();

/// How many times as long the native library must be predicted to take: 1, or more where predictions may be some way off, as
/// on a card whose rates nobody has measured. Says once how to have them measured.
[[nodiscard]] double least_gain(const Settings& settings);

/// The plan of a product, gemmt, symm or hemm on the current device.
[[nodiscard]] Result<Plan> plan_of(const Call& call, const Policy& policy);

/// The policy of the settings, with a smaller limit for the workspace unless it is 0.
[[nodiscard]] Policy policy_within(const Settings& settings, std::size_t workspace_limit = 0);

/// The choice for a call with m, n, k, num_products >= 1 under settings that live as long as the process, in a
/// workspace of at most so many bytes, or with a limit of 0 as the settings say. It stays until the thread asks for
/// another one. Where nothing can be emulated on the current device (no driver, no device, no engine), that is said in
/// one line on stderr, once for each device.
[[nodiscard]] const Choice& chosen(const Settings& settings, const Call& call, std::size_t workspace_limit = 0);

/// What the native library takes for a product at the accuracy asked for, by the model. @units seconds; 0: it does not
/// guarantee that
[[nodiscard]] double native_alternative(const Settings& settings, const Call& call);

/// What the native library will take, by the model. @units seconds; 0: not known, or a device has failed
[[nodiscard]] double predicted_native(const Call& call);

}  // namespace kizami::dropin::cublas
