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

/// The most threads that a product takes where its policy has threads = 0: all processors that the process may run on now,
/// or fewer by the quota of its control group and by KIZAMI_THREADS (without it OMP_NUM_THREADS). At least 1.
[[nodiscard]] KIZAMI_API int default_threads();

}  // namespace kizami
