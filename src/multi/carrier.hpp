// SPDX-License-Identifier: MIT
// Copies of parts of a matrix between its pieces and the places of a device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "kizami/status.hpp"
#include "kizami/types.hpp"
#include "multi/located.hpp"
#include "multi/rect.hpp"
#include "multi/resources.hpp"
#include "problem/part.hpp"

namespace kizami::multi {

/// A device that copies one way: what passes links by one stream, for a device takes one such copy at a time whichever streams
/// have them; what it has itself beside them.
struct Carrier {
  int device = 0;
  WayStreams streams;

  [[nodiscard]] cudaStream_t stream(Reach reach) const { return reach == Reach::kLinks ? streams.links : streams.near; }
  /// Both streams wait.
  [[nodiscard]] Status wait(cudaEvent_t event) const;
  /// `all` is behind what both streams have. @param branch  for this, again and again
  [[nodiscard]] Status join(cudaEvent_t branch, cudaEvent_t all) const;
};

Status wait_for(cudaStream_t stream, cudaEvent_t event);
Status mark(cudaEvent_t event, cudaStream_t stream);

/// Elements of a part that are within that reach of a device.
template <class E>
[[nodiscard]] std::int64_t elements_within(Reach reach, const Located<E>& matrix, const Rect& part, int device) {
  std::int64_t count = 0;
  for (const Holding& holding : holdings_of(part, matrix.rects)) {
    if (matrix.reach_of(holding.piece, device) == reach) count += holding.rect.rows * holding.rect.cols;
  }
  return count;
}

/// What one piece holds of a part, from there to where the part is staged. @param wanted  of the matrix
template <class E>
Status gather_holding(const Located<E>& matrix, const Holding& holding, const Rect& part, const problem::Part& wanted,
                      const MatrixView<std::remove_const_t<E>>& staged, cudaStream_t stream);

/// All that is within that reach, in the order of holdings_in_turn().
template <class E>
Status gather_part(Reach reach, const Located<E>& matrix, const Rect& part, const problem::Part& wanted,
                   const MatrixView<std::remove_const_t<E>>& staged, const Carrier& carrier);

/// And back, of any reach.
template <class T>
Status scatter_part(const MatrixView<T>& staged, const Located<T>& matrix, const Rect& part,
                    const problem::Part& wanted, const Carrier& carrier);

}  // namespace kizami::multi
