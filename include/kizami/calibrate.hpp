// SPDX-License-Identifier: MIT
// What a CUDA device reaches, measured once on request. The planner chooses by it, and kizami predict reads it. It never
// changes a bit. In a library without CUDA calls are refused with kUnsupported.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kizami/export.h"
#include "kizami/status.hpp"

namespace kizami::cuda {

/// Measures the calling thread's current device: copies, launches, INT8 products by size, engine mma, products of cuBLAS.
/// Takes at most 25 seconds and a gigabyte of device memory; what cannot be measured is left out.
/// @param progress is told each number when it is there; may be empty
/// @return a description as those in devices/ (docs/predict.md), whose `measured` is what was found
/// @status kUnsupported: no device, or none that this build runs on; kOutOfMemory; kInternal with CUDA's words
KIZAMI_API Result<std::string> calibrate(const std::function<void(std::string_view)>& progress = {});

/// The file in which the library looks for the description of the current device when a process first uses it: in
/// $XDG_CACHE_HOME/kizami, else ~/.cache/kizami, with the device, its driver and this version in its name. What is there
/// and not understood is as if it were not there.
/// @status kUnsupported: no device, or neither variable names a folder
KIZAMI_API Result<std::string> calibration_path();

/// Whether the rates of the current device were measured: on itself, or by those who made the library on its kind.
/// @status as make_plan()
KIZAMI_API Result<bool> is_calibrated();

}  // namespace kizami::cuda
