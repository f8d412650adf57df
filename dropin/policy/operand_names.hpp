// SPDX-License-Identifier: MIT
// What a program says of the operands of its next call (kizami_dropin_name_operand), before whichever library that call
// comes to.
#pragma once

#include <cstdint>
#include <optional>

namespace kizami::dropin {

struct OperandName {
  std::uint64_t id = 0;
  std::uint64_t version = 0;
};

/// Of the operands of one call.
struct CallNames {
  std::optional<OperandName> a, b;

  [[nodiscard]] bool is_any() const { return a || b; }
};

/// Of the next call of this thread. @range side 0: A, 1: B
void name_operand(int side, const OperandName& name) noexcept;

/// Forgets what this thread has named in this library.
void unname_operands() noexcept;

/// What this thread has named for its next call, which it then is no more: in no drop-in library of the process.
[[nodiscard]] CallNames take_names() noexcept;

}  // namespace kizami::dropin
