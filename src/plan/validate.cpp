// SPDX-License-Identifier: MIT
#include "plan/validate.hpp"

#include <string>

#include "num/crt_table.hpp"
#include "plan/ladder.hpp"
#include "plan/native.hpp"
#include "plan/ozaki1.hpp"

namespace kizami::plan {
namespace {

/// What scheme ec cannot do whatever the shape, and wishes that belong to it alone.
Status validate_ec(const problem::Shape& shape, const Policy& policy) {
  const auto refuse = [](StatusCode code, const std::string& reason) { return Status(code, reason); };
  if (policy.scheme != Scheme::kEc) {
    if (policy.ec != ErrorCorrection{}) {
      return refuse(StatusCode::kUnsupported, "variant = " + std::string(to_string(policy.ec.variant)) +
                                                  " and its settings need scheme ec, got " +
                                                  std::string(to_string(policy.scheme)));
    }
    if (policy.engine == EngineName::kTcModel && policy.scheme != Scheme::kOzaki1) {
      return refuse(StatusCode::kUnsupported,
                    "engine tc_model carries schemes ec and ozaki1 only, not " + std::string(to_string(policy.scheme)));
    }
    return {};
  }
  const int promotion_k = policy.ec.promotion_k;
  if (promotion_k < 0 || promotion_k > kMaxPromotionK || promotion_k % kPromotionUnit != 0) {
    return refuse(StatusCode::kInvalidArgument, "promotion_k = " + std::to_string(promotion_k) +
                                                    ", must be 0 or a multiple of " + std::to_string(kPromotionUnit) +
                                                    " up to " + std::to_string(kMaxPromotionK));
  }
  if (policy.ec.remainder_shift < -1 || policy.ec.remainder_shift > kMaxRemainderShift) {
    return refuse(StatusCode::kInvalidArgument, "remainder_shift = " + std::to_string(policy.ec.remainder_shift) +
                                                    ", must be in -1.." + std::to_string(kMaxRemainderShift));
  }
  if (real_of(shape.scalar) != Scalar::kF32) {
    return refuse(StatusCode::kUnsupported,
                  "scheme ec: computes f32 and c64, got " + std::string(to_string(shape.scalar)) + "; use ozaki2");
  }
  if (policy.reproducibility == Reproducibility::kEngineToEngine) {
    return refuse(StatusCode::kUnsupported,
                  "scheme ec: rounds inside the tensor core, which reproducibility engine excludes");
  }
  if (policy.ec.karatsuba && (!is_complex(shape.scalar) || policy.gauge != Gauge::kNorm)) {
    return refuse(StatusCode::kUnsupported, "karatsuba: gauge = " + std::string(to_string(policy.gauge)) + " for " +
                                                std::string(to_string(shape.scalar)) +
                                                ", must be norm for c64: its imaginary part cancels");
  }
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) {
    return refuse(StatusCode::kAccuracyUnreachable, "scheme ec: rounds more than once, accuracy correct needs ozaki2");
  }
  if (policy.forced_moduli != 0) {
    return refuse(StatusCode::kUnsupported,
                  "moduli = " + std::to_string(policy.forced_moduli) + " needs scheme ozaki2, got ec");
  }
  return {};
}

}  // namespace

Status validate_policy(const problem::Shape& shape, const Policy& policy) {
  const auto invalid = [](const std::string& name, std::int64_t value, const std::string& limit) {
    return Status(StatusCode::kInvalidArgument, name + " = " + std::to_string(value) + ", must be " + limit);
  };
  // Everything that counts the terms of a line has room for so many: sums of squares, levels of pairwise sums, headroom.
  if (num_terms(shape) > num::kMaxLineLength) {
    return invalid("k", shape.k,
                   "<= " + std::to_string(num::kMaxLineLength / 2) + " for " + std::string(to_string(shape.scalar)) +
                       ", whose sums have 2 k real terms");
  }
  const int max_bits = num::significand_bits_guaranteed(shape.scalar);
  if (policy.accuracy.kind == Accuracy::Kind::kBits && (policy.accuracy.bits < 1 || policy.accuracy.bits > max_bits)) {
    return invalid("bits", policy.accuracy.bits,
                   "in 1.." + std::to_string(max_bits) + " for " + std::string(to_string(shape.scalar)));
  }
  if (policy.threads < 0 || policy.threads > kMaxThreads)
    return invalid("threads", policy.threads, "in 0.." + std::to_string(kMaxThreads));
  if (policy.max_rungs < 0) return invalid("rungs", policy.max_rungs, ">= 0");
  const int max_moduli = num::max_moduli(ring_of(shape.scalar));
  if (policy.forced_moduli != 0 && (policy.forced_moduli < num::kMinModuli || policy.forced_moduli > max_moduli)) {
    return invalid("moduli", policy.forced_moduli,
                   "0 or in " + std::to_string(num::kMinModuli) + ".." + std::to_string(max_moduli) + " for " +
                       std::string(to_string(shape.scalar)));
  }
  if (policy.forced_moduli != 0 && is_native_by_name(policy)) {
    return {StatusCode::kUnsupported,
            "moduli = " + std::to_string(policy.forced_moduli) + " needs scheme ozaki2, got native"};
  }
  KIZAMI_RETURN_IF_ERROR(validate_slices(shape, policy));
  return validate_ec(shape, policy);
}

Status validate_device_policy(const problem::Shape& shape, const Policy& policy) {
  const auto unsupported = [](const std::string& argument, const std::string& limit) {
    return Status(StatusCode::kUnsupported, argument + ", must be " + limit + ", for operands in device memory");
  };
  if (shape.scalar == Scalar::kDD) return unsupported("scalar = dd", "f32, f64, c64 or c128");
  if (policy.accuracy.kind == Accuracy::Kind::kCorrect) return unsupported("accuracy = correct", "native or bits=N");
  if (!policy.may_sync && policy.reject_nonfinite)
    return unsupported("nonfinite = reject", "multiply unless sync = allowed");
  const bool has_fixed_bound =
      policy.gauge == Gauge::kNorm || policy.forced_moduli != 0 || policy.scheme == Scheme::kOzaki1;
  if (!policy.may_sync && !policy.allow_fp64_arithmetic && !has_fixed_bound)
    return unsupported("fp64 = refuse", "allow in gauge entry unless sync = allowed");
  return {};
}

}  // namespace kizami::plan
