// SPDX-License-Identifier: MIT
// The forms of schedule kCooperative, and the products of one triangle of C.
#include "engines/hopper/product_i8_sm90.cuh"

namespace kizami::engines::hopper {

FormKernels cooperative_256x128_kernels() {
  return kernels_of<Form<HopperSchedule::kCooperative, LineOrder::kInOrder, 256, 128, 2, 4>>();
}

FormKernels cooperative_256x128_permuted_kernels() {
  return kernels_of<Form<HopperSchedule::kCooperative, LineOrder::kPermuted, 256, 128, 2, 4>>();
}

FormKernels cooperative_192x256_kernels() {
  return kernels_of<Form<HopperSchedule::kCooperative, LineOrder::kInOrder, 192, 256, 2, 4>>();
}

FormKernels cooperative_192x256_permuted_kernels() {
  return kernels_of<Form<HopperSchedule::kCooperative, LineOrder::kPermuted, 192, 256, 2, 4>>();
}

TriangleKernels triangle_kernels() {
  using product::Epilogue;
  using Permuted = Form<HopperSchedule::kCooperative, LineOrder::kPermuted, 256, 128, 2, 4>;
  using InOrder = Form<HopperSchedule::kCooperative, LineOrder::kInOrder, 256, 128, 2, 4>;
  static_assert(Permuted::kSharedBytes == InOrder::kSharedBytes);
  constexpr auto* kReduce = &product_i8_sm90<Permuted, Epilogue::kReduce, false, TriangleParams>;
  constexpr auto* kCompare = &product_i8_sm90<InOrder, Epilogue::kCompare, false, TriangleParams>;
  constexpr auto* kReduceUnsigned = &product_i8_sm90<Permuted, Epilogue::kReduce, false, TriangleParams, true>;
  return {reinterpret_cast<const void*>(kReduce), reinterpret_cast<const void*>(kCompare), Permuted::kSharedBytes,
          reinterpret_cast<const void*>(kReduceUnsigned)};
}

}  // namespace kizami::engines::hopper
