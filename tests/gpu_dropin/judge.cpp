// SPDX-License-Identifier: MIT
#include "gpu_dropin/checks.hpp"

namespace preload_check {
namespace {

template <class T>
void check_judge_of(cublasOperation_t op_a, cublasOperation_t op_b) {
  const Shape shape{op_a, op_b, 19, 23, 150};
  const std::string name = name_of<T>("judge", shape);
  const Problem<T> problem(shape, 11);
  const T alpha = make<T>(-1.5, 0.75), beta = make<T>(0.5, -2);
  const std::vector<T> good = problem.host_result(alpha, beta);
  report(name, problem.judge(good, alpha, beta));
  const auto expect_red = [&](const char* what, std::size_t i, T value) {
    std::vector<T> bad = good;
    bad[i] = value;
    report(name + ", " + what, problem.judge(bad, alpha, beta).error.empty() ? "passed" : "");
  };
  const std::size_t i = 7 + 5 * std::size_t(problem.ldc());
  const double step = sizeof(typename PartOf<T>::Type) == 8 ? 0x1p-30 : 0x1p-4;
  expect_red("wrong element", i, good[i] + make<T>(step, 0));
  if (kIsComplex<T>) expect_red("wrong imaginary part", i, good[i] + make<T>(0, step));
  expect_red("NaN", i, make<T>(NAN, 0));
  if (kIsComplex<T>) expect_red("NaN in the imaginary part", i, make<T>(std::real(good[i]), NAN));
  expect_red("Inf", i, make<T>(INFINITY, 0));
  expect_red("wrong sign", i, -good[i]);
  expect_red("written padding", std::size_t(problem.ldc()) - 1, make<T>(0, 0));
}

}  // namespace

void check_judge() {
  for (const auto op_a : {kN, kT, kC}) {
    for (const auto op_b : {kN, kT, kC}) {
      check_judge_of<float>(op_a, op_b);
      check_judge_of<double>(op_a, op_b);
      check_judge_of<std::complex<float>>(op_a, op_b);
      check_judge_of<std::complex<double>>(op_a, op_b);
    }
  }
}

}  // namespace preload_check
