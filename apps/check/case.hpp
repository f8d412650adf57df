// SPDX-License-Identifier: MIT
// The one grammar of cases. A test, the command line, a benchmark, a log and a bug report name a product by the same
// line:
//   d nt 33x65x129 a=1 b=-0.5 ld+3 A=exprand:phi=4 B=grade:cols accuracy=native scheme=ozaki2 engine=cpu_simd seed=7
// and parse_case() of that line, filled by matrix_classes.hpp, is the same product with the same bits on every machine.
//   case := scalar ops shape {item}     scalar: s | d | c | z     ops: a letter n, t, c or r each for A and B
//                                       shape: MxNxK
// Tokens are separated by blanks; items come in any order, each at most once; case_help() lists them with their
// defaults. The wishes of a policy are items under the words that they have everywhere (kizami/wishes.hpp). Complex
// factors read a=1.5-2i, the imaginary part last; a factor without an i is real.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check/matrix_spec.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::check {

/// How a batch in device memory finds its matrices.
enum class BatchForm : std::uint8_t {
  kStrides,         ///< one array each of A, B and C
  kPointers,        ///< arrays of pointers in host memory
  kDevicePointers,  ///< arrays of pointers in device memory
};

}  // namespace kizami::check

template <>
struct kizami::Names<kizami::check::BatchForm> {
  static constexpr std::string_view kAll[] = {"strides", "pointers", "device_pointers"};
};

namespace kizami::check {

using kizami::to_string;

/// One product C = alpha op(A) op(B) + beta C, or a batch of them, with everything that determines it and how it is to
/// be computed.
struct Case {
  Scalar scalar = Scalar::kF64;
  Op op_a = Op::kNone;
  Op op_b = Op::kNone;
  std::int64_t m = 1;  ///< rows of C
  std::int64_t n = 1;  ///< columns of C
  std::int64_t k = 1;  ///< inner dimension
  double alpha = 1;    ///< exact in the scalar type, or NaN or Inf; of complex types the real part
  double beta = 0;
  double alpha_imag = 0;  ///< likewise; 0 for real types
  double beta_imag = 0;
  std::int64_t ld_pad = 0;  ///< leading dimensions exceed their minimum by this
  std::int64_t offset = 0;  ///< elements between a 64-byte boundary and the first element of each operand
  Layout layout = Layout::kColMajor;
  MatrixSpec a = default_spec(MatrixClass::kRandn);
  MatrixSpec b = default_spec(MatrixClass::kRandn);
  MatrixSpec c = default_spec(MatrixClass::kRands);
  Policy policy;
  std::int64_t num_products = 1;               ///< product i has the matrices of seed + i
  BatchForm batch_form = BatchForm::kStrides;  ///< on a device
  bool has_device_factors = false;             ///< on a device: alpha and beta are read from its memory
  std::uint64_t seed = 1;

  /// Equal when the lines are equal; unlike ==, NaN equals NaN and -0 differs from 0.
  friend bool operator==(const Case& x, const Case& y);
};

/// Parses a line. @status kInvalidArgument: names the token, the value and what is allowed.
/// @range any bytes; lines above 4096 bytes are refused. alpha and beta are rounded to the scalar type.
[[nodiscard]] Result<Case> parse_case(std::string_view line);

/// Prints the canonical line: the head, a, b, A, B and seed always, other items when they differ from their defaults.
/// @exact parse_case(print(c)) == c for every case that parses
[[nodiscard]] std::string print(const Case& c);

/// Product i of a batch as a case of its own. @range 0 <= i < c.num_products
[[nodiscard]] inline Case product_of_batch(const Case& c, std::int64_t i) {
  Case one = c;
  one.num_products = 1;
  one.batch_form = BatchForm::kStrides;
  one.seed = c.seed + static_cast<std::uint64_t>(i);
  return one;
}

/// The grammar with all items, their values and defaults, and the table of matrix classes.
[[nodiscard]] std::string case_help();

/// The letter of BLAS: s, d, c or z.
[[nodiscard]] constexpr char letter_of(Scalar scalar) noexcept {
  return scalar == Scalar::kF32 ? 's' : scalar == Scalar::kF64 ? 'd' : scalar == Scalar::kC64 ? 'c' : 'z';
}

/// alpha and beta in the scalar type of a case.
template <class T>
requires kIsScalar<T>
[[nodiscard]] constexpr T alpha_of(const Case& c) noexcept {
  return from_parts<T>(static_cast<RealOf<T>>(c.alpha), static_cast<RealOf<T>>(c.alpha_imag));
}
template <class T>
requires kIsScalar<T>
[[nodiscard]] constexpr T beta_of(const Case& c) noexcept {
  return from_parts<T>(static_cast<RealOf<T>>(c.beta), static_cast<RealOf<T>>(c.beta_imag));
}

[[nodiscard]] constexpr Op op_of(const Case& c, Which which) noexcept {
  return which == Which::kA ? c.op_a : which == Which::kB ? c.op_b : Op::kNone;
}
[[nodiscard]] constexpr const MatrixSpec& spec_of(const Case& c, Which which) noexcept {
  return which == Which::kA ? c.a : which == Which::kB ? c.b : c.c;
}

/// Rows and columns of op(A), op(B) or C.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
[[nodiscard]] constexpr Shape shape_of(const Case& c, Which which) noexcept {
  return which == Which::kA ? Shape{c.m, c.k} : which == Which::kB ? Shape{c.k, c.n} : Shape{c.m, c.n};
}

/// An operand as it lies in memory. @units elements
struct StoredShape {
  std::int64_t rows = 0;  ///< of the stored matrix: those of op(X), exchanged when op transposes
  std::int64_t cols = 0;
  std::int64_t ld = 1;         ///< max(1, rows) for col-major, max(1, cols) for row-major, plus ld_pad
  std::int64_t num_elems = 0;  ///< ld times the number of columns (col-major) or rows (row-major)
};
[[nodiscard]] constexpr StoredShape stored_shape(const Case& c, Which which) noexcept {
  const Shape s = shape_of(c, which);
  const bool is_flipped = is_transposed(op_of(c, which));
  StoredShape out{is_flipped ? s.cols : s.rows, is_flipped ? s.rows : s.cols};
  const bool is_col_major = c.layout == Layout::kColMajor;
  const std::int64_t contiguous = is_col_major ? out.rows : out.cols;
  out.ld = (contiguous > 0 ? contiguous : 1) + c.ld_pad;
  out.num_elems = out.ld * (is_col_major ? out.cols : out.rows);
  return out;
}

}  // namespace kizami::check
