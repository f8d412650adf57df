// SPDX-License-Identifier: MIT
// The memory of a case: A, B and C filled, with the wanted leading dimension, layout and misalignment, and with
// canaries in the padding and around each buffer. The canaries are NaN, so reading one poisons the result and writing
// one is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "check/case.hpp"
#include "check/compare.hpp"
#include "kizami/types.hpp"

namespace kizami::check {

/// One matrix in its own buffer.
template <class T>
requires kIsScalar<T>
class Operand {
 public:
  /// Allocates and fills the operand of a case. Throws std::bad_alloc.
  Operand(const Case& c, Which which, int threads = 1);

  /// The matrix as stored, for BLAS-like calls. @shape stored.rows x stored.cols, leading dimension ld() >= 1
  [[nodiscard]] T* data() noexcept { return buffer_.data() + first_; }
  [[nodiscard]] const T* data() const noexcept { return buffer_.data() + first_; }
  [[nodiscard]] std::int64_t ld() const noexcept { return stored_.ld; }
  [[nodiscard]] const StoredShape& stored() const noexcept { return stored_; }
  /// op(A), op(B) or C. @shape see shape_of()
  [[nodiscard]] MatrixView<T> view() noexcept;
  [[nodiscard]] MatrixView<const T> view() const noexcept;

  /// The stored matrix with its padding, and kGuardElems canaries before its first element and after its last: what a
  /// copy in another memory needs so that canaries_intact() can judge it when it is copied back.
  static constexpr std::size_t kGuardElems = 512 / sizeof(T);
  [[nodiscard]] std::span<T> guarded() noexcept;
  [[nodiscard]] std::span<const T> guarded() const noexcept;

  /// Green if every canary in the padding and around the matrix is as it was.
  [[nodiscard]] Verdict canaries_intact() const;
  /// Green if the matrix holds what it was filled with, bit for bit.
  [[nodiscard]] Verdict unchanged() const;

 private:
  [[nodiscard]] bool is_element(std::size_t position) const noexcept;

  MatrixSpec spec_;
  std::uint64_t seed_;
  Which which_;
  Op op_;
  Layout layout_;
  StoredShape stored_;
  std::size_t first_ = 0;
  std::vector<T> buffer_;
};

/// A, B and C of a case.
template <class T>
requires kIsScalar<T>
struct Operands {
  explicit Operands(const Case& spec, int threads = 1)
      : a(spec, Which::kA, threads), b(spec, Which::kB, threads), c(spec, Which::kC, threads) {}

  Operand<T> a;
  Operand<T> b;
  Operand<T> c;

  /// Green if A and B are unchanged and all canaries are intact: what must hold after any call.
  [[nodiscard]] Verdict inputs_intact() const;
};

}  // namespace kizami::check
