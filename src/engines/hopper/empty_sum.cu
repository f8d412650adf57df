// SPDX-License-Identifier: MIT
// k = 0: there is nothing to multiply and no operand to map, but C is written all the same.
#include "base/overlapped_launch.hpp"
#include "engines/hopper/product_params.hpp"
#include "engines/residue.cuh"

namespace kizami::engines::hopper {
namespace {

template <product::Epilogue kEpilogue>
__global__ void empty_sum_smxx(const __grid_constant__ ProductParams params) {
  base::follow_previous_kernel();
  int num_planes = params.num_products;
  if (params.num_products_at != nullptr) num_planes = max(0, min(num_planes, *params.num_products_at));
  const std::int64_t per_plane = static_cast<std::int64_t>(params.m) * params.n;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < per_plane * num_planes;
       e += step) {
    const std::int64_t plane = e / per_plane;
    const std::int64_t j = (e - plane * per_plane) / params.m;
    const std::int64_t i = e - plane * per_plane - j * params.m;
    const std::int64_t at = plane * params.c_plane_stride + j * params.c_col_stride + i;
    if constexpr (kEpilogue == product::Epilogue::kStoreAcc) {
      static_cast<std::int32_t*>(params.c)[at] = 0;
    } else if constexpr (kEpilogue == product::Epilogue::kReduce) {
      static_cast<std::int8_t*>(params.c)[at] = 0;
    } else {
      auto& to = static_cast<std::int8_t*>(params.c)[at];
      std::int32_t sum[1] = {to};
      take_residues</*kHasSign=*/true>(params.moduli[plane / params.planes_of_modulus], sum);
      to = static_cast<std::int8_t>(sum[0]);
    }
  }
}

}  // namespace

FormKernels empty_sum_kernels() {
  using product::Epilogue;
  const void* const reduce = reinterpret_cast<const void*>(&empty_sum_smxx<Epilogue::kReduce>);
  return {reinterpret_cast<const void*>(&empty_sum_smxx<Epilogue::kStoreAcc>),
          nullptr,
          reduce,
          reinterpret_cast<const void*>(&empty_sum_smxx<Epilogue::kReduceAdd>),
          nullptr,
          0,
          /*reduce_unsigned=*/reduce};
}

}  // namespace kizami::engines::hopper
