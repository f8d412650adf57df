// SPDX-License-Identifier: MIT
// A product and the CRT of its residues side by side, in both ways: as a kernel of its own that runs beside the product,
// or as warps of the product's blocks, behind which the same kernel takes what is left. No plan has them yet, so they
// are compiled here, for the benchmark and for tests.
#pragma once

#include <cstdint>

#include "product/block_reports.hpp"
#include "product/product.hpp"
#include "schemes/ozaki2/beside_runs.hpp"
#include "schemes/ozaki2/device_crt.hpp"

namespace bench {

enum class CrtPlace : std::uint8_t { kKernel, kWarps };

/// Plain data. crt.planes are those of the product's C; reports.words are zero, and are so again when the call is done.
template <class T>
struct BesideCall {
  kizami::product::ProductDesc desc;  ///< kReduce, m a multiple of 16, k >= 1
  kizami::product::Pointers pointers;
  kizami::ozaki2::DeviceReconstruction<T> crt;
  kizami::product::BlockReports reports;
  CrtPlace place = CrtPlace::kKernel;
  kizami::ozaki2::BesideShape shape;
  std::uint64_t* times = nullptr;  ///< as of BesideTask
  int num_sms = 0;
};

struct WalkWishes {
  std::uint32_t group_blocks = 66;
  std::uint32_t raster_blocks = 8;
  bool is_paced = true;
};
/// All but the words, of which reports.num_words() are wanted.
[[nodiscard]] kizami::product::BlockReports make_reports(const kizami::product::ProductDesc& desc, int num_sms,
                                                         const WalkWishes& wishes);

/// @queue enqueues two kernels
template <class T>
[[nodiscard]] kizami::Status run_beside(const BesideCall<T>& call, kizami::product::Queue queue);
/// The lowest rungs: FP64 and complex FP64 numbers in three pieces, complex FP32 ones in two.
template <class T>
[[nodiscard]] kizami::Status run_product_with_warps(const BesideCall<T>& call, kizami::product::Queue queue);

}  // namespace bench
