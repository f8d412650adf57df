// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_operands.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/carver.hpp"
#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/phase_range.hpp"
#include "certify/device_begin.hpp"
#include "problem/problem.hpp"
#include "schemes/ozaki2/device_prepare.hpp"

namespace kizami::ozaki2 {

using base::round_up;
using device::kReadRows;

template <class T>
DeviceOperands<T>::DeviceOperands(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                                  device::DeviceState* state, product::Queue queue)
    : plan_(plan),
      stage_(ozaki2_of(plan)),
      problem_(problem),
      queue_(queue),
      num_sms_(plan.schedule.facts.num_sms),
      repair_capacity_((plan.shape.m * plan.shape.n) >> num::kMostRepairShift) {
  base::Carver carver(workspace);
  buffers_ = carve_device(carver, plan);
  if (state != nullptr) buffers_.state = state;
  is_split_once_ = !problem.part.is_all() && splits_in_one_pass(plan) && has_same_lines(problem);
  is_conjugate_ = is_split_once_ && !shares_lines(problem);
  if (is_split_once_) {
    if (!is_conjugate_) buffers_.main.b_planes = buffers_.main.a_planes;
    buffers_.sampled.b_digits = buffers_.sampled.a_digits;
    buffers_.b.stats = buffers_.a.stats;
    buffers_.b.scales = buffers_.a.scales;
    buffers_.b.weights = buffers_.a.weights;
  }
  a_ = {problem::lines_of(Side::kA, problem.a), buffers_.a};
  b_ = {problem::lines_of(Side::kB, problem.b), buffers_.b};
  take(Side::kA, a_);
  take(Side::kB, b_);
}

/// What is kept of a prepared operand stands in for what the call would make of it, as far as nothing is written there.
template <class T>
void DeviceOperands<T>::take(Side side, CallOperand<T>& operand) {
  const device::Prepared* const prepared = problem_.prepared(side);
  if (prepared == nullptr) return;
  base::Carver carver(const_cast<std::byte*>(prepared->memory));  // only read
  const DevicePreparedBuffers& kept =
      operand.kept.emplace(carve_device_prepared(carver, plan_, side, operand.lines.num_lines));
  operand.buffers.stats = kept.lines.stats;
  if (operand.buffers.weights != nullptr) operand.buffers.weights = kept.lines.weights;
  if (!stage_.has_certificate || !certifier().has_one_digit_chunk()) return;
  (side == Side::kA ? buffers_.sampled.a_digits : buffers_.sampled.b_digits) = kept.digits.digits;
  if (side == Side::kB) buffers_.sampled.b_swapped = kept.digits.swapped;
}

template <class T>
void DeviceOperands<T>::take_repairs(device::Pair* repairs, std::int64_t capacity) {
  buffers_.repairs = repairs;
  repair_capacity_ = capacity;
}

// ---- before the rung is known ---------------------------------------------------------------------------------------

template <class T>
void DeviceOperands<T>::expect(const NextLook& next) {
  may_block_ = next.look ? !may_sample(next) : has_scout(plan_);
  takes_strassen_ = may_take_strassen(next);
}

template <class T>
bool DeviceOperands<T>::may_take_strassen(const NextLook& next) const {
  return stage_.takes_strassen && may_sample(next) && next.first_rung == 0 && problem_.part.is_all() && !has_kept();
}

template <class T>
Status DeviceOperands<T>::wait_for(CUevent_st* event) const {
  return base::cuda_status(cudaStreamWaitEvent(queue_, event, 0), "cudaStreamWaitEvent");
}

template <class T>
Status DeviceOperands<T>::begin(const NextLook& next) {
  first_rung_ = next.first_rung;
  has_digits_ = next.look && *next.look != device::Look::kSample;
  may_want_gain_ = next.look == device::Look::kBlocksFirst || first_rung_ > num::kEquilibrationCost;
  look_report_ = next.report;
  has_samples_ = next.has_samples;
  expects_lowest_rung_ = next.is_lowest;
  if (has_scout(plan_) && !next.look && !has_kept()) {
    KIZAMI_RETURN_IF_ERROR(certify::begin_state_and_scout(state(), problem_.alpha, num_planes(0),
                                                          plan_.shape.m * plan_.shape.n, a_.lines, b_.lines,
                                                          ladder().rungs[0].allowance, queue_));
  } else {
    KIZAMI_RETURN_IF_ERROR(certify::begin_state(state(), problem_.alpha, num_planes(0), plan_.shape.m * plan_.shape.n,
                                                ladder().num_rungs == 0 ? -1 : 0, queue_, /*is_sliced=*/false,
                                                next.look.value_or(device::Look::kSample), first_rung_));
  }
  if (has_kept()) {
    if (!stage_.has_certificate) stays_lowest_ = true;
    const auto adoption = [](const CallOperand<T>& x, std::int32_t* scales, std::uint64_t* nonfinite) {
      return x.kept ? Adoption{&*x.kept, x.lines.num_lines, scales, nonfinite} : Adoption{};
    };
    KIZAMI_RETURN_IF_ERROR(adopt_prepared(adoption(a_, buffers_.a.scales, &state()->nonfinite_rows),
                                          adoption(b_, buffers_.b.scales, &state()->nonfinite_cols), state(), queue_));
  }
  return gather();
}

template <class T>
bool DeviceOperands<T>::begins_by_sides(const NextLook& next, const BlockEvents& events) const {
  if (events.a_ready.empty() && events.b_ready.empty()) return false;
  if (takes_strassen_) return is_one_strassen_chunk(plan_);
  return splits_in_one_pass(plan_) && may_sample(next) && problem_.part.is_all() && !has_kept();
}

template <class T>
Status DeviceOperands<T>::begin_first_side(const BlockEvents& events) {
  KIZAMI_RETURN_IF_ERROR(
      certify::begin_state(state(), problem_.alpha, num_planes(0), plan_.shape.m * plan_.shape.n, 0, queue_));
  if (!splits_in_one_pass(plan_)) KIZAMI_RETURN_IF_ERROR(choose_strassen(state(), queue_));
  return split_side(events.first, events, /*is_scouted=*/false);
}

template <class T>
Status DeviceOperands<T>::begin_second_side(const NextLook& next, const BlockEvents& events) {
  first_rung_ = 0;
  has_digits_ = false;
  may_want_gain_ = false;
  const bool is_pass = splits_in_one_pass(plan_);
  if (!is_pass) operand(events.first).summed_line = 0;
  KIZAMI_RETURN_IF_ERROR(split_side(events.first == Side::kA ? Side::kB : Side::kA, events,
                                    /*is_scouted=*/is_pass && has_scout(plan_) && !next.look));
  if (!is_pass || !may_block_) return {};
  // The scout wants no samples: what was split for them is split again.
  return takes_strassen_ ? pass_into_planes({Side::kA, Side::kB}, /*leaves_samples=*/true)
                         : pass_into_planes({events.first}, /*leaves_samples=*/true);
}

template <class T>
Status DeviceOperands<T>::wait_for_all(const BlockEvents& events) const {
  for (const std::span<CUevent_st* const> ready : {events.a_ready, events.b_ready}) {
    for (CUevent_st* const part : ready) KIZAMI_RETURN_IF_ERROR(wait_for(part));
  }
  return {};
}

/// Splits the parts of an operand as they come.
/// @param is_scouted  both operands are, as soon as something of this one is there; the other one is
template <class T>
Status DeviceOperands<T>::split_side(Side side, const BlockEvents& events, bool is_scouted) {
  const std::span<CUevent_st* const> ready = side == Side::kA ? events.a_ready : events.b_ready;
  const std::int64_t num_lines = operand(side).lines.num_lines;
  if (!takes_strassen_) {
    for (CUevent_st* const part : ready) KIZAMI_RETURN_IF_ERROR(wait_for(part));
    if (is_scouted) KIZAMI_RETURN_IF_ERROR(scout_part(side, quadrant_lines(num_lines, 0, 1)));
    return pass_into_planes({side}, /*leaves_samples=*/false);
  }
  const int count = std::max(static_cast<int>(ready.size()), 1);
  for (int part = 0; part < count; ++part) {
    if (!ready.empty()) KIZAMI_RETURN_IF_ERROR(wait_for(ready[static_cast<std::size_t>(part)]));
    const QuadrantLines lines = quadrant_lines(num_lines, part, count);
    if (splits_in_one_pass(plan_)) {
      if (part == 0 && is_scouted) KIZAMI_RETURN_IF_ERROR(scout_part(side, lines));
      KIZAMI_RETURN_IF_ERROR(side == Side::kA ? pass_into_sums({lines.first, lines.count}, {})
                                              : pass_into_sums({}, {lines.first, lines.count}));
    } else {
      for (const int half : {0, 1})
        KIZAMI_RETURN_IF_ERROR(gather_statistics(side, lines.begin[half], lines.end[half] - lines.begin[half]));
      KIZAMI_RETURN_IF_ERROR(make_sums(side, {lines.first, lines.count}));
    }
  }
  return {};
}

/// Of all lines of the operand that is there, and of those of the other one that are.
template <class T>
Status DeviceOperands<T>::scout_part(Side side, const QuadrantLines& there) {
  const auto lines_of = [&](Side x) {
    const problem::Lines<T>& all = operand(x).lines;
    return x == side ? all.subset(there.begin[0], there.end[0] - there.begin[0]) : all;
  };
  return certify::begin_state_and_scout(state(), problem_.alpha, num_planes(0), plan_.shape.m * plan_.shape.n,
                                        lines_of(Side::kA), lines_of(Side::kB), ladder().rungs[0].allowance, queue_,
                                        /*has_begun=*/true);
}

template <class T>
std::int32_t DeviceOperands<T>::num_planes(int rung) const {
  if (rung >= ladder().num_rungs) return 0;
  return num::num_planes(plan::ring_of(plan_.shape.scalar), ladder().rungs[static_cast<std::size_t>(rung)].num_moduli);
}

template <class T>
certify::DeviceCertifier<T> DeviceOperands<T>::certifier() const {
  certify::DeviceCertifier<T> certifier{.plan = certificate_plan(plan_),
                                        .ladder = ladder(),
                                        .a = a_.lines,
                                        .b = b_.lines,
                                        .a_lines = a_.buffers,
                                        .b_lines = b_.buffers,
                                        .sampled = buffers_.sampled,
                                        .second_look = buffers_.second_look,
                                        .repairs = buffers_.repairs,
                                        .repair_capacity = repair_capacity_,
                                        .repair_bits = buffers_.repair_bits,
                                        .has_digits = has_digits_,
                                        .has_a_samples = a_.kept.has_value(),
                                        .has_b_samples = b_.kept.has_value(),
                                        .may_want_gain = may_want_gain_,
                                        .has_samples = has_samples_,
                                        .has_clipped_sums = has_clipped_sums(),
                                        .is_symmetric = !problem_.part.is_all() && has_same_lines(problem_),
                                        .state = state(),
                                        .queue = queue_};
  for (int r = 0; r < ladder().num_rungs; ++r) certifier.planes_of_rung[r] = num_planes(r);
  return certifier;
}

template <class T>
bool DeviceOperands<T>::has_clipped_sums() const {
  return stage_.has_certificate && splits_in_one_pass(plan_) && buffers_.sampled.is_compared;
}

template <class T>
bool DeviceOperands<T>::has_unsigned_planes() const {
  return stage_.engine->prefers_unsigned_bytes() && plan_.shape.k <= product::kBlockMaxU8 &&
         stage_.chunk.kc >= plan_.shape.k && !has_kept();
}

template <class T>
product::ProductDesc DeviceOperands<T>::product_of(const plan::Chunk& chunk, int num_moduli) const {
  product::ProductDesc desc = device_main_product(plan_, chunk, num_moduli);
  desc.has_unsigned_bytes = has_unsigned_planes();
  return desc;
}

template <class T>
product::ProductDesc DeviceOperands<T>::product_of_sums() const {
  product::ProductDesc desc = strassen_product(plan_, ladder().rungs[0].num_moduli);
  desc.has_unsigned_bytes = has_unsigned_planes();
  return desc;
}

template <class T>
DeviceOperand<T> DeviceOperands<T>::whole_operand(const CallOperand<T>& operand, Side side) const {
  const product::ProductDesc desc = product_of(stage_.chunk, 0);
  const DeviceMainBuffers& main = buffers_.main;
  if (side == Side::kA) return {operand.lines, operand.buffers, planes_of_a(main, desc)};
  return {operand.lines, operand.buffers, planes_of_b(main, desc)};
}

template <class T>
DevicePlanes DeviceOperands<T>::planes_of_sums(Side side) const {
  const product::ProductDesc desc = product_of_sums();
  const DeviceMainBuffers& main = buffers_.main;
  return side == Side::kA ? planes_of_a(main, desc) : planes_of_b(main, desc);
}

/// Statistics of both operands, with the sampled digits if they all fit, and with the planes of the lowest rung if the
/// plan says so. Of a prepared one all that is there.
template <class T>
Status DeviceOperands<T>::gather() {
  if (a_.kept && b_.kept) return {};
  if (splits_in_one_pass(plan_)) {
    if (takes_strassen_) {
      const StrassenHalves halves = strassen_halves(plan_.shape);
      KIZAMI_RETURN_IF_ERROR(pass_into_sums({0, halves.m}, {0, halves.n}));
      if (!may_block_) return {};
    }
    return pass_into_planes({Side::kA, Side::kB}, /*leaves_samples=*/takes_strassen_);
  }
  KIZAMI_RETURN_IF_ERROR(gather_statistics(Side::kA, 0, plan_.shape.m));
  return gather_statistics(Side::kB, 0, plan_.shape.n);
}

template <class T>
certify::DeviceDigits DeviceOperands<T>::early_digits(Side side) const {
  return stage_.has_certificate && has_samples_ ? certifier().early_digits(side) : certify::DeviceDigits{};
}

/// Of lines [first, first + count).
template <class T>
Status DeviceOperands<T>::gather_statistics(Side side, std::int64_t first, std::int64_t count) {
  const base::PhaseRange phase(base::Phase::kStatistics);
  const CallOperand<T>& x = operand(side);
  if (x.kept || count == 0) return {};
  certify::DeviceDigits digits = early_digits(side);
  for (std::int8_t** const rows : {&digits.digits, &digits.swapped}) {
    if (*rows != nullptr) *rows += first * digits.row_stride;
  }
  return certify::device_statistics(x.lines.subset(first, count), x.buffers.stats + first, digits,
                                    nonfinite_lines(side), state(), num_sms_, queue_);
}

/// Of some lines of both operands.
template <class T>
Status DeviceOperands<T>::pass_into_sums(const LinePairs& a_pairs, const LinePairs& b_pairs) {
  if constexpr (kMayTakeStrassen) {
    const base::PhaseRange phase(base::Phase::kStatistics);
    const auto of = [&](const CallOperand<T>& x, Side side) {
      return SinglePassOperand<T>{
          {x.lines, x.buffers, planes_of_sums(side)}, early_digits(side), nonfinite_lines(side)};
    };
    return device_strassen_pass<T>(of(a_, Side::kA), a_pairs, of(b_, Side::kB), b_pairs, strassen_halves(plan_.shape),
                                   ladder(), state(), queue_, clipped_check());
  }
  return {};
}

/// Of these operands. @param leaves_samples  nothing happens where state->look is kSample
template <class T>
Status DeviceOperands<T>::pass_into_planes(std::initializer_list<Side> sides, bool leaves_samples) {
  const base::PhaseRange phase(base::Phase::kStatistics);
  const auto of = [&](const CallOperand<T>& x, Side side) {
    SinglePassOperand<T> operand{whole_operand(x, side), early_digits(side), nonfinite_lines(side)};
    if (x.kept || std::find(sides.begin(), sides.end(), side) == sides.end()) operand.operand.lines.num_lines = 0;
    return operand;
  };
  return device_single_pass<T>(of(a_, Side::kA), of(b_, Side::kB), ladder(), first_rung_, buffers_.second_look,
                               leaves_samples, state(), queue_, is_split_once_, clipped_check());
}

// ---- planes to multiply ---------------------------------------------------------------------------------------------

template <class T>
typename DeviceOperands<T>::Source DeviceOperands<T>::source() const {
  if (!has_kept()) return Source::kMade;
  if (stays_lowest_) return *stays_lowest_ ? Source::kKept : Source::kMade;
  return stage_.engine->reads_num_products() ? Source::kEither : Source::kMade;
}

template <class T>
Status DeviceOperands<T>::load_planes(const OperandBlock& block, const DevicePlanes& a_planes,
                                      const DevicePlanes& b_planes) {
  const base::PhaseRange phase(base::Phase::kSplit);
  std::array<DeviceOperand<T>, 2> wanted;
  KeptPlanes kept;
  std::size_t count = 0;
  const auto want = [&](CallOperand<T>& operand, std::int64_t first, std::int64_t lines, const DevicePlanes& planes) {
    if (operand.loaded_line == first && operand.loaded_inner == block.h) return;
    operand.loaded_line = first;
    operand.loaded_inner = block.h;
    if (operand.kept && source() == Source::kKept) return;
    kept.are_kept[count] = operand.kept.has_value();
    wanted[count++] = {operand.lines.subset(first, lines), operand.buffers.from(first), planes, by_sums_};
  };
  want(a_, block.i, block.num_i, a_planes);
  if (!is_split_once_ || is_conjugate_) want(b_, block.j, block.num_j, b_planes);
  if constexpr (std::is_same_v<T, double>) {
    if (has_device_phases(plan_)) {
      for (std::size_t x = 0; x < count; ++x) {
        if (kept.are_kept[x]) continue;
        const Side side = wanted[x].planes.data == a_planes.data ? Side::kA : Side::kB;
        KIZAMI_RETURN_IF_ERROR(own_phases().split(side, block.h, block.length, wanted[x]));
      }
    }
  }
  if (source() == Source::kEither) kept.counts = buffers_.counts;
  const auto make = [&](std::span<const DeviceOperand<T>> operands, bool has_first_rung) {
    return device_residue_planes<T>(operands, block.h, block.length, ladder(), state(), has_first_rung, num_sms_,
                                    queue_, kept);
  };
  if (is_conjugate_ && count == 2 && num_planes(first_rung_) > kSwappedPlanes) {  // the one pass has made none of B
    KIZAMI_RETURN_IF_ERROR(make({&wanted[1], 1}, false));
    count = 1;
  }
  KIZAMI_RETURN_IF_ERROR(make(std::span(wanted).first(count), splits_in_one_pass(plan_) && !has_sums_));
  if (kept.counts != nullptr || stays_lowest_) return {};
  for (std::size_t x = 0; x < count; ++x) {  // the host does not know which they are
    if (!kept.are_kept[x]) continue;
    const bool is_a = wanted[x].planes.data == a_planes.data;
    const DevicePlanes& to = wanted[x].planes;
    KIZAMI_RETURN_IF_ERROR(copy_kept_planes((is_a ? a_ : b_).kept->planes, is_a ? block.i : block.j,
                                            round_up(wanted[x].lines.num_lines, kReadRows), block.h,
                                            std::min(to.row_stride, round_up(block.length, product::kPadBytes)),
                                            num_planes(0), to, state(), num_sms_, queue_));
  }
  return {};
}

/// Planes of the sums of quadrants of some lines of an operand whose statistics are there.
template <class T>
Status DeviceOperands<T>::make_sums(Side side, const LinePairs& pairs) {
  if constexpr (kMayTakeStrassen) {
    const base::PhaseRange phase(base::Phase::kSplit);
    CallOperand<T>& x = operand(side);
    x.summed_line = 0;
    const StrassenHalves halves = strassen_halves(plan_.shape);
    const StrassenOperand<T> task{
        {x.lines, x.buffers, planes_of_sums(side)}, side, side == Side::kA ? halves.m : halves.n, pairs};
    return device_strassen_residues<T>({&task, 1}, halves.k, ladder(), state(), queue_);
  }
  return {};
}

template <class T>
Status DeviceOperands<T>::load_sums(const OperandBlock& block, const StrassenHalves& halves) {
  if constexpr (kMayTakeStrassen) {
    const base::PhaseRange phase(base::Phase::kSplit);
    std::array<StrassenOperand<T>, 2> wanted;
    std::size_t count = 0;
    const auto want = [&](CallOperand<T>& operand, Side side, std::int64_t first, std::int64_t lines,
                          std::int64_t half_lines) {
      if (operand.summed_line == first) return;
      operand.summed_line = first;
      const DevicePlanes planes = planes_of_sums(side);
      wanted[count++] = {
          {operand.lines.subset(first, lines), operand.buffers.from(first), planes}, side, half_lines, {0, half_lines}};
    };
    want(a_, Side::kA, block.i, block.num_i, halves.m);
    want(b_, Side::kB, block.j, block.num_j, halves.n);
    return device_strassen_residues<T>(std::span(wanted).first(count), halves.k, ladder(), state(), queue_);
  }
  return {};
}

#define KIZAMI_INSTANTIATE(T) template class DeviceOperands<T>

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
