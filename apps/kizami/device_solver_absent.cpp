// SPDX-License-Identifier: MIT
// case_solver.hpp in a build without CUDA.
#include "case_solver.hpp"
#include "failure.hpp"

namespace kizami::cli {
namespace {

[[noreturn]] void refuse() { throw Failure(ExitCode::kRefused, "--device: this program was built without CUDA"); }

}  // namespace

std::unique_ptr<CaseSolver> device_solver() { refuse(); }
DeviceNames device_names() { refuse(); }

}  // namespace kizami::cli
