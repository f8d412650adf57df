// SPDX-License-Identifier: MIT
#include "engines/tc_model/tc_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "base/parallel.hpp"
#include "engines/float_desc_check.hpp"
#include "kizami/formats.hpp"

namespace kizami::engines {
namespace {

using num::FloatType;
using num::TensorCore;
using product::DeviceFacts;
using product::FloatPointers;
using product::FloatProductDesc;
using product::FloatSum;
using product::Offer;
using product::PlanePair;
using product::Refusal;

/// Side of the tiles of C, and elements of k decoded at a time: 32 x 64 FP64 values fit the L1 cache twice.
constexpr std::int64_t kTile = 32;
constexpr std::int64_t kDepth = 64;
static_assert(kDepth % product::kIntervalUnit == 0);
/// Exponent of zero: below every real one even when added to the largest of them.
constexpr std::int16_t kZeroExponent = -8192;
/// Sums of exponents below this mean that every addend is zero.
constexpr int kAllZero = -4096;

[[nodiscard]] bool is_supported(RoundingMode rounding) { return rounding != RoundingMode::kNearestAway; }

std::optional<std::string> why_refused(const FloatProductDesc& d) {
  if (auto reason = why_out_of_range(d)) return reason;
  const TensorCore& core = d.core;
  if (core.group < 1 || core.group > 16 || 16 % core.group != 0)
    return limit_broken("group", core.group, "1, 2, 4, 8 or 16");
  if (core.fraction_bits < 23 || core.fraction_bits > 28)
    return limit_broken("fraction_bits", core.fraction_bits, "in 23..28");
  if (!is_supported(core.alignment) || !is_supported(core.sum_rounding) || !is_supported(core.add_rounding))
    return "a rounding of the tensor core is nearest-away, must be nearest-even or toward zero";
  return std::nullopt;
}

/// Elements of lines of one plane, decoded: values and the exponents that the hardware aligns by.
struct DecodedTile {
  alignas(64) double value[kDepth * kTile];
  alignas(64) std::int16_t exponent[kDepth * kTile];
  bool is_finite = true;
};

/// Exponent of a format's field: of subnormal numbers that of the smallest normal one.
[[nodiscard]] std::int16_t field_exponent(double x, FloatType type) {
  if (x == 0.0) return kZeroExponent;
  return static_cast<std::int16_t>(std::max(num::floor_log2(x), num::min_exponent(type)));
}

template <class F>
[[nodiscard]] double decode(const void* plane, std::int64_t index) {
  return static_cast<const F*>(plane)[index].to_double();
}
[[nodiscard]] double decode(const void* plane, std::int64_t index, FloatType type) {
  switch (type) {
    case FloatType::kFp16:
      return decode<Fp16>(plane, index);
    case FloatType::kBf16:
      return decode<Bf16>(plane, index);
    case FloatType::kTf32:
      return decode<Tf32>(plane, index);
  }
  return 0.0;
}

/// Element h of line i goes to [i * kDepth + h] (is_transposed: [h * kTile + i]); missing lines and elements are zero.
void decode_tile(const void* plane, FloatType type, std::int64_t row_stride, std::int64_t first, std::int64_t num_lines,
                 std::int64_t h0, std::int64_t length, bool is_transposed, DecodedTile& out) {
  out.is_finite = true;
  for (std::int64_t i = 0; i < kTile; ++i) {
    for (std::int64_t h = 0; h < kDepth; ++h) {
      const bool is_there = i < num_lines && h < length;
      const double x = is_there ? decode(plane, (first + i) * row_stride + h0 + h, type) : 0.0;
      const std::int64_t at = is_transposed ? h * kTile + i : i * kDepth + h;
      out.is_finite = out.is_finite && num::is_finite(x);
      out.value[at] = x;
      out.exponent[at] = field_exponent(x, type);
    }
  }
}

/// 2^e. @range -1022 <= e <= 1023
[[nodiscard]] inline double power(int e) {
  return kizami::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// FP32 of an FP64 number of at most 40 bits, cut. @range 0 or |x| >= 2^-126
[[nodiscard]] inline double cut_to_fp32(double x) {
  constexpr std::uint64_t kBelowFp32 = (std::uint64_t{1} << 29) - 1;
  return kizami::bit_cast<double>(kizami::bit_cast<std::uint64_t>(x) & ~kBelowFp32);
}

/// One step for a line of A and `lanes` lines of B: acc[j] = step(acc[j], a, b_j), as num::tensor_core_step() for
/// finite operands and truncation inside the step. All lanes take one path.
/// An addend is at most 2^(fraction_bits + 2) units, so it fits in 32 bits, and a sum of 17 of them in FP64.
/// @range lanes: a multiple of 8, at most kTile
void truncating_step(const TensorCore& core, const double* a, const std::int16_t* a_exponent, const double* b,
                     const std::int16_t* b_exponent, std::int64_t lanes, float* acc) {
  alignas(64) std::int16_t largest[kTile];
  alignas(64) double scale[kTile];
  alignas(64) double unit[kTile];
  alignas(64) double sum[kTile];
  for (std::int64_t j = 0; j < lanes; ++j) {
    const std::uint32_t bits = kizami::bit_cast<std::uint32_t>(acc[j]);
    const int field = static_cast<int>((bits >> 23) & 0xFF);
    largest[j] =
        static_cast<std::int16_t>((bits << 1) == 0 || !core.is_fused ? kZeroExponent : std::max(field, 1) - 127);
  }
  for (int h = 0; h < core.group; ++h) {
    const std::int16_t exponent = a_exponent[h];
    for (std::int64_t j = 0; j < lanes; ++j) {
      largest[j] = std::max(largest[j], static_cast<std::int16_t>(exponent + b_exponent[h * kTile + j]));
    }
  }
  for (std::int64_t j = 0; j < lanes; ++j) {
    const int quantum = (largest[j] < kAllZero ? 0 : largest[j]) - core.fraction_bits;
    scale[j] = power(-quantum);
    unit[j] = power(quantum);
    sum[j] =
        core.is_fused ? static_cast<double>(static_cast<std::int32_t>(static_cast<double>(acc[j]) * scale[j])) : 0.0;
  }
  for (int h = 0; h < core.group; ++h) {
    const double x = a[h];
    for (std::int64_t j = 0; j < lanes; ++j) {
      sum[j] += static_cast<double>(static_cast<std::int32_t>(x * b[h * kTile + j] * scale[j]));
    }
  }
  for (std::int64_t j = 0; j < lanes; ++j) {
    const double exact = sum[j] * unit[j];
    const double magnitude = std::abs(exact);
    const float rounded = magnitude >= 0x1p-126 || exact == 0.0
                              ? static_cast<float>(cut_to_fp32(exact))
                              : num::round_to_fp32(static_cast<std::int64_t>(sum[j]),
                                                   (largest[j] < kAllZero ? 0 : largest[j]) - core.fraction_bits,
                                                   RoundingMode::kTowardZero);
    acc[j] = core.is_fused ? rounded : num::detail::add_fp32(acc[j], rounded, core.add_rounding);
  }
}

/// Whether truncating_step() may take the place of num::tensor_core_step().
[[nodiscard]] bool is_truncating(const TensorCore& core) {
  return core.alignment == RoundingMode::kTowardZero && core.sum_rounding == RoundingMode::kTowardZero;
}

/// What one tile of C needs while it is made; accumulators are [line of A][line of B].
struct TileScratch {
  DecodedTile a;
  DecodedTile b;
  alignas(64) float acc[kTile * kTile];
  alignas(64) float sum[product::kMaxSums][kTile * kTile];
};

/// The steps of one pair of planes over elements [begin, end) of decoded tiles.
void accumulate(const FloatProductDesc& d, const DecodedTile& a, const DecodedTile& b, std::int64_t num_i,
                std::int64_t num_j, std::int64_t begin, std::int64_t end, float* acc) {
  const std::int64_t lanes = base::round_up(num_j, 8);
  const bool is_fast = is_truncating(d.core) && a.is_finite && b.is_finite;
  for (std::int64_t h = begin; h < end; h += d.core.group) {
    for (std::int64_t i = 0; i < num_i; ++i) {
      const double* const a_values = a.value + i * kDepth + h;
      float* const row = acc + i * kTile;
      // An accumulator that is Inf or NaN stays so, which only the plain statement knows.
      const bool is_row_finite = std::all_of(row, row + lanes, [](float x) { return num::is_finite(x); });
      if (is_fast && is_row_finite) {
        truncating_step(d.core, a_values, a.exponent + i * kDepth + h, b.value + h * kTile, b.exponent + h * kTile,
                        lanes, row);
        continue;
      }
      for (std::int64_t j = 0; j < num_j; ++j) {
        double b_values[16];
        for (int g = 0; g < d.core.group; ++g) b_values[g] = b.value[(h + g) * kTile + j];
        row[j] = num::tensor_core_step(d.core, d.type, row[j], a_values, b_values, d.core.group);
      }
    }
  }
}

[[nodiscard]] const void* plane_of(const void* planes, FloatType type, std::int64_t offset) {
  return static_cast<const std::byte*>(planes) + offset * num::element_bytes(type);
}

/// Decodes kDepth elements of k of one pair, from h on, [h, end) of them present.
void decode_pair(const FloatProductDesc& d, const FloatPointers& pointers, PlanePair pair, std::int64_t i,
                 std::int64_t j, std::int64_t h, std::int64_t end, DecodedTile& a, DecodedTile& b) {
  const std::int64_t length = std::min(kDepth, end - h);
  decode_tile(plane_of(pointers.a, d.type, pair.a * d.a_plane_stride), d.type, d.a_row_stride, i,
              std::min(kTile, d.m - i), h, length, false, a);
  decode_tile(plane_of(pointers.b, d.type, pair.b * d.b_plane_stride), d.type, d.b_row_stride, j,
              std::min(kTile, d.n - j), h, length, true, b);
}

/// acc += the products of one interval, [first, end) of k.
void accumulate_interval(const FloatProductDesc& d, const FloatPointers& pointers, const FloatSum& list, std::int64_t i,
                         std::int64_t j, std::int64_t first, std::int64_t end, TileScratch& scratch) {
  const std::int64_t num_i = std::min(kTile, d.m - i);
  const std::int64_t num_j = std::min(kTile, d.n - j);
  // Pairs that take turns are decoded again for each of their instructions.
  const std::int64_t instruction = product::instruction_elems(d.type);
  for (std::int64_t h = first; h < end && list.num_interleaved > 0; h += instruction) {
    for (int p = 0; p < list.num_interleaved; ++p) {
      decode_pair(d, pointers, list.pairs[static_cast<std::size_t>(p)], i, j, h, std::min(end, h + instruction),
                  scratch.a, scratch.b);
      accumulate(d, scratch.a, scratch.b, num_i, num_j, 0, std::min(instruction, end - h), scratch.acc);
    }
  }
  for (int p = list.num_interleaved; p < list.num_pairs; ++p) {
    for (std::int64_t h = first; h < end; h += kDepth) {
      decode_pair(d, pointers, list.pairs[static_cast<std::size_t>(p)], i, j, h, end, scratch.a, scratch.b);
      accumulate(d, scratch.a, scratch.b, num_i, num_j, 0, std::min(kDepth, end - h), scratch.acc);
    }
  }
}

/// One tile of C, as the comment of float_product.hpp says.
void multiply_tile(const FloatProductDesc& d, const FloatPointers& pointers, std::int64_t i, std::int64_t j) {
  TileScratch scratch;
  const std::int64_t num_i = std::min(kTile, d.m - i);
  const std::int64_t num_j = std::min(kTile, d.n - j);
  const std::int64_t promoted = d.k_interval * d.intervals_promoted;
  for (int q = 0; q < d.num_sums; ++q) {
    const FloatSum& list = d.sums[static_cast<std::size_t>(q)];
    float* const total = scratch.sum[q];
    std::fill(total, total + kTile * kTile, 0.0F);
    std::fill(scratch.acc, scratch.acc + kTile * kTile, 0.0F);
    for (std::int64_t first = 0; first < d.k; first += d.k_interval) {
      const std::int64_t end = std::min(d.k, first + d.k_interval);
      accumulate_interval(d, pointers, list, i, j, first, end, scratch);
      if (!list.promotes || (end < d.k && end % promoted != 0)) continue;
      for (std::int64_t x = 0; x < kTile * kTile; ++x) total[x] += scratch.acc[x];
      std::fill(scratch.acc, scratch.acc + kTile * kTile, 0.0F);
    }
    if (!list.promotes) std::copy_n(scratch.acc, kTile * kTile, total);
  }
  const float weight = num::exp2i<float>(-d.remainder_shift);
  for (std::int64_t y = 0; y < num_j; ++y) {
    for (std::int64_t x = 0; x < num_i; ++x) {
      float value = scratch.sum[d.num_sums - 1][x * kTile + y];
      for (int q = d.num_sums - 2; q >= 0; --q) value = std::fma(value, weight, scratch.sum[q][x * kTile + y]);
      pointers.c[(j + y) * d.c_col_stride + i + x] = value;
    }
  }
}

class TcModel final : public product::FloatEngine {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "tc_model"; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const FloatProductDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_refused(d)) return Refusal{*std::move(reason)};
    constexpr double kStepsPerSecond = 3e8;  // products a second and thread: order of magnitude, the model is no rival
    const double products =
        static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) * product::num_plane_products(d);
    return Offer{.workspace_bytes = 0,
                 .seconds = products / (kStepsPerSecond * facts.processor.tc_model * facts.num_threads),
                 .threads = facts.num_threads};
  }

  [[nodiscard]] Status run(const FloatProductDesc& d, const Offer& offer, const FloatPointers& pointers,
                           std::byte* /*workspace*/, product::Queue /*queue*/) const override {
    if (auto reason = why_refused(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    const bool is_empty = d.m == 0 || d.n == 0;
    if (!is_empty && (pointers.c == nullptr || (d.k > 0 && (pointers.a == nullptr || pointers.b == nullptr))))
      return {StatusCode::kInvalidArgument, "a pointer of the product is null"};
    const std::int64_t tiles_i = base::ceil_div(d.m, kTile);
    base::parallel_for(tiles_i * base::ceil_div(d.n, kTile), offer.threads, [&](std::int64_t tile, int) {
      multiply_tile(d, pointers, tile % tiles_i * kTile, tile / tiles_i * kTile);
    });
    return {};
  }
};

}  // namespace

const product::FloatEngine& tc_model_engine() {
  static constinit base::MadeOnce<TcModel> engine;
  return engine.get();
}

}  // namespace kizami::engines
