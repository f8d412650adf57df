// SPDX-License-Identifier: MIT
// device.hpp and the device of case_solver.hpp in a build without CUDA.
#include <complex>

#include "case_solver.hpp"
#include "device.hpp"
#include "failure.hpp"

namespace kizami::cli {
namespace {

[[noreturn]] void refuse() { throw Failure(ExitCode::kRefused, "--device: this program was built without CUDA"); }

}  // namespace

std::unique_ptr<CaseSolver> device_solver() { refuse(); }
std::string cuda_version() { return {}; }
int device_count() { refuse(); }
DeviceNames device_names() { refuse(); }
std::string device_name(int) { refuse(); }
void use_device(int) { refuse(); }
DeviceRoom device_room() { refuse(); }
Result<Plan> device_plan(Scalar, std::int64_t, std::int64_t, std::int64_t, const Policy&) { refuse(); }

template <class T>
std::unique_ptr<DeviceProduct<T>> device_product() {
  refuse();
}
template std::unique_ptr<DeviceProduct<float>> device_product();
template std::unique_ptr<DeviceProduct<double>> device_product();
template std::unique_ptr<DeviceProduct<std::complex<float>>> device_product();
template std::unique_ptr<DeviceProduct<std::complex<double>>> device_product();

}  // namespace kizami::cli
