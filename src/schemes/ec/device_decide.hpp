// SPDX-License-Identifier: MIT
// The choice among the formats of a call by what its first split has seen, and what is left to do where the planes of the first split will not
// do, in one launch between split and product. Each product of a batch chooses for itself.
#pragma once

#include <cstdint>

#include "device/state.hpp"
#include "fp64/device.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "num/ec_profile.hpp"
#include "product/ec_planes.hpp"
#include "product/product.hpp"
#include "schemes/ec/device_split.hpp"

namespace kizami::ec {

/// How a call goes on. Stages are formats in the order in which they are tried.
struct EcDecision {
  /// of each product; on 16 bytes, and product::kEcReportsInQuad at a time may be read
  const product::EcReport* reports = nullptr;
  int num_reports = 0;
  const num::EcProfiles* profiles = nullptr;  ///< of device_ec_profile(); null: none
  product::EcFormat formats[2] = {product::EcFormat::kF16, product::EcFormat::kTf32};  ///< the second is kTf32
  int num_stages = 2;                                                                  ///< 1 or 2
  bool checks_range = true;    ///< false: the first stage, whatever comes
  bool is_transposed = false;  ///< operand a is the columns of op(B)
  bool is_of_both = false;     ///< operand b is a, and has no reports of its own
  std::int64_t num_pairs = 0;  ///< elements of C
  device::DeviceState* state = nullptr;
  /// Of a call with kept planes, whose other planes are multiplied by a launch of their own: 1 where they are of the
  /// second stage and wanted, else -1. Null: of one without
  std::int32_t* made_product = nullptr;
};

/// Chooses the first stage whose range holds the operands, and makes its planes and scales, to the bit as device_ec_split(), if it is the
/// second: *decision.state becomes that of a call that has decided (ec_stage, selection.rung = 0, or -1 for FP64 arithmetic; counts of lines
/// with NaN or Inf).
/// @param  a, b  of the second stage; their stats, which are read, those of the first split. An operand without lines is left out
/// @queue  asynchronous, one kernel, capturable, which ends at once where the planes are those of the first split
template <class T>
Status device_ec_decide(const EcDecision& decision, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                        Factor<T> alpha, int num_sms, product::Queue queue);

/// The same, and what the call leaves to the FP64 rung, as fp64::answer_exceptions() does it: elements that no product writes, so it comes
/// first. @param left its state is decision.state, its stats are those of the first split; without repairs
/// @exact  the bits of fp64::answer_exceptions(); the effort is told
template <class T>
Status device_ec_decide_and_answer(const EcDecision& decision, const DeviceEcSplit<T>& a, const DeviceEcSplit<T>& b,
                                   const fp64::DeviceCall<T>& left, int num_sms, product::Queue queue);

/// device_ec_decide() of each product of a batch. @param decision its state is [num_products]
/// @range  no planes are kept. The planes and scales of an operand that all have are not those of the first split, which
///         other products have
template <class T>
Status device_ec_decide_batch(const EcTogether& together, const EcDecision& decision, const DeviceEcSplits<T>& a,
                              const DeviceEcSplits<T>& b, Factor<T> alpha, int num_sms, product::Queue queue);

}  // namespace kizami::ec
