// SPDX-License-Identifier: MIT
// The compiled forms of the kernel of signed bytes, and the choice among them. A form changes speed, never a bit of C.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/device_limits.hpp"
#include "product/product.hpp"

namespace kizami::engines {

enum class MmaForm : std::uint8_t {
  k256x128,      ///< stages of 64 bytes of k
  k256x128Long,  ///< stages of 128: half as many barriers, for 144 KB of shared memory
  k128x128,      ///< two blocks on a multiprocessor: one stores while the other multiplies
};
inline constexpr int kNumMmaForms = 3;

/// What the host must know of a form.
struct MmaFormTraits {
  std::string_view name;
  MmaForm form;
  int tile_i;   ///< lines of A in a tile
  int tile_j;   ///< lines of B
  int block_k;  ///< bytes of k in a stage
  int stages;
  int blocks_per_sm;

  [[nodiscard]] constexpr int threads() const { return tile_i / 64 * (tile_j / 64) * 32; }
  [[nodiscard]] constexpr int shared_bytes() const { return (tile_i + tile_j) * block_k * stages; }
};

/// The forms, as constants for the kernels too.
inline constexpr MmaFormTraits kMmaForms[kNumMmaForms] = {
    {"256x128", MmaForm::k256x128, 256, 128, 64, 4, 1},
    {"256x128_long", MmaForm::k256x128Long, 256, 128, 128, 3, 1},
    {"128x128", MmaForm::k128x128, 128, 128, 64, 3, 2},
};
[[nodiscard]] constexpr const MmaFormTraits& traits_of(MmaForm form) { return kMmaForms[static_cast<int>(form)]; }

/// What is exclusive-ored to the numbers of a line's chunks of 16 bytes in a stage. ldmatrix takes a chunk of eight lines
/// at a time, which must lie in different banks: eight neighbours, or of permuted lines 16 x + 2 g + b, x = 0..3,
/// b = 0..1. @range block_k 64 or 128: the 128 bytes that hold all banks are two lines or one
[[nodiscard]] constexpr int mma_swizzle(int block_k, int line, bool is_permuted) {
  if (is_permuted) return block_k == 128 ? line % 2 + line / 16 % 4 * 2 : line / 16 % 4;
  return block_k == 128 ? line % 8 : line / 2 % 4;
}

/// The form that the engine runs for a description: of those that the device has shared memory for the one that is predicted
/// to end first.
[[nodiscard]] MmaForm mma_form_for(const product::ProductDesc& desc, const base::DeviceLimits& device);

/// Predicted seconds of a form, launch included.
[[nodiscard]] double predicted_seconds(const product::ProductDesc& desc, const MmaFormTraits& traits,
                                       const base::DeviceLimits& device);

/// What Engine::run() does, with the form forced; for tests and measurements.
/// @range  raster_tiles: tiles along i that are walked before the next j; 0 for the engine's choice
/// @status as Engine::run(); kUnsupported where the device has not the shared memory
/// @queue  as Engine::run()
[[nodiscard]] Status run_mma_product(const product::ProductDesc& desc, const product::Pointers& pointers, MmaForm form,
                                     product::Queue queue, int raster_tiles = 0);

}  // namespace kizami::engines
