// SPDX-License-Identifier: MIT
#include "check/operands.hpp"

#include <fmt/format.h>

#include <bit>
#include <type_traits>

#include "check/element.hpp"
#include "check/matrix_classes.hpp"

namespace kizami::check {
namespace {

constexpr std::size_t kAlignBytes = 64;

template <class R>
using BitsOf = std::conditional_t<std::is_same_v<R, float>, std::uint32_t, std::uint64_t>;

template <class R>
constexpr BitsOf<R> kCanaryBits = static_cast<BitsOf<R>>(sizeof(R) == 4 ? 0x7fcabadeU : 0x7ffcabadecaba5e5U);

/// Quiet NaNs with a payload that arithmetic does not produce, in every part.
template <class T>
T canary() {
  const auto part = std::bit_cast<RealOf<T>>(kCanaryBits<RealOf<T>>);
  return from_parts<T>(part, part);
}

/// A matrix as stored, as its op reads it.
template <class T>
MatrixView<T> read_by(Op op, const MatrixView<T>& stored) {
  const MatrixView<T> view = is_transposed(op) ? stored.transposed() : stored;
  return kIsComplex<std::remove_const_t<T>> && is_conjugated(op) ? view.conjugated() : view;
}

}  // namespace

template <class T>
requires kIsScalar<T> Operand<T>::Operand(const Case& c, Which which, int threads)
    : spec_(spec_of(c, which)),
      seed_(c.seed),
      which_(which),
      op_(op_of(c, which)),
      layout_(c.layout),
      stored_(stored_shape(c, which)) {
  const std::size_t guard = kGuardElems, align = kAlignBytes / sizeof(T);
  buffer_.assign(static_cast<std::size_t>(stored_.num_elems) + 2 * guard + align + static_cast<std::size_t>(c.offset),
                 canary<T>());
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(buffer_.data() + guard) % kAlignBytes / sizeof(T);
  first_ = guard + (misaligned == 0 ? 0 : align - misaligned) + static_cast<std::size_t>(c.offset);
  fill(spec_, seed_, which_, view(), threads);
}

template <class T>
requires kIsScalar<T> MatrixView<T> Operand<T>::view()
noexcept {
  const MatrixView<T> stored = blas_view(data(), stored_.rows, stored_.cols, stored_.ld, layout_);
  return read_by(op_, stored);
}

template <class T>
requires kIsScalar<T> MatrixView<const T> Operand<T>::view()
const noexcept {
  const MatrixView<const T> stored = blas_view(data(), stored_.rows, stored_.cols, stored_.ld, layout_);
  return read_by(op_, stored);
}

template <class T>
requires kIsScalar<T> std::span<T> Operand<T>::guarded()
noexcept { return {data() - kGuardElems, static_cast<std::size_t>(stored_.num_elems) + 2 * kGuardElems}; }

template <class T>
requires kIsScalar<T> std::span<const T> Operand<T>::guarded()
const noexcept { return {data() - kGuardElems, static_cast<std::size_t>(stored_.num_elems) + 2 * kGuardElems}; }

template <class T>
requires kIsScalar<T>
bool Operand<T>::is_element(std::size_t position) const noexcept {
  if (position < first_) return false;
  const auto offset = static_cast<std::int64_t>(position - first_);
  return offset < stored_.num_elems &&
         offset % stored_.ld < (layout_ == Layout::kColMajor ? stored_.rows : stored_.cols);
}

template <class T>
requires kIsScalar<T> Verdict Operand<T>::canaries_intact()
const {
  using R = RealOf<T>;
  for (std::size_t position = 0; position < buffer_.size(); ++position) {
    for (const Part part : kPartsOf<T>) {
      const auto got = std::bit_cast<BitsOf<R>>(part_of(buffer_[position], part));
      if (got == kCanaryBits<R> || is_element(position)) continue;
      return red(fmt::format("canary of {} overwritten with {:#x} at element {} from its first", to_string(which_), got,
                             static_cast<std::int64_t>(position) - static_cast<std::int64_t>(first_)));
    }
  }
  return {};
}

template <class T>
requires kIsScalar<T> Verdict Operand<T>::unchanged()
const {
  const MatrixView<const T> now = view();
  std::vector<T> refilled(static_cast<std::size_t>(now.rows * now.cols));
  const MatrixView<T> then = blas_view(refilled.data(), now.rows, now.cols, now.rows);
  fill(spec_, seed_, which_, then);
  Verdict verdict = bits_equal<T>(now, then);
  if (!verdict) verdict.message = fmt::format("{} was changed: {}", to_string(which_), verdict.message);
  return verdict;
}

template class Operand<float>;
template class Operand<double>;
template class Operand<std::complex<float>>;
template class Operand<std::complex<double>>;

template <class T>
requires kIsScalar<T> Verdict Operands<T>::inputs_intact()
const {
  for (const Operand<T>* x : {&a, &b, &c}) {
    if (Verdict verdict = x->canaries_intact(); !verdict) return verdict;
    if (x == &c) continue;
    if (Verdict verdict = x->unchanged(); !verdict) return verdict;
  }
  return {};
}
template struct Operands<float>;
template struct Operands<double>;
template struct Operands<std::complex<float>>;
template struct Operands<std::complex<double>>;

}  // namespace kizami::check
