// SPDX-License-Identifier: MIT
// The rates of a processor as kizami calibrate --device cpu has written them, and whose they are.
#pragma once

#include <string>
#include <string_view>

#include "kizami/status.hpp"
#include "product/processor_rates.hpp"

namespace kizami::exec {

/// What rates hang on: others than these are not for here.
struct ProcessorKey {
  std::string processor;  ///< "AMD EPYC 7B13"
  int threads = 1;
  std::string blas;
  std::string version;  ///< of Kizami, whose kernels they are
};
/// Of this process, with as many threads as a product takes where nobody says.
[[nodiscard]] ProcessorKey this_processor();

/// "processor-AMD-EPYC-7B13-2.v1.json" in the folder of calibrations; empty: no variable names a folder.
[[nodiscard]] std::string processor_path_of(const ProcessorKey& key);

/// Without the rates that are as they are where nobody has measured.
[[nodiscard]] std::string print_processor(const ProcessorKey& key, const product::ProcessorRates& rates);
/// What is not in the text is as it is where nobody has measured.
/// @status kInvalidArgument: why it is of no use here
[[nodiscard]] Result<product::ProcessorRates> parse_processor(std::string_view text, const ProcessorKey& key);

/// What this process goes by.
struct ProcessorCalibration {
  product::ProcessorRates rates;
  std::string path;        ///< where a file is looked for; empty: nowhere
  bool is_used = false;    ///< there was one, and `rates` are its
  std::string why_unused;  ///< there was one, and it is left out
};
/// Looked for once in a process. Reads nothing else, and writes nothing.
[[nodiscard]] const ProcessorCalibration& processor_calibration();

}  // namespace kizami::exec
