// SPDX-License-Identifier: MIT
// Coefficients fitted to docs/perf/h200_call.md and lab/results/h200: each phase is its bytes or operations at a rate that
// it reaches when large, and a time that it takes when small.
#include "plan/device_model.hpp"

#include <algorithm>

#include "plan/device_buffers.hpp"
#include "plan/device_ec.hpp"
#include "plan/device_ozaki1.hpp"
#include "plan/ozaki1.hpp"

namespace kizami::plan {

using product::EcFormat;

double device_native_seconds(const problem::Shape& shape, std::int64_t num_products) {
  const bool is_double = real_of(shape.scalar) == Scalar::kF64;
  const double flops = (is_complex(shape.scalar) ? 8.0 : 2.0) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k) * static_cast<double>(num_products);
  // A batch counts as one product of all its operations: one start, the same rates.
  // Long products meet the power limit in FP64.
  const double rate = !is_double ? 51.5e12 : flops < 3e11 ? 59e12 : flops < 3e12 ? 54e12 : 51e12;
  const auto least = static_cast<double>(std::min({shape.m, shape.n, shape.k}));
  constexpr double kThinExtent = 18;  // an extent of this loses half of the rate
  constexpr double kStartSeconds = 6e-6;
  if (flops == 0) return kStartSeconds;
  constexpr double kBytesPerSecond = 3.9e12;  // of 1000 products of n = 64: lab/results/h200/batch.jsonl
  const double bytes = size_bytes(shape.scalar) * static_cast<double>(num_products) *
                       (static_cast<double>(shape.m) * static_cast<double>(shape.k) +
                        static_cast<double>(shape.k) * static_cast<double>(shape.n) +
                        static_cast<double>(shape.m) * static_cast<double>(shape.n));
  return std::max(flops / rate * (1.0 + kThinExtent / least), bytes / kBytesPerSecond) + kStartSeconds;
}

namespace {

/// Product of sampled digits and comparison.
[[nodiscard]] double certificate_seconds(const Plan& plan, bool is_compared) {
  constexpr double kShortInt8OpsPerSecond = 1.3e15;
  constexpr double kShortProductSeconds = 9e-6;
  constexpr double kCompareBytesPerSecond = 2.9e12;
  constexpr double kCompareSeconds = 8e-6;
  const double parts = is_complex(plan.shape.scalar) ? 2.0 : 1.0;
  const double pairs = static_cast<double>(plan.shape.m) * static_cast<double>(plan.shape.n);
  const double terms =
      static_cast<double>(plan.shape.k) * parts / static_cast<double>(num::sample_stride(num_terms(plan.shape)));
  const double product = parts * (2.0 * pairs * terms / kShortInt8OpsPerSecond + kShortProductSeconds);
  return product + (is_compared ? 0.0 : 4.0 * parts * pairs / kCompareBytesPerSecond + kCompareSeconds);
}

}  // namespace

double device_phase_seconds(const Plan& plan) {
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const auto k = static_cast<double>(plan.shape.k);
  const double element = size_bytes(plan.shape.scalar);
  const bool is_in_parts = is_complex(plan.shape.scalar);
  const int planes = num::num_planes(ring_of(plan.shape.scalar), plan.numerics.ladder.rungs[0].num_moduli);

  constexpr double kUntakenSeconds = 7e-6;  // begin, second look, residues of another rung, FP64 rung
  constexpr double kSplitBytesPerSecond = 2.7e12;
  constexpr double kSplitSeconds = 3e-6;
  const double passes = splits_in_one_pass(plan) ? 1.0 : 3.0;  // over the operands; two for the statistics
  double seconds = kUntakenSeconds + (m + n) * k * (passes * element + planes) / kSplitBytesPerSecond + kSplitSeconds;
  if (has_device_phases(
          plan)) {  // bodies of tile kernels are bound by instructions, beside the bytes that are counted anyway
    constexpr double kResiduesPerSecond = 6e11;
    constexpr double kLaunchSeconds = 25e-6;
    seconds += ((m + n) * k + m * n) * planes / kResiduesPerSecond + kLaunchSeconds;
  }

  const double crt_bytes_per_second = is_in_parts ? 1.8e12 : 2.9e12;
  constexpr double kCrtSeconds = 5.5e-6;
  seconds += m * n * (planes + element) / crt_bytes_per_second + kCrtSeconds;

  if (plan.numerics.has_certificate) seconds += certificate_seconds(plan, compares_in_product(plan));
  return seconds;
}

double device_slice_phase_seconds(const Plan& plan) {
  constexpr double kUntakenSeconds = 5e-6;  // begin, FP64 rung, and the gaps between launches
  constexpr double kSplitBytesPerSecond = 2.7e12;
  constexpr double kSplitSeconds = 3e-6;
  constexpr double kSumBytesPerSecond = 2.9e12;
  constexpr double kSumSeconds = 3e-6;
  const SlicedForm form = device_sliced_form(plan);
  const SliceRung& rung = plan.numerics.slices.last();
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const double element = size_bytes(plan.shape.scalar);
  const double passes = slices_in_one_pass(plan) ? 1.0 : 3.0;  // over the operands; two for the statistics
  const double digits = static_cast<double>(form.num_parts * rung.num_slices * slice_numbers(plan, 1) *
                                            product::element_bytes(plan.numerics.slices.format));  // bytes
  const double split = (m + n) * static_cast<double>(plan.shape.k) * (passes * element + digits);
  const double before_sums = kUntakenSeconds + split / kSplitBytesPerSecond + kSplitSeconds;
  if (plan.schedule.slice_sums == SliceSums::kFused) return before_sums;
  const double planes = form.num_products * rung.num_diagonals;  // of a diagonal one, if it sums in INT32
  const double sums = m * n * (4.0 * planes + element);
  return before_sums + sums / kSumBytesPerSecond + kSumSeconds;
}

double device_slice_certificate_seconds(const Plan& plan) {
  if (!plan.numerics.has_certificate) return 0.0;
  constexpr double kUntakenSeconds = 10e-6;  // second look, weights, and the host that waits
  constexpr double kStatisticsBytesPerSecond = 2.7e12;
  const Chunk& chunk = plan.schedule.certificate;
  const double elements = static_cast<double>(plan.shape.m + plan.shape.n) * static_cast<double>(plan.shape.k);
  const bool is_compared = chunk.mc >= plan.shape.m && chunk.nc >= plan.shape.n;
  return kUntakenSeconds + 2.0 * elements * size_bytes(plan.shape.scalar) / kStatisticsBytesPerSecond +
         certificate_seconds(plan, is_compared);
}

double device_ec_phase_seconds(const Plan& plan) {
  constexpr double kUntakenSeconds = 7e-6;  // decision, FP64 rung, and the gaps between launches
  constexpr double kSplitBytesPerSecond = 3.2e12;
  constexpr double kSplitSeconds = 1.5e-6;
  const double forms = is_complex(plan.shape.scalar) ? 2.0 : 1.0;
  const EcFormat format = ec_format(plan.numerics.ec.stages[0]);
  const auto terms = static_cast<double>(num_terms(plan.shape));
  const auto m = static_cast<double>(plan.shape.m);
  const auto n = static_cast<double>(plan.shape.n);
  const double split_bytes = format == EcFormat::kF16 ? 4.0 : 8.0;  // of a term of a line that is made
  const double bytes = ((m + n) * 4.0 + (forms * m + n) * split_bytes) * terms;
  return kUntakenSeconds + bytes / kSplitBytesPerSecond + kSplitSeconds;
}

}  // namespace kizami::plan
