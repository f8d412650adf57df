// SPDX-License-Identifier: MIT
// Products into double-double in host memory. Python hands pairs of a high and a low part over as complex128, whose elements lie
// in memory as those of DoubleDouble do.
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "products.hpp"

namespace kizami::python {
namespace {

static_assert(sizeof(DoubleDouble) == sizeof(std::complex<double>));

struct Products {
  const Plan& plan;
  MatrixStack a;
  MatrixStack b;
  MatrixStack c;
};

template <class In>
void run_as(const Products& call, std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto product = static_cast<std::int64_t>(i);
    check(run_dd<In>(call.plan, {1}, call.a.view<In>(call.c.batch_shape, product),
                     call.b.view<In>(call.c.batch_shape, product), {0}, call.c.output<DoubleDouble>(product), {},
                     &outcomes[i]));
  }
}

std::vector<Outcome> run_arrays(const Plan& plan, const InputArray& a, const InputArray& b, const nb::object& c) {
  Products call{plan, operand_stack(Side::kA, a, Op::kNone), operand_stack(Side::kB, b, Op::kNone), {}};
  const OutputArray output = output_of(c);
  call.c = result_stack(output, call.a.is_vector, call.b.is_vector);
  if (call.c.scalar != Scalar::kC128) refuse("out holds no pairs of float64");
  if (call.a.scalar != call.b.scalar || (call.a.scalar != Scalar::kF64 && call.a.scalar != Scalar::kC128))
    refuse("a and b must both be of float64, or both of pairs of it");
  check_broadcast(Side::kA, call.a, call.c.batch_shape);
  check_broadcast(Side::kB, call.b, call.c.batch_shape);
  std::vector<Outcome> outcomes(static_cast<std::size_t>(call.c.num_matrices()));
  {
    const nb::gil_scoped_release released;
    call.a.scalar == Scalar::kF64 ? run_as<double>(call, outcomes) : run_as<DoubleDouble>(call, outcomes);
  }
  return outcomes;
}

}  // namespace

void bind_double_double(nb::module_& m) {
  m.def(
      "make_double_double_plan",
      [](std::int64_t rows, std::int64_t cols, std::int64_t inner, const Policy& policy) {
        return value_of(make_plan(Scalar::kDD, rows, cols, inner, policy));
      },
      nb::arg("m"), nb::arg("n"), nb::arg("k"), nb::arg("policy"), "Decides how to multiply into double-double.");
  m.def("run_double_double", &run_arrays, nb::arg("plan"), nb::arg("a"), nb::arg("b"), nb::arg("c"),
        "Multiplies the stacks a and b, both of float64 or both of pairs as complex128, into the pairs c.");
}

}  // namespace kizami::python
