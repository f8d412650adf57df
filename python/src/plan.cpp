// SPDX-License-Identifier: MIT
// kizami::Plan, PreparedOperand and Outcome as read-only objects, and the functions that make them.
#include "kizami/plan.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "matrix_stack.hpp"
#include "products.hpp"

namespace kizami::python {
namespace {

constexpr std::array kNames = {std::pair{Scalar::kF32, "float32"}, std::pair{Scalar::kF64, "float64"},
                               std::pair{Scalar::kC64, "complex64"}, std::pair{Scalar::kC128, "complex128"}};

template <class T>
PreparedOperand prepare_as(const Plan& plan, Side side, const MatrixStack& stack) {
  const nb::gil_scoped_release released;
  return value_of(kizami::prepare<T>(plan, side, stack.view<T>({}, 0)));
}

PreparedOperand prepare_array(const Plan& plan, std::string_view side_name, const InputArray& array,
                              std::string_view op) {
  const Side side = side_name == "a" ? Side::kA : Side::kB;
  const MatrixStack stack = operand_stack(side, array, op_of(op));
  if (stack.scalar != plan.scalar()) {
    refuse(std::string(side_name) + " is of type " + std::string(numpy_name(stack.scalar)) + ", must be " +
           std::string(numpy_name(plan.scalar())) + " as in the plan");
  }
  return with_scalar(stack.scalar, [&]<class T>() { return prepare_as<T>(plan, side, stack); });
}

}  // namespace

Scalar scalar_of(std::string_view name) {
  for (const auto& [scalar, text] : kNames) {
    if (name == text) return scalar;
  }
  refuse("dtype = '" + std::string(name) + "', must be one of float32, float64, complex64, complex128");
}

std::string_view numpy_name(Scalar scalar) {
  for (const auto& [known, text] : kNames) {
    if (known == scalar) return text;
  }
  return "unknown";
}

void bind_plan(nb::module_& m) {
  nb::class_<Outcome>(m, "Outcome", "What one product did and what it guarantees.")
      .def_prop_ro("scheme", [](const Outcome& x) { return to_string(x.scheme); })
      .def_ro("engine", &Outcome::engine)
      .def_ro("bound", &Outcome::bound)
      .def_prop_ro("gauge", [](const Outcome& x) { return to_string(x.gauge); })
      .def_ro("is_conditional", &Outcome::is_conditional)
      .def_ro("moduli", &Outcome::moduli)
      .def_ro("slices", &Outcome::slices)
      .def_ro("rung", &Outcome::rung)
      .def_ro("equilibrated", &Outcome::equilibrated)
      .def_ro("repaired", &Outcome::repaired)
      .def_ro("nonfinite_rows", &Outcome::nonfinite_rows)
      .def_ro("nonfinite_cols", &Outcome::nonfinite_cols)
      .def_prop_ro("variant", [](const Outcome& x) { return to_string(x.variant); });

  nb::class_<Plan>(m, "Plan", "An immutable decision how to multiply.")
      .def_prop_ro("dtype", [](const Plan& x) { return numpy_name(x.scalar()); })
      .def_prop_ro("m", &Plan::m)
      .def_prop_ro("n", &Plan::n)
      .def_prop_ro("k", &Plan::k)
      .def_prop_ro("num_products", &Plan::num_products)
      .def_prop_ro("scheme", [](const Plan& x) { return to_string(x.scheme()); })
      .def_prop_ro("engine", &Plan::engine)
      .def_prop_ro("bound", &Plan::bound)
      .def_prop_ro("gauge", [](const Plan& x) { return to_string(x.gauge()); })
      .def_prop_ro("variant", [](const Plan& x) { return to_string(x.variant()); })
      .def_prop_ro("base_moduli", &Plan::base_moduli)
      .def_prop_ro("max_moduli", &Plan::max_moduli)
      .def_prop_ro("workspace_bytes", &Plan::workspace_bytes)
      .def_prop_ro("predicted_seconds", &Plan::predicted_seconds)
      .def_prop_ro("numerics_hash", &Plan::numerics_hash)
      .def("explain", &Plan::explain);

  nb::class_<PreparedOperand>(m, "Prepared", "One operand split once for many products.")
      .def_prop_ro("side", [](const PreparedOperand& x) { return x.side() == Side::kA ? "a" : "b"; })
      .def_prop_ro("size_bytes", &PreparedOperand::size_bytes);

  m.def(
      "make_plan",
      [](std::string_view dtype, std::int64_t rows, std::int64_t cols, std::int64_t inner, const Policy& policy) {
        const Scalar scalar = scalar_of(dtype);
        return value_of(make_plan(scalar, rows, cols, inner, policy));
      },
      nb::arg("dtype"), nb::arg("m"), nb::arg("n"), nb::arg("k"), nb::arg("policy"),
      "Decides how to multiply op(A) (m x k) by op(B) (k x n) in host memory.");
  m.def(
      "dtype_of", [](const InputArray& array) { return numpy_name(operand_stack(Side::kA, array, Op::kNone).scalar); },
      nb::arg("array"), "The type of the elements of an array.");
  m.def("may_overlap", &may_overlap, nb::arg("x"), nb::arg("y"),
        "Whether two arrays may share memory, by their first and last elements.");
  m.def("prepare", &prepare_array, nb::arg("plan"), nb::arg("side"), nb::arg("x"), nb::arg("op"),
        "Splits one matrix in host memory for plans of equal numerics.");
}

}  // namespace kizami::python
