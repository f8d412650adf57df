// SPDX-License-Identifier: MIT
// The library without CUDA.
#include "kizami/calibrate.hpp"

namespace kizami::cuda {
namespace {

Status refusal() { return {StatusCode::kUnsupported, "this library was built without CUDA"}; }

}  // namespace

Result<std::string> calibrate(const std::function<void(std::string_view)>&) { return refusal(); }
Result<std::string> calibration_path() { return refusal(); }
Result<bool> is_calibrated() { return refusal(); }

}  // namespace kizami::cuda
