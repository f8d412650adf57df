// SPDX-License-Identifier: MIT
#include "engines/cpu_ref/cpu_ref.hpp"

#include <cstdint>

#include "base/fork_safe.hpp"
#include "engines/desc_check.hpp"
#include "num/modular.hpp"

namespace kizami::engines {
namespace {

using product::DeviceFacts;
using product::Epilogue;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;

constexpr Abilities kAbilities{.takes_unsigned = true};

/// @exact k <= 2^17 products of less than 2^16 each: far inside 64 bits.
template <class Byte>
std::int64_t dot(const std::int8_t* a, const std::int8_t* b, std::int64_t k) {
  std::int64_t acc = 0;
  for (std::int64_t x = 0; x < k; ++x) acc += std::int64_t{static_cast<Byte>(a[x])} * static_cast<Byte>(b[x]);
  return acc;
}

class CpuRef final : public product::Engine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cpu_ref"; }
  [[nodiscard]] bool needs_workspace() const noexcept override { return false; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_refused(d, kAbilities)) return Refusal{*std::move(reason)};
    constexpr double kMacsPerSecond =
        2e9;  // order of magnitude: the planner prefers the oracle for a few elements only
    const double macs = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) * d.num_products;
    return Offer{.workspace_bytes = 0, .seconds = macs / (kMacsPerSecond * facts.processor.cpu_ref), .threads = 1};
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& /*offer*/, const Pointers& pointers,
                           std::byte* /*workspace*/, product::Queue /*queue*/) const override {
    if (auto reason = why_refused(d, kAbilities)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    if (auto reason = why_refused(d, pointers)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    auto* const dot_of_bytes = d.has_unsigned_bytes ? &dot<std::uint8_t> : &dot<std::int8_t>;
    for (std::int64_t l = 0; l < d.num_products; ++l) {
      const int modulus = d.moduli[static_cast<std::size_t>(l)];
      for (std::int64_t j = 0; j < d.n; ++j) {
        for (std::int64_t i = 0; i < d.m; ++i) {
          const std::int64_t acc = d.k == 0 ? 0
                                            : dot_of_bytes(pointers.a + l * d.a_plane_stride + i * d.a_row_stride,
                                                           pointers.b + l * d.b_plane_stride + j * d.b_row_stride, d.k);
          const std::int64_t at = l * d.c_plane_stride + j * d.c_col_stride + i;
          if (d.epilogue == Epilogue::kStoreAcc) {
            // 2^31, from 2^17 products (-128)^2 alone, wraps to -2^31; product.hpp says why that is harmless.
            static_cast<std::int32_t*>(pointers.c)[at] = static_cast<std::int32_t>(acc);
          } else {
            auto* const c = static_cast<std::int8_t*>(pointers.c);
            const std::int64_t before = d.epilogue == Epilogue::kReduceAdd ? c[at] : 0;
            c[at] = static_cast<std::int8_t>(num::symmetric_residue(before + acc, modulus));
          }
        }
      }
    }
    return {};
  }
};

}  // namespace

const product::Engine& cpu_ref_engine() {
  static constinit base::MadeOnce<CpuRef> engine;
  return engine.get();
}

}  // namespace kizami::engines
