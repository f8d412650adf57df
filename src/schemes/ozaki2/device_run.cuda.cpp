// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_run.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/phase_range.hpp"
#include "certify/device_begin.hpp"
#include "certify/device_certifier.hpp"
#include "device/wait.hpp"
#include "device/writes_c.hpp"
#include "fp64/device.hpp"
#include "fp64/device_left.hpp"
#include "fp64/nonfinite_alpha.hpp"
#include "problem/problem.hpp"
#include "product/launch.hpp"
#include "product/triangle.hpp"
#include "schemes/ozaki2/device_block.hpp"
#include "schemes/ozaki2/device_buffers.hpp"
#include "schemes/ozaki2/device_crt.hpp"
#include "schemes/ozaki2/device_crt_memory.hpp"
#include "schemes/ozaki2/device_looks.hpp"
#include "schemes/ozaki2/device_own_phases.hpp"
#include "schemes/ozaki2/device_part.hpp"
#include "schemes/ozaki2/device_prepare.hpp"
#include "schemes/ozaki2/device_seconds.hpp"
#include "schemes/ozaki2/device_split.hpp"
#include "schemes/ozaki2/device_strassen.hpp"

namespace kizami::ozaki2 {
namespace {

using base::ceil_div;
using base::round_up;
using device::kReadRows;

/// One operand during a call.
template <class T>
struct Operand {
  problem::Lines<T> lines;
  device::DeviceLineBuffers buffers;
  std::int64_t loaded_line = -1;  ///< of the residue planes that are there
  std::int64_t loaded_inner = -1;
  std::int64_t summed_line = -1;                             ///< of the planes of sums of quadrants
  std::optional<DevicePreparedBuffers> kept = std::nullopt;  ///< of a prepared one
};

/// One call: the phases in order, each a member that enqueues what it does.
template <class T>
class Ozaki2Call {
 public:
  Ozaki2Call(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
             device::DeviceState* state, product::Queue queue, const device::EffortReport& effort)
      : plan_(plan),
        stage_(ozaki2_of(plan)),
        problem_(problem),
        queue_(queue),
        num_sms_(plan.schedule.facts.num_sms),
        repair_capacity_((plan.shape.m * plan.shape.n) >> num::kMostRepairShift),
        effort_(effort) {
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

  Status run() {
    // Samples are kept of prepared operands, no blocks.
    const NextLook next = has_kept() ? NextLook{} : problem_.look ? NextLook{problem_.look, 0, {}} : next_look(plan_);
    may_block_ = may_block(next);
    takes_strassen_ = may_take_strassen(next);
    KIZAMI_RETURN_IF_ERROR(begin(next));
    if (stage_.has_certificate) {
      const base::PhaseRange phase(base::Phase::kCertificate);
      KIZAMI_RETURN_IF_ERROR(certifier().run(splits_in_one_pass(plan_)));
    }
    int rung = stage_.ladder.num_rungs == 0 ? -1 : 0;
    if (plan_.policy.may_sync) KIZAMI_RETURN_IF_ERROR(wait_for_rung(rung));
    return answer(rung, /*knows_rung=*/plan_.policy.may_sync);
  }

  // The same in parts, of a block of a larger product: device_block.hpp.

  Status begin_block() {
    KIZAMI_RETURN_IF_ERROR(begin(NextLook{problem_.look, 0, {}}));
    if (!stage_.has_certificate) return {};
    const base::PhaseRange phase(base::Phase::kCertificate);
    return certifier().run(splits_in_one_pass(plan_), certify::LookTask::kCount);
  }
  Status speculate(const BlockEvents& events) {
    const NextLook next{problem_.look, 0, {}};
    may_block_ = may_block(next);
    takes_strassen_ = may_take_strassen(next);
    events_ = events;
    if (may_begin_by_sides(next) && !(events.a_ready.empty() && events.b_ready.empty())) {
      KIZAMI_RETURN_IF_ERROR(begin_by_sides(next));
    } else {
      for (const std::span<CUevent_st* const> ready : {events.a_ready, events.b_ready}) {
        for (CUevent_st* const part : ready) KIZAMI_RETURN_IF_ERROR(wait_for(part));
      }
      KIZAMI_RETURN_IF_ERROR(begin(next));
    }
    if (stage_.has_certificate) {
      const base::PhaseRange phase(base::Phase::kCertificate);
      KIZAMI_RETURN_IF_ERROR(certifier().run(splits_in_one_pass(plan_), certify::LookTask::kCount));
      KIZAMI_RETURN_IF_ERROR(certify::cancel_unless_lowest(state(), plan_.shape.m * plan_.shape.n, queue_));
    }
    fp64::DeviceCall<T> left = exceptions();
    left.has_answered_repairs = true;  // there are none
    return multiply(0, /*knows_rung=*/true, left);
  }
  Status confirm() { return fp64::answer_left(exceptions(), num_sms_, queue_); }
  Status find_inner_exponents() { return certifier().look_again(certify::LookTask::kInnerExponents); }
  Status count_equilibrated() { return certifier().look_again(certify::LookTask::kCountEquilibrated); }
  Status finish_block(const num::Selection& selection, device::Pair* repairs, std::int64_t repair_capacity,
                      bool is_speculated) {
    has_sums_ = is_speculated && may_take_strassen({problem_.look, 0, {}});
    buffers_.repairs = repairs;
    repair_capacity_ = repair_capacity;
    const bool has_rung = selection.rung >= 0;
    KIZAMI_RETURN_IF_ERROR(
        certify::impose_selection(state(), selection, has_rung ? num_planes(selection.rung) : 0, queue_));
    if (has_rung && selection.num_repaired > 0)
      KIZAMI_RETURN_IF_ERROR(certifier().look_again(certify::LookTask::kList));
    return answer(selection.rung, /*knows_rung=*/true);
  }
  [[nodiscard]] BlockShifts shifts() const { return {a_.buffers.inner_shift, b_.buffers.inner_shift}; }

 private:
  /// What is kept of a prepared operand stands in for what the call would make of it, as far as nothing is written
  /// there.
  void take(Side side, Operand<T>& operand) {
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
  [[nodiscard]] bool has_kept() const { return a_.kept || b_.kept; }
  [[nodiscard]] static bool may_sample(const NextLook& next) {
    return next.look.value_or(device::Look::kSample) == device::Look::kSample;
  }
  [[nodiscard]] bool may_block(const NextLook& next) const { return next.look ? !may_sample(next) : has_scout(plan_); }
  [[nodiscard]] bool may_take_strassen(const NextLook& next) const {
    return stage_.takes_strassen && may_sample(next) && next.first_rung == 0 && problem_.part.is_all() && !has_kept();
  }

  /// State, statistics, and what the split makes before a rung is known.
  Status begin(const NextLook& next) {
    const num::Ladder& ladder = stage_.ladder;
    first_rung_ = next.first_rung;
    has_digits_ = next.look && *next.look != device::Look::kSample;
    may_want_gain_ = next.look == device::Look::kBlocksFirst || first_rung_ > num::kEquilibrationCost;
    if (next.note.word != nullptr) learned_ = {next.note, state(), 1};
    if (has_scout(plan_) && !next.look && !has_kept()) {
      KIZAMI_RETURN_IF_ERROR(certify::begin_state_and_scout(state(), problem_.alpha, num_planes(0),
                                                            plan_.shape.m * plan_.shape.n, a_.lines, b_.lines,
                                                            ladder.rungs[0].allowance, queue_));
    } else {
      KIZAMI_RETURN_IF_ERROR(certify::begin_state(state(), problem_.alpha, num_planes(0), plan_.shape.m * plan_.shape.n,
                                                  ladder.num_rungs == 0 ? -1 : 0, queue_, /*is_sliced=*/false,
                                                  next.look.value_or(device::Look::kSample), first_rung_));
    }
    if (has_kept()) {
      if (!stage_.has_certificate) stays_lowest_ = true;
      const auto adoption = [](const Operand<T>& x, std::int32_t* scales, std::uint64_t* nonfinite) {
        return x.kept ? Adoption{&*x.kept, x.lines.num_lines, scales, nonfinite} : Adoption{};
      };
      KIZAMI_RETURN_IF_ERROR(adopt_prepared(adoption(a_, buffers_.a.scales, &state()->nonfinite_rows),
                                            adoption(b_, buffers_.b.scales, &state()->nonfinite_cols), state(),
                                            queue_));
    }
    return gather();
  }

  Status wait_for(CUevent_st* event) const {
    return base::cuda_status(cudaStreamWaitEvent(queue_, event, 0), "cudaStreamWaitEvent");
  }

  [[nodiscard]] bool may_begin_by_sides(const NextLook& next) const {
    if (takes_strassen_) return is_one_strassen_chunk(plan_);
    return splits_in_one_pass(plan_) && may_sample(next) && problem_.part.is_all() && !has_kept();
  }
  /// begin() of a block whose operands come one after the other, and by Strassen's products in parts: what is there is
  /// split for a sample and a rung that nobody has agreed to yet.
  Status begin_by_sides(const NextLook& next) {
    first_rung_ = 0;
    has_digits_ = false;
    may_want_gain_ = false;
    KIZAMI_RETURN_IF_ERROR(
        certify::begin_state(state(), problem_.alpha, num_planes(0), plan_.shape.m * plan_.shape.n, 0, queue_));
    const bool is_pass = splits_in_one_pass(plan_);
    if (!is_pass) KIZAMI_RETURN_IF_ERROR(choose_strassen(state(), queue_));
    const auto is_scouted = [&](Side side) {
      return is_pass && side != events_.first && has_scout(plan_) && !next.look;
    };
    for (const Side side : {events_.first, events_.first == Side::kA ? Side::kB : Side::kA}) {
      const std::span<CUevent_st* const> ready = side == Side::kA ? events_.a_ready : events_.b_ready;
      if (!takes_strassen_) {
        for (CUevent_st* const part : ready) KIZAMI_RETURN_IF_ERROR(wait_for(part));
        if (is_scouted(side))
          KIZAMI_RETURN_IF_ERROR(scout_part(side, quadrant_lines(operand(side).lines.num_lines, 0, 1)));
        KIZAMI_RETURN_IF_ERROR(pass_into_planes({side}, /*leaves_samples=*/false));
        continue;
      }
      const int count = std::max(static_cast<int>(ready.size()), 1);
      for (int part = 0; part < count; ++part) {
        if (!ready.empty()) KIZAMI_RETURN_IF_ERROR(wait_for(ready[static_cast<std::size_t>(part)]));
        const QuadrantLines lines = quadrant_lines(operand(side).lines.num_lines, part, count);
        if (is_pass) {
          if (part == 0 && is_scouted(side)) KIZAMI_RETURN_IF_ERROR(scout_part(side, lines));
          KIZAMI_RETURN_IF_ERROR(side == Side::kA ? pass_into_sums({lines.first, lines.count}, {})
                                                  : pass_into_sums({}, {lines.first, lines.count}));
        } else {
          for (const int half : {0, 1})
            KIZAMI_RETURN_IF_ERROR(gather_statistics(side, lines.begin[half], lines.end[half] - lines.begin[half]));
          KIZAMI_RETURN_IF_ERROR(make_sums(side, {lines.first, lines.count}));
        }
      }
    }
    if (!is_pass || !may_block_) return {};
    // The scout wants no samples: what was split for them is split again.
    return takes_strassen_ ? pass_into_planes({Side::kA, Side::kB}, /*leaves_samples=*/true)
                           : pass_into_planes({events_.first}, /*leaves_samples=*/true);
  }
  /// Of all lines of the operand that is there, and of those of the other one that are.
  Status scout_part(Side side, const QuadrantLines& there) {
    const auto lines_of = [&](Side x) {
      const problem::Lines<T>& all = operand(x).lines;
      return x == side ? all.subset(there.begin[0], there.end[0] - there.begin[0]) : all;
    };
    return certify::begin_state_and_scout(state(), problem_.alpha, num_planes(0), plan_.shape.m * plan_.shape.n,
                                          lines_of(Side::kA), lines_of(Side::kB), ladder().rungs[0].allowance, queue_,
                                          /*has_begun=*/true);
  }
  [[nodiscard]] Operand<T>& operand(Side side) { return side == Side::kA ? a_ : b_; }

  /// Products and all else that writes C. @param rung of the state, if the host knows it; else the lowest
  Status answer(int rung, bool knows_rung) {
    if (fp64::is_known_nonfinite(problem_.alpha))
      return device::writes_c(fp64::answer_signs(exceptions(), num_sms_, queue_));
    fp64::DeviceCall<T> left = exceptions();
    if (rung >= 0) {
      KIZAMI_RETURN_IF_ERROR(multiply(rung, knows_rung, left));
      if (repairs_have_own_kernel(plan_)) KIZAMI_RETURN_IF_ERROR(answer_repairs(left));
    }
    const base::PhaseRange phase(base::Phase::kFp64);
    return fp64::answer_left(left, num_sms_, queue_);
  }

  [[nodiscard]] const num::Ladder& ladder() const { return stage_.ladder; }
  [[nodiscard]] device::DeviceState* state() const { return buffers_.state; }
  [[nodiscard]] std::int32_t num_planes(int rung) const {
    if (rung >= ladder().num_rungs) return 0;
    return num::num_planes(plan::ring_of(plan_.shape.scalar),
                           ladder().rungs[static_cast<std::size_t>(rung)].num_moduli);
  }
  [[nodiscard]] certify::DeviceCertifier<T> certifier() const {
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
                                          .is_symmetric = !problem_.part.is_all() && has_same_lines(problem_),
                                          .state = state(),
                                          .queue = queue_};
    for (int r = 0; r < ladder().num_rungs; ++r) certifier.planes_of_rung[r] = num_planes(r);
    return certifier;
  }

  [[nodiscard]] DeviceOperand<T> whole_operand(const Operand<T>& operand, Side side) const {
    const product::ProductDesc desc = device_main_product(plan_, stage_.chunk, 0);
    const DeviceMainBuffers& main = buffers_.main;
    if (side == Side::kA)
      return {operand.lines, operand.buffers, {main.a_planes, desc.a_row_stride, desc.a_plane_stride}};
    return {operand.lines, operand.buffers, {main.b_planes, desc.b_row_stride, desc.b_plane_stride}};
  }

  [[nodiscard]] DevicePlanes planes_of_sums(Side side) const {
    const product::ProductDesc desc = strassen_product(plan_, ladder().rungs[0].num_moduli);
    const DeviceMainBuffers& main = buffers_.main;
    if (side == Side::kA) return {main.a_planes, desc.a_row_stride, desc.a_plane_stride};
    return {main.b_planes, desc.b_row_stride, desc.b_plane_stride};
  }

  /// Statistics of both operands, with the sampled digits if they all fit, and with the planes of the lowest rung if
  /// the plan says so. Of a prepared one all that is there.
  Status gather() {
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
  [[nodiscard]] certify::DeviceDigits early_digits(Side side) const {
    return stage_.has_certificate ? certifier().early_digits(side) : certify::DeviceDigits{};
  }
  [[nodiscard]] std::uint64_t* nonfinite_lines(Side side) const {
    return side == Side::kA ? &state()->nonfinite_rows : &state()->nonfinite_cols;
  }
  /// Of lines [first, first + count).
  Status gather_statistics(Side side, std::int64_t first, std::int64_t count) {
    const base::PhaseRange phase(base::Phase::kStatistics);
    const Operand<T>& x = operand(side);
    if (x.kept || count == 0) return {};
    certify::DeviceDigits digits = early_digits(side);
    for (std::int8_t** const rows : {&digits.digits, &digits.swapped}) {
      if (*rows != nullptr) *rows += first * digits.row_stride;
    }
    return certify::device_statistics(x.lines.subset(first, count), x.buffers.stats + first, digits,
                                      nonfinite_lines(side), state(), num_sms_, queue_);
  }
  /// Of some lines of both operands.
  Status pass_into_sums(const LinePairs& a_pairs, const LinePairs& b_pairs) {
    if constexpr (kMayTakeStrassen) {
      const base::PhaseRange phase(base::Phase::kStatistics);
      const auto of = [&](const Operand<T>& x, Side side) {
        return SinglePassOperand<T>{
            {x.lines, x.buffers, planes_of_sums(side)}, early_digits(side), nonfinite_lines(side)};
      };
      return device_strassen_pass<T>(of(a_, Side::kA), a_pairs, of(b_, Side::kB), b_pairs, strassen_halves(plan_.shape),
                                     ladder(), state(), queue_);
    }
    return {};
  }
  /// Of these operands. @param leaves_samples  nothing happens where state->look is kSample
  Status pass_into_planes(std::initializer_list<Side> sides, bool leaves_samples) {
    const base::PhaseRange phase(base::Phase::kStatistics);
    const auto of = [&](const Operand<T>& x, Side side) {
      SinglePassOperand<T> operand{whole_operand(x, side), early_digits(side), nonfinite_lines(side)};
      if (x.kept || std::find(sides.begin(), sides.end(), side) == sides.end()) operand.operand.lines.num_lines = 0;
      return operand;
    };
    return device_single_pass<T>(of(a_, Side::kA), of(b_, Side::kB), ladder(), first_rung_, buffers_.second_look,
                                 leaves_samples, state(), queue_, is_split_once_);
  }

  /// The rung that the certificate has chosen, and the refusals that only the elements justify.
  Status wait_for_rung(int& rung) {
    device::DeviceState seen;
    KIZAMI_RETURN_IF_ERROR(device::wait_for_state(state(), queue_, seen));
    rung = seen.selection.rung;
    stays_lowest_ = rung == 0 && !seen.selection.equilibrated;
    if (plan_.policy.reject_nonfinite) KIZAMI_RETURN_IF_ERROR(device::reject_nonfinite(seen));
    if ((rung < 0 || seen.selection.num_repaired > 0) && !stage_.has_fp64) {
      return {StatusCode::kAccuracyUnreachable,
              std::to_string(seen.selection.num_repaired) + " of " + std::to_string(plan_.shape.m * plan_.shape.n) +
                  " elements need FP64 arithmetic, which the policy forbids or which cannot guarantee the accuracy"};
    }
    return {};
  }

  /// Where the planes of prepared operands are when they are multiplied.
  enum class Source : std::uint8_t {
    kMade,   ///< in the workspace: nothing is prepared, the rung is another one, or they are copied there
    kKept,   ///< in their own memory
    kEither  ///< the device knows: a product of each, of which one finds no planes
  };
  [[nodiscard]] Source source() const {
    if (!has_kept()) return Source::kMade;
    if (stays_lowest_) return *stays_lowest_ ? Source::kKept : Source::kMade;
    return stage_.engine->reads_num_products() ? Source::kEither : Source::kMade;
  }

  /// Residue planes of lines [i, i + num_i) of A and [j, j + num_j) of B over elements [h, h + length), unless they are
  /// there.
  Status load_planes(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j, std::int64_t h,
                     std::int64_t length, const DevicePlanes& a_planes, const DevicePlanes& b_planes) {
    const base::PhaseRange phase(base::Phase::kSplit);
    std::array<DeviceOperand<T>, 2> wanted;
    KeptPlanes kept;
    std::size_t count = 0;
    const auto want = [&](Operand<T>& operand, std::int64_t first, std::int64_t lines, const DevicePlanes& planes) {
      if (operand.loaded_line == first && operand.loaded_inner == h) return;
      operand.loaded_line = first;
      operand.loaded_inner = h;
      if (operand.kept && source() == Source::kKept) return;
      kept.are_kept[count] = operand.kept.has_value();
      wanted[count++] = {operand.lines.subset(first, lines), operand.buffers.from(first), planes, by_sums_};
    };
    want(a_, i, num_i, a_planes);
    if (!is_split_once_ || is_conjugate_) want(b_, j, num_j, b_planes);
    if constexpr (std::is_same_v<T, double>) {
      if (has_device_phases(plan_)) {
        for (std::size_t x = 0; x < count; ++x) {
          if (kept.are_kept[x]) continue;
          const Side side = wanted[x].planes.data == a_planes.data ? Side::kA : Side::kB;
          KIZAMI_RETURN_IF_ERROR(own_phases().split(side, h, length, wanted[x]));
        }
      }
    }
    if (source() == Source::kEither) kept.counts = buffers_.counts;
    const auto make = [&](std::span<const DeviceOperand<T>> operands, bool has_first_rung) {
      return device_residue_planes<T>(operands, h, length, ladder(), state(), has_first_rung, num_sms_, queue_, kept);
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
      KIZAMI_RETURN_IF_ERROR(copy_kept_planes(
          (is_a ? a_ : b_).kept->planes, is_a ? i : j, round_up(wanted[x].lines.num_lines, kReadRows), h,
          std::min(to.row_stride, round_up(length, product::kPadBytes)), num_planes(0), to, state(), num_sms_, queue_));
    }
    return {};
  }

  /// The product of a chunk, of planes wherever they are: of all of a block of C or of its part.
  /// @param desc   as if the call had made them
  /// @param count  planes that are made, in device memory
  Status multiply_planes(const product::ProductDesc& desc, std::int64_t i, std::int64_t j, std::int64_t h,
                         const std::int32_t* count) {
    const DeviceMainBuffers& main = buffers_.main;
    const product::DeviceFacts& facts = plan_.schedule.facts;
    const bool reads_count = stage_.engine->reads_num_products();
    if (!problem_.part.is_all()) {
      const bool is_lower = problem_.part.kind == problem::PartKind::kLower;
      const int num_swapped = is_conjugate_ ? kSwappedPlanes : 0;
      const product::Pointers pointers{main.a_planes, main.b_planes, main.residues, reads_count ? count : nullptr};
      return product::launch_triangle(*stage_.engine, facts, {desc, is_lower, num_swapped}, pointers, queue_);
    }
    const auto launch = [&](const product::ProductDesc& product, const std::int8_t* a, const std::int8_t* b,
                            const std::int32_t* of_planes) {
      const product::Pointers pointers{a, b, main.residues, reads_count ? of_planes : nullptr};
      return product::launch(*stage_.engine, facts, product, pointers, {main.engine, main.engine_bytes}, queue_);
    };
    const Source from = source();
    if (from != Source::kMade) {
      product::ProductDesc kept = desc;
      kept.num_products = num_planes(0);
      const std::int8_t* a = main.a_planes;
      const std::int8_t* b = main.b_planes;
      if (a_.kept) {
        const DevicePlanes& planes = a_.kept->planes;
        a = planes.data + i * planes.row_stride + h;
        kept.a_row_stride = planes.row_stride;
        kept.a_plane_stride = planes.plane_stride;
      }
      if (b_.kept) {
        const DevicePlanes& planes = b_.kept->planes;
        b = planes.data + j * planes.row_stride + h;
        kept.b_row_stride = planes.row_stride;
        kept.b_plane_stride = planes.plane_stride;
      }
      KIZAMI_RETURN_IF_ERROR(launch(kept, a, b, from == Source::kKept ? count : &buffers_.counts->of_kept));
    }
    if (from == Source::kKept) return {};
    return launch(desc, main.a_planes, main.b_planes, from == Source::kMade ? count : &buffers_.counts->of_made);
  }

  /// Planes up to which those of conjugates are those of the numbers, in another order.
  static constexpr int kSwappedPlanes = 2 * num::kTwoProductModuli;

  [[nodiscard]] DeviceOwnPhases own_phases() const { return {plan_, buffers_.phases, state(), queue_}; }

  /// Unless they are answered.
  Status answer_repairs(fp64::DeviceCall<T>& left) {
    if (left.has_answered_repairs) return {};
    left.has_answered_repairs = true;
    const base::PhaseRange phase(base::Phase::kFp64);
    return device::writes_c(fp64::answer_repairs(left, num_sms_, queue_));
  }

  /// A block of C. The first kernel of bytes runs beside the repairs: neither reads or writes what the other does, for
  /// the CRT leaves all elements of the list alone, in later blocks too. Bodies of an engine's own do not.
  Status reconstruct(DeviceReconstruction<T>& crt, fp64::DeviceCall<T>& left) {
    const base::PhaseRange phase(base::Phase::kReconstruction);
    bool has_own_body = false;
    if constexpr (std::is_same_v<T, double>) {
      has_own_body = has_device_phases(plan_);
      if (has_own_body) {
        device::t_writes_c = true;  // several launches
        KIZAMI_RETURN_IF_ERROR(own_phases().reconstruct(crt));
      }
    }
    const CrtKernels kernels = crt_kernels(crt);
    if (kernels.has_numbers) KIZAMI_RETURN_IF_ERROR(device::writes_c(reconstruct_by_numbers(crt, num_sms_, queue_)));
    if (kernels.has_limbs) KIZAMI_RETURN_IF_ERROR(device::writes_c(reconstruct_by_limbs(crt, num_sms_, queue_)));
    if (!kernels.has_bytes) return {};
    const bool is_beside = repairs_have_own_kernel(plan_) && !has_own_body && !left.has_answered_repairs;
    if (is_beside) KIZAMI_RETURN_IF_ERROR(answer_repairs(left));
    return device::writes_c(reconstruct_by_bytes(crt, num_sms_, queue_, is_beside));
  }

  /// Planes of the sums of quadrants of some lines of an operand whose statistics are there.
  Status make_sums(Side side, const LinePairs& pairs) {
    if constexpr (kMayTakeStrassen) {
      const base::PhaseRange phase(base::Phase::kSplit);
      Operand<T>& x = operand(side);
      x.summed_line = 0;
      const StrassenHalves halves = strassen_halves(plan_.shape);
      const StrassenOperand<T> task{
          {x.lines, x.buffers, planes_of_sums(side)}, side, side == Side::kA ? halves.m : halves.n, pairs};
      return device_strassen_residues<T>({&task, 1}, halves.k, ladder(), state(), queue_);
    }
    return {};
  }
  /// Planes of the sums of quadrants of lines [i, i + num_i) of A and [j, j + num_j) of B, unless they are there.
  Status load_sums(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                   const StrassenHalves& halves) {
    if constexpr (kMayTakeStrassen) {
      const base::PhaseRange phase(base::Phase::kSplit);
      std::array<StrassenOperand<T>, 2> wanted;
      std::size_t count = 0;
      const auto want = [&](Operand<T>& operand, Side side, std::int64_t first, std::int64_t lines,
                            std::int64_t half_lines) {
        if (operand.summed_line == first) return;
        operand.summed_line = first;
        const DevicePlanes planes = planes_of_sums(side);
        wanted[count++] = {{operand.lines.subset(first, lines), operand.buffers.from(first), planes},
                           side,
                           half_lines,
                           {0, half_lines}};
      };
      want(a_, Side::kA, i, num_i, halves.m);
      want(b_, Side::kB, j, num_j, halves.n);
      return device_strassen_residues<T>(std::span(wanted).first(count), halves.k, ladder(), state(), queue_);
    }
    return {};
  }

  /// A block of C by seven products of quadrants and their CRT, where they answer.
  /// @param whole  the CRT of the same block
  Status multiply_by_strassen(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                              const DeviceReconstruction<T>& whole) {
    const StrassenHalves halves = strassen_halves({plan_.shape.scalar, num_i, num_j, plan_.shape.k});
    if (!splits_in_one_pass(plan_)) KIZAMI_RETURN_IF_ERROR(load_sums(i, num_i, j, num_j, halves));
    product::ProductDesc desc = strassen_product(plan_, ladder().rungs[0].num_moduli);
    desc.m = halves.m;
    desc.n = halves.n;
    const DeviceMainBuffers& main = buffers_.main;
    const product::Pointers pointers{main.a_planes, main.b_planes, main.residues, &state()->num_strassen_products};
    KIZAMI_RETURN_IF_ERROR(product::launch(*stage_.engine, plan_.schedule.facts, desc, pointers,
                                           {main.engine, main.engine_bytes}, queue_));
    if constexpr (kMayTakeStrassen) {
      const base::PhaseRange phase(base::Phase::kReconstruction);
      DeviceReconstruction<T> crt = whole;
      crt.planes = {main.residues, ladder().rungs[0].num_moduli, desc.c_col_stride, desc.c_plane_stride};
      const auto count = static_cast<int>(events_.c_done.size());
      if (count == 0) return device::writes_c(reconstruct_strassen(crt, halves, 0, halves.n, num_sms_, queue_));
      for (int part = 0; part < count; ++part) {
        const QuadrantLines columns = quadrant_lines(plan_.shape.n, part, count);
        KIZAMI_RETURN_IF_ERROR(device::writes_c(
            reconstruct_strassen(crt, halves, columns.first, columns.first + columns.count, num_sms_, queue_)));
        KIZAMI_RETURN_IF_ERROR(base::cuda_status(
            cudaEventRecord(events_.c_done[static_cast<std::size_t>(part)], queue_), "cudaEventRecord"));
      }
    }
    return {};
  }

  /// The kernels follow the state, whatever the host knows.
  Status multiply(int rung, bool knows_rung, fp64::DeviceCall<T>& left) {
    const plan::Chunk& chunk = stage_.chunk;
    const DeviceMainBuffers& main = buffers_.main;
    const bool reads_count = stage_.engine->reads_num_products();
    const int top = reads_count && !knows_rung ? ladder().num_rungs - 1 : rung;
    const int num_moduli = ladder().rungs[static_cast<std::size_t>(top)].num_moduli;
    product::ProductDesc desc = device_main_product(plan_, chunk, num_moduli);
    const DevicePlanes a_planes{main.a_planes, desc.a_row_stride, desc.a_plane_stride};
    const DevicePlanes b_planes{main.b_planes, desc.b_row_stride, desc.b_plane_stride};
    DeviceReconstruction<T> crt;
    crt.planes = {main.residues, num_moduli, desc.c_col_stride, desc.c_plane_stride};
    crt.tables = device_crt_tables(plan_.schedule.facts.device, plan::ring_of(plan_.shape.scalar));
    crt.ladder = ladder();
    crt.state = state();
    crt.repair_bits = buffers_.repair_bits;
    crt.bits_stride = ceil_div(plan_.shape.m, 32);
    crt.alpha = problem_.alpha;
    crt.beta = problem_.beta;
    crt.by_limbs = crt_takes_limbs(plan_.schedule.facts);
    const bool may_strassen = takes_strassen_ && rung == 0;
    if (may_strassen) KIZAMI_RETURN_IF_ERROR(choose_strassen(state(), queue_));
    by_sums_ = may_strassen ? &state()->num_strassen_products : nullptr;
    const std::int32_t* const count = may_strassen ? &state()->num_whole_products : &state()->num_products;
    crt.part = problem_.part;
    for (std::int64_t j = 0; j < plan_.shape.n; j += chunk.nc) {
      for (std::int64_t i = 0; i < plan_.shape.m; i += chunk.mc) {
        const std::int64_t num_i = std::min(chunk.mc, plan_.shape.m - i);
        desc.m = round_up(num_i, kReadRows);  // the padding is there, and whole tiles are faster
        desc.n = std::min(chunk.nc, plan_.shape.n - j);
        crt.row_scale = a_.buffers.scales + i;
        crt.col_scale = b_.buffers.scales + j;
        crt.first_row = i;
        crt.first_col = j;
        crt.c = problem_.c.block(i, j, num_i, desc.n);
        if (may_strassen) KIZAMI_RETURN_IF_ERROR(multiply_by_strassen(i, num_i, j, desc.n, crt));
        for (std::int64_t h = 0; h < plan_.shape.k; h += chunk.kc) {
          desc.k = std::min(chunk.kc, plan_.shape.k - h);
          desc.epilogue = h == 0 ? product::Epilogue::kReduce : product::Epilogue::kReduceAdd;
          KIZAMI_RETURN_IF_ERROR(load_planes(i, num_i, j, desc.n, h, desc.k, a_planes, b_planes));
          KIZAMI_RETURN_IF_ERROR(multiply_planes(desc, i, j, h, count));
        }
        KIZAMI_RETURN_IF_ERROR(reconstruct(crt, left));
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
    call.summation = stage_.fp64_summation;
    call.alpha = problem_.alpha;
    call.beta = problem_.beta;
    call.c = problem_.c;
    call.part = problem_.part;
    call.state = state();
    call.repairs = buffers_.repairs;
    call.effort = effort_;
    call.learned = learned_;
    return call;
  }

  static constexpr bool kMayTakeStrassen = std::is_same_v<T, double>;

  const plan::Plan& plan_;
  const Ozaki2Stage& stage_;
  const device::DeviceProblem<T>& problem_;
  product::Queue queue_;
  int num_sms_;
  std::int64_t repair_capacity_;  ///< of buffers_.repairs
  device::EffortReport effort_;
  device::EffortReport learned_;
  int first_rung_ = 0;          ///< as in state()
  bool has_digits_ = false;     ///< of blocks, by the split
  bool may_want_gain_ = false;  ///< as in certify::SecondLook
  bool may_block_ = false;      ///< state()->look may be another than kSample
  bool takes_strassen_ = false;
  BlockEvents events_;                     ///< what is left of those of speculate()
  const std::int32_t* by_sums_ = nullptr;  ///< device memory; not 0 there: sums of quadrants are multiplied, not planes
  bool has_sums_ = false;                  ///< where planes of the lowest rung would be are those of sums of quadrants
  bool is_split_once_ = false;             ///< B has A's lines and statistics, and
  bool is_conjugate_ = false;              ///< its planes, or those of conjugates
  /// Of a call with prepared operands: whether it stays at the lowest rung, of lines as given, if the host knows that.
  std::optional<bool> stays_lowest_;
  DeviceBuffers buffers_;
  Operand<T> a_;
  Operand<T> b_;
};

template <class T>
[[nodiscard]] Ozaki2Call<T> block_call(const DeviceBlock<T>& block) {
  return Ozaki2Call<T>(*block.plan, block.problem, block.workspace, nullptr, block.queue, {});
}

}  // namespace

template <class T>
Status run_device_ozaki2(const plan::Plan& plan, const device::DeviceProblem<T>& problem, std::byte* workspace,
                         device::DeviceState* state, product::Queue queue, const device::EffortReport& effort) {
  return Ozaki2Call<T>(plan, problem, workspace, state, queue, effort).run();
}

template <class T>
Status begin_device_block(const DeviceBlock<T>& block) {
  return block_call(block).begin_block();
}

template <class T>
bool may_speculate(const plan::Plan& plan, T alpha) {
  const Ozaki2Stage& stage = ozaki2_of(plan);
  return stage.ladder.num_rungs > 0 && stage.engine->reads_num_products() && stage.has_fp64 == stage.has_certificate &&
         !plan.policy.reject_nonfinite && !fp64::is_known_nonfinite(Factor<T>(alpha));
}

template <class T>
Status speculate_device_block(const DeviceBlock<T>& block) {
  return block_call(block).speculate(block.events);
}

template <class T>
Status confirm_device_block(const DeviceBlock<T>& block) {
  return block_call(block).confirm();
}

template <class T>
Status find_block_exponents(const DeviceBlock<T>& block) {
  return block_call(block).find_inner_exponents();
}

template <class T>
Status count_block_equilibrated(const DeviceBlock<T>& block) {
  return block_call(block).count_equilibrated();
}

template <class T>
Status finish_device_block(const DeviceBlock<T>& block, const num::Selection& selection, device::Pair* repairs,
                           std::int64_t repair_capacity) {
  return block_call(block).finish_block(selection, repairs, repair_capacity, block.is_speculated);
}

template <class T>
BlockShifts block_shifts(const DeviceBlock<T>& block) {
  return block_call(block).shifts();
}

Outcome device_ozaki2_outcome(const plan::Plan& plan, const device::DeviceState& state) {
  const num::Selection& selection = state.selection;
  Outcome outcome;
  outcome.engine = ozaki2_of(plan).engine->name();
  outcome.scheme = Scheme::kOzaki2;
  outcome.gauge = ozaki2_of(plan).gauge;
  outcome.bound = ozaki2_of(plan).bound;
  outcome.rung = selection.rung;
  outcome.moduli =
      selection.rung < 0 ? 0 : ozaki2_of(plan).ladder.rungs[static_cast<std::size_t>(selection.rung)].num_moduli;
  outcome.equilibrated = selection.equilibrated;
  outcome.repaired = selection.rung < 0 ? plan.shape.m * plan.shape.n : selection.num_repaired;
  outcome.nonfinite_rows = static_cast<std::int64_t>(state.nonfinite_rows);
  outcome.nonfinite_cols = static_cast<std::int64_t>(state.nonfinite_cols);
  return outcome;
}

#define KIZAMI_INSTANTIATE(T)                                                                                        \
  template Status run_device_ozaki2<T>(const plan::Plan&, const device::DeviceProblem<T>&, std::byte*,               \
                                       device::DeviceState*, product::Queue, const device::EffortReport&);           \
  template Status begin_device_block<T>(const DeviceBlock<T>&);                                                      \
  template bool may_speculate<T>(const plan::Plan&, T);                                                              \
  template Status speculate_device_block<T>(const DeviceBlock<T>&);                                                  \
  template Status confirm_device_block<T>(const DeviceBlock<T>&);                                                    \
  template Status find_block_exponents<T>(const DeviceBlock<T>&);                                                    \
  template Status count_block_equilibrated<T>(const DeviceBlock<T>&);                                                \
  template Status finish_device_block<T>(const DeviceBlock<T>&, const num::Selection&, device::Pair*, std::int64_t); \
  template BlockShifts block_shifts<T>(const DeviceBlock<T>&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
