// SPDX-License-Identifier: MIT
// The matrices of a call as they lie: pieces, each in the memory of a device or of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kizami/multi.hpp"
#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "multi/pieces.hpp"
#include "multi/plan.hpp"
#include "multi/rect.hpp"

namespace kizami::multi {

/// In place of a device's number.
inline constexpr int kHost = -1;

/// Pieces by where they are, seen from a device.
enum class Reach : std::uint8_t {
  kLinks,  ///< on another device or the host
  kNear,   ///< on the device itself
};

/// One matrix. Pieces without elements are left out.
template <class T>
struct Located {
  std::vector<Rect> rects;
  std::vector<MatrixView<T>> views;
  std::vector<int> devices;  ///< or kHost
  /// How a copy of a part is stored; nothing: the pieces are stored neither all by columns nor all by rows.
  std::optional<Layout> layout;
  bool is_conjugated = false;
  bool is_pageable = false;  ///< some of it is memory of the host that is not page-locked: copies hold the host up

  [[nodiscard]] Reach reach_of(std::size_t piece, int device) const {
    return devices[piece] == device ? Reach::kNear : Reach::kLinks;
  }
  /// A part where it lies, if one piece on that device holds it.
  [[nodiscard]] std::optional<MatrixView<T>> in_place(const Rect& part, int device) const {
    for (std::size_t i = 0; i < rects.size(); ++i) {
      if (devices[i] != device || !contains(rects[i], part)) continue;
      return views[i].block(part.row - rects[i].row, part.col - rects[i].col, part.rows, part.cols);
    }
    return std::nullopt;
  }
};

template <class T>
struct LocatedProblem {
  T alpha{};
  Located<const T> a;
  Located<const T> b;
  T beta{};
  Located<T> c;

  /// Of a triangle: B is A mirrored, and nothing of it is located.
  [[nodiscard]] MatrixView<const T> mirrored(const MatrixView<const T>& lines, const MultiPlan& plan) const {
    const MatrixView<const T> view = lines.transposed();
    return kIsComplex<T> && plan.part.has_real_diagonal ? view.conjugated() : view;
  }
  [[nodiscard]] bool has_terms(const MultiPlan& plan) const { return plan.shape.k > 0 && alpha != T{0}; }
};

/// Finds where the pieces are, and checks what is known without their elements. Of a triangle there are none of B.
/// @status kInvalidArgument: pieces that do not make up their matrix, null, strides, C in common with an operand;
///         kInternal with CUDA's words
template <class T>
Status locate(const MultiPlan& plan, T alpha, std::span<const Piece<const T>> a, std::span<const Piece<const T>> b,
              T beta, std::span<const Piece<T>> c, LocatedProblem<T>& problem);

/// What must travel to a device. @status kUnsupported: what must is stored neither by columns nor by rows
template <class T>
Status find_travels(const MultiPlan& plan, const Share& share, const LocatedProblem<T>& problem, Travels& travels);

/// The rows of A, or columns of B, of a block, as a part of its matrix.
[[nodiscard]] inline Rect a_panel(const Rect& block, std::int64_t k) { return {block.row, 0, block.rows, k}; }
[[nodiscard]] inline Rect b_panel(const Rect& block, std::int64_t k) { return {0, block.col, k, block.cols}; }
/// The rows of A that are the columns of a mirrored A of a block.
[[nodiscard]] inline Rect mirrored_panel(const Rect& block, std::int64_t k) { return {block.col, 0, block.cols, k}; }

}  // namespace kizami::multi
