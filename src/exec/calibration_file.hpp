// SPDX-License-Identifier: MIT
// Where calibrations lie, and the description of a calibrated device.
#pragma once

#include <optional>
#include <string>

#include "kizami/predict.hpp"

namespace kizami::exec {

/// A file in $XDG_CACHE_HOME/kizami, else in ~/.cache/kizami. @return empty: no variable of the environment names a folder
[[nodiscard]] std::string calibration_file(const std::string& name);

/// @param key what tells the device, its driver and this version from others: letters, digits, - and .
/// @return empty: no variable of the environment names a folder
[[nodiscard]] std::string calibration_path_of(const std::string& key);

/// Nothing where there is no file, or it is not understood: of a later format, or damaged.
[[nodiscard]] std::optional<model::Device> read_calibration(const std::string& path);

}  // namespace kizami::exec
