// SPDX-License-Identifier: MIT
#include "multi/share_run.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <initializer_list>
#include <span>

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

namespace kizami::multi {
namespace {

constexpr int kMostPasses = 4;  ///< count, exponents, equilibrated, finish
/// Events of a step.
enum StepEvent : std::size_t {
  kComputed,
  kLeft,
  kCHere,  ///< C before the call
  kAHere,  ///< one each of as many parts
  kBHere = kAHere + kMostParts,
  kPartOfC = kBHere + kMostParts,
  kEventsOfStep = kPartOfC + kMostParts,
};

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

template <class T>
[[nodiscard]] std::int64_t bytes_over_links(const StepOperand<T>& operand, int device) {
  return elements_within(Reach::kLinks, *operand.matrix, operand.panel, device) * static_cast<std::int64_t>(sizeof(T));
}

template <class T>
[[nodiscard]] std::span<CUevent_st* const> events_of(const StepOperand<T>& operand) {
  return std::span<CUevent_st* const>(operand.here).first(static_cast<std::size_t>(operand.num_parts));
}

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
  KIZAMI_RETURN_IF_ERROR(events_.take(share_.device, 1));
  // C leaves behind kernels.
  const Streams& streams = streams_.get();
  for (const cudaEvent_t event : before) KIZAMI_RETURN_IF_ERROR(wait_for(streams.in().links, event));
  KIZAMI_RETURN_IF_ERROR(mark(events_.at(0), streams.in().links));
  KIZAMI_RETURN_IF_ERROR(wait_for(streams.in().near, events_.at(0)));
  KIZAMI_RETURN_IF_ERROR(wait_for(streams.compute(), events_.at(0)));
  if (share_.blocks.empty()) return {};
  // C that is overwritten by a wrong guess must be had again.
  const bool keeps_c = share_.is_resident &&
                       std::all_of(share_.blocks.begin(), share_.blocks.end(),
                                   [&](const Rect& x) { return !problem_.c.in_place(x, share_.device).has_value(); });
  speculates_ = plan_.has_exchange && problem_.has_terms(plan_) &&
                ozaki2::may_speculate(*plan_.whole, problem_.alpha) && (problem_.beta == T{0} || keeps_c);
  steps_ =
      make_steps(share_.blocks, kMostPasses, share_.a_places, share_.b_places, share_.c_places, plan_.panels_of_b());
  places_of_c_ = PlacesOfC(share_.c_places);
  KIZAMI_RETURN_IF_ERROR(states_.take(share_.blocks.size() * sizeof(device::DeviceState)));
  return {};
}

template <class T>
cudaEvent_t ShareRun<T>::event(int step, std::size_t which) const {
  return events_.at(1 + kEventsOfStep * static_cast<std::size_t>(step) + which);
}

template <class T>
bool ShareRun<T>::leaves(std::size_t i_block) const {
  if (pass_ == Pass::kSpeculate) return problem_.beta == T{0};
  if (pass_ == Pass::kConfirm)
    return problem_.beta != T{0} || has_nonfinite_lines(i_block) || has_left_too_early(i_block);
  return writes_c();
}

template <class T>
Status ShareRun<T>::begin_pass(std::optional<Pass> pass, const num::Selection& selection,
                               const InnerExponents* shifts) {
  running_.clear();
  arrivals_.clear();
  next_arrival_ = 0;
  next_part_ = 0;
  next_copy_ = 0;
  if (!pass) return {};
  pass_ = *pass;
  selection_ = selection;
  shifts_ = shifts;
  const std::size_t num_blocks = share_.blocks.size();
  KIZAMI_RETURN_IF_ERROR(events_.take(share_.device, kEventsOfStep * num_blocks));
  const int first_step = num_done_;
  num_done_ += static_cast<int>(num_blocks);
  running_.resize(num_blocks);  // blocks point into it
  for (std::size_t i = 0; i < num_blocks; ++i) {
    running_[i].number = first_step + static_cast<int>(i);
    begin_step(i);
  }
  time_arrivals(arrivals_, first_step);
  return {};
}

template <class T>
void ShareRun<T>::begin_step(std::size_t i) {
  StepRun<T>& run = running_[i];
  run.step = steps_[static_cast<std::size_t>(run.number)];
  const Step& step = run.step;
  const std::size_t i_block = block_of(run);
  const Rect& rect = rect_of(run);
  const plan::Plan& plan = *share_.plans[i_block];
  const bool has_terms = problem_.has_terms(plan_);
  const std::int64_t k = has_terms ? plan_.shape.k : 0;
  const bool is_mirrored = !plan_.part.is_all();
  run.comes_apart = pass_ == Pass::kSpeculate && share_.is_resident;
  const bool comes_in_parts = run.comes_apart && plan_.is_strassen_product(share_, i_block);
  run.first_end = arrivals_.size();
  if (has_terms) {
    const auto find = [&](StepOperand<T>& operand, const Located<const T>& matrix, const Rect& panel,
                          const std::vector<std::byte*>& places, int place) {
      operand.matrix = &matrix;
      operand.panel = panel;
      operand.found = find_part(matrix, panel, share_.device, places, place);
    };
    find(run.a, problem_.a, a_panel(rect, k), buffers_.a, step.a.place);
    if (is_mirrored) {
      find(run.b, problem_.a, mirrored_panel(rect, k), buffers_.a, step.b.place);
    } else {
      find(run.b, problem_.b, b_panel(rect, k), buffers_.b, step.b.place);
      run.b.lines = PanelLines::kCols;
    }
    const auto add = [&](Side side) {
      StepOperand<T>& operand = side == Side::kA ? run.a : run.b;
      const PanelUse& use = side == Side::kA ? step.a : step.b;
      if (!operand.found.is_staged || !use.is_loaded) return;
      operand.num_parts =
          comes_in_parts ? static_cast<int>(std::clamp<std::int64_t>(
                               bytes_over_links(operand, share_.device) / plan_.least_part_bytes, 1, kMostPanelParts))
                         : 1;
      for (std::size_t part = 0; part < kMostParts; ++part)
        operand.here[part] = event(run.number, (side == Side::kA ? kAHere : kBHere) + part);
      arrivals_.push_back({.step = run.number,
                           .what = side == Side::kA ? Coming::kA : Coming::kB,
                           .free_after = use.free_after,
                           .holds_host = operand.matrix->is_pageable});
    };
    // First what has less to bring, so that it is split meanwhile.
    const bool begins_with_b =
        run.comes_apart && bytes_over_links(run.b, share_.device) <= bytes_over_links(run.a, share_.device);
    const Side first = begins_with_b ? Side::kB : Side::kA;
    add(first);
    if (run.comes_apart) run.first_end = arrivals_.size();
    add(begins_with_b ? Side::kA : Side::kB);
    run.block.events.first = first;
  }
  run.c = find_part(problem_.c, rect, share_.device, buffers_.c, step.c_place);
  run.c_free_after = places_of_c_.free_after(step.c_place);
  run.brings_c = writes_c() && run.c.is_staged && problem_.beta != T{0};
  if (run.brings_c) {
    arrivals_.push_back(
        {.step = run.number, .what = Coming::kC, .free_after = run.c_free_after, .holds_host = problem_.c.is_pageable});
  }
  run.leaves = leaves(i_block) && run.c.is_staged;
  if (run.leaves) places_of_c_.leaves(step.c_place, run.number);
  run.leaves_in_parts = run.leaves && pass_ == Pass::kSpeculate && leaves_in_parts(i_block);
  for (std::size_t part = 0; part < kMostParts; ++part) run.parts_of_c[part] = event(run.number, kPartOfC + part);

  ozaki2::DeviceBlock<T>& block = run.block;
  block.plan = &plan;
  block.problem.alpha = Factor<T>(problem_.alpha);
  block.problem.a = run.a.found.view;
  block.problem.b = is_mirrored && has_terms ? problem_.mirrored(run.b.found.view, plan_) : run.b.found.view;
  block.problem.beta = Factor<T>(problem_.beta);
  block.problem.c = run.c.view;
  block.problem.part = plan_.part_of(rect);
  block.workspace = buffers_.products[share_.is_resident ? i_block : 0];
  block.queue = streams_.get().compute();
  if (run.comes_apart) {
    block.events.a_ready = events_of(run.a);
    block.events.b_ready = events_of(run.b);
    if (run.brings_c) block.events.c_ready = event(run.number, kCHere);
  }
  if (run.leaves_in_parts) block.events.c_done = run.parts_of_c;
}

// ---- what comes -----------------------------------------------------------------------------------------------------

template <class T>
Status ShareRun<T>::ask(int i, Extent extent, bool& has_asked) {
  if (i >= num_steps()) return {};
  const StepRun<T>& now = running_[static_cast<std::size_t>(i)];
  const std::size_t end = extent == Extent::kFirstOperand ? now.first_end : arrivals_.size();
  if (next_arrival_ >= end || arrivals_[next_arrival_].ask_from > now.number) return {};
  const Arrival& arrival = arrivals_[next_arrival_];
  const StepRun<T>& run = running_[static_cast<std::size_t>(arrival.step - running_[0].number)];
  has_asked = true;
  if (arrival.what == Coming::kC) {
    ++next_arrival_;
    return bring_c(run, arrival);
  }
  const StepOperand<T>& operand = arrival.what == Coming::kA ? run.a : run.b;
  if (next_copy_ == 0) KIZAMI_RETURN_IF_ERROR(begin_part(operand, arrival));
  if (next_copy_ < coming_.size()) KIZAMI_RETURN_IF_ERROR(bring_holding(operand, coming_[next_copy_++]));
  if (next_copy_ < coming_.size()) return {};
  KIZAMI_RETURN_IF_ERROR(end_part(operand));
  next_copy_ = 0;
  if (++next_part_ < operand.num_parts) return {};
  ++next_arrival_;
  next_part_ = 0;
  return {};
}

/// What is on the device already comes with the first part, all of it: it passes no link, and is there sooner.
template <class T>
Status ShareRun<T>::begin_part(const StepOperand<T>& operand, const Arrival& arrival) {
  const Located<const T>& matrix = *operand.matrix;
  if (next_part_ == 0) {
    if (arrival.free_after != kNoStep) {
      KIZAMI_RETURN_IF_ERROR(inwards().wait(event(arrival.free_after, kComputed)));
      has_waited_ = true;
    }
    KIZAMI_RETURN_IF_ERROR(
        gather_part(Reach::kNear, matrix, operand.panel, {}, without_const<T>(operand.found.view), inwards()));
  }
  coming_.clear();
  for (const Rect& rect : part_of_panel(operand.panel, operand.lines, next_part_, operand.num_parts)) {
    for (const Holding& holding : holdings_in_turn(rect, matrix.rects, matrix.devices, share_.device)) {
      if (matrix.reach_of(holding.piece, share_.device) == Reach::kLinks) coming_.push_back(holding);
    }
  }
  return {};
}

/// In turn with the other shares until something that comes here has waited for kernels: they do not wait for those of this share.
template <class T>
Status ShareRun<T>::bring_holding(const StepOperand<T>& operand, const Holding& holding) {
  const cudaStream_t stream = inwards().streams.links;
  const int source = operand.matrix->devices[holding.piece];
  const bool takes_turns = turns_ != nullptr && source != kHost && !has_waited_;
  if (takes_turns) {
    if (const cudaEvent_t before = turns_->before(source, stream)) KIZAMI_RETURN_IF_ERROR(wait_for(stream, before));
  }
  KIZAMI_RETURN_IF_ERROR(
      gather_holding(*operand.matrix, holding, operand.panel, {}, without_const<T>(operand.found.view), stream));
  if (!takes_turns) return {};
  KIZAMI_RETURN_IF_ERROR(behind_copies_.take(share_.device, 1));
  const cudaEvent_t behind = behind_copies_.at(num_copies_++);
  KIZAMI_RETURN_IF_ERROR(mark(behind, stream));
  turns_->follow(source, stream, behind);
  return {};
}

template <class T>
Status ShareRun<T>::end_part(const StepOperand<T>& operand) {
  const Carrier carrier = inwards();
  const cudaEvent_t here = operand.here[static_cast<std::size_t>(next_part_)];
  const bool has_near =
      next_part_ == 0 && elements_within(Reach::kNear, *operand.matrix, operand.panel, share_.device) > 0;
  return has_near ? carrier.join(events_.at(0), here) : mark(here, carrier.streams.links);
}

template <class T>
Status ShareRun<T>::bring_c(const StepRun<T>& run, const Arrival& arrival) {
  const Carrier carrier = inwards();
  if (arrival.free_after != kNoStep) {
    KIZAMI_RETURN_IF_ERROR(carrier.wait(event(arrival.free_after, kLeft)));
    has_waited_ = true;
  }
  for (const Reach reach : {Reach::kLinks, Reach::kNear})
    KIZAMI_RETURN_IF_ERROR(gather_part(reach, problem_.c, rect_of(run), plan_.part, run.c.view, carrier));
  return carrier.join(events_.at(0), event(run.number, kCHere));
}

// ---- kernels --------------------------------------------------------------------------------------------------------

template <class T>
Status ShareRun<T>::compute_first(int i) {
  if (i >= num_steps()) return {};
  StepRun<T>& run = running_[static_cast<std::size_t>(i)];
  if (!run.comes_apart) return {};
  KIZAMI_RETURN_IF_ERROR(validate(run.block));
  run.block.has_first = true;
  return ozaki2::speculate_device_block_first(run.block);
}

template <class T>
Status ShareRun<T>::compute(int i) {
  if (i >= num_steps()) return {};
  const StepRun<T>& run = running_[static_cast<std::size_t>(i)];
  if (next_arrival_ < arrivals_.size() && arrivals_[next_arrival_].step <= run.number)
    return {StatusCode::kInternal, "a block is computed before all of what it wants is asked for"};
  const cudaStream_t stream = streams_.get().compute();
  if (writes_c() && run.c.is_staged && run.c_free_after != kNoStep)
    KIZAMI_RETURN_IF_ERROR(wait_for(stream, event(run.c_free_after, kLeft)));
  if (!run.comes_apart) {
    for (const StepOperand<T>* const operand : {&run.a, &run.b}) {
      for (CUevent_st* const part : events_of(*operand)) KIZAMI_RETURN_IF_ERROR(wait_for(stream, part));
    }
    if (run.brings_c) KIZAMI_RETURN_IF_ERROR(wait_for(stream, event(run.number, kCHere)));
  }
  KIZAMI_RETURN_IF_ERROR(run_block(block_of(run), run.block));
  KIZAMI_RETURN_IF_ERROR(mark(event(run.number, kComputed), stream));
  if (i + 1 == num_steps()) has_begun_ = true;
  return {};
}

template <class T>
Status ShareRun<T>::validate(const ozaki2::DeviceBlock<T>& block) const {
  KIZAMI_RETURN_IF_ERROR(exec::validate_device_plan(*block.plan));
  return exec::validate_device_problem(*block.plan, block.problem);
}

template <class T>
Status ShareRun<T>::run_block(std::size_t i_block, const ozaki2::DeviceBlock<T>& block) {
  const Rect& rect = share_.blocks[i_block];
  if (pass_ == Pass::kAlone) {
    const std::span<std::byte> workspace(block.workspace, share_.product_bytes);
    KIZAMI_RETURN_IF_ERROR(exec::run_device<T>(*block.plan, {&block.problem, 1}, workspace, block.queue));
    return block.plan->first().scheme == Scheme::kNative ? Status{} : read_state(i_block, block);
  }
  if (pass_ == Pass::kConfirm) return has_nonfinite_lines(i_block) ? ozaki2::confirm_device_block(block) : Status{};
  const bool is_there = share_.is_resident && has_begun_;
  if (!is_there) {
    if (!block.has_first) KIZAMI_RETURN_IF_ERROR(validate(block));
    if (pass_ != Pass::kSpeculate) KIZAMI_RETURN_IF_ERROR(ozaki2::begin_device_block(block));
  }
  switch (pass_) {
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
      KIZAMI_RETURN_IF_ERROR(count_equilibrated(block, *shifts_));
      return read_state(i_block, block);
    case Pass::kFinish: {
      if (!is_there && selection_.equilibrated) KIZAMI_RETURN_IF_ERROR(count_equilibrated(block, *shifts_));
      ozaki2::DeviceBlock<T> begun = block;
      begun.is_speculated = is_there && speculates_;
      return ozaki2::finish_device_block(begun, selection_, buffers_.repairs, share_.repair_capacity);
    }
  }
  return {};
}

// ---- what leaves ----------------------------------------------------------------------------------------------------

template <class T>
Status ShareRun<T>::send(int i) {
  if (i >= num_steps()) return {};
  const StepRun<T>& run = running_[static_cast<std::size_t>(i)];
  if (!run.leaves) return {};
  const Carrier carrier = outwards();
  const Rect& rect = rect_of(run);
  const auto send_part = [&](const Rect& part) -> Status {
    if (part.is_empty()) return {};
    return scatter_part(run.c.view.block(part.row - rect.row, part.col - rect.col, part.rows, part.cols), problem_.c,
                        part, plan_.part, carrier);
  };
  if (run.leaves_in_parts) {
    for (std::size_t part = 0; part < kMostParts; ++part) {
      KIZAMI_RETURN_IF_ERROR(carrier.wait(run.parts_of_c[part]));
      for (const Rect& columns : part_of_panel(rect, PanelLines::kCols, static_cast<int>(part), kMostPanelParts))
        KIZAMI_RETURN_IF_ERROR(send_part(columns));
    }
  } else {
    KIZAMI_RETURN_IF_ERROR(carrier.wait(event(run.number, kComputed)));
    KIZAMI_RETURN_IF_ERROR(send_part(rect));
  }
  return carrier.join(events_.at(0), event(run.number, kLeft));
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
