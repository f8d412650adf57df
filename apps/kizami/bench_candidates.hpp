// SPDX-License-Identifier: MIT
// What `kizami bench` times: the ways to multiply the matrices of a case. Throws Failure, also while timing.
#pragma once

#include <string>
#include <vector>

#include "bench_table.hpp"
#include "check/case.hpp"

namespace kizami::cli {

/// On this host, native BLAS first; with the floors of the numbers of moduli that the others use. All have run once.
/// @param dtype  of C: "dd", or the type of the case
[[nodiscard]] std::vector<Candidate> host_candidates(const std::string& dtype, const check::Case& spec, int threads);

/// On the current CUDA device, native cuBLAS first. Throws as device.hpp says; kRefused also without libcublas.
/// @param threads  that make the operands
[[nodiscard]] std::vector<Candidate> device_candidates(const check::Case& spec, int threads);

}  // namespace kizami::cli
