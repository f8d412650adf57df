// SPDX-License-Identifier: MIT
#include "multi/located.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <string>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "problem/problem.hpp"

namespace kizami::multi {
namespace {

Status find_device(const char* name, const void* data, int& device, bool& is_pageable) {
  cudaPointerAttributes attributes{};
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(cudaPointerGetAttributes(&attributes, data), name));
  const bool is_device = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  device = is_device ? attributes.device : kHost;
  is_pageable = is_pageable || attributes.type == cudaMemoryTypeUnregistered;
  return {};
}

/// Whether lines of the view follow one another at a distance, as copies of rectangles want it.
template <class T>
[[nodiscard]] bool is_stored_by(Layout layout, const MatrixView<T>& given) {
  const MatrixView<T> view = layout == Layout::kColMajor ? given : given.transposed();
  return (view.rows <= 1 || view.row_stride == 1) && (view.cols <= 1 || view.col_stride >= view.rows);
}

template <class T>
Status locate_matrix(const char* name, std::int64_t rows, std::int64_t cols, std::span<const Piece<T>> pieces,
                     Located<T>& located) {
  std::vector<Rect> all;
  std::transform(pieces.begin(), pieces.end(), std::back_inserter(all), [](const Piece<T>& piece) {
    return Rect{piece.row, piece.col, piece.view.rows, piece.view.cols};
  });
  KIZAMI_RETURN_IF_ERROR(validate_pieces(name, rows, cols, all));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (all[i].is_empty()) continue;
    const MatrixView<T>& view = pieces[i].view;
    if constexpr (std::is_const_v<T>) {
      KIZAMI_RETURN_IF_ERROR(problem::validate_operand<std::remove_const_t<T>>(name, view, view.rows, view.cols));
    } else {
      KIZAMI_RETURN_IF_ERROR(problem::validate_output<T>(view, view.rows, view.cols));
    }
    if (!located.views.empty() && view.is_conjugated != located.is_conjugated) {
      return {StatusCode::kInvalidArgument,
              std::string(name) + ": piece " + std::to_string(i) +
                  (view.is_conjugated ? " is conjugated, others are not" : " is not conjugated, others are") +
                  ", must be as the others"};
    }
    int device = kHost;
    KIZAMI_RETURN_IF_ERROR(find_device(name, view.data, device, located.is_pageable));
    located.is_conjugated = view.is_conjugated;
    located.rects.push_back(all[i]);
    located.views.push_back(view);
    located.devices.push_back(device);
  }
  for (const Layout layout : {Layout::kRowMajor, Layout::kColMajor}) {
    if (std::all_of(located.views.begin(), located.views.end(),
                    [&](const MatrixView<T>& view) { return is_stored_by(layout, view); }))
      located.layout = layout;
  }
  return {};
}

template <class T>
Status validate_disjoint(const char* name, const Located<const T>& operand, const Located<T>& c) {
  for (const MatrixView<const T>& x : operand.views) {
    for (const MatrixView<T>& y : c.views) {
      if (!problem::overlaps<T>(x, y)) continue;
      return {StatusCode::kInvalidArgument,
              std::string("C overlaps ") + name + " in memory, must be disjoint from A and B"};
    }
  }
  return {};
}

/// @return whether the part must travel
template <class T>
[[nodiscard]] bool must_travel(const Located<T>& matrix, const Rect& part, int device) {
  return !part.is_empty() && !matrix.in_place(part, device).has_value();
}

}  // namespace

template <class T>
Status locate(const MultiPlan& plan, T alpha, std::span<const Piece<const T>> a, std::span<const Piece<const T>> b,
              T beta, std::span<const Piece<T>> c, LocatedProblem<T>& problem) {
  const problem::Shape& shape = plan.shape;
  problem.alpha = alpha;
  problem.beta = beta;
  KIZAMI_RETURN_IF_ERROR(locate_matrix("C", shape.m, shape.n, c, problem.c));
  if (problem.c.views.empty() || !problem.has_terms(plan)) return {};
  KIZAMI_RETURN_IF_ERROR(locate_matrix("A", shape.m, shape.k, a, problem.a));
  if (plan.part.is_all()) KIZAMI_RETURN_IF_ERROR(locate_matrix("B", shape.k, shape.n, b, problem.b));
  KIZAMI_RETURN_IF_ERROR(validate_disjoint("A", problem.a, problem.c));
  return validate_disjoint("B", problem.b, problem.c);
}

template <class T>
Status find_travels(const MultiPlan& plan, const Share& share, const LocatedProblem<T>& problem, Travels& travels) {
  travels = {false, false, false};
  const std::int64_t k = problem.has_terms(plan) ? plan.shape.k : 0;
  for (const Rect& block : share.blocks) {
    travels.a = travels.a || must_travel(problem.a, a_panel(block, k), share.device);
    if (plan.part.is_all()) {
      travels.b = travels.b || must_travel(problem.b, b_panel(block, k), share.device);
    } else {
      travels.a = travels.a || must_travel(problem.a, mirrored_panel(block, k), share.device);
    }
    travels.c = travels.c || must_travel(problem.c, block, share.device);
  }
  const auto check = [&](const char* name, bool travels_there, bool has_layout) -> Status {
    if (!travels_there || has_layout) return {};
    return {StatusCode::kUnsupported, std::string(name) + " must travel to device " + std::to_string(share.device) +
                                          ": its pieces must be stored all by columns or all by rows"};
  };
  KIZAMI_RETURN_IF_ERROR(check("A", travels.a, problem.a.layout.has_value()));
  KIZAMI_RETURN_IF_ERROR(check("B", travels.b, problem.b.layout.has_value()));
  return check("C", travels.c, problem.c.layout.has_value());
}

#define KIZAMI_INSTANTIATE(T)                                                                                         \
  template Status locate<T>(const MultiPlan&, T, std::span<const Piece<const T>>, std::span<const Piece<const T>>, T, \
                            std::span<const Piece<T>>, LocatedProblem<T>&);                                           \
  template Status find_travels<T>(const MultiPlan&, const Share&, const LocatedProblem<T>&, Travels&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
