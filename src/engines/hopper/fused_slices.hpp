// SPDX-License-Identifier: MIT
// The fused kernel of slices (fused_slices_sm90.cuh) as product::FusedSliceEngine has it.
#pragma once

#include <optional>
#include <string>

#include "product/fused_slices.hpp"

namespace kizami::engines::hopper {

[[nodiscard]] std::optional<std::string> why_refused(const product::FusedSliceDesc& desc);
/// Predicted seconds on `num_sms` multiprocessors, launch included.
[[nodiscard]] double fused_seconds(const product::FusedSliceDesc& desc, int num_sms);
/// @range  a description that is not refused
/// @status kInvalidArgument: a pointer that breaks its range; kUnsupported: no driver with tensor maps; kInternal
/// @queue  only enqueues
template <class T>
[[nodiscard]] Status launch_fused_slices(const product::FusedSliceDesc& desc,
                                         const product::FusedSlicePointers<T>& pointers, product::Queue queue);

}  // namespace kizami::engines::hopper
