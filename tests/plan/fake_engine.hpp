// SPDX-License-Identifier: MIT
// Engines that multiply nothing, so that planning is tested without a device.
#pragma once

#include <string>

#include "product/product.hpp"

namespace kizami::plan {

/// Offers everything up to max_k, else refuses with a reason.
class FakeEngine : public product::Engine {
 public:
  FakeEngine(std::string name, std::int64_t max_k, double seconds)
      : name_(std::move(name)), max_k_(max_k), seconds_(seconds) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::ProductDesc& desc,
                                                                     const product::DeviceFacts& facts) const override {
    if (desc.k > max_k_)
      return product::Refusal{"k = " + std::to_string(desc.k) + ", must be <= " + std::to_string(max_k_)};
    return product::Offer{static_cast<std::size_t>(desc.m * 64), seconds_, facts.num_threads};
  }
  [[nodiscard]] Status run(const product::ProductDesc&, const product::Offer&, const product::Pointers&,
                           std::byte*) const override {
    return {StatusCode::kInternal, "a fake engine does not run"};
  }

 private:
  std::string name_;
  std::int64_t max_k_;
  double seconds_;
};

}  // namespace kizami::plan
