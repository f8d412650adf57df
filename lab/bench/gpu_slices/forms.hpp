// SPDX-License-Identifier: MIT
// Forms of a product that a user makes of calls: a complex product as that of real matrices of twice the size.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"

namespace bench {

/// A product as one call. Matrices are column-major, each column behind the one before it.
struct Form {
  /// Enqueues all in the order of the default stream.
  std::function<void(std::span<std::byte> workspace)> call;
  std::size_t workspace_bytes = 0;
  kizami::Plan plan;
};

/// [Re A, -Im A; Im A, Re A] times [Re B, -Im B; Im B, Re B], both written to memory, of which the left half of the
/// columns is C.
[[nodiscard]] kizami::Result<Form> full_enlarged(std::int64_t m, std::int64_t n, std::int64_t k,
                                                 const std::complex<double>* a, const std::complex<double>* b,
                                                 std::complex<double>* c, const kizami::Policy& policy);

}  // namespace bench
