// SPDX-License-Identifier: MIT
#include "schemes/ozaki2/run.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <type_traits>

#include "base/aligned_buffer.hpp"
#include "base/instantiate.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "base/phase_range.hpp"
#include "certify/certificate.hpp"
#include "certify/equilibration_gain.hpp"
#include "certify/statistics.hpp"
#include "fp64/fp64.hpp"
#include "fp64/nonfinite.hpp"
#include "product/launch.hpp"
#include "product/phases.hpp"
#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/correct.hpp"
#include "schemes/ozaki2/crt.hpp"
#include "schemes/ozaki2/double_double.hpp"
#include "schemes/ozaki2/plan.hpp"
#include "schemes/ozaki2/residues.hpp"

namespace kizami::ozaki2 {
namespace {

/// One operand during a call.
template <class In>
struct OperandState {
  problem::Lines<In> lines;
  const schemes::Prepared* prepared = nullptr;
  LineBuffers buffers;
  const num::LineStats* stats = nullptr;      ///< the statistics in use: as given, or equilibrated
  const std::int32_t* inner_shift = nullptr;  ///< null unless equilibrated

  [[nodiscard]] bool has_matrix() const { return lines.data != nullptr; }
};

/// One call of run_ozaki2: the phases in order, each a member that reads what the ones before have left.
template <class T, class In>
class Ozaki2Call final : private Part {
 public:
  Ozaki2Call(const plan::Plan& plan, const problem::Problem<T, In>& problem, const schemes::Prepared* a_prepared,
             const schemes::Prepared* b_prepared, std::byte* workspace, Outcome& outcome, Whole* whole)
      : plan_(plan),
        stage_(ozaki2_of(plan)),
        problem_(problem),
        outcome_(outcome),
        whole_(whole),
        threads_(useful_threads(plan)) {
    base::Carver carver(workspace);
    buffers_ = carve(carver, plan);
    a_ = {problem::lines_of(Side::kA, problem.a), a_prepared, buffers_.a, nullptr, nullptr};
    b_ = {problem::lines_of(Side::kB, problem.b), b_prepared, buffers_.b, nullptr, nullptr};
  }

  Status run() {
    KIZAMI_RETURN_IF_ERROR(gather());
    KIZAMI_RETURN_IF_ERROR(choose_rung());
    KIZAMI_RETURN_IF_ERROR(require_what_is_needed());
    report();
    if (selection_.rung < 0) {
      answer_without_moduli();
    } else {
      KIZAMI_RETURN_IF_ERROR(compute_repairs());
      KIZAMI_RETURN_IF_ERROR(multiply());
      for (std::int64_t r = 0; r < num_repairs_; ++r) {
        const Repair& repair = buffers_.repairs[r];
        problem_.c(repair.row, repair.col) = value_of(repair);
      }
    }
    if (has_nonfinite()) {
      const base::PhaseRange phase(base::Phase::kFp64);
      fp64::answer_nonfinite(problem_, a_.stats, b_.stats, threads_);
    }
    return {};
  }

 private:
  [[nodiscard]] static T value_of(const Repair& repair) {
    if constexpr (kIsComplex<T>) {
      return {static_cast<RealOf<T>>(repair.value[0]), static_cast<RealOf<T>>(repair.value[1])};
    } else if constexpr (kIsDoubleDouble<T>) {
      return {repair.value[0], repair.value[1]};
    } else {
      return static_cast<T>(repair.value[0]);
    }
  }

  [[nodiscard]] const num::Ladder& ladder() const { return stage_.ladder; }
  [[nodiscard]] const num::Rung& rung() const { return ladder().rungs[static_cast<std::size_t>(selection_.rung)]; }
  [[nodiscard]] bool has_nonfinite() const { return outcome_.nonfinite_rows + outcome_.nonfinite_cols > 0; }
  [[nodiscard]] bool has_matrices() const { return a_.has_matrix() && b_.has_matrix(); }

  Status gather() {
    const base::PhaseRange phase(base::Phase::kStatistics);
    for (OperandState<In>* side : {&a_, &b_}) {
      if (side->prepared != nullptr) {
        std::copy_n(side->prepared->stats, side->prepared->num_lines, side->buffers.stats);
      } else {
        certify::gather_statistics(side->lines, nullptr, threads_, side->buffers.stats);
      }
      side->stats = side->buffers.stats;
    }
    outcome_.nonfinite_rows = fp64::count_nonfinite(a_.stats, plan_.shape.m);
    outcome_.nonfinite_cols = fp64::count_nonfinite(b_.stats, plan_.shape.n);
    if (!plan_.policy.reject_nonfinite || whole_ != nullptr) return {};
    KIZAMI_RETURN_IF_ERROR(fp64::reject_nonfinite(Side::kA, a_.stats, plan_.shape.m));
    return fp64::reject_nonfinite(Side::kB, b_.stats, plan_.shape.n);
  }

  /// The lines as the certificate sees them, with the weights of the statistics in use.
  certify::CertifiedLines<In> certified(const OperandState<In>& side, std::int64_t num_lines) {
    base::parallel_for(base::ceil_div(num_lines, kWeightGroup), threads_, [&](std::int64_t group, int) {
      const std::int64_t end = std::min(num_lines, (group + 1) * kWeightGroup);
      for (std::int64_t i = group * kWeightGroup; i < end; ++i)
        side.buffers.weights[i] = num::line_weight(ladder(), side.stats[i]);
    });
    return {side.lines, side.stats, side.buffers.weights, side.inner_shift,
            side.prepared == nullptr ? nullptr : side.prepared->digits};
  }

  Status choose_rung() {
    const base::PhaseRange phase(base::Phase::kCertificate);
    if (whole_ != nullptr) {
      KIZAMI_RETURN_IF_ERROR(whole_->decide(*this, selection_));
      if (!selection_.equilibrated) use_as_given();
      return make_room_for_repairs();
    }
    if (ladder().num_rungs == 0) {
      selection_ = {-1, false, plan_.shape.m * plan_.shape.n};
      return {};
    }
    if (stage_.is_correct) {
      selection_.rung = lowest_exact_rung();
      return {};
    }
    if (!stage_.has_certificate) return {};  // rung 0
    certify::CertifiedLines<In> a = certified(a_, plan_.shape.m);
    certify::CertifiedLines<In> b = certified(b_, plan_.shape.n);
    std::int64_t failures = 0;
    KIZAMI_RETURN_IF_ERROR(
        certify::count_sampled_failures(certificate_plan(plan_), ladder(), buffers_.certificate, a, b, failures));
    if (failures == 0) return {};
    if (!has_matrices()) {
      return {StatusCode::kAccuracyUnreachable,
              "prepared operand: " + std::to_string(failures) +
                  " elements need more than its lowest rung; pass the original matrix with it"};
    }
    num::Statistics statistics;
    statistics.num_pairs = plan_.shape.m * plan_.shape.n;
    KIZAMI_RETURN_IF_ERROR(
        certify::block_histogram(certificate_plan(plan_), ladder(), buffers_.certificate, a, b, statistics.plain));
    if (wants_equilibration(num::select(ladder(), statistics))) {
      equilibrate();
      statistics.has_equilibrated = true;
      KIZAMI_RETURN_IF_ERROR(certify::block_histogram(certificate_plan(plan_), ladder(), buffers_.certificate,
                                                      certified(a_, plan_.shape.m), certified(b_, plan_.shape.n),
                                                      statistics.equilibrated));
    }
    selection_ = num::select(ladder(), statistics);
    if (!selection_.equilibrated) use_as_given();
    return {};
  }

  [[nodiscard]] int lowest_exact_rung() const {
    std::array<std::int64_t, num::kMaxRungs> a_exact{};
    std::array<std::int64_t, num::kMaxRungs> b_exact{};
    count_exact_lines(a_, plan_.shape.m, a_exact);
    count_exact_lines(b_, plan_.shape.n, b_exact);
    return ozaki2::lowest_exact_rung(ladder(), plan_.shape.m * plan_.shape.n, a_exact, b_exact);
  }

  void count_exact_lines(const OperandState<In>& side, std::int64_t num_lines,
                         std::array<std::int64_t, num::kMaxRungs>& exact_lines) const {
    for (std::int64_t i = 0; i < num_lines; ++i) {
      for (int r = num::first_exact_rung(ladder(), side.stats[i]); r < ladder().num_rungs; ++r)
        ++exact_lines[static_cast<std::size_t>(r)];
    }
  }

  // ---- a part of a larger product -----------------------------------------------------------------------------------

  Status count(Counts& counts) override {
    const std::int64_t num_pairs = plan_.shape.m * plan_.shape.n;
    counts.statistics.num_pairs += num_pairs;
    if (whole_->counts_rows()) {
      counts.nonfinite_rows += outcome_.nonfinite_rows;
      if (stage_.is_correct) count_exact_lines(a_, plan_.shape.m, counts.exact_rows);
    }
    if (whole_->counts_cols()) {
      counts.nonfinite_cols += outcome_.nonfinite_cols;
      if (stage_.is_correct) count_exact_lines(b_, plan_.shape.n, counts.exact_cols);
    }
    if (!stage_.has_certificate || ladder().num_rungs == 0 || stage_.is_correct) return {};
    certify::CertifiedLines<In> a = certified(a_, plan_.shape.m);
    certify::CertifiedLines<In> b = certified(b_, plan_.shape.n);
    std::int64_t failures = 0;
    KIZAMI_RETURN_IF_ERROR(
        certify::count_sampled_failures(certificate_plan(plan_), ladder(), buffers_.certificate, a, b, failures));
    // The lowest rung certifies all pairs of a sample that refuses none.
    num::RungHistogram plain;
    plain.pairs[0] = num_pairs;
    if (failures != 0) {
      plain = {};
      KIZAMI_RETURN_IF_ERROR(
          certify::block_histogram(certificate_plan(plan_), ladder(), buffers_.certificate, a, b, plain));
    }
    add(plain, counts.statistics.plain);
    return {};
  }

  Status find_exponents(std::span<std::int32_t> a, std::span<std::int32_t> b) override {
    certify::gather_inner_exponents(a_.lines, threads_, a_.buffers.inner_shift);
    certify::gather_inner_exponents(b_.lines, threads_, b_.buffers.inner_shift);
    for (std::size_t h = 0; h < a.size(); ++h) {
      a[h] = std::max(a[h], a_.buffers.inner_shift[h]);
      b[h] = std::max(b[h], b_.buffers.inner_shift[h]);
    }
    return {};
  }

  Status count_equilibrated(std::span<const std::int32_t> a, std::span<const std::int32_t> b, Counts& counts) override {
    std::copy(a.begin(), a.end(), a_.buffers.inner_shift);
    std::copy(b.begin(), b.end(), b_.buffers.inner_shift);
    use_shifted();
    num::RungHistogram shifted;
    KIZAMI_RETURN_IF_ERROR(certify::block_histogram(certificate_plan(plan_), ladder(), buffers_.certificate,
                                                    certified(a_, plan_.shape.m), certified(b_, plan_.shape.n),
                                                    shifted));
    add(shifted, counts.statistics.equilibrated);
    return {};
  }

  /// A part may have all repairs of the whole.
  Status make_room_for_repairs() {
    const std::int64_t most =
        selection_.rung < 0 ? 0 : std::min(selection_.num_repaired, plan_.shape.m * plan_.shape.n);
    repairs_of_whole_ = base::AlignedBuffer(static_cast<std::size_t>(most) * sizeof(Repair));
    if (!repairs_of_whole_.ok()) {
      return {StatusCode::kOutOfMemory,
              "repairs: " + std::to_string(repairs_of_whole_.size()) + " bytes refused by the system"};
    }
    buffers_.repairs = reinterpret_cast<Repair*>(repairs_of_whole_.data());
    return {};
  }

  [[nodiscard]] bool wants_equilibration(const num::Selection& plain) {
    if (!num::may_equilibrate(ladder(), plain)) return false;
    const std::int32_t gain = plain.rung < 0
                                  ? 0
                                  : certify::equilibration_gain(a_.lines, a_.stats, b_.lines, b_.stats, threads_,
                                                                a_.buffers.inner_shift, b_.buffers.inner_shift);
    return num::wants_equilibration(ladder(), plain, gain);
  }

  void equilibrate() {
    certify::gather_inner_exponents(a_.lines, threads_, a_.buffers.inner_shift);
    certify::gather_inner_exponents(b_.lines, threads_, b_.buffers.inner_shift);
    certify::equilibration_shifts(plan_.shape.k, a_.buffers.inner_shift, b_.buffers.inner_shift);
    use_shifted();
  }

  void use_shifted() {
    for (OperandState<In>* side : {&a_, &b_}) {
      side->inner_shift = side->buffers.inner_shift;
      certify::gather_statistics(side->lines, side->inner_shift, threads_, side->buffers.equilibrated);
      side->stats = side->buffers.equilibrated;
    }
  }

  void use_as_given() {
    for (OperandState<In>* side : {&a_, &b_}) {
      side->inner_shift = nullptr;
      side->stats = side->buffers.stats;
    }
  }

  /// Everything that can still refuse, before C is touched.
  Status require_what_is_needed() {
    const bool needs_fp64 = selection_.rung < 0 || selection_.num_repaired > 0;
    if (needs_fp64 && !stage_.has_fp64) {
      return {StatusCode::kAccuracyUnreachable,
              std::to_string(selection_.num_repaired) + " of " + std::to_string(plan_.shape.m * plan_.shape.n) +
                  " elements need FP64 arithmetic, which the policy forbids or which cannot guarantee the accuracy"};
    }
    // Prepared planes serve the lowest rung only, and values are gone.
    const bool needs_values = needs_fp64 || selection_.rung > 0 || selection_.equilibrated || has_nonfinite();
    if (needs_values && !has_matrices()) {
      return {StatusCode::kAccuracyUnreachable,
              has_nonfinite() ? "prepared operand: NaN or Inf needs the values; pass the original matrix with it"
                              : "prepared operand: a rung above its own is needed; pass the original matrix with it"};
    }
    return {};
  }

  void report() {
    outcome_.scheme = Scheme::kOzaki2;
    outcome_.engine = stage_.engine->name();
    outcome_.bound = stage_.bound;
    outcome_.gauge = stage_.gauge;
    outcome_.rung = selection_.rung;
    outcome_.moduli = selection_.rung < 0 ? 0 : rung().num_moduli;
    outcome_.equilibrated = selection_.equilibrated;
    outcome_.repaired = selection_.num_repaired;
  }

  /// The final values of the elements that the rung does not certify, in FP64 arithmetic, while C still holds its old
  /// values.
  Status compute_repairs() {
    if (selection_.num_repaired == 0) return {};
    const base::PhaseRange phase(base::Phase::kFp64);
    KIZAMI_RETURN_IF_ERROR(
        certify::visit_block_rungs<In>(certificate_plan(plan_), ladder(), buffers_.certificate,
                                       certified(a_, plan_.shape.m), certified(b_, plan_.shape.n),
                                       [&](std::int64_t i, std::int64_t num_i, std::int64_t j, std::int64_t num_j,
                                           const std::uint8_t* rungs, std::int64_t ld) {
                                         for (std::int64_t y = 0; y < num_j; ++y) {
                                           for (std::int64_t x = 0; x < num_i; ++x) {
                                             if (rungs[y * ld + x] > selection_.rung)
                                               buffers_.repairs[num_repairs_++] = {i + x, j + y, {}};
                                           }
                                         }
                                       }));
    base::parallel_for(num_repairs_, threads_, [&](std::int64_t r, int) {
      Repair& repair = buffers_.repairs[r];
      const T old = problem_.beta == T{0} ? T{0} : problem_.c(repair.row, repair.col);
      const T value = num::finish(product_of(repair.row, repair.col), problem_.alpha, problem_.beta, old);
      if constexpr (kIsDoubleDouble<T>) {
        repair.value[0] = value.hi;
        repair.value[1] = value.lo;
      } else if constexpr (kIsComplex<T>) {
        repair.value[0] = static_cast<double>(value.real());
        repair.value[1] = static_cast<double>(value.imag());
      } else {
        repair.value[0] = static_cast<double>(value);
      }
    });
    return {};
  }

  /// One element before the epilogue, without moduli: in FP64 arithmetic, or for double-doubles from a long
  /// accumulator.
  [[nodiscard]] auto product_of(std::int64_t i, std::int64_t j) const {
    if constexpr (kIsDoubleDouble<T>) {
      return accumulated_product(a_.lines, i, b_.lines, j);
    } else {
      return fp64::line_product(a_.lines, a_.buffers.stats[i], i, b_.lines, b_.buffers.stats[j], j,
                                stage_.fp64_summation);
    }
  }

  void answer_without_moduli() {
    const base::PhaseRange phase(base::Phase::kFp64);
    if constexpr (kIsDoubleDouble<T>) {
      base::parallel_for(plan_.shape.n, threads_, [&](std::int64_t j, int) {
        for (std::int64_t i = 0; i < plan_.shape.m; ++i) {
          if (!a_.stats[i].is_finite || !b_.stats[j].is_finite) continue;
          T& out = problem_.c(i, j);
          out = num::finish(product_of(i, j), problem_.alpha, problem_.beta, problem_.beta == T{0} ? T{0} : out);
        }
      });
    } else {
      fp64::gemm_fp64(a_.lines, a_.stats, b_.lines, b_.stats, stage_.fp64_summation, problem_.alpha, problem_.beta,
                      threads_, problem_.c);
    }
  }

  /// A block of C from its residue planes.
  Status reconstruct_block(const ResiduePlanes& planes, std::int64_t i, std::int64_t j, MatrixView<T> c) {
    const base::PhaseRange phase(base::Phase::kReconstruction);
    if constexpr (!kIsDoubleDouble<T>) {
      if (stage_.is_correct) {
        const CorrectBlock<T> block{a_.lines.subset(i, c.rows), b_.lines.subset(j, c.cols), a_.buffers.scales + i,
                                    b_.buffers.scales + j,      a_.buffers.errors + i,      b_.buffers.errors + j};
        outcome_.repaired += reconstruct_correct(planes, block, problem_.alpha != T{1}, threads_, c);
        return {};
      }
    }
    if constexpr (kMayHaveOwnPhases) {
      if (buffers_.main.factors != nullptr) {
        const product::PhaseBodies& bodies = *product::phases_of(stage_.engine);
        const product::ReconstructionDesc desc{.residues = planes.data,
                                               .num_moduli = planes.num_moduli,
                                               .col_stride = planes.col_stride,
                                               .plane_stride = planes.plane_stride,
                                               .row_scale = a_.buffers.scales + i,
                                               .col_scale = b_.buffers.scales + j,
                                               .alpha = problem_.alpha,
                                               .beta = problem_.beta,
                                               .c = c.data,
                                               .m = c.rows,
                                               .n = c.cols,
                                               .c_row_stride = c.row_stride,
                                               .c_col_stride = c.col_stride,
                                               .factors = buffers_.main.factors,
                                               .threads = threads_};
        if (!bodies.why_refused(desc)) return bodies.reconstruct(desc);
      }
    }
    reconstruct_crt(planes, a_.buffers.scales + i, b_.buffers.scales + j, problem_.alpha, problem_.beta, threads_, c);
    return {};
  }

  void set_scales(const OperandState<In>& side, std::int64_t num_lines) {
    for (std::int64_t i = 0; i < num_lines; ++i) {
      side.buffers.scales[i] = side.stats[i].is_finite ? line_scale(rung(), side.stats[i]) : num::kSkipLine;
      if (stage_.is_correct) side.buffers.errors[i] = num::line_error(rung(), side.stats[i]);
    }
  }

  /// Residue planes of lines [first, first + count) over elements [h, h + length): split into `planes`, unless they are
  /// there already from the last chunk, or prepared.
  struct PlaneSource {
    const std::int8_t* data = nullptr;
    std::int64_t row_stride = 0;
    std::int64_t plane_stride = 0;
  };
  Status planes_of(const OperandState<In>& side, std::int64_t first, std::int64_t count, std::int64_t h,
                   std::int64_t length, std::int64_t chunk_lines, std::int8_t* planes, std::int64_t (&loaded)[2],
                   PlaneSource& source) {
    if (side.prepared != nullptr && selection_.rung == 0 && !selection_.equilibrated) {
      const schemes::Prepared& p = *side.prepared;
      source = {p.planes + first * p.row_stride + h, p.row_stride, p.num_lines * p.row_stride};
      return {};
    }
    const std::int64_t row_stride = stage_.chunk.kc;
    const std::int64_t plane_stride = chunk_lines * row_stride;
    source = {planes, row_stride, plane_stride};
    if (loaded[0] == first && loaded[1] == h) return {};
    loaded[0] = first;
    loaded[1] = h;
    const base::PhaseRange phase(base::Phase::kSplit);
    const problem::Lines<In> lines = side.lines.subset(first, count);
    if constexpr (kMayHaveOwnPhases) {
      if (buffers_.main.factors != nullptr) {
        const product::PhaseBodies& bodies = *product::phases_of(stage_.engine);
        const product::SplitDesc desc{.data = lines.data + h * lines.inner_stride,
                                      .num_lines = count,
                                      .length = length,
                                      .line_stride = lines.line_stride,
                                      .inner_stride = lines.inner_stride,
                                      .scales = side.buffers.scales + first,
                                      .inner_shift = side.inner_shift,
                                      .rung = rung(),
                                      .planes = planes,
                                      .row_stride = row_stride,
                                      .plane_stride = plane_stride,
                                      .factors = buffers_.main.factors,
                                      .threads = threads_};
        if (!bodies.why_refused(desc)) return bodies.split(desc);
      }
    }
    make_residue_planes(lines, side.stats + first, side.inner_shift, h, length, rung(), threads_, planes, row_stride,
                        plane_stride);
    return {};
  }

  Status multiply() {
    const plan::Chunk& chunk = stage_.chunk;
    const std::span<std::byte> scratch(buffers_.main.engine, buffers_.main.engine_bytes);
    set_scales(a_, plan_.shape.m);
    set_scales(b_, plan_.shape.n);
    std::int64_t a_loaded[2] = {-1, -1};
    std::int64_t b_loaded[2] = {-1, -1};
    for (std::int64_t j = 0; j < plan_.shape.n; j += chunk.nc) {
      for (std::int64_t i = 0; i < plan_.shape.m; i += chunk.mc) {
        plan::Chunk extent{std::min(chunk.mc, plan_.shape.m - i), std::min(chunk.nc, plan_.shape.n - j), chunk.kc};
        product::ProductDesc desc = main_product(plan_, chunk, rung().num_moduli);
        desc.m = extent.mc;
        desc.n = extent.nc;
        for (std::int64_t h = 0; h < plan_.shape.k; h += chunk.kc) {
          desc.k = std::min(chunk.kc, plan_.shape.k - h);
          desc.epilogue = h == 0 ? product::Epilogue::kReduce : product::Epilogue::kReduceAdd;
          PlaneSource a;
          PlaneSource b;
          KIZAMI_RETURN_IF_ERROR(planes_of(a_, i, extent.mc, h, desc.k, chunk.mc, buffers_.main.a_planes, a_loaded, a));
          KIZAMI_RETURN_IF_ERROR(planes_of(b_, j, extent.nc, h, desc.k, chunk.nc, buffers_.main.b_planes, b_loaded, b));
          desc.a_row_stride = a.row_stride;
          desc.a_plane_stride = a.plane_stride;
          desc.b_row_stride = b.row_stride;
          desc.b_plane_stride = b.plane_stride;
          KIZAMI_RETURN_IF_ERROR(product::launch(*stage_.engine, plan_.schedule.facts, desc,
                                                 {a.data, b.data, buffers_.main.residues}, scratch));
        }
        const ResiduePlanes planes{buffers_.main.residues, rung().num_moduli, desc.c_col_stride, desc.c_plane_stride};
        KIZAMI_RETURN_IF_ERROR(reconstruct_block(planes, i, j, problem_.c.block(i, j, extent.mc, extent.nc)));
      }
    }
    return {};
  }

  /// Whether engines may have bodies of their own for the phases of this type.
  static constexpr bool kMayHaveOwnPhases = std::is_same_v<T, In> && kIsReal<T>;
  static constexpr std::int64_t kWeightGroup = 1024;
  const plan::Plan& plan_;
  const Ozaki2Stage& stage_;
  const problem::Problem<T, In>& problem_;
  Outcome& outcome_;
  Whole* whole_;
  int threads_;
  Buffers buffers_;
  OperandState<In> a_;
  OperandState<In> b_;
  num::Selection selection_;
  std::int64_t num_repairs_ = 0;
  base::AlignedBuffer repairs_of_whole_;
};

}  // namespace

template <class T, class In>
Status run_ozaki2(const plan::Plan& plan, const problem::Problem<T, In>& problem, const schemes::Prepared* a_prepared,
                  const schemes::Prepared* b_prepared, std::byte* workspace, Outcome& outcome, Whole* whole) {
  return Ozaki2Call<T, In>(plan, problem, a_prepared, b_prepared, workspace, outcome, whole).run();
}

#define KIZAMI_INSTANTIATE(T, In)                                                                                \
  template Status run_ozaki2<T, In>(const plan::Plan&, const problem::Problem<T, In>&, const schemes::Prepared*, \
                                    const schemes::Prepared*, std::byte*, Outcome&, Whole*)

#define KIZAMI_INSTANTIATE_SAME(T) KIZAMI_INSTANTIATE(T, T)
KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE_SAME);
#undef KIZAMI_INSTANTIATE_SAME
KIZAMI_INSTANTIATE(DoubleDouble, double);
KIZAMI_INSTANTIATE(DoubleDouble, DoubleDouble);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki2
