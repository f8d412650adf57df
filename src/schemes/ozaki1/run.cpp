// SPDX-License-Identifier: MIT
#include "schemes/ozaki1/run.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "base/instantiate.hpp"
#include "base/phase_range.hpp"
#include "certify/certificate.hpp"
#include "certify/statistics.hpp"
#include "fp64/nonfinite.hpp"
#include "kizami/formats.hpp"
#include "product/launch.hpp"
#include "schemes/ozaki1/plan.hpp"
#include "schemes/ozaki1/split.hpp"
#include "schemes/ozaki1/sums.hpp"
#include "schemes/ozaki2/buffers.hpp"
#include "schemes/ozaki2/run.hpp"

namespace kizami::ozaki1 {
namespace {

/// One operand during a call.
template <class T>
struct SlicedOperand {
  problem::Lines<T> lines;
  const schemes::Prepared* prepared = nullptr;
  ozaki2::LineBuffers buffers;
  bool is_reversed = false;           ///< B
  std::int64_t loaded[2] = {-1, -1};  ///< first line and element of the slices that the workspace holds

  [[nodiscard]] bool has_matrix() const { return lines.data != nullptr; }
};

/// Slices of some lines and one block of k, in the workspace or prepared. @units strides in digits
struct SliceSource {
  const std::byte* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t slice_stride = 0;
  std::int64_t part_stride = 0;
};

/// One call of run_ozaki1: the phases in order.
template <class T>
class Ozaki1Call {
 public:
  Ozaki1Call(const plan::Plan& plan, const problem::Problem<T>& problem, const schemes::Prepared* a_prepared,
             const schemes::Prepared* b_prepared, std::byte* workspace, Outcome& outcome)
      : plan_(plan),
        slices_(ozaki1_of(plan).numerics),
        form_(sliced_form(kIsComplex<T>, slices_.complex_form)),
        problem_(problem),
        outcome_(outcome),
        threads_(plan.schedule.facts.num_threads) {
    base::Carver carver(workspace);
    buffers_ = carve_slices(carver, plan);
    a_ = {problem::lines_of(Side::kA, problem.a), a_prepared, buffers_.behind.a};
    b_ = {problem::lines_of(Side::kB, problem.b), b_prepared, buffers_.behind.b, true};
  }

  /// @return whether slices answered
  Status run(bool& is_answered) {
    KIZAMI_RETURN_IF_ERROR(gather());
    KIZAMI_RETURN_IF_ERROR(choose_slices(is_answered));
    if (!is_answered) return require_matrices("more slices than were planned are needed");
    if (has_nonfinite()) KIZAMI_RETURN_IF_ERROR(require_matrices("NaN or Inf needs the values"));
    KIZAMI_RETURN_IF_ERROR(require_prepared_slices());
    set_exponents();
    report();
    KIZAMI_RETURN_IF_ERROR(multiply());
    if (has_nonfinite()) {
      const base::PhaseRange phase(base::Phase::kFp64);
      fp64::answer_nonfinite(problem_, buffers_.behind.a.stats, buffers_.behind.b.stats, threads_);
    }
    return {};
  }

 private:
  [[nodiscard]] bool has_nonfinite() const { return outcome_.nonfinite_rows + outcome_.nonfinite_cols > 0; }
  [[nodiscard]] bool is_int8() const { return slices_.format == SliceFormat::kInt8; }
  [[nodiscard]] std::int64_t digit_bytes() const { return slice_element_bytes(slices_.format); }

  Status require_matrices(const std::string& why) const {
    if (a_.has_matrix() && b_.has_matrix()) return {};
    return {StatusCode::kAccuracyUnreachable, "prepared operand: " + why + "; pass the original matrix with it"};
  }

  Status require_prepared_slices() const {
    for (const SlicedOperand<T>* side : {&a_, &b_}) {
      if (side->prepared == nullptr || side->prepared->num_slices >= rung_.num_slices || side->has_matrix()) continue;
      return {StatusCode::kAccuracyUnreachable, "prepared operand: has " + std::to_string(side->prepared->num_slices) +
                                                    " slices, " + std::to_string(rung_.num_slices) +
                                                    " are needed; pass the original matrix with it"};
    }
    return {};
  }

  Status gather() {
    const base::PhaseRange phase(base::Phase::kStatistics);
    for (SlicedOperand<T>* side : {&a_, &b_}) {
      if (side->prepared != nullptr) {
        std::copy_n(side->prepared->stats, side->prepared->num_lines, side->buffers.stats);
      } else {
        certify::gather_statistics(side->lines, nullptr, threads_, side->buffers.stats);
      }
    }
    outcome_.nonfinite_rows = fp64::count_nonfinite(buffers_.behind.a.stats, plan_.shape.m);
    outcome_.nonfinite_cols = fp64::count_nonfinite(buffers_.behind.b.stats, plan_.shape.n);
    if (!plan_.policy.reject_nonfinite) return {};
    KIZAMI_RETURN_IF_ERROR(fp64::reject_nonfinite(Side::kA, buffers_.behind.a.stats, plan_.shape.m));
    return fp64::reject_nonfinite(Side::kB, buffers_.behind.b.stats, plan_.shape.n);
  }

  certify::CertifiedLines<T> certified(const SlicedOperand<T>& side, std::int64_t num_lines) {
    const num::SliceLadder ladder = slice_ladder(slices_);
    for (std::int64_t i = 0; i < num_lines; ++i)
      side.buffers.weights[i] = num::slice_weight(ladder, side.buffers.stats[i]);
    return {side.lines, side.buffers.stats, side.buffers.weights, nullptr,
            side.prepared == nullptr ? nullptr : side.prepared->digits};
  }

  /// The rung: named, or the first one that certifies every pair of lines. @return by is_found whether there is one
  Status choose_slices(bool& is_found) {
    const base::PhaseRange phase(base::Phase::kCertificate);
    is_found = true;
    rung_ = slices_.rungs[0];
    if (slices_.until_zero) limit_to_what_is_there();
    if (!wants_certificate(plan_.policy)) return {};
    is_found = false;
    if (!ozaki2::ozaki2_of(plan_).has_certificate) return {};
    for (const SlicedOperand<T>* side : {&a_, &b_}) {
      if (side->prepared != nullptr && side->prepared->digits == nullptr)
        KIZAMI_RETURN_IF_ERROR(require_matrices("it was prepared without a certificate"));
    }
    const certify::CertifiedLines<T> a = certified(a_, plan_.shape.m);
    const certify::CertifiedLines<T> b = certified(b_, plan_.shape.n);
    std::int64_t failures = 0;
    KIZAMI_RETURN_IF_ERROR(certify::count_sampled_failures(ozaki2::certificate_plan(plan_), slices_.ladder,
                                                           buffers_.behind.certificate, a, b, failures));
    is_found = failures == 0;
    if (is_found) return {};
    KIZAMI_RETURN_IF_ERROR(require_matrices(std::to_string(failures) + " elements need more than its lowest rung"));
    num::RungHistogram histogram;
    KIZAMI_RETURN_IF_ERROR(certify::block_histogram(ozaki2::certificate_plan(plan_), slices_.ladder,
                                                    buffers_.behind.certificate, a, b, histogram));
    rung_index_ = num::lowest_for_all(slices_.ladder, histogram).rung;
    is_found = rung_index_ >= 0;
    if (is_found) rung_ = slices_.rungs[static_cast<std::size_t>(rung_index_)];
    return {};
  }

  /// kUntilZero: as many slices as the line that needs most of them.
  void limit_to_what_is_there() {
    const int sum_bit = slices_.complex_form == ComplexForm::kKaratsuba ? 1 : 0;
    int digits = 0;
    for (const auto& [side, num_lines] : {std::pair(&a_, plan_.shape.m), std::pair(&b_, plan_.shape.n)}) {
      const int common = matrix_exponent(*side, num_lines);
      for (std::int64_t i = 0; i < num_lines; ++i) {
        const num::LineStats& line = side->buffers.stats[i];
        const int exponent = slices_.one_scale ? common : line.exponent;
        digits = std::max(digits, num::num_exact_digits(slices_.rule, line, exponent + sum_bit));
      }
    }
    rung_ = rung_until_zero(slices_, digits);
  }

  /// The largest exponent of any line.
  [[nodiscard]] static int matrix_exponent(const SlicedOperand<T>& side, std::int64_t num_lines) {
    int largest = num::kNoExponent;
    for (std::int64_t i = 0; i < num_lines; ++i) largest = std::max(largest, side.buffers.stats[i].exponent);
    return largest;
  }

  void set_exponents() {
    for (const auto& [side, num_lines] : {std::pair(&a_, plan_.shape.m), std::pair(&b_, plan_.shape.n)}) {
      const int common = matrix_exponent(*side, num_lines);
      for (std::int64_t i = 0; i < num_lines; ++i) {
        const num::LineStats& line = side->buffers.stats[i];
        const bool is_zero = line.is_zero();
        if (!is_zero) spread_ = std::max(spread_, slices_.one_scale ? common - line.exponent : 0);
        side->buffers.scales[i] = !line.is_finite     ? num::kSkipLine
                                  : is_zero           ? 0
                                  : slices_.one_scale ? common
                                                      : line.exponent;
      }
    }
  }

  void report() {
    outcome_.scheme = Scheme::kOzaki1;
    outcome_.engine = is_int8() ? ozaki1_of(plan_).engine->name() : ozaki1_of(plan_).float_engine->name();
    // One scale for lines of different size: what is left of each element is that much larger beside its line, of A and
    // of B.
    outcome_.bound = std::ldexp(plan_.first().bound, std::min(2 * spread_, 900));
    outcome_.gauge = plan_.first().gauge;
    outcome_.slices = rung_.num_slices;
    outcome_.rung = rung_index_;
  }

  Status multiply() {
    const plan::Chunk& chunk = ozaki1_of(plan_).chunk;
    const std::int64_t num_forms = kIsComplex<T> ? 2 : 1;
    for (std::int64_t j = 0; j < plan_.shape.n; j += chunk.nc) {
      for (std::int64_t i = 0; i < plan_.shape.m; i += chunk.mc) {
        block_ = {std::min(chunk.mc, plan_.shape.m - i), std::min(chunk.nc, plan_.shape.n - j), chunk.kc};
        sums_ = {buffers_.sums, slice_sum_words(plan_), block_.mc, block_.mc * block_.nc};
        clear_sums(sums_, block_.mc, block_.nc, static_cast<int>(num_forms), threads_);
        for (std::int64_t h = 0; h < plan_.shape.k; h += chunk.kc)
          KIZAMI_RETURN_IF_ERROR(add_block(i, j, h, std::min(chunk.kc, plan_.shape.k - h)));
        const int unit = 2 * num::digit_unit(slices_.rule, 0) - slices_.rule.step * (rung_.num_diagonals - 1);
        const base::PhaseRange phase(base::Phase::kReconstruction);
        reconstruct_slices(sums_, unit, buffers_.behind.a.scales + i, buffers_.behind.b.scales + j, problem_.alpha,
                           problem_.beta, threads_, problem_.c.block(i, j, block_.mc, block_.nc));
      }
    }
    return {};
  }

  /// All products of one block of k.
  Status add_block(std::int64_t i, std::int64_t j, std::int64_t h, std::int64_t length) {
    const SliceSource a = slices_of(a_, i, block_.mc, h, length, form_.num_parts, buffers_.a);
    const SliceSource b = slices_of(b_, j, block_.nc, h, length, form_.b_parts(), buffers_.b);
    for (int p = 0; p < form_.num_products; ++p) {
      for (int g = 0; g < rung_.num_diagonals; ++g)
        KIZAMI_RETURN_IF_ERROR(add_diagonal(form_.products[p], a, b, g, length));
    }
    return {};
  }

  /// The products of slices i and g - i of one real product, as the schedule groups them.
  Status add_diagonal(const SlicedProduct& product, const SliceSource& a, const SliceSource& b, int g,
                      std::int64_t length) {
    const int l = rung_.num_slices;
    const int first = std::max(0, g - l + 1);
    const int end = std::min(g, l - 1) + 1;
    const std::int64_t numbers = slice_numbers(plan_, length);
    const std::int64_t stride = slice_stride(plan_, length);
    const SliceSums how = ozaki1_of(plan_).sums;
    // Slices of prepared operands are side by side only where the block is all of k.
    const bool is_adjacent = a.slice_stride == stride && b.slice_stride == stride;
    int at_once = 1;
    if (how == SliceSums::kConcatenated) {
      const std::int64_t limit = slice_sum_limit(slices_.format, slices_.rule);
      const std::int64_t most = limit / slice_stride(plan_, std::min(ozaki1_of(plan_).chunk.kc, plan_.shape.k));
      if (is_adjacent) at_once = static_cast<int>(std::clamp<std::int64_t>(most, 1, l));
    } else if (is_int8()) {
      at_once = l;
    }
    for (int s = first; s < end; s += at_once) {
      const int count = std::min(at_once, end - s);
      const bool is_concatenated = how == SliceSums::kConcatenated && count > 1;
      // Slice t of B lies at place l - 1 - t of the l slices: g - s, g - s - 1, ... are one after another.
      const std::byte* const a_data = a.data + (product.a_part * a.part_stride + s * a.slice_stride) * digit_bytes();
      const std::byte* const b_data =
          b.data + (product.b_part * b.part_stride + (l - 1 - (g - s)) * b.slice_stride) * digit_bytes();
      const std::int64_t k = is_concatenated ? count * stride : numbers;
      const int planes = is_concatenated ? 1 : count;
      const bool is_alone = how == SliceSums::kPairs || how == SliceSums::kRounded;
      const int per_sum = is_alone ? 1 : slices_per_sum(plan_, length);
      const int shift = slices_.rule.step * (rung_.num_diagonals - 1 - g) + product.shift;
      KIZAMI_RETURN_IF_ERROR(launch_planes(a, b, a_data, b_data, k, planes));
      add_planes(product, planes, per_sum, shift);
    }
    return {};
  }

  /// acc = products of `planes` slices of A and B, k numbers each.
  Status launch_planes(const SliceSource& a, const SliceSource& b, const std::byte* a_data, const std::byte* b_data,
                       std::int64_t k, int planes) {
    const std::int64_t rows = form_.num_stacked * block_.mc;
    if (!is_int8()) return launch_float(a, b, a_data, b_data, k);
    product::ProductDesc desc = slice_product(plan_, planes, false);
    desc.m = rows;
    desc.n = block_.nc;
    desc.k = k;
    desc.a_row_stride = a.row_stride;
    desc.a_plane_stride = a.slice_stride;
    desc.b_row_stride = b.row_stride;
    desc.b_plane_stride = b.slice_stride;
    desc.c_col_stride = rows;
    desc.c_plane_stride = rows * block_.nc;
    const product::Pointers pointers{reinterpret_cast<const std::int8_t*>(a_data),
                                     reinterpret_cast<const std::int8_t*>(b_data), buffers_.acc};
    return product::launch(*ozaki1_of(plan_).engine, plan_.schedule.facts, desc, pointers,
                           {buffers_.engine, buffers_.engine_bytes});
  }

  Status launch_float(const SliceSource& a, const SliceSource& b, const std::byte* a_data, const std::byte* b_data,
                      std::int64_t k) {
    const base::PhaseRange phase(base::Phase::kProduct);
    const product::FloatEngine& engine = *ozaki1_of(plan_).float_engine;
    product::FloatProductDesc desc = float_slice_product(plan_, 1);
    desc.m = form_.num_stacked * block_.mc;
    desc.n = block_.nc;
    desc.k = k;
    desc.k_interval = base::round_up(k, product::kIntervalUnit);
    desc.a_row_stride = a.row_stride;
    desc.b_row_stride = b.row_stride;
    desc.c_col_stride = desc.m;
    const auto answer = engine.query(desc, plan_.schedule.facts);
    if (const auto* const refusal = std::get_if<product::Refusal>(&answer)) {
      return {StatusCode::kInternal,
              "engine " + std::string(engine.name()) + " refused a planned product: " + refusal->reason};
    }
    return engine.run(desc, std::get<product::Offer>(answer), {a_data, b_data, static_cast<float*>(buffers_.acc)},
                      nullptr);
  }

  void add_planes(const SlicedProduct& product, int planes, int per_sum, int shift) {
    const base::PhaseRange phase(base::Phase::kReconstruction);
    const std::int64_t rows = form_.num_stacked * block_.mc;
    const auto add = [&]<class Acc>(const Acc* acc) {
      for (int q = 0; q < form_.num_stacked; ++q) {
        const SliceProducts<Acc> products{acc + q * block_.mc, planes, rows, rows * block_.nc};
        for (int form = 0; form < 2; ++form) {
          const int sign = form_.num_stacked > 1 ? (form == q ? 1 : 0) : product.signs[form];
          if (sign != 0) add_products(products, per_sum, sign, shift, form, sums_, block_.mc, block_.nc, threads_);
        }
      }
    };
    if (is_int8()) {
      add(static_cast<const std::int32_t*>(buffers_.acc));
    } else {
      add(static_cast<const float*>(buffers_.acc));
    }
  }

  /// Slices of lines [first, first + count) over elements [h, h + length): prepared, in the workspace already, or made.
  SliceSource slices_of(SlicedOperand<T>& side, std::int64_t first, std::int64_t count, std::int64_t h,
                        std::int64_t length, int num_parts, std::byte* slices) {
    const int l = rung_.num_slices;
    if (side.prepared != nullptr && side.prepared->num_slices >= l) {
      const schemes::Prepared& p = *side.prepared;
      const std::int64_t row = p.num_slices * p.row_stride;
      // Of more slices than needed the first ones: those of B lie at the end.
      const std::int64_t skipped = side.is_reversed ? (p.num_slices - l) * p.row_stride : 0;
      const auto* const data = reinterpret_cast<const std::byte*>(p.planes);
      return {data + first * row + skipped + slice_numbers(plan_, h), row, p.row_stride, p.num_lines * row};
    }
    const std::int64_t stride = slice_stride(plan_, length);
    const SliceSource source{slices, l * stride, stride, count * l * stride};
    if (side.loaded[0] == first && side.loaded[1] == h) return source;
    side.loaded[0] = first;
    side.loaded[1] = h;
    const base::PhaseRange phase(base::Phase::kSplit);
    for (int part = 0; part < num_parts; ++part) {
      const num::SliceTerms terms = side.is_reversed ? form_.b_terms[part] : form_.a_terms[part];
      const auto make = [&](auto* digits) {
        make_slices(side.lines.subset(first, count), terms, side.buffers.scales + first, h, length, slices_.rule, l,
                    side.is_reversed, threads_, digits + part * source.part_stride, source.row_stride, stride);
      };
      if (is_int8()) {
        make(reinterpret_cast<std::int8_t*>(slices));
      } else if (slice_float_type(slices_.format) == num::FloatType::kBf16) {
        make(reinterpret_cast<Bf16*>(slices));
      } else {
        make(reinterpret_cast<Fp16*>(slices));
      }
    }
    return source;
  }

  const plan::Plan& plan_;
  const SliceNumerics& slices_;
  SlicedForm form_;
  const problem::Problem<T>& problem_;
  Outcome& outcome_;
  int threads_;
  SliceBuffers buffers_;
  SlicedOperand<T> a_;
  SlicedOperand<T> b_;
  SliceRung rung_;
  int rung_index_ = 0;
  int spread_ = 0;
  plan::Chunk block_;  ///< of C: lines of A and B, and the block of k
  ExactSums sums_;
};

}  // namespace

template <class T>
Status run_ozaki1(const plan::Plan& plan, const problem::Problem<T>& problem, const schemes::Prepared* a_prepared,
                  const schemes::Prepared* b_prepared, std::byte* workspace, Outcome& outcome) {
  bool is_answered = false;
  KIZAMI_RETURN_IF_ERROR(Ozaki1Call<T>(plan, problem, a_prepared, b_prepared, workspace, outcome).run(is_answered));
  if (is_answered) return {};
  return ozaki2::run_ozaki2<T, T>(plan, problem, nullptr, nullptr, workspace, outcome);
}

#define KIZAMI_INSTANTIATE(T)                                                                            \
  template Status run_ozaki1<T>(const plan::Plan&, const problem::Problem<T>&, const schemes::Prepared*, \
                                const schemes::Prepared*, std::byte*, Outcome&)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::ozaki1
