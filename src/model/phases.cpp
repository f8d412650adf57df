// SPDX-License-Identifier: MIT
#include "model/phases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "num/moduli.hpp"

namespace kizami::model {
namespace {

constexpr double kLargestBlock = 131072;  // of k, so that INT32 sums of residues stay exact
constexpr double kWeakFp64 = 1.0 / 16;    // FP64 instructions for each INT32 one: less, and kernels take another form

struct Extents {
  double m = 0;
  double n = 0;
  double k = 0;
};
[[nodiscard]] Extents extents_of(const Request& r) {
  return {static_cast<double>(r.m), static_cast<double>(r.n), static_cast<double>(r.k)};
}
[[nodiscard]] double element_bytes(const Request& r) { return static_cast<double>(size_bytes(r.scalar)); }

/// One program, one request, one device: what the phases of every scheme need.
struct Setting {
  const Program& program;
  const Request& request;
  const Rates& rates;
  bool is_sustained;

  /// Products with what they read and write, as one launch or as calls.
  [[nodiscard]] PhaseTime products_time(const char* phase, const Products& p, double result_bytes, bool is_one_launch,
                                        double plane_bytes = 1) const {
    Work work{.phase = phase, .part = Part::kComputation, .format = p.format};
    work.launches = program.products.share_by_size.empty() ? (is_one_launch ? 1 : p.num_products) : 0;
    work.operations = 2 * p.m * p.n * p.k * p.num_products;
    work.bytes = p.num_products * plane_bytes * (p.m + p.n) * p.k + result_bytes;
    Products of_call = p;
    if (!is_one_launch) of_call.num_products = of_call.num_results = 1;
    work.reached = share_reached(program.products, of_call, rates, is_sustained);
    return time_of(work, rates);
  }
};

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
  Products p{format_of(s.request), e.m, e.n, e.k, count, 1};
  Work work{.phase = "product", .part = Part::kComputation, .launches = 1, .format = p.format};
  work.bytes = element_bytes(s.request) * (e.m * e.k + e.k * e.n + e.m * e.n);
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

[[nodiscard]] Phases residue_phases(const Setting& s) {
  const Extents e = extents_of(s.request);
  const ResidueModel& model = s.program.residues;
  const Counts c = counts_of(s);
  const bool has_parts = is_complex(s.request.scalar);
  const double parts = has_parts ? 2 : 1;
  const bool is_weak = s.rates.fp64_instructions < kWeakFp64 * s.rates.int32_instructions;
  const double bytes = element_bytes(s.request);
  const double lines = (e.m + e.n) * e.k;
  const double pairs = e.m * e.n;
  const double sum_bytes = 4;
  const Format format = format_of(s.request);

  Phases out;
  Work split{.phase = "split", .launches = model.split_launches};
  split.bytes = lines * (bytes + c.planes);
  split.sm_cycles = lines * c.planes * (has_parts ? model.split_cycles_complex : model.split_cycles);
  split.fp64_instructions = lines * parts * (is_weak ? model.split_fp64_weak : model.split_fp64);
  out.times.push_back(time_of(split, s.rates));

  if (model.certificate_share > 0) {
    const double quarter = std::ceil(e.k / 4);  // a digit of four elements
    const Products p{format, e.m, e.n, quarter, has_parts ? 3.0 : 1.0, has_parts ? 3.0 : 1.0};
    Work work{
        .phase = "certificate", .part = Part::kComputation, .launches = 1 + model.extra_launches, .format = format};
    work.operations = 2 * p.m * p.n * p.k * p.num_products;
    work.bytes = p.num_products * (e.m + e.n) * quarter;
    work.reached = model.certificate_share * share_reached(s.program.products, p, s.rates, s.is_sustained);
    out.times.push_back(time_of(work, s.rates));
  }
  if (s.request.is_accurate) {
    const Products p{format, e.m, e.n, e.k, 1, 1};
    PhaseTime scaling = s.products_time("scaling product", p, sum_bytes * pairs, false);
    scaling.add(time_of({.phase = "scaling product", .launches = 2, .bytes = lines * (bytes + 1)}, s.rates));
    out.times.push_back(scaling);
  }

  const double blocks = std::ceil(e.k / kLargestBlock);
  const Products p{format, e.m, e.n, e.k / blocks, c.products * blocks, c.products * blocks};
  const double stored = model.reduces_in_product ? 1 : sum_bytes;
  out.times.push_back(s.products_time("products", p, stored * pairs * c.products * blocks, model.reduces_in_product));
  if (!model.reduces_in_product) {
    Work reduce{.phase = "residues", .launches = c.products * blocks};
    reduce.bytes = pairs * (sum_bytes * c.products + c.planes) * blocks;
    reduce.sm_cycles = pairs * c.products * blocks * model.reduce_cycles;
    out.times.push_back(time_of(reduce, s.rates));
  }

  Work crt{.phase = "crt", .launches = 1};
  crt.bytes = pairs * (c.planes + bytes);
  crt.sm_cycles = pairs * c.planes * (has_parts ? model.crt_cycles_complex : model.crt_cycles);
  crt.fp64_instructions = pairs * parts * c.moduli * (is_weak ? model.crt_fp64_weak : model.crt_fp64);
  crt.int32_instructions = is_weak ? pairs * parts * c.moduli * model.crt_int32_weak : 0;
  out.times.push_back(time_of(crt, s.rates));

  out.operations = 2 * e.m * e.n * e.k * c.products;
  out.products = static_cast<int>(c.products);
  out.accumulators = out.products;
  return out;
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
[[nodiscard]] Extents block_of(const Extents& e, double& count) {
  constexpr double kBlock = 8192;
  Extents out = e;
  double& larger = out.m >= out.n ? out.m : out.n;
  count = std::ceil(larger / kBlock);
  larger /= count;
  return out;
}

[[nodiscard]] Sliced sliced_product(const Setting& s, const Extents& e) {
  const SliceModel& model = s.program.slices;
  const int slices = s.request.slices > 0 ? s.request.slices : 7;
  // k in blocks, where not one product fits an accumulator.
  const auto most_k = static_cast<double>(products_of_accumulator(1, kDigitBits));
  const double k_blocks = std::ceil(e.k / most_k);
  const double k = e.k / k_blocks;
  const std::int64_t r = std::max<std::int64_t>(products_of_accumulator(static_cast<std::int64_t>(k), kDigitBits), 1);
  const std::vector<int> windows = windows_of(s.request.way, slices, r);
  double row_blocks = 1;
  const Extents block = s.request.way == Way::kEfL ? block_of(e, row_blocks) : e;
  const double pairs = e.m * e.n;
  const int num_products = slices * (slices + 1) / 2;
  const auto sums = static_cast<double>(windows.size()) * k_blocks;
  constexpr double kSumBytes = 4;

  Sliced out;
  out.num_products = static_cast<int>(num_products * k_blocks);
  out.accumulators = static_cast<int>(sums);
  out.operations = 2 * pairs * e.k * num_products;
  out.products.phase = "products";
  out.products.part = Part::kComputation;
  if (model.is_one_launch) {
    const Products p{Format::kInt8, e.m, e.n, k, out.num_products * 1.0, sums};
    out.products.add(s.products_time("products", p, kSumBytes * pairs * sums, true));
  } else {
    for (const int products : windows) {
      const bool is_concatenated = s.request.way == Way::kEfS || s.request.way == Way::kEfL;
      for (int call = 0; call < (is_concatenated ? 1 : products); ++call) {
        const double kc = is_concatenated ? k * products : k;
        const double result_bytes = (call == 0 ? kSumBytes : 2 * kSumBytes) * block.m * block.n;
        const PhaseTime of_call =
            s.products_time("products", {Format::kInt8, block.m, block.n, kc, 1, 1}, result_bytes, false);
        out.products.add(repeated(of_call, row_blocks * k_blocks));
      }
    }
  }
  const bool are_fused = model.has_fused_sums && s.request.way != Way::kOzimmu;
  Work work{.phase = "sums", .launches = are_fused ? 1 : sums};
  work.bytes = pairs * (are_fused ? kSumBytes * sums + 8 : 20 * sums);
  work.sm_cycles = pairs * sums * (are_fused ? model.sum_cycles : model.sum_in_memory_cycles);
  work.launches *= row_blocks;
  work.bytes += model.scaling_bytes * pairs;
  work.launches += model.scaling_bytes > 0 ? 1 : 0;
  out.sums = time_of(work, s.rates);
  return out;
}

[[nodiscard]] PhaseTime slice_split(const Setting& s, double elements, double passes) {
  const int slices = s.request.slices > 0 ? s.request.slices : 7;
  const double real_bytes = real_of(s.request.scalar) == Scalar::kF64 ? 8 : 4;
  Work work{.phase = "split", .launches = 2};
  work.bytes = elements * (passes * real_bytes + slices);
  work.sm_cycles = elements * slices * s.program.slices.split_cycles;
  return time_of(work, s.rates);
}

[[nodiscard]] Phases slice_phases(const Setting& s) {
  const Extents e = extents_of(s.request);
  const double lines = (e.m + e.n) * e.k;
  constexpr double kPasses = 2;  // largest exponents, digits
  double count = 1;              // of real products
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
      break;
    case ComplexForm::kFour:
      count = 4;
      split_elements = 2 * lines;
      combined_bytes = 4 * 8 + 16;
      break;
  }
  Phases out;
  out.parts_overlap = s.request.way == Way::kEfL && !s.program.slices.is_one_launch;
  out.times.push_back(slice_split(s, split_elements, kPasses));
  const Sliced one = sliced_product(s, of_product);
  const PhaseTime products = repeated(one.products, count);
  PhaseTime sums = repeated(one.sums, count);
  if (combined_bytes > 0) {
    sums.add(time_of({.phase = "sums", .launches = 1, .bytes = combined_bytes * e.m * e.n}, s.rates));
  }
  out.times.push_back(products);
  out.times.push_back(sums);
  out.operations = one.operations * count;
  out.products = one.num_products * static_cast<int>(count);
  out.accumulators = one.accumulators * static_cast<int>(count);
  return out;
}

// ---- ec ---------------------------------------------------------------------------------------------------------------

/// Three products of halves of FP32 numbers, summed on the chip.
[[nodiscard]] Phases ec_phases(const Setting& s) {
  const Extents e = extents_of(s.request);
  const double parts = is_complex(s.request.scalar) ? 2 : 1;
  const double real_products = is_complex(s.request.scalar) ? 4 : 1;
  const double lines = (e.m + e.n) * e.k * parts;
  const Format format = format_of(s.request);
  const double plane_bytes = format == Format::kTf32 ? 4 : 2;
  Phases out;
  out.times.push_back(time_of({.phase = "split", .launches = 1, .bytes = lines * (4 + 2 * plane_bytes)}, s.rates));
  constexpr double kTerms = 3;
  const Products p{format, e.m, e.n, e.k, kTerms * real_products, parts};
  out.times.push_back(s.products_time("products", p, 4 * parts * e.m * e.n, true, plane_bytes));
  out.operations = 2 * e.m * e.n * e.k * kTerms * real_products;
  out.products = static_cast<int>(kTerms * real_products);
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

Format format_of(const Request& request) {
  const bool is_double = real_of(request.scalar) == Scalar::kF64;
  if (request.way == Way::kNative) return is_double ? Format::kFp64 : Format::kFp32;
  if (request.way == Way::kEc) return request.format == Format::kTf32 ? Format::kTf32 : Format::kFp16;
  return request.way == Way::kOzaki2 ? request.format : Format::kInt8;
}

double flops_of(const Request& request) {
  const Extents e = extents_of(request);
  return (is_complex(request.scalar) ? 8 : 2) * e.m * e.n * e.k;
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
