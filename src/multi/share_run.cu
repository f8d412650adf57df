// SPDX-License-Identifier: MIT
#include "multi/share_run.hpp"

#include <algorithm>
#include <complex>

#include "base/carver.hpp"
#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "certify/equilibration_gain.hpp"
#include "device/batch_buffers.hpp"
#include "exec/device_batch.hpp"
#include "exec/device_call.hpp"
#include "multi/pieces.hpp"
#include "problem/lines.hpp"
#include "problem/part.hpp"

namespace kizami::multi {
namespace {

constexpr int kMostPasses = 4;  ///< count, exponents, equilibrated, finish
constexpr std::size_t kEventsOfStep = 3;
constexpr unsigned kSampleThreads = 256;

/// The samples that are among lines [first, first + lines.num_lines) of all; the others stay.
template <class T>
__global__ void __launch_bounds__(kSampleThreads)
    copy_samples(const problem::Lines<T> lines, std::int64_t first, std::int64_t all, T* samples) {
  const auto s = static_cast<int>(blockIdx.x);
  const std::int64_t line = certify::gain_line(all, s) - first;
  if (line < 0 || line >= lines.num_lines) return;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.x;
  for (std::int64_t h = std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x; h < lines.length; h += step)
    samples[s * lines.length + h] = lines.data[line * lines.line_stride + h * lines.inner_stride];
}

/// The samples among lines [first, first + count) of all follow one another.
struct SampleRange {
  int begin = 0;
  int end = 0;
};
[[nodiscard]] SampleRange samples_of(std::int64_t first, std::int64_t count, std::int64_t all) {
  SampleRange range{certify::kGainLines, certify::kGainLines};
  for (int s = certify::kGainLines - 1; s >= 0; --s) {
    const std::int64_t line = certify::gain_line(all, s);
    if (line >= first + count) range.end = s;
    if (line >= first) range.begin = s;
  }
  return range;
}

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

/// A part of a matrix from its pieces to where it is staged. @param wanted  of the matrix
template <class E, class T>
Status gather_part(const Located<E>& matrix, const Rect& part, const problem::Part& wanted, MatrixView<T> staged,
                   cudaStream_t stream) {
  for (const Holding& holding : holdings_of(part, matrix.rects)) {
    const Rect& rect = holding.rect;
    const Rect& piece = matrix.rects[holding.piece];
    const MatrixView<const T> from =
        matrix.views[holding.piece].block(rect.row - piece.row, rect.col - piece.col, rect.rows, rect.cols);
    KIZAMI_RETURN_IF_ERROR(copy_part<T>(*matrix.layout, wanted, rect, from,
                                        staged.block(rect.row - part.row, rect.col - part.col, rect.rows, rect.cols),
                                        stream));
  }
  return {};
}

/// And back.
template <class T>
Status scatter_part(MatrixView<T> staged, const Located<T>& matrix, const Rect& part, const problem::Part& wanted,
                    cudaStream_t stream) {
  for (const Holding& holding : holdings_of(part, matrix.rects)) {
    const Rect& rect = holding.rect;
    const Rect& piece = matrix.rects[holding.piece];
    const MatrixView<const T> from = staged.block(rect.row - part.row, rect.col - part.col, rect.rows, rect.cols);
    KIZAMI_RETURN_IF_ERROR(copy_part<T>(
        *matrix.layout, wanted, rect, from,
        matrix.views[holding.piece].block(rect.row - piece.row, rect.col - piece.col, rect.rows, rect.cols), stream));
  }
  return {};
}

Status wait_for(cudaStream_t stream, cudaEvent_t event) {
  return base::cuda_status(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}
Status mark(cudaEvent_t event, cudaStream_t stream) {
  return base::cuda_status(cudaEventRecord(event, stream), "cudaEventRecord");
}

/// A part of a matrix as a place holds it.
template <class E>
[[nodiscard]] MatrixView<E> staged_view(const Located<E>& matrix, const Rect& part, std::byte* place) {
  const bool is_by_cols = matrix.layout.value_or(Layout::kColMajor) == Layout::kColMajor;
  MatrixView<E> view;
  view.data = reinterpret_cast<E*>(place);
  view.rows = part.rows;
  view.cols = part.cols;
  view.row_stride = is_by_cols ? 1 : staged_stride(part.cols);
  view.col_stride = is_by_cols ? staged_stride(part.rows) : 1;
  view.is_conjugated = matrix.is_conjugated;
  return view;
}

/// Where a block finds a part of an operand or of C.
template <class E>
struct Found {
  MatrixView<E> view;
  bool is_staged = false;
};
template <class E>
[[nodiscard]] Found<E> find_part(const Located<E>& matrix, const Rect& part, int device,
                                 const std::vector<std::byte*>& places, int place) {
  if (const auto there = matrix.in_place(part, device)) return {*there, false};
  return {staged_view(matrix, part, places[static_cast<std::size_t>(place)]), true};
}

template <class T>
[[nodiscard]] MatrixView<T> without_const(const MatrixView<const T>& view) {
  return {const_cast<T*>(view.data), view.rows, view.cols, view.row_stride, view.col_stride, view.is_conjugated};
}

/// The parts of one step.
template <class T>
struct StepParts {
  Found<const T> a;
  Found<const T> b;
  Found<T> c;
};

}  // namespace

template <class T>
Status ShareRun<T>::prepare(std::span<std::byte> workspace, const Travels& travels,
                            std::span<const cudaEvent_t> before) {
  const std::size_t needed = share_bytes(plan_, share_, travels);
  if (workspace.size() < needed ||
      reinterpret_cast<std::uintptr_t>(workspace.data()) % device::kWorkspaceAlignment != 0) {
    return {StatusCode::kInvalidArgument, "workspace = " + std::to_string(workspace.size()) + " bytes, must be >= " +
                                              std::to_string(needed) + " and begin on a 256-byte boundary"};
  }
  base::Carver carver(workspace.data());
  buffers_ = carve_share(carver, plan_, share_, travels);
  KIZAMI_RETURN_IF_ERROR(streams_.take(share_.device));
  for (const cudaStream_t stream : {streams_.get().in, streams_.get().compute, streams_.get().out}) {
    for (const cudaEvent_t event : before) KIZAMI_RETURN_IF_ERROR(wait_for(stream, event));
  }
  if (share_.blocks.empty()) return {};
  // C that is overwritten by a wrong guess must be had again.
  const bool keeps_c = share_.is_resident &&
                       std::all_of(share_.blocks.begin(), share_.blocks.end(),
                                   [&](const Rect& x) { return !problem_.c.in_place(x, share_.device).has_value(); });
  speculates_ = plan_.has_exchange && problem_.has_terms(plan_) &&
                ozaki2::may_speculate(*plan_.whole, problem_.alpha) && (problem_.beta == T{0} || keeps_c);
  steps_ =
      make_steps(share_.blocks, kMostPasses, share_.a_places, share_.b_places, share_.c_places, plan_.panels_of_b());
  KIZAMI_RETURN_IF_ERROR(states_.take(share_.blocks.size() * sizeof(device::DeviceState)));
  return {};
}

template <class T>
Status ShareRun<T>::enqueue(Pass pass, const num::Selection& selection, const InnerExponents* shifts) {
  const bool writes_c = pass == Pass::kAlone || pass == Pass::kFinish || pass == Pass::kSpeculate;
  // A guess leaves the device at once where it may be overwritten.
  const auto leaves = [&](std::size_t i_block) {
    if (pass == Pass::kSpeculate) return problem_.beta == T{0};
    if (pass == Pass::kConfirm) return problem_.beta != T{0} || has_nonfinite_lines(i_block);
    return writes_c;
  };
  const bool has_terms = problem_.has_terms(plan_);
  const std::int64_t k = has_terms ? plan_.shape.k : 0;
  const Streams& streams = streams_.get();
  const std::size_t num_blocks = share_.blocks.size();
  KIZAMI_RETURN_IF_ERROR(events_.make(kEventsOfStep * num_blocks));
  const auto loaded = [&](std::size_t step) { return events_.at(kEventsOfStep * step); };
  const auto computed = [&](int step) { return events_.at(kEventsOfStep * static_cast<std::size_t>(step) + 1); };
  const auto left = [&](int step) { return events_.at(kEventsOfStep * static_cast<std::size_t>(step) + 2); };
  for (std::size_t i = 0; i < num_blocks; ++i) {
    const std::size_t number = num_done_++;
    const Step& step = steps_[number];
    const auto i_block = static_cast<std::size_t>(step.block);
    const Rect& rect = share_.blocks[i_block];
    StepParts<T> parts;
    if (has_terms) {
      parts.a = find_part(problem_.a, a_panel(rect, k), share_.device, buffers_.a, step.a.place);
      parts.b = plan_.part.is_all()
                    ? find_part(problem_.b, b_panel(rect, k), share_.device, buffers_.b, step.b.place)
                    : find_part(problem_.a, mirrored_panel(rect, k), share_.device, buffers_.a, step.b.place);
    }
    parts.c = find_part(problem_.c, rect, share_.device, buffers_.c, step.c_place);

    bool has_loaded = false;
    const auto load = [&](const auto& matrix, const Rect& part, const auto& found, const PanelUse& use) -> Status {
      if (!found.is_staged || !use.is_loaded) return {};
      has_loaded = true;
      if (use.free_after != kNoStep) KIZAMI_RETURN_IF_ERROR(wait_for(streams.in, computed(use.free_after)));
      return gather_part(matrix, part, {}, without_const<T>(found.view), streams.in);
    };
    if (has_terms) {
      KIZAMI_RETURN_IF_ERROR(load(problem_.a, a_panel(rect, k), parts.a, step.a));
      if (plan_.part.is_all()) {
        KIZAMI_RETURN_IF_ERROR(load(problem_.b, b_panel(rect, k), parts.b, step.b));
      } else {
        KIZAMI_RETURN_IF_ERROR(load(problem_.a, mirrored_panel(rect, k), parts.b, step.b));
        parts.b.view = problem_.mirrored(parts.b.view, plan_);
      }
    }
    if (writes_c && parts.c.is_staged && problem_.beta != T{0}) {
      has_loaded = true;
      if (step.c_free_after != kNoStep) KIZAMI_RETURN_IF_ERROR(wait_for(streams.in, left(step.c_free_after)));
      KIZAMI_RETURN_IF_ERROR(gather_part(problem_.c, rect, plan_.part, parts.c.view, streams.in));
    }
    if (has_loaded) {
      KIZAMI_RETURN_IF_ERROR(mark(loaded(number), streams.in));
      KIZAMI_RETURN_IF_ERROR(wait_for(streams.compute, loaded(number)));
    }
    if (writes_c && parts.c.is_staged && step.c_free_after != kNoStep)
      KIZAMI_RETURN_IF_ERROR(wait_for(streams.compute, left(step.c_free_after)));

    ozaki2::DeviceBlock<T> block;
    block.plan = share_.plans[i_block].get();
    block.problem.alpha = Factor<T>(problem_.alpha);
    block.problem.a = parts.a.view;
    block.problem.b = parts.b.view;
    block.problem.beta = Factor<T>(problem_.beta);
    block.problem.c = parts.c.view;
    block.problem.part = plan_.part_of(rect);
    block.workspace = buffers_.products[share_.is_resident ? i_block : 0];
    block.queue = streams.compute;
    KIZAMI_RETURN_IF_ERROR(compute(pass, selection, shifts, i_block, block));
    KIZAMI_RETURN_IF_ERROR(mark(computed(static_cast<int>(number)), streams.compute));

    if (leaves(i_block) && parts.c.is_staged) {
      KIZAMI_RETURN_IF_ERROR(wait_for(streams.out, computed(static_cast<int>(number))));
      KIZAMI_RETURN_IF_ERROR(scatter_part(parts.c.view, problem_.c, rect, plan_.part, streams.out));
      KIZAMI_RETURN_IF_ERROR(mark(left(static_cast<int>(number)), streams.out));
    }
  }
  has_begun_ = true;
  return {};
}

template <class T>
Status ShareRun<T>::compute(Pass pass, const num::Selection& selection, const InnerExponents* shifts,
                            std::size_t i_block, const ozaki2::DeviceBlock<T>& block) {
  const Rect& rect = share_.blocks[i_block];
  if (pass == Pass::kAlone) {
    const std::span<std::byte> workspace(block.workspace, share_.product_bytes);
    KIZAMI_RETURN_IF_ERROR(exec::run_device<T>(*block.plan, {&block.problem, 1}, workspace, block.queue));
    return block.plan->first().scheme == Scheme::kNative ? Status{} : read_state(i_block, block);
  }
  if (pass == Pass::kConfirm) return has_nonfinite_lines(i_block) ? ozaki2::confirm_device_block(block) : Status{};
  const bool is_there = share_.is_resident && has_begun_;
  if (!is_there) {
    KIZAMI_RETURN_IF_ERROR(exec::validate_device_plan(*block.plan));
    KIZAMI_RETURN_IF_ERROR(exec::validate_device_problem(*block.plan, block.problem));
    if (pass != Pass::kSpeculate) KIZAMI_RETURN_IF_ERROR(ozaki2::begin_device_block(block));
  }
  switch (pass) {
    case Pass::kAlone:
    case Pass::kConfirm:
      break;
    case Pass::kSpeculate:
      KIZAMI_RETURN_IF_ERROR(gather_samples(rect, block));
      KIZAMI_RETURN_IF_ERROR(ozaki2::speculate_device_block(block));
      return read_state(i_block, block);
    case Pass::kCount:
      KIZAMI_RETURN_IF_ERROR(gather_samples(rect, block));
      return read_state(i_block, block);
    case Pass::kExponents: {
      KIZAMI_RETURN_IF_ERROR(ozaki2::find_block_exponents(block));
      const ozaki2::BlockShifts from = ozaki2::block_shifts(block);
      const auto k = static_cast<std::size_t>(plan_.shape.k);
      exponents_.resize(2 * k * share_.blocks.size());
      std::int32_t* const to = exponents_.data() + 2 * k * i_block;
      KIZAMI_RETURN_IF_ERROR(
          base::cuda_status(cudaMemcpyAsync(to, from.a, k * sizeof(std::int32_t), cudaMemcpyDeviceToHost, block.queue),
                            "reading exponents"));
      return base::cuda_status(
          cudaMemcpyAsync(to + k, from.b, k * sizeof(std::int32_t), cudaMemcpyDeviceToHost, block.queue),
          "reading exponents");
    }
    case Pass::kCountEquilibrated:
      KIZAMI_RETURN_IF_ERROR(count_equilibrated(block, *shifts));
      return read_state(i_block, block);
    case Pass::kFinish: {
      if (!is_there && selection.equilibrated) KIZAMI_RETURN_IF_ERROR(count_equilibrated(block, *shifts));
      ozaki2::DeviceBlock<T> begun = block;
      begun.is_speculated = is_there && speculates_;
      return ozaki2::finish_device_block(begun, selection, buffers_.repairs, share_.repair_capacity);
    }
  }
  return {};
}

template <class T>
std::optional<Pass> ShareRun<T>::last_pass(const num::Selection& selection) const {
  if (!speculates_ || selection != num::Selection{}) return Pass::kFinish;
  bool has_nonfinite = false;
  for (std::size_t i = 0; i < share_.blocks.size(); ++i) has_nonfinite = has_nonfinite || has_nonfinite_lines(i);
  if (problem_.beta == T{0} && !has_nonfinite) return std::nullopt;
  return share_.is_resident ? Pass::kConfirm : Pass::kFinish;
}

template <class T>
Status ShareRun<T>::count_equilibrated(const ozaki2::DeviceBlock<T>& block, const InnerExponents& shifts) const {
  const ozaki2::BlockShifts to = ozaki2::block_shifts(block);
  const std::size_t bytes = static_cast<std::size_t>(plan_.shape.k) * sizeof(std::int32_t);
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaMemcpyAsync(to.a, shifts.a().data(), bytes, cudaMemcpyHostToDevice, block.queue), "writing shifts"));
  KIZAMI_RETURN_IF_ERROR(base::cuda_status(
      cudaMemcpyAsync(to.b, shifts.b().data(), bytes, cudaMemcpyHostToDevice, block.queue), "writing shifts"));
  return ozaki2::count_block_equilibrated(block);
}

template <class T>
Status ShareRun<T>::gather_samples(const Rect& rect, const ozaki2::DeviceBlock<T>& block) const {
  if (!plan_.may_equilibrate) return {};
  const dim3 grid(certify::kGainLines, static_cast<unsigned>(std::clamp<std::int64_t>(
                                           base::ceil_div(plan_.shape.k, std::int64_t{4} * kSampleThreads), 1, 16)));
  const auto copy = [&](Side side, MatrixView<const T> panel, std::int64_t first, std::int64_t all,
                        std::byte* samples) -> Status {
    copy_samples<T><<<grid, kSampleThreads, 0, block.queue>>>(problem::lines_of(side, panel), first, all,
                                                              reinterpret_cast<T*>(samples));
    return base::launch_status("copy_samples");
  };
  if (plan_.counts_rows(rect))
    KIZAMI_RETURN_IF_ERROR(copy(Side::kA, block.problem.a, rect.row, plan_.shape.m, buffers_.a_samples));
  if (plan_.counts_cols(rect)) return copy(Side::kB, block.problem.b, rect.col, plan_.shape.n, buffers_.b_samples);
  return {};
}

template <class T>
Status ShareRun<T>::read_state(std::size_t i_block, const ozaki2::DeviceBlock<T>& block) const {
  return base::cuda_status(cudaMemcpyAsync(static_cast<device::DeviceState*>(states_.data()) + i_block, block.state(),
                                           sizeof(device::DeviceState), cudaMemcpyDeviceToHost, block.queue),
                           "reading the state of a block");
}

template <class T>
void ShareRun<T>::add_exponents(InnerExponents& exponents) const {
  const auto k = static_cast<std::size_t>(plan_.shape.k);
  const std::span<const std::int32_t> all(exponents_);
  for (std::size_t i = 0; i < share_.blocks.size(); ++i)
    exponents.add(all.subspan(2 * k * i, k), all.subspan(2 * k * i + k, k));
}

template <class T>
Status ShareRun<T>::read_samples(T* a, T* b) const {
  const auto k = static_cast<std::size_t>(plan_.shape.k);
  const auto read = [&](std::int64_t first, std::int64_t count, std::int64_t all, const std::byte* from,
                        T* to) -> Status {
    const SampleRange range = samples_of(first, count, all);
    if (range.begin >= range.end) return {};
    const std::size_t at = static_cast<std::size_t>(range.begin) * k;
    const std::size_t bytes = static_cast<std::size_t>(range.end - range.begin) * k * sizeof(T);
    return base::cuda_status(cudaMemcpyAsync(to + at, reinterpret_cast<const T*>(from) + at, bytes,
                                             cudaMemcpyDeviceToHost, streams_.get().compute),
                             "reading samples");
  };
  for (const Rect& rect : share_.blocks) {
    if (plan_.counts_rows(rect))
      KIZAMI_RETURN_IF_ERROR(read(rect.row, rect.rows, plan_.shape.m, buffers_.a_samples, a));
    if (plan_.counts_cols(rect))
      KIZAMI_RETURN_IF_ERROR(read(rect.col, rect.cols, plan_.shape.n, buffers_.b_samples, b));
  }
  return {};
}

#define KIZAMI_INSTANTIATE(T) template class ShareRun<T>

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::multi
