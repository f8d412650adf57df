// SPDX-License-Identifier: MIT
#include "calibration_note.hpp"

#include <fmt/format.h>

#include "failure.hpp"
#include "kizami/calibrate.hpp"

namespace kizami::cli {

void note_unused_calibration() {
  const ProcessorCalibration calibration = processor_calibration();
  if (calibration.why_unused.empty()) return;
  print_note(fmt::format("{} is left out: {}; kizami calibrate --device cpu makes it anew", calibration.path,
                         calibration.why_unused));
}

}  // namespace kizami::cli
