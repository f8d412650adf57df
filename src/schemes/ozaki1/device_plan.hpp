// SPDX-License-Identifier: MIT
// Scheme ozaki1 for operands in device memory: as many slices as the caller names, gauge norm needs, a rung has or
// leave nothing. Both operands of a chunk of C are sliced whole, one launch makes the products of many windows of
// slices, one kernel adds them to exact sums.
#pragma once

#include <cstdint>

#include "base/carver.hpp"
#include "device/state.hpp"
#include "kizami/status.hpp"
#include "plan/plan.hpp"
#include "product/fused_slices.hpp"
#include "product/product.hpp"
#include "schemes/ozaki1/stage.hpp"

namespace kizami::ozaki1 {

/// Planes [end of the group before, end) times their factors, in 64 bits; then, times a sign and 2^shift, to the sum of
/// a form.
struct SliceGroup {
  std::int32_t end = 0;
  std::int32_t shift = 0;
  std::int32_t signs[2] = {1, 0};
};
/// How the planes of a launch enter the exact sums.
struct SliceSumList {
  std::int32_t num_groups = 0;
  std::int32_t planes[product::kMaxWindows] = {};
  std::int32_t factors[product::kMaxWindows] = {};  ///< powers of two
  SliceGroup groups[product::kMaxWindows] = {};
};
/// The products of one launch: windows, those of a plane behind each other, planes in the order of falling k.
struct SliceBatch {
  int num_planes = 0;
  int num_windows = 0;
  product::Window windows[product::kMaxWindows] = {};
  SliceSumList sums;
};

/// The products of one block of k, batch by batch.
class SliceWalk {
 public:
  /// @range elements: of the block of k
  SliceWalk(const plan::Plan& plan, std::int64_t elements);
  /// @return false: there are no more
  bool next(SliceBatch& batch);

 private:
  struct Place {
    int product = 0;
    int diagonal = 0;        ///< falls, or rises where windows come one by one
    int first = 0;           ///< slice of A
    std::int64_t taken = 0;  ///< elements of the run of slices that begins there
  };
  [[nodiscard]] int first_diagonal() const;
  [[nodiscard]] int first_slice(int diagonal) const;

  const plan::Plan& plan_;
  SlicedForm form_;
  std::int64_t numbers_;
  std::int64_t stride_;
  bool is_concatenated_;
  int most_added_;      ///< windows that share a plane
  bool is_one_by_one_;  ///< launches of one window, from the first anti-diagonal on
  std::int64_t most_numbers_;
  Place place_;
};

/// One operand in device memory.
struct DeviceSliceLineBuffers {
  num::LineStats* stats = nullptr;    ///< [lines]
  std::int32_t* exponents = nullptr;  ///< [lines]
};
/// Of the blocks that one stream takes, of m x n elements of C each.
struct DeviceSliceBlockBuffers {
  std::int32_t* acc = nullptr;    ///< [planes][n][round_up(m, kDeviceLinePad)]
  std::uint64_t* sums = nullptr;  ///< [forms][n][m][words], where one launch does not make all products
  std::byte* engine = nullptr;
  std::size_t engine_bytes = 0;
};
struct DeviceSliceBuffers {
  device::DeviceState* state = nullptr;  ///< at the beginning of the workspace; the rest is absent from an empty call
  DeviceSliceLineBuffers a;
  DeviceSliceLineBuffers b;
  std::int8_t* a_slices = nullptr;  ///< [parts][round_up(mc, kReadRows)][slices][stride] elements of the format
  std::int8_t* b_slices = nullptr;  ///< [parts][round_up(nc, kReadRows)][slices][stride]
  DeviceSliceBlockBuffers blocks[kMaxSliceStreams];  ///< one a stream; none where sums are fused
};
[[nodiscard]] DeviceSliceBuffers carve_device_slices(base::Carver& carver, const plan::Plan& plan);

/// How a complex product becomes real ones: as on the host, but that lines are never stacked.
[[nodiscard]] SlicedForm device_sliced_form(const plan::Plan& plan);
/// Numbers of a slice of `elements` elements, padded.
[[nodiscard]] std::int64_t device_slice_stride(const plan::Plan& plan, std::int64_t elements);
/// Words of an exact sum: 2, 4 or 8; 1: sums are FP64 numbers.
[[nodiscard]] int device_sum_words(const plan::Plan& plan);
/// Whether slices depend on what all lines of an operand have in common, see SliceSurvey.
[[nodiscard]] bool has_slice_survey(const plan::Plan& plan);
/// Whether the operands are sliced whole in one pass, see schemes/ozaki1/device_split.hpp.
[[nodiscard]] bool slices_in_one_pass(const plan::Plan& plan);
/// Extents of C of a block.
struct BlockExtents {
  std::int64_t m = 0;
  std::int64_t n = 0;
};
[[nodiscard]] BlockExtents slice_block(const plan::Plan& plan);
/// The product of a batch for a block of C, as the engine is asked for it.
[[nodiscard]] product::ProductDesc device_slice_product(const plan::Plan& plan, const SliceBatch& batch, std::int64_t m,
                                                        std::int64_t n);

/// The product of a block of C in one launch, where the stage's sums are kFused.
[[nodiscard]] product::FusedSliceDesc fused_slice_product(const plan::Plan& plan, std::int64_t m, std::int64_t n);

/// What the device does not do of scheme ozaki1. @status kUnsupported
Status validate_device_slices(const Policy& policy);
/// Plans scheme ozaki1 of a validated policy.
/// @status kUnsupported: no engine; kAccuracyUnreachable; kWorkspaceTooSmall
Status plan_device_ozaki1(plan::Plan& plan, const plan::Environment& environment);

}  // namespace kizami::ozaki1
