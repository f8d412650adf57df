// SPDX-License-Identifier: MIT
// Fills matrices from a MatrixSpec. Counter-based: element (i, j) is a function of (spec, seed, operand, shape, i, j)
// and of nothing else, with the same bits on every machine (random.hpp), for every layout, leading dimension and thread
// count.
//   element = round_T(2^scale_exp * base), then the placements of values that are not finite
// A complex element has two such parts of the same class. What a class draws for an element it draws for each part from
// a stream of its own; what it draws for a vector, a matrix or both operands (places, shifts, masks) the parts share.
// So constants and patterns come in both parts: class identity is (1 + i) I, and identity,re is I. A real matrix is the
// real part of the complex one.
//
// The base is exact in T before it is scaled, so a rescaled copy is an exact multiple unless it underflows. A finite
// base never gives an infinity: magnitudes beyond the type become its largest finite number.
//
// Sources of the classes: exprand [Ozaki2012]; exp_rand: Ootomo and Yokota, 2022; grade:inner, grade:shift and test2
// follow tests 4 and 2 of [DemmelGrading]; evil follows the EVIL < 0 inputs of LIBXS, grade:inner the EVIL > 0 ones.
#pragma once

#include <cstdint>

#include "check/matrix_spec.hpp"
#include "kizami/types.hpp"

namespace kizami::check {

/// Computes elements of one part of a matrix.
/// @shape rows x cols as in op(A): m x k, op(B): k x n, C: m x n, so the values do not depend on the transposition.
class MatrixGenerator {
 public:
  /// @range 0 <= rows, cols <= kMaxDim; a spec that validate() accepts (one that does not is rounded to the type)
  MatrixGenerator(const MatrixSpec& spec, Scalar scalar, std::uint64_t seed, Which which, std::int64_t rows,
                  std::int64_t cols, Part part = Part::kReal);

  /// The value of this part of element (i, j), exact in the scalar type. @range 0 <= i < rows, 0 <= j < cols
  [[nodiscard]] double operator()(std::int64_t i, std::int64_t j) const;

 private:
  // Streams of random bits. Elements of A, B, C take 0..2; those from kVector on serve one value per row of A, column
  // of B or row of C; kMatrix one per matrix; kExponent a second value per element; the shared ones A and B must agree
  // on. Values per element of the imaginary part come from streams kImaginary further.
  enum Stream : std::uint32_t {
    kVector = 16,
    kMatrix = 24,
    kExponent = 28,
    kSharedShift = 32,
    kSharedMask = 33,
    kSharedValue = 34,
    kImaginary = 64
  };
  [[nodiscard]] std::uint32_t stream(std::uint32_t first) const { return first + static_cast<std::uint32_t>(which_); }
  [[nodiscard]] std::uint32_t of_part(std::uint32_t first) const {
    return first + (part_ == Part::kImaginary ? std::uint32_t{kImaginary} : 0U);
  }
  [[nodiscard]] std::uint32_t element_stream() const { return of_part(stream(0)); }
  // The index of the vector that an element belongs to (row of A and C, column of B), and its index along it.
  [[nodiscard]] std::int64_t outer(std::int64_t i, std::int64_t j) const { return which_ == Which::kB ? j : i; }
  [[nodiscard]] std::int64_t inner(std::int64_t i, std::int64_t j) const { return which_ == Which::kB ? i : j; }
  [[nodiscard]] std::int64_t num_inner() const { return which_ == Which::kB ? rows_ : cols_; }

  [[nodiscard]] double base(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double spread(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double graded(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double cancelling(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double zero_complement(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double gram(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double half_ulp(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double integral(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double with_huge(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double at_range_end(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] bool in_pattern(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double rand(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double rands(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] double placed(std::int64_t i, std::int64_t j, double value) const;
  [[nodiscard]] double round_to_type(double x) const;

  MatrixSpec spec_;
  Scalar scalar_;  ///< of the part
  std::uint64_t seed_;
  Which which_;
  std::int64_t rows_;
  std::int64_t cols_;
  Part part_;
  int scale_exp_;        ///< of this part
  int bits_;             ///< of the significand
  int min_exp_;          ///< 2^min_exp is the smallest normal number
  int max_exp_;          ///< the largest finite number is just below 2^(max_exp + 1)
  std::int64_t stride_;  ///< permutation: i -> (i stride + offset) mod max(rows, cols)
  std::int64_t offset_;  ///< also: circular shift of grade:inner, place of onehot
};

/// Fills x. @shape x: rows x cols as in op(A), op(B), C: pass the transposed, conjugated view of what is stored so.
/// @range threads >= 1; never changes a bit
template <class T>
requires kIsScalar<T>
void fill(const MatrixSpec& spec, std::uint64_t seed, Which which, MatrixView<T> x, int threads = 1);

}  // namespace kizami::check
