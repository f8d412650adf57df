// SPDX-License-Identifier: MIT
#include "exec/device_begin.hpp"

#include <complex>

#include "base/cuda_status.hpp"
#include "base/overlapped_launch.hpp"
#include "plan/device_state.cuh"

namespace kizami::exec {
namespace {

template <class T>
__global__ void begin_call(plan::DeviceState* state, Factor<T> alpha, std::int32_t num_products, std::int64_t num_pairs,
                           int rung, bool is_sliced) {
  base::follow_previous_kernel();
  plan::DeviceState fresh;
  fresh.selection.rung = rung;
  if (rung < 0) fresh.selection.num_repaired = num_pairs;
  fresh.num_products = num_products;
  fresh.is_sliced = is_sliced ? 1 : 0;
  fresh.statistics.num_pairs = num_pairs;
  fresh.is_scaling_only = alpha.load() == T{0} ? 1 : 0;
  plan::write_state(state, fresh);
}

}  // namespace

template <class T>
Status begin_state(plan::DeviceState* state, Factor<T> alpha, std::int32_t num_products, std::int64_t num_pairs,
                   int rung, product::Queue queue, bool is_sliced) {
  begin_call<<<1, 1, 0, queue>>>(state, alpha, num_products, num_pairs, rung, is_sliced);
  return base::launch_status("begin_call");
}

#define KIZAMI_INSTANTIATE(T) \
  template Status begin_state<T>(plan::DeviceState*, Factor<T>, std::int32_t, std::int64_t, int, product::Queue, bool)

KIZAMI_INSTANTIATE(float);
KIZAMI_INSTANTIATE(double);
KIZAMI_INSTANTIATE(std::complex<float>);
KIZAMI_INSTANTIATE(std::complex<double>);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::exec
