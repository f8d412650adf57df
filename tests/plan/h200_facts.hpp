// SPDX-License-Identifier: MIT
// What the planner knows of an H200, for plans made without one.
#pragma once

#include <cstddef>

#include "product/product.hpp"

namespace kizami::plan {

[[nodiscard]] inline product::DeviceFacts h200_facts() {
  product::DeviceFacts facts;
  facts.space = product::MemorySpace::kDevice;
  facts.device = 0;
  facts.compute_capability = 90;
  facts.num_sms = 132;
  facts.memory_bytes = std::size_t{140} << 30;
  return facts;
}

}  // namespace kizami::plan
