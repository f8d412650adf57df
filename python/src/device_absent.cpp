// SPDX-License-Identifier: MIT
// device.hpp in a build without CUDA.
#include "device.hpp"

namespace kizami::python {
namespace {

[[noreturn]] void refuse_device() {
  throw StatusError({StatusCode::kUnsupported, "this build of kizami has no CUDA, arrays must be in host memory"});
}

}  // namespace

Plan plan_on_device(int, Scalar, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const Policy&) {
  refuse_device();
}
cuda::PreparedOperand prepare_on_device(const Plan&, int, std::uintptr_t, Side, const MatrixStack&) { refuse_device(); }
std::vector<Outcome> run_on_device(const DeviceCall&) { refuse_device(); }
nb::object device_array(int, std::uintptr_t, const std::vector<std::int64_t>&, Scalar) { refuse_device(); }
void copy_on_device(int, std::uintptr_t, const OutputArray&, const InputArray&) { refuse_device(); }
int num_devices() { return 0; }

}  // namespace kizami::python
