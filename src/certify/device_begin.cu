// SPDX-License-Identifier: MIT
#include "certify/device_begin.hpp"

#include <complex>

#include "base/cuda_status.hpp"
#include "base/instantiate.hpp"
#include "base/overlapped_launch.hpp"
#include "certify/device_scout.cuh"
#include "device/state.cuh"

namespace kizami::certify {
namespace {

template <class T>
__device__ device::DeviceState fresh_state(Factor<T> alpha, std::int32_t num_products, std::int64_t num_pairs, int rung,
                                           bool is_sliced) {
  device::DeviceState fresh;
  fresh.selection.rung = rung;
  if (rung < 0) fresh.selection.num_repaired = num_pairs;
  fresh.num_products = num_products;
  fresh.is_sliced = is_sliced ? 1 : 0;
  fresh.statistics.num_pairs = num_pairs;
  const T factor = alpha.load();
  fresh.is_scaling_only = factor == T{0} ? 1 : 0;
  fresh.takes_signs = device::takes_signs(factor) ? 1 : 0;
  return fresh;
}

__device__ void set_look(device::DeviceState& state, device::Look look) {
  state.look = look;
  state.num_sampled_products = look == device::Look::kSample ? device::kMostSampledProducts : 0;
}

template <class T>
__global__ void begin_call(device::DeviceState* state, Factor<T> alpha, std::int32_t num_products,
                           std::int64_t num_pairs, int rung, bool is_sliced, device::Look look, int first_rung) {
  base::follow_previous_kernel();
  device::DeviceState fresh = fresh_state(alpha, num_products, num_pairs, rung, is_sliced);
  set_look(fresh, look);
  fresh.first_rung = first_rung;
  device::write_state(state, fresh);
}

template <class T>
__global__ void __launch_bounds__(kScoutThreads)
    begin_and_scout(device::DeviceState* state, Factor<T> alpha, std::int32_t num_products, std::int64_t num_pairs,
                    const __grid_constant__ Scout<T> task, bool has_begun) {
  __shared__ ScoutShared shared;
  base::begin_in_cluster(&shared, sizeof shared);
  base::follow_previous_kernel();
  device::DeviceState fresh = fresh_state(alpha, num_products, num_pairs, /*rung=*/0, /*is_sliced=*/false);
  if (fresh.is_scaling_only == 0) set_look(fresh, scout(task, shared));  // the same in all blocks
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  if (has_begun && fresh.look == device::Look::kSample) {  // all that a split adds to
    fresh.sampled_failures = state->sampled_failures;
    fresh.open_lines = state->open_lines;
    fresh.nonfinite_rows = state->nonfinite_rows;
    fresh.nonfinite_cols = state->nonfinite_cols;
  }
  device::write_state(state, fresh);
}

__global__ void impose(device::DeviceState* state, const num::Selection selection, std::int32_t num_products) {
  state->selection = selection;
  state->num_products = num_products;
  state->num_strassen_products = 0;  // of a guess
}

__global__ void cancel(device::DeviceState* state, std::int64_t num_pairs) {
  const bool is_sampled = state->sampled_failures == 0 && state->look == device::Look::kSample;
  if (is_sampled || state->statistics.plain.pairs[0] == num_pairs) {
    state->has_rungs = 0;  // products will lie where they are
    return;
  }
  state->selection.rung = -1;
  state->num_products = 0;
}

}  // namespace

Status cancel_unless_lowest(device::DeviceState* state, std::int64_t num_pairs, product::Queue queue) {
  cancel<<<1, 1, 0, queue>>>(state, num_pairs);
  return base::launch_status("cancel_unless_lowest");
}

Status impose_selection(device::DeviceState* state, const num::Selection& selection, std::int32_t num_products,
                        product::Queue queue) {
  impose<<<1, 1, 0, queue>>>(state, selection, num_products);
  return base::launch_status("impose_selection");
}

template <class T>
Status begin_state(device::DeviceState* state, Factor<T> alpha, std::int32_t num_products, std::int64_t num_pairs,
                   int rung, product::Queue queue, bool is_sliced, device::Look look, int first_rung) {
  begin_call<<<1, 1, 0, queue>>>(state, alpha, num_products, num_pairs, rung, is_sliced, look, first_rung);
  return base::launch_status("begin_call");
}

template <class T>
Status begin_state_and_scout(device::DeviceState* state, Factor<T> alpha, std::int32_t num_products,
                             std::int64_t num_pairs, const problem::Lines<T>& a, const problem::Lines<T>& b,
                             float allowance, product::Queue queue, bool has_begun) {
  return base::launch_overlapped_in(kScoutCluster, "begin_and_scout", begin_and_scout<T>, kScoutCluster, kScoutThreads,
                                    0, queue, state, alpha, num_products, num_pairs,
                                    Scout<T>{a, b, allowance, num::sample_stride(allowance, a.num_terms())}, has_begun);
}

#define KIZAMI_INSTANTIATE(T)                                                                                         \
  template Status begin_state<T>(device::DeviceState*, Factor<T>, std::int32_t, std::int64_t, int, product::Queue,    \
                                 bool, device::Look, int);                                                            \
  template Status begin_state_and_scout<T>(device::DeviceState*, Factor<T>, std::int32_t, std::int64_t,               \
                                           const problem::Lines<T>&, const problem::Lines<T>&, float, product::Queue, \
                                           bool)

KIZAMI_FOR_EACH_ELEMENT(KIZAMI_INSTANTIATE);
#undef KIZAMI_INSTANTIATE

}  // namespace kizami::certify
