// SPDX-License-Identifier: MIT
// Everything a C++ user needs.
#pragma once

#include "kizami/convolution.hpp"
#include "kizami/export.h"
#include "kizami/formats.hpp"
#include "kizami/gemm.hpp"
#include "kizami/measure.hpp"
#include "kizami/plan.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami {

/// "0.1.0"
[[nodiscard]] KIZAMI_API const char* version();

/// What the library found on this machine, one fact a line: processor features, engines and kernels, threads, BLAS.
[[nodiscard]] KIZAMI_API std::string machine_report();

}  // namespace kizami
