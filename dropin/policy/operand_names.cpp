// SPDX-License-Identifier: MIT
#include "dropin/policy/operand_names.hpp"

#include <dlfcn.h>

#include <cstddef>

namespace kizami::dropin {
namespace {

/// Trivial, so that a thread's memory needs no destructor.
struct Named {
  bool is_given[2];
  std::uint64_t id[2];
  std::uint64_t version[2];
};
constinit thread_local Named named{};

[[nodiscard]] std::optional<OperandName> name_of(std::size_t side) {
  if (!named.is_given[side]) return std::nullopt;
  return OperandName{named.id[side], named.version[side]};
}

}  // namespace

void name_operand(int side, const OperandName& name) noexcept {
  const auto s = static_cast<std::size_t>(side);
  named.is_given[s] = true;
  named.id[s] = name.id;
  named.version[s] = name.version;
}

void unname_operands() noexcept { named.is_given[0] = named.is_given[1] = false; }

CallNames take_names() noexcept {
  const CallNames names{name_of(0), name_of(1)};
  if (!names.is_any()) return names;
  unname_operands();
  // Other libraries were told the same, and their next call is none that was meant.
  using Unname = void();
  auto* const unname_all = reinterpret_cast<Unname*>(dlsym(RTLD_DEFAULT, "kizami_dropin_unname_operands"));
  if (unname_all != nullptr) unname_all();
  return names;
}

}  // namespace kizami::dropin
