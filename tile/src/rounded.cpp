// SPDX-License-Identifier: MIT
// The sign of what rounding took away, by exact sums of products.
#include "kizami/tile/rounded.hpp"

#include "num/long_accumulator.hpp"

namespace kizami::tile {

int residual_sign(RoundedOperation op, double a, double b, double c, double r) noexcept {
  num::LongAccumulator residual;
  bool is_flipped = false;
  switch (op) {
    case RoundedOperation::kAdd:
      residual.add_product(a, 1);
      residual.add_product(b, 1);
      residual.add_product(r, -1);
      break;
    case RoundedOperation::kMultiply:
      residual.add_product(a, b);
      residual.add_product(r, -1);
      break;
    case RoundedOperation::kDivide:  // a / b - r has the sign of (a - r b) / b
      residual.add_product(a, 1);
      residual.add_product(r, -b);
      is_flipped = b < 0;
      break;
    case RoundedOperation::kFma:
      residual.add_product(a, b);
      residual.add_product(c, 1);
      residual.add_product(r, -1);
      break;
    case RoundedOperation::kSqrt:  // sqrt(a) - r has the sign of a - r^2, r >= 0
      residual.add_product(a, 1);
      residual.add_product(r, -r);
      break;
  }
  const num::Scaled sum = residual.round_scaled();
  if (sum.mantissa == 0) return 0;
  return (sum.mantissa > 0) != is_flipped ? 1 : -1;
}

}  // namespace kizami::tile
