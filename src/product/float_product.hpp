// SPDX-License-Identifier: MIT
// The floating-point product of scheme ec as data, and the narrow interface of the engines that perform it: tensor
// cores with an FP32 accumulator, or their software model.
//
// Operands come as planes (parts of a split, num/float_split.hpp). The result is a Horner sum of up to kMaxSums sums,
//   C = S_0 + 2^-s (S_1 + 2^-s S_2),   every + one fused multiply-add in FP32, to nearest,   s = remainder_shift,
// where sum S_q belongs to a list of pairs (plane of A, plane of B) and is made interval by interval along k:
//   acc = 0
//   for each interval of k_interval elements of k, in order:
//     for each instruction of 32 bytes of k inside the interval, in order:  for each of the first num_interleaved pairs:
//       acc = steps(acc, A_pair, B_pair)                      num::tensor_core_step(), inside the tensor core
//     for each other pair, in order:  for each instruction inside the interval, in order:
//       acc = steps(acc, A_pair, B_pair)
//     after every intervals_promoted intervals and after the last, if the sum promotes:
//       S_q = S_q + acc (FP32, to nearest, outside the tensor core);  acc = 0
//   if it does not:  S_q = acc
// This fixes every rounding: engines that perform the same num::TensorCore must agree bit for bit, for every tiling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "kizami/status.hpp"
#include "num/ec_bounds.hpp"
#include "num/float_split.hpp"
#include "num/tensor_core.hpp"
#include "product/product.hpp"

namespace kizami::product {

/// Pairs of one sum: all of three planes with three.
inline constexpr int kMaxPairs = 9;
inline constexpr int kMaxSums = 3;
/// Intervals are multiples of this, so that no step of any tensor core straddles two of them.
inline constexpr std::int64_t kIntervalUnit = 16;

/// Elements of k of one instruction: 32 bytes.
[[nodiscard]] constexpr std::int64_t instruction_elems(num::FloatType type) { return 32 / num::element_bytes(type); }

struct PlanePair {
  std::int8_t a = 0;
  std::int8_t b = 0;
  friend constexpr bool operator==(const PlanePair&, const PlanePair&) = default;
};

/// One sum of products of planes.
struct FloatSum {
  std::array<PlanePair, kMaxPairs> pairs{};  ///< in this order inside an interval: small products first
  int num_pairs = 0;
  int num_interleaved = 0;  ///< the first so many pairs take turns, instruction by instruction: 0..num_pairs
  bool promotes = true;     ///< false: the accumulator stays in the tensor core from the first element of k to the last
  friend constexpr bool operator==(const FloatSum&, const FloatSum&) = default;
};

/// @shape  plane l of A: m rows of k elements, row i at a + l * a_plane_stride + i * a_row_stride; of B: n rows
///         likewise (row j is column j of op(B)). C: FP32 element (i, j) at c + j * c_col_stride + i.
/// @units  strides in elements. @range elements [k, round_up(k, kPadBytes / element_bytes)) of every row are zero; rows
///         start on kPadBytes boundaries; k_interval >= kIntervalUnit, a multiple of it; 1 <= num_pairs <= kMaxPairs;
///         planes named by pairs in [0, num::kMaxParts)
struct FloatProductDesc {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  num::FloatType type = num::FloatType::kFp16;
  num::TensorCore core;  ///< the arithmetic that the plan's bound is derived from; hardware refuses any but its own
  std::int64_t k_interval = 64;
  int intervals_promoted = 1;  ///< intervals that a promoted sum holds: >= 1
  int remainder_shift = 0;
  int num_sums = 1;
  std::array<FloatSum, kMaxSums> sums{};
  std::int64_t a_row_stride = 0;
  std::int64_t a_plane_stride = 0;
  std::int64_t b_row_stride = 0;
  std::int64_t b_plane_stride = 0;
  std::int64_t c_col_stride = 0;
  std::int64_t num_products = 1;  ///< of these extents in one launch; scheme ec
};

struct FloatPointers {
  const void* a = nullptr;  ///< FP16 or BF16: 2 bytes an element, TF32: 4
  const void* b = nullptr;
  float* c = nullptr;
};

/// A provider of floating-point products. The contract is that of Engine: query() is pure; run() allocates nothing,
/// reads no environment, prints nothing.
class FloatEngine {
 public:
  virtual ~FloatEngine() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual MemorySpace space() const noexcept { return MemorySpace::kHost; }
  [[nodiscard]] virtual std::variant<Offer, Refusal> query(const FloatProductDesc& desc,
                                                           const DeviceFacts& facts) const = 0;
  /// @status kOk; kInvalidArgument when the description or a pointer breaks its @range
  /// @queue  host engines block until done and ignore the queue; device engines only enqueue
  [[nodiscard]] virtual Status run(const FloatProductDesc& desc, const Offer& offer, const FloatPointers& pointers,
                                   std::byte* workspace, Queue queue = nullptr) const = 0;
};

/// Products of planes that a description takes, of m n k multiply-adds each.
[[nodiscard]] constexpr int num_plane_products(const FloatProductDesc& desc) {
  int count = 0;
  for (int q = 0; q < desc.num_sums; ++q) count += desc.sums[static_cast<std::size_t>(q)].num_pairs;
  return count;
}

/// The error terms of a description whose operands are split into num_parts parts.
[[nodiscard]] constexpr num::EcErrorTerms error_terms(const FloatProductDesc& desc, int num_parts,
                                                      RoundingMode rounding = RoundingMode::kNearestEven) {
  const int bits = num::significand_bits(desc.type);
  num::EcErrorTerms terms;
  terms.core = desc.core;
  terms.k_interval = desc.k_interval;
  terms.intervals_promoted = desc.intervals_promoted;
  terms.num_sums = desc.num_sums;
  terms.split_remainder = num::split_remainder(bits, num_parts, rounding);
  const auto magnitude = [&](int i, int j) {
    return num::part_magnitude(bits, i, rounding) * num::part_magnitude(bits, j, rounding);
  };
  bool is_taken[num::kMaxParts][num::kMaxParts] = {};
  for (int q = 0; q < desc.num_sums; ++q) {
    const FloatSum& sum = desc.sums[static_cast<std::size_t>(q)];
    num::EcSumTerms& out = terms.sums[static_cast<std::size_t>(q)];
    out.num_pairs = sum.num_pairs;
    out.num_interleaved = sum.num_interleaved;
    out.promotes = sum.promotes;
    for (int p = 0; p < sum.num_pairs; ++p) {
      const PlanePair pair = sum.pairs[static_cast<std::size_t>(p)];
      out.magnitudes[static_cast<std::size_t>(p)] = magnitude(pair.a, pair.b);
      is_taken[pair.a][pair.b] = true;
    }
  }
  for (int i = 0; i < num_parts; ++i) {
    for (int j = 0; j < num_parts; ++j) terms.dropped += is_taken[i][j] ? 0.0 : magnitude(i, j);
  }
  return terms;
}

}  // namespace kizami::product
