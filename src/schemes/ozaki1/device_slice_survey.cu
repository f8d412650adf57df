// SPDX-License-Identifier: MIT
// What all lines of both operands have in common: maxima, found by one block.
#include "base/overlapped_launch.hpp"
#include "schemes/ozaki1/device_split.hpp"

namespace kizami::ozaki1 {
namespace {

constexpr int kSurveyThreads = 1024;

struct SurveyedLines {
  const num::LineStats* stats;
  std::int64_t num_lines;
};
struct Survey {
  SurveyedLines sides[2];
  num::DigitRule rule;
  int sum_bit;
  bool has_one_scale;
};

/// The largest value of all threads, in shared memory. A barrier ends it.
__device__ void merge_largest(int value, int* largest) {
  value = __reduce_max_sync(~0u, value);
  if (threadIdx.x % 32 == 0) atomicMax(largest, value);
}

__global__ void __launch_bounds__(kSurveyThreads) survey_lines(Survey survey, device::DeviceState* state) {
  __shared__ device::SliceSurvey found;
  base::follow_previous_kernel();
  if (state->is_scaling_only != 0) return;
  if (threadIdx.x == 0) found = {};
  __syncthreads();
#pragma unroll 1
  for (int side = 0; side < 2; ++side) {
    const SurveyedLines lines = survey.sides[side];
    int exponent = num::kNoExponent;
    for (std::int64_t i = threadIdx.x; i < lines.num_lines; i += kSurveyThreads)
      exponent = max(exponent, lines.stats[i].exponent);
    merge_largest(exponent, &found.exponents[side]);
  }
  __syncthreads();
  int num_digits = 0;
  int spread = 0;
#pragma unroll 1
  for (int side = 0; side < 2; ++side) {
    const SurveyedLines lines = survey.sides[side];
    for (std::int64_t i = threadIdx.x; i < lines.num_lines; i += kSurveyThreads) {
      const num::LineStats line = lines.stats[i];
      if (line.is_zero()) continue;
      const int exponent = survey.has_one_scale ? found.exponents[side] : line.exponent;
      num_digits = max(num_digits, num::num_exact_digits(survey.rule, line, exponent + survey.sum_bit));
      spread = max(spread, exponent - line.exponent);
    }
  }
  merge_largest(num_digits, &found.num_digits);
  merge_largest(spread, &found.spread);
  __syncthreads();
  if (threadIdx.x == 0) state->slices = found;
}

}  // namespace

Status device_slice_survey(const num::LineStats* a, std::int64_t m, const num::LineStats* b, std::int64_t n,
                           const num::DigitRule& rule, bool has_sums, bool has_one_scale, device::DeviceState* state,
                           product::Queue queue) {
  const Survey survey{{{a, m}, {b, n}}, rule, has_sums ? 1 : 0, has_one_scale};
  return base::launch_overlapped("survey_lines", survey_lines, 1, kSurveyThreads, 0, queue, survey, state);
}

}  // namespace kizami::ozaki1
