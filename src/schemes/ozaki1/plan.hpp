// SPDX-License-Identifier: MIT
// Plans scheme ozaki1: refusals, slices and bound, chunks and engine; its workspace and its products.
#pragma once

#include <cstdint>

#include "base/carver.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "schemes/ozaki1/stage.hpp"
#include "schemes/ozaki2/buffers.hpp"

namespace kizami::ozaki1 {

/// On the host and, by device_plan.hpp, on a device.
extern const plan::SchemePlanner kOzaki1Planner;

/// Lines of the larger operand in one pass of SliceSums::kBlocked on the host; unmeasured.
inline constexpr int kSliceBlockLines = 4096;

/// What scheme ozaki1 cannot do whatever the machine, and wishes that belong to it alone. @status kInvalidArgument: a
/// number out of range; kUnsupported; kAccuracyUnreachable: accuracy correct
Status validate_slices(const problem::Shape& shape, const Policy& policy);

/// Slices, bound, and without a certificate all of the plan but chunks and engine; with one, scheme ozaki2 is planned
/// already.
/// @status kAccuracyUnreachable: no number of slices reaches the accuracy in gauge kNorm
Status plan_slice_numerics(plan::Plan& plan, ComplexForm form);
/// The form that a wish means, where it is not left to prediction; of real types kAuto.
[[nodiscard]] ComplexForm complex_form_of(const Slicing& wishes, Scalar scalar);
/// Whether plan_slice_numerics() wants a certificate, and so scheme ozaki2 behind it.
[[nodiscard]] bool wants_certificate(const Policy& policy);
/// Chunks and engine. @status kUnsupported: no engine; kWorkspaceTooSmall
Status plan_slice_schedule(plan::Plan& plan, const plan::Environment& environment);

/// Bytes of one digit.
[[nodiscard]] inline std::int64_t slice_element_bytes(SliceFormat format) {
  return format == SliceFormat::kInt8 ? 1 : 2;
}
/// Numbers of a slice of kc elements, and those padded.
[[nodiscard]] std::int64_t slice_numbers(const plan::Plan& plan, std::int64_t elements);
[[nodiscard]] std::int64_t slice_stride(const plan::Plan& plan, std::int64_t elements);
/// Words of an exact sum; 1: sums are FP64 numbers.
[[nodiscard]] int slice_sum_words(const plan::Plan& plan);
/// Products of one anti-diagonal of `elements` elements of k that share an accumulator: r of ozIMMU_EF.
[[nodiscard]] int slices_per_sum(const plan::Plan& plan, std::int64_t elements);

struct SliceBuffers {
  /// Of scheme ozaki2, whose lines and certificate serve slices too; the rest is in the memory of its main pass.
  ozaki2::Buffers behind;
  std::byte* a = nullptr;         ///< [parts][mc][slices][slice_stride(kc)]
  std::byte* b = nullptr;         ///< [parts][nc][slices][slice_stride(kc)]
  void* acc = nullptr;            ///< [planes][nc][stacked mc], INT32 or FP32
  std::uint64_t* sums = nullptr;  ///< [forms][nc][mc][words]
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;
};
[[nodiscard]] SliceBuffers carve_slices(base::Carver& carver, const plan::Plan& plan);

/// `count` products of slices of INT8 in one launch, each by itself; or one product over `count` slices side by side.
[[nodiscard]] product::ProductDesc slice_product(const plan::Plan& plan, int count, bool is_concatenated);
/// One product of slices in floating point, over `count` of them side by side.
[[nodiscard]] product::FloatProductDesc float_slice_product(const plan::Plan& plan, int count);

}  // namespace kizami::ozaki1
