// SPDX-License-Identifier: MIT
#include "schemes/ec/run.hpp"

#include <algorithm>
#include <complex>
#include <span>
#include <string>
#include <variant>

#include "base/parallel.hpp"
#include "base/phase_range.hpp"
#include "certify/certificate.hpp"
#include "certify/statistics.hpp"
#include "fp64/nonfinite.hpp"
#include "schemes/ec/float_planes.hpp"
#include "schemes/ec/float_sums.hpp"
#include "schemes/ec/plan.hpp"
#include "schemes/ec/recipe.hpp"
#include "schemes/ozaki2/run.hpp"
#include "schemes/ozaki2/stage.hpp"

namespace kizami::ec {
namespace {

using problem::RealForm;

/// One call of run_ec: the phases in order.
template <class T>
class EcCall {
 public:
  EcCall(const plan::Plan& plan, const problem::Problem<T>& problem, std::byte* workspace, Outcome& outcome)
      : plan_(plan), problem_(problem), outcome_(outcome), threads_(plan.schedule.facts.num_threads) {
    base::Carver carver(workspace);
    buffers_ = carve_ec(carver, plan);
    a_ = problem::lines_of(Side::kA, problem.a);
    b_ = problem::lines_of(Side::kB, problem.b);
  }

  /// @return whether a stage answered
  Status run(bool& is_answered) {
    KIZAMI_RETURN_IF_ERROR(gather());
    int stage = 0;
    KIZAMI_RETURN_IF_ERROR(choose_stage(stage));
    is_answered = stage < ec_of(plan_).numerics.num_rungs;
    if (!is_answered) return {};
    report(stage);
    KIZAMI_RETURN_IF_ERROR(multiply(stage));
    if (outcome_.nonfinite_rows + outcome_.nonfinite_cols > 0) {
      const base::PhaseRange phase(base::Phase::kFp64);
      fp64::answer_nonfinite(problem_, buffers_.behind.a.stats, buffers_.behind.b.stats, threads_);
    }
    return {};
  }

 private:
  Status gather() {
    const base::PhaseRange phase(base::Phase::kStatistics);
    certify::gather_statistics(a_, nullptr, threads_, buffers_.behind.a.stats);
    certify::gather_statistics(b_, nullptr, threads_, buffers_.behind.b.stats);
    outcome_.nonfinite_rows = fp64::count_nonfinite(buffers_.behind.a.stats, plan_.shape.m);
    outcome_.nonfinite_cols = fp64::count_nonfinite(buffers_.behind.b.stats, plan_.shape.n);
    if (!plan_.policy.reject_nonfinite) return {};
    KIZAMI_RETURN_IF_ERROR(fp64::reject_nonfinite(Side::kA, buffers_.behind.a.stats, plan_.shape.m));
    return fp64::reject_nonfinite(Side::kB, buffers_.behind.b.stats, plan_.shape.n);
  }

  /// The first stage whose range holds the operands; num_rungs if none does.
  Status choose_stage(int& stage) {
    const base::PhaseRange phase(base::Phase::kCertificate);
    const EcNumerics& ec = ec_of(plan_).numerics;
    stage = 0;
    if (!ec.checks_range) return {};
    for (; stage < ec.num_rungs; ++stage) {
      bool is_certified = false;
      KIZAMI_RETURN_IF_ERROR(certify(ec.rungs[static_cast<std::size_t>(stage)], is_certified));
      if (is_certified) return {};
    }
    return {};
  }

  /// Whether the range errors of a stage are within its budget for every pair of lines: by the sampled certificate, and
  /// where that is too loose by the one with a scale for each block of 64 elements.
  Status certify(const EcRung& stage, bool& is_certified) {
    is_certified = ozaki2::ozaki2_of(plan_).has_certificate && set_weights(stage, buffers_.behind.a, plan_.shape.m) &&
                   set_weights(stage, buffers_.behind.b, plan_.shape.n);
    if (!is_certified) return {};
    num::Ladder ladder;
    ladder.num_rungs = 1;
    ladder.rungs[0].allowance = stage.allowance;
    const certify::CertifiedLines<T> a{a_, buffers_.behind.a.stats, buffers_.behind.a.weights, nullptr, nullptr};
    const certify::CertifiedLines<T> b{b_, buffers_.behind.b.stats, buffers_.behind.b.weights, nullptr, nullptr};
    std::int64_t failures = 0;
    KIZAMI_RETURN_IF_ERROR(certify::count_sampled_failures(ozaki2::certificate_plan(plan_), ladder,
                                                           buffers_.behind.certificate, a, b, failures));
    if (failures == 0) return {};
    num::RungHistogram histogram;
    KIZAMI_RETURN_IF_ERROR(certify::block_histogram(ozaki2::certificate_plan(plan_), ladder,
                                                    buffers_.behind.certificate, a, b, histogram));
    is_certified = histogram.pairs[1] == 0;
    return {};
  }

  /// @return whether every line fits the format of the stage
  bool set_weights(const EcRung& stage, const ozaki2::LineBuffers& side, std::int64_t num_lines) {
    for (std::int64_t i = 0; i < num_lines; ++i) {
      if (!ec_fits(stage.recipe, side.stats[i])) return false;
      side.weights[i] = ec_weight(stage.recipe, side.stats[i], plan::num_terms(plan_.shape));
    }
    return true;
  }

  void report(int stage) {
    outcome_.scheme = Scheme::kEc;
    outcome_.variant = ec_of(plan_).numerics.rungs[static_cast<std::size_t>(stage)].recipe.variant;
    outcome_.engine = ec_of(plan_).engine->name();
    outcome_.bound = plan_.first().bound;
    outcome_.gauge = plan_.first().gauge;
    outcome_.is_conditional = !ec_of(plan_).numerics.checks_range;
  }

  void set_scales(const EcRung& stage, const ozaki2::LineBuffers& side, std::int64_t num_lines) {
    for (std::int64_t i = 0; i < num_lines; ++i) side.scales[i] = ec_line_scale(stage.recipe, side.stats[i]);
  }

  Status multiply(int stage_number) {
    const EcRung& stage = ec_of(plan_).numerics.rungs[static_cast<std::size_t>(stage_number)];
    const plan::Chunk& chunk = ec_of(plan_).chunk;
    const product::FloatProductDesc whole = ec_product(plan_, stage_number);
    set_scales(stage, buffers_.behind.a, plan_.shape.m);
    set_scales(stage, buffers_.behind.b, plan_.shape.n);
    for (std::int64_t i = 0; i < plan_.shape.m; i += chunk.mc) {
      for (std::int64_t j = 0; j < plan_.shape.n; j += chunk.nc) {
        product::FloatProductDesc desc = whole;
        desc.m = std::min(chunk.mc, plan_.shape.m - i);
        desc.n = std::min(chunk.nc, plan_.shape.n - j);
        KIZAMI_RETURN_IF_ERROR(multiply_chunk(stage.recipe, desc, i, j));
      }
    }
    return {};
  }

  /// One chunk of C, a product after another, and its epilogue.
  Status multiply_chunk(const EcRecipe& recipe, const product::FloatProductDesc& desc, std::int64_t i, std::int64_t j) {
    const plan::Chunk& chunk = ec_of(plan_).chunk;
    const std::int64_t form_stride = chunk.nc * chunk.mc;
    for (int p = 0; p < ec_products(plan_); ++p) {
      // The planes of A serve both parts of a complex product, and all columns where those are one chunk.
      const bool has_a = !ec_of(plan_).numerics.is_karatsuba && (p > 0 || j > 0);
      if (!has_a) split_a(recipe, desc, i, p);
      split_b(recipe, desc, j, p);
      KIZAMI_RETURN_IF_ERROR(launch(desc, buffers_.sums + p * form_stride));
    }
    const FloatSums sums{buffers_.sums, desc.c_col_stride, form_stride};
    const base::PhaseRange phase(base::Phase::kReconstruction);
    reconstruct_float(sums, buffers_.behind.a.scales + i, buffers_.behind.b.scales + j, problem_.alpha, problem_.beta,
                      threads_, problem_.c.block(i, j, desc.m, desc.n),
                      ec_of(plan_).numerics.is_karatsuba ? ComplexSums::kKaratsuba : ComplexSums::kParts);
    return {};
  }

  static constexpr ComplexTerm kKaratsubaTerms[3] = {ComplexTerm::kReal, ComplexTerm::kImaginary, ComplexTerm::kSum};

  /// The planes of lines of A, or of B, for product p of a chunk.
  void split_a(const EcRecipe& recipe, const product::FloatProductDesc& desc, std::int64_t i, int p) {
    split_lines(recipe, a_.subset(i, desc.m), RealForm::kPlain, p, buffers_.behind.a.scales + i, buffers_.a_planes,
                desc.a_row_stride, desc.a_plane_stride);
  }
  void split_b(const EcRecipe& recipe, const product::FloatProductDesc& desc, std::int64_t j, int p) {
    constexpr RealForm kForms[2] = {kIsComplex<T> ? RealForm::kRealPart : RealForm::kPlain, RealForm::kImagPart};
    split_lines(recipe, b_.subset(j, desc.n), kForms[p % 2], p, buffers_.behind.b.scales + j, buffers_.b_planes,
                desc.b_row_stride, desc.b_plane_stride);
  }
  void split_lines(const EcRecipe& recipe, const problem::Lines<T>& lines, RealForm form, int p,
                   const std::int32_t* scales, std::byte* planes, std::int64_t row_stride, std::int64_t plane_stride) {
    const base::PhaseRange phase(base::Phase::kSplit);
    if constexpr (kIsComplex<T>) {
      if (ec_of(plan_).numerics.is_karatsuba) {
        make_float_planes(lines, kKaratsubaTerms[p], scales, recipe.type, recipe.split, threads_, planes, row_stride,
                          plane_stride);
        return;
      }
    }
    make_float_planes(lines, form, scales, recipe.type, recipe.split, threads_, planes, row_stride, plane_stride);
  }

  Status launch(const product::FloatProductDesc& desc, float* sums) {
    const base::PhaseRange phase(base::Phase::kProduct);
    const product::FloatEngine& engine = *ec_of(plan_).engine;
    const auto answer = engine.query(desc, plan_.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
      return {StatusCode::kInternal,
              "engine " + std::string(engine.name()) + " refused a planned product: " + refusal->reason};
    }
    const auto& offer = std::get<product::Offer>(answer);
    if (offer.workspace_bytes > buffers_.engine_bytes) {
      return {StatusCode::kInternal, "engine " + std::string(engine.name()) + " asks for " +
                                         std::to_string(offer.workspace_bytes) + " bytes of scratch, booked were " +
                                         std::to_string(buffers_.engine_bytes)};
    }
    return engine.run(desc, offer, {buffers_.a_planes, buffers_.b_planes, sums}, buffers_.engine);
  }

  const plan::Plan& plan_;
  const problem::Problem<T>& problem_;
  Outcome& outcome_;
  int threads_;
  EcBuffers buffers_;
  problem::Lines<T> a_;
  problem::Lines<T> b_;
};

}  // namespace

template <class T>
Status run_ec(const plan::Plan& plan, const problem::Problem<T>& problem, std::byte* workspace, Outcome& outcome) {
  bool is_answered = false;
  KIZAMI_RETURN_IF_ERROR(EcCall<T>(plan, problem, workspace, outcome).run(is_answered));
  if (is_answered) return {};
  return ozaki2::run_ozaki2<T, T>(plan, problem, nullptr, nullptr, workspace, outcome);
}

#define KIZAMI_INSTANTIATE(T) \
  template Status run_ec<T>(const plan::Plan&, const problem::Problem<T>&, std::byte*, Outcome&)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(std::complex<float>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ec
