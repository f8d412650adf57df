// SPDX-License-Identifier: MIT
// Products of scheme ec in ways that the library does not have (product_ways_sm90.cuh), beside it: same arguments, same bits.
#pragma once

#include <cstdint>
#include <string_view>

#include "engines/hopper/drift_control.hpp"
#include "engines/hopper/ec_forms.hpp"
#include "kizami/status.hpp"
#include "product/product.hpp"
#include "schemes/ec/device_split.hpp"

namespace bench::ec_ways {

/// kTurns: consumers hand products to the tensor cores by turns. kPaced: clusters keep together along k
/// (drift_control.hpp). kRegisters: turns, and the lines of B are split in registers. kEager: the first stages come before
/// the decision is read.
enum class EcWay : std::uint8_t { kTurns, kPaced, kRegisters, kEager };
inline constexpr EcWay kEcWays[] = {EcWay::kTurns, EcWay::kPaced, EcWay::kRegisters, EcWay::kEager};
[[nodiscard]] constexpr std::string_view name_of(EcWay way) {
  constexpr std::string_view kNames[] = {"turns", "paced", "registers", "eager"};
  return kNames[static_cast<int>(way)];
}

/// Why a way does not make a product, or nullptr. kRegisters: the lines of B are contiguous, begin on 16 bytes, and have a
/// multiple of 16 elements. kEager alone takes a decision, of which only the first split has a product.
[[nodiscard]] const char* why_not(EcWay way, const kizami::engines::EcProduct& product, kizami::engines::EcForm form,
                                  kizami::product::EcPromotion promotion);
/// run_ec_product() of FP16, of one product without a second split. kRegisters reads b.lines and b.planes.scales, but no
/// planes of b. @param words  kPaced: zeros before the first launch, and after each; of one queue
/// @range why_not() is null
[[nodiscard]] kizami::Status run(EcWay way, const kizami::engines::EcProduct& product, kizami::engines::EcForm form,
                                 kizami::product::EcPromotion promotion, kizami::engines::hopper::DriftWords* words,
                                 kizami::product::Queue queue);

/// device_ec_split() to FP16 that makes no planes of b, only its scales, and reports as ever.
[[nodiscard]] kizami::Status split_without_rows(const kizami::ec::DeviceEcSplit<float>& a,
                                                const kizami::ec::DeviceEcSplit<float>& b,
                                                const kizami::ec::EcObservation& observation, int num_sms,
                                                int& num_reports, kizami::product::Queue queue);

/// device_ec_decide() with four reports a thread under way, of which the second launch, where there is one, reads none.
/// @range decision.num_stages = 2
[[nodiscard]] kizami::Status decide_at_once(const kizami::ec::EcDecision& decision,
                                            const kizami::ec::DeviceEcSplit<float>& a,
                                            const kizami::ec::DeviceEcSplit<float>& b, int num_sms,
                                            kizami::product::Queue queue);

}  // namespace bench::ec_ways
