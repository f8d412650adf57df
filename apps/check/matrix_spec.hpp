// SPDX-License-Identifier: MIT
// What a matrix of a case is filled with, as data and as text:
//   spec  := class [':' param {',' param}] {',' suffix}
//   param := name '=' value      (the class uniform takes its two values bare: uniform:-8,8)
//   suffix := 'x2^' S            every element times 2^S, S = -1000..1000; at most once
//           | 're' | 'im'        complex types: only the real or only the imaginary part, the other is +0; at most once
//           | 'im2^' S           complex types: the imaginary part times 2^S besides, S = -1000..1000; at most once
//           | kind '@' place     kind = nan, inf, -inf, and nani, infi, -infi for the imaginary part;
//                                place = corner, edge, middle, last, all, or row:column; repeatable
// for instance  exprand:phi=4,x2^40,nan@middle,inf@3:5. What the classes are is documented in class_inventory(); how
// they are computed, in matrix_classes.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/element.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"

namespace kizami::check {

/// The operand that a spec or a buffer belongs to. Elements are addressed as in op(A): m x k, op(B): k x n, C: m x n.
enum class Which : std::uint8_t { kA, kB, kC };
[[nodiscard]] constexpr std::string_view to_string(Which w) noexcept {
  return w == Which::kA ? "A" : w == Which::kB ? "B" : "C";
}

enum class MatrixClass : std::uint8_t {
  kRand,
  kRands,
  kUniform,
  kRandn,
  kExprand,
  kExpRand,  // spreads of values
  kGradeRows,
  kGradeCols,
  kGradeInner,
  kGradeShift,
  kEvil,
  kHuge,  // spreads of exponents
  kCancel,
  kCancelNear,
  kTest2,
  kGram,
  kHalfulp,  // adversaries of rounding
  kInt,
  kPow2,
  kZeros,
  kOnes,
  kHilbert,
  kVandermonde,  // special values
  kZerorows,
  kZerocols,
  kIdentity,
  kPermutation,
  kOnehot,
  kDiagonal,
  kLower,
  kUpper,
  kBanded,  // patterns of zeros
  kUnderflow,
  kOverflow,
  kTiny,
  kBig,
  kSubnormal,
  kNegzero,  // the ends of the range
};

struct ParamInfo {
  std::string_view name;
  double default_value = 0;
  double lo = 0;
  double hi = 0;
  bool integral = false;
};

struct ClassInfo {
  MatrixClass id;
  std::string_view name;  ///< may hold a colon, as in grade:rows
  std::string_view help;
  int num_params = 0;
  std::array<ParamInfo, 2> params{};
  bool bare_params = false;  ///< values without names
};

/// All classes in the order of MatrixClass.
[[nodiscard]] std::span<const ClassInfo> class_inventory() noexcept;
[[nodiscard]] const ClassInfo& class_info(MatrixClass id) noexcept;

/// One or all elements replaced by a value that is not finite, in one part.
struct Placement {
  enum class Kind : std::uint8_t { kNaN, kPosInf, kNegInf };
  enum class Place : std::uint8_t {
    kCorner,  ///< (0, 0)
    kEdge,    ///< (rows / 2, cols - 1)
    kMiddle,  ///< (rows / 2, cols / 2)
    kLast,    ///< (rows - 1, cols - 1)
    kAll,     ///< everywhere
    kAt,      ///< (row, col)
  };
  Kind kind = Kind::kNaN;
  Place place = Place::kCorner;
  std::int64_t row = 0;  ///< kAt only
  std::int64_t col = 0;
  Part part = Part::kReal;
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// The parts of a complex matrix that the class fills.
enum class FilledParts : std::uint8_t { kBoth, kReal, kImaginary };

struct MatrixSpec {
  MatrixClass cls = MatrixClass::kRandn;
  std::array<double, 2> params{};  ///< in the order of ClassInfo::params; unused ones are 0
  int scale_exp = 0;
  std::vector<Placement> placements;
  FilledParts parts = FilledParts::kBoth;
  int imag_exp = 0;  ///< the imaginary part is scaled by 2^(scale_exp + imag_exp)
  friend bool operator==(const MatrixSpec&, const MatrixSpec&) = default;
};

/// The spec of a class with its default parameters.
[[nodiscard]] MatrixSpec default_spec(MatrixClass id) noexcept;

/// Parses a spec. @status kInvalidArgument: names the offending part, its value and what is allowed there.
[[nodiscard]] Result<MatrixSpec> parse_matrix_spec(std::string_view text);

/// Prints a spec, all parameters written out. @exact parse_matrix_spec(print(s)) == s for every spec that parses.
[[nodiscard]] std::string print(const MatrixSpec& spec);

/// Checks what depends on type and shape: int:bits and halfulp:q fit the significand, row:column lies in the matrix,
/// parts are asked of complex types only.
/// @shape rows x cols as in op(A), op(B) or C. @status kInvalidArgument(part, value, limit)
[[nodiscard]] Status validate(const MatrixSpec& spec, Scalar scalar, std::int64_t rows, std::int64_t cols);

/// The table of classes with parameters, defaults and ranges, for help texts.
[[nodiscard]] std::string class_help();

/// Largest number of rows or columns of a case: indices, element counts and byte counts then fit 64 bits with room.
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 28;

}  // namespace kizami::check
