// SPDX-License-Identifier: MIT
// Products of arrays in the memory of a CUDA device, and the little memory management that arrays without an allocator
// of their own need. device_cuda.cpp implements it; device_absent.cpp refuses it all, in builds without CUDA, so that
// the module has the same functions everywhere.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bindings.hpp"
#include "kizami/cuda.hpp"
#include "kizami/outcome.hpp"
#include "kizami/plan.hpp"
#include "matrix_stack.hpp"

namespace kizami::python {

/// An operand prepared on a device, with the array that calls may read.
struct DevicePrepared {
  cuda::PreparedOperand operand;
  InputArray array;
};

/// One product or a batch on a device, as Python asks for it.
struct DeviceCall {
  const Plan& plan;
  int device = 0;
  std::uintptr_t stream = 0;  ///< as the driver numbers it
  std::complex<double> alpha;
  MatrixStack a;
  const cuda::PreparedOperand* a_prepared = nullptr;
  MatrixStack b;
  const cuda::PreparedOperand* b_prepared = nullptr;
  std::complex<double> beta;
  MatrixStack c;
  bool wants_outcomes = false;
  bool waits = false;  ///< return only when the stream is done
};

/// @status as cuda::make_plan(); kInvalidArgument: no such device; kUnsupported: built without CUDA
[[nodiscard]] Plan plan_on_device(int device, Scalar scalar, std::int64_t m, std::int64_t n, std::int64_t k,
                                  std::int64_t num_products, const Policy& policy);

/// Enqueues the split of one matrix on the stream, into memory of its own. @status as cuda::prepare()
[[nodiscard]] cuda::PreparedOperand prepare_on_device(const Plan& plan, int device, std::uintptr_t stream, Side side,
                                                      const MatrixStack& matrix);

/// Enqueues the products on the stream, with a workspace of the device's memory pool.
/// @status as cuda::run_batched(), or of one product cuda::run_prepared(); kOutOfMemory
[[nodiscard]] std::vector<Outcome> run_on_device(const DeviceCall& call);

/// Memory of the device's pool, allocated in the order of the stream, C-contiguous, freed with the object.
[[nodiscard]] nb::object device_array(int device, std::uintptr_t stream, const std::vector<std::int64_t>& shape,
                                      Scalar scalar);

/// Enqueues target <- source. @status kInvalidArgument: other shape or type, or a source that is not C-contiguous
void copy_on_device(int device, std::uintptr_t stream, const OutputArray& target, const InputArray& source);

/// Devices that the driver shows to this process; 0 without CUDA or driver.
[[nodiscard]] int num_devices();

}  // namespace kizami::python
