// SPDX-License-Identifier: MIT
// The planner's view of engines that take FP32 operands as ec_planes.hpp lays them out, and whose epilogue writes C. What they
// compute is a FloatProductDesc of that layout; operands and C, which are those of the call, they get from exec, as the engine
// itself says (engines/hopper/ec_forms.hpp).
#pragma once

#include <string_view>
#include <variant>

#include "product/float_product.hpp"
#include "product/product.hpp"

namespace kizami::product {

class EcEngine {
 public:
  virtual ~EcEngine() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Accepts or refuses extents and arithmetic with a reason; strides are not looked at. Pure.
  [[nodiscard]] virtual std::variant<Offer, Refusal> query(const FloatProductDesc& desc,
                                                           const DeviceFacts& facts) const = 0;
};

/// Whether two descriptions have the same arithmetic, whatever their extents.
[[nodiscard]] constexpr bool has_equal_arithmetic(const FloatProductDesc& x, const FloatProductDesc& y) {
  return x.type == y.type && x.core == y.core && x.k_interval == y.k_interval &&
         x.intervals_promoted == y.intervals_promoted && x.num_sums == y.num_sums && x.sums == y.sums &&
         (x.num_sums == 1 || x.remainder_shift == y.remainder_shift);
}

}  // namespace kizami::product
