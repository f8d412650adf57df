// SPDX-License-Identifier: MIT
#include "engines/tile/device_float_windows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/int_math.hpp"
#include "engines/desc_check.hpp"

namespace kizami::engines::tile_engines {
namespace {

using base::ceil_div;
using base::round_up;
using product::Pointers;
using product::ProductDesc;
using product::Window;

constexpr int kGroup = 8;  ///< rows of tiles that blocks walk together
/// Lines of A and of B in one launch: its (2^17 / 64)^2 blocks are within the 2^24 of a grid.
constexpr std::int64_t kMostLines = std::int64_t{1} << 17;
/// Addresses and strides of a C that TMA stores are multiples of so many bytes, and elements.
constexpr std::int64_t kAligned = 16;

/// What a kernel of product_slices.cu has.
struct FloatKernel {
  std::int64_t exact_k;  ///< elements of k that it sums in the tensor core
  std::int64_t tile;     ///< of C
  int blocks;            ///< on a multiprocessor at a time
  double step_seconds;   ///< of so many blocks, for kStep elements of k
};
constexpr std::int64_t kStep = 128;
/// Seconds fitted to what they take for n = 1024 to 8192 on an H200.
[[nodiscard]] constexpr FloatKernel kernel_of(SliceFormat format) {
  switch (format) {
    case SliceFormat::kFp16:
      return {64, 64, 3, 1.3e-6};
    case SliceFormat::kBf16:
      return {256, 128, 1, 0.86e-6};
    case SliceFormat::kE4m3:
      return {64, 128, 1, 0.60e-6};
    default:
      return {256, 128, 1, 0.43e-6};
  }
}

Status launch(const ProductDesc& d, const base::CudaModuleKernel& kernel, const std::int8_t* a, const std::int8_t* b,
              std::int32_t* c, std::int64_t m, std::int64_t n, std::int64_t k, product::Queue queue) {
  const std::int64_t tile = kernel_of(d.format).tile;
  const dim3 grid(static_cast<unsigned>(ceil_div(n, tile) * ceil_div(m, tile)));
  return kernel.launch(grid, queue, a, static_cast<int>(d.a_row_stride), b, static_cast<int>(d.b_row_stride), c,
                       static_cast<int>(d.c_col_stride), static_cast<int>(m), static_cast<int>(n),
                       static_cast<int>(round_up(k, product::kWindowPad)), kGroup);
}

}  // namespace

std::optional<std::string> why_float_windows_refused(const ProductDesc& d) {
  const std::int64_t exact_k = kernel_of(d.format).exact_k;
  if (d.exact_k >= exact_k) return std::nullopt;
  return detail::wrong("exact_k", d.exact_k,
                       "at least " + std::to_string(exact_k) + ", which the tile kernel of " +
                           std::string(to_string(d.format)) + " sums at a time");
}

double float_windows_seconds(const ProductDesc& d, int num_sms) {
  constexpr double kStartSeconds = 4e-6;
  constexpr double kStoreSeconds = 3e-6;
  const FloatKernel kernel = kernel_of(d.format);
  const std::int64_t tiles = ceil_div(d.m, kernel.tile) * ceil_div(d.n, kernel.tile);
  const auto waves = static_cast<double>(ceil_div(tiles, kernel.blocks * (num_sms > 0 ? num_sms : 132)));
  double seconds = 0;
  for (std::size_t l = 0; l < static_cast<std::size_t>(d.num_windows); ++l) {
    const auto steps = static_cast<double>(ceil_div(d.windows[l].k, kStep));
    seconds += kStartSeconds + waves * (steps * kernel.step_seconds + kStoreSeconds);
  }
  return seconds;
}

Status run_float_windows(const ProductDesc& d, const Pointers& pointers, const DeviceKernels& kernels,
                         product::Queue queue) {
  const ProductKernels& both =
      kernels.float_windows[static_cast<std::size_t>(d.format) - static_cast<std::size_t>(SliceFormat::kFp16)];
  const std::int64_t size = product::element_bytes(d.format);
  for (int l = 0; l < d.num_windows; ++l) {
    const Window& w = d.windows[static_cast<std::size_t>(l)];
    const std::int8_t* const a = pointers.a + (w.a_plane * d.a_plane_stride + w.a_first) * size;
    const std::int8_t* const b = pointers.b + (w.b_plane * d.b_plane_stride + w.b_first) * size;
    std::int32_t* const c = static_cast<std::int32_t*>(pointers.c) + l * d.c_plane_stride;
    for (std::int64_t j = 0; j < d.n; j += kMostLines) {
      for (std::int64_t i = 0; i < d.m; i += kMostLines) {
        std::int32_t* const part = c + j * d.c_col_stride + i;
        const std::int64_t m = std::min(kMostLines, d.m - i);
        const bool is_aligned = reinterpret_cast<std::uintptr_t>(part) % kAligned == 0 &&
                                d.c_col_stride % kAligned == 0 && m * 4 % kAligned == 0;
        KIZAMI_RETURN_IF_ERROR(launch(d, is_aligned ? both.aligned : both.any, a + i * d.a_row_stride * size,
                                      b + j * d.b_row_stride * size, part, m, std::min(kMostLines, d.n - j), w.k,
                                      queue));
      }
    }
  }
  return {};
}

}  // namespace kizami::engines::tile_engines
