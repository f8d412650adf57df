// SPDX-License-Identifier: MIT
// The planner: shape + policy + machine + offers of the engines -> Plan. Pure: no allocation of workspace, no device,
// no environment, so it is tested without any. A Plan has two halves:
//   Numerics  what fixes the bits: scheme, ladder, gauge, bound, order of the FP64 rung;
//   Schedule  engine, threads, chunks: never changes a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kizami/batch.hpp"
#include "kizami/policy.hpp"
#include "kizami/status.hpp"
#include "num/bounds.hpp"
#include "num/moduli.hpp"
#include "num/rung.hpp"
#include "plan/ec.hpp"
#include "plan/slices.hpp"
#include "problem/problem.hpp"
#include "product/ec_engine.hpp"
#include "product/float_product.hpp"
#include "product/product.hpp"

namespace kizami::plan {

struct Numerics {
  Scheme scheme = Scheme::kNative;
  Gauge gauge = Gauge::kEntry;
  double bound = 0;              ///< guaranteed |C - AB| <= bound * gauge
  num::Ladder ladder;            ///< ozaki2
  bool is_correct = false;       ///< accuracy correct: rounded once, see reconstruct::reconstruct_correct
  bool has_certificate = false;  ///< ozaki2, gauge entry: the rung is chosen by the data
  bool has_fp64 = false;         ///< the FP64 rung may be taken
  num::Fp64Summation fp64_summation = num::Fp64Summation::kPairwise;
  EcNumerics
      ec;  ///< ec; everything above is then that of scheme ozaki2, which stands behind its stages (on a device: of
           ///< FP64 arithmetic)
  SliceNumerics slices;  ///< ozaki1; with a certificate everything above is that of scheme ozaki2, which stands behind
};

/// Extents of one pass: mc lines of A by nc lines of B over kc elements.
struct Chunk {
  std::int64_t mc = 0;
  std::int64_t nc = 0;
  std::int64_t kc = 0;
};

/// What an engine asks for on the host, over all products that a plan may launch.
struct EngineBytes {
  std::size_t certificate = 0;
  std::size_t main = 0;
  std::size_t ec = 0;
  std::size_t slices = 0;
};

struct Schedule {
  const product::Engine* engine = nullptr;             ///< ozaki2, ozaki1; ec: of the certificate and behind the stages
  const product::FloatEngine* float_engine = nullptr;  ///< ec; ozaki1 with slices in floating point
  const product::EcEngine* ec_engine = nullptr;        ///< ec on a device
  product::DeviceFacts facts;                          ///< with num_threads as decided
  Chunk chunk;                                         ///< ozaki2: main pass
  Chunk certificate;                                   ///< ozaki2: lines of one certificate pass; kc = k
  Chunk ec_chunk;                                      ///< ec: lines of one pass; kc = k
  Chunk slice_chunk;                                   ///< ozaki1; kc as far as sums are exact
  SliceSums slice_sums = SliceSums::kConcatenated;     ///< ozaki1
  std::int64_t native_k_block = 0;                     ///< native: k in blocks of this
  Batch batch;                                         ///< on a device
  std::size_t product_bytes = 0;  ///< on a device: workspace of one product of the batch; native: cuBLAS's scratch
  std::size_t workspace_bytes = 0;
  std::optional<EngineBytes> engine_bytes;  ///< on the host, once chunks are final: a call then asks no engine again
  double seconds = 0;                       ///< predicted, of all products
};

struct Plan {
  problem::Shape shape;
  Policy policy;
  Numerics numerics;
  Schedule schedule;
  std::uint32_t serial = 0;           ///< on a device: of the plans of this process; copies have that of the first
  std::vector<std::string> refusals;  ///< what was considered and refused, with reasons
  /// Scheme native on a CPU where the planner chose it: scheme ozaki2, which answers operands whose terms may overflow or
  /// underflow. Null if there is no such plan: they are refused then. Its workspace is that of this plan.
  std::shared_ptr<const Plan> behind;
};

[[nodiscard]] inline bool is_on_device(const Plan& plan) {
  return plan.schedule.facts.space == product::MemorySpace::kDevice;
}

/// What exists on this machine.
struct Environment {
  product::DeviceFacts facts;
  std::span<const product::Engine* const> engines;  ///< in order of preference
  bool has_native_blas = false;
  std::span<const product::FloatEngine* const> float_engines;  ///< likewise
  std::span<const product::EcEngine* const> ec_engines = {};   ///< likewise, of a device
};

/// @status see kizami::make_plan
Result<Plan> make(const problem::Shape& shape, const Policy& policy, const Environment& environment,
                  const Batch& batch = {});

/// The plan in words, one fact a line.
[[nodiscard]] std::string explain(const Plan& plan);

/// Hash of everything that fixes the bits.
[[nodiscard]] std::uint64_t numerics_hash(const Plan& plan);
/// Hash of what an operand prepared by a plan depends on: equal for plans that may use it. Slices are nested, so that their
/// number is no part of it.
[[nodiscard]] std::uint64_t prepared_hash(const Plan& plan);

/// The ring that the products of a type are computed in.
[[nodiscard]] constexpr num::Ring ring_of(Scalar scalar) {
  return is_complex(scalar) ? num::Ring::kComplex : num::Ring::kReal;
}
/// Real terms that make up an element of C, or its real or imaginary part.
[[nodiscard]] constexpr std::int64_t num_terms(const problem::Shape& shape) {
  return is_complex(shape.scalar) ? 2 * shape.k : shape.k;
}

/// Terms of one floating-point product of scheme ec.
[[nodiscard]] inline std::int64_t ec_terms(const Plan& plan) {
  return plan.numerics.ec.is_karatsuba ? plan.shape.k : num_terms(plan.shape);
}
/// Floating-point products that make a block of C in scheme ec.
[[nodiscard]] inline int ec_products(const Plan& plan) {
  return plan.numerics.ec.is_karatsuba ? 3 : is_complex(plan.shape.scalar) ? 2 : 1;
}

/// Default of Policy::workspace_limit_bytes on the host.
inline constexpr std::size_t kDefaultWorkspaceLimit = std::size_t{1} << 30;

}  // namespace kizami::plan
