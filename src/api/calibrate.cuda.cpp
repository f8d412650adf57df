// SPDX-License-Identifier: MIT
#include "kizami/calibrate.hpp"

#include <utility>

#include "exec/device_calibration.hpp"
#include "exec/device_environment.hpp"
#include "model/print.hpp"

namespace kizami::cuda {

Result<std::string> calibrate(const std::function<void(std::string_view)>& progress) {
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) return environment.status();
  model::Device device;
  KIZAMI_RETURN_IF_ERROR(exec::describe_current_device(environment.value().facts, device));
  device.sources.emplace_back("C", "kizami calibrate, on this device");
  const Result<model::Device> measured = exec::calibrate_device(environment.value(), std::move(device), progress);
  if (!measured.ok()) return measured.status();
  return model::print_device(measured.value());
}

Result<std::string> calibration_path() {
  std::string path;
  KIZAMI_RETURN_IF_ERROR(exec::find_calibration_path(path));
  if (path.empty()) return Status(StatusCode::kUnsupported, "neither XDG_CACHE_HOME nor HOME names a folder");
  return path;
}

Result<bool> is_calibrated() {
  const Result<plan::Environment> environment = exec::device_environment();
  if (!environment.ok()) return environment.status();
  return environment.value().facts.rates.are_measured;
}

}  // namespace kizami::cuda
