// SPDX-License-Identifier: MIT
// Operands that stay split from call to call under the names that a program gives them (kizami_dropin_name_operand).
#pragma once

#include <memory>

#include "dropin/policy/operand_names.hpp"
#include "kizami/plan.hpp"

namespace kizami::dropin::blas {

/// The operand under that name for that plan: kept from before, or split now. Null: it cannot be split (scheme native,
/// no memory), and the matrix itself is to be taken.
/// @param op  the letter that made the view of X
template <class T>
[[nodiscard]] std::shared_ptr<const PreparedOperand> kept_operand(const OperandName& name, const Plan& plan, Side side,
                                                                  char op, MatrixView<const T> view);

}  // namespace kizami::dropin::blas
