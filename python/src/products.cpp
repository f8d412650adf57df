// SPDX-License-Identifier: MIT
// Products of arrays in host memory: C_i <- alpha op(A_i) op(B_i) + beta C_i, without the lock of the interpreter.
#include "products.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace kizami::python {
namespace {

using Stack = std::optional<MatrixStack>;

struct Products {
  const Plan& plan;
  std::complex<double> alpha;
  Stack a;
  const PreparedOperand* a_prepared = nullptr;
  Stack b;
  const PreparedOperand* b_prepared = nullptr;
  std::complex<double> beta;
  MatrixStack c;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

template <class T>
Operand<T> operand(const Stack& stack, const PreparedOperand* prepared, std::span<const std::int64_t> shape,
                   std::int64_t i) {
  if (prepared == nullptr) return stack->view<T>(shape, i);
  if (!stack) return *prepared;
  return {*prepared, stack->view<T>(shape, i)};
}

template <class T>
void run_as(const Products& call, std::span<Outcome> outcomes) {
  const std::span<const std::int64_t> shape = call.c.batch_shape;
  const T alpha = factor<T>(call.alpha);
  const T beta = factor<T>(call.beta);
  if (call.count == 1 || call.a_prepared != nullptr || call.b_prepared != nullptr) {
    for (std::int64_t i = 0; i < call.count; ++i) {
      const std::int64_t product = call.first + i;
      check(run<T>(call.plan, alpha, operand<T>(call.a, call.a_prepared, shape, product),
                   operand<T>(call.b, call.b_prepared, shape, product), beta, call.c.output<T>(product), {},
                   &outcomes[static_cast<std::size_t>(i)]));
    }
    return;
  }
  std::vector<MatrixView<const T>> a, b;
  std::vector<MatrixView<T>> c;
  for (std::int64_t i = call.first; i < call.first + call.count; ++i) {
    a.push_back(call.a->view<T>(shape, i));
    b.push_back(call.b->view<T>(shape, i));
    c.push_back(call.c.output<T>(i));
  }
  check(run_batched<T>(call.plan, alpha, a, b, beta, c, outcomes));
}

std::vector<Outcome> run_arrays(const Plan& plan, std::complex<double> alpha, const std::optional<InputArray>& a,
                                std::string_view op_a, const PreparedOperand* a_prepared,
                                const std::optional<InputArray>& b, std::string_view op_b,
                                const PreparedOperand* b_prepared, std::complex<double> beta, const nb::object& c,
                                std::int64_t first, std::int64_t count) {
  const auto stack = [](Side side, const std::optional<InputArray>& array, std::string_view op) {
    return array ? Stack(operand_stack(side, *array, op_of(op))) : Stack();
  };
  Products call{plan,  alpha, stack(Side::kA, a, op_a), a_prepared, stack(Side::kB, b, op_b), b_prepared, beta, {},
                first, count};
  const OutputArray output = output_of(c);
  call.c = result_stack(output, call.a && call.a->is_vector, call.b && call.b->is_vector);
  if ((!call.a && a_prepared == nullptr) || (!call.b && b_prepared == nullptr)) {
    refuse("an operand is missing, must be an array or a prepared operand");
  }
  check_types(plan, call.a, call.b, call.c);
  const std::int64_t num_products = call.c.num_matrices();
  if (first < 0 || count < 0 || first > num_products - count) {
    refuse("products " + std::to_string(first) + " to " + std::to_string(first + count) + ", must be within 0 to " +
           std::to_string(num_products));
  }
  std::vector<Outcome> outcomes(static_cast<std::size_t>(count));
  {
    const nb::gil_scoped_release released;
    with_scalar(plan.scalar(), [&]<class T>() { run_as<T>(call, outcomes); });
  }
  return outcomes;
}

}  // namespace

Op op_of(std::string_view letter) {
  for (const Op op : {Op::kNone, Op::kTranspose, Op::kConjTranspose, Op::kConjugate}) {
    if (to_string(op) == letter) return op;
  }
  refuse("op = '" + std::string(letter) + "', must be one of n, t, c, r");
}

void check_types(const Plan& plan, const Stack& a, const Stack& b, const MatrixStack& c) {
  const auto check_one = [&](const char* name, const MatrixStack& stack) {
    if (stack.scalar != plan.scalar()) {
      refuse(std::string(name) + " is of type " + std::string(numpy_name(stack.scalar)) + ", must be " +
             std::string(numpy_name(plan.scalar())) + " as in the plan");
    }
  };
  check_one("out", c);
  if (a) {
    check_one("a", *a);
    check_broadcast(Side::kA, *a, c.batch_shape);
  }
  if (b) {
    check_one("b", *b);
    check_broadcast(Side::kB, *b, c.batch_shape);
  }
}

void bind_products(nb::module_& m) {
  m.def("run", &run_arrays, nb::kw_only(), nb::arg("plan"), nb::arg("alpha"), nb::arg("a").none(), nb::arg("op_a"),
        nb::arg("a_prepared").none(), nb::arg("b").none(), nb::arg("op_b"), nb::arg("b_prepared").none(),
        nb::arg("beta"), nb::arg("c"), nb::arg("first"), nb::arg("count"),
        "Multiplies products first to first + count - 1 of the stacks a and b into c, in host memory.");
}

}  // namespace kizami::python
