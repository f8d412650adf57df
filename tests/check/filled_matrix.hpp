// SPDX-License-Identifier: MIT
// A matrix of a class, for the tests of the classes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "check/matrix_classes.hpp"

namespace kizami::check {

inline constexpr std::uint64_t kSeed = 7;

/// A col-major matrix of a class.
template <class T>
struct Filled {
  Filled(const MatrixSpec& spec, Which which, std::int64_t rows, std::int64_t cols, std::uint64_t seed = kSeed)
      : data(static_cast<std::size_t>(rows * cols)), view(blas_view(data.data(), rows, cols, rows)) {
    fill(spec, seed, which, view);
  }
  T operator()(std::int64_t i, std::int64_t j) const { return view(i, j); }

  std::vector<T> data;
  MatrixView<T> view;
};

inline MatrixSpec spec_from(std::string_view text) {
  const Result<MatrixSpec> spec = parse_matrix_spec(text);
  EXPECT_TRUE(spec.ok()) << spec.status().reason();
  return spec.ok() ? spec.value() : MatrixSpec{};
}

template <class T>
Filled<T> filled(std::string_view text, std::int64_t rows, std::int64_t cols, Which which = Which::kA) {
  return {spec_from(text), which, rows, cols};
}

/// Calls body(i, j, value) for all elements.
template <class T, class Body>
void for_each(const Filled<T>& x, const Body& body) {
  for (std::int64_t j = 0; j < x.view.cols; ++j) {
    for (std::int64_t i = 0; i < x.view.rows; ++i) body(i, j, x(i, j));
  }
}

}  // namespace kizami::check
