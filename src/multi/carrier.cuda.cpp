// SPDX-License-Identifier: MIT
#include "multi/carrier.hpp"

#include <complex>
#include <cstddef>
#include <vector>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "multi/pieces.hpp"

namespace kizami::multi {
namespace {

/// Copies a matrix between any two memories. @range both stored in this layout
template <class T>
Status copy_matrix(Layout layout, MatrixView<const T> from, MatrixView<T> to, cudaStream_t stream) {
  if (layout == Layout::kRowMajor) {
    from = from.transposed();
    to = to.transposed();
  }
  const std::size_t width = static_cast<std::size_t>(from.rows) * sizeof(T);
  const auto height = static_cast<std::size_t>(from.cols);
  const auto pitch = [&](std::int64_t stride) {
    return from.cols <= 1 ? width : static_cast<std::size_t>(stride) * sizeof(T);
  };
  return base::cuda_status(cudaMemcpy2DAsync(to.data, pitch(to.col_stride), from.data, pitch(from.col_stride), width,
                                             height, cudaMemcpyDefault, stream),
                           "copying a panel");
}

/// What of a rectangle both views show, at (row, col) of the matrix, is copied, and all of it or one triangle of the
/// matrix is wanted.
template <class T>
Status copy_part(Layout layout, const problem::Part& part, const Rect& rect, MatrixView<const T> from, MatrixView<T> to,
                 cudaStream_t stream) {
  if (part.is_all()) return copy_matrix<T>(layout, from, to, stream);
  const bool is_by_cols = layout == Layout::kColMajor;
  if (!is_by_cols) {
    from = from.transposed();
    to = to.transposed();
  }
  const Rect by_cols = is_by_cols ? rect : rect.transposed();
  const bool is_lower = (part.kind == problem::PartKind::kLower) == is_by_cols;
  for (const ColumnCopy& copy : triangle_copies(by_cols, is_lower)) {
    const auto view_of = [&](auto view) {
      view.data += (copy.row - by_cols.row) + (copy.col - by_cols.col) * view.col_stride;
      view.rows = copy.length;
      view.cols = copy.count;
      if (copy.is_slanting) ++view.col_stride;
      return view;
    };
    KIZAMI_RETURN_IF_ERROR(copy_matrix<T>(Layout::kColMajor, view_of(from), view_of(to), stream));
  }
  return {};
}

}  // namespace

Status wait_for(cudaStream_t stream, cudaEvent_t event) {
  return base::cuda_status(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

Status mark(cudaEvent_t event, cudaStream_t stream) {
  return base::cuda_status(cudaEventRecord(event, stream), "cudaEventRecord");
}

Status Carrier::wait(cudaEvent_t event) const {
  KIZAMI_RETURN_IF_ERROR(wait_for(streams.links, event));
  return wait_for(streams.near, event);
}

Status Carrier::join(cudaEvent_t branch, cudaEvent_t all) const {
  KIZAMI_RETURN_IF_ERROR(mark(branch, streams.near));
  KIZAMI_RETURN_IF_ERROR(wait_for(streams.links, branch));
  return mark(all, streams.links);
}

template <class E>
Status gather_holding(const Located<E>& matrix, const Holding& holding, const Rect& part, const problem::Part& wanted,
                      const MatrixView<std::remove_const_t<E>>& staged, cudaStream_t stream) {
  using T = std::remove_const_t<E>;
  const Rect& rect = holding.rect;
  const Rect& piece = matrix.rects[holding.piece];
  const MatrixView<const T> from =
      matrix.views[holding.piece].block(rect.row - piece.row, rect.col - piece.col, rect.rows, rect.cols);
  return copy_part<T>(*matrix.layout, wanted, rect, from,
                      staged.block(rect.row - part.row, rect.col - part.col, rect.rows, rect.cols), stream);
}

template <class E>
Status gather_part(Reach reach, const Located<E>& matrix, const Rect& part, const problem::Part& wanted,
                   const MatrixView<std::remove_const_t<E>>& staged, const Carrier& carrier) {
  for (const Holding& holding : holdings_in_turn(part, matrix.rects, matrix.devices, carrier.device)) {
    if (matrix.reach_of(holding.piece, carrier.device) == reach)
      KIZAMI_RETURN_IF_ERROR(gather_holding(matrix, holding, part, wanted, staged, carrier.stream(reach)));
  }
  return {};
}

template <class T>
Status scatter_part(const MatrixView<T>& staged, const Located<T>& matrix, const Rect& part,
                    const problem::Part& wanted, const Carrier& carrier) {
  for (const Holding& holding : holdings_in_turn(part, matrix.rects, matrix.devices, carrier.device)) {
    const Rect& rect = holding.rect;
    const Rect& piece = matrix.rects[holding.piece];
    const MatrixView<const T> from = staged.block(rect.row - part.row, rect.col - part.col, rect.rows, rect.cols);
    KIZAMI_RETURN_IF_ERROR(copy_part<T>(
        *matrix.layout, wanted, rect, from,
        matrix.views[holding.piece].block(rect.row - piece.row, rect.col - piece.col, rect.rows, rect.cols),
        carrier.stream(matrix.reach_of(holding.piece, carrier.device))));
  }
  return {};
}

#define KIZAMI_INSTANTIATE(T)                                                                                         \
  template Status gather_holding<const T>(const Located<const T>&, const Holding&, const Rect&, const problem::Part&, \
                                          const MatrixView<T>&, cudaStream_t);                                        \
  template Status gather_part<const T>(Reach, const Located<const T>&, const Rect&, const problem::Part&,             \
                                       const MatrixView<T>&, const Carrier&);                                         \
  template Status gather_part<T>(Reach, const Located<T>&, const Rect&, const problem::Part&, const MatrixView<T>&,   \
                                 const Carrier&);                                                                     \
  template Status scatter_part<T>(const MatrixView<T>&, const Located<T>&, const Rect&, const problem::Part&,         \
                                  const Carrier&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
