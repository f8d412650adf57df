// SPDX-License-Identifier: MIT
// Engine cublaslt for plans that are made where its library is not: it answers, and runs nothing.
#pragma once

#include <cstddef>
#include <string_view>
#include <variant>

#include "engines/cublaslt/seconds.hpp"
#include "engines/desc_check.hpp"
#include "product/product.hpp"

namespace kizami::plan {

class Library final : public product::Engine {
 public:
  explicit Library(bool takes_floats = true) : takes_floats_(takes_floats) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "cublaslt"; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] std::variant<product::Offer, product::Refusal> query(const product::ProductDesc& d,
                                                                     const product::DeviceFacts& facts) const override {
    if (auto reason = engines::why_refused(d, {.takes_windows = true, .takes_floats = takes_floats_}))
      return product::Refusal{*reason};
    return product::Offer{
        .workspace_bytes = std::size_t{32} << 20, .seconds = engines::cublaslt::seconds(d, facts.rates), .threads = 1};
  }
  [[nodiscard]] Status run(const product::ProductDesc&, const product::Offer&, const product::Pointers&, std::byte*,
                           product::Queue) const override {
    return {StatusCode::kInternal, "nothing runs here"};
  }

 private:
  bool takes_floats_;
};

}  // namespace kizami::plan
