// SPDX-License-Identifier: MIT
// What products in host memory and on a device have in common: the type of the elements, the operand as Python hands it
// over, the factors.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings.hpp"
#include "kizami/plan.hpp"
#include "matrix_stack.hpp"

namespace kizami::python {

/// alpha or beta; a real type takes the real part, since python/kizami refuses numbers that have another.
template <class T>
[[nodiscard]] T factor(std::complex<double> x) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<RealOf<T>>(x.real()), static_cast<RealOf<T>>(x.imag()));
  } else {
    return static_cast<T>(x.real());
  }
}

/// n, t, c or r. @status kInvalidArgument for anything else
[[nodiscard]] Op op_of(std::string_view letter);

/// A and B against C and the plan: one type, shapes that go together. @status kInvalidArgument
void check_types(const Plan& plan, const std::optional<MatrixStack>& a, const std::optional<MatrixStack>& b,
                 const MatrixStack& c);

}  // namespace kizami::python
