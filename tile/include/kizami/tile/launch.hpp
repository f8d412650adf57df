// SPDX-License-Identifier: MIT
// Running a kernel over a grid of blocks on the host: the blocks are shared out among the threads of the library's
// pool, each of which runs them one after another on a stack large enough for tiles.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "kizami/status.hpp"
#include "kizami/tile/annotations.hpp"
#include "kizami/tile/context.hpp"
#include "kizami/tile/tile.hpp"

namespace kizami::tile {

/// Runs body(context) once for each block of the grid and returns when all are done. Kernels call launch() instead.
/// @status kInvalidArgument(grid; or a fault of a block in debug mode: the first one, and how many there were);
///         kOutOfMemory(the stack)
[[nodiscard]] KIZAMI_API Status run_blocks(const char* kernel, BlockIndex grid, const LaunchOptions& options,
                                           void (*body)(const void* arguments), const void* arguments);

namespace host::inline KIZAMI_TILE_ABI {

/// The index of the calling block in its grid.
[[nodiscard]] inline uint3 bid() noexcept {
  const BlockIndex block = block_context().block;
  return {block.x, block.y, block.z};
}
/// The number of blocks of the grid in each direction.
[[nodiscard]] inline dim3 num_blocks() noexcept {
  const BlockIndex grid = block_context().grid;
  return {grid.x, grid.y, grid.z};
}

}  // namespace host::inline KIZAMI_TILE_ABI

/// Where a kernel runs: LaunchOptions that outlive the launch, or none for the defaults. On a GPU this is cudaStream_t.
using Stream = const LaunchOptions*;

/// Runs kernel(args...) for every block of the grid; synchronous. Each argument is first converted to the parameter's
/// type, as a CUDA launch does.
/// @range each dimension of the grid in [1, 2^24 - 1]; parameters are scalars and pointers. Blocks must not wait for
///        each other: a block may start when another has ended.
/// @status see run_blocks
template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch(const char* name, void (*kernel)(Parameters...), dim3 grid, Stream stream,
                            Arguments&&... arguments) {
  static_assert(((host::detail::kIsScalar<std::remove_cv_t<Parameters>> || std::is_pointer_v<Parameters>)&&...),
                "the parameters of a tile kernel are scalars and pointers only");
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "launch: there must be one argument for each parameter");
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<std::remove_cv_t<Parameters>...> arguments;
  };
  const Call call{kernel, {static_cast<Parameters>(std::forward<Arguments>(arguments))...}};
  const auto run = [](const void* opaque) {
    const Call& c = *static_cast<const Call*>(opaque);
    std::apply(c.kernel, c.arguments);
  };
  const LaunchOptions defaults;
  return run_blocks(name, {grid.x, grid.y, grid.z}, stream != nullptr ? *stream : defaults, run, &call);
}

}  // namespace kizami::tile

/// Launches a kernel, in parentheses if its name has commas, and gives a kizami::Status:
///   KIZAMI_TILE_LAUNCH((gemm<float, 128, 64>), grid, stream, a, b, c)
#define KIZAMI_TILE_LAUNCH(kernel, grid, stream, ...) \
  ::kizami::tile::launch(#kernel, kernel, (grid), (stream)__VA_OPT__(, ) __VA_ARGS__)
