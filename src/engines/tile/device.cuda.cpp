// SPDX-License-Identifier: MIT
#include "engines/tile/device.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/fork_safe.hpp"
#include "base/int_math.hpp"
#include "engines/clear_sums.hpp"
#include "engines/desc_check.hpp"
#include "engines/tile/device_float_windows.hpp"
#include "engines/tile/device_kernels.hpp"
#include "engines/tile/device_phases.hpp"
#include "engines/tile/launches.hpp"

namespace kizami::engines {
namespace {

using base::ceil_div;
using base::round_up;
using product::DeviceFacts;
using product::Epilogue;
using product::Offer;
using product::Pointers;
using product::ProductDesc;
using product::Refusal;
using tile_engines::DeviceKernels;
using tile_engines::Part;
using tile_engines::ProductKernels;

/// Tiles of C of the kernels product_i8_* (tile_kernels/device/ozaki2.cu).
constexpr std::int64_t kTile = 128;
constexpr int kGroup = 8;  ///< rows of tiles that blocks walk together
/// Lines of A and of B in one launch: its (2^18 / 128)^2 blocks are within the 2^24 of a grid.
constexpr std::int64_t kMostLines = std::int64_t{1} << 18;
static_assert((kMostLines / kTile) * (kMostLines / kTile) < std::int64_t{1} << 24);
/// Addresses, strides and columns that TMA stores are multiples of so many bytes; strides of so many elements.
constexpr std::int64_t kAligned = 16;
constexpr Abilities kAbilities{.compares = false, .takes_windows = true, .takes_floats = true, .promotes_sums = true};

[[nodiscard]] std::optional<std::string> why_machine_refuses(const DeviceFacts& facts) {
  if (facts.space != product::MemorySpace::kDevice) return "the operands are not in device memory";
  if (auto reason = tile_engines::why_no_kernels_for(facts)) return reason;
  const DeviceKernels* const kernels = tile_engines::kernels_on(facts.device);
  if (kernels != nullptr && !kernels->status.ok()) return kernels->status.reason();
  return std::nullopt;
}

[[nodiscard]] std::optional<std::string> why_format_refused(const ProductDesc& d, const DeviceFacts& facts) {
  if (d.format == SliceFormat::kInt8 || facts.compute_capability == tile_engines::kFloatCapability) return std::nullopt;
  return "compute_capability = " + std::to_string(facts.compute_capability) + ", must be " +
         std::to_string(tile_engines::kFloatCapability) +
         " for floating-point slices: of no other is it recorded how it adds";
}

[[nodiscard]] std::optional<std::string> why_desc_refused(const ProductDesc& d) {
  if (auto reason = tile_engines::why_tile_refuses(d, kAbilities)) return reason;
  return d.format == SliceFormat::kInt8 ? std::nullopt : tile_engines::why_float_windows_refused(d);
}

/// Seconds of a launch, fitted to lab/results/h200/tile_engine.jsonl: waves of tiles, two of which share a
/// multiprocessor.
[[nodiscard]] double launch_seconds(std::int64_t m, std::int64_t n, std::int64_t k, int planes, int num_sms) {
  constexpr double kStartSeconds = 6e-6;
  constexpr double kStepSeconds = 0.41e-6;  // 128 of k, of one tile of a multiprocessor
  constexpr double kStoreSeconds = 4e-6;
  const std::int64_t tiles = ceil_div(m, kTile) * ceil_div(n, kTile) * planes;
  const std::int64_t sms = num_sms > 0 ? num_sms : 132;
  const double together = tiles > sms ? 2 : 1;
  return kStartSeconds + static_cast<double>(ceil_div(tiles, 2 * sms)) *
                             (static_cast<double>(ceil_div(k, kTile)) * together * kStepSeconds + kStoreSeconds);
}
/// Beside an H200, other cards are what their tensor cores are.
[[nodiscard]] double predicted_seconds(const ProductDesc& d, const DeviceFacts& facts) {
  const int num_sms = facts.num_sms;
  if (d.format != SliceFormat::kInt8) return tile_engines::float_windows_seconds(d, num_sms);
  const double steps = facts.has_wgmma() || facts.rates.int8 <= 0 ? 1 : num_sms / (132 * facts.rates.int8);
  if (d.num_windows == 0) return steps * launch_seconds(d.m, d.n, d.k, d.num_products, num_sms);
  double seconds = 0;
  for (std::size_t l = 0; l < static_cast<std::size_t>(d.num_windows); ++l)
    seconds += steps * launch_seconds(d.m, d.n, d.windows[l].k, 1, num_sms);
  return seconds;
}

/// The moduli as the kernels take them, tile_kernels::PackedModuli.
using PackedModuli = std::array<std::uint64_t, product::kMaxProducts / 8>;
[[nodiscard]] PackedModuli packed(const ProductDesc& d) {
  PackedModuli words{};
  if (d.epilogue == Epilogue::kStoreAcc) return words;
  for (std::size_t l = 0; l < static_cast<std::size_t>(d.num_products); ++l)
    words[l / 8] |= static_cast<std::uint64_t>(d.moduli[l] - 1) << (8 * (l % 8));
  return words;
}

/// The operands of the launches of a product, at their first elements of k.
struct Operands {
  const std::int8_t* a;
  const std::int8_t* b;
  std::byte* c;
  std::int64_t k;
};

/// A product, or one window of it: its planes in one launch, or one by one.
class Launches {
 public:
  Launches(const ProductDesc& d, const DeviceKernels& kernels, const std::int32_t* num_made, product::Queue queue)
      : d_(d), kernels_(kernels), num_made_(num_made), queue_(queue), moduli_(packed(d)) {}

  Status run(const Operands& x, int first_plane, int num_planes, bool adds = false) {
    // Tensor cores saturate INT32: the only sum that leaves it is one of 2^17 products of 2^14.
    const std::int64_t most = x.k == product::kBlockMaxI8 ? x.k / 2 : x.k;
    for (std::int64_t h = 0; h < x.k; h += most) {
      const Operands block{x.a + h, x.b + h, x.c, most};
      for (std::int64_t j = 0; j < d_.n; j += kMostLines) {
        for (std::int64_t i = 0; i < d_.m; i += kMostLines) {
          const Part part{i,         std::min(kMostLines, d_.m - i), j, std::min(kMostLines, d_.n - j), first_plane,
                          num_planes};
          KIZAMI_RETURN_IF_ERROR(launch(block, adds || h > 0, part));
        }
      }
    }
    return {};
  }

 private:
  Status launch(const Operands& x, bool adds, const Part& part) {
    if (d_.epilogue != Epilogue::kStoreAcc) {
      adds = adds || d_.epilogue == Epilogue::kReduceAdd;
      return launch<std::int8_t>(adds ? kernels_.reduce_add : kernels_.reduce, x, part);
    }
    return launch<std::int32_t>(adds ? kernels_.store_add : kernels_.store, x, part);
  }

  template <class Result>
  Status launch(const ProductKernels& kernels, const Operands& x, const Part& part) {
    Result* const c = reinterpret_cast<Result*>(x.c) + part.col * d_.c_col_stride + part.row;
    // The descriptors of TMA know no stride of 0, not even of one plane: any multiple of 16 then.
    const auto plane_stride = [&](std::int64_t stride, std::int64_t line_stride) {
      return static_cast<std::uint32_t>(part.planes > 1 ? stride : line_stride);
    };
    const std::uint32_t c_plane_stride = plane_stride(d_.c_plane_stride, d_.c_col_stride);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(c) % kAligned == 0 && d_.c_col_stride % kAligned == 0 &&
                            c_plane_stride % kAligned == 0 &&
                            part.rows * static_cast<std::int64_t>(sizeof(Result)) % kAligned == 0;
    const base::CudaModuleKernel& kernel = is_aligned ? kernels.aligned : kernels.any;
    const dim3 grid(static_cast<unsigned>(ceil_div(part.cols, kTile) * ceil_div(part.rows, kTile)), 1,
                    static_cast<unsigned>(part.planes));
    return kernel.launch(grid, queue_, x.a + part.row * d_.a_row_stride,
                         plane_stride(d_.a_plane_stride, d_.a_row_stride), static_cast<int>(d_.a_row_stride),
                         x.b + part.col * d_.b_row_stride, plane_stride(d_.b_plane_stride, d_.b_row_stride),
                         static_cast<int>(d_.b_row_stride), c, c_plane_stride, static_cast<int>(d_.c_col_stride),
                         moduli_[0], moduli_[1], moduli_[2], moduli_[3], moduli_[4], moduli_[5], moduli_[6], moduli_[7],
                         part.plane, num_made_, part.planes, static_cast<int>(part.rows), static_cast<int>(part.cols),
                         static_cast<int>(round_up(x.k, product::kPadBytes)), kGroup);
  }

  const ProductDesc& d_;
  const DeviceKernels& kernels_;
  const std::int32_t* num_made_;
  product::Queue queue_;
  PackedModuli moduli_;
};

class TileDeviceEngine final : public product::Engine, public product::DevicePhaseBodies {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "tile"; }
  [[nodiscard]] bool needs_workspace() const noexcept override { return false; }
  [[nodiscard]] product::MemorySpace space() const noexcept override { return product::MemorySpace::kDevice; }
  [[nodiscard]] bool reads_num_products() const noexcept override { return true; }
  [[nodiscard]] bool promotes_sums() const noexcept override { return true; }

  [[nodiscard]] std::variant<Offer, Refusal> query(const ProductDesc& d, const DeviceFacts& facts) const override {
    if (auto reason = why_machine_refuses(facts)) return Refusal{*std::move(reason)};
    if (auto reason = why_format_refused(d, facts)) return Refusal{*std::move(reason)};
    if (auto reason = why_desc_refused(d)) return Refusal{*std::move(reason)};
    return Offer{.workspace_bytes = 0, .seconds = predicted_seconds(d, facts), .threads = 1};
  }

  [[nodiscard]] Status run(const ProductDesc& d, const Offer& /*offer*/, const Pointers& pointers,
                           std::byte* /*workspace*/, product::Queue queue) const override {
    if (const char* const reason = tile_engines::why_no_kernels()) return {StatusCode::kUnsupported, reason};
    if (auto reason = why_desc_refused(d)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    if (auto reason = engines::why_refused(d, pointers)) return {StatusCode::kInvalidArgument, *std::move(reason)};
    if (d.format != SliceFormat::kInt8 && pointers.num_products != nullptr)
      return {StatusCode::kInvalidArgument, "num_products in device memory, which floating-point windows do not have"};
    if (d.m == 0 || d.n == 0 || d.num_products == 0) return {};
    if (d.k == 0) return clear_sums(d, pointers.c, queue);
    const DeviceKernels* kernels = nullptr;
    KIZAMI_RETURN_IF_ERROR(tile_engines::current_kernels(kernels));
    if (d.format != SliceFormat::kInt8) return tile_engines::run_float_windows(d, pointers, *kernels, queue);
    Launches launches(d, *kernels, pointers.num_products, queue);
    if (d.num_windows > 0) return run_windows(d, pointers, launches);
    const std::size_t size = d.epilogue == Epilogue::kStoreAcc ? 4 : 1;
    const bool has_shared_planes = d.a_plane_stride == 0 || d.b_plane_stride == 0;
    const int together = has_shared_planes ? 1 : tile_engines::planes_together(d);
    for (int plane = 0; plane < d.num_products; plane += together) {
      const Operands x{pointers.a + plane * d.a_plane_stride, pointers.b + plane * d.b_plane_stride,
                       static_cast<std::byte*>(pointers.c) + static_cast<std::size_t>(plane * d.c_plane_stride) * size,
                       d.k};
      KIZAMI_RETURN_IF_ERROR(launches.run(x, plane, together));
    }
    return {};
  }

  [[nodiscard]] int most_split_moduli(const num::Ladder& ladder) const override {
    return tile_device_phases().most_split_moduli(ladder);
  }
  [[nodiscard]] int most_reconstructed_moduli(const num::Ladder& ladder) const override {
    return tile_device_phases().most_reconstructed_moduli(ladder);
  }
  [[nodiscard]] std::optional<std::string> why_refused(const product::DeviceSplitDesc& d) const override {
    return tile_device_phases().why_refused(d);
  }
  [[nodiscard]] std::optional<std::string> why_refused(const product::DeviceReconstructionDesc& d) const override {
    return tile_device_phases().why_refused(d);
  }
  [[nodiscard]] Status split(const product::DeviceSplitDesc& d, product::Queue queue) const override {
    return tile_device_phases().split(d, queue);
  }
  [[nodiscard]] Status reconstruct(const product::DeviceReconstructionDesc& d, product::Queue queue) const override {
    return tile_device_phases().reconstruct(d, queue);
  }

 private:
  /// Window by window: each has its own k.
  [[nodiscard]] static Status run_windows(const ProductDesc& d, const Pointers& pointers, Launches& launches) {
    int plane = -1;
    for (int l = 0; l < d.num_windows; ++l) {
      const product::Window& w = d.windows[static_cast<std::size_t>(l)];
      plane += w.is_added ? 0 : 1;
      const Operands x{
          pointers.a + w.a_plane * d.a_plane_stride + w.a_first, pointers.b + w.b_plane * d.b_plane_stride + w.b_first,
          reinterpret_cast<std::byte*>(static_cast<std::int32_t*>(pointers.c) + plane * d.c_plane_stride), w.k};
      KIZAMI_RETURN_IF_ERROR(launches.run(x, plane, 1, w.is_added));
    }
    return {};
  }
};

}  // namespace

const product::Engine& tile_device_engine() {
  static constinit base::MadeOnce<TileDeviceEngine> engine;
  return engine.get();
}

}  // namespace kizami::engines
