// SPDX-License-Identifier: MIT
// What a plan decides of scheme native.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/plan.hpp"
#include "product/native_engine.hpp"

namespace kizami::native {

struct NativeStage final : plan::StageOf<NativeStage, Scheme::kNative> {
  const product::NativeEngine* engine = nullptr;  ///< on the host
  const product::NativeDeviceEngine* device_engine = nullptr;
  std::int64_t k_block = 0;  ///< k in blocks of this

  [[nodiscard]] std::string_view engine_name() const override;
  /// On the host it leaves operands whose terms may overflow or underflow, unless it was named.
  [[nodiscard]] bool answers_all(const plan::Plan& plan) const override;
  void add_numerics(const plan::Plan& plan, plan::Stages behind, plan::NumericsHash& hash) const override;
  void explain(const plan::Plan& plan, plan::Stages behind, const plan::TakeFact& fact) const override;
};

[[nodiscard]] inline const NativeStage& native_of(const plan::Plan& plan) { return plan::stage_of<NativeStage>(plan); }

}  // namespace kizami::native
