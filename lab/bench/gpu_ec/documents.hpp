// SPDX-License-Identifier: MIT
// The algorithms of [OY2021] and what that document compares them with, as policies: each as it is printed, of engine
// mma, whatever the operands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kizami/policy.hpp"

namespace bench {

struct Document {
  std::string name;
  kizami::ErrorCorrection ec;
};

/// All of them. The document promotes after each instruction of 16 elements.
[[nodiscard]] inline std::vector<Document> documents() {
  using kizami::EcVariant;
  using kizami::ErrorCorrection;
  using kizami::TensorCoreModel;
  std::vector<Document> all;
  const auto add = [&](const char* name, EcVariant variant, const auto& change) {
    ErrorCorrection ec;
    ec.variant = variant;
    ec.check_range = false;
    ec.promotion_k = 16;
    change(ec);
    all.push_back({name, ec});
  };
  const auto as_it_is = [](ErrorCorrection&) {};
  add("fp16", EcVariant::kFp16, as_it_is);
  add("tf32", EcVariant::kTf32, as_it_is);
  add("markidis", EcVariant::kMarkidis, as_it_is);
  add("markidis_cut", EcVariant::kMarkidis, [](ErrorCorrection& ec) { ec.truncate_parts = true; });
  add("markidis_mma_rn", EcVariant::kMarkidis, [](ErrorCorrection& ec) { ec.tensor_core = TensorCoreModel::kMmaRn; });
  add("markidis_mma_rz", EcVariant::kMarkidis, [](ErrorCorrection& ec) { ec.tensor_core = TensorCoreModel::kMmaRz; });
  add("feng", EcVariant::kFeng, as_it_is);
  add("halfhalf", EcVariant::kHalfhalf, as_it_is);
  add("halfhalf_outside", EcVariant::kHalfhalf, [](ErrorCorrection& ec) { ec.promote_corrections = true; });
  add("halfhalf_small_term", EcVariant::kHalfhalf, [](ErrorCorrection& ec) { ec.keep_small_term = true; });
  add("tf32tf32", EcVariant::kTf32tf32, as_it_is);
  add("tf32tf32_no_shift", EcVariant::kTf32tf32, [](ErrorCorrection& ec) { ec.remainder_shift = 0; });
  return all;
}

[[nodiscard]] inline kizami::Policy policy_of(const Document& document) {
  kizami::Policy policy;
  policy.scheme = kizami::Scheme::kEc;
  policy.engine = kizami::EngineName::kMma;
  policy.reproducibility = kizami::Reproducibility::kNotGuaranteed;
  policy.ec = document.ec;
  return policy;
}

}  // namespace bench
