// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/device_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <optional>
#include <span>
#include <string>

#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/phase_range.hpp"
#include "certify/device_begin.hpp"
#include "device/side_streams.hpp"
#include "device/wait.hpp"
#include "device/writes_c.hpp"
#include "fp64/device.hpp"
#include "fp64/device_left.hpp"
#include "fp64/nonfinite_alpha.hpp"
#include "problem/lines.hpp"
#include "product/launch.hpp"
#include "schemes/ozaki1/device_plan.hpp"
#include "schemes/ozaki1/device_split.hpp"
#include "schemes/ozaki1/device_sums.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_split.hpp"

namespace kizami::ozaki1 {
namespace {

/// One operand during a call.
template <class T>
struct SlicedOperand {
  problem::Lines<T> lines;
  DeviceSliceLineBuffers buffers;
  std::int8_t* slices = nullptr;
  std::uint64_t* nonfinite = nullptr;
  const std::int32_t* largest_exponent = nullptr;  ///< of SliceSurvey
  std::int64_t row_stride = 0;
  std::int64_t part_stride = 0;
  bool is_reversed = false;           ///< B
  std::int64_t loaded[2] = {-1, -1};  ///< first line and element of the slices that are there
};

/// One call: the phases in order, each a member that enqueues what it does.
template <class T>
class Ozaki1Call {
 public:
  Ozaki1Call(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
             device::DeviceState* state, product::Queue queue)
      : plan_(plan),
        slices_(ozaki1_of(plan).numerics),
        form_(device_sliced_form(plan)),
        problem_(problem),
        queue_(queue),
        num_sms_(plan.schedule.facts.num_sms) {
    base::Carver carver(workspace);
    buffers_ = carve_device_slices(carver, plan);
    buffers_.state = state;
    a_ = {problem::lines_of(Side::kA, problem.a), buffers_.a, buffers_.a_slices, &state->nonfinite_rows,
          &state->slices.exponents[0]};
    b_ = {problem::lines_of(Side::kB, problem.b), buffers_.b, buffers_.b_slices, &state->nonfinite_cols,
          &state->slices.exponents[1]};
    b_.is_reversed = true;
    set_strides();
  }

  /// @param told what the state tells as the rung
  Status run(int told) {
    const std::int64_t num_pairs = plan_.shape.m * plan_.shape.n;
    KIZAMI_RETURN_IF_ERROR(certify::begin_state(buffers_.state, problem_.alpha, 0, num_pairs, told, queue_, true));
    KIZAMI_RETURN_IF_ERROR(split());
    if (slices_.until_zero || (plan_.policy.may_sync && plan_.policy.reject_nonfinite))
      KIZAMI_RETURN_IF_ERROR(wait_for_lines());
    if (fp64::is_known_nonfinite(problem_.alpha))
      return device::writes_c(fp64::answer_signs(exceptions(), num_sms_, queue_));
    KIZAMI_RETURN_IF_ERROR(multiply());
    const base::PhaseRange phase(base::Phase::kFp64);
    return fp64::answer_left(exceptions(), num_sms_, queue_);
  }

 private:
  /// The plan with the slices that this call makes.
  [[nodiscard]] const plan::Plan& sliced() const { return until_zero_ ? *until_zero_ : plan_; }
  [[nodiscard]] const SliceRung& rung() const { return ozaki1_of(sliced()).numerics.last(); }
  [[nodiscard]] SliceDigits digits() const { return {slices_.rule, rung().num_slices}; }

  void set_strides() {
    const product::ProductDesc desc = device_slice_product(sliced(), {}, 0, 0);
    a_.row_stride = desc.a_row_stride;
    a_.part_stride = desc.a_plane_stride;
    b_.row_stride = desc.b_row_stride;
    b_.part_stride = desc.b_plane_stride;
  }

  /// Lines [first, first + count) of an operand over a block of `length` elements of k.
  [[nodiscard]] DeviceSliceOperand<T> operand(const SlicedOperand<T>& side, std::int64_t first, std::int64_t count,
                                              std::int64_t length) const {
    DeviceSliceOperand<T> out{side.lines.subset(first, count),
                              side.buffers.stats + first,
                              side.buffers.exponents + first,
                              {},
                              side.nonfinite,
                              slices_.one_scale ? side.largest_exponent : nullptr};
    DeviceSlicePlanes& planes = out.planes;
    planes.data = side.slices;
    planes.format = slices_.format;
    planes.row_stride = side.row_stride;
    planes.slice_stride = device_slice_stride(plan_, length);
    planes.part_stride = side.part_stride;
    planes.num_parts = side.is_reversed ? form_.b_parts() : form_.num_parts;
    std::copy_n(side.is_reversed ? form_.b_terms : form_.a_terms, planes.num_parts, planes.parts);
    planes.is_reversed = side.is_reversed;
    return out;
  }

  /// Slices of both operands in one pass; or statistics, and slices later, block by block.
  Status split() {
    const base::PhaseRange phase(base::Phase::kStatistics);
    if (slices_in_one_pass(plan_)) {
      for (SlicedOperand<T>* side : {&a_, &b_}) side->loaded[0] = side->loaded[1] = 0;
      return device_slices_in_one_pass<T>(operand(a_, 0, plan_.shape.m, plan_.shape.k),
                                          operand(b_, 0, plan_.shape.n, plan_.shape.k), digits(), buffers_.state,
                                          queue_);
    }
    for (SlicedOperand<T>* side : {&a_, &b_}) {
      KIZAMI_RETURN_IF_ERROR(certify::device_statistics(side->lines, side->buffers.stats, {}, side->nonfinite,
                                                        buffers_.state, num_sms_, queue_));
    }
    if (!has_slice_survey(plan_)) return {};
    return device_slice_survey(buffers_.a.stats, plan_.shape.m, buffers_.b.stats, plan_.shape.n, slices_.rule,
                               slices_.complex_form == ComplexForm::kKaratsuba, slices_.one_scale, buffers_.state,
                               queue_);
  }

  /// What only the elements tell: a refusal, and how many slices leave nothing.
  Status wait_for_lines() {
    device::DeviceState seen;
    KIZAMI_RETURN_IF_ERROR(device::wait_for_state(buffers_.state, queue_, seen));
    if (slices_.until_zero) {
      until_zero_ = plan_;
      plan::edit_stage<Ozaki1Stage>(*until_zero_).numerics.rungs[0] = rung_until_zero(slices_, seen.slices.num_digits);
      set_strides();
    }
    return plan_.policy.reject_nonfinite ? device::reject_nonfinite(seen) : Status{};
  }

  /// Slices of a block, unless they are there.
  Status load(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j, std::int64_t h,
              std::int64_t length) {
    const base::PhaseRange phase(base::Phase::kSplit);
    std::array<DeviceSliceOperand<T>, 2> wanted;
    std::size_t count = 0;
    const auto want = [&](SlicedOperand<T>& side, std::int64_t first, std::int64_t lines) {
      if (side.loaded[0] == first && side.loaded[1] == h) return;
      side.loaded[0] = first;
      side.loaded[1] = h;
      wanted[count++] = operand(side, first, lines, length);
    };
    want(a_, i, num_i);
    want(b_, j, num_j);
    return device_slices<T>(std::span<const DeviceSliceOperand<T>>(wanted).first(count), h, length, digits(),
                            buffers_.state, num_sms_, queue_);
  }

  Status multiply() {
    const plan::Chunk& chunk = ozaki1_of(plan_).chunk;
    for (std::int64_t j = 0; j < plan_.shape.n; j += chunk.nc) {
      for (std::int64_t i = 0; i < plan_.shape.m; i += chunk.mc) {
        KIZAMI_RETURN_IF_ERROR(
            multiply_chunk({i, std::min(chunk.mc, plan_.shape.m - i), j, std::min(chunk.nc, plan_.shape.n - j)}));
      }
    }
    return {};
  }

  /// Rows [i, i + num_i) and columns [j, j + num_j) of C.
  struct Part {
    std::int64_t i, num_i, j, num_j;
  };
  /// Where a block is made.
  struct Lane {
    product::Queue queue;
    const DeviceSliceBlockBuffers& buffers;
  };

  /// One chunk of C: as one block, or as blocks that streams take in turn.
  Status multiply_chunk(const Part& chunk) {
    if (ozaki1_of(plan_).sums == SliceSums::kFused) return fuse_block(chunk.i, chunk.num_i, chunk.j, chunk.num_j);
    const BlockExtents block = slice_block(plan_);
    if (block.m >= chunk.num_i && block.n >= chunk.num_j)
      return multiply_block(chunk, chunk, {queue_, buffers_.blocks[0]});
    KIZAMI_RETURN_IF_ERROR(load(chunk.i, chunk.num_i, chunk.j, chunk.num_j, 0, plan_.shape.k));
    const int num_streams = ozaki1_of(plan_).blocks.num_streams;
    device::SideStreams streams;
    KIZAMI_RETURN_IF_ERROR(streams.fork(queue_, num_streams));
    int s = 0;
    for (std::int64_t j = 0; j < chunk.num_j; j += block.n) {
      for (std::int64_t i = 0; i < chunk.num_i; i += block.m) {
        const Part part{chunk.i + i, std::min(block.m, chunk.num_i - i), chunk.j + j,
                        std::min(block.n, chunk.num_j - j)};
        KIZAMI_RETURN_IF_ERROR(multiply_block(chunk, part, {streams.at(s), buffers_.blocks[s]}));
        s = (s + 1) % num_streams;
      }
    }
    return streams.join();
  }

  /// The exponent of a product of slices of the last anti-diagonal, beside those of its lines.
  [[nodiscard]] int unit() const {
    return 2 * num::digit_unit(slices_.rule, 0) - slices_.rule.step * (rung().num_diagonals - 1);
  }

  /// One block of C, in one launch.
  Status fuse_block(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j) {
    if constexpr (kIsComplex<T>) {
      return {StatusCode::kInternal, "sums = fused of a complex type"};
    } else {
      KIZAMI_RETURN_IF_ERROR(load(i, num_i, j, num_j, 0, plan_.shape.k));
      product::FusedSlicePointers<T> pointers;
      pointers.a = a_.slices;
      pointers.b = b_.slices;
      pointers.unit = unit();
      pointers.row_exponents = buffers_.a.exponents + i;
      pointers.col_exponents = buffers_.b.exponents + j;
      pointers.alpha = problem_.alpha;
      pointers.beta = problem_.beta;
      pointers.c = problem_.c.block(i, j, num_i, num_j);
      pointers.is_scaling_only = &buffers_.state->is_scaling_only;
      pointers.takes_signs = &buffers_.state->takes_signs;
      const base::PhaseRange phase(base::Phase::kProduct);
      return device::writes_c(product::fused_slices_of(ozaki1_of(plan_).engine)
                                  ->run(fused_slice_product(plan_, num_i, num_j), pointers, queue_));
    }
  }

  /// One block of C, over all of k. Slices are those of the chunk.
  Status multiply_block(const Part& chunk, const Part& block, const Lane& lane) {
    const std::int64_t kc = ozaki1_of(plan_).chunk.kc;
    const std::int64_t digit = product::element_bytes(slices_.format);
    DeviceSliceTask<T> task;
    task.acc = lane.buffers.acc;
    task.num_words = device_sum_words(sliced());
    task.unit = unit();
    task.row_exponents = buffers_.a.exponents + block.i;
    task.col_exponents = buffers_.b.exponents + block.j;
    task.alpha = problem_.alpha;
    task.beta = problem_.beta;
    task.c = problem_.c.block(block.i, block.j, block.num_i, block.num_j);
    task.state = buffers_.state;
    for (std::int64_t h = 0; h < plan_.shape.k; h += kc) {
      const std::int64_t length = std::min(kc, plan_.shape.k - h);
      KIZAMI_RETURN_IF_ERROR(load(chunk.i, chunk.num_i, chunk.j, chunk.num_j, h, length));
      SliceWalk walk(sliced(), length);
      SliceBatch batch;
      SliceBatch ahead;
      for (bool is_there = walk.next(batch); is_there; batch = ahead) {
        is_there = walk.next(ahead);
        const product::ProductDesc desc = device_slice_product(sliced(), batch, block.num_i, block.num_j);
        const product::Pointers pointers{a_.slices + (block.i - chunk.i) * a_.row_stride * digit,
                                         b_.slices + (block.j - chunk.j) * b_.row_stride * digit, lane.buffers.acc};
        const std::span<std::byte> scratch{lane.buffers.engine, lane.buffers.engine_bytes};
        KIZAMI_RETURN_IF_ERROR(
            product::launch(*ozaki1_of(plan_).engine, plan_.schedule.facts, desc, pointers, scratch, lane.queue));
        const bool is_last = !is_there && h + length == plan_.shape.k;
        task.col_stride = desc.c_col_stride;
        task.plane_stride = desc.c_plane_stride;
        task.list = batch.sums;
        task.stored = is_last ? nullptr : lane.buffers.sums;
        const base::PhaseRange phase(base::Phase::kReconstruction);
        const Status status = sum_slices_device(task, num_sms_, lane.queue);
        KIZAMI_RETURN_IF_ERROR(is_last ? device::writes_c(status) : status);
        task.loaded = lane.buffers.sums;
      }
    }
    return {};
  }

  [[nodiscard]] fp64::DeviceCall<T> exceptions() const {
    fp64::DeviceCall<T> call;
    call.a = a_.lines;
    call.b = b_.lines;
    call.a_stats = a_.buffers.stats;
    call.b_stats = b_.buffers.stats;
    call.alpha = problem_.alpha;
    call.beta = problem_.beta;
    call.c = problem_.c;
    call.state = buffers_.state;
    return call;
  }

  const plan::Plan& plan_;
  const SliceNumerics& slices_;
  SlicedForm form_;
  const device::DeviceProblem<T>& problem_;
  product::Queue queue_;
  int num_sms_;
  std::optional<plan::Plan> until_zero_;  ///< the plan with as many slices as are needed
  DeviceSliceBuffers buffers_;            ///< of the planned slices
  SlicedOperand<T> a_;
  SlicedOperand<T> b_;
};

}  // namespace

template <class T>
Status run_device_ozaki1(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                         device::DeviceState* state, product::Queue queue, int rung) {
  return Ozaki1Call<T>(plan, problem, workspace, state, queue).run(rung);
}

Outcome device_ozaki1_outcome(const plan::Plan& plan, const device::DeviceState& state) {
  Outcome outcome;
  outcome.scheme = Scheme::kOzaki1;
  outcome.engine = ozaki1_of(plan).engine->name();
  const SliceNumerics& slices = ozaki1_of(plan).numerics;
  // One scale for lines of different size: what is left of each element is that much larger beside its line, of A and
  // of B.
  outcome.bound = std::ldexp(plan.first().bound, std::min(2 * state.slices.spread, 900));
  outcome.gauge = plan.first().gauge;
  outcome.slices = (slices.until_zero ? rung_until_zero(slices, state.slices.num_digits) : slices.last()).num_slices;
  outcome.rung = 0;
  outcome.nonfinite_rows = static_cast<std::int64_t>(state.nonfinite_rows);
  outcome.nonfinite_cols = static_cast<std::int64_t>(state.nonfinite_cols);
  return outcome;
}

#define KIZAMI_INSTANTIATE(T)                                                                          \
  template Status run_device_ozaki1<T>(const plan::Plan&, const device::DeviceProblem<T>&, std::byte*, \
                                       device::DeviceState*, product::Queue, int)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki1
