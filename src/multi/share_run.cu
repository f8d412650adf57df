// SPDX-License-Identifier: MIT
#include "multi/share_run.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <span>
#include <utility>

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
/// Events of a step.
constexpr int kMostParts = 4;  ///< of what comes, or goes, while others are split or made
enum StepEvent : std::size_t {
  kComputed,
  kLeft,
  kCHere,   ///< C before the call
  kBranch,  ///< of one stream of several, again and again
  kAHere,   ///< one each of as many parts
  kBHere = kAHere + kMostParts,
  kPartOfC = kBHere + kMostParts,
  kEventsOfStep = kPartOfC + kMostParts,
};
/// Bytes of a part that comes by itself, at least.
constexpr std::int64_t kLeastPartBytes = std::int64_t{1} << 26;

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

Status wait_for(cudaStream_t stream, cudaEvent_t event) {
  return base::cuda_status(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}
Status mark(cudaEvent_t event, cudaStream_t stream) {
  return base::cuda_status(cudaEventRecord(event, stream), "cudaEventRecord");
}

/// A device that copies, and by which streams.
struct Carrier {
  int device = 0;
  std::span<const cudaStream_t> far;  ///< from and to other memory than its own; one device's go by one of them
  cudaStream_t near = nullptr;
  cudaStream_t joined = nullptr;

  template <class E>
  [[nodiscard]] cudaStream_t stream_for(const Located<E>& matrix, const Holding& holding) const {
    const int there = matrix.devices[holding.piece];
    if (there == device) return near;
    // Those after this device one by one, those before it from the end: of four, three by three streams.
    const auto count = static_cast<int>(far.size());
    const int turn = there > device ? (there - device - 1) % count : count - 1 - (device - there - 1) % count;
    return far[static_cast<std::size_t>(turn)];
  }

  /// All streams wait.
  [[nodiscard]] Status wait(cudaEvent_t event) const {
    for (const cudaStream_t stream : far) KIZAMI_RETURN_IF_ERROR(wait_for(stream, event));
    return wait_for(near, event);
  }
  /// `all` is behind what all of them have. @param branch  for this
  [[nodiscard]] Status join(cudaEvent_t branch, cudaEvent_t all) const {
    const auto add = [&](cudaStream_t stream) -> Status {
      if (stream == joined) return {};
      KIZAMI_RETURN_IF_ERROR(mark(branch, stream));
      return wait_for(joined, branch);
    };
    for (const cudaStream_t stream : far) KIZAMI_RETURN_IF_ERROR(add(stream));
    KIZAMI_RETURN_IF_ERROR(add(near));
    return mark(all, joined);
  }
};

/// The pieces that hold a part, in such an order that devices begin with different ones: those of devices from this one
/// on, then the others.
template <class E>
[[nodiscard]] std::vector<Holding> holdings_in_turn(const Located<E>& matrix, const Rect& part, int device) {
  std::vector<Holding> holdings = holdings_of(part, matrix.rects);
  std::stable_sort(holdings.begin(), holdings.end(), [&](const Holding& x, const Holding& y) {
    const auto turn = [&](const Holding& holding) {
      const int there = matrix.devices[holding.piece];
      return std::pair(there < device, there);
    };
    return turn(x) < turn(y);
  });
  return holdings;
}

/// A part of a matrix from its pieces to where it is staged. @param wanted  of the matrix
template <class E, class T>
Status gather_part(const Located<E>& matrix, const Rect& part, const problem::Part& wanted, MatrixView<T> staged,
                   const Carrier& carrier) {
  for (const Holding& holding : holdings_in_turn(matrix, part, carrier.device)) {
    const Rect& rect = holding.rect;
    const Rect& piece = matrix.rects[holding.piece];
    const MatrixView<const T> from =
        matrix.views[holding.piece].block(rect.row - piece.row, rect.col - piece.col, rect.rows, rect.cols);
    KIZAMI_RETURN_IF_ERROR(copy_part<T>(*matrix.layout, wanted, rect, from,
                                        staged.block(rect.row - part.row, rect.col - part.col, rect.rows, rect.cols),
                                        carrier.stream_for(matrix, holding)));
  }
  return {};
}

/// And back.
template <class T>
Status scatter_part(MatrixView<T> staged, const Located<T>& matrix, const Rect& part, const problem::Part& wanted,
                    const Carrier& carrier) {
  for (const Holding& holding : holdings_in_turn(matrix, part, carrier.device)) {
    const Rect& rect = holding.rect;
    const Rect& piece = matrix.rects[holding.piece];
    const MatrixView<const T> from = staged.block(rect.row - part.row, rect.col - part.col, rect.rows, rect.cols);
    KIZAMI_RETURN_IF_ERROR(copy_part<T>(
        *matrix.layout, wanted, rect, from,
        matrix.views[holding.piece].block(rect.row - piece.row, rect.col - piece.col, rect.rows, rect.cols),
        carrier.stream_for(matrix, holding)));
  }
  return {};
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

/// Elements of a part that other memory than a device's own holds.
template <class E>
[[nodiscard]] std::int64_t elements_elsewhere(const Located<E>& matrix, const Rect& part, int device) {
  std::int64_t count = 0;
  for (const Holding& holding : holdings_of(part, matrix.rects))
    count += matrix.devices[holding.piece] == device ? 0 : holding.rect.rows * holding.rect.cols;
  return count;
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
  for (const cudaStream_t stream : streams_.get().all) {
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
    if (pass == Pass::kConfirm)
      return problem_.beta != T{0} || has_nonfinite_lines(i_block) || has_left_too_early(i_block);
    return writes_c;
  };
  const bool has_terms = problem_.has_terms(plan_);
  const std::int64_t k = has_terms ? plan_.shape.k : 0;
  const Streams& streams = streams_.get();
  const cudaStream_t compute_stream = streams.compute();
  const Carrier inwards{share_.device, streams.in(), streams.near(), streams.here()};
  const Carrier outwards{share_.device, {&streams.out(), 1}, streams.near(), streams.out()};
  const std::size_t num_blocks = share_.blocks.size();
  KIZAMI_RETURN_IF_ERROR(events_.make(kEventsOfStep * num_blocks));
  const auto event = [&](int step, std::size_t which) {
    return events_.at(kEventsOfStep * static_cast<std::size_t>(step) + which);
  };
  for (std::size_t i = 0; i < num_blocks; ++i) {
    const auto number = static_cast<int>(num_done_++);
    const Step& step = steps_[static_cast<std::size_t>(number)];
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

    // By whom what of both operands is there: A, B.
    std::array<std::array<CUevent_st*, kMostParts>, 2> here{};
    std::array<std::size_t, 2> num_here{};
    CUevent_st** last_here = nullptr;  // what is loaded last
    const bool comes_apart = pass == Pass::kSpeculate && share_.is_resident;
    const bool comes_in_parts = comes_apart && ozaki2::is_one_strassen_chunk(*share_.plans[i_block]);
    const auto load = [&](Side side, const auto& matrix, const Rect& panel, const auto& found,
                          const PanelUse& use) -> Status {
      if (!found.is_staged || !use.is_loaded) return {};
      if (use.free_after != kNoStep) KIZAMI_RETURN_IF_ERROR(inwards.wait(event(use.free_after, kComputed)));
      if (last_here != nullptr) {  // the other operand has all links until it is there
        for (const cudaStream_t stream : inwards.far) KIZAMI_RETURN_IF_ERROR(wait_for(stream, *last_here));
      }
      const bool is_a = side == Side::kA;
      const std::int64_t bytes =
          elements_elsewhere(matrix, panel, share_.device) * static_cast<std::int64_t>(sizeof(T));
      const int count =
          comes_in_parts ? static_cast<int>(std::clamp<std::int64_t>(bytes / kLeastPartBytes, 1, kMostParts)) : 1;
      const auto x = static_cast<std::size_t>(is_a ? 0 : 1);
      const auto gather = [&](const Rect& part) {
        return gather_part(
            matrix, part, {},
            without_const<T>(found.view).block(part.row - panel.row, part.col - panel.col, part.rows, part.cols),
            inwards);
      };
      for (int i_part = 0; i_part < count; ++i_part) {
        const auto at = static_cast<std::size_t>(i_part);
        if (count == 1) {
          KIZAMI_RETURN_IF_ERROR(gather(panel));
        } else {
          const ozaki2::QuadrantLines lines = ozaki2::quadrant_lines(is_a ? panel.rows : panel.cols, i_part, count);
          for (const int half : {0, 1}) {
            const std::int64_t first = lines.begin[half];
            const std::int64_t num = lines.end[half] - first;
            if (num == 0) continue;
            KIZAMI_RETURN_IF_ERROR(gather(is_a ? Rect{panel.row + first, panel.col, num, panel.cols}
                                               : Rect{panel.row, panel.col + first, panel.rows, num}));
          }
        }
        here[x][at] = event(number, (is_a ? kAHere : kBHere) + at);
        num_here[x] = at + 1;
        last_here = &here[x][at];
        KIZAMI_RETURN_IF_ERROR(inwards.join(event(number, kBranch), *last_here));
      }
      return {};
    };
    // First what has less to bring, so that it is split meanwhile.
    Side first = Side::kA;
    if (has_terms) {
      const auto& of_b = plan_.part.is_all() ? problem_.b : problem_.a;
      const Rect panel_of_b = plan_.part.is_all() ? b_panel(rect, k) : mirrored_panel(rect, k);
      if (comes_apart && elements_elsewhere(of_b, panel_of_b, share_.device) <=
                             elements_elsewhere(problem_.a, a_panel(rect, k), share_.device))
        first = Side::kB;
      for (const Side side : {first, first == Side::kA ? Side::kB : Side::kA}) {
        KIZAMI_RETURN_IF_ERROR(side == Side::kA ? load(side, problem_.a, a_panel(rect, k), parts.a, step.a)
                                                : load(side, of_b, panel_of_b, parts.b, step.b));
      }
      if (!plan_.part.is_all()) parts.b.view = problem_.mirrored(parts.b.view, plan_);
    }
    if (writes_c && parts.c.is_staged && problem_.beta != T{0}) {
      if (step.c_free_after != kNoStep) KIZAMI_RETURN_IF_ERROR(inwards.wait(event(step.c_free_after, kLeft)));
      KIZAMI_RETURN_IF_ERROR(gather_part(problem_.c, rect, plan_.part, parts.c.view, inwards));
      CUevent_st* const c_here = event(number, kCHere);
      KIZAMI_RETURN_IF_ERROR(inwards.join(event(number, kBranch), c_here));
      if (last_here != nullptr) {
        *last_here = c_here;
      } else {
        KIZAMI_RETURN_IF_ERROR(wait_for(compute_stream, c_here));
      }
    }
    if (writes_c && parts.c.is_staged && step.c_free_after != kNoStep)
      KIZAMI_RETURN_IF_ERROR(wait_for(compute_stream, event(step.c_free_after, kLeft)));

    ozaki2::DeviceBlock<T> block;
    block.plan = share_.plans[i_block].get();
    block.problem.alpha = Factor<T>(problem_.alpha);
    block.problem.a = parts.a.view;
    block.problem.b = parts.b.view;
    block.problem.beta = Factor<T>(problem_.beta);
    block.problem.c = parts.c.view;
    block.problem.part = plan_.part_of(rect);
    block.workspace = buffers_.products[share_.is_resident ? i_block : 0];
    block.queue = compute_stream;
    const std::span<CUevent_st* const> a_here(here[0].data(), num_here[0]);
    const std::span<CUevent_st* const> b_here(here[1].data(), num_here[1]);
    if (comes_apart) {
      block.events = {.a_ready = a_here, .b_ready = b_here, .first = first};
    } else {
      for (const auto& operand : {a_here, b_here}) {
        for (CUevent_st* const part : operand) KIZAMI_RETURN_IF_ERROR(wait_for(compute_stream, part));
      }
    }
    const bool does_leave = leaves(i_block) && parts.c.is_staged;
    const bool in_parts = does_leave && pass == Pass::kSpeculate && leaves_in_parts(i_block);
    std::array<CUevent_st*, kMostParts> parts_of_c{};
    for (std::size_t part = 0; part < kMostParts; ++part) parts_of_c[part] = event(number, kPartOfC + part);
    if (in_parts) block.events.c_done = parts_of_c;
    KIZAMI_RETURN_IF_ERROR(compute(pass, selection, shifts, i_block, block));
    KIZAMI_RETURN_IF_ERROR(mark(event(number, kComputed), compute_stream));

    if (!does_leave) continue;
    const auto send = [&](const Rect& part) {
      return scatter_part(parts.c.view.block(part.row - rect.row, part.col - rect.col, part.rows, part.cols),
                          problem_.c, part, plan_.part, outwards);
    };
    if (in_parts) {
      for (int part = 0; part < kMostParts; ++part) {
        KIZAMI_RETURN_IF_ERROR(outwards.wait(parts_of_c[static_cast<std::size_t>(part)]));
        const ozaki2::QuadrantLines columns = ozaki2::quadrant_lines(rect.cols, part, kMostParts);
        for (const int half : {0, 1}) {
          const std::int64_t count = columns.end[half] - columns.begin[half];
          if (count > 0) KIZAMI_RETURN_IF_ERROR(send({rect.row, rect.col + columns.begin[half], rect.rows, count}));
        }
      }
    } else {
      KIZAMI_RETURN_IF_ERROR(outwards.wait(event(number, kComputed)));
      KIZAMI_RETURN_IF_ERROR(send(rect));
    }
    KIZAMI_RETURN_IF_ERROR(outwards.join(event(number, kBranch), event(number, kLeft)));
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
      KIZAMI_RETURN_IF_ERROR(ozaki2::speculate_device_block(block));
      KIZAMI_RETURN_IF_ERROR(gather_samples(rect, block));  // both operands are there
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
  bool is_done = problem_.beta == T{0};
  for (std::size_t i = 0; i < share_.blocks.size(); ++i)
    is_done = is_done && !has_nonfinite_lines(i) && !has_left_too_early(i);
  if (is_done) return std::nullopt;
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
                                             cudaMemcpyDeviceToHost, streams_.get().compute()),
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
