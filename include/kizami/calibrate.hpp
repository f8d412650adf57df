// SPDX-License-Identifier: MIT
// What a processor or a CUDA device reaches, measured once on request. The planner chooses by it, and kizami predict
// reads it. No bit hangs on it but by a choice between schemes where bits are not promised (Reproducibility). In a
// library without CUDA calls of namespace kizami::cuda are refused with kUnsupported.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kizami/export.h"
#include "kizami/predict.hpp"
#include "kizami/status.hpp"

namespace kizami {

/// Measures this processor with as many threads as a product takes where nobody says: copies, the start of threads, split and
/// CRT, INT8 products of each engine, products of the BLAS by size. Takes at most 25 seconds and 200 MB; what cannot be
/// measured is left out.
/// @param progress is told each number when it is there; may be empty
/// @return what to write to processor_calibration().path
/// @status kOutOfMemory
KIZAMI_API Result<std::string> calibrate_processor(const std::function<void(std::string_view)>& progress = {});

struct ProcessorCalibration {
  std::string path;      ///< where a process looks when it first multiplies or plans; empty: no variable names a folder
  bool is_used = false;  ///< there was a file, and this process goes by it
  std::string why_unused;  ///< there was one that is of no use: damaged, or of another processor, version or BLAS
};
/// In $XDG_CACHE_HOME/kizami, else ~/.cache/kizami, with the processor and its number of threads in its name. What is
/// left out is as if it were not there.
KIZAMI_API ProcessorCalibration processor_calibration();

/// What a product in host memory would take, as the planner has it. Basis kSheet leaves the calibration out.
/// @status kUnsupported: a way other than kNative and kOzaki2, another format than INT8, or another program; kInvalidArgument
KIZAMI_API Result<model::Prediction> predict_on_processor(const model::Request& request);

}  // namespace kizami

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
