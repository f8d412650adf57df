// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/device_run.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/phase_range.hpp"
#include "certify/device_begin.hpp"
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
#include "schemes/ozaki2/device_operands.hpp"
#include "schemes/ozaki2/device_part.hpp"
#include "schemes/ozaki2/device_seconds.hpp"
#include "schemes/ozaki2/device_strassen.hpp"

namespace kizami::ozaki2 {
namespace {

using base::ceil_div;
using base::round_up;
using device::kReadRows;

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
        effort_(effort),
        operands_(plan, problem, workspace, state, queue) {}

  Status run() {
    // Samples are kept of prepared operands, no blocks.
    const NextLook next = operands_.has_kept() ? NextLook{}
                          : problem_.look      ? NextLook{problem_.look}
                                               : next_look(plan_);
    operands_.expect(next);
    KIZAMI_RETURN_IF_ERROR(operands_.begin(next));
    if (stage_.has_certificate) {
      const base::PhaseRange phase(base::Phase::kCertificate);
      KIZAMI_RETURN_IF_ERROR(operands_.certifier().run(splits_in_one_pass(plan_)));
    }
    int rung = stage_.ladder.num_rungs == 0 ? -1 : 0;
    if (plan_.policy.may_sync) KIZAMI_RETURN_IF_ERROR(wait_for_rung(rung));
    return answer(rung, /*knows_rung=*/plan_.policy.may_sync);
  }

  // The same in parts, of a block of a larger product: device_block.hpp.

  Status begin_block() {
    KIZAMI_RETURN_IF_ERROR(operands_.begin(look_of_block()));
    if (!stage_.has_certificate) return {};
    const base::PhaseRange phase(base::Phase::kCertificate);
    return operands_.certifier().run(splits_in_one_pass(plan_), certify::LookTask::kCount);
  }
  Status speculate_first(const BlockEvents& events) {
    const NextLook next = look_of_block();
    operands_.expect(next);
    return operands_.begins_by_sides(next, events) ? operands_.begin_first_side(events) : Status{};
  }
  Status speculate(const BlockEvents& events, bool has_first) {
    const NextLook next = look_of_block();
    operands_.expect(next);
    events_ = events;
    if (operands_.begins_by_sides(next, events)) {
      if (!has_first) KIZAMI_RETURN_IF_ERROR(operands_.begin_first_side(events));
      KIZAMI_RETURN_IF_ERROR(operands_.begin_second_side(next, events));
    } else {
      KIZAMI_RETURN_IF_ERROR(operands_.wait_for_all(events));
      KIZAMI_RETURN_IF_ERROR(operands_.begin(next));
    }
    if (stage_.has_certificate) {
      const base::PhaseRange phase(base::Phase::kCertificate);
      KIZAMI_RETURN_IF_ERROR(operands_.certifier().run(splits_in_one_pass(plan_), certify::LookTask::kCount));
      KIZAMI_RETURN_IF_ERROR(certify::cancel_unless_lowest(state(), plan_.shape.m * plan_.shape.n, queue_));
    }
    fp64::DeviceCall<T> left = exceptions();
    left.has_answered_repairs = true;  // there are none
    return multiply(0, /*knows_rung=*/true, left);
  }
  Status confirm() { return fp64::answer_left(exceptions(), num_sms_, queue_); }
  Status find_inner_exponents() { return operands_.certifier().look_again(certify::LookTask::kInnerExponents); }
  Status count_equilibrated() { return operands_.certifier().look_again(certify::LookTask::kCountEquilibrated); }
  Status finish_block(const num::Selection& selection, device::Pair* repairs, std::int64_t repair_capacity,
                      bool is_speculated) {
    operands_.has_sums(is_speculated && operands_.may_take_strassen(look_of_block()));
    operands_.take_repairs(repairs, repair_capacity);
    const bool has_rung = selection.rung >= 0;
    KIZAMI_RETURN_IF_ERROR(
        certify::impose_selection(state(), selection, has_rung ? operands_.num_planes(selection.rung) : 0, queue_));
    if (has_rung && selection.num_repaired > 0)
      KIZAMI_RETURN_IF_ERROR(operands_.certifier().look_again(certify::LookTask::kList));
    return answer(selection.rung, /*knows_rung=*/true);
  }
  [[nodiscard]] BlockShifts shifts() const {
    return {operands_.a().buffers.inner_shift, operands_.b().buffers.inner_shift};
  }

 private:
  [[nodiscard]] NextLook look_of_block() const { return {problem_.look}; }
  [[nodiscard]] const num::Ladder& ladder() const { return stage_.ladder; }
  [[nodiscard]] device::DeviceState* state() const { return operands_.state(); }

  /// Products and all else that writes C. @param rung of the state, if the host knows it; else the lowest
  Status answer(int rung, bool knows_rung) {
    if (fp64::is_known_nonfinite(problem_.alpha))
      return device::writes_c(fp64::answer_signs(exceptions(), num_sms_, queue_));
    fp64::DeviceCall<T> left = exceptions();
    if (rung >= 0) {
      KIZAMI_RETURN_IF_ERROR(multiply(rung, knows_rung, left));
      if (has_own_repairs()) KIZAMI_RETURN_IF_ERROR(answer_repairs(left));
    }
    const base::PhaseRange phase(base::Phase::kFp64);
    return fp64::answer_left(left, num_sms_, queue_);
  }

  /// The rung that the certificate has chosen, and the refusals that only the elements justify.
  Status wait_for_rung(int& rung) {
    device::DeviceState seen;
    KIZAMI_RETURN_IF_ERROR(device::wait_for_state(state(), queue_, seen));
    rung = seen.selection.rung;
    operands_.stay_lowest(rung == 0 && !seen.selection.equilibrated);
    if (plan_.policy.reject_nonfinite) KIZAMI_RETURN_IF_ERROR(device::reject_nonfinite(seen));
    if ((rung < 0 || seen.selection.num_repaired > 0) && !stage_.has_fp64) {
      return {StatusCode::kAccuracyUnreachable,
              std::to_string(seen.selection.num_repaired) + " of " + std::to_string(plan_.shape.m * plan_.shape.n) +
                  " elements need FP64 arithmetic, which the policy forbids or which cannot guarantee the accuracy"};
    }
    return {};
  }

  /// The product of a chunk, of planes wherever they are: of all of a block of C or of its part.
  /// @param desc   as if the call had made them
  /// @param count  planes that are made, in device memory
  Status multiply_planes(const product::ProductDesc& desc, std::int64_t i, std::int64_t j, std::int64_t h,
                         const std::int32_t* count) {
    const DeviceMainBuffers& main = operands_.buffers().main;
    const product::DeviceFacts& facts = plan_.schedule.facts;
    const bool reads_count = stage_.engine->reads_num_products();
    if (!problem_.part.is_all()) {
      const bool is_lower = problem_.part.kind == problem::PartKind::kLower;
      const product::Pointers pointers{main.a_planes, main.b_planes, main.residues, reads_count ? count : nullptr};
      return product::launch_triangle(*stage_.engine, facts, {desc, is_lower, operands_.num_swapped()}, pointers,
                                      queue_);
    }
    const auto launch = [&](const product::ProductDesc& product, const std::int8_t* a, const std::int8_t* b,
                            const std::int32_t* of_planes) {
      const product::Pointers pointers{a, b, main.residues, reads_count ? of_planes : nullptr};
      return product::launch(*stage_.engine, facts, product, pointers, {main.engine, main.engine_bytes}, queue_);
    };
    using Source = typename DeviceOperands<T>::Source;
    const Source from = operands_.source();
    const auto* const counts = operands_.buffers().counts;
    if (from != Source::kMade) {
      product::ProductDesc kept = desc;
      kept.num_products = operands_.num_planes(0);
      const std::int8_t* a = main.a_planes;
      const std::int8_t* b = main.b_planes;
      if (operands_.a().kept) {
        const DevicePlanes& planes = operands_.a().kept->planes;
        a = planes.data + i * planes.row_stride + h;
        kept.a_row_stride = planes.row_stride;
        kept.a_plane_stride = planes.plane_stride;
      }
      if (operands_.b().kept) {
        const DevicePlanes& planes = operands_.b().kept->planes;
        b = planes.data + j * planes.row_stride + h;
        kept.b_row_stride = planes.row_stride;
        kept.b_plane_stride = planes.plane_stride;
      }
      KIZAMI_RETURN_IF_ERROR(launch(kept, a, b, from == Source::kKept ? count : &counts->of_kept));
    }
    if (from == Source::kKept) return {};
    return launch(desc, main.a_planes, main.b_planes, from == Source::kMade ? count : &counts->of_made);
  }

  [[nodiscard]] bool has_own_repairs() const {
    return repairs_have_own_kernel(plan_) && !operands_.expects_lowest_rung();
  }
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
        KIZAMI_RETURN_IF_ERROR(operands_.own_phases().reconstruct(crt));
      }
    }
    const CrtKernels kernels = crt_kernels(crt);
    if (kernels.has_numbers) KIZAMI_RETURN_IF_ERROR(device::writes_c(reconstruct_by_numbers(crt, num_sms_, queue_)));
    if (kernels.has_limbs) KIZAMI_RETURN_IF_ERROR(device::writes_c(reconstruct_by_limbs(crt, num_sms_, queue_)));
    if (!kernels.has_bytes) return {};
    const bool is_beside = has_own_repairs() && !has_own_body && !left.has_answered_repairs;
    if (is_beside) KIZAMI_RETURN_IF_ERROR(answer_repairs(left));
    return device::writes_c(reconstruct_by_bytes(crt, num_sms_, queue_, is_beside));
  }

  /// A block of C by seven products of quadrants and their CRT, where they answer.
  /// @param whole  the CRT of the same block
  Status multiply_by_strassen(std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                              const DeviceReconstruction<T>& whole) {
    const StrassenHalves halves = strassen_halves({plan_.shape.scalar, num_i, num_j, plan_.shape.k});
    if (!splits_in_one_pass(plan_)) KIZAMI_RETURN_IF_ERROR(operands_.load_sums({i, num_i, j, num_j, 0, 0}, halves));
    product::ProductDesc desc = operands_.product_of_sums();
    desc.m = halves.m;
    desc.n = halves.n;
    const DeviceMainBuffers& main = operands_.buffers().main;
    const product::Pointers pointers{main.a_planes, main.b_planes, main.residues, &state()->num_strassen_products};
    KIZAMI_RETURN_IF_ERROR(product::launch(*stage_.engine, plan_.schedule.facts, desc, pointers,
                                           {main.engine, main.engine_bytes}, queue_));
    KIZAMI_RETURN_IF_ERROR(wait_for_c());
    if constexpr (DeviceOperands<T>::kMayTakeStrassen) {
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
    const DeviceMainBuffers& main = operands_.buffers().main;
    const bool reads_count = stage_.engine->reads_num_products();
    const int top = reads_count && !knows_rung ? ladder().num_rungs - 1 : rung;
    const int num_moduli = ladder().rungs[static_cast<std::size_t>(top)].num_moduli;
    product::ProductDesc desc = operands_.product_of(chunk, num_moduli);
    const DevicePlanes a_planes = planes_of_a(main, desc);
    const DevicePlanes b_planes = planes_of_b(main, desc);
    DeviceReconstruction<T> crt;
    crt.planes = {main.residues, num_moduli, desc.c_col_stride, desc.c_plane_stride};
    crt.tables = device_crt_tables(plan_.schedule.facts.device, plan::ring_of(plan_.shape.scalar));
    crt.ladder = ladder();
    crt.state = state();
    crt.repair_bits = operands_.buffers().repair_bits;
    crt.bits_stride = ceil_div(plan_.shape.m, 32);
    crt.alpha = problem_.alpha;
    crt.beta = problem_.beta;
    crt.by_limbs = crt_takes_limbs(plan_.schedule.facts);
    if (!kIsComplex<T> && operands_.expects_lowest_rung())
      crt.least_for_bytes = std::numeric_limits<std::int64_t>::max();
    const bool may_strassen = operands_.takes_strassen() && rung == 0;
    if (may_strassen) KIZAMI_RETURN_IF_ERROR(choose_strassen(state(), queue_));
    operands_.multiply_sums_unless_zero(may_strassen ? &state()->num_strassen_products : nullptr);
    const std::int32_t* const count = may_strassen ? &state()->num_whole_products : &state()->num_products;
    crt.part = problem_.part;
    for (std::int64_t j = 0; j < plan_.shape.n; j += chunk.nc) {
      for (std::int64_t i = 0; i < plan_.shape.m; i += chunk.mc) {
        const std::int64_t num_i = std::min(chunk.mc, plan_.shape.m - i);
        desc.m = round_up(num_i, kReadRows);  // the padding is there, and whole tiles are faster
        desc.n = std::min(chunk.nc, plan_.shape.n - j);
        crt.row_scale = operands_.a().buffers.scales + i;
        crt.col_scale = operands_.b().buffers.scales + j;
        crt.first_row = i;
        crt.first_col = j;
        crt.c = problem_.c.block(i, j, num_i, desc.n);
        if (may_strassen) KIZAMI_RETURN_IF_ERROR(multiply_by_strassen(i, num_i, j, desc.n, crt));
        for (std::int64_t h = 0; h < plan_.shape.k; h += chunk.kc) {
          desc.k = std::min(chunk.kc, plan_.shape.k - h);
          desc.epilogue = h == 0 ? product::Epilogue::kReduce : product::Epilogue::kReduceAdd;
          KIZAMI_RETURN_IF_ERROR(operands_.load_planes({i, num_i, j, desc.n, h, desc.k}, a_planes, b_planes));
          KIZAMI_RETURN_IF_ERROR(multiply_planes(desc, i, j, h, count));
        }
        KIZAMI_RETURN_IF_ERROR(wait_for_c());
        KIZAMI_RETURN_IF_ERROR(reconstruct(crt, left));
      }
    }
    return {};
  }
  /// As it was before the call, where it comes beside the products; once.
  Status wait_for_c() {
    CUevent_st* const ready = std::exchange(events_.c_ready, nullptr);
    if (ready == nullptr) return {};
    return base::cuda_status(cudaStreamWaitEvent(queue_, ready, 0), "cudaStreamWaitEvent");
  }

  [[nodiscard]] fp64::DeviceCall<T> exceptions() const {
    fp64::DeviceCall<T> call;
    call.a = operands_.a().lines;
    call.b = operands_.b().lines;
    call.a_stats = operands_.a().buffers.stats;
    call.b_stats = operands_.b().buffers.stats;
    call.summation = stage_.fp64_summation;
    call.alpha = problem_.alpha;
    call.beta = problem_.beta;
    call.c = problem_.c;
    call.part = problem_.part;
    call.state = state();
    call.repairs = operands_.buffers().repairs;
    call.effort = effort_;
    call.look = operands_.look_report();
    return call;
  }

  const plan::Plan& plan_;
  const Ozaki2Stage& stage_;
  const device::DeviceProblem<T>& problem_;
  product::Queue queue_;
  int num_sms_;
  device::EffortReport effort_;
  BlockEvents events_;  ///< of a block whose C is guessed
  DeviceOperands<T> operands_;
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
Status speculate_device_block_first(const DeviceBlock<T>& block) {
  return block_call(block).speculate_first(block.events);
}

template <class T>
Status speculate_device_block(const DeviceBlock<T>& block) {
  return block_call(block).speculate(block.events, block.has_first);
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
  template Status speculate_device_block_first<T>(const DeviceBlock<T>&);                                            \
  template Status speculate_device_block<T>(const DeviceBlock<T>&);                                                  \
  template Status confirm_device_block<T>(const DeviceBlock<T>&);                                                    \
  template Status find_block_exponents<T>(const DeviceBlock<T>&);                                                    \
  template Status count_block_equilibrated<T>(const DeviceBlock<T>&);                                                \
  template Status finish_device_block<T>(const DeviceBlock<T>&, const num::Selection&, device::Pair*, std::int64_t); \
  template BlockShifts block_shifts<T>(const DeviceBlock<T>&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
