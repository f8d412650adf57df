// SPDX-License-Identifier: MIT
// Convolutions of FP32 images in the memory of a CUDA device of compute capability 9.0, as products of FP16 or TF32 parts
// on tensor cores, in the order of a stream. No CUDA header is needed to include this.
//   Result<ConvolutionPlan> plan = make_convolution_plan(shape);
//   Status s = cuda::convolve(plan.value(), 1.0F, x, w, 0.0F, y, workspace, stream);
// Built with CUDA only.
#pragma once

#include <cstddef>
#include <span>

#include "kizami/convolution.hpp"
#include "kizami/cuda.hpp"
#include "kizami/export.h"
#include "kizami/status.hpp"

namespace kizami::cuda {

/// Enqueues y <- alpha conv(x, w) + beta y.
/// @shape  x, w, y as plan.shape() says, device memory; workspace: plan.workspace_bytes() of device memory that begins on
///         a 256-byte boundary, not in use by another call
/// @bound  plan.bound() and plan.floor(), times |alpha|; 2 u (|alpha conv(x, w)| + |beta y|) come on top. An element whose
///         window or filter has NaN or Inf is an FP32 sum in the order of rows, columns, channels. beta = 0 does not read
///         y, alpha = 0 neither x nor w.
/// @alias  y overlaps neither x nor w
/// @status kInvalidArgument: a pointer is null, the workspace too small or not aligned; kUnsupported: the device; kInternal
///         with CUDA's words
/// @queue  asynchronous, allocates nothing, waits for nothing, capturable
KIZAMI_API Status convolve(const ConvolutionPlan& plan, float alpha, const float* x, const float* w, float beta,
                           float* y, std::span<std::byte> workspace, Stream stream);

/// Enqueues the split of filters, for any number of convolutions by plans of the same shape, but for images, height and
/// width, and of the same format.
/// @shape  prepared: plan.filter_bytes() of device memory that begins on a 256-byte boundary
/// @status, @queue as convolve()
KIZAMI_API Status prepare_filters(const ConvolutionPlan& plan, const float* w, std::span<std::byte> prepared,
                                  Stream stream);

/// convolve() with filters split before: the same bits. w is read for NaN and Inf alone.
KIZAMI_API Status convolve_prepared(const ConvolutionPlan& plan, float alpha, const float* x, const float* w,
                                    std::span<const std::byte> prepared, float beta, float* y,
                                    std::span<std::byte> workspace, Stream stream);

}  // namespace kizami::cuda
