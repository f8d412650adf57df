// SPDX-License-Identifier: MIT
// The kernels of one form of a product of signed bytes, and which of them a description takes.
#pragma once

#include <array>
#include <cstddef>

#include "engines/shared_memory.hpp"
#include "product/product.hpp"

namespace kizami::engines {

/// A compiled kernel, as cudaLaunchKernelExC takes it; null where a form is not compiled for an epilogue.
struct FormKernels {
  const void* store_acc;
  const void* store_windows;  ///< kStoreAcc of windows
  const void* reduce;
  const void* reduce_add;
  const void* compare;
  std::size_t shared_bytes;
  const void* reduce_unsigned = nullptr;  ///< of bytes without sign
};
inline constexpr int kKernelsOfForm = 6;

[[nodiscard]] inline const void* kernel_for(const FormKernels& kernels, const product::ProductDesc& d) {
  if (d.num_windows > 0) return kernels.store_windows;
  switch (d.epilogue) {
    case product::Epilogue::kStoreAcc:
      return kernels.store_acc;
    case product::Epilogue::kReduce:
      return d.has_unsigned_bytes ? kernels.reduce_unsigned : kernels.reduce;
    case product::Epilogue::kReduceAdd:
      return kernels.reduce_add;
    case product::Epilogue::kCompare:
      return kernels.compare;
  }
  return nullptr;
}

/// The grants of shared memory of the kernels of so many forms.
template <std::size_t kForms>
class FormGrants {
 public:
  [[nodiscard]] SharedMemoryGrant& of(std::size_t form, const product::ProductDesc& d) {
    const auto epilogue = static_cast<std::size_t>(d.epilogue);
    return grants_[form][d.num_windows > 0 ? kKernelsOfForm - 1 : d.has_unsigned_bytes ? kKernelsOfForm - 2 : epilogue];
  }

 private:
  std::array<std::array<SharedMemoryGrant, kKernelsOfForm>, kForms> grants_;
};

}  // namespace kizami::engines
