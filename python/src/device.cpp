// SPDX-License-Identifier: MIT
// The functions of device.hpp as Python calls them.
#include "device.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "products.hpp"

namespace kizami::python {
namespace {

std::vector<Outcome> run_device_arrays(const Plan& plan, int device, std::uintptr_t stream, std::complex<double> alpha,
                                       const InputArray& a, std::string_view op_a, const DevicePrepared* a_prepared,
                                       const InputArray& b, std::string_view op_b, const DevicePrepared* b_prepared,
                                       std::complex<double> beta, const nb::object& c, bool wants_outcomes,
                                       bool waits) {
  const auto prepared = [](const DevicePrepared* x) { return x == nullptr ? nullptr : &x->operand; };
  DeviceCall call{plan,
                  device,
                  stream,
                  alpha,
                  operand_stack(Side::kA, a, op_of(op_a)),
                  prepared(a_prepared),
                  operand_stack(Side::kB, b, op_of(op_b)),
                  prepared(b_prepared),
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

DevicePrepared prepare_array(const Plan& plan, int device, std::uintptr_t stream, std::string_view side_name,
                             const InputArray& array, std::string_view op) {
  const Side side = side_name == "a" ? Side::kA : Side::kB;
  const MatrixStack stack = operand_stack(side, array, op_of(op));
  if (stack.scalar != plan.scalar()) {
    refuse(std::string(side_name) + " is of type " + std::string(numpy_name(stack.scalar)) + ", must be " +
           std::string(numpy_name(plan.scalar())) + " as in the plan");
  }
  const auto prepared = [&] {
    const nb::gil_scoped_release released;
    return prepare_on_device(plan, device, stream, side, stack);
  }();
  return {prepared, array};
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
  m.def("run_on_device", &run_device_arrays, nb::kw_only(), nb::arg("plan"), nb::arg("device"), nb::arg("stream"),
        nb::arg("alpha"), nb::arg("a"), nb::arg("op_a"), nb::arg("a_prepared").none(), nb::arg("b"), nb::arg("op_b"),
        nb::arg("b_prepared").none(), nb::arg("beta"), nb::arg("c"), nb::arg("wants_outcomes"), nb::arg("waits"),
        "Enqueues the products of the stacks a and b into c.");
  nb::class_<DevicePrepared>(m, "DevicePrepared", "One operand on a device split once for many products.")
      .def_prop_ro("side", [](const DevicePrepared& x) { return x.operand.side() == Side::kA ? "a" : "b"; })
      .def_prop_ro("size_bytes", [](const DevicePrepared& x) { return x.operand.size_bytes(); })
      .def("explain", [](const DevicePrepared& x) { return x.operand.explain(); });
  m.def("prepare_on_device", &prepare_array, nb::kw_only(), nb::arg("plan"), nb::arg("device"), nb::arg("stream"),
        nb::arg("side"), nb::arg("x"), nb::arg("op"), "Enqueues the split of one matrix for plans of equal numerics.");
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
