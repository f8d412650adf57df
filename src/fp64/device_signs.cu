// SPDX-License-Identifier: MIT
// alpha = NaN or Inf on a device: the signs of exact sums, see device.hpp. A warp has an element, whose long
// accumulator lies in shared memory; lanes take terms and add to its digits, which are integers: any order gives the
// same.
#include <complex>

#include "base/overlapped_launch.hpp"
#include "device/effort_word.cuh"
#include "fp64/device_calls.hpp"
#include "fp64/device_pair.cuh"
#include "num/long_accumulator.hpp"

namespace kizami::fp64 {
namespace {

using num::LongAccumulator;

constexpr int kSignThreads = 256;
constexpr int kSignBlocksPerSm = 4;

struct SignShared {
  std::int64_t digits[kSignThreads / kWarpSize][LongAccumulator::kNumDigits];
};

/// -1, 0 or 1, the same in all lanes. @range finite lines
template <class T>
__device__ int exact_sign(const DeviceCall<T>& call, std::int64_t i, std::int64_t j, problem::RealForm form,
                          std::int64_t* digits) {
  for (int d = lane_index(); d < LongAccumulator::kNumDigits; d += kWarpSize) digits[d] = 0;
  __syncwarp();
  const std::int64_t num_terms = call.a.num_terms();
  constexpr std::int64_t kMostSteps = LongAccumulator::kMaxPending / kWarpSize;
  std::int64_t steps = 0;
  for (std::int64_t first = 0; first < num_terms; first += kWarpSize) {
    const std::int64_t t = first + lane_index();
    if (t < num_terms) {
      const LongAccumulator::Addend addend =
          LongAccumulator::addend_of(call.a.term(i, t), problem::term(call.b, form, j, t));
      for (int p = 0; p < LongAccumulator::Addend::kCount; ++p) {
        if (addend.parts[p] == 0) continue;
        atomicAdd(reinterpret_cast<unsigned long long*>(&digits[addend.first + p]),
                  static_cast<unsigned long long>(addend.parts[p]));
      }
    }
    if (++steps < kMostSteps) continue;
    steps = 0;
    __syncwarp();
    if (lane_index() == 0) LongAccumulator::carry_digits(digits);
    __syncwarp();
  }
  __syncwarp();
  int sign = 0;
  if (lane_index() == 0) {
    LongAccumulator::carry_digits(digits);
    sign = LongAccumulator::sign_of_digits(digits);
  }
  return __shfl_sync(kAllLanes, sign, 0);
}

/// All elements of a call, by the warps of the grid.
template <class T>
__device__ void answer_all_signs(const DeviceCall<T>& call, std::int64_t* digits) {
  const std::int64_t num_pairs = call.c.rows * call.c.cols;
  for (std::int64_t pair = warp_index(); pair < num_pairs; pair += num_warps()) {
    const std::int64_t i = pair % call.c.rows;
    const std::int64_t j = pair / call.c.rows;
    if (!call.a_stats[i].is_finite || !call.b_stats[j].is_finite) {
      answer_nonfinite_pair(call, i, j);
      continue;
    }
    const auto sign_of = [&](problem::RealForm form) {
      return num::make_scaled(static_cast<double>(exact_sign(call, i, j, form, digits)), 0);
    };
    ScaledOf<T> product;
    if constexpr (kIsComplex<T>) {
      product.re = sign_of(problem::RealForm::kRealPart);
      product.im = sign_of(problem::RealForm::kImagPart);
    } else {
      product = sign_of(problem::RealForm::kPlain);
    }
    if (lane_index() == 0)
      write_element(call, i, j, [&](T alpha, T beta, T old) { return num::finish(product, alpha, beta, old); });
    __syncwarp();
  }
}

/// Whether a call, or all of a batch, whose alpha is one, are answered by their signs; their first warp says so.
template <class T>
[[nodiscard]] __device__ bool takes_signs(const DeviceCall<T>& call) {
  if (call.state->takes_signs == 0) return false;
  if (call.effort.note.word != nullptr && blockIdx.x == 0 && threadIdx.x < kWarpSize)
    device::tell_effort(call.effort, call.c.rows, call.c.cols);
  return true;
}

template <class T>
__global__ void __launch_bounds__(kSignThreads, kSignBlocksPerSm)
    answer_signs_smxx(const __grid_constant__ DeviceCall<T> call) {
  __shared__ SignShared shared;
  base::follow_previous_kernel();
  if (takes_signs(call)) answer_all_signs(call, shared.digits[threadIdx.x / kWarpSize]);
}

template <class T>
__global__ void __launch_bounds__(kSignThreads, kSignBlocksPerSm)
    answer_signs_of_all_smxx(const __grid_constant__ DeviceCalls<T> calls) {
  __shared__ SignShared shared;
  base::follow_previous_kernel();
  if (!takes_signs(calls.first)) return;
  for (std::int64_t i = 0; i < calls.num_calls; ++i)
    answer_all_signs(calls.at(i), shared.digits[threadIdx.x / kWarpSize]);
}

}  // namespace

template <class T>
Status answer_signs_of_all(const DeviceCalls<T>& calls, int num_sms, product::Queue queue) {
  if (calls.first.c.rows == 0 || calls.first.c.cols == 0) return {};
  return base::launch_overlapped("the signs of exact sums of a batch", answer_signs_of_all_smxx<T>,
                                 kSignBlocksPerSm * num_sms, kSignThreads, 0, queue, calls);
}

template <class T>
Status answer_signs(const DeviceCall<T>& call, int num_sms, product::Queue queue) {
  if (call.c.rows == 0 || call.c.cols == 0) return {};
  return base::launch_overlapped("the signs of exact sums", answer_signs_smxx<T>, kSignBlocksPerSm * num_sms,
                                 kSignThreads, 0, queue, call);
}

template Status answer_signs<float>(const DeviceCall<float>&, int, product::Queue);
template Status answer_signs<double>(const DeviceCall<double>&, int, product::Queue);
template Status answer_signs<std::complex<float>>(const DeviceCall<std::complex<float>>&, int, product::Queue);
template Status answer_signs<std::complex<double>>(const DeviceCall<std::complex<double>>&, int, product::Queue);
template Status answer_signs_of_all<float>(const DeviceCalls<float>&, int, product::Queue);
template Status answer_signs_of_all<std::complex<float>>(const DeviceCalls<std::complex<float>>&, int, product::Queue);

}  // namespace kizami::fp64
