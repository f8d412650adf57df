// SPDX-License-Identifier: MIT
#include "model/phases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "num/moduli.hpp"
#include "num/rung.hpp"

namespace kizami::model {
namespace {

struct Extents {
  double m = 0;
  double n = 0;
  double k = 0;
};
[[nodiscard]] Extents extents_of(const Request& r) {
  return {static_cast<double>(r.m), static_cast<double>(r.n), static_cast<double>(r.k)};
}
[[nodiscard]] double element_bytes(const Request& r) { return static_cast<double>(size_bytes(r.scalar)); }
/// Of an element of C: written, and of an update read.
[[nodiscard]] double result_bytes(const Request& r) { return (r.is_update ? 2 : 1) * element_bytes(r); }

/// One program, one request, one device: what the phases of every scheme need.
struct Setting {
  const Program& program;
  const Request& request;
  const Rates& rates;
  bool is_sustained;

  /// Products with what they read and write, as one launch or as calls.
  [[nodiscard]] PhaseTime products_time(const char* phase, const Products& p, double result_bytes, bool is_one_launch,
                                        double plane_bytes = 1) const {
    return products_time(program.products, phase, p, result_bytes, is_one_launch, plane_bytes);
  }
  [[nodiscard]] PhaseTime products_time(const ProductModel& model, const char* phase, const Products& p,
                                        double result_bytes, bool is_one_launch, double plane_bytes = 1) const {
    Work work{.phase = phase, .part = Part::kComputation, .format = p.format};
    work.launches = model.share_by_size.empty() ? (is_one_launch ? 1 : p.num_products) : 0;
    work.operations = p.operations();
    work.bytes = p.num_products * plane_bytes * (p.is_triangle ? p.n : p.m + p.n) * p.k + result_bytes;
    Products of_call = p;
    of_call.element_bytes = plane_bytes;
    if (!is_one_launch) {
      of_call.num_calls *= p.num_products;
      of_call.num_products = of_call.num_results = 1;
    }
    work.reached = share_reached(model, of_call, rates, is_sustained);
    return time_of(work, rates);
  }
};

/// Launches beside the work of a phase.
void add_launches(PhaseTime& time, double seconds) {
  constexpr auto kLaunch = static_cast<std::size_t>(Roof::kLaunch);
  time.seconds += seconds;
  time.of_roof[kLaunch] += seconds;
  time.held[kLaunch] += seconds;
}

/// What a kernel waits for beside its work, until its first blocks are done.
void add_waits(PhaseTime& time, double waits, const Rates& rates) { add_launches(time, waits * rates.latency_seconds); }

/// One after the other.
[[nodiscard]] PhaseTime repeated(PhaseTime time, double count) {
  time.seconds *= count;
  for (double& seconds : time.of_roof) seconds *= count;
  for (double& seconds : time.held) seconds *= count;
  return time;
}

// ---- native -----------------------------------------------------------------------------------------------------------

[[nodiscard]] Phases native_phases(const Setting& s) {
  const Extents e = extents_of(s.request);
  const double count = is_complex(s.request.scalar) ? 4 : 1;
  const Products p{.format = format_of(s.request),
                   .m = e.m,
                   .n = e.n,
                   .k = e.k,
                   .num_products = count,
                   .element_bytes = element_bytes(s.request) / (count > 1 ? 2 : 1)};
  Work work{.phase = "product", .part = Part::kComputation, .launches = 1, .format = p.format};
  work.bytes = element_bytes(s.request) * (e.m * e.k + e.k * e.n) + result_bytes(s.request) * e.m * e.n;
  work.operations = flops_of(s.request);
  work.reached = share_reached(native_products(), p, s.rates, s.is_sustained);
  Phases out;
  out.times.push_back(time_of(work, s.rates));
  out.operations = work.operations;
  out.products = static_cast<int>(count);
  out.accumulators = 1;
  return out;
}

// ---- ozaki2 -----------------------------------------------------------------------------------------------------------

struct Counts {
  double moduli = 0;
  double products = 0;  ///< of all moduli
  double planes = 0;    ///< of an element of an operand, and of a result
};
[[nodiscard]] Counts counts_of(const Setting& s) {
  const bool is_fp8 = format_of(s.request) == Format::kFp8;
  const bool is_double = real_of(s.request.scalar) == Scalar::kF64;
  constexpr int kDouble = 14;
  constexpr int kComplexDouble = 15;
  constexpr int kSingle = 7;
  constexpr int kDoubleFp8 = 12;
  constexpr int kSingleFp8 = 6;
  int moduli = s.request.moduli;
  if (moduli == 0) {
    if (is_fp8) {
      moduli = is_double ? kDoubleFp8 : kSingleFp8;
    } else {
      // A program that multiplies complex numbers by real products needs no modulus for their sum.
      const bool has_own_ring = s.program.residues.complex_products == 0;
      moduli = !is_double ? kSingle : is_complex(s.request.scalar) && has_own_ring ? kComplexDouble : kDouble;
    }
  }
  const int fixed = s.program.residues.complex_products;
  const int planes = !is_complex(s.request.scalar) ? moduli
                     : fixed > 0                   ? fixed * moduli
                                                   : num::num_planes(num::Ring::kComplex, moduli);
  const int of_digits = is_fp8 ? 3 : 1;  // pairs of e4m3 digits, by Karatsuba
  const int of_plane = is_fp8 ? 2 : 1;   // bytes
  return {static_cast<double>(moduli), static_cast<double>(planes * of_digits), static_cast<double>(planes * of_plane)};
}

/// Those of the type; none of real FP32 numbers.
[[nodiscard]] QuadrantModel quadrants_of(const Setting& s) {
  const ResidueModel& model = s.program.residues;
  switch (s.request.scalar) {
    case Scalar::kF64:
      return model.quadrants;
    case Scalar::kC128:
      return model.quadrants_complex;
    case Scalar::kC64:
      return model.quadrants_fp32_complex;
    default:
      return {};
  }
}

/// Whether seven products of quadrants may stand for the eight of a whole one.
[[nodiscard]] bool may_take_quadrants(const Setting& s, const Counts& c) {
  return s.request.may_take_quadrants && !s.request.is_triangle && c.moduli <= quadrants_of(s).moduli &&
         static_cast<double>(s.request.k) <= kLargestBlock;
}

/// Cycles of an element and a plane.
[[nodiscard]] double split_cycles_of(const Setting& s) {
  const ResidueModel& model = s.program.residues;
  const bool has_parts = is_complex(s.request.scalar);
  const double of_fp32 = has_parts ? model.split_cycles_fp32_complex : model.split_cycles_fp32;
  const bool is_one_word = has_parts && counts_of(s).moduli <= model.one_word_moduli;
  const bool is_fp32 = real_of(s.request.scalar) == Scalar::kF32 && of_fp32 > 0 && !is_one_word;
  const double cycles = is_fp32 ? of_fp32 : has_parts ? model.split_cycles_complex : model.split_cycles;
  return cycles / cluster_share(model.clusters, static_cast<double>(s.request.k));
}
[[nodiscard]] double crt_cycles_of(const Setting& s) {
  const ResidueModel& model = s.program.residues;
  if (s.request.scalar == Scalar::kF32 && model.crt_cycles_fp32 > 0) return model.crt_cycles_fp32;
  return is_complex(s.request.scalar) ? model.crt_cycles_complex : model.crt_cycles;
}

constexpr double kSumBytes = 4;  // INT32

/// Whether samples are multiplied: not those of ordinary lines that the split judges by itself.
[[nodiscard]] bool has_samples(const Setting& s) {
  const ResidueModel& model = s.program.residues;
  return model.has_certificate && !(model.judges_lines && static_cast<double>(s.request.k) <= model.longest_pass);
}

/// Sampled products, and their comparison.
[[nodiscard]] PhaseTime certificate_time(const Setting& s) {
  const Extents e = extents_of(s.request);
  const ResidueModel& model = s.program.residues;
  const Format format = format_of(s.request);
  const double sampled = std::ceil(e.k / static_cast<double>(sample_stride(s.request)));
  const double count = is_complex(s.request.scalar) ? 3 : 1;
  const bool is_triangle = s.request.is_triangle;  // lines of A stand for both sides
  const Products p{.format = format,
                   .m = e.m,
                   .n = e.n,
                   .k = sampled,
                   .num_products = count,
                   .num_results = count,
                   .is_triangle = is_triangle};
  if (model.compare_cycles > 0) {  // a library stores the sums, and a kernel reads them
    const double sums = (is_triangle ? 0.5 : 1) * count * e.m * e.n;
    PhaseTime time = s.products_time("certificate", p, kSumBytes * sums, false);
    Work compare{.phase = "certificate", .launches = 1, .bytes = kSumBytes * sums};
    compare.sm_cycles = sums * model.compare_cycles;
    time.add(time_of(compare, s.rates));
    return time;
  }
  Work work{.phase = "certificate", .part = Part::kComputation, .launches = 1, .format = format};
  work.operations = p.operations();
  work.bytes = p.num_products * (is_triangle ? e.n : e.m + e.n) * sampled;
  work.reached = share_reached(model.sampled, p, s.rates, s.is_sustained);
  PhaseTime time = time_of(work, s.rates);
  add_waits(time, model.waits_of_certificate, s.rates);
  return time;
}

[[nodiscard]] Phases residue_phases(const Setting& s, bool takes_quadrants) {
  const Extents e = extents_of(s.request);
  const ResidueModel& model = s.program.residues;
  const Counts c = counts_of(s);
  const bool has_parts = is_complex(s.request.scalar);
  const double parts = has_parts ? 2 : 1;
  const bool is_weak = has_weak_fp64(s.rates);
  const double bytes = element_bytes(s.request);
  const bool is_triangle = s.request.is_triangle;  // lines of A stand for both sides
  const double num_lines = is_triangle ? e.n : e.m + e.n;
  const double lines = num_lines * e.k;
  const double pairs = (is_triangle ? 0.5 : 1) * e.m * e.n;
  const Format format = format_of(s.request);

  constexpr double kQuadrantProducts = 7;
  const double planes = takes_quadrants ? c.planes * kQuadrantProducts / 4 : c.planes;  // for each element
  Phases out;
  out.has_quadrants = takes_quadrants;
  Work split{.phase = "split", .launches = model.split_launches};
  split.bytes = lines * (bytes + planes);
  split.sm_cycles = lines * planes * (takes_quadrants ? quadrants_of(s).split_cycles : split_cycles_of(s));
  split.fp64_instructions = lines * parts * (is_weak ? model.split_fp64_weak : model.split_fp64);
  PhaseTime split_time = time_of(split, s.rates);
  if (model.longest_pass > 0 && e.k > model.longest_pass)  // statistics of the lines of either operand, in two passes
    split_time.add(time_of({.phase = "split", .launches = 2, .bytes = 2 * bytes * lines}, s.rates));
  add_waits(split_time, model.waits_of_split * piece_of_line(e.k) / kMostOfLine, s.rates);
  if (takes_quadrants) add_launches(split_time, model.quadrant_seconds);
  out.times.push_back(split_time);

  if (has_samples(s)) out.times.push_back(certificate_time(s));
  if (s.request.is_accurate) {
    const Products p{.format = format, .m = e.m, .n = e.n, .k = e.k};
    PhaseTime scaling = s.products_time("scaling product", p, kSumBytes * pairs, false);
    scaling.add(time_of({.phase = "scaling product", .launches = 2, .bytes = lines * (bytes + 1)}, s.rates));
    out.times.push_back(scaling);
  }

  const double blocks = std::ceil(e.k / kLargestBlock);
  const double count = c.products * blocks;
  Products p{.format = format,
             .m = e.m,
             .n = e.n,
             .k = e.k / blocks,
             .num_products = count,
             .num_results = count,
             .is_triangle = is_triangle};
  if (takes_quadrants) {
    p = {.format = format, .m = std::ceil(e.m / 2), .n = std::ceil(e.n / 2), .k = std::ceil(e.k / 2)};
    p.num_products = p.num_results = kQuadrantProducts * c.products;
  }
  const double stored = model.reduces_in_product ? 1 : kSumBytes;
  // Products of a library: one call each, but of a small C so many in one.
  const bool is_one_launch = model.reduces_in_product || pairs < model.most_batched_elements;
  const double results = (is_triangle ? 0.5 : 1) * p.m * p.n * p.num_results;
  out.times.push_back(s.products_time("products", p, stored * results, is_one_launch));
  if (!model.reduces_in_product) {
    Work reduce{.phase = "residues", .launches = is_one_launch ? 1 : count};
    reduce.bytes = pairs * (kSumBytes * c.products + c.planes) * blocks;
    reduce.sm_cycles = pairs * count * model.reduce_cycles;
    out.times.push_back(time_of(reduce, s.rates));
  }

  Work crt{.phase = "crt", .launches = 1};
  crt.bytes = pairs * (planes + result_bytes(s.request));
  crt.sm_cycles = pairs * planes * (takes_quadrants ? quadrants_of(s).crt_cycles : crt_cycles_of(s));
  crt.fp64_instructions = pairs * parts * c.moduli * (is_weak ? model.crt_fp64_weak : model.crt_fp64);
  crt.int32_instructions = is_weak ? pairs * parts * c.moduli * model.crt_int32_weak : 0;
  PhaseTime crt_time = time_of(crt, s.rates);
  add_waits(crt_time, (has_parts ? model.waits_of_crt_complex : model.waits_of_crt) * planes, s.rates);
  out.times.push_back(crt_time);
  if (model.rest_launches > 0)
    out.times.push_back(time_of({.phase = "rest", .launches = model.rest_launches}, s.rates));

  out.operations = takes_quadrants ? p.operations() : 2 * pairs * e.k * c.products;
  out.products = static_cast<int>(takes_quadrants ? p.num_products : c.products);
  out.accumulators = out.products;
  return out;
}

[[nodiscard]] double seconds_of(const Phases& phases) {
  double sum = 0;
  for (const PhaseTime& time : phases.times) sum += time.seconds;
  return sum;
}

/// The quicker of whole products and products of quadrants.
[[nodiscard]] Phases residue_phases(const Setting& s) {
  Phases whole = residue_phases(s, false);
  if (!may_take_quadrants(s, counts_of(s))) return whole;
  Phases of_quadrants = residue_phases(s, true);
  return seconds_of(of_quadrants) < seconds_of(whole) ? of_quadrants : whole;
}

// ---- slices -----------------------------------------------------------------------------------------------------------

/// A real product in slices: products and sums; splits are apart, since complex forms share them.
struct Sliced {
  PhaseTime products;
  PhaseTime sums;
  double operations = 0;
  int num_products = 0;
  int accumulators = 0;
};

/// The larger extent in blocks, so that each call is as large as a library likes it.
[[nodiscard]] Extents block_of(const Extents& e, double lines, double& count) {
  constexpr double kBlock = 8192;
  Extents out = e;
  double& larger = out.m >= out.n ? out.m : out.n;
  count = std::ceil(larger / (lines > 0 ? lines : kBlock));
  larger /= count;
  return out;
}

/// Real products of one shape, all of them.
struct SliceCounts {
  int slices = 7;
  double k_blocks = 1;       ///< where not one product fits an accumulator
  double k = 0;              ///< of a block
  std::vector<int> windows;  ///< products of each sum
};
[[nodiscard]] SliceCounts slice_counts(const Setting& s, const Extents& e) {
  SliceCounts c;
  if (s.request.slices > 0) c.slices = s.request.slices;
  const auto most_k = static_cast<double>(products_of_accumulator(1, kDigitBits));
  c.k_blocks = std::ceil(e.k / most_k);
  c.k = e.k / c.k_blocks;
  const std::int64_t r = std::max<std::int64_t>(products_of_accumulator(static_cast<std::int64_t>(c.k), kDigitBits), 1);
  c.windows = windows_of(s.request.way, c.slices, r);
  return c;
}

/// All products in one launch, or of way kOzimmu, which rounds each sum, one launch a product.
[[nodiscard]] PhaseTime sliced_launches(const Setting& s, const Extents& e, const SliceCounts& c, double count) {
  const double products = static_cast<double>(c.slices) * (c.slices + 1) / 2 * c.k_blocks * count;
  const double sums = static_cast<double>(c.windows.size()) * c.k_blocks * count;
  const double bytes = kSumBytes * e.m * e.n;
  const ProductModel& model = s.program.slices.products.forms.empty() ? s.program.products : s.program.slices.products;
  Products p{.format = Format::kInt8, .m = e.m, .n = e.n, .k = c.k, .stored_bytes = s.program.slices.stored_bytes};
  if (s.request.way == Way::kOzimmu) {
    p.num_calls = sums;
    return repeated(s.products_time(model, "products", p, bytes, true), sums);
  }
  p.num_products = products;
  p.num_results = sums;
  p.longest = *std::max_element(c.windows.begin(), c.windows.end());
  return s.products_time(model, "products", p, bytes * sums, true);
}

/// One call of a library after another.
[[nodiscard]] PhaseTime sliced_calls(const Setting& s, const SliceCounts& c, const Extents& block, double row_blocks) {
  // Blocks of the documents have concatenated products, those of Kizami add pairs.
  const bool is_concatenated =
      s.request.way == Way::kEfS || (s.request.way == Way::kEfL && s.program.slices.block_lines == 0);
  double num_calls = 0;
  for (const int products : c.windows) num_calls += is_concatenated ? 1 : products;
  num_calls *= row_blocks * c.k_blocks;
  const double mean_share = static_cast<double>(c.slices) * (c.slices + 1) / 2 * row_blocks * c.k_blocks / num_calls;
  PhaseTime out;
  out.phase = "products";
  out.part = Part::kComputation;
  for (const int products : c.windows) {
    for (int call = 0; call < (is_concatenated ? 1 : products); ++call) {
      const double kc = is_concatenated ? c.k * products : c.k;
      const double result_bytes = (call == 0 ? kSumBytes : 2 * kSumBytes) * block.m * block.n;
      Products p{.format = Format::kInt8, .m = block.m, .n = block.n, .k = kc};
      p.num_calls = num_calls * mean_share * c.k / kc;  // as long as all of them
      p.is_added = call > 0;
      out.add(repeated(s.products_time("products", p, result_bytes, false), row_blocks * c.k_blocks));
    }
  }
  return out;
}

/// Sums of as many planes of each of `count` real products: of all in one pass, parts of complex numbers too, where sums are
/// fused.
[[nodiscard]] PhaseTime slice_sums(const Setting& s, double pairs, double sums, double row_blocks, double count) {
  const SliceModel& model = s.program.slices;
  const bool are_fused = model.has_fused_sums && s.request.way != Way::kOzimmu;
  const double at_once = are_fused ? count : 1;
  const double launches = (are_fused ? 1 : sums) * row_blocks + (model.scaling_bytes > 0 ? 1 : 0);
  // Behind a kernel of our own, but behind a library's only its launches of one sum after another.
  const bool are_hidden = model.hidden_launch > 0 && (!are_fused || model.is_one_launch);
  Work work{.phase = "sums", .launches = are_hidden ? 0 : launches};
  const double read = s.request.is_update && model.scaling_bytes == 0 ? 8 : 0;  // else by the pass for alpha and beta
  work.bytes = pairs * ((are_fused ? kSumBytes * sums * at_once + 8 : 20 * sums) + model.scaling_bytes + read);
  work.sm_cycles = pairs * at_once *
                   (are_fused ? model.sum_base_cycles + sums * model.sum_cycles : sums * model.sum_in_memory_cycles);
  PhaseTime time = time_of(work, s.rates);
  if (are_hidden) add_launches(time, std::max(model.hidden_launch * launches - time.seconds, 0.0));
  // A thread has all sums of an element, and loads one when it has added the one before.
  if (are_fused) add_waits(time, model.waits_of_sum * sums * at_once, s.rates);
  return repeated(time, count / at_once);
}

/// @param count of real products of this shape, in one launch where the program has one
[[nodiscard]] Sliced sliced_product(const Setting& s, const Extents& e, double count) {
  const SliceModel& model = s.program.slices;
  const SliceCounts c = slice_counts(s, e);
  double row_blocks = 1;
  const auto lines = static_cast<double>(s.request.block_lines);
  const Extents block = s.request.way == Way::kEfL ? block_of(e, model.block_lines, row_blocks)
                        : lines > 0                ? block_of(e, lines, row_blocks)
                                                   : e;
  const double pairs = e.m * e.n;
  const int num_products = c.slices * (c.slices + 1) / 2;
  const auto sums = static_cast<double>(c.windows.size()) * c.k_blocks;

  Sliced out;
  out.num_products = static_cast<int>(num_products * c.k_blocks * count);
  out.accumulators = static_cast<int>(sums * count);
  out.operations = 2 * pairs * e.k * num_products * count;
  out.products =
      model.is_one_launch ? sliced_launches(s, e, c, count) : repeated(sliced_calls(s, c, block, row_blocks), count);
  out.sums = slice_sums(s, pairs, sums, row_blocks, count);
  return out;
}

/// One kernel multiplies and sums: nothing between is stored.
[[nodiscard]] Sliced fused_slices(const Setting& s, const Extents& e) {
  const SliceCounts c = slice_counts(s, e);
  Sliced out;
  out.num_products = c.slices * (c.slices + 1) / 2;
  out.accumulators = static_cast<int>(c.windows.size());
  out.operations = 2 * e.m * e.n * e.k * out.num_products;
  const Products p{
      .format = Format::kInt8, .m = e.m, .n = e.n, .k = e.k, .num_products = static_cast<double>(out.num_products)};
  Work work{
      .phase = "products", .part = Part::kComputation, .launches = 1, .bytes = result_bytes(s.request) * e.m * e.n};
  work.operations = out.operations;
  work.reached = share_reached(s.program.slices.fused, p, s.rates, s.is_sustained);
  if (c.slices == s.program.slices.most_fused_slices) work.reached *= s.program.slices.fused_share_of_most;
  out.products = time_of(work, s.rates);
  return out;
}

/// @param elements real numbers that become digits
[[nodiscard]] PhaseTime slice_split(const Setting& s, double elements) {
  const SliceModel& model = s.program.slices;
  const int slices = s.request.slices > 0 ? s.request.slices : 7;
  const double real_bytes = real_of(s.request.scalar) == Scalar::kF64 ? 8 : 4;
  // Largest exponents and digits in one pass, where lines are short enough; two passes for statistics, where not.
  const auto k = static_cast<double>(s.request.k);
  const bool is_short = k <= model.longest_pass;
  const double passes = model.longest_pass == 0 ? 2 : is_short ? 1 : 3;
  const double digit = s.request.has_byte_digits ? model.split_byte_cycles : model.split_cycles;
  Work work{.phase = "split", .launches = 2};
  work.bytes = elements * (passes * real_bytes + slices);
  work.sm_cycles = elements * (model.split_base_cycles + slices * digit) *
                   (is_complex(s.request.scalar) ? model.split_complex : 1.0) / cluster_share(model.clusters, k);
  return time_of(work, s.rates);
}

[[nodiscard]] Phases slice_phases(const Setting& s) {
  const Extents e = extents_of(s.request);
  const double lines = (e.m + e.n) * e.k;
  double count = 1;  // of real products
  double split_elements = lines;
  Extents of_product = e;
  double combined_bytes = 0;  // of an element of C, to make complex numbers of real products
  switch (is_complex(s.request.scalar) ? s.request.complex_form : ComplexForm::kAuto) {
    case ComplexForm::kAuto:
      break;
    case ComplexForm::kKaratsuba:  // Ar Br, Ai Bi, (Ar + Ai)(Br + Bi)
      count = 3;
      split_elements = 3 * lines;
      combined_bytes = 3 * 8 + 16;
      break;
    case ComplexForm::kEnlarged:  // [Ar Ai] [Br Bi; -Bi Br] = [Cr Ci]
      of_product = {e.m, 2 * e.n, 2 * e.k};
      split_elements = 2 * e.m * e.k + 4 * e.n * e.k;
      if (s.program.slices.stacks_parts) {  // [Ar -Ai] and [Ai Ar] by [Br; Bi]
        of_product.n = e.n;
        split_elements = 4 * e.m * e.k + 2 * e.n * e.k;
        count = 2;
      }
      break;
    case ComplexForm::kFour:
      count = 4;
      split_elements = 2 * lines;
      combined_bytes = 4 * 8 + 16;
      break;
  }
  Phases out;
  const bool has_own_sums_of_parts = s.program.slices.part_sum_cycles > 0;
  out.parts_overlap = s.request.way == Way::kEfL && !s.program.slices.is_one_launch && !has_own_sums_of_parts;
  PhaseTime split = slice_split(s, split_elements);
  if (has_own_sums_of_parts && count == 3) {  // digits of (Ar + Ai) and (Br + Bi), which may be far apart
    const int slices = s.request.slices > 0 ? s.request.slices : 7;
    split.add(time_of({.phase = "split", .sm_cycles = lines * slices * s.program.slices.part_sum_cycles}, s.rates));
  }
  out.times.push_back(split);
  Sliced all = sliced_product(s, of_product, count);
  const int slices = s.request.slices > 0 ? s.request.slices : 7;
  const bool may_be_fused = !is_complex(s.request.scalar) && slices <= s.program.slices.most_fused_slices &&
                            (s.request.way == Way::kEfS || s.request.way == Way::kEf);
  if (may_be_fused) {
    const Sliced fused = fused_slices(s, of_product);
    if (fused.products.seconds < all.products.seconds + all.sums.seconds) all = fused;
  }
  if (combined_bytes > 0 && !s.program.slices.has_fused_sums)
    all.sums.add(time_of({.phase = "sums", .launches = 1, .bytes = combined_bytes * e.m * e.n}, s.rates));
  out.times.push_back(all.products);
  if (all.sums.seconds > 0) out.times.push_back(all.sums);
  out.operations = all.operations;
  out.products = all.num_products;
  out.accumulators = all.accumulators;
  return out;
}

// ---- ec ---------------------------------------------------------------------------------------------------------------

/// Three products of halves of FP32 numbers, summed on the chip. Complex numbers are a real product of twice the lines of A
/// and twice the inner index.
[[nodiscard]] Phases ec_phases(const Setting& s) {
  const Extents e = extents_of(s.request);
  const double parts = is_complex(s.request.scalar) ? 2 : 1;
  const double terms = parts * e.k;
  const Format format = format_of(s.request);
  const double plane_bytes = format == Format::kTf32 ? 4 : 2;
  const double made = parts * e.m + e.n;  // lines
  Phases out;
  Work split{.phase = "split", .launches = 1, .bytes = terms * ((e.m + e.n) * 4 + made * 2 * plane_bytes)};
  split.sm_cycles = terms * made * s.program.ec.split_cycles;
  PhaseTime split_time = time_of(split, s.rates);
  add_launches(split_time, s.program.ec.extra_seconds);
  out.times.push_back(split_time);
  constexpr double kTerms = 3;
  const Products p{
      .format = format, .m = parts * e.m, .n = e.n, .k = terms, .num_products = kTerms, .element_bytes = plane_bytes};
  Work work{.phase = "products", .part = Part::kComputation, .launches = 1, .format = format};
  work.operations = 2 * p.m * p.n * p.k * kTerms;
  work.bytes = 2 * plane_bytes * (p.m + p.n) * p.k + result_bytes(s.request) * e.m * e.n;
  work.reached = share_reached(s.program.ec.products, p, s.rates, s.is_sustained);
  out.times.push_back(time_of(work, s.rates));
  out.operations = work.operations;
  out.products = static_cast<int>(kTerms * parts * parts);
  out.accumulators = static_cast<int>(parts);
  return out;
}

}  // namespace

std::int64_t products_of_accumulator(std::int64_t k, int digit_bits) {
  const std::int64_t largest = (std::int64_t{1} << digit_bits) - 1;
  return std::numeric_limits<std::int32_t>::max() / largest / largest / std::max<std::int64_t>(k, 1);
}

std::vector<int> windows_of(Way way, int slices, std::int64_t r) {
  std::vector<int> out;
  for (int g = 2; g <= slices + 1; ++g) {
    if (way == Way::kOzimmu) {
      out.insert(out.end(), static_cast<std::size_t>(g - 1), 1);
      continue;
    }
    for (std::int64_t begin = 0; begin < g - 1; begin += r)
      out.push_back(static_cast<int>(std::min<std::int64_t>(r, g - 1 - begin)));
  }
  return out;
}

std::int64_t sample_stride(const Request& request) {
  const bool has_parts = is_complex(request.scalar);
  const bool is_double = real_of(request.scalar) == Scalar::kF64;
  // What lowest rungs of 15 and 7 moduli, and of 14 and 7, allow; a test compares strides with those of plans.
  const double spread = has_parts ? (is_double ? 33.0 : 50.1) : is_double ? 23.9 : 81.8;
  const std::int64_t num_terms = (has_parts ? 2 : 1) * request.k;
  const double allowance = 2 * spread * std::sqrt(static_cast<double>(num_terms));
  return num::sample_stride(static_cast<float>(allowance), num_terms);
}

Format format_of(const Request& request) {
  const bool is_double = real_of(request.scalar) == Scalar::kF64;
  if (request.way == Way::kNative) return is_double ? Format::kFp64 : Format::kFp32;
  if (request.way == Way::kEc) return request.format == Format::kTf32 ? Format::kTf32 : Format::kFp16;
  return request.way == Way::kOzaki2 ? request.format : Format::kInt8;
}

double flops_of(const Request& request) {
  const Extents e = extents_of(request);
  return (is_complex(request.scalar) ? 8 : 2) * (request.is_triangle ? 0.5 : 1) * e.m * e.n * e.k;
}

Phases phases_of(const Program& program, const Request& request, const Rates& rates, bool is_sustained) {
  const Setting setting{program, request, rates, is_sustained};
  switch (request.way) {
    case Way::kNative:
      return native_phases(setting);
    case Way::kOzaki2:
      return residue_phases(setting);
    case Way::kEc:
      return ec_phases(setting);
    case Way::kOzimmu:
    case Way::kEf:
    case Way::kEfS:
    case Way::kEfL:
      break;
  }
  return slice_phases(setting);
}

}  // namespace kizami::model
