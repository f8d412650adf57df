// SPDX-License-Identifier: MIT
// On several devices, without the lock of the interpreter: C <- alpha op(A) op(B) + beta C, and one triangle of
// C <- alpha op(A) op(A)^T + beta C.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "kizami/multi.hpp"
#include "matrix_stack.hpp"
#include "products.hpp"

namespace kizami::python {
namespace {

struct SharedCall {
  multi::Placement placement;
  std::complex<double> alpha;
  MatrixStack a;
  MatrixStack b;
  std::complex<double> beta;
  MatrixStack c;
  const Policy& policy;
};

template <class T>
Outcome run_as(const SharedCall& call) {
  const multi::Plan plan =
      value_of(multi::make_plan(kScalarOf<T>, call.c.rows, call.c.cols, call.a.cols, call.policy, call.placement));
  const multi::Piece<const T> a{0, 0, call.a.view<T>({}, 0)};
  const multi::Piece<const T> b{0, 0, call.b.view<T>({}, 0)};
  const multi::Piece<T> c{0, 0, call.c.output<T>(0)};
  Outcome outcome;
  check(multi::run<T>(plan, factor<T>(call.alpha), {&a, 1}, {&b, 1}, factor<T>(call.beta), {&c, 1}, {}, &outcome));
  return outcome;
}

struct TriangleCall {
  multi::Placement placement;
  multi::Syrk triangle;
  std::complex<double> alpha;
  MatrixStack a;
  std::complex<double> beta;
  MatrixStack c;
  const Policy& policy;
};

template <class T>
Outcome run_triangle_as(const TriangleCall& call) {
  const multi::Plan plan = value_of(
      multi::make_syrk_plan(kScalarOf<T>, call.triangle, call.c.rows, call.a.cols, call.policy, call.placement));
  const multi::Piece<const T> a{0, 0, call.a.view<T>({}, 0)};
  const multi::Piece<T> c{0, 0, call.c.output<T>(0)};
  Outcome outcome;
  check(multi::run_syrk<T>(plan, factor<T>(call.alpha), {&a, 1}, factor<T>(call.beta), {&c, 1}, {}, &outcome));
  return outcome;
}

void check_matrix(const char* name, const MatrixStack& x) {
  if (!x.batch_shape.empty()) refuse(std::string(name) + " is a stack of matrices, must be one matrix");
}

Outcome run_split_arrays(std::vector<int> devices, std::complex<double> alpha, const InputArray& a,
                         std::string_view op_a, const InputArray& b, std::string_view op_b, std::complex<double> beta,
                         const nb::object& c, const Policy& policy) {
  SharedCall call{{.devices = std::move(devices), .speeds = {}, .parts = 0},
                  alpha,
                  operand_stack(Side::kA, a, op_of(op_a)),
                  operand_stack(Side::kB, b, op_of(op_b)),
                  beta,
                  {},
                  policy};
  const OutputArray output = output_of(c);
  call.c = result_stack(output, call.a.is_vector, call.b.is_vector);
  check_matrix("a", call.a);
  check_matrix("b", call.b);
  check_matrix("c", call.c);
  if (call.a.scalar != call.c.scalar || call.b.scalar != call.c.scalar) refuse("a, b and c must be of one type");
  if (call.a.rows != call.c.rows || call.b.cols != call.c.cols || call.a.cols != call.b.rows)
    refuse("the shapes of a, b and c must go together");
  const nb::gil_scoped_release released;
  return with_scalar(call.c.scalar, [&]<class T>() { return run_as<T>(call); });
}

Outcome run_triangle(std::vector<int> devices, bool is_lower, bool is_hermitian, std::complex<double> alpha,
                     const InputArray& a, std::string_view op_a, std::complex<double> beta, const nb::object& c,
                     const Policy& policy) {
  TriangleCall call{{.devices = std::move(devices), .speeds = {}, .parts = 0},
                    {.is_lower = is_lower, .is_hermitian = is_hermitian},
                    alpha,
                    operand_stack(Side::kA, a, op_of(op_a)),
                    beta,
                    {},
                    policy};
  const OutputArray output = output_of(c);
  call.c = result_stack(output, false, false);
  check_matrix("a", call.a);
  check_matrix("c", call.c);
  if (call.a.is_vector) refuse("a is a vector, must be a matrix");
  if (call.a.scalar != call.c.scalar) refuse("a and c must be of one type");
  if (call.a.rows != call.c.rows || call.c.rows != call.c.cols) refuse("the shapes of a and c must go together");
  const nb::gil_scoped_release released;
  return with_scalar(call.c.scalar, [&]<class T>() { return run_triangle_as<T>(call); });
}

}  // namespace

void bind_multi(nb::module_& m) {
  m.def("run_on_devices", &run_split_arrays, nb::kw_only(), nb::arg("devices"), nb::arg("alpha"), nb::arg("a"),
        nb::arg("op_a"), nb::arg("b"), nb::arg("op_b"), nb::arg("beta"), nb::arg("c"), nb::arg("policy"),
        "Multiplies two matrices on several devices, and returns when c is written.");
  m.def("run_triangle_on_devices", &run_triangle, nb::kw_only(), nb::arg("devices"), nb::arg("is_lower"),
        nb::arg("is_hermitian"), nb::arg("alpha"), nb::arg("a"), nb::arg("op_a"), nb::arg("beta"), nb::arg("c"),
        nb::arg("policy"),
        "Makes one triangle of a matrix times itself on several devices, and returns when it is written.");
}

}  // namespace kizami::python
