// SPDX-License-Identifier: MIT
// What commands say of a calibration of the processor that is left out.
#pragma once

namespace kizami::cli {

/// Prints one line on stderr where there is a file, and it is of no use here.
void note_unused_calibration();

}  // namespace kizami::cli
