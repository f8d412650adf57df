// SPDX-License-Identifier: MIT
// The functions of device.hpp as Python calls them.
#include "device.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "products.hpp"

namespace kizami::python {
namespace {

std::vector<Outcome> run_arrays(const Plan& plan, int device, std::uintptr_t stream, std::complex<double> alpha,
                                const InputArray& a, std::string_view op_a, const InputArray& b, std::string_view op_b,
                                std::complex<double> beta, const nb::object& c, bool wants_outcomes, bool waits) {
  DeviceCall call{plan,
                  device,
                  stream,
                  alpha,
                  operand_stack(Side::kA, a, op_of(op_a)),
                  operand_stack(Side::kB, b, op_of(op_b)),
                  beta,
                  {},
                  wants_outcomes,
                  waits};
  const OutputArray output = output_of(c);
  call.c = result_stack(output, call.a.is_vector, call.b.is_vector);
  check_types(plan, call.a, call.b, call.c);
  const nb::gil_scoped_release released;
  return run_on_device(call);
}

}  // namespace

void bind_device(nb::module_& m) {
  m.def("num_devices", &num_devices, "CUDA devices that this process sees; 0 in a build without CUDA.");
  m.def(
      "make_device_plan",
      [](int device, std::string_view dtype, std::int64_t rows, std::int64_t cols, std::int64_t inner,
         std::int64_t num_products, const Policy& policy) {
        return plan_on_device(device, scalar_of(dtype), rows, cols, inner, num_products, policy);
      },
      nb::arg("device"), nb::arg("dtype"), nb::arg("m"), nb::arg("n"), nb::arg("k"), nb::arg("num_products"),
      nb::arg("policy"), "Decides how to multiply a batch on a device.");
  m.def("run_on_device", &run_arrays, nb::kw_only(), nb::arg("plan"), nb::arg("device"), nb::arg("stream"),
        nb::arg("alpha"), nb::arg("a"), nb::arg("op_a"), nb::arg("b"), nb::arg("op_b"), nb::arg("beta"), nb::arg("c"),
        nb::arg("wants_outcomes"), nb::arg("waits"), "Enqueues the products of the stacks a and b into c.");
  m.def(
      "device_array",
      [](int device, std::uintptr_t stream, const std::vector<std::int64_t>& shape, std::string_view dtype) {
        return device_array(device, stream, shape, scalar_of(dtype));
      },
      nb::arg("device"), nb::arg("stream"), nb::arg("shape"), nb::arg("dtype"),
      "Memory of a device, as an object with __dlpack__.");
  m.def(
      "copy_on_device",
      [](int device, std::uintptr_t stream, const nb::object& target, const InputArray& source) {
        copy_on_device(device, stream, output_of(target), source);
      },
      nb::arg("device"), nb::arg("stream"), nb::arg("target"), nb::arg("source"), "Enqueues target <- source.");
}

}  // namespace kizami::python
