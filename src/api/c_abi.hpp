// SPDX-License-Identifier: MIT
// What the functions of kizami.h share: handles, the guard that lets no exception out, numbers to enums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kizami/kizami.h"
#include "kizami/names.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

struct kizami_policy {
  kizami::Policy value;
};
struct kizami_plan {
  kizami::Plan value;
};
struct kizami_prepared {
  kizami::PreparedOperand value;
};

namespace kizami::api {

/// Keeps the reason for kizami_last_error() of this thread, cut to its limit. Allocates nothing, cannot fail.
kizami_status finish(StatusCode code, std::string_view reason) noexcept;

/// Runs the body of one C function: its Status, or what it threw, becomes the code and the reason.
template <class Body>
kizami_status guarded(Body&& body) noexcept {
  try {
    const Status status = body();
    return finish(status.code(), status.reason());
  } catch (const std::bad_alloc&) {
    return finish(StatusCode::kOutOfMemory, "the system refused an allocation");
  } catch (const std::length_error&) {
    return finish(StatusCode::kOutOfMemory, "more elements than any memory holds");
  } catch (const std::exception& error) {
    return finish(StatusCode::kInternal, error.what());
  } catch (...) {
    return finish(StatusCode::kInternal, "an exception of unknown type");
  }
}

[[nodiscard]] inline Status invalid(std::string reason) { return {StatusCode::kInvalidArgument, std::move(reason)}; }

[[nodiscard]] inline Status not_null(const char* name, const void* pointer) {
  return pointer != nullptr ? Status() : invalid(std::string(name) + " is NULL");
}

/// @status kInvalidArgument unless 0 <= value <= last
[[nodiscard]] inline Status in_range(const char* name, int value, int last) {
  if (value >= 0 && value <= last) return {};
  return invalid(std::string(name) + " = " + std::to_string(value) + ", must be in 0.." + std::to_string(last));
}

/// The largest number of an enum in C, whose numbers are those of the C++ enum: tools/write_faces.py writes them to
/// kizami.h.
template <class Enum>
inline constexpr int kLastInC = kLastValue<Enum>;
template <>
inline constexpr int kLastInC<Scalar> = KIZAMI_C128;  // double-double is C++ only

/// The C++ enum of a number of kizami.h. @status kInvalidArgument names the argument
template <class Enum>
[[nodiscard]] Status read_enum(const char* name, int value, Enum& out) {
  KIZAMI_RETURN_IF_ERROR(in_range(name, value, kLastInC<Enum>));
  out = static_cast<Enum>(value);
  return {};
}

/// Larger than any structure of kizami.h will become: a size beyond it was never set.
inline constexpr std::size_t kMaxStructBytes = 4096;

/// @status kInvalidArgument if out->struct_size is not that of any version. @range out may be null
template <class Struct>
[[nodiscard]] Status check_struct(const char* name, const Struct* out, std::size_t first_version_bytes) {
  if (out == nullptr || (out->struct_size >= first_version_bytes && out->struct_size <= kMaxStructBytes)) return {};
  return invalid(std::string(name) + "->struct_size = " + std::to_string(out->struct_size) + ", must be sizeof *" +
                 name + " = " + std::to_string(sizeof(Struct)));
}

/// Copies as much of `full` as the caller's structure holds; members that this library does not know become zero.
template <class Struct>
void store_struct(Struct full, Struct* out) {
  const std::size_t caller_bytes = out->struct_size, known_bytes = std::min(caller_bytes, sizeof full);
  full.struct_size = caller_bytes;
  std::memcpy(out, &full, known_bytes);
  std::memset(reinterpret_cast<std::byte*>(out) + known_bytes, 0, caller_bytes - known_bytes);
}

/// The text, cut to the array, with a zero byte.
template <std::size_t kSize>
void store_text(std::string_view text, char (&out)[kSize]) {
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(out, text.data(), length);
  std::memset(out + length, 0, kSize - length);
}

}  // namespace kizami::api
