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
  facts.compute_capability = facts.code_capability = 90;
  facts.num_sms = 132;
  facts.shared_bytes = 227 << 10;
  facts.l2_bytes = 50 << 20;
  facts.clock_hz = 1.98e9;
  facts.memory_bytes = std::size_t{140} << 30;
  return facts;
}

}  // namespace kizami::plan
